package main

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/cmd/weft/mrchost"
	"github.com/weft-sdn/weft/cmd/weft/rocehost"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/topology/static"
)

func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fields calls f with the name of every field that a tag gives to a type and
// those within it.
func fields(typ reflect.Type, tag string, f func(owner reflect.Type, name string)) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() == "net/netip" || typ.PkgPath() == "time" {
		return
	}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get(tag), ",")
		if options == "inline" {
			fields(field.Type, tag, f)
		}
		if name == "" || name == "-" {
			continue
		}
		f(typ, name)
		fields(field.Type, tag, f)
	}
}

// TestDocumentedFields: every field of a file or resource is in its document.
func TestDocumentedFields(t *testing.T) {
	for _, c := range []struct {
		document, heading, tag string
		of                     reflect.Type
	}{
		{"docs/config.md", "Controller", "yaml", reflect.TypeFor[inventory.Inventory]()},
		{"docs/config.md", "Host", "yaml", reflect.TypeFor[rocehost.Config]()},
		{"docs/config.md", "Host of MRC", "yaml", reflect.TypeFor[mrchost.Config]()},
		{"docs/config.md", "Lab", "yaml", reflect.TypeFor[lab.Network]()},
		{"docs/config.md", "Topology", "yaml", reflect.TypeFor[static.Topology]()},
		{"docs/api.md", "Multicast groups", "json", reflect.TypeFor[api.MulticastGroupSpec]()},
		{"docs/api.md", "EV profiles", "json", reflect.TypeFor[api.EVProfileSpec]()},
		{"docs/api.md", "SRv6 policies, tenants and PFC policies", "json",
			reflect.TypeFor[api.SRv6PolicySpec]()},
		{"docs/api.md", "SRv6 policies, tenants and PFC policies", "json",
			reflect.TypeFor[api.TenantSpec]()},
		{"docs/api.md", "SRv6 policies, tenants and PFC policies", "json",
			reflect.TypeFor[api.PFCPolicySpec]()},
		{"docs/api.md", "Ports", "json", reflect.TypeFor[api.PortSpec]()},
		{"docs/api.md", "CC profiles", "json", reflect.TypeFor[api.CCProfileSpec]()},
	} {
		sectionOf := func(heading string) string {
			_, section, ok := strings.Cut(document(t, c.document), "\n## "+heading+"\n")
			if !ok {
				t.Errorf("%s has no section %s", c.document, heading)
			}
			section, _, _ = strings.Cut(section, "\n## ")
			return section
		}
		own := sectionOf(c.heading)
		seen := 0
		fields(c.of, c.tag, func(owner reflect.Type, name string) {
			seen++
			section := own
			if c.heading == "Lab" && owner.PkgPath() != c.of.PkgPath() {
				section = sectionOf("Controller") // whose sections a lab has
			}
			// `name`, `list[].name`, `object.name`, or the heading of a list.
			if !regexp.MustCompile("`([^`\n]*[.\\]])?" + name + "(\\[\\])?`|`" + name +
				"[\\[.]").MatchString(section) {
				t.Errorf("%s, %s: nothing about %s of %v", c.document, c.heading, name, owner)
			}
		})
		if seen < 4 {
			t.Errorf("%v has only %d fields: the test looks at the wrong thing", c.of, seen)
		}
	}
}

// TestDocumentedCommands: every command is in docs/cli.md.
func TestDocumentedCommands(t *testing.T) {
	text := document(t, "docs/cli.md")
	root := newRoot(environment{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard,
		getenv: func(string) string { return "" }})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		path := c.CommandPath()
		if c == root || c.Name() == "help" || strings.HasPrefix(path, "weft completion ") {
			return
		}
		if !c.HasSubCommands() && c.Parent().Name() == "watch" {
			path = "weft watch" // its table names all in one
			if !strings.Contains(text, c.Name()) {
				t.Errorf("docs/cli.md: nothing about weft watch %s", c.Name())
			}
		}
		if !c.HasSubCommands() && c.Parent().Name() == "describe" {
			path = "weft describe KIND NAME" // of the kinds of get
			if !strings.Contains(text, "`weft get "+c.Name()) {
				t.Errorf("docs/cli.md: nothing about weft get %s", c.Name())
			}
		}
		if !strings.Contains(text, "`"+path) {
			t.Errorf("docs/cli.md: nothing about %s", path)
		}
	}
	walk(root)
	for _, name := range []string{"WEFT_SERVER", "WEFT_TOKEN", "WEFT_CA", "WEFT_CERT", "WEFT_KEY"} {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/cli.md: nothing about %s", name)
		}
	}
}

// documentedCodes reads the table of errors: "| 409 | `a`, `b`: … |" gives both
// codes that status, "| 405, 413 | `a`, `b` |" each the one in its place.
func documentedCodes(t *testing.T, text string) map[string]int {
	t.Helper()
	_, section, _ := strings.Cut(text, "\n## Errors\n")
	section, _, _ = strings.Cut(section, "\n## ")
	codes := make(map[string]int)
	code := regexp.MustCompile("`([a-z_]+)`")
	for _, row := range regexp.MustCompile(
		`(?m)^\| (\d{3}(?:, \d{3})*) \| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		statuses, found := strings.Split(row[1], ", "), code.FindAllStringSubmatch(row[2], -1)
		for i, c := range found {
			at := statuses[0]
			if len(statuses) > 1 {
				if len(statuses) != len(found) {
					t.Fatalf("docs/api.md, Errors: which code has which status in %q?", row[0])
				}
				at = statuses[i]
			}
			status, err := strconv.Atoi(at)
			if err != nil {
				t.Fatal(err)
			}
			if other, twice := codes[c[1]]; twice {
				t.Errorf("docs/api.md, Errors: %s has the statuses %d and %d", c[1], other, status)
			}
			codes[c[1]] = status
		}
	}
	return codes
}

// TestDocumentedAPI: every operation, code with its status, and type of event is
// in docs/api.md.
func TestDocumentedAPI(t *testing.T) {
	text := document(t, "docs/api.md")
	server, err := northbound.New(northbound.DefaultConfig(), newFakeController(),
		northbound.NewEvents(1, began))
	if err != nil {
		t.Fatal(err)
	}
	openAPI, err := server.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(openAPI, &document); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for path, methods := range document.Paths {
		for method := range methods {
			operations++
			if want := "| `" + strings.ToUpper(method) + " " + path + "` |"; !strings.Contains(text, want) {
				t.Errorf("docs/api.md: nothing about %s", want)
			}
		}
	}
	if operations < 15 {
		t.Errorf("%d operations only", operations)
	}
	if got, want := documentedCodes(t, text), northbound.Codes(); !maps.Equal(got, want) {
		t.Errorf("docs/api.md, Errors: the codes have the statuses\n%v, want\n%v", got, want)
	}
	for _, name := range api.EventTypes() {
		if !strings.Contains(text, "`"+string(name)+"`") {
			t.Errorf("docs/api.md: nothing about %s", name)
		}
	}
}
