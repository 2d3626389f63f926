package linear

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/test/seeds"
)

// trafficPause is how long it may take until another write is complete.
const trafficPause = 250 * time.Millisecond

// patience is how long controllers may take to take changes again once nothing is wrong any more.
const patience = 90 * time.Second

// summary describes a run.
type summary struct {
	Seed       uint64          `json:"seed"`
	Store      string          `json:"store"`
	Operations int             `json:"operations"`
	Outcomes   map[outcome]int `json:"outcomes"`
	Unknown    int             `json:"unknown"`
	Events     int             `json:"events"`
	Writes     uint64          `json:"writes"` // of S2, that are complete
	Faults     map[string]int  `json:"faults"`
	// Longest has the longest time, in seconds and by fault, that a controller of a majority which was
	// well among itself accepted no change.
	Longest map[string]float64 `json:"longest"`
	// Back has the longest time, in seconds and by fault, from the end of a fault until all three
	// controllers accepted changes.
	Back    map[string]float64 `json:"back"`
	Verdict string             `json:"verdict"`
	Broken  map[string]int     `json:"broken,omitempty"`
	Seconds float64            `json:"seconds"`
	Judged  float64            `json:"judged"` // of these, seconds that judging took
}

// Rules of the whole.
const (
	ruleRecovers = "the controllers recover by themselves"
	ruleStays    = "no process ends that nobody ended"
)

// TestLinearizable: clients of three controllers never see a state that a single resource with one
// change at a time would not show, during faults of all kinds, until WEFT_LINEAR operations are
// done.
func TestLinearizable(t *testing.T) {
	text := os.Getenv("WEFT_LINEAR")
	if text == "" {
		t.Skip("minutes of processes and faults: make soak, or WEFT_LINEAR=20000 for so many " +
			"operations a run")
	}
	operations, err := strconv.ParseUint(text, 10, 64)
	if err != nil || operations == 0 {
		t.Fatalf("WEFT_LINEAR=%s: want a number of operations", text)
	}
	var all []summary
	defer func() { fmt.Print(table(all)) }()
	for _, store := range []string{"embedded", "outside"} {
		t.Run(store, func(t *testing.T) {
			first, count := seeds.Range(t, 1, 1)
			for seed := first; seed < first+count; seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					all = append(all, runSeed(t, store, seed, random(operations)))
				})
			}
		})
	}
}

// TestProgress: each fault that spares a majority lasts until each of that accepts changes, once at
// the controller that decides and once at another one.
func TestProgress(t *testing.T) {
	if os.Getenv("WEFT_PROGRESS") == "" {
		t.Skip("minutes of processes and faults: make soak, or WEFT_PROGRESS=1")
	}
	var all []summary
	defer func() { fmt.Print(table(all)) }()
	for _, store := range []string{"embedded", "outside"} {
		t.Run(store, func(t *testing.T) {
			seed, _ := seeds.Range(t, 1, 1)
			all = append(all, runSeed(t, store, seed, func(ctx context.Context, l *load, _ *rand.Rand,
				happen happen) {
				for _, f := range l.b.possible() {
					if f.all || f.fabric {
						continue
					}
					happen(l.lasting(f), l.b.decider(ctx), 0)
					happen(l.lasting(f), l.b.nodes[l.b.decider(ctx).number%len(l.b.nodes)], 0)
				}
			}))
		})
	}
}

// TestFewFaults is TestLinearizable for seconds: the decider is killed, and another is cut off from
// the network, or paused where controllers have no network of their own, for longer than its lease
// lasts. Then the decider is cut off from the switches alone, and others do not reach it until
// another one decides. Where there is an older release, the decider goes back to that.
func TestFewFaults(t *testing.T) {
	kinds := []string{"kill", "pause"}
	if isolated() {
		kinds = []string{"kill", "cut", "cut switches"}
	}
	for _, store := range []string{"embedded", "outside"} {
		t.Run(store, func(t *testing.T) {
			seed, _ := seeds.Range(t, 1, 1)
			runSeed(t, store, seed, func(ctx context.Context, l *load, _ *rand.Rand, happen happen) {
				kinds := slices.Clone(kinds)
				if l.b.older != nil {
					kinds = append(kinds, olderRelease)
				}
				for _, kind := range kinds {
					i := slices.IndexFunc(faults, func(f fault) bool { return f.kind == kind })
					d := 3 * time.Second
					if faults[i].fabric { // no session ends: that takes too long here
						d = 250 * time.Millisecond
					}
					happen(faults[i], l.b.decider(ctx), d)
				}
				if i := slices.IndexFunc(faults, func(f fault) bool {
					return f.kind == "cut controllers in" && isolated() && store == "embedded"
				}); i >= 0 {
					happen(l.lasting(faults[i]), l.b.decider(ctx), 0)
				}
			})
		})
	}
}

// happen makes a fault at a controller for a time, and looks what became of the controllers.
type happen func(f fault, n *node, d time.Duration)

// plan defines which faults happen.
type plan func(ctx context.Context, l *load, r *rand.Rand, happen happen)

// random is faults of all kinds, until there were so many operations.
func random(operations uint64) plan {
	return func(ctx context.Context, l *load, r *rand.Rand, happen happen) {
		possible := l.b.possible()
		for l.h.count() < operations {
			f := possible[r.IntN(len(possible))]
			n := l.b.nodes[r.IntN(len(l.b.nodes))]
			if r.IntN(3) > 0 {
				n = l.b.decider(ctx)
			}
			l.hasty = r.IntN(2) == 0
			happen(f, n, time.Duration(300+r.IntN(5000))*time.Millisecond)
			wait(ctx, time.Duration(r.IntN(2000))*time.Millisecond)
		}
	}
}

func runSeed(t *testing.T, store string, seed uint64, plan plan) summary {
	began := time.Now()
	b := newBed(t, store == "outside", os.Getenv(olderVariable))
	l := &load{b: b, h: newHistory(), keys: newKeys(),
		progress: progress{accepted: make([][]time.Duration, len(b.nodes))}}
	says := summary{Seed: seed, Store: store, Faults: make(map[string]int),
		Longest: make(map[string]float64), Back: make(map[string]float64),
		Outcomes: make(map[outcome]int), Broken: make(map[string]int)}
	end, lastShown := newSignals(len(b.nodes))

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if !l.alive(ctx, patience) {
		dir, err := os.MkdirTemp(os.Getenv("WEFT_LINEAR_DIR"), "weft-linear-")
		t.Fatalf("no controller takes a change %v after the start; the logs are in %s (%v)", patience,
			dir, errors.Join(err, b.logs(dir)))
	}
	l.stale = l.takesStale(ctx)
	if !l.stale {
		t.Log("the controllers know no stale reads")
	}
	traffic, err := l.begin(ctx)
	if err != nil {
		dir, kept := os.MkdirTemp(os.Getenv("WEFT_LINEAR_DIR"), "weft-linear-")
		t.Fatalf("the fabric is not ready: %v; the logs are in %s (%v)", err, dir,
			errors.Join(kept, b.logs(dir)))
	}
	var watching, working sync.WaitGroup
	working.Go(traffic)
	watchCtx, unwatch := context.WithCancel(t.Context())
	defer unwatch()
	for i, n := range b.nodes {
		watching.Go(func() { l.follow(watchCtx, n, func(name string) { lastShown(i, name) }) })
		for j := range 2 {
			working.Go(func() { l.client(ctx, n, 2*i+j, seed) })
		}
	}
	working.Go(func() { l.sweep(ctx, b.nodes[seed%3], 6) })
	for i, n := range b.nodes {
		working.Go(func() { l.probe(ctx, n, 8+i) })
	}

	l.faults(ctx, rand.New(rand.NewPCG(seed, 1000)), &says, plan)
	if err := l.converged(ctx); err != nil {
		l.fail(ruleConverges, "in the end: %v", err)
	}
	l.unwritten("in the end")
	stop()
	working.Wait()
	for _, n := range b.nodes {
		if !n.answers(t.Context(), patience) {
			l.fail(ruleRecovers, "%s does not answer %v after the last fault", n.name, patience)
		}
	}
	l.rest(t.Context(), end)
	unwatch()
	watching.Wait()

	judged := time.Now()
	found := append(check(l.h), l.wrong...)
	says.Judged = time.Since(judged).Seconds()
	says.Seconds = time.Since(began).Seconds()
	for i := range l.h.operations {
		o := &l.h.operations[i]
		says.Outcomes[o.Outcome]++
		if o.Outcome != refused {
			says.Operations++
		}
		if o.Outcome == unknown {
			says.Unknown++
		}
	}
	for _, w := range l.h.watches {
		says.Events += len(w.Sights)
	}
	says.Writes = b.fabric.complete.Load()
	says.Verdict = "legal"
	if len(found) > 0 {
		says.Verdict = "illegal"
	}
	for _, v := range found {
		says.Broken[v.Rule]++
	}
	line, err := json.Marshal(says)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
	if len(found) == 0 {
		return says
	}
	shown := make(map[string]int)
	for _, v := range found {
		if shown[v.Rule]++; shown[v.Rule] <= 5 {
			t.Errorf("%s: %s", v.Rule, v.Text)
		}
	}
	dir, err := keep(l.h, found, says)
	if err := errors.Join(err, b.logs(dir)); err != nil {
		t.Error(err)
	}
	t.Errorf("seed %d: %d violations; the history, pictures of it and the logs are in %s", seed,
		len(found), dir)
	return says
}

// faults makes the faults of a plan.
func (l *load) faults(ctx context.Context, r *rand.Rand, says *summary, plan plan) {
	begin := func(ctx context.Context, l *load, r *rand.Rand, happen happen) {
		if l.b.older != nil { // what else it has is not judged
			i := slices.IndexFunc(faults, func(f fault) bool { return f.kind == upgrade })
			happen(faults[i], l.b.decider(ctx), 0)
		}
		plan(ctx, l, r, happen)
	}
	begin(ctx, l, r, func(f fault, n *node, d time.Duration) {
		says.Faults[f.kind]++
		for end := time.Now().Add(patience); !l.hasty && !l.well() && time.Now().Before(end); {
			wait(ctx, 20*time.Millisecond)
		}
		well := l.well()
		if !l.hasty && !well {
			l.fail(ruleRecovers, "not all controllers accept changes %v before %s at %s", patience, f.kind,
				n.name)
		}
		l.b.t.Logf("%v: %s at %s for %v", l.h.now().Round(time.Millisecond), f.kind, n.name, d)
		begun, complete, from := time.Now(), l.b.fabric.complete.Load(), l.h.now()
		if err := f.do(ctx, l.b, n, r, d); err != nil {
			l.fail(ruleRecovers, "%s at %s: %v", f.kind, n.name, err)
		}
		until := l.h.now()
		if took := time.Since(begun); took > trafficPause && l.b.fabric.complete.Load() == complete {
			l.fail(ruleGoesOn, "no write is complete in %v of %s at %s", took, f.kind, n.name)
		}
		wait(ctx, 100*time.Millisecond)
		for _, o := range l.b.nodes {
			if !o.running() {
				l.fail(ruleStays, "%s has ended during %s at %s", o.name, f.kind, n.name)
				o.start()
			}
		}
		if !l.alive(ctx, patience) {
			l.fail(ruleRecovers, "no change is taken %v after %s at %s", patience, f.kind, n.name)
		}
		if well {
			gap := l.advanced(ctx, &f, n, from, until)
			says.Longest[f.kind] = max(says.Longest[f.kind], gap.Seconds())
		}
		if !l.hasty {
			back := l.accepts(ctx, l.b.nodes, until)
			says.Back[f.kind] = max(says.Back[f.kind], back.Seconds())
			if back >= patience {
				l.fail(ruleRecovers, "a controller accepts no change %v after %s at %s", back, f.kind, n.name)
			}
		}
		if f.fabric {
			if err := l.converged(ctx); err != nil {
				l.fail(ruleConverges, "after %s at %s: %v", f.kind, n.name, err)
			}
		}
		l.unwritten(fmt.Sprintf("after %s at %s", f.kind, n.name))
	})
}

// alive waits until a controller has taken a change.
func (l *load) alive(ctx context.Context, within time.Duration) bool {
	var all []*client.Client
	for _, n := range l.b.nodes {
		all = append(all, n.client(answerTime))
	}
	for i, end := 0, time.Now().Add(within); time.Now().Before(end); i++ {
		n := l.b.nodes[i%len(all)]
		if o := l.do(ctx, all[i%len(all)], n, l.keys.single(),
			operation{Client: 7, Action: create}); o.Outcome == done {
			return true
		}
		wait(ctx, 50*time.Millisecond)
	}
	return false
}

// takesStale reports whether controllers know stale reads.
func (l *load) takesStale(ctx context.Context) bool {
	c := l.b.nodes[0].client(answerTime)
	for end := time.Now().Add(patience); ; wait(ctx, 50*time.Millisecond) {
		_, err := c.Get(ctx, groups, map[string][]string{"consistency": {"stale"}})
		var p *api.Problem
		// until it has read the store
		if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || time.Now().After(end) {
			return err == nil
		}
	}
}

// rest reads everything when nothing happens any more, and waits until all watches have shown a
// last change.
func (l *load) rest(ctx context.Context, end *signals) {
	n := l.b.decider(ctx)
	c := n.client(answerTime)
	for _, x := range l.keys.all() {
		for range 3 {
			if o := l.do(ctx, c, n, x, operation{Client: 7, Action: get}); o.Outcome == done ||
				o.Outcome == missing {
				break
			}
			wait(ctx, 100*time.Millisecond)
		}
	}
	// A lost watch opens again after a while, and may begin after some of these events.
	var last []int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		x := l.keys.single()
		end.want(x.name)
		if o := l.do(ctx, c, n, x, operation{Client: 7, Action: create}); o.Outcome != done {
			l.fail(ruleRecovers, "in the end: %v", &o)
			return
		}
		if last = end.await(2 * time.Second); len(last) == 0 {
			return
		}
	}
	for _, i := range last {
		l.fail(ruleLost, "the watch at %s shows none of the changes of %v", l.b.nodes[i].name, patience)
	}
}

// signals notes when each of some watches has shown one of some names.
type signals struct {
	mu    sync.Mutex
	names map[string]bool
	shown []bool
	all   chan struct{}
}

func newSignals(n int) (*signals, func(i int, name string)) {
	s := &signals{names: make(map[string]bool), shown: make([]bool, n), all: make(chan struct{})}
	return s, func(i int, name string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.names[name] || s.shown[i] {
			return
		}
		s.shown[i] = true
		for _, shown := range s.shown {
			if !shown {
				return
			}
		}
		close(s.all)
	}
}

func (s *signals) want(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = true
}

// await returns the members that have shown no signal in time.
func (s *signals) await(within time.Duration) (not []int) {
	select {
	case <-s.all:
		return nil
	case <-time.After(within):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, shown := range s.shown {
		if !shown {
			not = append(not, i)
		}
	}
	return not
}
