package prove

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// TestPlansInSteps: many steps make the same plans as one step. While the Prover makes plans, it
// wants to go on at once, and a drain waits for the plan that the Prover is making.
func TestPlansInSteps(t *testing.T) {
	make := func(step int) (plans []SelfPlan, steps int) {
		p := newProver(t, ev.ModeF3216.String(), nil)
		p.self.step = step
		for _, name := range []string{"h1", "h2", "h3"} {
			p.Connect(p.hosts[name], true)
			p.SetSelfProbes(p.hosts[name], true, true)
		}
		now := time.Second
		for p.Tick(now); p.self.making != nil; steps++ {
			if at := p.Next(now + time.Hour); at != now {
				t.Fatalf("plans are made, and it goes on at %v instead of %v", at, now)
			}
			if number, waits := p.StillProbes(p.hosts["h3"]); !waits || number <= p.self.number &&
				p.self.lastOf("h3") == 0 {
				t.Errorf("a drain waits for %d, and %d was the last plan", number, p.self.number)
			}
			p.Tick(now)
		}
		return p.SelfPlans(), steps
	}
	want, steps := make(planStep)
	got, many := make(1)
	same := func(a, b SelfPlan) bool {
		return a.Host == b.Host && slices.Equal(a.Plan.Targets, b.Plan.Targets)
	}
	if len(want) != 3 || !slices.EqualFunc(got, want, same) || steps > 0 || many < 10 {
		t.Errorf("%d steps for %+v, want %+v and more than 10; %d in one", many, got, want, steps)
	}
}

// TestMovedWhilePlanning: a link that goes down while the first plans are made has new plans made,
// whose probes leave the link.
func TestMovedWhilePlanning(t *testing.T) {
	p := newProver(t, ev.ModeF3216.String(), nil)
	p.self.step = 1
	p.Connect(p.hosts["h1"], true)
	p.SetSelfProbes(p.hosts["h1"], true, true)
	p.Tick(time.Second)
	if p.self.making == nil || p.self.plan != nil {
		t.Fatal("no first plan is being made")
	}
	p.Moved(linkBetween(p, leaf1, spine1))
	for p.self.making != nil {
		p.Tick(time.Second)
	}
	if at := p.self.dueAt; p.self.plan == nil || at != time.Second+awayWait {
		t.Errorf("new plans are made at %v, want %v", at, time.Second+awayWait)
	}
}

// TestAwaitedPlanComes: a drain asks while plans are made, since the last plan of a host crosses
// what is avoided. The host gets the plan that the drain waits for, even if nothing is avoided any
// more when the plan is made.
func TestAwaitedPlanComes(t *testing.T) {
	p := newProver(t, ev.ModeF3216.String(), nil)
	h := p.hosts["h1"]
	p.Connect(h, true)
	p.SetSelfProbes(h, true, true)
	p.Tick(time.Second)
	p.self.acknowledged("h1", hostapi.Version{Epoch: p.self.epoch, Number: p.self.lastOf("h1")})
	if _, waits := p.StillProbes(h); waits || p.self.lastOf("h1") == 0 {
		t.Fatal("the host follows no plan")
	}
	p.self.step = 1
	p.self.makePlans()
	delete(p.hosts, "h1") // so its probes are to avoid all
	number, waits := p.StillProbes(h)
	p.hosts["h1"] = h
	for p.self.making != nil {
		p.self.goOn()
	}
	if last := p.self.lastOf("h1"); !waits || last < number {
		t.Errorf("a drain waits: %v, for plan %d, and the last plan is %d", waits, number, last)
	}
}
