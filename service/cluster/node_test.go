package cluster_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/service/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTakeover: another controller decides at once when the decider leaves in order, after the TTL
// when it dies, and a decider without the store stops before that.
func TestTakeover(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 3, 1)
		t.Cleanup(w.stop)
		w.run(time.Second)
		w.whole()
		first := w.decider()
		if first == nil {
			t.Fatal("nobody decides")
		}
		first.stop()
		w.run(100 * time.Millisecond)
		second := w.decider()
		if second == nil || second == first {
			t.Fatalf("%v decides after %s left", second, first.name)
		}
		first.start()
		w.run(time.Second)
		w.whole()
		if w.decider() != second {
			t.Error("a controller that joins takes over")
		}

		second.client.Cut()
		cut := time.Now()
		for time.Since(cut) < ttl && w.decider() == second {
			w.run(10 * time.Millisecond)
		}
		if w.decider() == second {
			t.Errorf("%s decides without the store", second.name)
		}
		for w.decider() == nil {
			w.run(10 * time.Millisecond)
		}
		if took := time.Since(cut); took < ttl-ttl/3 || took > ttl+100*time.Millisecond {
			t.Errorf("taken over after %v", took)
		}
		second.client.Mend()
		w.run(ttl + time.Second)
		w.whole()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.terms < 3 || w.writes == 0 {
			t.Errorf("%d terms, %d writes", w.terms, w.writes)
		}
	})
}

// TestAlarm: a controller with an alarm tells all controllers, leaves decisions to another
// controller, and keeps its lease and switches; where all have one, one of them decides.
func TestAlarm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 3, 1)
		t.Cleanup(w.stop)
		w.run(10 * time.Second)
		w.whole()
		first := w.decider()
		before, _ := first.node.View()
		first.raise(&cluster.Alarm{Message: "slow"})
		w.run(ttl)
		w.whole()
		second := w.decider()
		if second == nil || second == first {
			t.Fatalf("%v decides, and %s has an alarm", second, first.name)
		}
		after, _ := first.node.View()
		if after.Instance != before.Instance {
			t.Error("a controller with an alarm has lost its lease")
		}
		for sw, o := range before.Owners {
			if after.Owners[sw].Generation != o.Generation {
				t.Errorf("%s has another owner", sw)
			}
		}
		if name, _, full := after.Full(); full {
			t.Errorf("%s is said to be full", name)
		}
		first.raise(&cluster.Alarm{Full: true, Message: "no room"})
		w.run(ttl)
		for _, c := range w.controllers {
			v, _ := c.node.View()
			if name, why, full := v.Full(); !full || name != first.name || why != "no room" {
				t.Errorf("%s sees %q %q %v", c.name, name, why, full)
			}
		}
		for _, c := range w.controllers {
			c.raise(&cluster.Alarm{Full: true, Message: "no room"})
		}
		w.run(2 * ttl)
		w.whole()
		first.raise(nil)
		w.run(2 * ttl)
		w.whole()
		if w.decider() != first {
			t.Errorf("%v decides, and %s alone has no alarm", w.decider(), first.name)
		}
		for _, c := range w.controllers {
			c.raise(nil)
		}
		w.run(2 * ttl)
		w.whole()
		if v, _ := second.node.View(); w.decider() != first {
			t.Errorf("%s decides: it moved without a reason", v.Decider.Name)
		} else if _, _, full := v.Full(); full {
			t.Error("an alarm does not end")
		}
	})
}

// TestJoinsWithAlarm: a starting controller announces its alarm on joining, before it could become
// the decider.
func TestJoinsWithAlarm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 1, 1)
		defer w.stop()
		w.run(ttl)
		second := &replica{w: w, name: "c2", client: w.server.Client(), clock: &wallClock{},
			alarm: &cluster.Alarm{Message: "slow"}}
		w.controllers = append(w.controllers, second)
		second.start()
		for {
			v, changed := w.controllers[0].node.View()
			if m, there := v.Member("c2"); there {
				if m.Alarm == nil || m.Alarm.Message != "slow" {
					t.Errorf("it joins with the alarm %+v", m.Alarm)
				}
				return
			}
			select {
			case <-changed:
			case <-time.After(ttl):
				t.Fatal("it does not join")
			}
		}
	})
}

// TestUnevenIsSaid: the decider reports switches without an owner after a minute, and stops when
// they have owners.
func TestUnevenIsSaid(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 2, 1)
		w.stuck = errors.New("stuck")
		defer w.stop()
		uneven := func() (decider, other string) {
			for _, c := range w.controllers {
				if c == w.decider() {
					decider = c.node.Uneven()
				} else {
					other += c.node.Uneven()
				}
			}
			return decider, other
		}
		w.run(time.Minute)
		if is, other := uneven(); is != "" || other != "" {
			t.Errorf("after less than a minute: %q, %q", is, other)
		}
		w.run(2 * time.Second)
		if is, other := uneven(); is != "switch n1 has no owner that lives" || other != "" {
			t.Errorf("after a minute: %q, of one that does not decide %q", is, other)
		}
		first := w.decider()
		first.stop()
		if is := first.node.Uneven(); is != "" {
			t.Errorf("of one that decided: %q", is)
		}
		first.start()
		w.run(62 * time.Second)
		if is, _ := uneven(); is == "" {
			t.Error("another decider does not say it")
		}
		w.mu.Lock()
		w.stuck = nil
		w.mu.Unlock()
		w.run(2 * time.Second)
		if is, other := uneven(); is != "" || other != "" {
			t.Errorf("with owners: %q, %q", is, other)
		}
	})
}

// TestSameName: of two controllers with one name the second waits for the end of the first.
func TestSameName(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 1, 1)
		defer w.stop()
		w.run(time.Second)
		twin := &replica{w: w, name: "c1", client: w.server.Client(), clock: &wallClock{}}
		twin.start()
		w.run(20 * time.Second)
		if v, _ := twin.node.View(); v.Instance != 0 {
			t.Errorf("two controllers are %s", twin.name)
		}
		w.controllers[0].stop()
		w.mu.Lock()
		w.controllers[0] = twin
		w.mu.Unlock()
		w.run(ttl + time.Second)
		w.whole()
	})
}

// TestNodes: whatever befalls controllers and store, one controller decides at a time, and no
// accepted change gets lost.
func TestNodes(t *testing.T) {
	worlds(t, 300, 13, func(w *bed, random *rand.Rand) {
		for range 6 {
			c := w.victim(random)
			span := time.Duration(random.Int64N(int64(2 * ttl)))
			switch random.IntN(10) {
			case 0:
				c.kill()
				w.run(span / 4)
				c.start()
			case 1:
				c.stop()
				w.run(span / 4)
				c.start()
			case 2: // partition from the store, or a pause of its renewals
				c.client.Cut()
				w.run(span)
				c.client.Mend()
			case 3: // no quorum
				for _, c := range w.controllers {
					c.client.Cut()
				}
				w.run(span)
				for _, c := range w.controllers {
					c.client.Mend()
				}
			case 4: // slow disks
				for _, c := range w.controllers {
					c.client.SetDelay(time.Duration(random.Int64N(int64(ttl / 2))))
				}
				w.run(span)
				for _, c := range w.controllers {
					c.client.SetDelay(0)
				}
			case 5: // a pause, in the middle of whatever it does
				c.stopProcess()
				w.run(span)
				c.goOn()
			case 6:
				c.client.LoseAnswers(true)
				w.run(span / 4)
				c.client.LoseAnswers(false)
			case 7: // changes are forgotten that nobody has seen, deletions too
				c.client.HoldWatches(true)
				other := w.controllers[random.IntN(len(w.controllers))]
				other.client.HoldWatches(true)
				for range 3 {
					w.run(span / 3)
					w.server.Compact()
				}
				c.client.HoldWatches(false)
				other.client.HoldWatches(false)
			case 8: // somebody sets a clock
				c.clock.jump(time.Duration(random.Int64N(int64(48*time.Hour))) - 24*time.Hour)
				w.run(span)
			case 9: // partition between two controllers that both reach the store
				other := w.controllers[random.IntN(len(w.controllers))]
				w.cut(c, other, errSilent)
				w.cut(other, c, errSilent)
				w.run(span)
				w.mend()
			}
			w.run(time.Duration(random.Int64N(int64(ttl))))
		}
		w.run(3*ttl + time.Second)
		w.whole()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.writes == 0 {
			w.t.Error("nothing was written")
		}
		w.owned(w.t)
	})
}

// TestYield: a decider that has led the store for a while yields the lead of the store, and a
// controller that does not decide goes on leading. A new leader of the store restarts all leases,
// so a decider that yielded at once would delay the end of a dead controller's lease.
func TestYield(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 2, 1)
		defer w.stop()
		time.Sleep(ttl)
		decider, other := w.decider(), w.controllers[0]
		if decider == other {
			other = w.controllers[1]
		}
		for range 10 {
			decider.client.Lead()
			time.Sleep(2 * ttl)
			if !decider.client.Leads() {
				t.Error("the decider yielded at once")
			}
			time.Sleep(5 * ttl)
			if decider.client.Leads() {
				t.Error("the decider leads the store")
			}
			time.Sleep(ttl / 7)
		}
		other.client.Lead()
		time.Sleep(20 * ttl)
		if !other.client.Leads() {
			t.Error("one that does not decide has yielded")
		}
	})
}

// TestMandateEnds: a mandate is over a margin before its lease.
func TestMandateEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 1, 1)
		defer w.stop()
		w.run(time.Second)
		c := w.controllers[0]
		w.mu.Lock()
		m := c.mandate
		w.mu.Unlock()
		c.client.Cut()
		synctest.Wait() // until a renewal that is due now has come or not
		until := m.Until()
		time.Sleep(time.Until(until) - time.Millisecond)
		ctx, cancel, err := m.Bound(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		time.Sleep(time.Millisecond)
		<-ctx.Done()
		if !time.Now().Equal(until) || !errors.Is(m.Check(), cluster.ErrMandate) ||
			!errors.Is(context.Cause(ctx), cluster.ErrMandate) {
			t.Errorf("%v at %v, want until %v; %v", m.Check(), time.Now(), until, context.Cause(ctx))
		}
		if v, _ := c.node.View(); !v.Until.Before(until.Add(ttl)) || !until.Before(v.Until) {
			t.Errorf("the lease ends at %v, the mandate at %v", v.Until, until)
		}
		c.client.Mend()
	})
}
