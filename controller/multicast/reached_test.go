package multicast

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/southbound/entry"
)

type place = member.Place

// TestWhereTheSourceIs: the position of a group is the last PSN that the switch of the source
// knows, and the lowest MSN that branches report, modulo 2^24. The group becomes idle when all
// branches at the switch have reached the position.
func TestWhereTheSourceIs(t *testing.T) {
	type report struct {
		invalid bool
		behind  uint32 // PSNs that are not acknowledged
		msn     uint32
	}
	const last = 1234
	for what, c := range map[string]struct {
		root, middle, leaf report
		last               bool // the switch of the source has seen a packet of the epoch
		before             place
		psn, msn           uint32
		idle               bool
	}{
		"all are as far": {report{msn: 3}, report{msn: 3}, report{msn: 3}, true, place{}, last, 3, true},
		"the lowest of the first": {report{msn: 3}, report{msn: 4}, report{msn: 5}, true, place{}, last,
			3,
			true},
		"the lowest of the last": {report{msn: 5}, report{msn: 4}, report{msn: 3}, true, place{}, last, 3,
			true},
		"the lowest in between": {report{msn: 5}, report{msn: 3}, report{msn: 4}, true, place{}, last, 3,
			true},
		"the lowest before zero": {report{msn: 1}, report{msn: maxPSN}, report{msn: 2}, true, place{},
			last,
			maxPSN, true},
		"above what it was": {report{msn: 9}, report{msn: 8}, report{msn: 8}, true,
			place{PSN: 7, MSN: 2, Known: true}, last, 8, true},
		"one that knows nothing": {report{msn: 5}, report{invalid: true, msn: 1}, report{msn: 4}, true,
			place{}, last, 4, true},
		"none knows": {report{invalid: true, msn: 1}, report{invalid: true}, report{invalid: true}, true,
			place{PSN: 7, MSN: 2, Known: true}, last, 2, true},
		"the source is ahead": {report{behind: 1, msn: 3}, report{msn: 3}, report{msn: 3}, true, place{},
			last, 3, false},
		"a switch below is behind": {report{msn: 3}, report{behind: 1, msn: 3}, report{msn: 3}, true,
			place{}, last, 3, true},
		"nothing came in the epoch": {report{msn: 3}, report{msn: 3}, report{msn: 3}, false,
			place{PSN: 7, MSN: 2, Known: true}, 7, 2, true},
		"nothing came ever": {report{msn: 3}, report{msn: 3}, report{msn: 3}, false, place{}, 1000, 0,
			true},
	} {
		d := newDesk(t)
		psn, idle := uint32(last), true
		g := d.sending(&psn, &idle)
		g.Reached = c.before
		reports := []report{c.root, c.middle, c.leaf}
		d.state = func(sw string, _ entry.PacketOut) (in entry.PacketIn, answers bool) {
			i := slices.Index(g.target.Switches(), sw)
			r := reports[i]
			return entry.PacketIn{Valid: !r.invalid, AckPSN: last - 1 - r.behind, MSN: r.msn,
				LastKnown: i == 0 && c.last, LastPSN: last}, true
		}
		found := false
		d.where(g, func(psn, msn uint32, idle bool) {
			found = true
			if psn != c.psn || msn != c.msn || idle != c.idle {
				t.Errorf("%s: PSN %d, MSN %d, idle %v; want %d, %d, %v", what, psn, msn, idle, c.psn, c.msn,
					c.idle)
			}
		})
		if d.carry(); !found {
			t.Errorf("%s: no answer", what)
		}
	}
}

// TestSourceIsAskedAgain: where the switch of the source does not answer, it is asked again; where
// another one does not, the group is not idle.
func TestSourceIsAskedAgain(t *testing.T) {
	d := newDesk(t)
	last, idle := uint32(1234), true
	g := d.sending(&last, &idle)
	answer, silent := d.state, g.target.Nodes[0].Switch
	d.state = func(sw string, p entry.PacketOut) (entry.PacketIn, bool) {
		in, _ := answer(sw, p)
		return in, sw != silent
	}
	var got []bool
	d.asked = 0
	d.where(g, func(_, _ uint32, idle bool) { got = append(got, idle) })
	d.pass(3*(d.inv().Intervals.StateTimeout.D()+askGap) - 1)
	if len(got) != 0 || d.asked != 3*len(g.target.Nodes) {
		t.Errorf("the switch of the source does not answer: %v after %d questions", got, d.asked)
	}
	silent = ""
	d.pass(d.inv().Intervals.StateTimeout.D() + askGap)
	silent = g.target.Nodes[1].Switch
	d.where(g, func(_, _ uint32, idle bool) { got = append(got, idle) })
	d.pass(2 * d.inv().Intervals.StateTimeout.D())
	if !slices.Equal(got, []bool{true, false}) {
		t.Errorf("idle %v, want true and, where a switch does not answer, false", got)
	}
	silent = g.target.Nodes[0].Switch
	d.where(g, func(_, _ uint32, _ bool) { t.Error("a group that was deleted is answered") })
	g.item = nil
	d.pass(time.Minute)
}

// TestSourceAtZero: PSNs wrap to 0, and a source may be at PSN 0 like at any PSN.
func TestSourceAtZero(t *testing.T) {
	for _, last := range []uint32{maxPSN, 0, 1} {
		d := newDesk(t)
		idle := true
		g := d.sending(&last, &idle)
		g.Reached = place{PSN: maxPSN - 1, Known: true}
		var got []uint32
		d.where(g, func(psn, _ uint32, idle bool) {
			if got = append(got, psn); !idle {
				t.Errorf("PSN %d: not idle", last)
			}
		})
		if d.carry(); !slices.Equal(got, []uint32{last}) {
			t.Errorf("PSN %v, want %d", got, last)
		}
	}
}

// TestNotBegun: a group without a tree that carried data begins at the PSN of its spec.
func TestNotBegun(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, nil)
	for _, none := range []bool{true, false} {
		if none {
			g.installed = nil
		} else if g.installed = g.target; len(g.installed.Nodes[0].Branches) != 0 {
			t.Fatal("a group without receivers has branches")
		}
		d.asked = 0
		found := false
		d.where(g, func(psn, msn uint32, idle bool) { found = psn == 1000 && msn == 0 && idle })
		if d.carry(); !found || d.asked != 0 {
			t.Errorf("no tree %v: found %v, %d questions", none, found, d.asked)
		}
	}
}
