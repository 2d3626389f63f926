package flows

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestNewcomer: a connection that starts on a link filled by another connection gets half of the
// link.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	const octets = 64 << 20
	seed := seeds.One(t, 1)
	e := newFabric(t, lab.ClosConfig{}, ev.ModeStructured, fast, seed).write(t, seed, nil,
		lab.FlowConfig{From: "H5", To: "H1", Bytes: octets}, lab.FlowConfig{From: "H9", To: "H1",
			Bytes: octets, After: 200 * time.Microsecond})
	a, b := e.Flows[0], e.Flows[1]
	e.start()
	e.rates(100 * time.Microsecond)
	alone := e.rates(100*time.Microsecond, a)[0]
	e.rates(300 * time.Microsecond)
	before := e.counts().trimmed
	both := e.rates(400*time.Microsecond, a, b)
	trimmed := e.counts().trimmed - before
	t.Logf("alone %.3f, then %.3f, %d trimmed", alone, both, trimmed)
	if alone < 0.9 {
		t.Errorf("a connection alone gets %.3f of the link", alone)
	}
	if x, y := both[0], both[1]; x+y < 0.9 || min(x, y) < 0.35 {
		t.Errorf("two get %.3f of the link, want about half each", both)
	}
	if trimmed != 0 {
		t.Errorf("%d packets trimmed once both were there", trimmed)
	}
}

// TestPenaltySlows: the greatest penalty of a responder slows its requester down to packets a round
// trip, and none lets it go again.
func TestPenaltySlows(t *testing.T) {
	t.Parallel()
	flow, backlog := nscc.FlowControl{Enabled: true, Low: 1 << 20, High: 2 << 20}, 0
	e := newFabric(t, lab.ClosConfig{}, ev.ModeStructured, fast, 1).writeWith(t, 1, nil,
		func(c *mrc.QPConfig) {
			c.Penalty = func(time.Duration) (uint8, bool) { return flow.Penalty(backlog), flow.Restore }
		}, lab.FlowConfig{From: "H5", To: "H1", Bytes: 64 << 20})
	e.start()
	rate := func(waiting int) float64 {
		backlog = waiting
		e.rates(100 * time.Microsecond)
		return e.rates(100*time.Microsecond, e.Flows[0])[0]
	}
	full, none, again := rate(0), rate(2<<20), rate(0)
	t.Logf("%.3f of the link, with the greatest penalty %.3f, then %.3f", full, none, again)
	// One packet a round trip is 0.005 of it.
	if full < 0.9 || none > 0.02 || again < 0.9 {
		t.Error("want the link filled, almost nothing, and the link filled")
	}
}
