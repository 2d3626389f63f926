package truth

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

// node is the switch of a name.
func (n *thin) node(name string) topology.NodeID {
	for id, of := range n.names {
		if of == name {
			return id
		}
	}
	n.t.Fatalf("no switch %s", name)
	return ""
}

// link is the link of a wire.
func (n *thin) link(w wire) topology.LinkID {
	for _, l := range n.core.Links() {
		if l.Status.FromName == w.from && l.Status.ToName == w.to {
			return l.ID
		}
	}
	n.t.Fatalf("no link %v", w)
	return ""
}

// TestProbesLeaveWhatIsDrained: after the controller reports a drain finished, hosts send no probes
// across its target, even when a host learns of the drain late; all remaining links keep their
// probes. After the undrain hosts probe the target again. The drain awaits late hosts.
func TestProbesLeaveWhatIsDrained(t *testing.T) {
	seed := seeds.One(t, 1)
	cfg := lab.ClosConfig{Planes: 2, T0: 4, T1: 4, Hosts: 12}
	for name, of := range map[string]func(n *thin) (mrc.Target, func(w wire) bool){
		"a link": func(n *thin) (mrc.Target, func(wire) bool) {
			l := pick(n, n.links())
			return mrc.Target{Link: n.link(l)},
				func(w wire) bool { return w == l || w == wire{l.to, l.from} }
		},
		"a T1": func(n *thin) (mrc.Target, func(wire) bool) {
			sw := pick(n, n.switches("-T1-"))
			return mrc.Target{Node: n.node(sw)}, func(w wire) bool { return w.from == sw || w.to == sw }
		},
		"a T0": func(n *thin) (mrc.Target, func(wire) bool) {
			sw := pick(n, n.switches("-T0-"))
			return mrc.Target{Node: n.node(sw)}, func(w wire) bool { return w.from == sw || w.to == sw }
		},
		"a plane": func(n *thin) (mrc.Target, func(wire) bool) {
			return mrc.Target{Plane: 2}, func(w wire) bool { return w.from[:2] == "P2" || w.to[:2] == "P2" }
		},
		"a port of a host": func(n *thin) (mrc.Target, func(wire) bool) {
			h := pick(n, n.network.Hosts).Name
			at := n.names[n.hosts[h].leaves[1]]
			return mrc.Target{Host: h, Port: 2}, func(w wire) bool { return w == wire{h, at} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newThin(t, seed, cfg, eachMs, nil)
			target, covers := of(n)
			crossed := make(map[wire]int)
			n.tap = func(w wire) { crossed[w]++ }
			inside := func() (in, out int) {
				for w, k := range crossed {
					if covers(w) {
						in += k
					} else {
						out += k
					}
				}
				clear(crossed)
				return in, out
			}
			n.run(50 * time.Millisecond)
			if in, _ := inside(); in == 0 {
				t.Fatalf("nobody probes %v", target)
			}
			late := n.network.Hosts[0].Name // the last to hear of it
			n.delay = map[string]time.Duration{late: 300 * time.Millisecond}
			n.do(func() {
				if err := n.core.Drain(target); err != nil {
					t.Fatal(err)
				}
			})
			drained := func() (bool, []string) {
				d := n.core.Drains()
				return len(d) == 1 && d[0].Drained, d[0].Awaits
			}
			for end := n.Now() + time.Second; n.Now() < end; n.run(time.Millisecond) {
				is, awaits := drained()
				if is {
					break
				}
				if n.Now() > end-800*time.Millisecond && n.Now() < end-710*time.Millisecond &&
					!slices.Equal(awaits, []string{late}) && !(target.Host != "" && target.Host != late) {
					t.Errorf("%v after the drain it awaits %v, want %s", n.Now(), awaits, late)
				}
			}
			if is, awaits := drained(); !is {
				t.Fatalf("not drained, awaits %v", awaits)
			}
			inside()
			n.run(100 * time.Millisecond)
			in, out := inside()
			if in > 0 || out == 0 {
				t.Errorf("%d probes cross %v after it was drained, %d the rest", in, target, out)
			}
			for _, l := range n.core.Links() {
				w, p := wire{l.Status.FromName, l.Status.ToName}, l.Status.Truth.Probes
				if over := covers(w); over != (p.Gap == "it is drained") || over != (p.Hosts == 0) {
					t.Errorf("%v of %v: %+v", w, target, p)
				}
			}
			n.do(func() {
				if err := n.core.Undrain(target); err != nil {
					t.Fatal(err)
				}
			})
			n.run(time.Second)
			if inside(); len(n.core.Drains()) > 0 {
				t.Fatal("still drained")
			}
			n.run(100 * time.Millisecond)
			if in, _ = inside(); in == 0 || len(n.named) > 0 {
				t.Errorf("%d probes cross %v after the drain, %+v is named", in, target, n.named)
			}
		})
	}
}
