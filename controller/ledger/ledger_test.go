package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
	"github.com/weft-sdn/weft/test/seeds"
)

// content is the version and text of a resource.
type content struct {
	version uint64
	text    string
}

func (c content) String() string { return fmt.Sprintf("%d %s", c.version, c.text) }

func parse(t *testing.T, value []byte) (c content) {
	version, text, _ := strings.Cut(string(value), " ")
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return content{n, text}
}

// term is a core in one term, with its ledger. Only its owner uses the core.
type term struct {
	*ledger.Ledger
	versions *resource.Versions
	items    map[string]content
	unsaved  []store.Op
	end      context.CancelFunc
	ended    sync.WaitGroup
}

func (*term) Tick(time.Duration)          {}
func (*term) Next() (time.Duration, bool) { return 0, false }
func (*term) Kept(uint64)                 {}

func (c *term) step(uint64) ledger.Step {
	ops := append(c.versions.Changes(), c.unsaved...)
	c.unsaved = nil
	return ledger.Step{Saves: ops, Now: func(context.Context, *errgroup.Group) error { return nil },
		More: len(ops) > 0}
}

// bed is a store that answers late, twice or not at all, with its readers and writers in successive
// terms.
type bed struct {
	t    *testing.T
	rand *rand.Rand

	// mu guards the fields below it.
	mu     sync.Mutex
	store  store.Memory
	number int // of the term
	now    *term
	had    map[content]bool  // every content that the store has had
	given  map[uint64]string // texts by version, as anybody was told
	acked  map[string]uint64 // the highest version that was acknowledged, by key
	denied []content         // that clients were told are not kept
	counts struct{ acked, unknown, refused, read, terms int }
}

// guarded is the store of a term.
type guarded struct {
	*store.Memory
	b      *bed
	number int
}

// Apply implements store.Store.
func (g guarded) Apply(ctx context.Context, ops []store.Op) error {
	apply := func() error {
		g.b.mu.Lock()
		defer g.b.mu.Unlock()
		if g.b.number != g.number {
			return store.ErrFenced
		}
		for _, op := range ops {
			if op.Key != "versions" && op.Value != nil {
				g.b.had[parse(g.b.t, op.Value)] = true
			}
		}
		return g.b.store.Apply(ctx, ops)
	}
	g.b.mu.Lock()
	fault, late := g.b.rand.IntN(40), time.Duration(g.b.rand.IntN(9000))*time.Millisecond
	g.b.mu.Unlock()
	switch fault {
	case 0: // it takes effect, and does not say so
		return errors.Join(apply(), errors.New("connection lost"))
	case 1:
		return errors.New("connection lost")
	case 2: // twice, the second time late
		err := apply()
		go func() {
			time.Sleep(late)
			_ = apply()
		}()
		return errors.Join(err, errors.New("connection lost"))
	case 3: // late, also when nobody waits any more
		done := make(chan error, 1)
		go func() {
			time.Sleep(late)
			done <- apply()
		}()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	case 4:
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(late / 1000)
	return apply()
}

// begin begins the next term, from what the store has.
func (b *bed) begin() *term {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number++
	b.counts.terms++
	records, _, _ := b.store.List(b.t.Context(), "") // a store in memory
	c := &term{versions: resource.NewVersions("versions"), items: make(map[string]content)}
	for _, r := range records {
		if ok, err := c.versions.Load(r); err != nil {
			b.t.Fatal(err)
		} else if !ok {
			c.items[r.Key] = parse(b.t, r.Value)
		}
	}
	c.Ledger = ledger.New(ledger.Options{Store: guarded{&b.store, b, b.number}, Start: time.Now(),
		Versions: c.versions})
	ctx, end := context.WithCancel(b.t.Context())
	c.end = end
	c.ended.Go(func() { _ = c.Run(ctx, c, c.step) }) // it is fenced when the next term begins
	b.now = c
	return c
}

func (b *bed) term() *term {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// told notes the content that a client got for a version.
func (b *bed) told(key string, c content) {
	if was, ok := b.given[c.version]; ok && was != key+c.text {
		b.t.Errorf("version %d is %q, was %q", c.version, key+c.text, was)
	}
	b.given[c.version] = key + c.text
}

// put changes a resource.
func (b *bed) put(key, text string) {
	c := b.term()
	var made content
	err := ledger.Unknown(c.Change(b.t.Context(), func() error {
		made = content{c.versions.Next(), text}
		c.items[key] = made
		c.unsaved = append(c.unsaved, store.Op{Key: key, Value: []byte(made.String())})
		return nil
	}), made.version)
	b.mu.Lock()
	defer b.mu.Unlock()
	var unknown *api.Error
	switch {
	case err == nil:
		b.told(key, made)
		b.counts.acked++
		if !b.had[made] {
			b.t.Errorf("%s %v is acknowledged, and the store has not had it", key, made)
		}
		b.acked[key] = max(b.acked[key], made.version)
	case errors.As(err, &unknown):
		b.told(key, made)
		b.counts.unknown++
	default:
		b.counts.refused++
		b.denied = append(b.denied, made)
	}
}

// get reads a resource.
func (b *bed) get(key string) {
	b.mu.Lock()
	c, least := b.now, b.acked[key]
	b.mu.Unlock()
	var seen content
	err := c.Read(b.t.Context(), func() { seen = c.items[key] })
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.counts.refused++
		return
	}
	b.counts.read++
	if seen.version < least {
		b.t.Errorf("%s has version %d, and %d was acknowledged before", key, seen.version, least)
	}
	if seen.version != 0 {
		b.told(key, seen)
		if !b.had[seen] {
			b.t.Errorf("%s %v is read, and the store has not had it", key, seen)
		}
	}
}

// TestSeeds: whatever a store does, all reads after an acknowledgement return the acknowledged
// content, the store has had everything that was read, and a version has one content over all
// terms.
func TestSeeds(t *testing.T) {
	first, n := seeds.Range(t, 1, 60)
	for seed := first; seed < first+n; seed++ {
		bubble.Test(t, func(t *testing.T) {
			b := &bed{
				t: t, rand: rand.New(rand.NewPCG(seed, 1)), had: make(map[content]bool),
				given: make(map[uint64]string), acked: make(map[string]uint64),
			}
			ctx, stop := context.WithCancel(t.Context())
			c := b.begin()
			var all sync.WaitGroup
			all.Go(func() {
				for {
					select {
					case <-c.Failed():
					case <-ctx.Done():
						c.end()
						c.ended.Wait()
						return
					}
					time.Sleep(time.Second)
					last := c
					c = b.begin()
					last.end()
					last.ended.Wait()
				}
			})
			var clients sync.WaitGroup
			for client := range 4 {
				r := rand.New(rand.NewPCG(seed, uint64(client)+2))
				clients.Go(func() {
					for i := range 60 {
						key := string(rune('a' + r.IntN(2)))
						if r.IntN(2) == 0 {
							b.put(key, fmt.Sprintf("%d-%d", client, i))
						} else {
							b.get(key)
						}
						time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
					}
				})
			}
			clients.Wait()
			stop()
			all.Wait()
			time.Sleep(10 * time.Second) // writes that are late
			for _, c := range b.denied {
				if b.had[c] {
					t.Errorf("seed %d: %v was refused, and the store has had it", seed, c)
				}
			}
			if n := b.counts; n.acked == 0 || n.read == 0 || n.terms < 2 {
				t.Errorf("seed %d shows nothing: %+v", seed, n)
			}
		})
	}
}

// TestOutcome: the ledger does not keep a change that the store has refused or was not asked for,
// and tells its client. The outcome of any other failed change is unknown.
func TestOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		unknown bool
	}{
		"no room": {fmt.Errorf("%w: 3 octets are free", store.ErrNoRoom), false},
		"no room in a part": {fmt.Errorf("%w: a part of the write is made: %w", store.ErrUnavailable,
			store.ErrNoRoom), true},
		"fenced": {store.ErrFenced, false},
		"fenced in a part": {fmt.Errorf("%w: a part of the write is made: %w", store.ErrUnavailable,
			store.ErrFenced), true},
		"unavailable": {store.ErrUnavailable, true},
		"anything":    {errors.New("broken"), true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := new(storetest.Faulty)
				core := &term{versions: resource.NewVersions("versions"), items: make(map[string]content)}
				core.Ledger = ledger.New(ledger.Options{Store: s, Start: time.Now(), Versions: core.versions})
				ctx, end := context.WithCancel(t.Context())
				core.ended.Go(func() { _ = core.Run(ctx, core, core.step) }) // it may be fenced
				change := func(key string) error {
					return core.Change(t.Context(), func() error {
						core.unsaved = append(core.unsaved,
							store.Op{Key: key, Value: fmt.Appendf(nil, "%d x", core.versions.Next())})
						return nil
					})
				}
				if err := change("a"); err != nil {
					t.Fatal(err)
				}
				s.Answer(func(context.Context, func() error) error {
					time.Sleep(time.Second)
					return c.err
				})
				var first, second error
				var both sync.WaitGroup
				both.Go(func() { first = change("a") })
				synctest.Wait() // its write is under way
				both.Go(func() { second = change("b") })
				both.Wait()
				if errors.Is(first, ledger.ErrUnknown) != c.unknown || first == nil {
					t.Errorf("the change whose write failed: %v", first)
				}
				if second == nil || errors.Is(second, ledger.ErrUnknown) {
					t.Errorf("the change after it: %v", second)
				}
				// A process that is fenced ends.
				if err := core.Read(t.Context(), func() {}); !errors.Is(err, ledger.ErrStore) &&
					!(errors.Is(c.err, store.ErrFenced) && errors.Is(err, ledger.ErrStopped)) {
					t.Errorf("a reading after that: %v", err)
				} else if errors.Is(err, store.ErrNoRoom) {
					t.Errorf("a reading after that is refused for want of room: %v", err)
				}
				end()
				core.ended.Wait()
			})
		})
	}
}

// TestOutcomeOfMany: clients make changes at the same time, and a write fails. The outcome of the
// changes in this write is unknown, however many changes follow.
func TestOutcomeOfMany(t *testing.T) {
	const clients = 200
	for range 20 {
		var mu sync.Mutex
		tried := make(map[string]bool)
		s := &failing{apply: func(ops []store.Op) error {
			mu.Lock()
			defer mu.Unlock()
			for _, op := range ops {
				tried[op.Key] = true
			}
			if len(tried) > 1 { // the versions
				return store.ErrUnavailable
			}
			return nil
		}}
		core := &term{versions: resource.NewVersions("versions"), items: make(map[string]content)}
		core.Ledger = ledger.New(ledger.Options{Store: s, Start: time.Now(), Versions: core.versions})
		ctx, end := context.WithCancel(t.Context())
		core.ended.Go(func() { _ = core.Run(ctx, core, core.step) })
		errs := make([]error, clients)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				errs[i] = core.Change(t.Context(), func() error {
					value := fmt.Appendf(nil, "%d x", core.versions.Next())
					core.unsaved = append(core.unsaved, store.Op{Key: fmt.Sprint(i), Value: value})
					return nil
				})
			})
		}
		all.Wait()
		end()
		core.ended.Wait()
		for i, err := range errs {
			if unknown := errors.Is(err, ledger.ErrUnknown); err == nil || unknown != tried[fmt.Sprint(i)] {
				t.Fatalf("the write had change %d: %v; its client was told: %v", i, tried[fmt.Sprint(i)], err)
			}
		}
	}
}

// failing is a store whose writes end as a test says.
type failing struct {
	store.Memory
	apply func([]store.Op) error
}

// Apply implements store.Store.
func (f *failing) Apply(_ context.Context, ops []store.Op) error { return f.apply(ops) }

// TestSteps: the ledger carries out at once what rests on kept records, and what may rest on saves
// when the store has them; never after a failed write.
func TestSteps(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := new(storetest.Faulty)
		var mu sync.Mutex
		var done []string
		say := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			done = append(done, what)
		}
		said := func() string {
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(done, ", ")
		}
		core := &term{versions: resource.NewVersions("versions")}
		core.Ledger = ledger.New(ledger.Options{
			Store: s, Start: time.Now(), Versions: core.versions, Failed: api.EventStoreFailed,
			Events: func(e api.Event) { say(string(e.Type) + e.Object) },
		})
		name := "" // of what the core wants next; "": nothing
		step := func(uint64) ledger.Step {
			x := ledger.Step{Saves: core.versions.Changes(),
				Now: func(context.Context, *errgroup.Group) error { return nil }}
			if of := name; of != "" {
				name = ""
				x.Saves = append(x.Saves, store.Op{Key: of, Value: []byte("1 x")})
				x.Now = func(context.Context, *errgroup.Group) error { say("now " + of); return nil }
				x.Then = func() { say("then " + of) }
				x.Events = []api.Event{{Type: api.EventGroupChanged, Object: " " + of},
					{Type: api.EventHostChanged, Object: " " + of}}
			}
			x.More = len(x.Saves) > 0
			return x
		}
		ctx, end := context.WithCancel(t.Context())
		core.ended.Go(func() { _ = core.Run(ctx, core, step) }) // it ends with ctx
		want := func(of string, write func(context.Context, func() error) error, first, all string) {
			t.Helper()
			mu.Lock()
			done = nil
			mu.Unlock()
			s.Answer(func(ctx context.Context, apply func() error) error {
				time.Sleep(time.Second)
				return write(ctx, apply)
			})
			if err := core.Do(t.Context(), func() { name = of }); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := said(); got != first {
				t.Errorf("%s, while it is written: %q, want %q", of, got, first)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := said(); got != all {
				t.Errorf("%s, afterwards: %q, want %q", of, got, all)
			}
		}
		time.Sleep(time.Second)
		want("a", func(_ context.Context, apply func() error) error { return apply() },
			"now a", "now a, group.changed a, host.changed a, then a")
		want("b", func(context.Context, func() error) error { return errors.New("broken") },
			"now b", "now b, store.failed, host.changed b")
		want("c", func(_ context.Context, apply func() error) error { return apply() },
			"now c, host.changed c", "now c, host.changed c")
		end()
		core.ended.Wait()
	})
}

// TestChangeHandsOut: a client gets the answer to a change or a read when its consequences have
// been handed out, however late the owner learns that the store has the change.
func TestChangeHandsOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		core := &term{versions: resource.NewVersions("versions")}
		s := &failing{apply: func([]store.Op) error {
			core.Post(nil, func() { time.Sleep(time.Second) })
			return nil
		}}
		core.Ledger = ledger.New(ledger.Options{Store: s, Start: time.Now(), Versions: core.versions})
		var handed atomic.Int64
		wanted, taken := int64(0), int64(0) // the owner's
		step := func(uint64) ledger.Step {
			x := ledger.Step{
				Saves: core.versions.Changes(),
				Now:   func(context.Context, *errgroup.Group) error { return nil },
			}
			if taken != wanted {
				taken = wanted
				x.Saves = append(x.Saves, store.Op{Key: "a", Value: []byte("1 x")})
				x.Then = func() { handed.Store(taken) }
			}
			x.More = len(x.Saves) > 0
			return x
		}
		ctx, end := context.WithCancel(t.Context())
		core.ended.Go(func() { _ = core.Run(ctx, core, step) })
		for want := int64(1); want <= 3; want++ {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					err := core.Change(t.Context(), func() error { wanted = want; return nil })
					if got := handed.Load(); err != nil || got != want {
						t.Errorf("%v: %d is handed out, want %d", err, got, want)
					}
				})
			}
			both.Wait()
		}
		end()
		core.ended.Wait()
	})
}
