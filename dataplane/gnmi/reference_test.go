package gnmi

import (
	"flag"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/test/reference"
)

var update = flag.Bool("update", false, "write docs/reference/gnmi.md")

// TestReference: docs/reference/gnmi.md has the models and the leaves of the tree.
func TestReference(t *testing.T) {
	page := "# gNMI leaves of the embedded switch\n\nGenerated from the program by `go test " +
		"./dataplane/gnmi -run TestReference -update`. [gnmi.md](../gnmi.md#paths) says where values " +
		"are less than obvious.\n\n## Models\n\n" + reference.Head("model", "version", "organization")
	for _, m := range models {
		page += reference.Row("`"+m.GetName()+"`", m.GetVersion(), m.GetOrganization())
	}
	page += "\nA leaf of kind *set* takes values from clients, *fixed* accepts only the value that " +
		"the leaf has, *applied* repeats a leaf of `config`, *state* is sent when the leaf changes, " +
		"and *counter* is sampled.\n"
	kinds := map[kind]string{state: "state", applied: "applied", counter: "counter", config: "set"}
	for _, table := range tables {
		above := ""
		for _, e := range table.path {
			above += "/" + e.name
			if e.key != "" {
				above += "[" + e.key + "=…]"
			}
		}
		page += "\n## " + above + "\n\n" + reference.Head("leaf", "model", "kind")
		for _, l := range table.leaves {
			var names []string
			for _, e := range leaves[l].below {
				names = append(names, e.name)
			}
			of := kinds[leaves[l].kind]
			if s := leaves[l].set; s != nil && s.fixed {
				of = "fixed"
			}
			model := leaves[l].below[len(names)-1].module
			page += reference.Row("`"+strings.Join(names, "/")+"`", "`"+model+"`", of)
		}
	}
	reference.Page(t, "../..", "gnmi.md", page, *update)
}
