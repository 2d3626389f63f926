package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-sdn/weft/store"
)

// Lease implements [store.Shared]. etcd counts whole seconds, and grants one and a half times the
// time of an election or more.
func (s *Store) Lease(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	asked, cancel := s.bound(ctx)
	defer cancel()
	sent := time.Now()
	var r *clientv3.LeaseGrantResponse
	err := propose(asked, func() (err error) {
		r, err = s.client.Grant(asked, int64(math.Ceil(ttl.Seconds())))
		return err
	})
	if err != nil {
		return nil, unavailable(asked, err)
	}
	// The lease outlives the request that began it.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &lease{
		store: s, id: r.ID, ttl: time.Duration(r.TTL) * time.Second, stop: stop,
		until: sent.Add(time.Duration(r.TTL) * time.Second), done: make(chan struct{}),
		ended: make(chan struct{}),
	}
	go l.renew(ctx)
	return l, nil
}

// lease is a [store.Lease].
type lease struct {
	store *Store
	id    clientv3.LeaseID
	ttl   time.Duration
	stop  context.CancelFunc
	done  chan struct{} // closed when the lease is lost or closed
	ended chan struct{} // closed when nothing renews it any more

	// mu guards the fields below it.
	mu    sync.Mutex
	until time.Time
}

// renew keeps the lease until it is lost or ctx ends.
func (l *lease) renew(ctx context.Context) {
	defer close(l.ended)
	defer close(l.done)
	pause := l.ttl / 3
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		// The answer counts from when the request was sent: the lease may not have been renewed later.
		sent := time.Now()
		asked, cancel := context.WithDeadline(ctx, l.Until())
		r, err := l.store.client.KeepAliveOnce(asked, l.id)
		cancel()
		switch {
		case err == nil:
			l.mu.Lock()
			l.until = sent.Add(time.Duration(r.TTL) * time.Second)
			l.mu.Unlock()
			pause = l.ttl / 3
		case errors.Is(err, rpctypes.ErrLeaseNotFound), !time.Now().Before(l.Until()):
			return
		default:
			pause = l.ttl / 20
		}
	}
}

// Put implements [store.Lease].
func (l *lease) Put(ctx context.Context, key string, value []byte, expect int64) (int64, error) {
	// Without its record a controller does not count as present, and the record also reports a disk
	// that fills.
	revision, err := l.store.write(store.WithReserve(ctx), key, expect,
		clientv3.OpPut(l.store.prefix+key, string(value), clientv3.WithLease(l.id)))
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return 0, fmt.Errorf("the lease is over: %w", err)
	}
	return revision, err
}

// Until implements [store.Lease].
func (l *lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Done implements [store.Lease].
func (l *lease) Done() <-chan struct{} { return l.done }

// Close implements [store.Lease].
func (l *lease) Close(ctx context.Context) error {
	l.stop()
	<-l.ended
	ctx, cancel := l.store.bound(ctx)
	defer cancel()
	err := propose(ctx, func() error {
		_, err := l.store.client.Revoke(ctx, l.id)
		return err
	})
	if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return unavailable(ctx, err)
}
