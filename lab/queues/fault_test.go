package queues

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/spray"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestDeadPath: a link from a leaf to a spine dies under traffic and comes back. The sender finds out by its losses alone, keeps off the link's entropy value and no other, and goes on at full rate;
// probes find the link again.
func TestDeadPath(t *testing.T) {
	c := DefaultConfig()
	c.Seed = seeds.One(t, 1)
	e := newExperiment(t, c, 1<<20)
	const plane, spine = 2, 3
	dead := spine*c.Planes + plane - 1 // its index in the profile
	var events []spray.Event
	var set *spray.Set
	x := e.connect(4, 0, 96, 0, spinePaths(t, c), func(sender, _ *mrc.QPConfig) {
		cfg := spray.DefaultConfig(c.Seed)
		cfg.Notify = func(ev spray.Event) { events = append(events, ev) }
		var err error
		if set, err = spray.New(cfg, spinePaths(t, c)); err != nil {
			t.Fatal(err)
		}
		sender.Sprayer = set
	})
	var link *Link
	for _, l := range e.fabric.Links() {
		if l.Tier == LeafUp && l.Plane == plane && l.From == 4/c.HostsPerLeaf && l.To == spine {
			link = l
		}
	}
	rate := func(d time.Duration) float64 { return e.rates(d, x)[0] }
	rate(100 * time.Microsecond)
	link.Down = true
	rate(200 * time.Microsecond)
	if len(events) != 1 || events[0].Kind != spray.BecameBad || events[0].Index != dead {
		t.Fatalf("events %+v after %s went down, want EV %d ASSUMED_BAD", events, link.Name(), dead)
	}
	lost := link.Stats().Lost
	without := rate(200 * time.Microsecond)
	counts, err := set.Counts(dead)
	if err != nil {
		t.Fatal(err)
	}
	// Only probes go there now.
	if n := link.Stats().Lost - lost; n == 0 || n > 3 || counts.Probes == 0 || counts.ProbesOK != 0 {
		t.Errorf("%d packets sent over the dead link; %+v", n, counts)
	}
	link.Down = false
	again := rate(10 * time.Millisecond) // the flow ends within
	if len(events) != 2 || events[1].Kind != spray.Recovered || events[1].Index != dead {
		t.Errorf("events %+v after it came back, want EV %d recovered", events[1:], dead)
	}
	s := x.qp.Counters()
	t.Logf("found after %v with %d packets lost; rate %.3f without the link, recovered after %v more; %d timeouts", events[0].At-100*time.Microsecond, lost, without,
		events[len(events)-1].At-500*time.Microsecond, s.Timeouts)
	if without < 0.9 {
		t.Errorf("rate %.3f of the host's ports without the link, want 0.9: the other links have room", without)
	}
	if e.left != 0 || x.qp.Failed() {
		t.Errorf("the flow is not complete, rate %.3f, %v", again, x.cc)
	}
}

// TestNoPath: with every entropy value denied nothing is sent, and one that is allowed again is enough.
func TestNoPath(t *testing.T) {
	c := DefaultConfig()
	e := newExperiment(t, c, 1<<20)
	var set *spray.Set
	x := e.connect(4, 0, 16, 0, spinePaths(t, c), func(sender, _ *mrc.QPConfig) { set = sender.Sprayer.(*spray.Set) })
	e.rates(50 * time.Microsecond)
	for i := range set.Len() {
		if err := set.Deny(i); err != nil {
			t.Fatal(err)
		}
	}
	e.rates(50 * time.Microsecond)
	before := x.qp.Counters().RequestsSent
	if r := e.rates(5*time.Millisecond, x)[0]; r != 0 || x.qp.Counters().RequestsSent != before || x.qp.Failed() {
		t.Fatalf("rate %.3f, %d packets sent with every EV denied, failed %v", r, x.qp.Counters().RequestsSent-before, x.qp.Failed())
	}
	if err := set.Allow(5); err != nil {
		t.Fatal(err)
	}
	e.fabric.Wake(4)
	e.fabric.Run(time.Second, func() bool { return e.left == 0 })
	if e.left != 0 {
		t.Errorf("not complete: %v", x.cc)
	}
}
