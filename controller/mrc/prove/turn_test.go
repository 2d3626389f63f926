package prove

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// heldEVs implements EVs: what hosts hold.
type heldEVs struct{ held *hostapi.Profile }

func (e heldEVs) Built() *hostapi.Profile          { return e.held }
func (e heldEVs) Held() *hostapi.Profile           { return e.held }
func (e heldEVs) With(hostapi.EV) *hostapi.Profile { return e.held }

// TestProbesInTurnPassOver: the prober skips profiles that hosts do not hold, and still probes all
// other profiles.
func TestProbesInTurnPassOver(t *testing.T) {
	for name, held := range map[string][]bool{"all": {true, true}, "the first": {true, false},
		"the last": {false, true}, "none": {false, false}} {
		p := newProver(t, "stev", nil)
		pr := p.prober
		var hosts []*Host
		for _, h := range p.hosts {
			p.Connect(h, true)
			hosts = append(hosts, h)
		}
		g := NewGroup(p.State.Host("h1").Rack())
		g.SetHosts(slices.DeleteFunc(hosts, func(h *Host) bool { return h.Rack() != g.rack }))
		var all []*Profile
		want, asked := 0, make(map[string]int)
		for i, is := range held {
			e := heldEVs{}
			if is {
				e.held = &hostapi.Profile{Name: string(rune('a' + i))}
				want = 4
			}
			all = append(all, NewProfile(g, p.State.Host("h3").Rack(), e))
		}
		g.SetProfiles(all)
		pr.turns = []*Group{g}
		pr.tokens = 4
		for _, h := range g.hosts {
			h.tokens = 4
		}
		sent := 0
		p.Probe = func(string, *hostapi.Probe) { sent++ }
		pr.probeInTurn(p.Settle().Lost())
		for _, r := range pr.pending {
			asked[r.profile.evs.Held().Name]++
		}
		if sent != want || len(pr.pending) != want {
			t.Errorf("%s held: %d probes, %v; want %d", name, sent, asked, want)
		}
		for i, is := range held {
			if (asked[string(rune('a'+i))] > 0) != is {
				t.Errorf("%s held: probes of profile %d: %v", name, i, asked)
			}
			if sent, full := pr.probeNext(all[i], p.Settle().Lost()); !is && (sent || full) {
				t.Errorf("%s held: profile %d is probed: %v, and has no budget: %v", name, i, sent, full)
			}
		}
	}
}
