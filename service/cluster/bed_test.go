package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
	"github.com/weft-sdn/weft/test/seeds"
)

const ttl = 3 * time.Second

// replica is a controller of the cluster under test. While a replica decides, it writes record
// after record.
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
	away     bool          // it has ended, or does not reach the store
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
	// generation is the generation of the last owners.
	generation uint32
	// cuts has why one controller does not reach another one, by their names; silent: no answer comes.
	cuts map[[2]string]error
	// patience is how long a connected majority may lack a decider that the whole majority reaches; 0:
	// the test does not check this. unserved holds since when each set of controllers has lacked a
	// decider, longest the longest time without.
	patience, longest time.Duration
	unserved          map[int]time.Time
}

// errSilent is the end of a question without an answer.
var errSilent = errors.New("it does not answer")

const devices = 6

func newBed(t *testing.T, n int, seed uint64) *bed {
	w := &bed{t: t, server: storetest.NewServer(), accepted: make(map[string]bool),
		led: make(map[int64]bool), cuts: make(map[[2]string]error), unserved: make(map[int]time.Time)}
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
	}
	for _, c := range w.controllers { // the list is whole: a controller that starts reads it
		c.start()
	}
	return w
}

// worlds runs a test in a bed of three controllers for each of some seeds, 'usual' of them by
// default. Each test has its own stream of random numbers.
func worlds(t *testing.T, usual, stream uint64, do func(w *bed, random *rand.Rand)) {
	t.Helper()
	first, count := seeds.Range(t, 1, usual)
	for seed := first; seed < first+count; seed++ {
		bubble.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			w := newBed(t, 3, seed)
			t.Cleanup(w.stop)
			w.run(time.Second)
			do(w, rand.New(rand.NewPCG(seed, stream)))
		})
	}
}

// victim returns a controller, every other time the one that decides.
func (w *bed) victim(random *rand.Rand) *replica {
	c := w.controllers[random.IntN(len(w.controllers))]
	if d := w.decider(); d != nil && random.IntN(2) == 0 {
		return d
	}
	return c
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
	c.sessions, c.away = make(map[string]*session), false
	c.w.mu.Unlock()
	c.node = cluster.New(cluster.Config{
		Self: cluster.Member{Name: c.name}, Store: skewed{c.client, c.clock}, TTL: ttl, Lead: c.lead,
		Switches: c.w.switches, Generation: c.w.next, Hold: c.hold, Alarm: c.alarmed,
		Ping: c.ping,
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

// next returns the generation for the next owners. A former decider gets none.
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

// ping asks another controller whether it is there.
func (c *replica) ping(ctx context.Context, m cluster.Member) error {
	c.pause()
	c.w.mu.Lock()
	err := c.w.cuts[[2]string{c.name, m.Name}]
	for _, o := range c.w.controllers {
		if o.name == m.Name && o.paused != nil {
			err = errSilent
		}
	}
	c.w.mu.Unlock()
	if err != nil && !errors.Is(err, errSilent) {
		return err
	}
	select {
	case <-time.After(time.Millisecond):
		if err == nil {
			return nil
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	return errSilent
}

// cut breaks the connection from one controller to another with a reason; nil restores it.
func (w *bed) cut(from, to *replica, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if from == to {
		return
	}
	w.cuts[[2]string{from.name, to.name}] = why
}

// cutOff has a controller not reach any other one, not be reached by any, or both, for a reason.
func (w *bed) cutOff(c *replica, out, in bool, why error) {
	for _, o := range w.controllers {
		if out {
			w.cut(c, o, why)
		}
		if in {
			w.cut(o, c, why)
		}
	}
}

// mend has all controllers reach each other.
func (w *bed) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.cuts)
}

// meet reports whether two controllers reach each other. w.mu is held.
func (w *bed) meet(a, b *replica) bool {
	return w.cuts[[2]string{a.name, b.name}] == nil && w.cuts[[2]string{b.name, a.name}] == nil
}

// progress checks that each connected majority of the controllers has a decider that the whole
// majority reaches, or has been without a decider no longer than allowed. w.mu is held.
func (w *bed) progress() {
	if w.patience == 0 {
		return
	}
	var decider *replica
	for _, c := range w.controllers {
		if c.mandate != nil && c.mandate.Check() == nil {
			decider = c
		}
	}
	for set := range 1 << len(w.controllers) {
		well, names := true, []string(nil)
		var of []*replica
		for i, c := range w.controllers {
			if set>>i&1 == 1 {
				of, names = append(of, c), append(names, c.name)
				well = well && !c.away && c.paused == nil
			}
		}
		for _, a := range of {
			for _, b := range of {
				well = well && w.meet(a, b)
			}
		}
		served := decider != nil
		for _, c := range of {
			served = served && w.meet(decider, c)
		}
		if 2*len(of) <= len(w.controllers) || !well || served {
			delete(w.unserved, set)
			continue
		}
		if _, ok := w.unserved[set]; !ok {
			w.unserved[set] = time.Now()
		}
		took := time.Since(w.unserved[set])
		w.longest = max(w.longest, took)
		if took >= w.patience {
			w.unserved[set] = time.Now() // it is said again after as long
			name := "nobody"
			if decider != nil {
				name = decider.name
			}
			w.t.Errorf("%v have been well among themselves for %v, and %s decides, whom not all of them "+
				"reach", names, w.patience, name)
		}
	}
}

// stop has the controller leave in order.
func (c *replica) stop() {
	c.w.mu.Lock()
	c.away = true
	c.w.mu.Unlock()
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

// lose has the controller not reach the store, or reach it again.
func (c *replica) lose(lost bool) {
	if lost {
		c.client.Cut()
	} else {
		c.client.Mend()
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.away = lost
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
	w.progress()
}

// run lets time pass, and checks all the while.
func (w *bed) run(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		w.check()
	}
}

// whole fails the test unless all controllers are present and one controller decides.
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
