package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/cluster"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
	"github.com/weft-sdn/weft/test/seeds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = 3 * time.Second

// replica is one of several, which writes a record after the other while it decides.
type replica struct {
	w      *bed
	name   string
	client *storetest.Client
	clock  *wallClock
	node   *cluster.Node
	cancel context.CancelFunc
	ended  chan struct{}

	// bed.mu guards the fields below it.
	mandate  *cluster.Mandate // nil: it does not decide
	alarm    *cluster.Alarm
	paused   chan struct{} // closed when the process goes on; nil: it runs
	sessions map[string]*session
}

// bed is several controllers on one store.
type bed struct {
	t           *testing.T
	server      *storetest.Server
	controllers []*replica

	mu       sync.Mutex
	term     int64 // of the last write that took effect
	devices  []*device
	accepted map[string]bool // records whose writer got an answer of success
	writes   int
	terms    int
	led      map[int64]bool // terms
	// stuck, when not nil, is why nothing can be decided on owners of switches.
	stuck error
	// generation is that of the last owners.
	generation uint32
	// apart are two controllers that do not reach each other; nil: all do.
	apart []*replica
}

const devices = 6

func newBed(t *testing.T, n int, seed uint64) *bed {
	w := &bed{t: t, server: storetest.NewServer(), accepted: make(map[string]bool),
		led: make(map[int64]bool)}
	for i := range devices {
		w.devices = append(w.devices, &device{
			w: w, name: fmt.Sprintf("n%d", i+1), remembers: i%2 == 0,
			random: rand.New(rand.NewPCG(seed, uint64(i))), streams: make(map[*session]bool),
		})
	}
	w.server.Wrote = w.wrote
	for i := range n {
		c := &replica{w: w, name: fmt.Sprintf("c%d", i+1), client: w.server.Client(), clock: &wallClock{}}
		w.controllers = append(w.controllers, c)
		c.start()
	}
	return w
}

// wrote checks each write that takes effect.
func (w *bed) wrote(key string) {
	var term int64
	if n, _ := fmt.Sscanf(key, "r/%d/", &term); n == 0 {
		return // a record of the cluster itself
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if term < w.term {
		w.t.Errorf("%s was written in term %d after one in term %d", key, term, w.term)
	}
	w.term = max(w.term, term)
}

func (c *replica) start() {
	ctx, cancel := context.WithCancel(c.w.t.Context())
	c.cancel, c.ended = cancel, make(chan struct{})
	c.w.mu.Lock()
	c.sessions = make(map[string]*session)
	c.w.mu.Unlock()
	c.node = cluster.New(cluster.Config{
		Self: cluster.Member{Name: c.name}, Store: skewed{c.client, c.clock}, TTL: ttl, Lead: c.lead,
		Switches: c.w.switches, Generation: c.w.next, Hold: c.hold, Alarm: c.alarmed,
	})
	go func() {
		defer close(c.ended)
		c.node.Run(ctx)
	}()
}

func (c *replica) alarmed() *cluster.Alarm {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.alarm
}

func (c *replica) raise(a *cluster.Alarm) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.alarm = a
}

func (w *bed) switches() (out []cluster.Switch) {
	for _, d := range w.devices {
		out = append(out, cluster.Switch{Name: d.name})
	}
	return out
}

// next is the generation of the next owners, which a decider that is none any more does not get.
func (w *bed) next(ctx context.Context, s store.Store) (uint32, error) {
	if !store.MayUseReserve(ctx) {
		w.t.Error("who owns a switch would not be kept on a disk that is nearly full")
	}
	w.mu.Lock()
	stuck := w.stuck
	w.mu.Unlock()
	if stuck != nil {
		return 0, stuck
	}
	if _, err := s.Put(ctx, "generation", []byte("x"), store.Any); err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.generation++
	return w.generation, nil
}

// stop has the controller leave in order.
func (c *replica) stop() {
	c.cancel()
	<-c.ended
}

// kill ends the controller without a word to the store.
func (c *replica) kill() {
	c.client.Cut()
	c.stop()
	c.client.Mend()
	c.client = c.w.server.Client()
}

func (c *replica) lead(ctx context.Context, m *cluster.Mandate) error {
	w := c.w
	w.mu.Lock()
	c.mandate = m
	must := make([]string, 0, len(w.accepted))
	for key := range w.accepted {
		must = append(must, key)
	}
	w.terms++
	if w.led[m.Term] {
		w.t.Errorf("%s begins term %d, which has been", c.name, m.Term)
	}
	w.led[m.Term] = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		c.mandate = nil
		w.mu.Unlock()
	}()
	records, _, err := m.Store.List(ctx, "r/")
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(records))
	for _, r := range records {
		there[r.Key] = true
	}
	for _, key := range must {
		if !there[key] {
			w.t.Errorf("%s in term %d: %s was accepted and is lost", c.name, m.Term, key)
		}
	}
	programmed := make(chan error, len(w.devices))
	for _, d := range w.devices {
		go func() { programmed <- c.program(ctx, d, m) }()
	}
	defer func() {
		for range w.devices {
			if err := <-programmed; err != nil {
				w.t.Error(err)
			}
		}
	}()
	for n := 0; ; n++ {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
		c.pause()
		key := fmt.Sprintf("r/%d/%d", m.Term, n)
		err := m.Store.Apply(ctx, []store.Op{{Key: key, Value: []byte("x")}})
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.accepted[key] = true
		w.writes++
		w.mu.Unlock()
	}
}

// stopProcess has the controller do nothing more until goOn, as SIGSTOP does: also its lease is not
// renewed.
func (c *replica) stopProcess() {
	c.client.Cut()
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.paused = make(chan struct{})
}

func (c *replica) goOn() {
	c.w.mu.Lock()
	close(c.paused)
	c.paused = nil
	c.w.mu.Unlock()
	c.client.Mend()
}

// pause waits while the process is stopped.
func (c *replica) pause() {
	c.w.mu.Lock()
	paused := c.paused
	c.w.mu.Unlock()
	if paused != nil {
		<-paused
	}
}

// check looks at who decides now.
func (w *bed) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var deciders []string
	for _, c := range w.controllers {
		if c.mandate != nil && c.mandate.Check() == nil {
			deciders = append(deciders, fmt.Sprintf("%s in term %d", c.name, c.mandate.Term))
		}
	}
	if len(deciders) > 1 {
		w.t.Errorf("there are deciders %v", deciders)
	}
}

// run lets time pass, and checks all the while.
func (w *bed) run(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		w.check()
	}
}

// whole fails unless all controllers are there and one of them decides.
func (w *bed) whole() {
	w.t.Helper()
	decider := ""
	for _, c := range w.controllers {
		v, _ := c.node.View()
		if len(v.Members) != len(w.controllers) || v.Instance == 0 || v.Decider.Name == "" {
			w.t.Errorf("%s sees %+v", c.name, v)
		}
		if decider == "" {
			decider = v.Decider.Name
		}
		if v.Decider.Name != decider {
			w.t.Errorf("%s sees decider %s, another one %s", c.name, v.Decider.Name, decider)
		}
	}
}

// part has two controllers not reach each other; none: all do.
func (w *bed) part(c ...*replica) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.apart = c
}

func (w *bed) decider() *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.controllers {
		if c.mandate != nil {
			return c
		}
	}
	return nil
}

func (w *bed) stop() {
	for _, c := range w.controllers {
		c.client.Mend()
		c.stop()
	}
}

func isOver(err error) bool { return status.Code(err) == codes.PermissionDenied }

// TestTakeover: another controller decides at once when the decider leaves in order, after the TTL
// when it dies, and a decider without the store stops before that.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// TestAlarm: a controller with an alarm says so to all, leaves it to another one to decide, and
// keeps its lease and its switches; where all have one, one of them decides.
func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// TestJoinsWithAlarm: what is wrong with a controller that starts is known as soon as it is there,
// before it could be the one that decides.
func TestJoinsWithAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// TestUnevenIsSaid: that switches have no owner is said when it has lasted a minute, by the
// decider, and no more when they have.
func TestUnevenIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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

// TestSameName: of two controllers of one name the second waits for the first one's end.
func TestSameName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		w.controllers[0] = twin
		w.run(ttl + time.Second)
		w.whole()
	})
}

// TestNodes: whatever befalls controllers and store, one of them decides at a time, and nothing
// that was accepted is lost.
func TestNodes(t *testing.T) {
	first, count := seeds.Range(t, 1, 300)
	for seed := first; seed < first+count; seed++ {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			random := rand.New(rand.NewPCG(seed, 13))
			w := newBed(t, 3, seed)
			t.Cleanup(w.stop)
			w.run(time.Second)
			for range 6 {
				c := w.controllers[random.IntN(len(w.controllers))]
				if d := w.decider(); d != nil && random.IntN(2) == 0 {
					c = d
				}
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
					w.part(c, w.controllers[random.IntN(len(w.controllers))])
					w.run(span)
					w.part()
				}
				w.run(time.Duration(random.Int64N(int64(ttl))))
			}
			w.run(3*ttl + time.Second)
			w.whole()
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.writes == 0 {
				t.Error("nothing was written")
			}
			w.owned(t)
		})
	}
}

// owned fails unless every switch is written to, in the last term, by its one owner. w.mu is held.
func (w *bed) owned(t *testing.T) {
	t.Helper()
	for _, d := range w.devices {
		var owners []string
		for _, c := range w.controllers {
			if s := c.sessions[d.name]; s != nil && s.tenure.Check() == nil {
				owners = append(owners, fmt.Sprintf("%s in generation %d", c.name, s.generation))
			}
		}
		d.mu.Lock()
		if len(owners) != 1 {
			t.Errorf("%s has owners %v", d.name, owners)
		}
		if d.writes == 0 || d.term != w.term {
			t.Errorf("%s took %d writes, the last in term %d, now is term %d", d.name, d.writes, d.term,
				w.term)
		}
		d.mu.Unlock()
	}
}

// TestYield: a decider that has led the store for a while leaves that to another one, and one that
// does not decide goes on leading. A new leader of the store gives all leases their whole time,
// which would make the end of a dead controller's lease late if a decider yielded at once.
func TestYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	synctest.Test(t, func(t *testing.T) {
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
