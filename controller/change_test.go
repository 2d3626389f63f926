package controller_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// always checks, after every single write, that the receivers get exactly one
// copy and no others any but those that may.
func (w *bed) always(spec *api.MulticastGroupSpec, receivers []string, may ...string) {
	w.every = func() {
		got, _ := w.copies(spec)
		for _, r := range receivers {
			if n := got[w.net.Address(r)]; n != 1 {
				w.t.Fatalf("at %v: %s gets %d copies", w.Now(), r, n)
			}
			delete(got, w.net.Address(r))
		}
		for _, r := range may {
			if got[w.net.Address(r)] > 1 {
				w.t.Fatalf("at %v: %s gets %d copies", w.Now(), r, got[w.net.Address(r)])
			}
			delete(got, w.net.Address(r))
		}
		if len(got) > 0 {
			w.t.Fatalf("at %v: others get copies: %v", w.Now(), got)
		}
	}
}

func seeds(t *testing.T, n int, f func(t *testing.T, seed uint64)) {
	if testing.Short() {
		n = min(n, 3)
	}
	for seed := range uint64(n) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { f(t, seed) })
	}
}

func TestJoin(t *testing.T) {
	seeds(t, 20, func(t *testing.T, seed uint64) {
		net := sample.Figure1()
		w := up(t, net, seed)
		spec := net.Spec(1, "s1", "r1", "r3")
		before := w.put("g", spec)
		w.run(time.Second)
		more := net.Spec(1, "s1", "r1", "r3", "r5")
		psn := uint32(2000)
		more.Receivers[2].StartPSN, more.Receivers[2].StartMSN = &psn, 17
		// r5 must not get data before the group can wait for r5, and must not count as programmed before
		// r5 gets data.
		w.always(&more, []string{"r1", "r3"}, "r5")
		check := w.every
		w.every = func() {
			check()
			got, _ := w.copies(&more)
			r := w.group("g").Status.Receivers[2]
			if r.Programmed && got[r.Address] == 0 {
				t.Fatalf("at %v: %v is programmed without data", w.Now(), r.Address)
			}
			if got[r.Address] > 0 && !w.answers("n3", r.Address, more.ProxyAddress) {
				t.Fatalf("at %v: %v has data and cannot answer", w.Now(), r.Address)
			}
		}
		g := w.put("g", more)
		if g.Status.Epoch <= before.Status.Epoch || !g.Status.Receivers[0].Programmed ||
			g.Status.Receivers[2].Programmed {
			t.Errorf("after PUT: %+v", g.Status)
		}
		w.run(time.Second)
		w.every = nil
		w.converged()
		w.delivers(&more)
		if g = w.group("g"); !g.Status.Receivers[2].Programmed || !g.Status.Is(api.Programmed) {
			t.Errorf("in the end: %+v", g.Status)
		}
	})
}

// answers reports whether a response of a receiver reaches the source: the branch exists, is live,
// and has the same epoch as all nodes above the branch.
func (w *bed) answers(sw string, receiver, proxy netip.Addr) bool {
	tree := w.group("g").Status.Tree
	from, epoch := receiver, uint64(0)
	for sw != "" {
		d := w.devices[sw]
		index, live, found := uint64(0), uint64(0), false
		var groupEpoch, branchEpoch uint64
		for _, e := range d.Entities {
			tb, ok := e.(entry.Table)
			if !ok {
				continue
			}
			switch m, _ := tb.Field("src_addr"); {
			case tb.Name == p4.TableMtGroup:
				live, _ = tb.Action.Arg("live_mask").Uint64()
				groupEpoch, _ = tb.Action.Arg("epoch").Uint64()
			case tb.Name == p4.TableMtBranch && m.Value == entry.Addr(from):
				index, _ = tb.Action.Arg("branch").Uint64()
				branchEpoch, _ = tb.Action.Arg("epoch").Uint64()
				found = true
			}
		}
		if !found || live>>index&1 == 0 || groupEpoch != branchEpoch || epoch != 0 &&
			epoch != groupEpoch {
			return false
		}
		epoch = groupEpoch
		for _, n := range tree.Nodes {
			if n.Switch == sw {
				sw, from = n.Parent, n.Address
				break
			}
		}
	}
	return true
}

func TestLeave(t *testing.T) {
	seeds(t, 20, func(t *testing.T, seed uint64) {
		net := sample.Figure1()
		w := up(t, net, seed)
		spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
		before := w.put("g", spec)
		w.run(time.Second)
		for _, d := range w.devices {
			d.Packets = nil
		}
		less := net.Spec(1, "s1", "r1", "r2", "r4", "r5")
		less.Receivers[2].QPN, less.Receivers[3].QPN = spec.Receivers[3].QPN, spec.Receivers[4].QPN
		w.always(&less, []string{"r1", "r2", "r4", "r5"}, "r3")
		after := w.put("g", less)
		w.run(time.Second)
		w.every = nil
		w.converged()
		w.delivers(&less)
		if after.Status.Epoch != before.Status.Epoch {
			t.Errorf("epoch %d became %d", before.Status.Epoch, after.Status.Epoch)
		}
		if n := w.devices["n2"]; len(n.Packets) != 0 {
			t.Errorf("a switch that left the tree is polled: %v", n.Packets)
		}
		for _, sw := range []string{"n1", "n3", "n4", "n5", "n6"} {
			if p := w.devices[sw].Packets; len(p) != 1 || p[0].Op != entry.Poll {
				t.Errorf("%s is not polled once: %v", sw, p)
			}
		}
		// Receivers that stay keep their branch index; a joining one takes the free one only with a new
		// epoch.
		again := w.put("g", spec)
		w.run(time.Second)
		w.converged()
		if again.Status.Epoch <= after.Status.Epoch {
			t.Errorf("epoch %d after %d", again.Status.Epoch, after.Status.Epoch)
		}
	})
}

func TestLinkDown(t *testing.T) {
	seeds(t, 30, func(t *testing.T, seed uint64) {
		net := sample.Figure1()
		w := up(t, net, seed)
		spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
		w.put("g", spec)
		other := net.Spec(2, "r1", "r2")
		w.put("local", other)
		w.run(time.Second)
		before := w.group("g").Status.Tree
		parent := ""
		for _, n := range before.Nodes {
			if n.Switch == "n2" {
				parent = n.Parent
			}
		}
		w.always(&spec, []string{"r1", "r2", "r4", "r5"}, "r3")
		untouched := w.group("local")
		for _, l := range net.Topology.Build().Links {
			if l.Local == net.Node(parent) && l.Remote == net.Node("n2") || l.Remote == net.Node(parent) &&
				l.Local == net.Node("n2") {
				net.Topology.RemoveLink(l.ID)
			}
		}
		w.core.SetTopology(net.Topology.Build())
		w.run(time.Second)
		w.every = nil
		w.converged()
		w.delivers(&spec)
		for _, n := range w.group("g").Status.Tree.Nodes {
			if n.Switch == "n2" && n.Parent == parent {
				t.Errorf("n2 is still below %s", parent)
			}
		}
		if g := w.group("local"); g.Status.Epoch != untouched.Status.Epoch ||
			g.Version != untouched.Version {
			t.Errorf("a group that does not use the link was moved: %+v", g.Status)
		}
	})
}

// A tree that is moved while its links still work loses nothing: the old one
// carries data until the new one does.
func TestMoveWithoutLoss(t *testing.T) {
	seeds(t, 30, func(t *testing.T, seed uint64) {
		net := sample.Clos(4, 3, 2)
		w := up(t, net, seed)
		spec := net.Spec(1, "h1", "h2", "h3", "h4", "h5", "h6", "h7")
		w.put("g", spec)
		w.run(time.Second)
		w.wires = w.core.Topology()
		for i := range 4 {
			w.always(&spec, names("h", 2, 7))
			spine := w.group("g").Status.Tree.Nodes[1].Switch
			removed := removeLinks(net, w.core.Topology(), spine)
			w.core.SetTopology(net.Topology.Build())
			if i%2 == 1 { // moved again on the way
				w.run(w.random(20 * time.Millisecond))
				net.Topology.SetLink(removed[0])
				w.core.SetTopology(net.Topology.Build())
			}
			w.run(time.Second)
			w.every = nil
			w.converged()
			w.delivers(&spec)
			if now := w.group("g").Status.Tree.Nodes[1].Switch; now == spine {
				t.Errorf("the tree still crosses %s", spine)
			}
			for _, l := range removed {
				net.Topology.SetLink(l)
			}
			w.core.SetTopology(net.Topology.Build())
		}
	})
}

// removeLinks takes the links of a switch away and returns them.
func removeLinks(net *sample.Net, snap *topology.Snapshot, sw string) (removed []topology.Link) {
	for _, l := range snap.Links {
		if l.Local == net.Node(sw) || l.Remote == net.Node(sw) {
			removed = append(removed, *l)
			net.Topology.RemoveLink(l.ID)
		}
	}
	return removed
}

func TestUnreachableLater(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	spec := net.Spec(1, "s1", "r1", "r3", "r4")
	w.put("g", spec)
	w.run(time.Second)
	epoch := w.group("g").Status.Epoch
	cut := removeLinks(net, w.core.Topology(), "n1")
	w.core.SetTopology(net.Topology.Build())
	w.run(time.Second)
	g := w.group("g")
	if c := g.Status.Condition(api.Degraded); !c.Status || c.Reason != api.ReasonUnreachable ||
		!strings.Contains(c.Message, "spec.receivers[0].address") {
		t.Errorf("condition %+v", c)
	}
	w.keeps = true
	w.converged()
	w.keeps = false
	for _, l := range cut {
		net.Topology.SetLink(l)
	}
	w.core.SetTopology(net.Topology.Build())
	w.run(time.Second)
	g = w.group("g")
	if !g.Status.Is(api.Programmed) || g.Status.Is(api.Degraded) || g.Status.Epoch != epoch {
		t.Errorf("after the link came back: %+v", g.Status)
	}
	w.converged()
	w.delivers(&spec)
}

func TestReset(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	spec := net.Spec(1, "s1", "r1", "r3", "r4")
	before := w.put("g", spec)
	w.run(time.Second)
	w.always(&spec, []string{"r1", "r3", "r4"})
	after, err := w.core.ResetGroup("g", resource.Precondition{Version: before.Version})
	if err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	w.every = nil
	w.converged()
	if after.Status.Epoch <= before.Status.Epoch || after.Version != before.Version {
		t.Errorf("before %+v after %+v", before, after)
	}
	for sw := range w.devices {
		if e := w.epochs[sw][0]; e != 0 && e != after.Status.Epoch {
			t.Errorf("%s has epoch %d", sw, e)
		}
	}
}
