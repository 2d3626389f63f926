package prove

import (
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

const (
	leaf1, leaf2   = topology.NodeID("leaf1"), topology.NodeID("leaf2")
	spine1, spine2 = topology.NodeID("spine1"), topology.NodeID("spine2")
)

// noProfiles implements Profiles.
type noProfiles struct{}

func (noProfiles) Named(string) *Profile                  { return nil }
func (noProfiles) Count(topology.NodeID, bool) int        { return 0 }
func (noProfiles) At(topology.NodeID, bool, int) *Profile { return nil }
func (noProfiles) Needed([]topology.NodeID) bool          { return true }

// noDrains implements fabric.Drains.
type noDrains struct{}

func (noDrains) Link(*fabric.Edge) bool    { return false }
func (noDrains) Node(topology.NodeID) bool { return false }
func (noDrains) Port(string, uint8) bool   { return false }
func (noDrains) Planes() []int             { return nil }

// newProver returns a Prover of a fabric of two leaves, below two spines in one plane, with hosts
// h1 and h2 at leaf1 and h3 at leaf2.
func newProver(t *testing.T, mode string, change func(*inventory.MRC)) *Prover {
	t.Helper()
	return newProverBelow(t, mode, []topology.NodeID{spine1, spine2}, change)
}

// newProverBelow is newProver for a fabric of some spines.
func newProverBelow(
	t *testing.T, mode string, spines []topology.NodeID, change func(*inventory.MRC),
) *Prover {
	t.Helper()
	cfg := inventory.DefaultMRC(mode)
	if change != nil {
		change(&cfg)
	}
	net := topology.NewBuilder()
	for i, leaf := range []topology.NodeID{leaf1, leaf2} {
		net.SetNode(topology.Node{ID: leaf, Name: "name of " + string(leaf)})
		for j, spine := range spines {
			net.SetNode(topology.Node{ID: spine})
			up, down := uint32(j+1), uint32(i+1)
			net.SetLink(topology.Link{
				Local: leaf, Remote: spine, LocalID: up, RemoteID: down, IGPMetric: 10})
			net.SetLink(topology.Link{
				Local: spine, Remote: leaf, LocalID: down, RemoteID: up, IGPMetric: 10})
		}
	}
	state := fabric.New(&cfg, fabric.Outside{Drains: noDrains{}})
	p, err := New(&cfg, Outside{
		State: state, Profiles: noProfiles{}, Counters: &api.FabricCounters{},
		Settle:   func() *fabric.Denial { return state.Denial() },
		Awaited:  func() bool { return false },
		LastPath: func(int32) string { return "" },
		Probe:    func(string, *hostapi.Probe) {},
		Event:    func(api.EventType, string, string, ...api.EventFields) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, leaf := range []topology.NodeID{leaf1, leaf1, leaf2} {
		at, err := state.PutHost(fabric.Host{
			Name: fmt.Sprintf("h%d", i+1), At: ev.Attachment{leaf},
			Address: netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i+1)),
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Attach(at)
	}
	state.SetTopology(net.Build())
	state.InSync()
	if !state.Settle() {
		t.Fatal(state.Failure())
	}
	return p
}

func linkBetween(p *Prover, from, to topology.NodeID) topology.LinkID {
	f := p.State.Fabric()
	for i := range int32(f.Len()) {
		if e := f.Edge(i); e.Local == from && e.Remote == to {
			return e.ID
		}
	}
	return ""
}

// TestWhySuspectsAreSpared: the prober does not deny a suspect of several links, a suspect with too
// little loss, or the last path between hosts. In mode ecmp it denies no suspect.
func TestWhySuspectsAreSpared(t *testing.T) {
	deny := func(cfg *inventory.MRC) { cfg.Suspects.Deny, cfg.Suspects.DenyLoss = true, 0.01 }
	p := newProver(t, "stev", deny)
	a, b := linkBetween(p, leaf1, spine1), linkBetween(p, spine1, leaf1)
	last := ""
	p.LastPath = func(int32) string { return last }
	for _, c := range []struct {
		links []topology.LinkID
		loss  float64
		last  string
		want  string
	}{
		{[]topology.LinkID{a}, 0.01, "", ""},
		{[]topology.LinkID{a}, 0.009, "", "it loses 0.009, less than 0.01"},
		{[]topology.LinkID{a}, 0.01, "it is the last path", "it is the last path"},
		{[]topology.LinkID{a, b}, 0.5, "", "several links that the evidence does not tell apart"},
		{[]topology.LinkID{"nowhere"}, 0.5, "", "not a link of the fabric"},
	} {
		last = c.last
		x := &accused{Suspect: suspect.Suspect{Links: c.links, Loss: c.loss}}
		if got := p.suspects.spare(x); got != c.want {
			t.Errorf("%v that lose %v: %q, want %q", c.links, c.loss, got, c.want)
		}
	}
	p = newProver(t, "ecmp", deny)
	x := &accused{Suspect: suspect.Suspect{Links: []topology.LinkID{a}, Loss: 0.5}}
	want := "mode ecmp: EVs have no known path, nothing is denied by link"
	if got := p.suspects.spare(x); got != want {
		t.Errorf("in mode ecmp: %q, want %q", got, want)
	}
}

// TestSuspectOfHost: the link of a host runs between the host and its leaf.
func TestSuspectOfHost(t *testing.T) {
	p := newProver(t, "stev", nil)
	name := "name of leaf1"
	for _, c := range []struct {
		end  hostEnd
		want api.Suspect
	}{
		{hostEnd{host: "h1", port: 2, leaf: leaf1},
			api.Suspect{FromName: "h1", To: leaf1, ToName: name, Host: "h1", HostPort: 2}},
		{hostEnd{host: "h1", port: 2, leaf: leaf1, receiving: true},
			api.Suspect{From: leaf1, FromName: name, ToName: "h1", Host: "h1", HostPort: 2}},
		{hostEnd{port: 1, leaf: leaf1, receiving: true},
			api.Suspect{From: leaf1, FromName: name, ToName: "a host", HostPort: 1}},
	} {
		got := p.viewSuspect(&accused{end: &c.end}, func(time.Duration) time.Time { return time.Time{} })
		got.Links = nil
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %+v, want %+v", c.end, got, c.want)
		}
	}
}

// TestHostsComeAndGo: a removed host leaves no links behind.
func TestHostsComeAndGo(t *testing.T) {
	p := newProver(t, "stev", nil)
	h1, h3 := p.hosts["h1"], p.hosts["h3"]
	links := []topology.LinkID{linkBetween(p, leaf1, spine1), linkBetween(p, spine1, leaf2)}
	path := p.ends(h1, h3.Rack(), 1, links)
	if len(path) != 4 || p.named[path[0]].host != "h1" || p.named[path[3]].host != "h3" {
		t.Fatalf("the path from h1 to h3 is %v, of which are known %v", path, p.named)
	}
	// At the far end the hosts of one rack count as one host, because an EV names no receiver.
	if back := p.ends(h3, h1.Rack(), 1, links); p.named[back[3]].host != "" {
		t.Errorf("the path to the rack of h1 and h2 ends at %+v", p.named[back[3]])
	}
	p.Detach(h1)
	for id, end := range p.named {
		if end.host == "h1" {
			t.Errorf("%s is of a host that is gone", id)
		}
	}
}

// TestEvidenceOfAHost: only the increase of a cumulative count is evidence, even after the counter
// has restarted.
func TestEvidenceOfAHost(t *testing.T) {
	e := newEvidence()
	key := counterKey{profile: "p", ev: hostapi.EV{Port: 1}}
	for i, c := range []struct {
		n    counter
		want suspect.Counts
	}{
		{counter{100, 2}, suspect.Counts{Sent: 100, Lost: 2}},
		{counter{150, 3}, suspect.Counts{Sent: 50, Lost: 1}},
		{counter{150, 5}, suspect.Counts{Sent: 2, Lost: 2}}, // found lost later
		{counter{10, 1}, suspect.Counts{}},                  // started again, or wrapped
	} {
		if got := e.count(key, c.n); got != c.want {
			t.Errorf("count %d: %+v, want %+v", i, got, c.want)
		}
	}
	e.restart(true)
	if got := e.count(key, counter{1000, 100}); got != (suspect.Counts{}) {
		t.Errorf("%+v, want nothing: the host had counted before", got)
	}
	for port := range uint8(3) {
		e.assumed[counterKey{ev: hostapi.EV{Port: port + 1}}] = true
	}
	for _, port := range []uint8{1, 2, 3, 1} {
		if k := e.nextAssumed(); k.ev.Port != port {
			t.Errorf("EV of port %d, want %d: EVs take turns", k.ev.Port, port)
		}
	}
}

// TestLinkCounters: the difference between the counters at a link's two ends is the loss, even
// after one end has restarted.
func TestLinkCounters(t *testing.T) {
	locator, err := suspect.New(suspect.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	const link = topology.LinkID("a")
	s := &suspectSet{
		env: &env{now: time.Second}, locator: locator, counts: map[topology.LinkID]linkCount{},
	}
	var want suspect.Counts
	for _, c := range []struct {
		name           string
		sent, received uint64
		more, lost     uint64
	}{
		{"the first says nothing", 1000, 900, 0, 0},
		{"100 are on the way still", 2000, 1900, 1000, 0},
		{"50 are lost", 3000, 2850, 1000, 50},
		{"nothing was sent", 3000, 2850, 0, 0},
		{"those on the way came in", 4000, 4000, 1000, 0},
		{"the receiver has started again", 5000, 100, 0, 0},
		{"its first count is where it begins", 6000, 1100, 1000, 0},
		{"10 are lost", 7000, 2090, 1000, 10},
		{"the sender has started again", 500, 2500, 0, 0},
		{"all are lost", 600, 2500, 100, 0},
		{"the receiver has lost one count", 700, 2499, 0, 0},
	} {
		s.counted(link, c.sent, c.received)
		want.Sent += c.more
		want.Lost += c.lost
		if got := locator.Across(link); got != want {
			t.Fatalf("%s: %+v of the link, want %+v", c.name, got, want)
		}
	}
}

// TestCountersGoDown: counts that wrap or go down make no rate below nothing and none above all.
func TestCountersGoDown(t *testing.T) {
	e := newEvidence()
	key := counterKey{profile: "p"}
	for _, n := range []counter{
		{10, 0}, {5, 5}, {math.MaxUint64, 7}, {3, 3}, {3, 1}, {0, 0},
		{math.MaxUint64, math.MaxUint64}, {1, 0},
	} {
		before := e.counts[key]
		got := e.count(key, n)
		if got.Lost > got.Sent {
			t.Errorf("from %+v to %+v: %d lost of %d", before, n, got.Lost, got.Sent)
		}
		if down := n.sent < before.sent || n.lost < before.lost; down && got != (suspect.Counts{}) {
			t.Errorf("from %+v to %+v: %+v, want nothing", before, n, got)
		}
	}
}

// TestCloserLook: the prover names a host if the losses of its rack's other hosts cannot explain
// its losses.
func TestCloserLook(t *testing.T) {
	for _, c := range []struct {
		counts map[string]suspect.Counts
		want   string
	}{
		{map[string]suspect.Counts{}, ""},
		{map[string]suspect.Counts{"a": {Sent: 500, Lost: 5}, "b": {Sent: 500}, "c": {Sent: 500}}, "a"},
		// two may be chance
		{map[string]suspect.Counts{"a": {Sent: 10, Lost: 2}, "b": {Sent: 1000}, "c": {Sent: 1000}}, ""},
		{map[string]suspect.Counts{"a": {Sent: 3, Lost: 3}, "b": {Sent: 500}}, "a"},
		{map[string]suspect.Counts{"a": {Sent: 500, Lost: 10}, "b": {Sent: 500, Lost: 8},
			"c": {Sent: 500, Lost: 9}}, ""},
		{map[string]suspect.Counts{"a": {Sent: 900, Lost: 90}, "b": {Sent: 900},
			"c": {Sent: 900, Lost: 85}, "d": {Sent: 900}, "e": {Sent: 900}, "f": {Sent: 900}}, "a c"},
		// not twice as many
		{map[string]suspect.Counts{"a": {Sent: 1e6, Lost: 1900}, "b": {Sent: 1e6, Lost: 1000}}, ""},
	} {
		l := closerLook{counts: c.counts}
		if got := strings.Join(l.guilty(), " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.counts, got, c.want)
		}
	}
}
