package prove

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// TestWitnesses has the host named that reports most losses across a link in two windows, of equals
// the first by name, and hosts beyond the first 64 of a window not heard.
func TestWitnesses(t *testing.T) {
	const link = topology.LinkID("l")
	note := func(w *witnesses, at time.Duration, who string, sent, lost uint64) {
		w.note(at, who, []topology.LinkID{link}, suspect.Counts{Sent: sent, Lost: lost})
	}
	for range 8 { // the order of a map is another each time
		w := newWitnesses(time.Second)
		for _, who := range []string{"d", "b", "c"} {
			note(&w, 0, who, 10, 2)
		}
		note(&w, 0, "a", 10, 1)
		note(&w, 0, "z", 100, 0) // accuses no link
		if who, n := w.most(0, link); who != "b" || n != (suspect.Counts{Sent: 10, Lost: 2}) {
			t.Fatalf("%s has most losses: %+v; want b, the first of three", who, n)
		}
		note(&w, time.Second, "a", 10, 2)
		if who, n := w.most(time.Second, link); who != "a" || n != (suspect.Counts{Sent: 20, Lost: 3}) {
			t.Fatalf("%s has most losses in two windows: %+v; want a", who, n)
		}
		if who, n := w.most(2*time.Second, link); who != "a" || n.Lost != 2 {
			t.Fatalf("%s has most losses a window later: %+v; want a with two", who, n)
		}
		if who, _ := w.most(4*time.Second, link); who != "" {
			t.Fatalf("%s has losses two windows later", who)
		}
	}
	w := newWitnesses(time.Second)
	for i := range maxWitnesses {
		note(&w, 0, fmt.Sprint(i), 10, 1)
	}
	note(&w, 0, "late", 10, 9)
	note(&w, 0, "7", 10, 3)
	if who, n := w.most(0, link); who != "7" || n.Lost != 4 {
		t.Errorf("%s has most losses: %+v; want 7, which was among the first", who, n)
	}
}

// oneProfile implements Profiles: one profile is from and to all leaves.
type oneProfile struct {
	noProfiles
	of *Profile
}

func (oneProfile) Count(topology.NodeID, bool) int          { return 1 }
func (o oneProfile) At(topology.NodeID, bool, int) *Profile { return o.of }

// TestUnproven: a host's report about a link is proven by further hosts that report as much loss as
// the denial of a link requires, but not by a single packet that they lost.
func TestUnproven(t *testing.T) {
	for _, c := range []struct {
		sent, lost uint64 // by the other host
		proven     bool
	}{{10_000, 0, false}, {10_000, 1, false}, {10_000, 99, false}, {10_000, 100, true},
		{1, 1, true}} {
		p := newProver(t, "stev", func(cfg *inventory.MRC) {
			cfg.Suspects.Deny, cfg.Suspects.DenyLoss = true, 0.01
		})
		g := NewGroup(p.State.Host("h1").Rack())
		g.SetHosts([]*Host{p.hosts["h1"], p.hosts["h2"]})
		p.Profiles = oneProfile{of: NewProfile(g, p.State.Host("h3").Rack(), heldEVs{})}
		links := []topology.LinkID{linkBetween(p, leaf1, spine1)}
		for who, n := range map[string]suspect.Counts{"h1": {Sent: 1000, Lost: 500},
			"h2": {Sent: c.sent, Lost: c.lost}} {
			p.suspects.accuse(who, links, n)
			p.suspects.observe(p.suspects.locator.Path(links), n)
		}
		x := &accused{Suspect: suspect.Suspect{Links: links, Loss: 0.05}}
		if got := p.suspects.spare(x); (got == "") != c.proven ||
			!c.proven && !strings.HasPrefix(got, "host h1 alone") {
			t.Errorf("another lost %d of %d packets: %q", c.lost, c.sent, got)
		}
	}
}
