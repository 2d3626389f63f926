package resource

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

func code(err error) api.Code {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// TestPreconditions: the rules of RFC 9110 sections 13.1 and 13.2.
func TestPreconditions(t *testing.T) {
	for _, c := range []struct {
		name        string
		pre         Precondition
		version     uint64 // 0: missing
		put, change api.Code
	}{
		{"none, missing", Precondition{}, 0, "", api.CodeNotFound},
		{"none, present", Precondition{}, 3, "", ""},
		{"absent, missing", Precondition{Absent: true}, 0, "", api.CodeNotFound},
		{"absent, present", Precondition{Absent: true}, 3, api.CodeExists, api.CodeExists},
		{"version, missing", Precondition{Version: 3}, 0, api.CodeVersion, api.CodeNotFound},
		{"version, same", Precondition{Version: 3}, 3, "", ""},
		{"version, older", Precondition{Version: 2}, 3, api.CodeVersion, api.CodeVersion},
		{"version, newer", Precondition{Version: 4}, 3, api.CodeVersion, api.CodeVersion},
	} {
		for what, got := range map[string]struct {
			err  error
			want api.Code
		}{"put": {c.pre.Check(`tenant "a"`, c.version), c.put},
			"change": {c.pre.CheckExisting(`tenant "a"`, c.version), c.change}} {
			if code(got.err) != got.want || (got.err == nil) != (got.want == "") {
				t.Errorf("%s: %s: %v, want %q", c.name, what, got.err, got.want)
			}
			if got.err != nil && !strings.Contains(got.err.Error(), `tenant "a"`) {
				t.Errorf("%s: %s: %q does not name the resource", c.name, what, got.err)
			}
		}
	}
}

type decision struct {
	VRF  uint16 `json:"vrf"`
	seen bool
}

func collection(records ...store.Record) (Collection[string, decision], *Versions, error) {
	v := NewVersions("versions")
	c := NewCollection[string, decision](Kind{Name: "tenant", Prefix: "tenants/"}, v)
	for _, r := range records {
		if _, err := v.Load(r); err != nil {
			return nil, nil, err
		}
		if _, err := c.Load(r); err != nil {
			return nil, nil, err
		}
	}
	return c, v, nil
}

// TestRecords: a collection comes back with its versions and decisions, and a
// version is never given twice, also not after the newest resource has gone.
func TestRecords(t *testing.T) {
	c, v, _ := collection()
	s := store.NewMemory()
	keep := func() int {
		t.Helper()
		n := 0
		for _, ops := range [][]store.Op{v.Changes(), c.Changes()} {
			n += len(ops)
			if err := s.Apply(context.Background(), ops); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := c.Put("a", "one", t0)
	first.Decided = decision{VRF: 7, seen: true}
	c.Put("b", "one", t0)
	if keep() != 3 || keep() != 0 {
		t.Error("records are written more or less than once")
	}
	if again := c.Put("a", "two", t0.Add(time.Second)); again != first || again.Version != 3 ||
		!again.Created.Equal(t0) || !again.Changed.Equal(t0.Add(time.Second)) {
		t.Errorf("%+v", again)
	}
	c.Delete("b")
	if last := c.Put("c", "one", t0); last.Version != 4 {
		t.Errorf("%+v", last)
	}
	c.Delete("c")
	keep()
	first.Decided.VRF = 8
	c.Save("a")
	keep()

	records, _, err := s.List(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	next, versions, err := collection(records...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Find(next, "a")
	if err != nil || next.Len() != 1 || a.Version != 3 || a.Spec != "two" ||
		a.Decided != (decision{VRF: 8}) || !a.Created.Equal(t0) {
		t.Errorf("%+v, %v, %d resources", a, err, next.Len())
	}
	if n := versions.Next(); n != 5 {
		t.Errorf("version %d is given again", n)
	}
	if _, err := Find(next, "b"); code(err) != api.CodeNotFound {
		t.Error(err)
	}
}

// TestVersionsWithoutTheirRecord: the versions of the resources count too.
func TestVersionsWithoutTheirRecord(t *testing.T) {
	_, v, err := collection(store.Record{Key: "tenants/a", Value: []byte(`{"version":9,"spec":"x"}`)})
	if err != nil || v.Next() != 10 {
		t.Error(err)
	}
}

func TestBadRecords(t *testing.T) {
	for _, r := range []store.Record{{Key: "tenants/a", Value: []byte("{")},
		{Key: "versions", Value: []byte("x")}} {
		if _, _, err := collection(r); err == nil {
			t.Errorf("%s is taken", r.Key)
		}
	}
	c, _, _ := collection()
	if ok, err := c.Load(store.Record{Key: "other/a", Value: []byte("{")}); ok || err != nil {
		t.Errorf("a record of another kind: %v, %v", ok, err)
	}
}

// TestFieldsOfLaterReleases: the record of a resource keeps a field that this release does not know
// until a client replaces or deletes the resource, and a client gets an error that names the field.
func TestFieldsOfLaterReleases(t *testing.T) {
	type spec struct {
		Known struct{ Deep int } `json:"known"`
	}
	c := NewCollection[spec, decision](Kind{Name: "tenant", Prefix: "tenants/"},
		NewVersions("versions"))
	const text = `"spec":{"known":{"deep":2,"later":[3]}}`
	for name, value := range map[string]string{"a": `{"version":1,` + text + `}`,
		"b": `{"version":2,"spec":{"known":{"Deep":2}}}`} {
		if _, err := c.Load(store.Record{Key: "tenants/" + name, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	if i, err := CheckPut(c, "b", Precondition{}); err != nil || i.Spec.Known.Deep != 2 {
		t.Errorf("a spec that this release knows: %+v, %v", i, err)
	}
	i, err := CheckPut(c, "a", Precondition{})
	if code(err) != api.CodeConflict ||
		!strings.Contains(err.Error(), `tenant "a" has the field "later"`) || i.Spec.Known.Deep != 2 {
		t.Errorf("a field of a later release: %+v, %v", i, err)
	}
	if _, err := CheckPut(c, "a", Precondition{Version: 9}); code(err) != api.CodeVersion {
		t.Errorf("another version: %v", err)
	}
	i.Decided.VRF = 7
	c.Save("a")
	if ops := c.Changes(); len(ops) != 1 || !strings.Contains(string(ops[0].Value), text) ||
		!strings.Contains(string(ops[0].Value), `"vrf":7`) {
		t.Errorf("the controller has decided something: %s", ops)
	}
	if _, err := CheckDelete(c, "a", Precondition{}); err != nil {
		t.Errorf("deleting it: %v", err)
	}
	c.Put("a", spec{}, time.Time{}) // by the controller itself
	if ops := c.Changes(); strings.Contains(string(ops[0].Value), "later") {
		t.Errorf("a new spec has the field: %s", ops[0].Value)
	}
	bad := store.Record{Key: "tenants/a", Value: []byte(`{"spec":{"known":5}}`)}
	if _, err := c.Load(bad); err == nil {
		t.Error("a number in place of an object is taken")
	}
}
