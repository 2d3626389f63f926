package main

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/mrchost"
	"github.com/weft-sdn/weft/host/rocehost"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/simulate"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/test/reference"
	"github.com/weft-sdn/weft/topology/bgpls"
	"github.com/weft-sdn/weft/topology/static"
)

// alike are the commands whose commands below differ in the kind alone.
var alike = []string{"describe", "edit", "history", "undo", "wait"}

// shared lists the flags for all commands, and for all clients of a controller.
var shared = regexp.MustCompile(`\(environment WEFT_|--request-timeout|  help for `)

// TestReference: docs/reference/cli.md is the help of all commands.
func TestReference(t *testing.T) {
	var page bytes.Buffer
	page.WriteString("# Commands and flags\n\nGenerated from the program by `go test ./cmd/weft " +
		"-run TestReference -update`.\n\n[cli.md](../cli.md) has the rules, examples, and the flags of " +
		"all commands that talk to a controller.\n\n")
	eachCommand(func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())
		leaf := !c.HasSubCommands()
		if !c.IsAvailableCommand() && c.HasParent() || len(path) > 1 && path[1] == "completion" ||
			leaf && len(path) > 2 && slices.Contains(alike, path[1]) {
			return
		}
		c.DisableAutoGenTag = true
		var one bytes.Buffer
		if err := doc.GenMarkdown(c, &one); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(one.String(), "### SEE ALSO")
		text, _, _ = strings.Cut(text, "### Options inherited")
		for _, heading := range []string{"Synopsis", "Examples", "Options"} {
			text = strings.Replace(text, "### "+heading+"\n\n", "", 1)
		}
		for line := range strings.Lines(text) { // cli.md has the flags of all commands
			if !shared.MatchString(line) {
				page.WriteString(line)
			}
		}
		if len(path) == 2 && slices.Contains(alike, path[1]) {
			var kinds []string
			for _, below := range c.Commands() {
				kinds = append(kinds, "`"+below.Name()+"`")
			}
			page.WriteString("Kinds: " + strings.Join(kinds, ", ") + ".\n\n")
		}
	})
	reference.Page(t, "../..", "cli.md", page.String(), *update)
}

// TestReferenceOfFiles: docs/reference/config.md has the fields of files, with the texts of their
// tags and the defaults of the code.
func TestReferenceOfFiles(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Fields of files\n\nGenerated from the program by `go test ./cmd/weft -run " +
		"TestReference -update`.\n\n[config.md](../config.md) has examples and rules.\n\n## Controller\n")
	controller := reflect.ValueOf(inventory.Default())
	for i := range controller.NumField() {
		f := controller.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		of := fileFields{t: t, of: controller.Type(), elsewhere: defaultsElsewhere()}
		of.add(name+".", f.Type, controller.Field(i), false)
		page.WriteString("\n### `" + name + "`\n\n" + of.table(name+"."))
	}
	for _, c := range []struct {
		heading string
		of      any
		within  string // the package outside of which the fields are those of another table
	}{
		{"### `tls` of a switch or the API", inventory.TLS{}, ""},
		{"## Host", rocehost.Default(), ""},
		{"## Host of MRC", mrchost.Default(), ""},
		{"## Lab", lab.Network{}, "weft/lab"},
		{"## Scenario of a simulation", simulate.Scenario{}, "lab/simulate"},
		{"## Topology", static.Topology{}, ""},
	} {
		of := fileFields{t: t, of: reflect.TypeOf(c.of), within: c.within}
		of.add("", reflect.TypeOf(c.of), reflect.ValueOf(c.of), false)
		page.WriteString("\n" + c.heading + "\n\n" + of.table(""))
	}
	reference.Page(t, "../..", "config.md", page.String(), *update)
}

// fileFields collects the fields of a type in their order.
type fileFields struct {
	t         *testing.T
	of        reflect.Type
	elsewhere map[string]any
	within    string
	rows      []fileField
}

type fileField struct{ path, byDefault, doc string }

// add adds the fields of a type, or of the elements of a list, below a path. The value is not valid
// within lists and absent parts. Told is true where the text of the parent covers the fields.
func (c *fileFields) add(path string, typ reflect.Type, v reflect.Value, told bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ, v = typ.Elem(), reflect.Value{}
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		var value reflect.Value
		if v.IsValid() && f.IsExported() {
			value = v.Field(i)
		}
		if options == "inline" {
			c.add(path, f.Type, value, told)
		}
		if name == "" || name == "-" {
			continue
		}
		doc, of, at := f.Tag.Get("doc"), f.Type, path+name
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			if of.Kind() == reflect.Slice {
				at += "[]"
			}
			of = of.Elem()
		}
		if doc != "" {
			c.rows = append(c.rows, fileField{at, c.byDefault(at, f, value), doc})
		}
		switch {
		case of.Kind() == reflect.Struct && of != reflect.TypeFor[inventory.TLS]() &&
			strings.Contains(of.PkgPath(), "weft-sdn/") && strings.HasSuffix(of.PkgPath(), c.within):
			c.add(at+".", f.Type, value, told || doc != "")
		case doc == "" && !told:
			c.t.Errorf("%s of %v: give the field a doc tag", at, typ)
		}
	}
}

// byDefault returns the default of a field: from the code, or else from the field's tag.
func (c *fileFields) byDefault(at string, f reflect.StructField, v reflect.Value) string {
	if d, ok := c.elsewhere[at]; ok {
		v = reflect.ValueOf(d)
	}
	said := f.Tag.Get("default")
	if !v.IsValid() || v.IsZero() || v.Kind() == reflect.Struct || v.Kind() == reflect.Slice ||
		said == "required" {
		return said
	}
	b, err := yaml.Marshal(v.Interface())
	if err != nil {
		c.t.Fatal(err)
	}
	text := strings.TrimSuffix(strings.Trim(strings.TrimSpace(string(b)), `"`), ".0")
	if v.Kind() == reflect.Uint16 {
		text = fmt.Sprintf("0x%04x", v.Uint())
	}
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	if said != "" {
		c.t.Errorf("%v %s: remove the tag default %q: the code has %s", c.of, at, said, text)
	}
	return text
}

// table returns the table of the fields without what all paths begin with. Fields with one text
// share a row.
func (c *fileFields) table(above string) string {
	quoted := regexp.MustCompile(`(^|[\s|(\[/])'([^']+)'`)
	link := regexp.MustCompile(`\]\(([a-z#])`)
	out := reference.Head("field", "default", "meaning")
	for i := 0; i < len(c.rows); {
		var names, defaults []string
		doc := c.rows[i].doc
		for ; i < len(c.rows) && c.rows[i].doc == doc; i++ {
			names = append(names, "`"+strings.TrimPrefix(c.rows[i].path, above)+"`")
			defaults = append(defaults, c.rows[i].byDefault)
		}
		if len(slices.Compact(slices.Clone(defaults))) == 1 {
			defaults = defaults[:1]
		}
		text := strings.Join(defaults, ", ") + "|" + doc
		text = link.ReplaceAllString(quoted.ReplaceAllString(text, "$1`$2`"), "](../$1")
		byDefault, doc, _ := strings.Cut(strings.ReplaceAll(text, "](../#", "](../config.md#"), "|")
		out += reference.Row(strings.Join(names, ", "), byDefault, doc)
	}
	return out
}

// defaultsElsewhere are the defaults that the configuration leaves to others.
func defaultsElsewhere() map[string]any {
	served := northbound.DefaultLimits()
	return map[string]any{
		"bgp.holdTime":           api.Duration(bgpls.DefaultHoldTime),
		"bgp.stalePathTime":      api.Duration(bgpls.DefaultStalePathTime),
		"bgp.lossTime":           api.Duration(bgpls.DefaultLossTime),
		"api.limits.connections": served.Connections,
		"api.limits.strangers":   served.Strangers,
		"api.limits.perClient":   served.PerClient,
		"api.limits.requests":    served.Requests,
		"api.limits.streams":     served.Streams,
		"api.limits.rate":        served.Rate,
	}
}
