package causes

import (
	"context"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
)

const (
	// lookAfter is how long a watcher waits after a change before it looks: one change makes several.
	lookAfter = 100 * time.Millisecond
	// lookEvery is how long it waits without a change.
	lookEvery = 5 * time.Second
	// lookShare bounds the time that looking takes, as a part of all time.
	lookShare = 10
	// fresh is how old an answer may be that the watcher gives without looking again.
	fresh = 250 * time.Millisecond
)

// Watcher knows the causes of now, and says when one begins or ends. Its methods may be called from
// any goroutine.
type Watcher struct {
	look func(context.Context) (*Known, error)
	now  func() time.Time

	// one is held by who looks.
	one chan struct{}
	// mu guards the fields below it.
	mu     sync.Mutex
	tell   func(api.Event) // nil before Run
	causes []api.Cause
	at     time.Time // when they were known; zero: not yet

	past past
}

// NewWatcher returns a watcher of the causes that look returns.
func NewWatcher(
	look func(context.Context) (*Known, error), now func() time.Time,
) *Watcher {
	return &Watcher{look: look, now: now, one: make(chan struct{}, 1)}
}

// Run looks again and again until ctx ends: soon after each changed, and now and then without. A
// look that fails changes nothing: what was known goes on. tell gets an event when a cause begins
// or ends, or becomes worse or better; it must not wait for anything. found gets all causes after
// each look.
func (w *Watcher) Run(
	ctx context.Context, changed <-chan struct{}, tell func(api.Event),
	found func(context.Context, []api.Cause),
) {
	w.mu.Lock()
	w.tell = tell
	w.mu.Unlock()
	for {
		began := w.now()
		all, err := w.Causes(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			found(ctx, all)
		}
		pause := time.NewTimer(max(lookAfter, lookShare*w.now().Sub(began)))
		idle := time.NewTimer(lookEvery)
		select {
		case <-changed:
			idle.Stop()
			select {
			case <-pause.C:
			case <-ctx.Done():
				return
			}
		case <-idle.C:
			pause.Stop()
		case <-ctx.Done():
			return
		}
	}
}

// Causes returns the present causes: from a look less than fresh ago, else from a new look. Callers
// must not change the result. Errors come from the look and from ctx.
func (w *Watcher) Causes(ctx context.Context) ([]api.Cause, error) {
	select {
	case w.one <- struct{}{}:
		defer func() { <-w.one }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	before, seen := w.Last()
	if !seen.IsZero() && w.now().Sub(seen) < fresh {
		return before, nil
	}
	at := w.now()
	k, err := w.look(ctx)
	if err != nil {
		return nil, err
	}
	found := Steady(before, Find(k))
	attribute(before, found, k.Who)
	w.past.take(at, statesOf(k, found))
	w.mu.Lock()
	w.causes, w.at = found, at
	tell := w.tell
	w.mu.Unlock()
	if tell != nil {
		w.compare(before, found, tell)
	}
	return found, nil
}

// Last returns the causes that were found last, and when; the zero time: none were looked for yet.
func (w *Watcher) Last() ([]api.Cause, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.causes, w.at
}

// Past returns how the things that sees accepts were at a time, and their changes between from and
// then, at most 10,000. It knows the last 24 hours, but at most 32 MiB of changes: api.Past.Since.
func (w *Watcher) Past(from, at time.Time, sees func(kind, id string) bool) api.Past {
	return w.past.view(from, at, sees)
}

// compare makes events of causes that begin, end, or have become worse or better.
func (w *Watcher) compare(before, now []api.Cause, tell func(api.Event)) {
	say := func(t api.EventType, c *api.Cause, message string) {
		tell(api.Event{Time: w.now().UTC(), Type: t, Object: c.ID, Message: message,
			Severity: api.EventSeverity(c.Severity), EventFields: api.EventFields{Reason: c.What}})
	}
	was := make(map[string]*api.Cause, len(before))
	for i := range before {
		was[before[i].ID] = &before[i]
	}
	for i := range now {
		c := &now[i]
		old := was[c.ID]
		delete(was, c.ID)
		switch {
		case old == nil:
			say(api.EventCauseBegan, c, c.What+". "+c.Means)
		case old.Severity != c.Severity || old.What != c.What:
			say(api.EventCauseChanged, c, c.What+". "+c.Means)
		}
	}
	for i := range before {
		if c := &before[i]; was[c.ID] != nil {
			say(api.EventCauseEnded, c, "Over: "+c.What)
		}
	}
}
