package controller_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// judged looks an address up in a table of a switch, behind a first field that is exact; "": no
// entry.
func (w *bed) judged(
	sw, table, field string, first entry.Value, lpm string, a netip.Addr,
) (action entry.Action) {
	best := -1
	for _, e := range w.devices[sw].Entities {
		t, ok := e.(entry.Table)
		if m, _ := t.Field(field); !ok || t.Name != table || m.Value != first {
			continue
		}
		m, some := t.Field(lpm)
		p, _ := m.Value.Addr6()
		if bits := m.Bits; bits > best && (!some || netip.PrefixFrom(p, bits).Contains(a)) {
			best, action = bits, t.Action
		}
	}
	return action
}

// passes reports whether the switch of a host lets a packet of it pass to an address.
func (w *bed) passes(h *inventory.Host, to netip.Addr) bool {
	source := w.judged(h.Switch, p4.TableSourceGuard, "port", entry.Uint(uint64(h.AllPorts()[0])),
		"src_addr", h.Address)
	who := entry.Uint(0)
	switch source.Name {
	case p4.ActionAllowSource:
	case p4.ActionAllowSourceOf:
		who = source.Arg("of")
	default:
		return false
	}
	return w.judged(h.Switch, p4.TableIsolation, "project", who, "dst_addr",
		to).Name != p4.ActionDropIsolated
}

// TestIsolatedProject: switches keep a project apart from when it says so until it no longer does,
// also after a restart, without a moment in which its hosts do not reach each other.
func TestIsolatedProject(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 3)
	hosts := w.core.Inventory().Hosts
	own, proxy := hosts[:3], netip.MustParsePrefix("2001:db8:aaaa::/64")
	spec := api.ProjectSpec{Isolated: true, Proxies: []api.ProjectPrefix{{Prefix: proxy}}}
	for _, h := range own {
		spec.Hosts = append(spec.Hosts, api.ProjectHost{Name: h.Name})
	}
	put := func(name string, spec api.ProjectSpec) {
		t.Helper()
		if _, _, err := w.core.Projects().Put(name, spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, isolated bool, own []inventory.Host) {
		t.Helper()
		is := func(h *inventory.Host) bool {
			return slices.ContainsFunc(own, func(o inventory.Host) bool { return o.Name == h.Name })
		}
		for i := range hosts {
			from := &hosts[i]
			for j := range hosts {
				want := !isolated || is(from) == is(&hosts[j])
				if got := w.passes(from, hosts[j].Address); got != want {
					t.Errorf("%s: %s to %s passes: %v", when, from.Name, hosts[j].Name, got)
				}
			}
			if got, want := w.passes(from, proxy.Addr().Next()), !isolated || is(from); got != want {
				t.Errorf("%s: %s to a proxy address passes: %v", when, from.Name, got)
			}
		}
	}
	writes := 0
	w.every = func() {
		writes++
		for i := range own {
			for j := range own {
				if !w.passes(&own[i], own[j].Address) {
					t.Fatalf("after %d writes %s does not reach %s", writes, own[i].Name, own[j].Name)
				}
			}
		}
	}
	check("before", false, nil)
	put("acme", spec)
	w.run(time.Second)
	check("isolated", true, own)

	// A controller that starts anew has nothing to write.
	writes = 0
	w.boot()
	w.core.SetTopology(net.Topology.Build())
	w.connectAll()
	w.run(time.Second)
	if check("after a restart", true, own); writes > 0 {
		t.Errorf("%d writes after a restart", writes)
	}

	// Another topology and inventory.
	inv := *w.core.Inventory()
	inv.Hosts = slices.Clone(inv.Hosts)
	inv.Hosts[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("2001:db8:77::/64")}
	if err := w.core.SetInventory(inv); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	check("with another inventory", true, own)
	for i := range hosts {
		if got := w.passes(&hosts[i], netip.MustParseAddr("2001:db8:77::1")); got != (i < len(own)) {
			t.Errorf("%s to a prefix of %s passes: %v", hosts[i].Name, own[0].Name, got)
		}
	}

	// One host fewer: it is an outsider.
	w.every = nil
	fewer := spec
	fewer.Hosts = spec.Hosts[1:]
	put("acme", fewer)
	w.run(time.Second)
	check("with one host fewer", true, own[1:])

	// No longer isolated; and isolated again, and gone.
	fewer.Isolated = false
	put("acme", fewer)
	w.run(time.Second)
	check("no longer isolated", false, nil)
	w.converged()
	put("acme", spec)
	w.run(time.Second)
	check("isolated again", true, own)
	if err := w.core.Projects().Delete("acme", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	check("gone", false, nil)
	w.converged()
}
