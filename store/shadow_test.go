package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// slowStore answers after a while, or not at all, and counts the readings of prefixes.
type slowStore struct {
	*store.Memory
	takes atomic.Int64 // nanoseconds
	down  atomic.Bool

	mu    sync.Mutex
	lists map[string]int // guarded by mu
}

// asked returns how often a prefix was read.
func (s *slowStore) asked(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[prefix]
}

func (s *slowStore) List(ctx context.Context, prefix string) ([]store.Record, int64, error) {
	if s.down.Load() {
		return nil, 0, errors.New("no quorum")
	}
	s.mu.Lock()
	s.lists[prefix]++
	s.mu.Unlock()
	records, revision, err := s.Memory.List(ctx, prefix)
	time.Sleep(time.Duration(s.takes.Load()))
	return records, revision, err
}

// TestShadow: a shadow has the store's content at a named revision, keeps the content while the
// store does not answer, and reads only changed records again.
func TestShadow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &slowStore{Memory: store.NewMemory(), lists: make(map[string]int)}
		s.takes.Store(int64(10 * time.Millisecond))
		put := func(key, value string) int64 {
			t.Helper()
			revision, err := s.Put(t.Context(), key, []byte(value), store.Any)
			if err != nil {
				t.Fatal(err)
			}
			return revision
		}
		put("a/1", "x")
		put("c/1", "x")
		shadow := store.NewShadow(s, "a/", "b/")
		if _, ok := shadow.Of("a/"); ok {
			t.Error("it knows what it has not read")
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { shadow.Run(ctx); close(ended) }()
		has := func(prefix, records string, revision int64, at time.Duration) {
			t.Helper()
			r, ok := shadow.Of(prefix)
			got := ""
			for _, r := range r.Records {
				got += fmt.Sprintf("%s=%s ", r.Key, r.Value)
			}
			if !ok || got != records || r.Revision != revision || r.At.Sub(began) != at {
				t.Errorf("after %v: %s has %q at revision %d as of %v, want %q at %d as of %v",
					time.Since(began), prefix, got, r.Revision, r.At.Sub(began), records, revision, at)
			}
		}
		time.Sleep(100 * time.Millisecond)
		has("a/", "a/1=x ", 2, 0)
		has("b/", "", 2, 0)
		// Nothing changes: the reading is confirmed, as of when the store was asked.
		time.Sleep(time.Second)
		has("a/", "a/1=x ", 2, 1030*time.Millisecond)
		if a, b := s.asked("a/"), s.asked("b/"); a != 1 || b != 1 {
			t.Errorf("a/ was read %d times and b/ %d times, want once", a, b)
		}
		last := put("b/2", "y")
		time.Sleep(time.Second)
		has("b/", "b/2=y ", last, 2040*time.Millisecond)
		s.down.Store(true)
		put("b/2", "z")
		time.Sleep(time.Minute)
		has("b/", "b/2=y ", last, 2040*time.Millisecond)
		s.down.Store(false)
		time.Sleep(2 * time.Second)
		r, _ := shadow.Of("b/")
		if len(r.Records) != 1 || string(r.Records[0].Value) != "z" || time.Since(r.At) > 2*time.Second {
			t.Errorf("after the store is back: %+v, %v ago", r, time.Since(r.At))
		}
		// A store that is slow is asked less often.
		s.takes.Store(int64(2 * time.Second))
		time.Sleep(10 * time.Second)
		put("a/1", "w")
		asked := s.asked("shadow/")
		time.Sleep(5 * time.Minute)
		if n := s.asked("shadow/") - asked; n < 2 || n > 8 {
			t.Errorf("a slow store was asked %d times in 5 minutes", n)
		}
		stop()
		<-ended
	})
}
