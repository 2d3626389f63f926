package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-sdn/weft/store"
)

const (
	// defaultTimeout is the longest that a request takes.
	defaultTimeout = 5 * time.Second
	// healthPause lies between two questions to an etcd, and healthTimeout is how long it may take
	// to answer one. Together they bound how long a change waits for an etcd without quorum.
	healthPause   = time.Second
	healthTimeout = 2 * time.Second
)

// health regularly asks an etcd whether it can accept a write: a read with a quorum needs the same
// members as a write, and the status lists alarms. An alarm refuses writes.
type health struct {
	stop  context.CancelFunc
	ended chan struct{}

	// mu guards the field below it.
	mu   sync.Mutex
	last error
}

func newHealth(client *clientv3.Client, key string) *health {
	if conn := client.ActiveConnection(); conn != nil {
		// else a client opens another connection for each status
		client.Maintenance = clientv3.NewMaintenanceFromMaintenanceClient(
			clientv3.RetryMaintenanceClient(client, conn), client)
	}
	ctx, stop := context.WithCancel(context.Background())
	h := &health{stop: stop, ended: make(chan struct{})}
	go h.run(ctx, client, key)
	return h
}

func (h *health) run(ctx context.Context, client *clientv3.Client, key string) {
	defer close(h.ended)
	for {
		asked, cancel := context.WithTimeout(ctx, healthTimeout)
		_, err := client.Get(asked, key, clientv3.WithCountOnly())
		var refused error
		if err == nil {
			// A member without a status refuses the request.
			if status, failed := client.Status(asked, ""); failed == nil {
				refused = refusedFor(status.Errors)
			}
		}
		cancel()
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v: fewer than half of its members may be there",
				healthTimeout)
		}
		if err != nil {
			err = fmt.Errorf("%w: etcd: %w", store.ErrUnavailable, err)
		}
		h.mu.Lock()
		h.last = cmp.Or(err, refused)
		h.mu.Unlock()
		select {
		case <-time.After(healthPause):
		case <-ctx.Done():
			return
		}
	}
}

// err returns why the etcd takes no writes, as of a moment ago.
func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// close ends the questions. A nil health asks none.
func (h *health) close() {
	if h == nil {
		return
	}
	h.stop()
	<-h.ended
}
