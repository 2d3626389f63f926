package mrc

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// direct implements Serializer for a core that has one caller.
type direct struct{}

func (direct) Read(_ context.Context, f func()) error { f(); return nil }

func (direct) Change(
	_ context.Context, _ resource.Precondition, _ func() (uint64, any), f func() error,
) error {
	return f()
}

func (direct) Stream(string) (Stream, bool) { return Stream{}, false }

// kindOf returns the kind in a list that matches k but has a handle.
func kindOf(kinds []*kind.Kind, k *kind.Kind) *kind.Kind {
	return kinds[slices.IndexFunc(kinds, func(b *kind.Kind) bool { return b.One == k.One })]
}

// TestPortTarget: the port of a host follows the last slash. A name without a slash, or without a
// valid port after the slash, is the name of a host, for the error text.
func TestPortTarget(t *testing.T) {
	for name, want := range map[string]Target{
		"h1/2":     {Host: "h1", Port: 2},
		"h/1/255":  {Host: "h/1", Port: 255},
		"h1/256":   {Host: "h1/256"},
		"h1/x":     {Host: "h1/x"},
		"h1/":      {Host: "h1/"},
		"h1":       {Host: "h1"},
		"7":        {Host: "7"},
		"h1/-1":    {Host: "h1/-1"},
		"h1/2/eth": {Host: "h1/2/eth"},
	} {
		if got := portTarget(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestNamesOfResources: each resource, the first and the last included, is found by its name, and
// an unknown name finds no resource. Before the topology is complete, the answer is that the
// resource may exist.
func TestNamesOfResources(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1)
	kinds, err := Offer(w.core, time.Now, direct{})
	if err != nil {
		t.Fatal(err)
	}
	link := w.both(leafID(1, 1), spineID(1, 1))[0].ID
	all := []struct {
		kind           *kind.Kind
		names, unknown []string
	}{
		{HostKind, []string{"h1-1", "h3-1"}, []string{"h1-2", ""}},
		{HostPortKind, []string{"h1-1/1", "h1-1/2", "h3-1/1"}, []string{"h1-1/3", "h1-1/0", "h1-2/1",
			"h1-1/x", "h1-1"}},
		{LinkKind, []string{string(link)}, []string{"x", ""}},
		{NodeKind, []string{"leaf1-1", "spine2-2"}, []string{"leaf1-4"}},
		{PlaneKind, []string{"1", "2"}, []string{"0", "3", "x"}},
		{EVProfileKind, []string{"leaf1-1:leaf1-2"}, []string{"leaf1-1:leaf1-4"}},
	}
	unknown := func(code api.Code) {
		t.Helper()
		for _, c := range all {
			for _, name := range c.unknown {
				if v, err := kindOf(kinds, c.kind).Handle.Get(t.Context(), name); !is(err, code) {
					t.Errorf("%s %q: %+v, %v; want %s", c.kind.One, name, v, err, code)
				}
			}
		}
	}
	unknown(api.CodeSettling)
	w.start()
	unknown(api.CodeNotFound)
	for _, c := range all {
		for _, name := range c.names {
			if _, err := kindOf(kinds, c.kind).Handle.Get(t.Context(), name); err != nil {
				t.Errorf("%s %s: %v", c.kind.One, name, err)
			}
		}
	}
	if p, _ := kind.Of[api.AdminSpec, api.HostPort](kinds).Get(t.Context(), "h1-1/2"); p.Port != 2 ||
		p.Status.Leaf != leafID(2, 1) {
		t.Errorf("port 2 of h1-1: %+v", p)
	}
}

// plainNet implements Network and has one switch.
type plainNet struct {
	kind.Base
	sw    api.SwitchStatus
	hosts []inventory.Found
}

func (n plainNet) List(context.Context, kind.Query) (kind.Page[any], error) {
	return kind.Page[any]{Items: []any{n.sw}}, nil
}

func (n plainNet) Kinds() []*kind.Kind {
	return []*kind.Kind{kind.NewView[api.SwitchStatus](kind.About{
		Names: kind.Names{One: "switch", Noun: "switch"}}).With(n)}
}

func (plainNet) Topology() *topology.Snapshot    { return topology.Empty() }
func (plainNet) Inventory() *inventory.Inventory { return &inventory.Inventory{} }

func (n plainNet) Hosts(context.Context) ([]inventory.Found, error) { return n.hosts, nil }

// TestPortsWithoutFabric: without an MRC fabric peers may send to a port of a host when its switch
// is in the topology, and does not say that the port is down.
func TestPortsWithoutFabric(t *testing.T) {
	for _, c := range []struct {
		sw           api.SwitchStatus
		usable, down bool
	}{
		{api.SwitchStatus{Name: "s", Node: "n"}, true, false},
		{api.SwitchStatus{Name: "s"}, false, false},
		{api.SwitchStatus{Name: "other", Node: "n"}, false, false},
		{api.SwitchStatus{Name: "s", Node: "n", Ports: &api.SwitchPorts{Up: 2}}, true, false},
		{api.SwitchStatus{Name: "s", Node: "n", Ports: &api.SwitchPorts{Up: 1, Down: []uint32{4}}}, true,
			false},
		{api.SwitchStatus{Name: "s", Node: "n", Ports: &api.SwitchPorts{Up: 1, Down: []uint32{5}}}, false,
			true},
	} {
		n := plainNet{sw: c.sw,
			hosts: []inventory.Found{{Host: inventory.Host{Name: "h", Switch: "s", Port: 5}}}}
		p, err := kind.Of[api.AdminSpec, api.HostPort](Plain(n)).Get(t.Context(), "h/1")
		if err != nil || p.Status.Usable != c.usable || p.Status.LinkDown != c.down {
			t.Errorf("%+v: %+v, %v", c.sw, p.Status, err)
		}
	}
}
