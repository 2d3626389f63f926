package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/owner"
	"github.com/weft-sdn/weft/store"
)

var (
	// ErrStopped: the owner has ended, and the call did nothing.
	ErrStopped = errors.New("controller: stopped")
	// ErrStore: the store takes no writes now, or does not say what it has. The call changed nothing.
	ErrStore = errors.New("the store takes no changes")
	// ErrUnknown: the call made a change, and whether the store keeps it is not known.
	ErrUnknown = errors.New("whether the change is kept is not known")
	// ErrDeposed: another controller may decide by now, so that nothing can be said for sure.
	ErrDeposed = errors.New("this controller may not decide any more")
)

// Options are what a Ledger is made with.
type Options struct {
	Store store.Store
	// Start is when the clock of the core began.
	Start time.Time
	// Versions are those of the resources of the core.
	Versions *resource.Versions
	// Current, when not nil, returns why this process may not speak for the store any more. It is
	// asked when an answer is ready.
	Current func() error
	// Events, when not nil, gets events, one at a time and in order. It must not wait for anything.
	Events func(api.Event)
}

// Ledger is the way to a core. Its methods may be called from any goroutine, but for those that say
// otherwise.
type Ledger struct {
	o      Options
	loop   *owner.Loop
	writer *store.Writer
	held   []held // events that wait for the store; the owner's
}

// held is an event that rests on all writes up to a number.
type held struct {
	n     uint64
	event api.Event
}

// New returns a ledger. Run of the loop and of the writer must be called.
func New(o Options) *Ledger {
	l := &Ledger{o: o, loop: owner.New(o.Start)}
	// The call itself does nothing: flush follows.
	l.writer = store.NewWriter(o.Store, func() { l.loop.Post(nil, func() {}) })
	return l
}

// Own makes the calling goroutine the owner of a core, as [owner.Loop.Run].
func (l *Ledger) Own(ctx context.Context, core owner.Core, flush func(context.Context) error) error {
	return l.loop.Run(ctx, core, flush)
}

// Write writes what is kept until the owner has ended. The error is [store.ErrFenced].
func (l *Ledger) Write(ctx context.Context) error { return l.writer.Run(ctx, l.loop.Ended()) }

// Ended is closed when the owner has ended, Failed when a write has failed.
func (l *Ledger) Ended() <-chan struct{}  { return l.loop.Ended() }
func (l *Ledger) Failed() <-chan struct{} { return l.writer.Failed() }

// Err returns why a write has failed, or nil.
func (l *Ledger) Err() error { return l.writer.Err() }

// Do has something done by the owner, and returns when what follows from it has been handed out,
// whether or not it is kept. f must not make changes for clients, nor give them answers.
func (l *Ledger) Do(ctx context.Context, f func()) error {
	err := l.loop.Do(ctx, f)
	if errors.Is(err, owner.ErrEnded) {
		return ErrStopped
	}
	return err
}

// Post has something done by the owner unless stop is closed before, and does not wait for it.
func (l *Ledger) Post(stop <-chan struct{}, f func()) { l.loop.Post(stop, f) }

// Read has the owner give an answer, and returns when it may be released: the store has everything that
// it can rest on, and after that this process still speaks for the store.
func (l *Ledger) Read(ctx context.Context, f func()) error {
	if err := l.Do(ctx, f); err != nil {
		return err
	}
	return l.release(ctx, l.writer.Added())
}

// release waits until an answer that rests on writes up to a number may be given.
func (l *Ledger) release(ctx context.Context, n uint64) error {
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

// Change has the owner make a change for a client, and waits until the store has it. An error of f is
// a refusal, which rests on what the core knows as an answer does. After ErrUnknown the change may have
// been kept, or be kept yet; after any other error nothing was changed.
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
			if full = !l.o.Versions.Room(); !full {
				refused = f()
				done = refused == nil
			}
		})
		switch n := l.writer.Added(); {
		case err != nil && done:
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		case err != nil:
			return err
		case full: // until the store has the next versions that may be given
			if err := l.writer.Wait(ctx, n); err != nil {
				return unkept(ctx, err)
			}
		case refused != nil:
			if err := l.release(ctx, n); err != nil {
				return err
			}
			return refused
		case n == before: // it asked for what there is
			return l.release(ctx, n)
		default:
			// What a call changes is kept by the Add after it. Others may have added more by now: a
			// write that has failed may have had this change in it, and not theirs.
			// The store took the write for this process: no question remains who decides.
			err := l.writer.Wait(ctx, before+1)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, store.ErrUnwritten), errors.Is(err, store.ErrNoRoom) && !errors.Is(err, store.ErrUnavailable):
				return fmt.Errorf("%w: %w", ErrStore, err) // nothing of it was written
			case errors.Is(err, store.ErrFenced) && !errors.Is(err, store.ErrUnavailable):
				return fmt.Errorf("%w: %w", ErrDeposed, err)
			}
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
}

// Keep has writes made, and returns the number under which they are kept. For the owner alone.
func (l *Ledger) Keep(ops []store.Op) uint64 {
	n := l.writer.Added()
	if len(ops) > 0 {
		n = l.writer.Add(ops)
	}
	l.o.Versions.Hold(n)
	return n
}

// Kept returns up to which number writes are kept. For the owner alone.
func (l *Ledger) Kept() uint64 {
	n := l.writer.Kept()
	l.o.Versions.Kept(n)
	return n
}

// Added returns the number of the last writes.
func (l *Ledger) Added() uint64 { return l.writer.Added() }

// Publish hands out events once everything is kept that they may rest on. After a failure events about
// what clients want are left out: nobody knows whether it is kept. For the owner alone.
func (l *Ledger) Publish(events ...api.Event) {
	if l.o.Events == nil {
		return
	}
	added, kept, failed := l.writer.Added(), l.writer.Kept(), l.writer.Err() != nil
	for _, e := range events {
		l.held = append(l.held, held{added, e})
	}
	for len(l.held) > 0 {
		h := l.held[0]
		switch {
		case h.n <= kept, failed && !h.event.Type.OfIntent():
			l.o.Events(h.event)
		case !failed:
			return
		}
		l.held = l.held[1:]
	}
}

// Tell hands out an event that rests on no write, before those that wait.
func (l *Ledger) Tell(e api.Event) {
	if l.o.Events != nil {
		l.o.Events(e)
	}
}

// Unknown returns the error of a change that gave a resource a version, for a client: it says how to
// find out whether a change of an unknown outcome was kept.
func Unknown(err error, version uint64) error {
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	how := "GET the resource: it is gone if the deletion was kept"
	if version != 0 {
		how = fmt.Sprintf("GET the resource and compare its version: %d is that of this change, and of no other", version)
	}
	return &api.Error{Code: api.CodeUnknown, Message: fmt.Sprintf("the change may have been kept, or not: %v. %s", err, how), Version: version}
}
