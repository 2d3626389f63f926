package fabric

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

const (
	leaf1, leaf2   = topology.NodeID("leaf1"), topology.NodeID("leaf2")
	spine1, spine2 = topology.NodeID("spine1"), topology.NodeID("spine2")
)

// smallNetwork is two leaves below two spines, in one plane. The ports of a link between leaf i and
// spine j are j at the leaf and i at the spine.
func smallNetwork() *topology.Builder {
	net := topology.NewBuilder()
	leaves, spines := [...]topology.NodeID{leaf1, leaf2}, [...]topology.NodeID{spine1, spine2}
	for i, leaf := range leaves {
		net.SetNode(topology.Node{ID: leaf})
		for j, spine := range spines {
			net.SetNode(topology.Node{ID: spine})
			up, down := uint32(j+1), uint32(i+1)
			net.SetLink(topology.Link{
				Local: leaf, Remote: spine, LocalID: up, RemoteID: down, IGPMetric: 10})
			net.SetLink(topology.Link{
				Local: spine, Remote: leaf, LocalID: down, RemoteID: up, IGPMetric: 10})
		}
	}
	return net
}

func defaults() inventory.MRC { return inventory.DefaultMRC("stev") }

func newLinks(t *testing.T) (s *Links, renewed map[topology.LinkID]int) {
	t.Helper()
	cfg := defaults()
	leaves := []topology.NodeID{leaf1, leaf2}
	f, err := newFabric(smallNetwork().Build(), leaves, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{fabric: f, event: func(api.EventType, string, string, ...api.EventFields) {}}
	renewed = make(map[topology.LinkID]int)
	s = &Links{
		env: e, restore: &cfg.Restore, suspects: &cfg.Suspects, probed: true,
		renewed: func(id topology.LinkID) { renewed[id]++ }, waiting: make(map[int32]struct{}),
		denied: make(map[int32]struct{}),
	}
	s.adopt(nil, func(*Edge) bool { return false })
	return s, renewed
}

// TestLinkPhases: a failed link leaves use at once, stays held, then tried, and returns into use
// after a successful probe at the next time to restore.
func TestLinkPhases(t *testing.T) {
	s, renewed := newLinks(t)
	const i = 0
	l := &s.all[i]
	at := func(now time.Duration, restoring bool, want Phase) {
		t.Helper()
		s.now = now
		if s.run(restoring); l.phase != want {
			t.Fatalf("%v: the link is %v, want %v", now, l.phase, want)
		}
	}
	s.now = time.Second
	s.setPort(i, true)
	at(time.Second, true, Down)
	if got := s.take(); !slices.Equal(got, []int32{i}) || len(s.take()) > 0 {
		t.Errorf("links %v went out, want link %d once", got, i)
	}
	if lost := s.lost((*Link).Denied); !slices.Equal(lost, []topology.LinkID{l.ID}) {
		t.Errorf("lost: %v", lost)
	}
	s.now = 2 * time.Second
	s.setPort(i, false)
	at(2*time.Second, true, Held)
	if next := s.next(time.Hour, time.Minute); next != 3*time.Second {
		t.Errorf("next run at %v, want 3s, when the back-off is over", next)
	}
	at(3*time.Second, true, Trying)
	if !s.Open([]int32{i}) || s.InUse([]int32{i}) {
		t.Error("a link that is tried must be open for probes, and not in use")
	}
	s.Result(i, 2*time.Second, 1, 1) // of before
	at(4*time.Second, true, Trying)
	s.Result(i, 4*time.Second, 1, 1)
	at(4*time.Second, false, Trying)
	at(5*time.Second, true, Up)
	if !s.Proven([]int32{i}) || len(s.take()) != 1 || len(s.waiting) != 0 {
		t.Error("a link that is restored must be proven, touched, and wait for nothing")
	}
	if renewed[l.ID] != 2 {
		t.Errorf("what is known of the link was forgotten %d times, want at its failure and its return",
			renewed[l.ID])
	}
	// The second failure within Calm is held twice as long.
	s.setPresent(i, false)
	s.setPresent(i, true)
	at(5*time.Second+1999*time.Millisecond, true, Held)
	at(7*time.Second, true, Trying)
	s.Result(i, s.now, 2, 0)
	at(10*time.Second+999*time.Millisecond, true, Held) // and the lost probe is the third
}

// TestUnprobeableLink: a link that no host can probe is restored after MaxHold.
func TestUnprobeableLink(t *testing.T) {
	s, _ := newLinks(t)
	s.hold(0, "of the test", 0, 1)
	s.run(true)
	s.SetUnprobeable(0, true)
	s.now = s.restore.MaxHold.D()
	if s.run(true); s.all[0].phase != Trying {
		t.Errorf("after %v the link is %v, want trying", s.now, s.all[0].phase)
	}
	s.now += time.Millisecond
	if s.run(true); s.all[0].phase != Up {
		t.Errorf("after %v the link is %v, want up", s.now, s.all[0].phase)
	}
	// One that some host can probe again, here at once, waits for the probe.
	s, _ = newLinks(t)
	s.hold(0, "of the test", 0, 1)
	s.run(true)
	s.SetUnprobeable(0, true)
	s.SetUnprobeable(0, false)
	s.now = time.Hour
	if s.run(true); s.all[0].phase != Trying {
		t.Errorf("after %v the link is %v, want trying", s.now, s.all[0].phase)
	}
	// A link that was always up has nothing to remember of it: a fabric has a million of them.
	s.SetUnprobeable(1, false)
	if s.all[1].past != &never {
		t.Errorf("a link that was always up has a past: %+v", s.all[1].past)
	}
}

// TestOpenLinks: a probe may come through links that are up or tried and not drained; those that
// are up are in use.
func TestOpenLinks(t *testing.T) {
	s, _ := newLinks(t)
	for _, c := range []struct {
		phase       Phase
		drained     bool
		open, inUse bool
	}{
		{Up, false, true, true}, {Trying, false, true, false}, {Held, false, false, false},
		{Down, false, false, false}, {Up, true, false, true}, {Trying, true, false, false},
		{Held, true, false, false}, {Down, true, false, false},
	} {
		s.all[1].phase, s.all[1].drained = c.phase, c.drained
		places := []int32{0, 1}
		if open, inUse := s.Open(places), s.InUse(places); open != c.open || inUse != c.inUse {
			t.Errorf("a link that is %v, drained %v: open %v, in use %v; want %v, %v", c.phase, c.drained,
				open, inUse, c.open, c.inUse)
		}
	}
}

// TestAdoptedLinks: links keep their state when the fabric grows, and a new link is held.
func TestAdoptedLinks(t *testing.T) {
	s, _ := newLinks(t)
	s.setPort(1, true)
	before := s.fabric
	missing := *before
	less := before.snap.Builder()
	less.RemoveLink(before.edges[2].ID)
	missing.snap = less.Build()
	drained := before.edges[3].ID
	s.adopt(&missing, func(e *Edge) bool { return e.ID == drained })
	want := []Phase{Up, Down, Held, Up}
	for i, p := range want {
		if s.all[i].phase != p || s.all[i].drained != (i == 3) {
			t.Errorf("link %d is %v, drained %v; want %v, %v", i, s.all[i].phase, s.all[i].drained, p,
				i == 3)
		}
	}
}

// TestProbesOfBefore: probes that were sent before a link came to its present phase count for
// nothing.
func TestProbesOfBefore(t *testing.T) {
	s, _ := newLinks(t)
	s.now = time.Second
	const i = 0
	l := s.At(i)
	s.hold(i, "of the test", 0, 1)
	s.enter(i, Trying, l.cause)
	for _, received := range []int{0, 1} {
		s.Result(i, l.since-1, 1, received)
		if l.phase != Trying || l.trial.ready || l.misses != 0 {
			t.Errorf("after %d of one that was sent before: %v, ready %v, %d missed", received, l.phase,
				l.trial.ready, l.misses)
		}
	}
	if s.Result(i, l.since, 1, 0); l.phase != Held {
		t.Errorf("after a loss: %v", l.phase)
	}
}

// TestLeafStates: a leaf that was gone is held before EVs use it.
func TestLeafStates(t *testing.T) {
	cfg := defaults()
	s := &leafSet{env: &env{}, restore: &cfg.Restore, states: make(map[topology.NodeID]*leaf)}
	s.setPresent("a", true)
	if len(s.states) != 0 {
		t.Error("a leaf that was never gone needs no state")
	}
	s.setPresent("a", false)
	s.setPresent("a", false)
	s.setPresent("a", true)
	s.setDrained("b", true)
	if got := s.take(); !slices.Equal(got, []topology.NodeID{"a", "b"}) {
		t.Errorf("touched: %v", got)
	}
	lost := s.lost((*leaf).denied)
	slices.Sort(lost)
	if !slices.Equal(lost, []topology.NodeID{"a", "b"}) || !s.waiting() {
		t.Errorf("lost: %v, waiting %v", lost, s.waiting())
	}
	s.now = cfg.Restore.Hold.D()
	s.run()
	s.setDrained("b", false)
	if lost := s.lost((*leaf).denied); len(lost) > 0 || s.waiting() {
		t.Errorf("lost: %v, waiting %v", lost, s.waiting())
	}
}

// TestBadHosts: a host whose fields cannot be is refused with the field.
func TestBadHosts(t *testing.T) {
	prefix := func(texts ...string) func(*Host) {
		return func(h *Host) {
			for _, text := range texts {
				h.Prefixes = append(h.Prefixes, netip.MustParsePrefix(text))
			}
		}
	}
	address := func(text string) func(*Host) {
		return func(h *Host) { h.Address = netip.MustParseAddr(text) }
	}
	at := func(n int) func(*Host) {
		return func(h *Host) { h.At = slices.Repeat(ev.Attachment{leaf1}, n) }
	}
	for _, c := range []struct {
		change func(*Host)
		want   string // the error begins with it; "": there is none
	}{
		{func(*Host) {}, ""},
		{func(h *Host) { h.Name = "" }, "name: "},
		{func(h *Host) { h.Name = strings.Repeat("h", hostapi.MaxName) }, ""},
		{func(h *Host) { h.Name = strings.Repeat("h", hostapi.MaxName+1) }, "name: "},
		{func(h *Host) { h.Address = netip.Addr{} }, "host h: address: "},
		{address("192.0.2.1"), ""},
		{address("::ffff:192.0.2.1"), "host h: address: "},
		{address("fe80::1%eth0"), "host h: address: "},
		{at(0), "host h: at: "},
		{func(h *Host) { h.At = ev.Attachment{"", ""} }, "host h: at: "},
		{func(h *Host) { h.At = ev.Attachment{"", leaf2} }, ""},
		{at(hostapi.MaxPort), ""},
		{at(hostapi.MaxPort + 1), "host h: at: "},
		{func(h *Host) { h.LeafPorts = []uint32{1, 2} }, ""},
		{func(h *Host) { h.LeafPorts = []uint32{1, 2, 3} }, "host h: leafPorts: "},
		{prefix("2001:db8:1::/48", "2001:db8:2::1/128", "::/0"), ""},
		{prefix("2001:db8:1::/48", "2001:db8:2::1/127"), "host h: prefixes: "},
		{prefix("192.0.2.0/24"), ""},
		{prefix("192.0.2.1/24"), "host h: prefixes: "},
		{prefix("::ffff:192.0.2.0/120"), "host h: prefixes: "},
		{func(h *Host) { h.Prefixes = make([]netip.Prefix, 1) }, "host h: prefixes: "},
	} {
		h := Host{Name: "h", Address: netip.MustParseAddr("2001:db8::1"), At: ev.Attachment{leaf1, leaf2}}
		c.change(&h)
		err := h.validate()
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrMalformed) ||
			!strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", h, err, c.want)
		}
	}
}

// TestPortsOfAHost: a port is usable when leaf and host report it up, and its hold is over.
func TestPortsOfAHost(t *testing.T) {
	cfg := defaults().Restore
	var ps hostPorts
	ps.attach(ev.Attachment{"a", "", "c"})
	down := false
	look := func(now time.Duration) (denied, usable hostapi.PortMask, waits bool) {
		return ps.look(now, &cfg, func(i int) bool { return i == 3 && down })
	}
	if denied, usable, _ := look(0); denied != 0 || usable != hostapi.Ports(1, 3) ||
		ps.all() != usable || ps.has(2) || ps.has(0) || ps.has(4) {
		t.Errorf("denied %#x, usable %#x, attached %#x", denied, usable, ps.all())
	}
	down = true
	if denied, usable, _ := look(time.Second); denied != hostapi.Ports(3) ||
		usable != hostapi.Ports(1) {
		t.Errorf("link down: denied %#x, usable %#x", denied, usable)
	}
	down = false
	if denied, usable, waits := look(2 * time.Second); denied != 0 || usable != hostapi.Ports(1) ||
		!waits {
		t.Errorf("held: denied %#x, usable %#x, waits %v", denied, usable, waits)
	}
	if !ps.release(2900*time.Millisecond) || ps.release(3*time.Second) {
		t.Error("the hold must end after a second")
	}
	if _, usable, _ := look(3 * time.Second); usable != hostapi.Ports(1, 3) {
		t.Errorf("restored: usable %#x", usable)
	}
	ps.up, ps.upKnown = hostapi.Ports(3), true
	if denied, usable, _ := look(4 * time.Second); denied != 0 || usable != hostapi.Ports(3) {
		t.Errorf("the host says that port 1 is down: denied %#x, usable %#x", denied, usable)
	}
}

// TestSwitchPortsInOrder: the ports that may have changed are told once each, in order.
func TestSwitchPortsInOrder(t *testing.T) {
	p := newSwitchPorts()
	up := make(map[uint32]bool)
	for port := range uint32(16) {
		up[port] = true
	}
	p.set("s", up)
	up[7], up[16] = false, true
	got, ok := p.set("s", up)
	if !ok || len(got) != 17 || !slices.IsSorted(got) {
		t.Errorf("%v, %v, want 0 to 16", got, ok)
	}
}

// TestReachedBy: a profile leads to the rack of a host if the destination is exactly this host, but
// not if it is a prefix that begins with the host's address.
func TestReachedBy(t *testing.T) {
	address, r := netip.MustParseAddr("2001:db8::"), &Rack{}
	s := &hostSet{byAddress: map[netip.Addr]*Attached{address: {rack: r}}}
	for _, c := range []struct {
		destinations []string
		want         *Rack
	}{
		{[]string{"2001:db8::/128"}, r}, {[]string{"2001:db8::/64"}, nil},
		{[]string{"2001:db8::1/128"}, nil}, {[]string{"2001:db8::/64", "2001:db8::/128"}, r}, {nil, nil},
	} {
		p := &hostapi.Profile{}
		for _, d := range c.destinations {
			p.Destinations = append(p.Destinations, netip.MustParsePrefix(d))
		}
		if got := s.reachedBy(p); got != c.want {
			t.Errorf("%v: %p, want %p", c.destinations, got, c.want)
		}
	}
}

// TestAnyChange: each thing that can change is a change.
func TestAnyChange(t *testing.T) {
	for i, c := range []Changes{{}, {Links: []int32{1}}, {Leaves: []topology.NodeID{"a"}},
		{Hosts: map[string]bool{"h": true}}, {Peers: true}, {Racks: true},
		{Links: []int32{1}, Leaves: []topology.NodeID{"a"}},
		{Leaves: []topology.NodeID{"a"}, Hosts: map[string]bool{"h": true}}} {
		if got := c.Any(); got != (i > 0) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
