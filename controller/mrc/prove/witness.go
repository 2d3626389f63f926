package prove

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// witnesses are who has reported lost packets across each link lately. A host may lie: what one
// host says alone takes no link from others.
type witnesses struct {
	window time.Duration
	turn   time.Duration
	// now has the reports of this window, before the reports of the previous window.
	now, before map[topology.LinkID]map[string]suspect.Counts
}

// maxWitnesses bounds the witnesses of a link in a window: further witnesses would change little.
const maxWitnesses = 64

func newWitnesses(window time.Duration) witnesses {
	return witnesses{window: window, now: make(map[topology.LinkID]map[string]suspect.Counts)}
}

// note takes a report of packets that crossed links. One without a loss accuses no link.
func (w *witnesses) note(now time.Duration, who string, links []topology.LinkID, n suspect.Counts) {
	if n.Lost == 0 {
		return
	}
	w.advance(now)
	for _, id := range links {
		by := w.now[id]
		if by == nil {
			by = make(map[string]suspect.Counts)
			w.now[id] = by
		}
		c, known := by[who]
		if !known && len(by) >= maxWitnesses {
			continue
		}
		by[who] = suspect.Counts{Sent: c.Sent + n.Sent, Lost: c.Lost + n.Lost}
	}
}

func (w *witnesses) advance(now time.Duration) {
	turn := now / w.window
	switch {
	case turn == w.turn:
		return
	case turn == w.turn+1:
		w.before = w.now
	default:
		w.before = nil
	}
	w.now, w.turn = make(map[topology.LinkID]map[string]suspect.Counts), turn
}

// most returns the host that reports most losses across a link, and what it reports.
func (w *witnesses) most(now time.Duration, id topology.LinkID) (who string, n suspect.Counts) {
	w.advance(now)
	sum := make(map[string]suspect.Counts)
	for _, m := range []map[string]suspect.Counts{w.now[id], w.before[id]} {
		for name, c := range m {
			s := sum[name]
			sum[name] = suspect.Counts{Sent: s.Sent + c.Sent, Lost: s.Lost + c.Lost}
		}
	}
	for name, c := range sum {
		if c.Lost > n.Lost || c.Lost == n.Lost && name < who {
			who, n = name, c
		}
	}
	return who, n
}

// unproven reports why a suspect that fits the evidence is not denied: without the host that
// reports most losses, no evidence is left from other hosts or from switch counters, and other
// hosts use the link. Empty: the suspect is proven.
func (s *suspectSet) unproven(x *accused, edge *fabric.Edge) string {
	link := x.Links[0]
	who, n := s.witnesses.most(s.now, link)
	if who == "" || !s.othersCross(edge, who) {
		return ""
	}
	all := s.locator.Across(link)
	sent, lost := all.Sent-min(n.Sent, all.Sent), all.Lost-min(n.Lost, all.Lost)
	if lost > 0 && float64(lost) >= s.cfg.DenyLoss*float64(sent) {
		return ""
	}
	return fmt.Sprintf("host %s alone reports that it loses packets: "+
		"want another host's report, or counters of switches", who)
}
