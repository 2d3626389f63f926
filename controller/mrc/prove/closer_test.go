package prove

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// TestCloserLookNamesHost: a rack whose link to some host loses packets is suspected until a closer
// look has found the host, which takes its place then. The look ends half a minute after the rack
// was suspected last.
func TestCloserLookNamesHost(t *testing.T) {
	p := newProver(t, "stev", nil)
	rack := p.hosts["h1"].Rack()
	found := []suspect.Suspect{{Links: []topology.LinkID{p.named.of(rack, 1, true)}, Loss: 0.05}}
	if got := p.suspects.closer(found); len(got) != 1 || !slices.Equal(got[0].Links, found[0].Links) {
		t.Fatalf("%+v before any probe, want the rack, %+v", got, found)
	}
	look := p.suspects.looks[found[0].Links[0]]
	look.note("h1", suspect.Counts{Sent: 300, Lost: 30})
	look.note("h1", suspect.Counts{Sent: 200, Lost: 20})
	look.note("h2", suspect.Counts{Sent: 500})
	got := p.suspects.closer(found)
	want := p.named.host(p.hosts["h1"].Attached, 1, true)
	if len(got) != 1 || !slices.Equal(got[0].Links, []topology.LinkID{want}) {
		t.Fatalf("%+v, want %s", got, want)
	}
	if s := got[0]; s.Sent != 500 || s.Lost != 50 || s.Paths != 1 || math.Abs(s.Loss-0.1) > 1e-9 ||
		s.Confidence < 0.99 || s.Confidence > 1 {
		t.Errorf("%+v, want 50 of 500 lost on one path", s)
	}
	p.now = lookKept - 1
	if p.suspects.closer(nil); len(p.Looked()) != 1 {
		t.Error("the look has ended")
	}
	p.now = lookKept
	if p.suspects.closer(nil); len(p.Looked()) != 0 {
		t.Errorf("the look goes on after %v", p.now)
	}
}

// TestCloserLookTakesTurns: a closer look goes along the paths of the rack in turn, and along each
// to all of its hosts; what they say is noted by host.
func TestCloserLookTakesTurns(t *testing.T) {
	p := newProver(t, "stev", nil)
	_, back, sent := addProfiles(t, p)
	connectAll(p)
	rack := back.to
	look := &closerLook{counts: make(map[string]suspect.Counts),
		end: hostEnd{rack: rack.Name(), port: 1, leaf: leaf1, receiving: true}}
	var paths [][]int32
	var peers []string
	for range 8 {
		if !p.prober.look(look, p.Settle().Lost()) {
			t.Fatalf("no probe after %d requests", len(*sent))
		}
		r := p.prober.pending[p.prober.id]
		paths, peers = append(paths, r.links), append(peers, r.peer)
		if r.count != lookProbes || r.look != look || r.of != r.peer {
			t.Errorf("%d probes for a look at %s, want %d for %s", r.count, r.of, lookProbes, r.peer)
		}
	}
	for i := range paths {
		if same := slices.Equal(paths[i], paths[i/4*4]); same != (i%4 < 2) || peers[i] != peers[i%2] {
			t.Errorf("request %d to %s takes path %v; all: %v, %v", i, peers[i], paths[i], paths, peers)
		}
	}
	if peers[0] == peers[1] {
		t.Errorf("only %s is probed", peers[0])
	}
}

// TestSureness: sureness is the logarithm of a likelihood ratio: the host's own loss rate against
// the loss rate of the remaining hosts. It is 0 with fewer than three lost probes, or below twice
// the rate of the remaining hosts.
func TestSureness(t *testing.T) {
	l := &closerLook{counts: map[string]suspect.Counts{
		"a": {Sent: 100, Lost: 20}, "b": {Sent: 600, Lost: 4}, "c": {Sent: 400, Lost: 6},
	}}
	others := 10.5 / 1001
	for _, c := range []struct {
		n    suspect.Counts
		want float64
	}{
		{suspect.Counts{Sent: 100, Lost: 20}, 20*math.Log(0.2/others) + 80*math.Log(0.8/(1-others))},
		{suspect.Counts{Sent: 20, Lost: 20}, 20 * math.Log(1/others)},
		{suspect.Counts{Sent: 3, Lost: 3}, 3 * math.Log(1/others)}, {suspect.Counts{Sent: 2, Lost: 2}, 0},
		{suspect.Counts{Sent: 1001, Lost: 21}, 0},
		{suspect.Counts{Sent: 1000, Lost: 21},
			21*math.Log(0.021/others) + 979*math.Log(0.979/(1-others))},
	} {
		if got := l.sureness("a", c.n); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v, want %v", c.n, got, c.want)
		}
	}
}
