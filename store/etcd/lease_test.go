package etcd

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-sdn/weft/internal/bubble"
)

// slowRenewal answers renewals of leases a while after they were made.
type slowRenewal struct {
	clientv3.Lease
	ttl   int64 // seconds
	takes time.Duration
	fails int32 // so many at first
	asked atomic.Int32
}

func (s *slowRenewal) KeepAliveOnce(context.Context,
	clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	n := s.asked.Add(1)
	time.Sleep(s.takes)
	if n <= s.fails {
		return nil, rpctypes.ErrNoLeader
	}
	return &clientv3.LeaseKeepAliveResponse{TTL: s.ttl}, nil
}

// renewing is a lease that begins now and is renewed at an etcd, until end is called.
func renewing(t *testing.T, etcd clientv3.Lease, ttl time.Duration) (l *lease, end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l = &lease{
		store: &Store{client: &clientv3.Client{Lease: etcd}}, ttl: ttl, stop: stop,
		until: time.Now().Add(ttl), done: make(chan struct{}), ended: make(chan struct{}),
	}
	go l.renew(ctx)
	return l, func() {
		stop()
		<-l.ended
	}
}

// TestLeaseCountsFromTheRequest: a lease lasts from when its renewal was asked for, since the etcd
// may have renewed it right then, however late the answer is.
func TestLeaseCountsFromTheRequest(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const ttl = 9 * time.Second
		etcd := &slowRenewal{ttl: 9, takes: 2 * time.Second}
		began := time.Now()
		l, end := renewing(t, etcd, ttl)
		// It is renewed at a third of its time, and again at a third after each answer.
		for i, sent := range []time.Duration{3 * time.Second, 8 * time.Second, 13 * time.Second} {
			time.Sleep(time.Until(began.Add(sent + etcd.takes + time.Millisecond)))
			if n := etcd.asked.Load(); int(n) != i+1 {
				t.Fatalf("after %v: %d renewals, want %d", time.Since(began), n, i+1)
			}
			if until := l.Until().Sub(began); until != sent+ttl {
				t.Errorf("renewal %d, asked for after %v: the lease lasts until %v, want %v", i+1, sent, until,
					sent+ttl)
			}
		}
		end()
	})
}

// TestRenewalIsTriedAgain: the holder repeats a failed renewal after a twentieth of the lease's
// time, and makes the next due renewal after a third.
func TestRenewalIsTriedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		etcd := &slowRenewal{ttl: 60, fails: 2}
		began := time.Now()
		_, end := renewing(t, etcd, time.Minute)
		for i, at := range []time.Duration{20, 23, 26, 46} {
			time.Sleep(time.Until(began.Add(at*time.Second - time.Millisecond)))
			if n := etcd.asked.Load(); int(n) != i {
				t.Errorf("before %d s: %d renewals, want %d", at, n, i)
			}
			time.Sleep(2 * time.Millisecond)
			if n := etcd.asked.Load(); int(n) != i+1 {
				t.Errorf("after %d s: %d renewals, want %d", at, n, i+1)
			}
		}
		end()
	})
}
