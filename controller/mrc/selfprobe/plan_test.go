package selfprobe

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// noDrains implements [fabric.Drains].
type noDrains struct{}

func (noDrains) Link(*fabric.Edge) bool    { return false }
func (noDrains) Node(topology.NodeID) bool { return false }
func (noDrains) Port(string, uint8) bool   { return false }
func (noDrains) Planes() []int             { return nil }

// network is T0s with hosts, T1s, and T2s above all T1s.
type network struct{ t0, t1, t2, hosts, parallel int }

// make returns the fabric and its hosts, which may probe.
func (w network) make(
	t testing.TB, mode ev.Mode, edit func(*inventory.MRC),
) (*fabric.Fabric, []Host) {
	t.Helper()
	cfg := inventory.DefaultMRC(mode.String())
	if edit != nil {
		edit(&cfg)
	}
	net := topology.NewBuilder()
	number := map[topology.NodeID]uint32{}
	join := func(a, b topology.NodeID) {
		for _, x := range []topology.NodeID{a, b} {
			net.SetNode(topology.Node{ID: x, Name: string(x)})
			number[x]++
		}
		p, q := number[a], number[b]
		net.SetLink(topology.Link{Local: a, Remote: b, LocalID: p, RemoteID: q, LocalPort: p,
			RemotePort: q, IGPMetric: 1})
		net.SetLink(topology.Link{Local: b, Remote: a, LocalID: q, RemoteID: p, LocalPort: q,
			RemotePort: p, IGPMetric: 1})
	}
	name := func(tier string, i int) topology.NodeID {
		return topology.NodeID(fmt.Sprintf("%s-%03d", tier, i))
	}
	for i := range w.t0 {
		for j := range w.t1 {
			for range max(1, w.parallel) {
				join(name("t0", i), name("t1", j))
			}
		}
	}
	for i := range w.t1 {
		for j := range w.t2 {
			join(name("t1", i), name("t2", j))
		}
	}
	state := fabric.New(&cfg, fabric.Outside{Drains: noDrains{}})
	var hosts []Host
	for i := range w.hosts {
		h := fabric.Host{Name: fmt.Sprintf("h%04d", i), At: ev.Attachment{name("t0", i%w.t0)},
			Address:   netip.AddrFrom16([16]byte{0x20, 1, 14: byte(i >> 8), 15: byte(i)}),
			LeafPorts: []uint32{uint32(w.t1*max(1, w.parallel) + 1 + i/w.t0)}}
		if _, err := state.PutHost(h); err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, Host{Name: h.Name, At: h.At, LeafPorts: h.LeafPorts})
	}
	state.SetTopology(net.Build())
	state.InSync()
	if !state.Settle() {
		t.Fatal(state.Failure())
	}
	return state.Fabric(), hosts
}

// coverage returns the hosts that probe each link up, and the number of targets of each host. A
// target must lead from the host's leaf up by its climb and back to the host's port.
func coverage(
	t testing.TB, f *fabric.Fabric, hosts []Host, p *Plan,
) (by map[int32][]string, load []int) {
	t.Helper()
	by = make(map[int32][]string)
	for _, h := range hosts {
		load = append(load, len(p.Targets[h.Name]))
		seen := make(map[int32]bool)
		leaf := 0
		for _, x := range p.Targets[h.Name] {
			at := h.At[x.EV.Port-1]
			if x.Leaf != at {
				t.Errorf("%s: leaf %s, want %s", h.Name, x.Leaf, at)
			}
			var path []*topology.Link
			for _, i := range x.Climb {
				e := f.Edge(i)
				if e.Local != at || !e.Rises() {
					t.Fatalf("%s climbs %v: %s does not start at %s", h.Name, x.Climb, e.ID, at)
				}
				path, at = append(path, e.Link), e.Remote
			}
			for _, i := range slices.Backward(x.Climb) {
				path = append(path, f.Reverse(f.Edge(i)).Link)
			}
			want, err := f.Assignment().Encode(x.Leaf, path, ev.TableUSID)
			if err != nil || want != ev.Value(x.EV.Value) {
				t.Errorf("%s: %v, want %v, %v", h.Name, x.EV, want, err)
			}
			if len(x.Climb) == 0 {
				leaf++
				continue
			}
			last := x.Climb[len(x.Climb)-1]
			if seen[last] {
				t.Errorf("%s probes %s twice", h.Name, f.Edge(last).ID)
			}
			seen[last] = true
			by[last] = append(by[last], h.Name)
		}
		if len(p.Targets[h.Name]) > 0 && leaf != 1 {
			t.Errorf("%s has %d probes to its leaf, want 1 for its port", h.Name, leaf)
		}
	}
	return by, load
}

// TestPlanCoversEvenly: three hosts probe every link up, and the numbers of targets of two hosts
// differ by one at most, in every mode with uSIDs.
func TestPlanCoversEvenly(t *testing.T) {
	for _, mode := range []ev.Mode{ev.ModeF3216, ev.ModeF1616, ev.ModeSRH, ev.ModeUSIDStructured} {
		for _, w := range []network{
			{t0: 4, t1: 4, hosts: 16}, {t0: 3, t1: 5, hosts: 12}, {t0: 8, t1: 16, hosts: 256},
			{t0: 2, t1: 7, hosts: 20}, {t0: 4, t1: 4, t2: 3, hosts: 24},
		} {
			f, hosts := w.make(t, mode, nil)
			p := Make(f, hosts, 3, Avoid{}, nil)
			if len(p.Gaps) > 0 {
				t.Errorf("%v, %+v: %+v", mode, w, p.Gaps)
			}
			by, load := coverage(t, f, hosts, p)
			links := 0
			for _, i := range f.ByID() {
				if f.Edge(i).Rises() {
					links++
					if n := len(by[i]); n != 3 {
						t.Errorf("%v, %+v: %s is probed by %d", mode, w, f.Edge(i).ID, n)
					}
				}
			}
			if want := w.t0*w.t1 + w.t1*w.t2; links != want {
				t.Errorf("%d links, want %d", links, want)
			}
			if most := slices.Max(load) - slices.Min(load); most > 1 {
				t.Errorf("%v, %+v: hosts have %d to %d targets", mode, w, slices.Min(load), slices.Max(load))
			}
		}
	}
}

// TestPlanOfFew: where fewer hosts than wanted are below a link, all of them probe the link, and
// the plan names the link and the reason. The plan also names links and ports that no host can
// probe.
func TestPlanOfFew(t *testing.T) {
	f, hosts := network{t0: 2, t1: 2, hosts: 4}.make(t, ev.ModeF3216, nil)
	p := Make(f, hosts[:3], 3, Avoid{}, nil) // two hosts at the first leaf, one at the second
	by, _ := coverage(t, f, hosts[:3], p)
	if len(p.Gaps) != 4 {
		t.Fatalf("%+v, want the four links", p.Gaps)
	}
	for _, g := range p.Gaps {
		want := 2
		if f.Edge(g.Link).Local == "t0-001" {
			want = 1
		}
		if g.Hosts != want || len(by[g.Link]) != want || g.Why == "" {
			t.Errorf("%s: %+v, %v", f.Edge(g.Link).ID, g, by[g.Link])
		}
	}

	// A leaf with two ports to a host sends a probe back by the uSID of the port.
	leaf := hosts[1].At[0]
	hosts[1].At, hosts[1].LeafPorts = ev.Attachment{leaf, leaf}, []uint32{0, 9}
	p = Make(f, hosts, 3, Avoid{}, nil)
	if i := slices.IndexFunc(p.Gaps, func(g Gap) bool { return g.Host == "h0001" }); i < 0 ||
		p.Gaps[i].Port != 1 || p.Gaps[i].Link != -1 || !strings.Contains(p.Gaps[i].Why, "no uSID") {
		t.Errorf("%+v, want that a host's port is unknown", p.Gaps)
	}
	want, err := f.Assignment().Encode(leaf, nil, ev.DecapUSID(9))
	if all := p.Targets["h0001"]; err != nil || len(all) == 0 || slices.ContainsFunc(all,
		func(x Target) bool { return x.EV.Port != 2 }) || ev.Value(all[0].EV.Value) != want {
		t.Errorf("a host with an unknown port probes %+v, want port 2 alone, back by %v", all, want)
	}

	f, hosts = network{t0: 2, t1: 2, hosts: 8, parallel: 2}.make(t, ev.ModeF3216,
		func(m *inventory.MRC) { m.Hops = "nodes" })
	p = Make(f, hosts, 3, Avoid{}, nil)
	if len(p.Gaps) != 8 || !strings.Contains(p.Gaps[0].Why, "hops: links") {
		t.Errorf("%+v, want all of the parallel links", p.Gaps)
	}
	f, hosts = network{t0: 2, t1: 2, hosts: 8, parallel: 2}.make(t, ev.ModeF3216, nil)
	if p = Make(f, hosts, 3, Avoid{}, nil); len(p.Gaps) != 0 {
		t.Errorf("%+v, want none with uSIDs of links", p.Gaps)
	}

	f, hosts = network{t0: 2, t1: 2, hosts: 8}.make(t, ev.ModeStructured, nil)
	if p = Make(f, hosts, 3, Avoid{}, nil); len(p.Targets) != 0 || len(p.Gaps) != 1 ||
		!strings.Contains(p.Gaps[0].Why, "no uSIDs") {
		t.Errorf("%+v, want that mode stev has no uSIDs", p)
	}
}

// TestPlanAvoids: nobody probes over an avoided link or by an avoided port. Other hosts take over
// these targets, so that each other link keeps its three hosts. Unconcerned hosts keep their
// targets.
func TestPlanAvoids(t *testing.T) {
	for _, w := range []network{{t0: 4, t1: 4, hosts: 24}, {t0: 4, t1: 4, t2: 3, hosts: 24}} {
		f, hosts := w.make(t, ev.ModeF3216, nil)
		before := Make(f, hosts, 3, Avoid{}, nil)
		for _, gone := range f.ByID() {
			if !f.Edge(gone).Rises() {
				continue
			}
			silent := hosts[int(gone)%len(hosts)].Name
			avoid := Avoid{
				Link: func(i int32) string {
					if i == gone {
						return "it is drained"
					}
					return ""
				},
				Port: func(host string, port uint8, leaf topology.NodeID) bool {
					i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == host })
					if port != 1 || leaf != hosts[i].At[0] {
						t.Errorf("port %d of %s at %s is asked for", port, host, leaf)
					}
					return host == silent
				},
			}
			p := Make(f, hosts, 3, avoid, nil)
			by, _ := coverage(t, f, hosts, p)
			for _, i := range f.ByID() {
				want := 3
				if i == gone {
					want = 0
				}
				if f.Edge(i).Rises() && len(by[i]) != want {
					t.Errorf("%+v: %s is probed by %d, want %d", w, f.Edge(i).ID, len(by[i]), want)
				}
			}
			if len(p.Gaps) != 1 || p.Gaps[0].Link != gone || p.Gaps[0].Why != "it is drained" {
				t.Errorf("%+v: %+v, want the link that is avoided", w, p.Gaps)
			}
			if p.Targets[silent] != nil {
				t.Errorf("%+v: %s still probes", w, silent)
			}
			for _, h := range hosts {
				kept := slices.DeleteFunc(slices.Clone(before.Targets[h.Name]), func(x Target) bool {
					return avoid.Crosses(h.Name, &x)
				})
				after := p.Targets[h.Name]
				if len(after) < len(kept) || !slices.EqualFunc(kept, after[:len(kept)],
					func(a, b Target) bool { return a.EV == b.EV }) {
					t.Errorf("%+v: %s probes %v, want what it probed before, and perhaps more", w, h.Name, after)
				}
				if slices.ContainsFunc(after, func(x Target) bool { return slices.Contains(x.Climb, gone) }) {
					t.Errorf("%+v: %s crosses what is avoided", w, h.Name)
				}
			}
		}
	}
}
