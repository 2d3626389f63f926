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
	mu        sync.Mutex
	held      map[string]*holding
	releasing map[string]bool // switches whose record says that this controller may hold them
}

// holding is the session of one switch.
type holding struct {
	generation uint32
	end        func()
	ending     bool
}

// hold follows the records until ctx ends, and returns when no session is left.
func (l *life) hold(ctx context.Context) {
	h := &holder{l: l, again: make(chan struct{}, 1), held: make(map[string]*holding),
		releasing: make(map[string]bool)}
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
		switch held := h.held[sw] != nil; {
		case held || ctx.Err() != nil:
		case o.is(self) && (o.From == 0 || !present[o.From]):
			// The lease of the owner before is over in the store, and was over at that owner before
			// by its margin; or it has ended its session.
			end, err := h.l.n.cfg.Hold(ctx, sw, o, h.l.tenure)
			if err != nil {
				h.l.n.cfg.Log.Error("a switch cannot be held", "switch", sw, "reason", err)
				retry = true
				continue
			}
			h.held[sw] = &holding{generation: o.Generation, end: end}
		case !o.is(self) && o.From == self.Instance && !h.releasing[sw]:
			h.releasing[sw] = true
			h.work.Go(func() { h.release(ctx, sw, o) })
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

// release lets the next owner begin: this controller has no session of the switch any more.
func (h *holder) release(ctx context.Context, sw string, o Owner) {
	defer h.wake()
	defer func() {
		h.mu.Lock()
		delete(h.releasing, sw)
		h.mu.Unlock()
	}()
	revision := o.Revision
	o.From = 0
	value, err := o.encode()
	if err == nil {
		_, err = h.l.n.cfg.Store.Put(ctx, ownerPrefix+sw, value, revision)
	}
	if err == nil || errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
		// The watch has the record as it is now, or will have it.
		h.pause(ctx)
		return
	}
	h.l.n.cfg.Log.Warn("a switch could not be handed over", "switch", sw, "reason", err)
	h.pause(ctx)
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
