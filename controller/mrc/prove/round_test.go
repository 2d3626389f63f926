package prove

import (
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/fabric"
)

// TestFirstRoundMajority: links without a successful probe count as bad only if they are fewer than
// the proven links. The round is over as soon as every link was tried.
func TestFirstRoundMajority(t *testing.T) {
	for _, c := range []struct{ proven, bad, fail int }{
		{2, 1, 1}, {2, 2, 0}, {1, 2, 0}, {3, 2, 2},
	} {
		p := newProver(t, "stev", nil)
		pr := p.prober
		pr.begin()
		for i := range int32(c.proven + c.bad) {
			for range provenMisses {
				received := 0
				if int(i) < c.proven {
					received = 1
				}
				pr.links.Result(i, pr.now, 1, received)
			}
		}
		pr.now = pr.round.ends
		pr.runRound()
		failed := 0
		for i := range int32(pr.links.Len()) {
			if pr.links.At(i).Phase() != fabric.Up {
				failed++
			}
		}
		if failed != c.fail || !pr.round.done {
			t.Errorf("%d links are proven and %d are not: %d fail, the round is over: %v; want %d, true",
				c.proven, c.bad, failed, pr.round.done, c.fail)
		}
	}
	p := newProver(t, "stev", nil)
	pr := p.prober
	pr.begin()
	for i := range int32(pr.links.Len()) {
		if pr.runRound(); pr.round.done {
			t.Fatalf("the round is over after %d of %d links", i, pr.links.Len())
		}
		pr.links.Result(i, pr.now, 1, 1)
	}
	if pr.runRound(); !pr.round.done {
		t.Error("the round is not over though every link is proven")
	}
}
