package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weft-sdn/weft/store"
)

// holder holds the sessions of the switches that a controller owns, for one lease.
type holder struct {
	l     *life
	again chan struct{} // of capacity 1: look again
	work  sync.WaitGroup

	// mu guards the fields below it.
	mu      sync.Mutex
	held    map[string]*holding
	writing map[string]bool // switches whose record this controller writes
}

// holding is the session of one switch.
type holding struct {
	generation uint32
	end        func()
	ending     bool
	held       *bool // what the session says of Owner.Held; nil: nothing
}

// hold follows the records until ctx ends, and returns when no session is left.
func (l *life) hold(ctx context.Context) {
	h := &holder{l: l, again: make(chan struct{}, 1), held: make(map[string]*holding),
		writing: make(map[string]bool)}
	defer h.work.Wait()
	defer h.endAll()
	for {
		v, changed := l.n.View()
		retry := h.look(ctx, v)
		var again <-chan time.Time
		if retry {
			again = time.After(l.n.cfg.TTL / 10)
		}
		select {
		case <-changed:
		case <-h.again:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// look begins and ends sessions as the records say. It reports whether something failed.
func (h *holder) look(ctx context.Context, v View) (retry bool) {
	if v.Instance == 0 {
		return false
	}
	self := Member{Name: h.l.n.cfg.Self.Name, Instance: v.Instance}
	present := alive(v.Members)
	h.mu.Lock()
	defer h.mu.Unlock()
	for sw, x := range h.held {
		if o, ok := v.Owners[sw]; !ok || !o.is(self) || o.Generation != x.generation {
			h.end(sw, x)
		}
	}
	for sw, o := range v.Owners {
		switch x := h.held[sw]; {
		case ctx.Err() != nil:
		case x != nil:
			if o.is(self) && o.Generation == x.generation && x.held != nil && o.Held != *x.held &&
				!h.writing[sw] {
				o.Held = *x.held
				h.write(ctx, sw, o)
			}
		case o.is(self) && (o.From == 0 || !present[o.From]):
			// The lease of the owner before is over in the store, and was over at that owner before
			// by its margin; or it has ended its session.
			x := &holding{generation: o.Generation}
			var err error
			x.end, err = h.l.n.cfg.Hold(ctx, sw, o, h.l.tenure, func(held bool) {
				h.mu.Lock()
				x.held = &held
				h.mu.Unlock()
				h.wake()
			})
			if err != nil {
				h.l.n.cfg.Log.Error("a switch cannot be held", "switch", sw, "reason", err)
				retry = true
				continue
			}
			h.held[sw] = x
		case h.writing[sw]:
		case !o.is(self) && o.From == self.Instance:
			// The next owner may begin: this controller has no session of the switch any more.
			o.From = 0
			h.write(ctx, sw, o)
		}
	}
	return retry
}

// end ends a session, without waiting for that. h.mu is held.
func (h *holder) end(sw string, x *holding) {
	if x.ending {
		return
	}
	x.ending = true
	h.work.Go(func() {
		x.end()
		h.mu.Lock()
		delete(h.held, sw)
		h.mu.Unlock()
		h.wake()
	})
}

func (h *holder) endAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for sw, x := range h.held {
		h.end(sw, x)
	}
}

// write stores a switch's record unless somebody has changed the record meanwhile, and does not
// wait. h.mu is held.
func (h *holder) write(ctx context.Context, sw string, o Owner) {
	h.writing[sw] = true
	h.work.Go(func() {
		defer h.wake()
		defer func() {
			h.mu.Lock()
			delete(h.writing, sw)
			h.mu.Unlock()
		}()
		value, err := o.encode()
		if err == nil {
			_, err = h.l.n.cfg.Store.Put(ctx, ownerPrefix+sw, value, o.Revision)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			h.l.n.cfg.Log.Warn("the record of a switch could not be stored", "switch", sw, "reason", err)
		}
		h.pause(ctx) // the watch has delivered the present record, or will
	})
}

// pause lets the watch see what was written.
func (h *holder) pause(ctx context.Context) {
	select {
	case <-time.After(h.l.n.cfg.TTL / 10):
	case <-ctx.Done():
	}
}

func (h *holder) wake() {
	select {
	case h.again <- struct{}{}:
	default:
	}
}
