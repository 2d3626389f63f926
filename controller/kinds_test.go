package controller_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
)

// next returns a field with a method Put, of a struct or of what it embeds.
func next(v reflect.Value) (found reflect.Value, ok bool) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return v, false
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Interface && !f.IsNil() {
			f = f.Elem()
		}
		if _, puts := f.Type().MethodByName("Put"); puts {
			return f, true
		}
		if v.Type().Field(i).Anonymous {
			if found, ok := next(f); ok {
				return found, true
			}
		}
	}
	return v, false
}

// TestFourTypes: a PUT passes four types from the body to the record, as docs/architecture.md says.
func TestFourTypes(t *testing.T) {
	page, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	core, err := controller.NewCore(controller.Config{Inventory: inventory.Default()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := mrc.New(mrc.Config{MRC: inventory.DefaultMRC("stev"), Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	ofFabric, err := mrc.Offer(fabric, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	ofFabric = slices.DeleteFunc(ofFabric, func(k *kind.Kind) bool { return k.Spec == nil })
	if len(ofFabric) < 6 {
		t.Errorf("clients write %d kinds of the fabric", len(ofFabric))
	}
	paths := make(map[string]int)
	for _, k := range append(controller.Created(), ofFabric...) {
		path := []string{"`northbound.collection`"}
		for v, ok := reflect.ValueOf(k.Handle), true; ok; v, ok = next(v) {
			name, _, _ := strings.Cut(strings.TrimPrefix(v.Type().String(), "*"), "[")
			path = append(path, "`"+name+"`")
			if !v.CanInterface() {
				continue
			}
			if h, ok := v.Interface().(interface{ Resources(*controller.Core) any }); ok {
				v = reflect.ValueOf(struct{ of any }{h.Resources(core)})
			}
		}
		paths[strings.Join(path, " → ")]++
		if len(path) > 4 {
			t.Errorf("%s: %d types, want at most 4: %v", k.Nouns, len(path), path)
		}
	}
	t.Log(paths)
	text := strings.Join(strings.Fields(string(page)), " ")
	for path, n := range paths {
		if n > 1 && !strings.Contains(text, path) {
			t.Errorf("docs/architecture.md does not have %s, the path of %d kinds", path, n)
		}
	}
	if len(paths) == 0 {
		t.Error("there are no kinds")
	}
}
