package upgrade

import (
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/store"
)

var update = flag.Bool("update", false, "write the table of versions")

const tableFile = "../../store/schema.tsv"

// TestSchema compares the forms of all records with the table of versions. An added, removed or
// changed kind or field needs a higher version, so that an older release refuses the store.
func TestSchema(t *testing.T) {
	network := lab.Clos(lab.ClosConfig{T0: 1, T1: 1, Hosts: 1})
	network.MRC = lab.MRCSettings(&network, ev.ModeStructured)
	live, err := lab.StartLive(t.Context(), lab.LiveOptions{Network: network, Listen: "127.0.0.1:0"})
	if err != nil { // the features of both cores have their forms now
		t.Fatal(err)
	}
	kinds := append(live.Service.Controller().Kinds(), live.Service.Multipath().Kinds()...)
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	forms := store.Forms()
	for _, k := range kinds {
		if _, ok := forms[k.Prefix]; k.Prefix != "" && !ok {
			t.Errorf("the records %s of kind %s have no form", k.Prefix, k.One)
		}
	}
	fields := make(map[string]string)
	for form, of := range forms {
		fields[form+"\t"] = of.Kind().String()
		list(fields, form+"\t", of, nil)
	}
	for key, is := range fields {
		form, known := opaque[is]
		if strings.Contains(is, ".") && (!known || form != "" && forms[form] == nil) {
			t.Errorf("%q has type %s, which writes JSON of its own: want it in opaque, with a form that "+
				"has its fields", key, is)
		}
	}
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	next, changes, last := compare(string(text), fields)
	switch {
	case last > store.Schema:
		t.Errorf("schema.tsv has version %d, and store.Schema is %d", last, store.Schema)
	case len(changes) == 0:
	case last == store.Schema:
		t.Errorf("records have changed since version %d:\n\t%s\nraise store.Schema to %d, then go test "+
			"./test/upgrade -run TestSchema -update", last, strings.Join(changes, "\n\t"), last+1)
	case *update:
		if err := os.WriteFile(tableFile, []byte(next), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("store.Schema is %d; go test ./test/upgrade -run TestSchema -update writes down what "+
			"is new:\n\t%s", store.Schema, strings.Join(changes, "\n\t"))
	}
}

// opaque maps types with their own JSON to the form with the fields of this JSON; "": a single
// value, or text of clients.
var opaque = map[string]string{
	"api.Duration": "", "json.RawMessage": "", "netip.Addr": "", "netip.Prefix": "",
	"static.Delay": "", "time.Time": "", "multicast.group": "leaving-groups/",
}

// compare returns the table with this program's fields, the changes, and the table's last version.
func compare(table string, fields map[string]string) (next string, changes []string, last int) {
	var head, lines []string
	left := maps.Clone(fields)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var version int
		if len(cells) != 4 {
			head = append(head, line)
			if _, err := fmt.Sscanf(line, "# version %d", &version); err == nil {
				last = max(last, version)
			}
			continue
		}
		_, _ = fmt.Sscan(cells[3], &version)
		last = max(last, version)
		key := cells[0] + "\t" + cells[1]
		if left[key] == cells[2] {
			delete(left, key)
			lines = append(lines, line)
		} else {
			changes = append(changes, fmt.Sprintf("gone: %s %s, of type %s", cells[0], cells[1], cells[2]))
		}
	}
	if len(changes) > 0 {
		head = append(head, fmt.Sprintf("# version %d: %s\n", store.Schema, strings.Join(changes, "; ")))
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%d\n", key, left[key], store.Schema))
		form, path, _ := strings.Cut(key, "\t")
		changes = append(changes, fmt.Sprintf("new: %s %s, of type %s", form, path, left[key]))
	}
	slices.Sort(lines)
	return strings.Join(append(head, lines...), ""), changes, last
}

// list adds the fields of the JSON of a type below a path.
func list(fields map[string]string, path string, t reflect.Type, within []reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	opaque := slices.ContainsFunc([]reflect.Type{reflect.TypeFor[json.Marshaler](),
		reflect.TypeFor[encoding.TextMarshaler]()}, func(i reflect.Type) bool {
		return t.Implements(i) || reflect.PointerTo(t).Implements(i)
	})
	switch {
	case opaque || slices.Contains(within, t):
		fields[path] = t.String()
	case t.Kind() == reflect.Map:
		list(fields, path+".*", t.Elem(), within)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		list(fields, path+"[]", t.Elem(), within)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-" || !f.IsExported() && !f.Anonymous:
			case name == "" && f.Anonymous:
				list(fields, path, f.Type, append(within, t))
			case name == "":
				list(fields, path+"."+f.Name, f.Type, append(within, t))
			default:
				list(fields, path+"."+name, f.Type, append(within, t))
			}
		}
	default:
		fields[path] = t.Kind().String()
	}
}

// TestForms: every package that reads or writes store records declares the form of the records.
func TestForms(t *testing.T) {
	grep := func(pattern string) []string {
		out, err := exec.Command("git", "-C", "../..", "grep", "-lE", pattern, "--", "*.go",
			":!*_test.go", ":!test", ":!store", ":!api", ":!dataplane", ":!internal").Output()
		if err != nil {
			t.Skip("git grep lists the files, and there is none: ", err)
		}
		var folders []string
		for file := range strings.Lines(string(out)) {
			folders = append(folders, file[:strings.LastIndexByte(file, '/')])
		}
		return slices.Compact(folders)
	}
	formed := grep(`store\.Form\[|resource\.NewCollection\[`)
	for _, folder := range grep(`store\.Op\{Key|json\.Unmarshal\(.*\.Value|[sS]tore\.Put\(`) {
		if !slices.Contains(formed, folder) {
			t.Errorf("%s keeps records: want store.Form for each of them", folder)
		}
	}
}
