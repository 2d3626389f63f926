package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/loop"
	"github.com/weft-sdn/weft/store"
)

var (
	// ErrStopped: the owner has ended, and the call did nothing.
	ErrStopped = errors.New("controller: stopped")
	// ErrStore: the store takes no writes now, or does not say what it has. The call changed nothing.
	ErrStore = errors.New("the store takes no changes")
	// ErrUnknown: the call made a change, and nobody knows whether the store keeps the change.
	ErrUnknown = errors.New("whether the change is kept is not known")
	// ErrDeposed: another controller may decide by now, so this controller cannot answer.
	ErrDeposed = errors.New("this controller may not decide any more")
)

// Options are what a Ledger is made with.
type Options struct {
	Store store.Store
	// Start is when the clock of the core began.
	Start time.Time
	// Versions has the versions of the core's resources.
	Versions *resource.Versions
	// Current, when not nil, returns why this process may not speak for the store any more. It is
	// asked when an answer is ready.
	Current func() error
	// Events, when not nil, gets events, one at a time and in order. It must not wait for anything.
	Events func(api.Event)
	// Audit, when not nil, makes the records of the changes that clients make, each kept in one write
	// with its change.
	Audit *audit.Recorder
	// Failed is the type of the event that a write has failed; empty: there is none.
	Failed api.EventType
	// Busy, when not nil, reports whether a change has to wait for what is being kept. It is the
	// owner's.
	Busy func() bool
}

// Core is what a Ledger runs. Its methods are called by one goroutine, the owner.
type Core interface {
	loop.Core
	// Kept takes that the store has all writes up to a number. It is called before Tick and before
	// each step.
	Kept(n uint64)
}

// Step is what a core wants done. The saves of a step are the only way to have something kept.
type Step struct {
	// The ledger keeps saves in one write with the audit records of clients' changes.
	Saves []store.Op
	// Now acts at once on stored records; its goroutines in g end with ctx. An error ends the owner.
	Now func(ctx context.Context, g *errgroup.Group) error
	// Then does what may rest on Saves, when these are kept with all before: never after a write that
	// failed. The ledger hands out Events at the same time. After a failure it still hands out Events
	// that do not concern the wishes of clients.
	Then   func()
	Events []api.Event
	// More is set when the core wants anything. It is asked for another step then.
	More bool
}

// Ledger is the way to a core. Any goroutine may call its methods, unless a method's comment says
// otherwise.
type Ledger struct {
	o      Options
	loop   *loop.Loop
	writer *store.Writer
	// For the owner alone: what waits for the store, and whether the ledger has reported a failed
	// write.
	held    []held
	failing bool
}

// held is what rests on all writes up to a number.
type held struct {
	n      uint64
	then   func()
	events []api.Event
}

// New returns a ledger. Run must be called.
func New(o Options) *Ledger {
	l := &Ledger{o: o, loop: loop.New(o.Start)}
	l.writer = store.NewWriter(o.Store, l.loop.Wake)
	return l
}

// Run runs a core until ctx ends, which is no error, or a step fails, or the store is another
// process's by now ([store.ErrFenced]). step takes what the core wants done, whose saves are kept
// under the number n. Run must be called once.
func (l *Ledger) Run(ctx context.Context, core Core, step func(n uint64) Step) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.writer.Run(ctx, l.loop.Ended()) })
	g.Go(func() error {
		return l.loop.Run(ctx, kept{core, l}, func(ctx context.Context) error {
			return l.flush(ctx, g, core, step)
		})
	})
	return g.Wait()
}

// kept has a core know what is kept before each call.
type kept struct {
	Core
	l *Ledger
}

// Tick implements loop.Core.
func (k kept) Tick(now time.Duration) {
	k.Core.Kept(k.l.kept())
	k.Core.Tick(now)
}

// flush takes steps until there are no more. It does not wait for the store.
func (l *Ledger) flush(
	ctx context.Context, g *errgroup.Group, core Core, step func(n uint64) Step,
) error {
	l.reportFailure()
	for more := true; more; {
		core.Kept(l.kept())
		l.o.Versions.Reserve()
		s := step(l.writer.Added() + 1)
		l.keep(s.Saves)
		if s.More {
			l.held = append(l.held, held{l.writer.Added(), s.Then, s.Events})
		}
		if err := s.Now(ctx, g); err != nil {
			return err
		}
		l.release()
		more = s.More
	}
	return nil
}

// keep makes writes, together with the audit records of clients' changes.
func (l *Ledger) keep(ops []store.Op) {
	if l.o.Audit != nil {
		ops = append(l.o.Audit.Writes(), ops...)
	}
	if len(ops) > 0 {
		l.writer.Add(ops)
	}
	l.o.Versions.Hold(l.writer.Added())
}

// kept returns up to which number writes are kept.
func (l *Ledger) kept() uint64 {
	n := l.writer.Kept()
	l.o.Versions.Kept(n)
	return n
}

// release does everything whose writes the store has. After a failed write nobody knows whether the
// store has the clients' changes: release leaves out events about these changes, and hands out
// others.
func (l *Ledger) release() {
	n, failed := l.writer.Kept(), l.writer.Err() != nil
	for len(l.held) > 0 {
		h := l.held[0]
		whole := h.n <= n
		if !whole && !failed {
			return
		}
		l.held = l.held[1:]
		for _, e := range h.events {
			if whole || !e.Type.OfIntent() {
				l.tell(e)
			}
		}
		if whole && h.then != nil {
			h.then()
		}
	}
}

// reportFailure has an event when a write has failed.
func (l *Ledger) reportFailure() {
	if err := l.writer.Err(); err != nil && !l.failing {
		l.failing = true
		if l.o.Failed != "" {
			l.tell(api.Event{Time: time.Now().UTC(), Type: l.o.Failed,
				Message: "changes are refused, and what is in force goes on: " + err.Error()})
		}
	}
}

func (l *Ledger) tell(e api.Event) {
	if l.o.Events != nil {
		l.o.Events(e)
	}
}

// Ended is closed when the owner has ended, Failed when a write has failed.
func (l *Ledger) Ended() <-chan struct{}  { return l.loop.Ended() }
func (l *Ledger) Failed() <-chan struct{} { return l.writer.Failed() }

// Err returns why a write has failed, or nil.
func (l *Ledger) Err() error { return l.writer.Err() }

// Do has the owner do something, and returns after the owner has handed out the results, kept or
// not. f must not make changes for clients, nor give them answers.
func (l *Ledger) Do(ctx context.Context, f func()) error {
	err := l.loop.Do(ctx, f)
	if errors.Is(err, loop.ErrEnded) {
		return ErrStopped
	}
	return err
}

// Post has something done by the owner unless stop is closed before, and does not wait for it.
func (l *Ledger) Post(stop <-chan struct{}, f func()) { l.loop.Post(stop, f) }

// Wake has a step taken, and never waits.
func (l *Ledger) Wake() { l.loop.Wake() }

// Read has the owner give an answer, and returns when it may be released: the store has everything
// that the answer can rest on, and this process still speaks for the store afterwards.
func (l *Ledger) Read(ctx context.Context, f func()) error {
	if err := l.Do(ctx, f); err != nil {
		return err
	}
	return Unread(l.answer(ctx, l.writer.Added()))
}

// Unread is an error of a call that only reads: it asks for no room on a disk that has none.
func Unread(err error) error {
	if !errors.Is(err, store.ErrNoRoom) {
		return err
	}
	return fmt.Errorf("%w: what it was asked to keep last it has not kept: %s", ErrStore,
		strings.TrimPrefix(err.Error(), ErrStore.Error()+": "))
}

// answer waits until an answer that rests on writes up to a number may be given.
func (l *Ledger) answer(ctx context.Context, n uint64) error {
	if err := l.writer.Wait(ctx, n); err != nil {
		return unkept(ctx, err)
	}
	if l.o.Current == nil {
		return nil
	}
	if err := l.o.Current(); err != nil {
		return fmt.Errorf("%w: %w", ErrDeposed, err)
	}
	return nil
}

// unkept is the error of a call that changed nothing and rests on a write that failed.
func unkept(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrStore, err)
}

// Change has the owner make a client's change, and waits until the store has the change and the
// owner has handed out the results: the client's next request finds it, whoever answers that. An
// error from f is a refusal, and rests on the core's knowledge like an answer. After ErrUnknown the
// change may have been kept, or be kept yet; after any other error nothing was changed.
func (l *Ledger) Change(ctx context.Context, f func() error) error {
	for {
		if err := l.writer.Err(); err != nil {
			return fmt.Errorf("%w: %w", ErrStore, err)
		}
		var done, full bool
		var before uint64
		var refused error
		err := l.Do(ctx, func() {
			before = l.writer.Added()
			if full = !l.o.Versions.Room() || l.o.Busy != nil && l.o.Busy(); full {
				return
			}
			refused = f()
			if done = refused == nil; done && l.o.Audit != nil {
				l.o.Audit.Note(ctx)
			}
		})
		switch n := l.writer.Added(); {
		case err != nil && done:
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		case err != nil:
			return err
		case full: // until the store has the next versions that may be given, and what makes it busy
			if err := l.writer.Wait(ctx, n); err != nil {
				return unkept(ctx, err)
			}
		case refused != nil:
			if err := l.answer(ctx, n); err != nil {
				return err
			}
			return refused
		case n == before: // it asked for what there is
			err := l.answer(ctx, n)
			if err == nil {
				l.handOut(ctx)
			}
			return err
		default:
			// The Add after a call keeps the changes of the call. Others may have added more by now: a
			// failed write may have contained this change, and none of theirs. The store took the write for
			// this process: no question remains who decides.
			err := l.writer.Wait(ctx, before+1)
			switch {
			case err == nil:
				l.handOut(ctx)
				return nil
			case errors.Is(err, store.ErrUnwritten), errors.Is(err, store.ErrNoRoom) &&
				!errors.Is(err, store.ErrUnavailable):
				return fmt.Errorf("%w: %w", ErrStore, err) // nothing of it was written
			case errors.Is(err, store.ErrFenced) && !errors.Is(err, store.ErrUnavailable):
				return fmt.Errorf("%w: %w", ErrDeposed, err)
			}
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
}

// handOut returns after the consequences of stored records have been handed out. If ctx or the
// owner ends before, the core hands out nothing more, and the store keeps the change all the same.
func (l *Ledger) handOut(ctx context.Context) { _ = l.Do(ctx, func() {}) }

// Unknown returns the error of a change that gave a resource a version, for a client: it says how
// to find out whether a change of an unknown outcome was kept.
func Unknown(err error, version uint64) error {
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	how := "GET the resource: it is gone if the deletion was kept"
	if version != 0 {
		how = fmt.Sprintf("GET the resource and compare its version: %d is that of this change, and of "+
			"no other", version)
	}
	return &api.Error{Code: api.CodeUnknown,
		Message: fmt.Sprintf("the change may have been kept, or not: %v. %s", err, how), Version: version}
}
