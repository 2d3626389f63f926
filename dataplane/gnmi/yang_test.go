package gnmi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
)

// modelsDirectory names a checkout of github.com/openconfig/public, whose models the values are
// validated against.
const modelsDirectory = "WEFT_OPENCONFIG"

// readModels reads the modules that Capabilities lists, and returns what is at the top of each by
// name.
func readModels(t *testing.T, supported []*gpb.ModelData) (top map[string]*yang.Entry) {
	t.Helper()
	directory := os.Getenv(modelsDirectory)
	if directory == "" {
		t.Skipf("%s does not name a checkout of github.com/openconfig/public", modelsDirectory)
	}
	ms := yang.NewModules()
	paths, err := yang.PathsWithModules(directory)
	if err != nil {
		t.Fatal(err)
	}
	ms.AddPath(append(paths, "yang")...)
	names := []string{"openconfig-platform-integrated-circuit"}
	for _, m := range supported {
		names = append(names, m.GetName())
	}
	for _, name := range names {
		if err := ms.Read(name); err != nil && !strings.Contains(err.Error(), "no such file") {
			t.Fatal(err)
		}
	}
	if errs := ms.Process(); len(errs) > 0 {
		t.Fatal(errs)
	}
	top = make(map[string]*yang.Entry)
	for _, m := range supported {
		version := ""
		for _, x := range ms.Modules[m.GetName()].Extensions {
			if strings.HasSuffix(x.Keyword, ":openconfig-version") {
				version = x.Argument
			}
		}
		if version != m.GetVersion() {
			t.Errorf("%s has version %s, and Capabilities %s", m.GetName(), version, m.GetVersion())
		}
		for name, e := range yang.ToEntry(ms.Modules[m.GetName()]).Dir {
			top[m.GetName()+":"+name] = e
		}
	}
	return top
}

// A validator compares JSON (RFC 7951) with models.
type validator struct {
	t      *testing.T
	leaves int
	state  map[string]bool // paths of leaves, without keys, and whether they are state
}

func (v *validator) object(at string, e *yang.Entry, module string, members map[string]any) {
	for name, value := range members {
		local := name[strings.LastIndexByte(name, ':')+1:]
		child := e.Dir[local]
		if child == nil {
			v.t.Errorf("%s/%s: the models have no such element", at, name)
			continue
		}
		v.member(at, child, module, name, value)
	}
}

// member validates what has a name below something of a module.
func (v *validator) member(at string, e *yang.Entry, module, name string, value any) {
	of, err := e.InstantiatingModule()
	if err != nil {
		v.t.Fatal(err)
	}
	want := e.Name
	if of != module {
		want = of + ":" + e.Name
	}
	path := at + "/" + e.Name
	if name != want {
		v.t.Errorf("%s has the name %s, want %s", path, name, want)
	}
	switch {
	case e.IsList():
		list, ok := value.([]any)
		if !ok {
			v.t.Errorf("%s is no list", path)
		}
		for _, entry := range list {
			members, _ := entry.(map[string]any)
			if members[e.Key] == nil {
				v.t.Errorf("an entry of %s has no %s", path, e.Key)
			}
			v.object(path, e, of, members)
		}
	case e.IsContainer():
		members, ok := value.(map[string]any)
		if !ok {
			v.t.Errorf("%s is no object", path)
		}
		v.object(path, e, of, members)
	case e.IsLeaf():
		v.leaves++
		v.state[path] = e.ReadOnly()
		if bad := v.value(e, e.Type, value); bad != "" {
			v.t.Errorf("%s is %v: %s", path, value, bad)
		}
	default:
		v.t.Errorf("%s is a %v", path, e.Kind)
	}
}

// value returns the fault in a value of a type, or "" for a valid value.
func (v *validator) value(e *yang.Entry, y *yang.YangType, value any) string {
	number := func(text string) string {
		n, err := yang.ParseInt(text)
		if err != nil || len(y.Range) > 0 && !y.Range.Contains(yang.YangRange{{Min: n, Max: n}}) {
			return fmt.Sprintf("want %v", y.Range)
		}
		return ""
	}
	text, isText := value.(string)
	switch y.Kind {
	case yang.Yleafref:
		target := e.Find(y.Path)
		if target == nil {
			return "the models have nothing at " + y.Path
		}
		return v.value(target, target.Type, value)
	case yang.Yunion:
		bad := "no types"
		for _, t := range y.Type {
			if bad = v.value(e, t, value); bad == "" {
				return ""
			}
		}
		return bad
	case yang.Ybool:
		if _, ok := value.(bool); !ok {
			return "want a boolean"
		}
	case yang.Yuint8, yang.Yuint16, yang.Yuint32:
		n, ok := value.(json.Number)
		if !ok {
			return "want a number"
		}
		return number(n.String())
	case yang.Yuint64:
		if !isText {
			return "want a number of 64 bits as a string"
		}
		return number(text)
	case yang.Yenum:
		if !isText || !y.Enum.IsDefined(text) {
			return fmt.Sprintf("want one of %v", y.Enum.Names())
		}
	case yang.Yidentityref:
		for _, id := range y.IdentityBase.Values {
			if text == yang.RootNode(id).Name+":"+id.Name {
				return ""
			}
		}
		return "want an identity of " + y.IdentityBase.Name + " with the name of its module"
	case yang.Ystring:
		if !isText {
			return "want a string"
		}
		for _, p := range y.Pattern {
			if !regexp.MustCompile("^(?:" + p + ")$").MatchString(text) {
				return "want the pattern " + p
			}
		}
		if n := yang.FromUint(uint64(len(text))); len(y.Length) > 0 &&
			!y.Length.Contains(yang.YangRange{{Min: n, Max: n}}) {
			return fmt.Sprintf("want a length of %v", y.Length)
		}
	default:
		return fmt.Sprintf("it is of type %v, which this test does not know", y.Kind)
	}
	return ""
}

// TestModels validates all answers of the switch against its declared models: names and modules,
// lists and their keys, types and ranges, and the difference between configuration and state.
func TestModels(t *testing.T) {
	b := newBed(t)
	c, err := b.client.Capabilities(b.ctx, &gpb.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	top := readModels(t, c.GetSupportedModels())
	program, err := engine.Load(p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.runner.WithDevice(b.ctx, func(_ time.Duration, d *p4rt.Device) {
		d.Switch().SetProgram(program)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: update(path("eth1", "config/description"),
		text("to T1"))}); err != nil {
		t.Fatal(err)
	}
	read := func(of gpb.GetRequest_DataType) *validator {
		resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Type: of, Encoding: gpb.Encoding_JSON_IETF,
			Path: []*gpb.Path{{}}})
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(
			string(resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())))
		d.UseNumber()
		var all map[string]any
		if err := d.Decode(&all); err != nil {
			t.Fatal(err)
		}
		v := &validator{t: t, state: make(map[string]bool)}
		for name, value := range all {
			if top[name] == nil {
				t.Errorf("%s: no model has it", name)
				continue
			}
			v.member("", top[name], "", name, value)
		}
		return v
	}
	all := read(gpb.GetRequest_ALL)
	t.Logf("%d values of %d leaves", all.leaves, len(all.state))
	if len(all.state) < 60 {
		t.Errorf("%d leaves only", len(all.state))
	}
	for path, state := range read(gpb.GetRequest_CONFIG).state {
		if state {
			t.Errorf("%s is configuration for the switch, and state for the models", path)
		}
	}
	key := regexp.MustCompile(`/(interface|component|queue)/(name|interface-id)$`)
	for path, state := range read(gpb.GetRequest_STATE).state {
		if !state && !key.MatchString(path) {
			t.Errorf("%s is state for the switch, and configuration for the models", path)
		}
	}
}
