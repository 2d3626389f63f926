package store

import (
	"context"
	"sync/atomic"
	"time"
)

// A Shadow has what some prefixes of a store had when they were read last, also while the store
// does not answer. It asks the store again and again instead of watching it: an answer of the store
// shows how old the copy may be; a silent watch shows nothing.
type Shadow struct {
	store    Store
	prefixes []string
	last     atomic.Pointer[map[string]Reading]
}

// Reading has the records with a prefix at one revision.
type Reading struct {
	// Records are in the order of their keys. They must not be changed.
	Records []Record
	// Revision is the revision of the store: the records are all of one moment.
	Revision int64
	// At is when the store was asked: the records have every write that was acknowledged before.
	At time.Time
}

// Pauses of a Shadow: at least shadowPause, and shadowShare times the duration of a read, so a
// Shadow uses a small part of a processor.
const (
	shadowPause = time.Second
	shadowShare = 20
)

// NewShadow returns a shadow of the records under some prefixes. The shadow knows nothing until Run
// has read them.
func NewShadow(s Store, prefixes ...string) *Shadow { return &Shadow{store: s, prefixes: prefixes} }

// Run reads the store until ctx ends.
func (s *Shadow) Run(ctx context.Context) {
	for {
		began := time.Now()
		_ = s.read(ctx) // the readings say how old they are
		select {
		case <-time.After(max(shadowPause, shadowShare*time.Since(began))):
		case <-ctx.Done():
			return
		}
	}
}

// read reads what may have changed since the last time. An error leaves the readings as they are.
func (s *Shadow) read(ctx context.Context) error {
	asked := time.Now()
	_, revision, err := s.store.List(ctx, "shadow/") // there are none: for the revision
	if err != nil {
		return err
	}
	next := make(map[string]Reading, len(s.prefixes))
	for _, prefix := range s.prefixes {
		r, ok := s.Of(prefix)
		if !ok || r.Revision != revision {
			if r.Records, r.Revision, err = s.store.List(ctx, prefix); err != nil {
				return err
			}
		}
		r.At = asked
		next[prefix] = r
	}
	s.last.Store(&next)
	return nil
}

// Of returns the last reading of a prefix; ok is false before the first.
func (s *Shadow) Of(prefix string) (r Reading, ok bool) {
	last := s.last.Load()
	if last == nil {
		return Reading{}, false
	}
	r, ok = (*last)[prefix]
	return r, ok
}
