package kind_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/kind/kindtest"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

var tenants = kind.New[api.TenantSpec, api.Tenant](kind.About{
	Names: kind.Names{One: "a-policy", Noun: "A policy"}, Prefix: "tenants/", Creates: true,
})

// TestNames: a kind completes the names that it is not given.
func TestNames(t *testing.T) {
	want := kind.Names{One: "a-policy", Many: "a-policies", Noun: "A policy", Nouns: "A policies",
		Short: "a-policy", Shorts: "a-policies"}
	record := resource.Kind{Name: "A policy", Prefix: "tenants/"}
	if tenants.Names != want || tenants.Path() != "/v1/a-policies" || tenants.Record != record {
		t.Errorf("%+v, %s, %+v", tenants.Names, tenants.Path(), tenants.Record)
	}
}

// TestSelect: a page has resources visible to the client after the last name on the page before, in
// name order, within the limit.
func TestSelect(t *testing.T) {
	all := []string{"g10", "x", "g9", "g1", "g11"}
	for _, c := range []struct {
		q    kind.Query
		want string
		more bool
	}{
		{kind.Query{}, "g1 g9 g10 g11 x", false},
		{kind.Query{After: "g9"}, "g10 g11 x", false},
		{kind.Query{After: "g2"}, "g9 g10 g11 x", false},
		{kind.Query{After: "g9", Limit: 2}, "g10 g11", true},
		{kind.Query{Limit: 5}, "g1 g9 g10 g11 x", false},
		{kind.Query{Keep: func(name string) bool { return name != "g9" }, Limit: 2}, "g1 g10", true},
		{kind.Query{Filter: "1"}, "g1 g10 g11", false},
		{kind.Query{After: "x"}, "", false},
	} {
		named := 0
		name := func(s *string) string { named++; return *s }
		p := kind.Select(all, c.q, name, func(s *string, filter any) bool {
			return strings.Contains(*s, filter.(string))
		})
		if named != len(all) {
			t.Errorf("%+v: %d names of %d resources were looked up", c.q, named, len(all))
		}
		if got := strings.Join(p.Items, " "); got != c.want || p.More != c.more || p.Items == nil {
			t.Errorf("%+v: %q, more %v, want %q, %v", c.q, got, p.More, c.want, c.more)
		}
	}
	if !slices.Equal(all, []string{"g10", "x", "g9", "g1", "g11"}) {
		t.Errorf("the list has changed: %v", all)
	}
}

// TestStored: a record gives the resource with its version, spec and time, and no status.
func TestStored(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	versions := resource.NewVersions("versions")
	items := resource.NewCollection[api.TenantSpec, struct{}](tenants.Record, versions)
	items.Put("blue", api.TenantSpec{Slice: 7}, at)
	got, err := tenants.Stored(items.Records()[0])
	want := api.Tenant{Name: "blue", Version: 1, Created: at, Spec: api.TenantSpec{Slice: 7}}
	if a, b := text(t, got), text(t, want); err != nil || a != b {
		t.Errorf("%s, %v, want %s", a, err, b)
	}
	d := tenants.DraftOf(got)
	if d.Name != "blue" || d.Version != 1 || d.Spec.(api.TenantSpec).Slice != 7 {
		t.Errorf("%+v", d)
	}
	if _, err := tenants.Stored(store.Record{Key: "tenants/x", Value: []byte("{")}); err == nil {
		t.Error("a record that is no JSON is taken")
	}
}

// TestWithChanges: the changes of a dry run are in the answer, and not in the resource.
func TestWithChanges(t *testing.T) {
	before := api.Tenant{Name: "blue"}
	after := tenants.WithChanges(before, []api.SwitchChange{{Switch: "n1"}},
		[]api.Taken{{Name: "g"}}).(api.Tenant)
	if len(after.Changes) != 1 || len(after.Takes) != 1 || before.Takes != nil ||
		after.Name != "blue" || before.Changes != nil {
		t.Errorf("%+v, %+v", before, after)
	}
}

// TestHidden: a kind hides facts about other projects, in a copy.
func TestHidden(t *testing.T) {
	k := kind.New[api.TenantSpec, api.Tenant](tenants.About)
	k = kind.Hiding(k, func(v *api.Tenant) { v.Status.VRF = 0 })
	whole := api.Tenant{Name: "blue", Status: api.TenantStatus{VRF: 7}}
	v := k.Hidden(whole).(api.Tenant)
	if v.Status.VRF != 0 || v.Name != "blue" || whole.Status.VRF != 7 {
		t.Errorf("%+v, %+v", v, whole)
	}
	if v := tenants.Hidden(whole).(api.Tenant); v.Status.VRF != 7 {
		t.Errorf("%+v", v)
	}
}

// TestOf: a list gives the handle and the views of the kind that has the types.
func TestOf(t *testing.T) {
	m := kindtest.New[api.TenantSpec, api.Tenant](&kindtest.State{}, tenants, nil)
	all := []*kind.Kind{tenants, m.Bound()}
	h := kind.Of[api.TenantSpec, api.Tenant](all)
	if h == nil || kind.Of[api.NetworkSpec, api.Network](all) != nil {
		t.Fatal(h)
	}
	_, created, err := h.Put(t.Context(), "blue", api.TenantSpec{Slice: 7}, resource.Precondition{})
	if err != nil || !created {
		t.Fatal(err)
	}
	views, err := kind.Views[api.Tenant](t.Context(), all)
	if err != nil || len(views) != 1 || views[0].Spec.Slice != 7 {
		t.Errorf("%+v, %v", views, err)
	}
	v, err := m.Bound().Handle.Get(t.Context(), "blue")
	if err != nil || tenants.NameOf(v) != "blue" {
		t.Errorf("%+v, %v", v, err)
	}
	if other, err := kind.Views[api.Network](t.Context(), all); err != nil || other != nil {
		t.Errorf("%v, %v", other, err)
	}
}

// TestAsk: an answer with a different type than the question's answer type is an error. A question
// unknown to the kind is an error, too.
func TestAsk(t *testing.T) {
	m := kindtest.New[api.TenantSpec, api.Tenant](&kindtest.State{}, tenants, nil)
	ask := func() (string, error) {
		return kind.Ask[string](t.Context(), m, "blue", api.ReadTables{}, resource.Precondition{})
	}
	if _, err := ask(); !errors.Is(err, kind.ErrNoQuestion) {
		t.Error(err)
	}
	answer := any(7)
	m.Asked = func(context.Context, string, any, resource.Precondition) (any, error) {
		return answer, nil
	}
	if _, err := ask(); !errors.Is(err, kind.ErrNoQuestion) {
		t.Error(err)
	}
	answer = "blue"
	if a, err := ask(); err != nil || a != "blue" {
		t.Error(a, err)
	}
}

// TestBase: a kind that clients only read refuses writes.
func TestBase(t *testing.T) {
	var b kind.Base
	_, _, err := b.Put(t.Context(), "x", struct{}{}, resource.Precondition{})
	gone := b.Delete(t.Context(), "x", resource.Precondition{})
	if !errors.Is(err, kind.ErrReadOnly) || !errors.Is(gone, kind.ErrReadOnly) {
		t.Error(err, gone)
	}
	if _, err := b.Get(t.Context(), "x"); !errors.Is(err, api.ErrNotFound) {
		t.Error(err)
	}
}

// TestKnown: the kind refuses a filter value that names nothing on the first page of an empty list,
// and lists the valid values. The kind refuses no other value.
func TestKnown(t *testing.T) {
	names := func(of string) []string {
		return map[string][]string{"nodes": {"a1", "64512:10.0.0.1"}, "planes": {"1", "2"}}[of]
	}
	for _, c := range []struct {
		q      kind.Query
		listed int
		want   string // "": it is accepted
	}{
		{kind.Query{}, 0, ""},
		{kind.Query{Filter: api.LinkFilter{Denied: true}}, 0, ""},
		{kind.Query{Filter: api.LinkFilter{Node: "a1", Plane: 2}}, 0, ""},
		{kind.Query{Filter: api.LinkFilter{Node: "x"}}, 0,
			"query.node is x: want one of a1, 64512:10.0.0.1"},
		{kind.Query{Filter: api.LinkFilter{Plane: 3}}, 0, "query.plane is 3: want one of 1, 2"},
		{kind.Query{Filter: api.LinkFilter{Node: "x"}}, 1, ""},
		{kind.Query{Filter: api.LinkFilter{Node: "x"}, After: "l"}, 0, ""},
		{kind.Query{Filter: api.EVProfileFilter{Host: "x"}}, 0,
			"query.host is x: want nothing: there is none"},
		{kind.Query{Filter: api.LinkFilter{Node: strings.Repeat("x", 65)}}, 0, "query.node is " +
			strings.Repeat("x", 64) + "…: want one of a1, 64512:10.0.0.1"},
	} {
		got := ""
		if err := kind.Known(c.q, c.listed, names); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v, %d listed: %q, want %q", c.q, c.listed, got, c.want)
		}
	}
	many := kind.Unknown("node", "x", slices.Repeat([]string{"a"}, 42))
	if text := many.Error(); !strings.HasSuffix(text, "a, a and 2 more") {
		t.Error(text)
	}
}

// TestDrainable: clients write drainable objects without a name, and read drainable objects by the
// name of the view.
func TestDrainable(t *testing.T) {
	links := kind.NewDrainable(kind.About{
		Names: kind.Names{One: "link", Noun: "link"}, Verbs: kind.List | kind.Put, At: "/v1/x/{id}",
	}, func(l *api.Link) string { return string(l.ID) })
	l := api.Link{ID: "a~b", Version: 3, Spec: api.AdminSpec{Admin: api.AdminDrained}}
	d := links.DraftOf(l)
	if d.Name != "a~b" || d.Version != 3 || links.NameOf(&l) != "a~b" {
		t.Errorf("%+v", d)
	}
	if got := text(t, links.Bare(d)); got != `{"spec":{"admin":"drained"}}` {
		t.Error(got)
	}
	if d, err := links.Decode([]byte(`{"version":3,"spec":{"admin":"up"}}`)); err != nil ||
		d.Version != 3 || d.Spec != (api.AdminSpec{Admin: api.AdminUp}) {
		t.Errorf("%+v, %v", d, err)
	}
	if !links.Has(kind.Put) || links.Has(kind.Delete) || links.Place() != "/v1/x/{id}" ||
		links.Puts != "Drain a link, or use it again" {
		t.Errorf("%+v", links.About)
	}
	if tenants.Place() != "/v1/a-policies/{name}" || !tenants.Has(kind.Delete) {
		t.Errorf("%+v", tenants.About)
	}
	if unnamed := kind.NewNamed[api.Suspect](kind.About{}, nil); unnamed.NameOf(api.Suspect{}) != "" {
		t.Error("what has no name has one")
	}
}

// TestViewWithoutFields: a view without a needed field is a program error, found at the start.
func TestViewWithoutFields(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "has no field Name") {
			t.Error(r)
		}
	}()
	kind.NewView[struct{ ID string }](kind.About{})
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
