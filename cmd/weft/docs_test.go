package main

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/cmd/weft/mrchost"
	"github.com/weft-sdn/weft/cmd/weft/rocehost"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/topology/bgpls"
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

// TestDocumentedKinds: every field of the spec of every kind of resources is in the documents, by
// its name or in an example.
func TestDocumentedKinds(t *testing.T) {
	text := document(t, "docs/api.md") + document(t, "docs/access.md") + document(t, "docs/jobs.md")
	kinds := append(controller.Kinds(), mrc.Kinds()...)
	specs := 0
	for _, k := range kinds {
		if k.Spec == nil {
			continue
		}
		specs++
		fields(k.Spec, "json", func(owner reflect.Type, name string) {
			named := regexp.MustCompile("[`\".\\]{ ]" + name + "[`\".\\[:]")
			if !named.MatchString(text) {
				t.Errorf("the documents: nothing about %s of %v, of %s", name, owner, k.Nouns)
			}
		})
	}
	if specs < 7 {
		t.Errorf("%d kinds with specs only: the test looks at the wrong thing", specs)
	}
}

// eachCommand calls f with weft and every command below it.
func eachCommand(f func(*cobra.Command)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		f(c)
	}
	walk(newRoot(environment{stdin: strings.NewReader(""), stdout: io.Discard,
		stderr: io.Discard, getenv: func(string) string { return "" }}))
}

// TestDocumentedFlags: every flag is in the documents, and every flag of docs/cli.md is one of some
// command, of weft or of a program that the document names.
func TestDocumentedFlags(t *testing.T) {
	var text strings.Builder
	for _, name := range []string{"cli", "access", "config", "dataplane", "labs", "operations"} {
		text.WriteString(document(t, "docs/"+name+".md"))
	}
	known := map[string]bool{"help": true}
	eachCommand(func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			known[f.Name] = true
			if f.Hidden || f.Name == "help" {
				return
			}
			want := `--` + f.Name + `[^a-z0-9-]`
			if f.Shorthand != "" {
				want += "|[ `]-" + f.Shorthand + "[^a-z0-9-]"
			}
			if !regexp.MustCompile(want).MatchString(text.String()) {
				t.Errorf("the documents: nothing about --%s of %s", f.Name, c.CommandPath())
			}
		})
	})
	for _, m := range regexp.MustCompile("[ `(]--([a-z][a-z0-9-]+)").
		FindAllStringSubmatch(document(t, "docs/cli.md"), -1) {
		if !known[m[1]] {
			t.Errorf("docs/cli.md: no command has --%s", m[1])
		}
	}
}

// documentedRows returns the rows of the tables of a section that name a field: the field, and what
// the second column says of it. "`a`, `b` | 1, 2" are two rows; "`….b`" stands for the path of the
// field before it, up to its last name.
func documentedRows(section string) (rows [][2]string) {
	name := regexp.MustCompile("`([^`]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\| ([^|]*) \\| [^|]* \\|$").
		FindAllStringSubmatch(section, -1) {
		var names []string
		for _, m := range name.FindAllStringSubmatch(row[1], -1) {
			at := m[1]
			if rest, ok := strings.CutPrefix(at, "…."); ok && len(names) > 0 {
				before := names[len(names)-1]
				at = before[:strings.LastIndex(before, ".")+1] + rest
			}
			names = append(names, at)
		}
		defaults := strings.Split(row[2], ", ")
		for i, n := range names {
			d := row[2]
			if len(defaults) == len(names) {
				d = defaults[i]
			}
			rows = append(rows, [2]string{n, strings.Trim(d, "`")})
		}
	}
	return rows
}

// fieldAt finds the field of a path such as "peers[].limits.nodes"; ok is false where there is
// none. The value is not valid within lists and absent parts.
func fieldAt(typ reflect.Type, v reflect.Value, path string) (reflect.Type, reflect.Value, bool) {
	for name := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ""), ".") {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ, v = typ.Elem(), reflect.Value{}
		}
		if typ.Kind() != reflect.Struct {
			return nil, reflect.Value{}, false
		}
		var f reflect.StructField
		ok := false
		for _, x := range reflect.VisibleFields(typ) {
			if n, _, _ := strings.Cut(x.Tag.Get("yaml"), ","); n == name {
				f, ok = x, true
			}
		}
		if !ok {
			return nil, reflect.Value{}, false
		}
		if typ = f.Type; v.IsValid() {
			v = v.FieldByIndex(f.Index)
		}
	}
	return typ, v, true
}

// TestDocumentedDefaults: the tables of docs/config.md name fields that the configuration of a
// controller has, with the defaults of the code. A default that is no value of the field, as "the
// machine's name", stands for the zero value.
func TestDocumentedDefaults(t *testing.T) {
	_, text, _ := strings.Cut(document(t, "docs/config.md"), "\n## Controller\n")
	text, _, _ = strings.Cut(text, "\n## Host\n")
	defaults := inventory.Default()
	fields, values := 0, 0
	for section := range strings.SplitSeq(text, "\n### ") {
		heading := regexp.MustCompile("^`([a-z]+)(\\[\\])?`").FindStringSubmatch(section)
		if heading == nil {
			continue
		}
		typ, v, ok := fieldAt(reflect.TypeOf(defaults), reflect.ValueOf(defaults), heading[1])
		if !ok {
			continue // `tls` of several
		}
		var first string
		for _, row := range documentedRows(section) {
			field, v, ok := fieldAt(typ, v, row[0])
			if !ok { // "`sessions`: `idle`, `absolute`"
				field, v, ok = fieldAt(typ, v, first+"."+row[0])
			} else {
				first = row[0]
			}
			at := heading[1] + "." + row[0]
			if !ok {
				t.Errorf("docs/config.md: there is no field %s", at)
				continue
			}
			fields++
			if elsewhere, ok := defaultsElsewhere()[at]; ok {
				v = reflect.ValueOf(elsewhere)
			} else if !v.IsValid() || v.Kind() == reflect.Struct || v.Kind() == reflect.Slice {
				continue
			}
			values++
			want := reflect.New(v.Type())
			isValue := yaml.Unmarshal([]byte(row[1]), want.Interface()) == nil
			if isValue && reflect.DeepEqual(v.Interface(), want.Elem().Interface()) {
				continue
			}
			if v.IsZero() && (!isValue || field.Kind() == reflect.String) {
				continue // "the machine's name"
			}
			t.Errorf("docs/config.md: the default of %s is %v, not %s", at, v, row[1])
		}
	}
	if fields < 100 || values < 50 {
		t.Errorf("%d fields and %d values only: the test looks at the wrong thing", fields, values)
	}
}

// defaultsElsewhere are the defaults that the configuration leaves to others.
func defaultsElsewhere() map[string]any {
	served := northbound.DefaultLimits()
	return map[string]any{
		"bgp.holdTime":           api.Duration(bgpls.DefaultHoldTime),
		"api.limits.connections": served.Connections,
		"api.limits.strangers":   served.Strangers,
		"api.limits.perClient":   served.PerClient,
		"api.limits.requests":    served.Requests,
		"api.limits.streams":     served.Streams,
		"api.limits.rate":        served.Rate,
	}
}

// TestDocumentedCommands: every command is in docs/cli.md.
func TestDocumentedCommands(t *testing.T) {
	text := document(t, "docs/cli.md")
	eachCommand(func(c *cobra.Command) {
		path := c.CommandPath()
		if !c.HasParent() || c.Name() == "help" || strings.HasPrefix(path, "weft completion ") {
			return
		}
		if !c.HasSubCommands() && c.Parent().Name() == "watch" {
			path = "weft watch" // its table names all in one
			if !strings.Contains(text, c.Name()) {
				t.Errorf("docs/cli.md: nothing about weft watch %s", c.Name())
			}
		}
		parent, alike := c.Parent().Name(), []string{"describe", "edit", "history", "undo"}
		if !c.HasSubCommands() && slices.Contains(alike, parent) {
			path = "weft " + parent + " KIND NAME" // of the kinds of get
			if !strings.Contains(text, "`weft get "+c.Name()) {
				t.Errorf("docs/cli.md: nothing about weft get %s", c.Name())
			}
		}
		if !c.HasSubCommands() && c.Parent().Name() == "wait" {
			path = "weft wait KIND NAME" // of the kinds of get
		}
		if !strings.Contains(text, "`"+path) {
			t.Errorf("docs/cli.md: nothing about %s", path)
		}
	})
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
