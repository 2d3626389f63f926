package underlay

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// routing is what a switch does with packets to an address, by prefix.
type routing map[netip.Prefix]string

func routingOf(entities map[entry.Key]entry.Entity) routing {
	out := routing{}
	for _, e := range entities {
		if p, ok := plan.RoutePrefix(e); ok {
			out[p] = e.(entry.Table).Action.String()
		}
	}
	return out
}

// lookup returns the action for packets to an address. A missing route and a route that drops
// packets give the same result.
func (r routing) lookup(a netip.Addr) string {
	for bits := a.BitLen(); bits >= 0; bits-- {
		p, _ := a.Prefix(bits)
		if action, ok := r[p]; ok && action != "drop_no_route()" {
			return action
		} else if ok {
			break
		}
	}
	return ""
}

// routedSwitch is a switch with a reconciler that writes to it, update by update.
type routedSwitch struct {
	t      *testing.T
	rng    *rand.Rand
	name   string
	wants  reconcile.Want
	events reconcile.Events
	frozen bool
	holds  map[entry.Key]entry.Entity
	// probes are the destinations that are looked up.
	probes []netip.Addr
	// after is called after each update.
	after func(u entry.Update)
}

func newRoutedSwitch(
	t *testing.T, rng *rand.Rand, name string, holds []entry.Entity, settling bool,
) *routedSwitch {
	s := &routedSwitch{t: t, rng: rng, name: name, frozen: settling,
		holds: map[entry.Key]entry.Entity{}}
	want, _, events, err := reconcile.New(reconcile.Config{
		Owner:    func(e entry.Entity) reconcile.Owner { return reconcile.Owner(plan.OwnerOf(e)) },
		Rank:     plan.Rank,
		Frozen:   func(string, reconcile.Owner) bool { return s.frozen },
		Keeps:    func(string, reconcile.Owner, entry.Entity) bool { return false },
		Intended: func(reconcile.Owner) bool { return false },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.wants, s.events = want, events
	s.events.SetSwitches(map[string]bool{name: true}, reconcile.Intervals{})
	for _, e := range holds {
		s.holds[e.Key()] = e
	}
	s.events.Connect(name, entry.Contents{Entities: holds})
	return s
}

func (s *routedSwitch) want(entities []entry.Entity, partial bool) {
	s.frozen = s.frozen || partial
	s.wants.Set(s.name, routes, entities, routeShape{partial})
}

// tasks returns what the reconciler wants done now.
func (s *routedSwitch) tasks() []reconcile.Task {
	s.events.Diff(func(string, reconcile.Owner) {})
	return s.events.Tasks(0, 0)
}

// write carries out what the reconciler chooses, at most so many tasks, and reports
// whether there was less to do.
func (s *routedSwitch) write(most int) bool {
	s.t.Helper()
	for range most {
		tasks := s.tasks()
		if len(tasks) == 0 {
			return true
		}
		for _, batch := range tasks[0].Batches {
			for _, i := range s.rng.Perm(len(batch)) { // a switch may do them in any order
				u := batch[i]
				k := u.Entity.Key()
				if _, held := s.holds[k]; held != (u.Type != entry.Insert) {
					s.t.Fatalf("%v while held is %v: %s", u.Type, held, k)
				}
				if u.Type == entry.Delete {
					delete(s.holds, k)
				} else {
					s.holds[k] = u.Entity
				}
				s.after(u)
			}
		}
		s.events.Done(reconcile.Result{Switch: s.name, ID: tasks[0].ID})
	}
	return false
}

// TestRoutesChangeWithoutDetour: while routes of one topology become routes of another topology,
// each destination goes where it went before or goes afterwards after every single update, in
// whatever order a switch does the updates of a request, also when yet another topology comes
// meanwhile.
func TestRoutesChangeWithoutDetour(t *testing.T) {
	updates := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		nets := changingNets(rng, 3)
		name := nets[0].Inventory.Switches[rng.IntN(len(nets[0].Inventory.Switches))].Name
		routes := func(n *plan.Network) []entry.Entity { return n.Routes(n.Inventory.Switch(name)) }
		s := newRoutedSwitch(t, rng, name, routes(nets[0]), false)
		s.probes = destinations(nets[0])
		for i, n := range nets[1:] {
			want := map[entry.Key]entry.Entity{}
			for _, e := range routes(n) {
				want[e.Key()] = e
			}
			before, afterwards := routingOf(s.holds), routingOf(want)
			s.after = func(u entry.Update) {
				updates++
				now := routingOf(s.holds)
				for _, a := range s.probes {
					if got := now.lookup(a); got != before.lookup(a) && got != afterwards.lookup(a) {
						t.Fatalf("seed %d: %s: after %s, %v goes %q; before %q, afterwards %q", seed, name, u, a, got,
							before.lookup(a), afterwards.lookup(a))
					}
				}
			}
			s.want(routes(n), false)
			if i == 0 {
				s.write(rng.IntN(3))
				continue
			}
			if !s.write(20) {
				t.Fatalf("seed %d: does not end", seed)
			}
			if !maps.EqualFunc(s.holds, want, entry.SameContent) {
				t.Fatalf("seed %d: holds %v, want %v", seed, slices.Sorted(maps.Keys(s.holds)),
					slices.Sorted(maps.Keys(want)))
			}
		}
	}
	if updates < 1000 {
		t.Errorf("only %d updates", updates)
	}
}

// TestRouteLeadsAsTheOneBehind: a route that is no longer wanted leads where its
// destination goes now before anything is removed.
func TestRouteLeadsAsTheOneBehind(t *testing.T) {
	changed := 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 2))
		nets := changingNets(rng, 2)
		name := nets[0].Inventory.Switches[rng.IntN(len(nets[0].Inventory.Switches))].Name
		s := newRoutedSwitch(t, rng, name, nets[0].Routes(nets[0].Inventory.Switch(name)), false)
		want := nets[1].Routes(nets[1].Inventory.Switch(name))
		s.want(want, false)
		wanted := map[entry.Key]entry.Entity{}
		for _, e := range want {
			wanted[e.Key()] = e
		}
		afterwards := routingOf(wanted)
		s.after = func(u entry.Update) {
			if _, ok := wanted[u.Entity.Key()]; !ok && u.Type == entry.Modify {
				changed++
			}
			if u.Type != entry.Delete {
				return
			}
			now := routingOf(s.holds)
			for _, a := range destinations(nets[1]) {
				if to := afterwards.lookup(a); to != "" && now.lookup(a) != to {
					t.Fatalf("seed %d: %s while %v goes %q, want %q", seed, u, a, now.lookup(a), to)
				}
			}
		}
		if !s.write(20) {
			t.Fatalf("seed %d: does not end", seed)
		}
	}
	if changed == 0 {
		t.Error("no route was kept for a while")
	}
}

// TestPartialTopologyKeepsOtherRoutes: while the topology may be incomplete, known destinations use
// the planned path, all other destinations keep the old path, and the controller removes no route.
// The controller does not write to a switch with the right routes.
func TestPartialTopologyKeepsOtherRoutes(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		nets := changingNets(rng, 2)
		inv := nets[0].Inventory
		name := inv.Switches[rng.IntN(len(inv.Switches))].Name
		s := newRoutedSwitch(t, rng, name, nets[0].Routes(inv.Switch(name)), true)
		before := routingOf(s.holds)
		s.want(nets[0].EachRoute(inv.Switch(name)), true)
		if tasks := s.tasks(); len(tasks) > 0 {
			t.Fatalf("seed %d: %v", seed, tasks)
		}

		b := topology.NewBuilder()
		for _, node := range nets[1].Snapshot.Nodes {
			if rng.IntN(3) > 0 || node.Name == name {
				b.SetNode(*node)
			}
		}
		for _, l := range nets[1].Snapshot.Links {
			b.SetLink(*l)
		}
		known := plan.NewNetwork(b.Build(), inv)
		want := known.EachRoute(inv.Switch(name))
		alone := map[entry.Key]entry.Entity{}
		for _, e := range want {
			alone[e.Key()] = e
		}
		single := routingOf(alone)
		to := func(a netip.Addr) string { return cmp.Or(single.lookup(a), before.lookup(a)) }
		s.after = func(u entry.Update) {
			now := routingOf(s.holds)
			for _, a := range destinations(nets[0]) {
				if got := now.lookup(a); u.Type == entry.Delete || got != to(a) && got != before.lookup(a) {
					t.Fatalf("seed %d: %s: after %s, %v goes %q; before %q, then %q", seed, name, u, a, got,
						before.lookup(a), to(a))
				}
			}
		}
		s.want(want, true)
		if !s.write(20) {
			t.Fatalf("seed %d: does not end", seed)
		}
		now := routingOf(s.holds)
		for _, a := range destinations(nets[0]) {
			if got := now.lookup(a); got != to(a) {
				t.Fatalf("seed %d: %s: %v goes %q, want %q", seed, name, a, got, to(a))
			}
		}
	}
}

// TestPartialRoutesInOneAnother: a prefix inside another prefix gets its own route as soon as the
// route of the outer prefix leads elsewhere.
func TestPartialRoutesInOneAnother(t *testing.T) {
	route := func(p string, port uint64) entry.Entity {
		q := netip.MustParsePrefix(p)
		return entry.In(p4.TableIpv6Route,
			entry.Do(p4.ActionForward, entry.With("port", entry.Uint(port)),
				entry.With("neighbor", entry.Uint(port))),
			entry.Exact("vrf", entry.Uint(0)), entry.Match{Field: "dst_addr", Kind: entry.MatchLPM,
				Value: entry.Addr(q.Addr()), Bits: q.Bits()})
	}
	for _, c := range []struct{ holds, wants, writes []entry.Entity }{
		{ // as it is
			[]entry.Entity{route("2001:db8::/40", 1)},
			[]entry.Entity{route("2001:db8:1::/48", 1), route("2001:db8:1:1::/64", 1)},
			nil,
		},
		{ // the one around is inserted
			[]entry.Entity{route("2001:db8::/40", 1)},
			[]entry.Entity{route("2001:db8:1:1::/64", 1), route("2001:db8:1::/48", 2)},
			[]entry.Entity{route("2001:db8:1:1::/64", 1), route("2001:db8:1::/48", 2)},
		},
		{ // the one around changes
			[]entry.Entity{route("2001:db8:1::/48", 1)},
			[]entry.Entity{route("2001:db8:1::/48", 2), route("2001:db8:1:1::/64", 1)},
			[]entry.Entity{route("2001:db8:1:1::/64", 1), route("2001:db8:1::/48", 2)},
		},
	} {
		s := newRoutedSwitch(t, rand.New(rand.NewPCG(1, 1)), "sw", c.holds, true)
		var wrote []entry.Entity
		s.after = func(u entry.Update) { wrote = append(wrote, u.Entity) }
		s.want(c.wants, true)
		s.write(5)
		if !slices.EqualFunc(wrote, c.writes, entry.Equal) {
			t.Errorf("holds %v, wants %v: wrote %v, want %v", c.holds, c.wants, wrote, c.writes)
		}
	}
}

// changingNets returns networks of the same switches, each with different links and host prefixes.
func changingNets(rng *rand.Rand, n int) []*plan.Network {
	var net *sample.Net
	if rng.IntN(2) == 0 {
		net = sample.FatTree(2, 1+rng.IntN(3), 2, 2*(1+rng.IntN(2)), 1)
	} else {
		net = sample.Clos(3+rng.IntN(8), 1+rng.IntN(3), 1)
	}
	whole := net.Topology.Build()
	for i := range 4 {
		node := whole.Nodes[rng.IntN(len(whole.Nodes))].ID
		net.Topology.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: node,
			Prefix: netip.MustParsePrefix(fmt.Sprintf("2001:db8:40:%x::/%d", 4*i, 58+rng.IntN(6)))}})
	}
	for _, p := range []string{"2001:db8:40::/48", "fc00::/40"} { // around others
		if rng.IntN(2) == 0 {
			node := whole.Nodes[rng.IntN(len(whole.Nodes))].ID
			net.Topology.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: node,
				Prefix: netip.MustParsePrefix(p)}})
		}
	}
	whole = net.Topology.Build()
	var out []*plan.Network
	for range n {
		b := whole.Builder()
		for _, l := range whole.Links {
			if rng.IntN(8) == 0 {
				b.RemoveLink(l.ID)
			}
		}
		out = append(out, plan.NewNetwork(b.Build(), &net.Inventory))
	}
	return out
}

// destinations are the addresses that somebody has.
func destinations(n *plan.Network) (out []netip.Addr) {
	for _, node := range n.Snapshot.Nodes {
		out = append(out, node.Loopback)
		for _, l := range node.Locators {
			out = append(out, l.Prefix.Addr())
		}
	}
	for _, p := range n.Snapshot.Prefixes {
		out = append(out, p.Prefix.Addr())
	}
	for _, h := range n.Inventory.Hosts {
		out = append(out, h.Address)
	}
	return out
}
