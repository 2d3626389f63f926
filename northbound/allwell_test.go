package northbound

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound/causes"
)

// harmless lists bad conditions without a cause, and why: view, condition and reason, where "*" is
// any reason.
var harmless = map[string]string{
	"PFCPolicy Programmed=false AwaitingPacket": "scenario 2: it is programmed on its first packet",
	"Job Ready=false *":                         "its readiness says what is in the way",
	"PathLease Ready=false Ended":               "its client has ended it, or is gone",
	"Maintenance Accepted=false *":              "a maintenance that is not accepted is not kept",
	"Maintenance Programmed=false *":            "it says how far it is",
	"Project Accepted=false *":                  "a project that is not accepted is not kept",
	"Silence Accepted=false *":                  "a silence that is not accepted is not kept",
	"EVProfile Accepted=false *":                "it keeps the EVs that it had, or is Degraded",
	"EVProfile Programmed=false *":              "hosts take time; refusals of hosts are causes",
}

// reasons returns the values of package api's constants for reasons of conditions.
func reasons(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../api/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Reason") {
				for _, x := range v.Values {
					if s, err := strconv.Unquote(x.(*ast.BasicLit).Value); err == nil {
						out = append(out, s)
					}
				}
			}
			return true
		})
	}
	if len(out) < 30 {
		t.Fatalf("package api has the reasons %q, want more", out)
	}
	return append(out, "KnownElsewhere", "LinksLost") // literals of features
}

// conditionsIn returns the field with conditions of a view, and the condition types in the
// documentation of the field.
func conditionsIn(view reflect.Type) (at []int, types []api.ConditionType) {
	f, ok := view.FieldByName("Conditions")
	if s, in := view.FieldByName("Status"); !ok && in {
		if f, ok = s.Type.FieldByName("Conditions"); ok {
			f.Index = append(s.Index, f.Index...)
		}
	}
	if !ok {
		return nil, nil
	}
	for _, c := range []api.ConditionType{api.Accepted, api.Programmed, api.Degraded, api.OrphansKept,
		api.InventoryDiffers, api.Miscabled, api.Unsupported, api.Undescribed, api.Unbalanced,
		api.Ready} {
		if regexp.MustCompile(`\b` + string(c) + `\b`).MatchString(f.Tag.Get("doc")) {
			types = append(types, c)
		}
	}
	return f.Index, types
}

// good reports whether a true condition of a type is good news.
func good(t api.ConditionType) bool {
	return t == api.Accepted || t == api.Programmed || t == api.Ready
}

// TestAllIsWell: a bad condition of a resource makes a cause, whatever the kind and the reason,
// unless harmless lists the condition. Each cause has a subject, a meaning and advice.
func TestAllIsWell(t *testing.T) {
	views := []reflect.Type{reflect.TypeFor[api.PlaneBalance]()}
	for _, k := range append(controller.Kinds(), mrc.Kinds()...) {
		views = append(views, k.View)
	}
	used := make(map[string]bool)
	for _, view := range views {
		at, types := conditionsIn(view)
		if at == nil {
			continue
		}
		if len(types) == 0 {
			t.Errorf("%v: the documentation of its conditions names none", view)
		}
		for _, typ := range types {
			for _, reason := range reasons(t) {
				c := api.Condition{Type: typ, Status: !good(typ), Reason: reason, Message: "why"}
				found := causesOf(view, at, c)
				name := view.Name() + " " + string(typ) + "=" + strconv.FormatBool(c.Status) + " "
				any, one := harmless[name+"*"] != "", harmless[name+reason] != ""
				used[name+"*"], used[name+reason] = used[name+"*"] || any, used[name+reason] || one
				switch {
				case len(found) == 0 && !any && !one:
					t.Errorf("all is well with %s%s", name, reason)
				case len(found) > 0 && one:
					t.Errorf("%s%s counts as harmless, and is %+v", name, reason, found)
				}
				for i := range found {
					f := &found[i]
					if f.What == "" || f.Means == "" || f.Todo == "" || f.Object == "" {
						t.Errorf("%s%s: %+v lacks words", name, reason, f)
					}
				}
			}
		}
	}
	for name := range harmless {
		if !used[name] {
			t.Errorf("%q is harmless, and no kind has it", name)
		}
	}
}

// causesOf returns the causes where one resource of a view has one condition.
func causesOf(view reflect.Type, at []int, c api.Condition) []api.Cause {
	var k causes.Known
	known := reflect.ValueOf(&k).Elem()
	for i := range known.NumField() {
		if known.Field(i).Type() != reflect.SliceOf(view) {
			continue
		}
		one := reflect.New(view).Elem()
		one.FieldByIndex(at).Set(reflect.ValueOf(api.Conditions{c}))
		known.Field(i).Set(reflect.Append(known.Field(i), one))
		if view == reflect.TypeFor[api.SwitchStatus]() {
			k.Switches[0].Managed, k.Switches[0].Connected, k.Switches[0].Synced = true, true, true
		}
		return causes.Find(&k)
	}
	return nil
}

// TestKnownHasAll: the server reads the resources of each kind with conditions before the search
// for causes.
func TestKnownHasAll(t *testing.T) {
	s, _ := newFabricServer(t, ev.ModeStructured)
	k, err := Known(t.Context(), &s.cfg, s.controller)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(map[reflect.Type]bool)
	for _, kind := range s.kinds() {
		if at, _ := conditionsIn(kind.View); at != nil {
			asked[kind.View] = true
		}
	}
	delete(asked, reflect.TypeFor[api.Project]())   // has nothing that goes wrong
	delete(asked, reflect.TypeFor[api.EVProfile]()) // only those that are degraded are read
	if len(asked) < 11 {
		t.Errorf("%d kinds have conditions, want more", len(asked))
	}
	known := reflect.ValueOf(k).Elem()
	for view := range asked {
		read := false
		for i := range known.NumField() {
			f := known.Field(i)
			read = read || f.Type() == reflect.SliceOf(view) && !f.IsNil()
		}
		if !read {
			t.Errorf("nobody reads the resources of %v", view)
		}
	}
}
