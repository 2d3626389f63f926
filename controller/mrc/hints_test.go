package mrc

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/job/ready"
)

// hints returns the hints that hosts were told, of those that have some.
func (w *bed) hints() map[string]hostapi.QPHints {
	out := make(map[string]hostapi.QPHints)
	for _, h := range w.core.Hosts() {
		if h.State != nil && h.State.Hints != (hostapi.QPHints{}) {
			out[h.Name] = h.State.Hints
		}
	}
	return out
}

// hintedNeed returns the need of a job on the first hosts of two leaves, with equal hints for both.
func hintedNeed(from, to int, h hostapi.QPHints) *ready.Need {
	n := needOf(from, to)
	n.Hints = []hostapi.QPHints{h, h, h}
	return n
}

// TestHints: the hosts of jobs get hints, a host in several jobs gets the peers of all its jobs,
// and hints end with the job. Hosts outside jobs get no hints, nor do hosts that take none.
func TestHints(t *testing.T) {
	for _, mode := range []func(*Config){nil, ofJobs} {
		w := newBed(t, 1, mode).clos(2, 4, 2, 2)
		w.hinted = func(host string) bool { return host != hostName(3, 1) }
		w.start()
		a, b := hostapi.QPHints{QPsPerPeer: 2, SendPeers: 3, RemotePeers: 5},
			hostapi.QPHints{QPsPerPeer: 4, SendPeers: 1, RemotePeers: 1}
		one, two := hintedNeed(1, 2, a), hintedNeed(2, 3, b)
		tell := func(needs []*ready.Need, want map[string]hostapi.QPHints, told ...string) {
			t.Helper()
			clear(w.sets)
			w.core.SetTalk(needs)
			w.pump()
			if got := w.hints(); !maps.Equal(got, want) {
				t.Errorf("hosts have the hints %v, want %v", got, want)
			}
			if got := slices.Sorted(maps.Keys(w.sets)); mode == nil && !slices.Equal(got, told) {
				t.Errorf("told are %v, want %v", got, told)
			}
			w.valid()
		}
		h1, h2 := hostName(1, 1), hostName(2, 1)
		both := hostapi.QPHints{QPsPerPeer: 4, SendPeers: 4, RemotePeers: 6}
		tell([]*ready.Need{one}, map[string]hostapi.QPHints{h1: a, h2: a}, h1, h2)
		tell([]*ready.Need{one, two}, map[string]hostapi.QPHints{h1: a, h2: both}, h2)
		want := &api.QPHints{NumQPsPerPeer: 4, NumSendPeers: 4, NumRemoteRecvPeers: 6}
		if v, _ := w.core.Host(h2); v.QPHints == nil || *v.QPHints != *want ||
			!v.Capabilities.QPHints {
			t.Errorf("host %s is %+v", h2, v)
		}
		// A host that begins to take hints is told them: an agent of a later release.
		w.hinted = func(string) bool { return true }
		w.hello(hostName(3, 1), hostapi.Version{})
		w.pump()
		if got := w.hints()[hostName(3, 1)]; got != b {
			t.Errorf("a host that takes hints now has %v, want %v", got, b)
		}
		tell([]*ready.Need{two}, map[string]hostapi.QPHints{h2: b, hostName(3, 1): b}, h1, h2)
		tell(nil, map[string]hostapi.QPHints{}, h2, hostName(3, 1))
	}
}

// TestHintsShareStates: hosts of a rack with equal hints share one state.
func TestHintsShareStates(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 4)
	w.hinted = func(string) bool { return true }
	w.start()
	h := hostapi.QPHints{QPsPerPeer: 1, SendPeers: 7, RemotePeers: 7}
	n := &ready.Need{Racks: []string{"rack"}}
	for i := range 3 {
		n.NICs, n.Hosts = append(n.NICs, hostName(1, i+1)), append(n.Hosts, hostName(1, i+1))
		n.Rack, n.Hints = append(n.Rack, 0), append(n.Hints, h)
	}
	w.core.SetTalk([]*ready.Need{n})
	w.pump()
	states := make(map[*hostapi.State]int)
	for _, s := range w.core.Hosts() {
		if s.At[0] == leafID(1, 1) {
			states[s.State]++
		}
	}
	if got := slices.Sorted(maps.Values(states)); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("hosts of a rack share %v, want the three of the job one state", got)
	}
}

// TestHintsOutliveTheCore: the next controller sends a host with hints nothing before it knows the
// jobs, to avoid taking hints back and giving them again.
func TestHintsOutliveTheCore(t *testing.T) {
	w := newBed(t, 2, nil).clos(2, 2, 2, 1)
	w.hinted = func(host string) bool { return host == hostName(1, 1) }
	w.core.Tick(0)
	w.core.SetTopology(w.net.Build())
	w.core.InSync()
	for _, name := range slices.Sorted(maps.Keys(w.made)) {
		w.hello(name, hostapi.Version{Epoch: epoch - 1, Number: 9})
	}
	w.pump()
	w.run(30 * time.Second)
	if got := slices.Sorted(maps.Keys(w.sets)); !slices.Equal(got, []string{hostName(2, 1)}) {
		t.Fatalf("told are %v, want the one alone that takes no hints", got)
	}
	h := hostapi.QPHints{QPsPerPeer: 1, SendPeers: 1, RemotePeers: 1}
	w.core.SetTalk([]*ready.Need{hintedNeed(1, 2, h)})
	w.pump()
	if got := w.hints(); !maps.Equal(got, map[string]hostapi.QPHints{hostName(1, 1): h}) ||
		len(w.sets[hostName(1, 1)]) != 1 {
		t.Errorf("hosts have the hints %v after %v", got, w.sets)
	}
}
