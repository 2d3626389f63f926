package p4rt

import (
	"sync"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
)

// backlog is what a Read has put together and its client has not taken yet,
// encoded.
type backlog struct {
	changed sync.Cond

	mu     sync.Mutex
	queue  []*grpc.PreparedMsg // guarded by mu
	closed bool                // guarded by mu; nothing follows
}

func newBacklog() *backlog {
	b := new(backlog)
	b.changed.L = &b.mu
	return b
}

func (b *backlog) put(m *grpc.PreparedMsg) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, m)
	b.changed.Signal()
}

func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Signal()
}

// take waits for what is there, in order; nil after close.
func (b *backlog) take() []*grpc.PreparedMsg {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 && !b.closed {
		b.changed.Wait()
	}
	all := b.queue
	b.queue = nil
	return all
}

// send sends everything that comes until close.
func (b *backlog) send(stream p4v1.P4Runtime_ReadServer) error {
	for {
		all := b.take()
		if all == nil {
			return nil
		}
		for i, m := range all {
			if err := stream.SendMsg(m); err != nil {
				return err
			}
			all[i] = nil
		}
	}
}
