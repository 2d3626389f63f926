package selfprobe

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

const ms = time.Millisecond

// plan has a probe a millisecond, to targets in turn.
func plan(number uint64, targets int) *hostapi.SelfProbes {
	p := &hostapi.SelfProbes{Version: hostapi.Version{Epoch: 1, Number: number}, Interval: ms,
		Timeout: 2 * ms, DeadAfter: 3, Report: 100 * ms}
	for i := range targets {
		p.Targets = append(p.Targets, hostapi.NewEV(uint32(i+1), 1))
	}
	return p
}

// run calls a prober when it asks for it until a time, and answers what comes says.
func run(p *Prober, now *time.Duration, until time.Duration, comes func(target uint32) bool,
	told func(hostapi.SelfProbeCounts)) {
	for {
		at, ok := p.Next()
		if !ok || at > until {
			*now = until
			return
		}
		*now = max(*now, at)
		for id, to, ok := p.Take(*now); ok; id, to, ok = p.Take(*now) {
			if comes(uint32(to.Value[0])<<24 | uint32(to.Value[1])<<16 | uint32(to.Value[2])<<8 |
				uint32(to.Value[3])) {
				p.Received(id, false)
			}
		}
		if c := p.Report(*now); c != nil {
			told(*c)
		}
	}
}

func all(uint32) bool { return true }

// TestInTurn: a host probes its targets in turn, at the rate of the plan, and reports the counts of
// each target every 100 ms.
func TestInTurn(t *testing.T) {
	p, now := New(1), time.Duration(0)
	p.Set(now, plan(1, 5))
	last := map[int]hostapi.SelfProbeCount{}
	reports := 0
	run(p, &now, 1000*ms, all, func(c hostapi.SelfProbeCounts) {
		reports++
		for _, n := range c.Counts {
			last[n.Target] = n
		}
	})
	if len(last) != 5 || reports < 9 || reports > 11 {
		t.Fatalf("%d reports, of %d targets", reports, len(last))
	}
	for i, n := range last {
		if n.Passed < 175 || n.Passed > 201 || n.Lost+n.SetAside > 0 || n.Misses > 0 {
			t.Errorf("target %d: %+v", i, n)
		}
	}
}

// TestDead: a target whose last three probes are lost is reported at once, with the time since the
// first of these was sent, and again when a probe comes back.
func TestDead(t *testing.T) {
	p, now := New(2), time.Duration(0)
	p.Set(now, plan(1, 2))
	lost := false
	comes := func(target uint32) bool { return target != 2 || !lost }
	var dead, alive time.Duration
	told := func(c hostapi.SelfProbeCounts) {
		for _, n := range c.Counts {
			switch {
			case n.Target != 1 || !lost && n.Misses == 0 && dead == 0:
			case dead == 0 && n.Misses >= 3:
				dead = now
				if n.Misses != 3 || n.Missing < 6*ms || n.Missing > 7*ms {
					t.Errorf("%+v, want the first of three misses 6 ms before", n)
				}
			case dead > 0 && alive == 0 && n.Misses == 0:
				alive = now
			}
		}
	}
	run(p, &now, 50*ms, comes, told)
	lost = true
	run(p, &now, 90*ms, comes, told)
	if dead < 56*ms || dead > 60*ms {
		t.Errorf("dead at %v", dead)
	}
	lost = false
	run(p, &now, 95*ms, comes, told)
	if alive < 90*ms || alive > 93*ms {
		t.Errorf("alive at %v", alive)
	}
}

// TestLateOrder: a probe that is missed after a later one has come back is no miss in a row.
func TestLateOrder(t *testing.T) {
	p, now, n := New(3), time.Duration(0), 0
	slow := plan(1, 1)
	slow.Interval, slow.Timeout, slow.DeadAfter = 10*ms, 15*ms, 1
	p.Set(now, slow)
	var last hostapi.SelfProbeCount
	p.Report(now)
	run(p, &now, 3000*ms, func(uint32) bool { n++; return n%2 == 0 }, func(c hostapi.SelfProbeCounts) {
		if last = c.Counts[0]; last.Misses > 0 {
			t.Errorf("%+v at %v, want no misses", last, now)
		}
	})
	if last.Lost < 100 || last.Passed < 100 {
		t.Errorf("%+v, want half of the probes lost", last)
	}
}

// TestAsleep: a host that is called late, or whose clock jumps ahead, sets the probes under way
// aside and loses none; one whose clock goes back waits.
func TestAsleep(t *testing.T) {
	for _, gap := range []time.Duration{3 * ms, 40 * ms, time.Hour, -time.Second} {
		p, now := New(4), time.Duration(0)
		p.Set(now, plan(1, 3))
		var last hostapi.SelfProbeCount
		var sum hostapi.SelfProbeCount
		told := func(c hostapi.SelfProbeCounts) {
			for _, n := range c.Counts {
				last = n
				sum.Lost, sum.SetAside = max(sum.Lost, n.Lost), max(sum.SetAside, n.SetAside)
			}
		}
		run(p, &now, 50*ms, all, told)
		id, _, ok := p.Take(now)
		for !ok {
			now += ms / 10
			id, _, ok = p.Take(now)
		}
		now += gap
		if next, _, ok := p.Take(now); ok {
			p.Received(next, false)
		}
		p.Received(id, false) // too late, unless the clock went back
		until := now + 300*ms
		if gap < 0 {
			until = now - gap + 300*ms
		}
		run(p, &now, until, all, told)
		if sum.Lost > 0 || (gap > 0) != (sum.SetAside == 1) || last.Misses > 0 {
			t.Errorf("after %v: %+v", gap, sum)
		}
	}
}

// TestUnsent: a probe that the host could not send is set aside.
func TestUnsent(t *testing.T) {
	p, now := New(5), time.Duration(0)
	p.Set(now, plan(1, 1))
	p.Report(now)
	for now < 50*ms {
		if id, _, ok := p.Take(now); ok {
			p.Unsent(id)
			p.Received(id, false)
			p.Unsent(id)
		}
		now += ms / 4
	}
	var c *hostapi.SelfProbeCounts
	for ; c == nil; now += ms {
		p.Take(now)
		c = p.Report(now)
	}
	if n := c.Counts[0]; n.Passed > 0 || n.SetAside < 45 {
		t.Errorf("%+v", n)
	}
}

// TestPlans: another plan starts the counts anew, the same one does not, a probe of the plan before
// counts for none, and a plan without targets ends the probing.
func TestPlans(t *testing.T) {
	p, now := New(6), time.Duration(0)
	p.Set(now, plan(1, 2))
	run(p, &now, 50*ms, all, func(hostapi.SelfProbeCounts) {})
	before := p.targets[0].Passed
	if p.Set(now, plan(1, 2)); before == 0 || p.targets[0].Passed != before {
		t.Errorf("%d probes, after the same plan %d", before, p.targets[0].Passed)
	}
	id, _, ok := p.Take(now + 2*ms)
	if !ok {
		t.Fatal("no probe")
	}
	p.Set(now+2*ms, plan(2, 1))
	p.Received(id, false)
	if n := p.targets[0]; n.Passed != 0 || len(p.targets) != 1 {
		t.Errorf("%+v", n)
	}
	p.Set(now, &hostapi.SelfProbes{Version: hostapi.Version{Epoch: 1, Number: 3}})
	p.Report(now)
	if at, ok := p.Next(); ok {
		t.Errorf("without targets it wants to be called at %v", at)
	}
	if id, to, ok := p.Take(now + time.Second); ok || p.Report(now+time.Second) != nil {
		t.Errorf("without targets it probes: %d, %v", id, to)
	}
}

// TestManyPending: ids go round, and those of many probes under way differ.
func TestManyPending(t *testing.T) {
	p, now := New(7), time.Duration(0)
	fast := plan(1, 1)
	fast.Interval, fast.Timeout = 10*time.Microsecond, time.Second
	p.Set(now, fast)
	seen := map[string]bool{}
	for range 200_000 {
		now += 10 * time.Microsecond
		for id, _, ok := p.Take(now); ok; id, _, ok = p.Take(now) {
			key := fmt.Sprint(p.targets[0].sent)
			if seen[key] {
				t.Fatal("an order twice")
			}
			seen[key] = true
			if x := p.find(id); x == nil || x.order != p.targets[0].sent {
				t.Fatalf("id %d is not that of the last probe", id)
			}
			if p.out.Len() > maxOut {
				t.Fatalf("%d under way", p.out.Len())
			}
		}
	}
}

// TestLate: a probe that comes back after the timeout is set aside and not lost, and its target is
// alive.
func TestLate(t *testing.T) {
	for _, took := range []time.Duration{2*ms + ms/2, 15 * ms, 17 * ms} {
		p, now := New(8), time.Duration(0)
		p.Set(now, plan(1, 1))
		type back struct {
			at time.Duration
			id uint16
		}
		var under []back
		var last hostapi.SelfProbeCount
		for ; now < 500*ms; now += ms / 10 {
			for len(under) > 0 && under[0].at <= now {
				p.Received(under[0].id, false)
				under = under[1:]
			}
			for id, _, ok := p.Take(now); ok; id, _, ok = p.Take(now) {
				under = append(under, back{now + took, id})
			}
			if c := p.Report(now); c != nil && len(c.Counts) > 0 {
				last = c.Counts[0]
			}
		}
		lost := took > lateTimeouts*2*ms
		if last.Passed > 0 || lost != (last.Lost > 300) || lost == (last.SetAside > 300) {
			t.Errorf("after %v each: %+v", took, last)
		}
	}
}

// TestAcknowledges: a host says at once, and once, that it follows a plan: one without targets too,
// and the same plan when it comes again.
func TestAcknowledges(t *testing.T) {
	p, now := New(1), time.Duration(0)
	if _, pending := p.Next(); pending || p.Report(now) != nil {
		t.Error("a host without a plan has something to say")
	}
	many, none := plan(1, 5), plan(2, 0)
	for i, next := range []*hostapi.SelfProbes{many, many, none, none} {
		p.Set(now, next)
		if at, pending := p.Next(); !pending || at != now {
			t.Errorf("plan %d: to be called at %v, %v", i, at, pending)
		}
		if c := p.Report(now); c == nil || c.Version != next.Version || len(c.Counts) != 0 {
			t.Errorf("plan %d: says %+v", i, c)
		}
		if c := p.Report(now); c != nil {
			t.Errorf("plan %d: says %+v again", i, c)
		}
	}
	if _, pending := p.Next(); pending {
		t.Error("a host that has nothing to probe wants to be called")
	}
}
