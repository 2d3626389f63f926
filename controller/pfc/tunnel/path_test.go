package tunnel

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/topology"
)

// wan builds networks for tests: every node has End and, where it is capable,
// End.PFC, every link End.X and, from a capable node, End.X.PFC without and with
// PSP.
type wan struct {
	b      *topology.Builder
	number map[string]int
	nodes  map[string]topology.Node
	pfc    map[string]bool
	ports  map[string]uint32
	links  []topology.Link
}

func newWAN(nodes ...string) *wan {
	w := &wan{b: topology.NewBuilder(), number: map[string]int{}, nodes: map[string]topology.Node{},
		pfc: map[string]bool{}, ports: map[string]uint32{}}
	for i, name := range nodes {
		capable := strings.HasSuffix(name, "*")
		name = strings.TrimSuffix(name, "*")
		w.number[name], w.pfc[name] = i+1, capable
		n := topology.Node{
			ID: topology.NodeID(name), Name: name,
			Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i+1)),
			Locators: []topology.Locator{{Prefix: netip.MustParsePrefix(fmt.Sprintf("5f00:0:%x::/48",
				i+1))}},
			SIDs: []topology.SID{{Address: w.sid(name, 1), Behavior: topology.BehaviorEnd}},
		}
		if capable {
			n.SIDs = append(n.SIDs, topology.SID{Address: w.sid(name, 3),
				Behavior: topology.DefaultPFCBehaviors().End})
		}
		w.nodes[name] = n
		w.b.SetNode(n)
	}
	return w
}

func (w *wan) sid(name string, function int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("5f00:0:%x:%x::", w.number[name], function))
}

// link joins two nodes, with a metric, and a delay in microseconds.
func (w *wan) link(a, b string, metric, delay uint32) {
	w.ports[a]++
	w.ports[b]++
	pa, pb := w.ports[a], w.ports[b]
	w.b.SetLink(w.end(a, b, pa, pb, metric, delay))
	w.b.SetLink(w.end(b, a, pb, pa, metric, delay))
}

func (w *wan) end(a, b string, pa, pb, metric, delay uint32) topology.Link {
	l := topology.Link{
		Local: topology.NodeID(a), Remote: topology.NodeID(b), LocalID: pa, RemoteID: pb,
		IGPMetric: metric, MaxBandwidth: 1e9,
		Delay: topology.Delay{Known: true, Average: delay, Min: delay, Max: delay},
		EndX: []topology.EndX{{SID: topology.SID{Address: w.sid(a, 0x100+int(pa)),
			Behavior: topology.BehaviorEndX}}},
	}
	if w.pfc[a] {
		behaviors := topology.DefaultPFCBehaviors()
		l.EndX = append(l.EndX, topology.EndX{SID: topology.SID{Address: w.sid(a, 0x300+int(pa)),
			Behavior: behaviors.EndXPSP}},
			topology.EndX{SID: topology.SID{Address: w.sid(a, 0x200+int(pa)), Behavior: behaviors.EndX}})
	}
	w.links = append(w.links, l)
	return l
}

// cut takes a link away, both ways.
func (w *wan) cut(a, b string) {
	for _, l := range w.links {
		if string(l.Local) == a && string(l.Remote) == b || string(l.Local) == b &&
			string(l.Remote) == a {
			w.b.RemoveLink(topology.NewLinkID(&l))
		}
	}
}

// figure3 is the draft's, with the detour of its Figure 2.
func figure3() *wan {
	w := newWAN("R1*", "R2", "R3*", "R4", "R5")
	w.link("R1", "R2", 10, 5000)
	w.link("R2", "R3", 10, 5000)
	w.link("R1", "R4", 20, 4000)
	w.link("R4", "R5", 10, 4000)
	w.link("R5", "R3", 10, 4000)
	return w
}

func (w *wan) find(
	t *testing.T, from, to string, metric topology.Metric, via ...Via,
) (*Path, error) {
	t.Helper()
	return FindPath(w.b.Build(), topology.DefaultPFCBehaviors(),
		PathRequest{Headend: topology.NodeID(from), Endpoint: topology.NodeID(to), Metric: metric,
			Via: via})
}

func (w *wan) text(p *Path) string {
	var out []string
	for _, s := range p.Segments {
		out = append(out, fmt.Sprintf("%s.%s", s.Node, topology.DefaultPFCBehaviors().Name(s.Behavior)))
	}
	return strings.Join(out, " ")
}

func (p *Path) nodes() string {
	var out []string
	for _, h := range p.Hops {
		out = append(out, string(h.Node))
	}
	return strings.Join(out, " ")
}

func node(names ...string) (out []Via) {
	for _, n := range names {
		out = append(out, Via{Node: topology.NodeID(n)})
	}
	return out
}

func TestFindPath(t *testing.T) {
	w := figure3()
	for _, c := range []struct {
		name, from, to  string
		metric          topology.Metric
		via             []Via
		nodes, segments string
	}{
		{"figure 3", "R1", "R3", 0, node("R1", "R2", "R3"), "R1 R2 R3", "R1.End.X.PFC R2.End R3.End"},
		{"ends left out", "R1", "R3", 0, node("R2"), "R1 R2 R3", "R1.End.X.PFC R2.End R3.End"},
		{"computed", "R1", "R3", topology.MetricIGP, nil, "R1 R2 R3", "R1.End.X.PFC R3.End"},
		{"computed, delay", "R3", "R1", topology.MetricIGP, nil, "R3 R2 R1", "R3.End.X.PFC R1.End"},
		{"detour", "R1", "R3", 0, node("R4"), "R1 R4 R5 R3", "R1.End.X.PFC R4.End R3.End"},
		{"by SID", "R1", "R3", 0, []Via{{SID: w.sid("R1", 0x202)}, {SID: w.sid("R5", 1)}}, "R1 R4 R5 R3",
			"R1.End.X.PFC R5.End R3.End"},
		{"by SID with a flavor", "R1", "R3", 0, []Via{{SID: w.sid("R1", 0x301)}, {Node: "R2"}},
			"R1 R2 R3", "R1.End.X.PFC (PSP) R2.End R3.End"},
		{"by adjacency", "R2", "R3", 0, []Via{{SID: w.sid("R2", 0x102)}}, "R2 R3", "R2.End.X R3.End"},
		{"not capable", "R2", "R5", topology.MetricIGP, nil, "R2 R3 R5", "R3.End.X.PFC R5.End"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := w.find(t, c.from, c.to, c.metric, c.via...)
			if err != nil {
				t.Fatal(err)
			}
			if p.nodes() != c.nodes || w.text(p) != c.segments {
				t.Errorf("%s by %s, want %s by %s", p.nodes(), w.text(p), c.nodes, c.segments)
			}
		})
	}
	for _, c := range []struct {
		name, from, to string
		via            []Via
		want           error
	}{
		{"no such node", "R1", "R9", nil, ErrNoNode},
		{"no such SID", "R1", "R3", []Via{{SID: netip.MustParseAddr("::1")}}, ErrNoSID},
		{"no such segment", "R1", "R3", node("R7"), ErrNoNode},
		{"loop", "R1", "R3", node("R3", "R2"), ErrLoop},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := w.find(t, c.from, c.to, 0, c.via...); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
	w.cut("R1", "R2")
	if p, err := w.find(t, "R1", "R3", topology.MetricIGP); err != nil || p.nodes() != "R1 R4 R5 R3" {
		t.Errorf("after a cut: %v, %v", p, err)
	}
	w.cut("R1", "R4")
	if _, err := w.find(t, "R1", "R3", topology.MetricIGP); !errors.Is(err, ErrUnreachable) {
		t.Errorf("cut off: %v", err)
	}
}

// TestStageOfHalfCapableNode: a node without an End.PFC SID and without an End.X.PFC SID over the
// link from upstream gets no PFC frames, so it is no stage, though its queue could be paused.
func TestStageOfHalfCapableNode(t *testing.T) {
	for half, want := range map[bool]string{false: "R1 R2 R3", true: "R1 R3"} {
		w := newWAN("R1*", "R2*", "R3*")
		w.link("R1", "R2", 10, 5000)
		w.link("R2", "R3", 10, 5000)
		if half {
			n, back := w.nodes["R2"], w.links[1]
			n.SIDs, back.EndX = n.SIDs[:1], back.EndX[:1]
			w.b.SetNode(n)
			w.b.SetLink(back)
		}
		p, err := w.find(t, "R1", "R3", 0, node("R2")...)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Defaults()
		d, err := Deploy(&cfg, p, "wan", &Tenant{}, &PFCPolicy{Scenario: 1},
			func(id topology.NodeID) string { return string(id) })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range d.Stages {
			got = append(got, string(s.Node))
		}
		if text := strings.Join(got, " "); text != want || len(d.Tunnels) != 2*len(got)-2 {
			t.Errorf("half capable %v: stages %s, %d tunnels; want %s", half, text, len(d.Tunnels), want)
		}
	}
}

// TestNodesAreNamed: errors have the names of nodes, which people know, and not their ids.
func TestNodesAreNamed(t *testing.T) {
	w := figure3()
	for name, n := range w.nodes {
		n.Name = "the " + name
		w.b.SetNode(n)
	}
	w.cut("R4", "R5")
	w.cut("R2", "R3")
	if _, err := w.find(t, "R1", "R3", topology.MetricIGP); !errors.Is(err, ErrUnreachable) ||
		!strings.Contains(err.Error(), "from the R1 to the R3") {
		t.Errorf("%v", err)
	}
	if _, err := w.find(t, "R1", "R4", 0, node("R2", "R1")...); !errors.Is(err, ErrLoop) ||
		!strings.Contains(err.Error(), "the R1") {
		t.Errorf("%v", err)
	}
}

// TestFindPathPins: where shortest paths are several, or others, the segments
// leave no choice.
func TestFindPathPins(t *testing.T) {
	w := newWAN("A*", "B", "C", "D", "E*")
	w.link("A", "B", 10, 1)
	w.link("B", "C", 10, 1)
	w.link("B", "D", 10, 1)
	w.link("C", "E", 10, 1)
	w.link("D", "E", 10, 9)
	p, err := w.find(t, "A", "E", topology.MetricDelay)
	if err != nil || p.nodes() != "A B C E" || w.text(p) != "A.End.X.PFC C.End E.End" {
		t.Errorf("%v %v", p, err)
	}
	w.link("A", "E", 100, 0) // fast, and dear
	p, err = w.find(t, "A", "E", topology.MetricDelay)
	if err != nil || p.nodes() != "A E" || w.text(p) != "A.End.X.PFC E.End" {
		t.Errorf("%v %v", p, err)
	}
}

// TestEndOfAlgorithm0: lists have the End SID of algorithm 0, preferably the one without flavors,
// whatever comes first.
func TestEndOfAlgorithm0(t *testing.T) {
	address := func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("5f00:0:9:%x::", i)) }
	n := &topology.Node{SIDs: []topology.SID{
		{Address: address(1), Behavior: topology.BehaviorEnd, Algorithm: 128},
		{Address: address(2), Behavior: topology.BehaviorEndX},
		{Address: address(3), Behavior: topology.BehaviorEnd + 1},
		{Address: address(4), Behavior: topology.BehaviorEnd},
	}}
	if got := endOf(n); got.Address != address(4) {
		t.Errorf("%v, want %v", got.Address, address(4))
	}
	n.SIDs = n.SIDs[:3]
	if got := endOf(n); got.Address != address(3) {
		t.Errorf("%v, want %v", got.Address, address(3))
	}
	n.SIDs = n.SIDs[:2]
	if got := endOf(n); got.Address.IsValid() {
		t.Errorf("%v, want none", got.Address)
	}
}

// TestArrival: a path arrives by the local port of the node's link in the opposite direction.
// Without an opposite link, the path arrives by the remote port of the link.
func TestArrival(t *testing.T) {
	for _, alone := range []bool{false, true} {
		w := newWAN("R1", "R2")
		out, back := w.end("R1", "R2", 3, 4, 10, 5), w.end("R2", "R1", 4, 3, 10, 5)
		out.RemotePort, back.LocalPort = 44, 45
		w.b.SetLink(out)
		w.b.SetLink(back)
		snap := w.b.Build()
		if alone {
			w.b.RemoveLink(topology.NewLinkID(&back))
			snap = w.b.Build()
		}
		f := &pathWork{snap: snap, graph: snap.Graph(), behaviors: topology.DefaultPFCBehaviors(),
			links: []*topology.Link{snap.Link(topology.NewLinkID(&out))}}
		hops := f.hops(PathRequest{Headend: "R1", Endpoint: "R2"})
		want := map[bool]uint32{false: 45, true: 44}[alone]
		if len(hops) != 2 || hops[0].Arrival != 0 || hops[1].Arrival != want {
			t.Errorf("alone %v: %+v, want an arrival by port %d", alone, hops, want)
		}
	}
}

// TestFirstStage: the first stage has the rate and the speed of the headend's link.
func TestFirstStage(t *testing.T) {
	w := newWAN("R1*", "R2*", "R3*")
	w.link("R1", "R2", 10, 5000)
	w.link("R2", "R3", 10, 5000)
	p, err := w.find(t, "R1", "R3", 0, node("R2")...)
	if err != nil {
		t.Fatal(err)
	}
	p.Hops[0].Rate, p.Hops[1].Rate = 25e9, 10e9
	cfg := Defaults()
	d, err := Deploy(&cfg, p, "wan", &Tenant{}, &PFCPolicy{Scenario: 1},
		func(id topology.NodeID) string { return string(id) })
	if err != nil {
		t.Fatal(err)
	}
	if s := d.Stages[0]; s.Rate != 25e9 || s.Speed != 25e9 {
		t.Errorf("rate %d, speed %d, want 25 Gb/s", s.Rate, s.Speed)
	}
}

// TestHopsInWords: the hops of a path are told as their names with a hyphen in between.
func TestHopsInWords(t *testing.T) {
	w := figure3()
	c := &Core{snap: w.b.Build()}
	p := &Path{Hops: []Hop{{Node: "R1"}, {Node: "R2"}, {Node: "elsewhere"}}}
	if got := c.hops(p); got != "R1-R2-elsewhere" {
		t.Errorf("%q, want R1-R2-elsewhere", got)
	}
}

// TestQueuesInOrder: what a node holds is in order, whatever came first.
func TestQueuesInOrder(t *testing.T) {
	c := &Core{cfg: Defaults()}
	w := nodeWork{c: c, id: "R1", n: &Node{}, feeds: make(map[Queue][]feed)}
	for port := range uint32(16) {
		w.feeds[Queue{"R1", port, 3}] = nil
	}
	queues := w.finish().Queues
	if len(queues) != 16 {
		t.Fatalf("%d queues, want 16", len(queues))
	}
	for i, q := range queues {
		if q.Port != uint32(i) {
			t.Fatalf("queue %d is of port %d", i, q.Port)
		}
	}
}

// TestRateOfPath: between two hops a path carries the rate of the slowest link, with the assumed
// rate for a link of unknown rate, and at most the rate of the tenant.
func TestRateOfPath(t *testing.T) {
	cfg := &Config{Sizing: Sizing{Rate: 50}}
	p := &Path{Hops: []Hop{{Rate: 10}, {Rate: 90}, {Rate: 40}, {Rate: 60}, {}, {Rate: 5}}}
	for _, c := range []struct {
		from, to int
		tenant   uint64
		want     uint64
	}{
		{0, 4, 0, 10}, {1, 2, 0, 90}, {1, 3, 0, 40}, {1, 4, 0, 40}, {3, 4, 0, 60}, {3, 5, 0, 50},
		{3, 6, 0, 5}, {1, 4, 39, 39}, {1, 4, 40, 40}, {1, 4, 41, 40},
	} {
		if got := p.rate(cfg, c.from, c.to, c.tenant); got != c.want {
			t.Errorf("from hop %d to %d, the tenant has %d: %d, want %d", c.from, c.to, c.tenant, got,
				c.want)
		}
	}
}
