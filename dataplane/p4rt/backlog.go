package p4rt

import (
	"context"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

// maxUnread is how many octets of earlier answers a client may leave unread when it asks for
// another.
const maxUnread = 1 << 20

// backlogs holds a server's answers to Reads until the clients take them. Answers take at most
// limit octets: the client that has taken nothing of an answer for the longest time gives way.
type backlogs struct {
	limit int // octets

	mu     sync.Mutex
	all    map[*backlog]struct{} // guarded by mu
	octets int                   // guarded by mu; of all
}

// backlog holds the encoded answer of a Read until the client has read it.
type backlog struct {
	of     *backlogs
	client *clientlimit.Client
	cancel context.CancelCauseFunc // ends the Read

	changed chan struct{} // has a token when there may be something to take
	drained chan struct{} // has a token when the client has taken something

	// All guarded by of.mu.
	queue  []unread
	octets int
	moved  time.Time // when the client took something, or the first waited
	closed bool      // nothing follows
	ended  bool      // cut
}

type unread struct {
	m      *grpc.PreparedMsg
	octets int
}

func (b *backlogs) open(client *clientlimit.Client, cancel context.CancelCauseFunc) *backlog {
	x := &backlog{of: b, client: client, cancel: cancel, changed: make(chan struct{}, 1),
		drained: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[x] = struct{}{}
	return x
}

// forget removes a backlog with all that waits in it.
func (x *backlog) forget() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	delete(x.of.all, x)
	x.of.octets -= x.octets
	x.queue, x.octets = nil, 0
	x.of.wake(x.client)
}

// unreadOf returns the octets that a client has not read.
func (b *backlogs) unreadOf(client *clientlimit.Client) int {
	n := 0
	for x := range b.all {
		if x.client == client {
			n += x.octets
		}
	}
	return n
}

// wake has the Reads of a client look whether it is their turn.
func (b *backlogs) wake(client *clientlimit.Client) {
	for x := range b.all {
		if x.client == client {
			signal(x.drained)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// turn waits until the client has taken most of its other answers.
func (x *backlog) turn(ctx context.Context) error {
	for {
		x.of.mu.Lock()
		n := x.of.unreadOf(x.client)
		x.of.mu.Unlock()
		if n <= maxUnread {
			return nil
		}
		select {
		case <-x.drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (x *backlog) put(m *grpc.PreparedMsg, octets int) {
	b := x.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.ended {
		return
	}
	if x.octets == 0 {
		x.moved = time.Now()
	}
	x.queue = append(x.queue, unread{m, octets})
	x.octets += octets
	b.octets += octets
	signal(x.changed)
	for b.octets > b.limit {
		worst := x
		for o := range b.all {
			if o.octets > 0 && o.moved.Before(worst.moved) {
				worst = o
			}
		}
		b.shed(worst.client)
	}
}

// shed ends all Reads of a client, including Reads that wait for their turn: the client would not
// read their answers either.
func (b *backlogs) shed(client *clientlimit.Client) {
	for x := range b.all {
		if x.client == client {
			x.cut(clientlimit.Backlog, "the answers that clients have not read take more than %d octets, "+
				"and one of this connection waited longest", b.limit)
		}
	}
}

// cut ends a Read and drops what waits.
func (x *backlog) cut(why clientlimit.Reason, format string, args ...any) {
	x.of.octets -= x.octets
	x.queue, x.octets = nil, 0
	if x.ended {
		return
	}
	x.ended = true
	x.client.Refuse(why)
	x.cancel(errorf(codes.ResourceExhausted, format, args...))
}

func (x *backlog) close() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.closed = true
	signal(x.changed)
}

// take returns the next message, nil when there is none; done reports whether nothing follows.
func (x *backlog) take() (m *grpc.PreparedMsg, done bool) {
	b := x.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(x.queue) == 0 {
		x.queue = nil
		return nil, x.closed
	}
	first := x.queue[0]
	x.queue[0] = unread{}
	x.queue = x.queue[1:]
	x.octets -= first.octets
	b.octets -= first.octets
	x.moved = time.Now()
	b.wake(x.client)
	return first.m, false
}

// send sends everything that comes until close, or until the client has read nothing for a while.
func (x *backlog) send(stream p4v1.P4Runtime_ReadServer) error {
	stallTime := x.client.Stall()
	stalled := time.AfterFunc(stallTime, func() {
		x.of.mu.Lock()
		defer x.of.mu.Unlock()
		x.cut(clientlimit.Stalled, "the client has read nothing of the answer for %v", stallTime)
	})
	defer stalled.Stop()
	for {
		m, done := x.take()
		switch {
		case m != nil:
			stalled.Reset(stallTime)
			if err := stream.SendMsg(m); err != nil {
				return err
			}
		case done:
			return nil
		default:
			stalled.Stop()
			select {
			case <-x.changed:
			case <-stream.Context().Done():
				return stream.Context().Err()
			}
		}
	}
}
