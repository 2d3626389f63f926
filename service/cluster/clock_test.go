package cluster_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// wallClock is how far the wall clock of a controller is off.
type wallClock struct{ off atomic.Int64 }

// jump sets the clock.
func (w *wallClock) jump(d time.Duration) { w.off.Store(int64(d)) }

// skewed is the store of a controller with a wrong wall clock: the times that the controller writes
// into records are off.
type skewed struct {
	*storetest.Client
	clock *wallClock
}

// Lease implements [store.Shared].
func (s skewed) Lease(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	l, err := s.Client.Lease(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return skewedLease{l, s.clock}, nil
}

// Guarded implements [store.Shared].
func (s skewed) Guarded(key string, revision int64) store.Store {
	return skewedStore{s.Client.Guarded(key, revision), s.clock}
}

type skewedLease struct {
	store.Lease
	clock *wallClock
}

func (l skewedLease) Put(ctx context.Context, key string, value []byte, expect int64) (int64,
	error) {
	return l.Lease.Put(ctx, key, l.clock.written(value), expect)
}

type skewedStore struct {
	store.Store
	clock *wallClock
}

func (s skewedStore) Apply(ctx context.Context, ops []store.Op) error {
	for i := range ops {
		ops[i].Value = s.clock.written(ops[i].Value)
	}
	return s.Store.Apply(ctx, ops)
}

// written returns a record with the times of the clock.
func (w *wallClock) written(value []byte) []byte {
	var fields map[string]any
	if w.off.Load() == 0 || json.Unmarshal(value, &fields) != nil {
		return value
	}
	for _, name := range []string{"started", "joined", "since"} {
		text, _ := fields[name].(string)
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			fields[name] = t.Add(time.Duration(w.off.Load()))
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return value
	}
	return out
}

var _ store.Shared = skewed{}

// TestForgottenChanges: a controller that has not seen a change before the store forgot it lists
// again, also when that change was a deletion.
func TestForgottenChanges(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, 3, 1)
		defer w.stop()
		w.run(time.Second)
		var blind, goes *replica
		for _, c := range w.controllers {
			switch {
			case c == w.decider():
			case blind == nil:
				blind = c
			default:
				goes = c
			}
		}
		blind.client.HoldWatches(true)
		goes.stop()
		w.run(ttl)
		if v, _ := blind.node.View(); len(v.Members) != 3 {
			t.Fatalf("it sees %d controllers without a watch", len(v.Members))
		}
		w.server.Compact()
		blind.client.HoldWatches(false)
		w.run(ttl)
		if v, _ := blind.node.View(); len(v.Members) != 2 {
			t.Errorf("it sees %d controllers, want 2", len(v.Members))
		}
		goes.start()
		w.run(ttl)
		w.whole()
	})
}
