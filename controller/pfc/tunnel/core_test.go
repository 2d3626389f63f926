package tunnel

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// bed is a core on a network, whose switches take everything at once.
type bed struct {
	*Core
	t   *testing.T
	w   *wan
	at  time.Duration
	saw []string                    // events
	rtt func(p Probe) time.Duration // 0: lost
}

func newBed(t *testing.T, w *wan) *bed {
	t.Helper()
	c, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{Core: c, t: t, w: w, rtt: func(Probe) time.Duration { return 20 * time.Millisecond }}
	b.SetTopology(w.b.Build())
	return b
}

// step lets some time pass.
func (b *bed) step(d time.Duration) {
	for end := b.at + d; b.at < end; {
		b.at = min(end, b.at+10*time.Millisecond)
		b.Tick(b.at)
		b.work()
	}
}

func (b *bed) work() {
	for r := b.Ready(); !r.Empty(); r = b.Ready() {
		for _, e := range r.Events {
			b.saw = append(b.saw, string(e.Type)+" "+e.Object)
		}
		for _, p := range r.Probes {
			if rtt := b.rtt(p); rtt > 0 {
				b.Answered(p.From, p.Cookie, p.Seq, rtt)
			}
		}
		for _, name := range b.Moving() {
			b.Advance(name)
		}
	}
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func (b *bed) tenant(name string, slice uint32, priority uint8, policies ...string) Tenant {
	site := func(node string, port uint32, n int) Site {
		return Site{
			Node: topology.NodeID(node), Port: port,
			Prefixes: []netip.Prefix{prefix(fmt.Sprintf("2001:db8:%x:%d::/64", slice, n))},
			SID:      b.w.sid(node, 0x9000+int(slice)), Address: b.w.nodes[node].Loopback,
		}
	}
	return Tenant{
		Name: name, VRF: uint16(slice), Slice: slice, Priority: priority, Policies: policies,
		Sites: []Site{site("R1", 100+slice, 1), site("R3", 100+slice, 2)},
	}
}

func (b *bed) figure3() {
	b.t.Helper()
	b.must(b.PutSRv6Policy(SRv6Policy{Name: "wan", PathRequest: PathRequest{Headend: "R1",
		Endpoint: "R3", Via: node("R2")}}))
	b.must(b.PutTenant(b.tenant("a", 1, 3, "wan")))
	b.must(b.PutTenant(b.tenant("b", 2, 2, "wan")))
}

func lossless(name string) PFCPolicy {
	return PFCPolicy{Name: name, SRv6Policy: "wan", Tenant: "a", Scenario: 1, Buffer: 16 << 20,
		MaxPause: time.Second}
}

func (b *bed) deployment(policy, name string) *Deployment {
	b.t.Helper()
	s, ok := b.Present(policy)
	if !ok || s.Deployments[name] == nil {
		b.t.Fatalf("%s is not deployed: %+v", name, s)
	}
	return s.Deployments[name]
}

func (t *Tunnel) text() string {
	var out []string
	for _, s := range t.Segments {
		out = append(out, fmt.Sprintf("%s.%s", s.Node, topology.DefaultPFCBehaviors().Name(s.Behavior)))
	}
	return strings.Join(out, " ")
}

// TestScenario1: the draft's Figure 3. The tunnels are {R3.End, R2.End, R1.End.X.PFC} and the
// reverse, without the first node's SID on the wire, and both ends hold the entries by which each
// pauses the other.
func TestScenario1(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.step(time.Second)
	d := b.deployment("wan", "pfc")
	if len(d.Stages) != 2 || d.Stages[0].Node != "R1" || d.Stages[1].Node != "R3" ||
		d.Stages[0].Queues[0] != (Queue{"R1", 1, 3}) || d.Stages[1].Queues[0] != (Queue{"R3", 101, 3}) {
		t.Errorf("stages %+v", d.Stages)
	}
	up, down := &d.Tunnels[0], &d.Tunnels[1]
	if got, want := up.text(), "R3.End R2.End R1.End.X.PFC"; got != want ||
		!slices.Equal(up.List, []netip.Addr{b.w.sid("R2", 1)}) || up.SID != b.w.sid("R1", 0x201) ||
		up.Port != 1 {
		t.Errorf("up: %s, want %s: %+v", got, want, up)
	}
	if got, want := down.text(), "R1.End R2.End R3.End.X.PFC"; got != want ||
		down.SID != b.w.sid("R3", 0x201) || down.Port != 1 {
		t.Errorf("down: %s, want %s: %+v", got, want, down)
	}
	r3, r1 := b.Node("R3"), b.Node("R1")
	if len(r3.Queues) != 1 || r3.Queues[0].Upstreams[0] != (Upstream{List: b.ListNumber(up),
		SID: up.SID, Slice: 1}) {
		t.Errorf("R3's queues: %+v", r3.Queues)
	}
	// 22.5 ms (a measured 20 and an eighth) and half a pause at 1 Gb/s.
	sizing := b.Config().Sizing
	headroom := sizing.Headroom(Feed{RTT: 22500 * time.Microsecond,
		Refresh: packet.PauseTime(0xffff, 1e9) / 2, Rate: 1e9, Nodes: 1})
	if m := r3.Queues[0].Marks; m.Headroom != headroom || m.XOFF != 16<<20-headroom || !m.Fits() {
		t.Errorf("R3's watermarks: %+v, want headroom %d", m, headroom)
	}
	want := []Accept{{SID: up.SID, Source: b.w.nodes["R3"].Loopback, Slice: 1, Priority: 3, Port: 1}}
	if !slices.Equal(r1.Accepts, want) {
		t.Errorf("R1 accepts %+v, want %+v", r1.Accepts, want)
	}
	want = []Accept{{SID: down.SID, Source: b.w.nodes["R1"].Loopback, Slice: 1, Priority: 3, Port: 1}}
	if !slices.Equal(r3.Accepts, want) {
		t.Errorf("R3 accepts %+v, want %+v", r3.Accepts, want)
	}
	if u := r1.Queues[0].Upstreams; len(u) != 1 || u[0] != (Upstream{Port: 101}) {
		t.Errorf("R1 pauses %+v, want the tenant's port", u)
	}
	if !slices.Equal(r1.Slices, []Slice{{1, 3}, {2, 2}}) ||
		!slices.Equal(b.Node("R2").Slices, r1.Slices) {
		t.Errorf("slices at R1 %+v, at R2 %+v", r1.Slices, b.Node("R2").Slices)
	}
	if n := b.Node("R2"); len(n.Queues)+len(n.Accepts)+len(n.Links) != 0 {
		t.Errorf("R2 knows of PFC: %+v", n)
	}
	if n := b.Node("R4"); !n.Empty() {
		t.Errorf("R4 is not concerned: %+v", n)
	}
	if q := b.Quality(up); !q.Probed || q.Down || q.RTT != 20*time.Millisecond {
		t.Errorf("quality %+v", q)
	}
}

// TestTunnelsOverTwoNodes: with two nodes in between, the downward tunnel crosses the nodes in the
// order of the policy, and the upward tunnel in reverse order.
func TestTunnelsOverTwoNodes(t *testing.T) {
	b := newBed(t, figure3())
	b.must(b.PutSRv6Policy(SRv6Policy{Name: "wan", PathRequest: PathRequest{Headend: "R1",
		Endpoint: "R3", Via: node("R4", "R5")}}))
	b.must(b.PutTenant(b.tenant("a", 1, 3, "wan")))
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.step(time.Second)
	d := b.deployment("wan", "pfc")
	if len(d.Tunnels) != 2 {
		t.Fatalf("tunnels %+v", d.Tunnels)
	}
	for _, c := range []struct {
		tunnel *Tunnel
		from   string
		text   string
		list   []netip.Addr
	}{
		{&d.Tunnels[0], "R3", "R3.End R5.End R4.End R1.End.X.PFC",
			[]netip.Addr{b.w.sid("R5", 1), b.w.sid("R4", 1)}},
		{&d.Tunnels[1], "R1", "R1.End R4.End R5.End R3.End.X.PFC",
			[]netip.Addr{b.w.sid("R4", 1), b.w.sid("R5", 1)}},
	} {
		if got := c.tunnel.text(); got != c.text || !slices.Equal(c.tunnel.List, c.list) ||
			c.tunnel.Nodes != 2 {
			t.Errorf("%s by %v over %d nodes, want %s by %v over 2", got, c.tunnel.List, c.tunnel.Nodes,
				c.text, c.list)
		}
		lists := b.Node(topology.NodeID(c.from)).Lists
		i := slices.IndexFunc(lists, func(l List) bool { return l.ID == b.ListNumber(c.tunnel) })
		if i < 0 || !slices.Equal(lists[i].SIDs, c.list) ||
			lists[i].Source != b.w.nodes[c.from].Loopback {
			t.Errorf("%s holds %+v, want list %d with %v", c.from, lists, b.ListNumber(c.tunnel), c.list)
		}
	}
}

// TestListOnTheWire: the headend's own End.X.PFC stays in the list, as visited.
func TestListOnTheWire(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.step(time.Second)
	n := b.Node("R1")
	of := func(id uint16) List {
		i := slices.IndexFunc(n.Lists, func(l List) bool { return l.ID == id })
		if i < 0 {
			t.Fatalf("no list %d in %+v", id, n.Lists)
		}
		return n.Lists[i]
	}
	l := of(n.Steers[0].List)
	if want := []netip.Addr{b.w.sid("R1", 0x201), b.w.sid("R2", 1),
		b.w.sid("R3", 1)}; !slices.Equal(l.SIDs, want) || l.Port != 1 {
		t.Errorf("%+v, want %v by port 1", l, want)
	}
	if back := b.Node("R3").Steers[0]; back.SID != b.w.sid("R1", 0x9001) {
		t.Errorf("back: %+v", back)
	} else if n = b.Node("R3"); len(of(back.List).SIDs) != 0 {
		t.Errorf("no policy leads back, so best effort: %+v", of(back.List))
	}
}

func TestBestEffortTunnel(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	r := lossless("pfc")
	r.BestEffort = true
	b.must(b.PutPFCPolicy(r))
	b.step(time.Second)
	if up := &b.deployment("wan", "pfc").Tunnels[0]; len(up.List) != 0 ||
		up.text() != "R3.End R1.End.X.PFC" {
		t.Errorf("%s: %v", up.text(), up.List)
	}
}

// TestScenario2: there is no tunnel before a packet with the upstream's End.X.PFC has been seen at
// the downstream, in the tenant's slice.
func TestScenario2(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	r := lossless("pfc")
	r.Scenario = 2
	b.must(b.PutPFCPolicy(r))
	b.step(time.Second)
	if d := b.deployment("wan", "pfc"); len(d.Tunnels) != 0 || len(b.Node("R1").Accepts) != 0 {
		t.Fatalf("tunnels before any packet: %+v", d.Tunnels)
	}
	if learn := b.Node("R3").Learn; !slices.Equal(learn, []netip.Addr{b.w.sid("R1", 0x201)}) {
		t.Errorf("R3 looks for %v", learn)
	}
	list, source := b.Node("R1").Lists[0].SIDs, b.w.nodes["R1"].Loopback
	if len(list) == 0 {
		list = b.Node("R1").Lists[1].SIDs
	}
	for name, seen := range map[string][]string{
		"another slice":  b.Seen("R3", source, 2, list),
		"another source": b.Seen("R3", b.w.nodes["R2"].Loopback, 1, list),
		"another list":   b.Seen("R3", source, 1, list[1:]),
		"another node":   b.Seen("R2", source, 1, list),
	} {
		if seen != nil {
			t.Errorf("%s: %v", name, seen)
		}
	}
	if seen := b.Seen("R3", source, 1, list); !slices.Equal(seen, []string{"pfc"}) {
		t.Fatalf("seen: %v", seen)
	}
	b.step(time.Second)
	if d := b.deployment("wan", "pfc"); d.Tunnels[0].text() != "R3.End R2.End R1.End.X.PFC" ||
		len(b.Node("R1").Accepts) != 1 {
		t.Errorf("after the packet: %+v", d.Tunnels)
	}
	if seen := b.Seen("R3", source, 1, list); seen != nil {
		t.Errorf("again: %v", seen)
	}
}

// TestRefusals: what cannot be had is refused with its reason, and changes nothing.
func TestRefusals(t *testing.T) {
	w := figure3()
	delete(w.pfc, "R2")
	b := newBed(t, w)
	b.figure3()
	b.must(b.PutSRv6Policy(SRv6Policy{Name: "from R2", PathRequest: PathRequest{Headend: "R2",
		Endpoint: "R3"}}))
	b.must(b.PutSRv6Policy(SRv6Policy{Name: "to R5", PathRequest: PathRequest{Headend: "R1",
		Endpoint: "R5"}}))
	b.step(time.Second)
	before := fmt.Sprint(b.Node("R1"), b.Node("R2"), b.Node("R3"))
	r := lossless("x")
	for _, c := range []struct {
		name string
		err  error
		want error
		text string
	}{
		{"upstream", b.PutPFCPolicy(with(r, func(r *PFCPolicy) { r.SRv6Policy = "from R2" })),
			ErrNotCapable, "upstream R2"},
		{"downstream", b.PutPFCPolicy(with(r, func(r *PFCPolicy) { r.SRv6Policy = "to R5" })),
			ErrNotCapable, "downstream R5"},
		{"policy", b.PutPFCPolicy(with(r, func(r *PFCPolicy) { r.SRv6Policy = "none" })), ErrUnknown,
			"none"},
		{"tenant", b.PutPFCPolicy(with(r, func(r *PFCPolicy) { r.Tenant = "none" })), ErrUnknown, "none"},
		{"no path", b.PutSRv6Policy(SRv6Policy{Name: "y", PathRequest: PathRequest{Headend: "R1",
			Endpoint: "R9"}}), ErrNoNode, "R9"},
		{"in use", b.DeleteSRv6Policy("wan"), ErrInUse, "wan"},
	} {
		if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", c.name, c.err, c.want, c.text)
		}
	}
	b.step(time.Second)
	if after := fmt.Sprint(b.Node("R1"), b.Node("R2"), b.Node("R3")); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
}

func with(r PFCPolicy, f func(*PFCPolicy)) PFCPolicy {
	f(&r)
	return r
}

// TestTunnelLost: missing probes mean a lost tunnel, and a returning probe means that the tunnel
// works again.
func TestTunnelLost(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.step(time.Second)
	up := &b.deployment("wan", "pfc").Tunnels[0]
	b.rtt = func(p Probe) time.Duration {
		if p.From == "R3" {
			return 0
		}
		return 20 * time.Millisecond
	}
	b.step(time.Second)
	if q := b.Quality(up); !q.Down || q.Lost < 3 {
		t.Errorf("%+v", q)
	}
	if q := b.Quality(&b.deployment("wan", "pfc").Tunnels[1]); q.Down {
		t.Errorf("the other direction: %+v", q)
	}
	b.rtt = func(Probe) time.Duration { return 20 * time.Millisecond }
	b.step(time.Second)
	if q := b.Quality(up); q.Down {
		t.Errorf("after: %+v", q)
	}
	if n := count(b.saw, "pfc.tunnel-lost R3 to R1"); n != 1 {
		t.Errorf("%d losses reported: %v", n, b.saw)
	}
	if n := count(b.saw, "pfc.tunnel-recovered R3 to R1"); n != 1 {
		t.Errorf("%d returns reported: %v", n, b.saw)
	}
}

// TestAnswerOfAnotherNode: a probe that came back elsewhere, or with a cookie that nobody gave,
// says nothing.
func TestAnswerOfAnotherNode(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.rtt = func(p Probe) time.Duration {
		b.Answered("R2", p.Cookie, p.Seq, 20*time.Millisecond)
		b.Answered(p.From, p.Cookie+100, p.Seq, 20*time.Millisecond)
		b.Answered(p.From, p.Cookie, p.Seq+100, 20*time.Millisecond)
		return 0
	}
	b.step(time.Second)
	for i, x := range b.deployment("wan", "pfc").Tunnels {
		if q := b.Quality(&x); !q.Down || q.RTT != 0 {
			t.Errorf("tunnel %d: %+v, want it down and not measured", i, q)
		}
	}
}

// TestPlannedBeforeMeasured: before the first probe returns, the watermarks use the delay of the
// links in both directions with an eighth in reserve. If the delay of a link is unknown, the
// watermarks use the assumed round trip. A delay of 0 is known.
func TestPlannedBeforeMeasured(t *testing.T) {
	of := func(us uint32) topology.Delay { return topology.Delay{Known: true, Average: us, Min: us} }
	for _, c := range []struct {
		first, second topology.Delay // of the links
		want          time.Duration
	}{
		{of(5000), of(5000), 22500 * time.Microsecond}, // 4 x 5 ms and 2.5 ms
		{of(0), of(0), 0},
		{of(5000), topology.Delay{}, 100 * time.Millisecond},
		{topology.Delay{}, of(5000), 100 * time.Millisecond},
	} {
		w := figure3()
		for _, l := range w.links[:4] {
			if l.Delay = c.first; l.Local == "R3" || l.Remote == "R3" {
				l.Delay = c.second
			}
			w.b.SetLink(l)
		}
		b := newBed(t, w)
		b.figure3()
		b.must(b.PutPFCPolicy(lossless("pfc")))
		b.rtt = func(Probe) time.Duration { return 0 }
		b.step(100 * time.Millisecond)
		if q := b.Quality(&b.deployment("wan", "pfc").Tunnels[0]); q.Planned != c.want {
			t.Errorf("links of %+v, %+v: planned for %v, want %v", c.first, c.second, q.Planned, c.want)
		}
	}
}

// TestNumbersRunOut: a node can have one list for each number. An unused list returns the number.
func TestNumbersRunOut(t *testing.T) {
	n := numbers{most: 3, given: map[string]*number{}, taken: map[uint16]bool{}}
	seen := map[uint16]bool{}
	for _, key := range []string{"a", "b", "c", "a"} {
		id, err := n.acquire(key, nil)
		if err != nil || id < 1 || id > 3 {
			t.Fatalf("%s: %d, %v", key, id, err)
		}
		seen[id] = true
	}
	if _, err := n.acquire("d", nil); len(seen) != 3 || !errors.Is(err, ErrNoRoom) {
		t.Errorf("numbers %v, and the fourth: %v", seen, err)
	}
	n.release("a")
	if _, err := n.acquire("d", nil); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a is in use once more: %v", err)
	}
	n.release("a")
	if id, err := n.acquire("d", nil); err != nil || !seen[id] {
		t.Errorf("after a: %d, %v", id, err)
	}
}

// TestTunnelBackTouchesPolicy: the core checks the status of a PFC policy again when the tunnel
// works again, even with an unchanged round trip.
func TestTunnelBackTouchesPolicy(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.step(time.Second)
	lost := func(p Probe) time.Duration {
		if p.From == "R3" {
			return 0
		}
		return 20 * time.Millisecond
	}
	b.rtt = lost
	b.step(time.Second)
	// Run the core alone, without work, to see the effect of a single answer.
	for back := false; !back; {
		b.at += 10 * time.Millisecond
		b.Tick(b.at)
		r := b.Ready()
		for _, p := range r.Probes {
			if p.From != "R3" {
				b.Answered(p.From, p.Cookie, p.Seq, 20*time.Millisecond)
				b.Ready()
				continue
			}
			b.Answered(p.From, p.Cookie, p.Seq, 20*time.Millisecond)
			r, back = b.Ready(), true
			if !slices.ContainsFunc(r.Events,
				func(e Event) bool { return e.Type == api.EventTunnelRecovered }) ||
				!slices.Equal(r.Policies, []string{"pfc"}) {
				t.Errorf("the answer makes ready %+v, want an event and the policy pfc", r)
			}
		}
	}
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// TestProbesBeginAtOnce: tunnels of a core that begins are measured right away, and then every
// ProbeEvery.
func TestProbesBeginAtOnce(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	for _, c := range []struct {
		at   time.Duration
		want int
	}{{0, 2}, {b.cfg.ProbeEvery - 1, 0}, {b.cfg.ProbeEvery, 2}} {
		b.Tick(c.at)
		if got := b.Ready().Probes; len(got) != c.want {
			t.Errorf("at %v: %d probes, want %d", c.at, len(got), c.want)
		}
	}
}

// TestRoundTripTouchesPolicy: the status of a PFC policy shows whether the headroom fits. The core
// checks the status again only when the planned round-trip time changes.
func TestRoundTripTouchesPolicy(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.step(time.Second)
	for _, c := range []struct {
		rtt      time.Duration
		policies []string
		events   int
	}{
		{20 * time.Millisecond, nil, 0}, {60 * time.Millisecond, []string{"pfc"}, 1},
		{60 * time.Millisecond, nil, 0},
	} {
		b.Tick(b.now + b.cfg.ProbeEvery)
		probes := b.Ready().Probes
		if len(probes) != 2 {
			t.Fatalf("probes %+v, want two", probes)
		}
		b.Answered(probes[0].From, probes[0].Cookie, probes[0].Seq, c.rtt)
		r := b.Ready()
		if !slices.Equal(r.Policies, c.policies) || len(r.Events) != c.events ||
			len(r.Nodes) != c.events {
			t.Errorf("an answer after %v makes ready %+v, want policies %q, %d events", c.rtt, r,
				c.policies, c.events)
		}
	}
}

// TestMarksFollow: a longer round trip moves the watermarks at once, noise does not.
func TestMarksFollow(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.step(time.Second)
	before := b.Node("R3").Queues[0].Marks
	n := 0
	b.rtt = func(Probe) time.Duration {
		n++
		return 20*time.Millisecond + time.Duration(n%7)*100*time.Microsecond
	}
	b.step(5 * time.Second)
	if got := b.Node("R3").Queues[0].Marks; got != before {
		t.Errorf("noise: %+v, before %+v", got, before)
	}
	b.rtt = func(Probe) time.Duration { return 60 * time.Millisecond }
	b.step(200 * time.Millisecond)
	after := b.Node("R3").Queues[0].Marks
	if after.Headroom <= before.Headroom+before.Headroom/2 || after.XOFF >= before.XOFF {
		t.Errorf("longer: %+v, before %+v", after, before)
	}
	b.rtt = func(Probe) time.Duration { return 20 * time.Millisecond }
	b.step(4 * time.Second)
	if got := b.Node("R3").Queues[0].Marks; got != before {
		t.Errorf("shorter again: %+v, want %+v", got, before)
	}
}

// TestForeignNumbers: a list gets the number of a foreign list only if both lists are equal.
func TestForeignNumbers(t *testing.T) {
	sids := []netip.Addr{netip.MustParseAddr("5f00::1"), netip.MustParseAddr("5f00::2")}
	fresh := func(foreign map[uint16][]netip.Addr) *numbers {
		return &numbers{most: 3, given: map[string]*number{}, taken: map[uint16]bool{}, foreign: foreign}
	}
	id, err := fresh(nil).acquire("a", sids)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := fresh(map[uint16][]netip.Addr{id: sids}).acquire("a", sids); err != nil ||
		same != id {
		t.Errorf("the same list: %d, %v, want %d", same, err, id)
	}
	if other, err := fresh(map[uint16][]netip.Addr{id: sids[:1]}).acquire("a", sids); err != nil ||
		other == id {
		t.Errorf("another list: %d, %v, want another than %d", other, err, id)
	}
	full := fresh(map[uint16][]netip.Addr{1: nil, 2: nil, 3: nil})
	if _, err := full.acquire("a", sids); !errors.Is(err, ErrNoRoom) {
		t.Errorf("all are foreign: %v", err)
	}
}

// TestForeignListOfPolicy: the segment list of an SRv6 policy takes the number of a foreign list
// with the same SIDs. A best-effort policy needs no list.
func TestForeignListOfPolicy(t *testing.T) {
	p := SRv6Policy{Name: "wan", PathRequest: PathRequest{Headend: "R1", Endpoint: "R3",
		Via: node("R2")}}
	for _, bestEffort := range []bool{false, true} {
		p.BestEffort = bestEffort
		number := func(foreign map[uint16][]netip.Addr) uint16 {
			b := newBed(t, figure3())
			b.SetForeign("R1", foreign)
			b.must(b.PutSRv6Policy(p))
			return b.listNumber("R1", policyKey(p.Name))
		}
		w := figure3()
		sids := []netip.Addr{w.sid("R1", 0x201), w.sid("R2", 1), w.sid("R3", 1)}
		id := number(nil)
		if got := number(map[uint16][]netip.Addr{id: sids}); (got == id) == bestEffort {
			t.Errorf("best effort %v, list %d has the SIDs of the path: %d", bestEffort, id, got)
		}
		if got := number(map[uint16][]netip.Addr{id: nil}); (got == id) != bestEffort {
			t.Errorf("best effort %v, list %d has no SIDs: %d", bestEffort, id, got)
		}
	}
}

// TestTunnelLostAtItsProbe: a tunnel counts lost after the configured number of lost probes in a
// row, and not one probe earlier.
func TestTunnelLostAtItsProbe(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.step(time.Second)
	up := &b.deployment("wan", "pfc").Tunnels[0]
	before := b.Quality(up).Lost
	b.rtt = func(p Probe) time.Duration {
		if p.From == "R3" {
			return 0
		}
		return 20 * time.Millisecond
	}
	limit := uint64(Defaults().ProbeLoss)
	for lost := uint64(0); lost <= limit; lost = b.Quality(up).Lost - before {
		if down := b.Quality(up).Down; down != (lost >= limit) {
			t.Fatalf("%d probes in a row are lost: down %v, want it from %d on", lost, down, limit)
		}
		b.step(10 * time.Millisecond)
	}
}

// TestNextOfMonitors: with at least one tunnel to measure, probes and questions have a due time.
// Without a tunnel, nothing is due.
func TestNextOfMonitors(t *testing.T) {
	c, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := c.Next(); ok {
		t.Errorf("something is due at %v", at)
	}
	m := &monitor{}
	c.monitors["a tunnel"] = m
	c.probedAt, c.askedAt = time.Hour, 2*time.Hour
	if at, ok := c.Next(); !ok || at != time.Hour+c.cfg.ProbeEvery {
		t.Errorf("probes are due at %v, %v; want %v", at, ok, time.Hour+c.cfg.ProbeEvery)
	}
	c.probedAt, c.askedAt = 2*time.Hour, time.Hour
	if at, ok := c.Next(); !ok || at != time.Hour+c.cfg.QueryEvery {
		t.Errorf("questions are due at %v, %v; want %v", at, ok, time.Hour+c.cfg.QueryEvery)
	}
	m.waiting = []outstanding{{lostAt: 30 * time.Minute}}
	if at, ok := c.Next(); !ok || at != 30*time.Minute {
		t.Errorf("a probe is lost at %v, %v; want 30m", at, ok)
	}
	c.now = time.Hour // late
	if at, ok := c.Next(); !ok || at != time.Hour {
		t.Errorf("a probe was lost, and %v, %v is next; want now", at, ok)
	}
}
