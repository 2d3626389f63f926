package p4rt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

// StreamChannel implements p4.v1.P4Runtime. The first arbitration update says
// which device the stream is for.
//
// This goroutine sends; another one receives, and ends with the stream.
func (s *Server) StreamChannel(stream p4v1.P4Runtime_StreamChannelServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	client := clientlimit.ClientOf(stream.Context())
	out := newOutbox(s.cfg.StreamQueue)
	s.track(out)
	defer s.untrack(out)

	c := &channel{server: s, client: client, out: out, updates: rate.NewLimiter(updateRate,
		updateBurst), ctx: context.WithoutCancel(stream.Context())}
	received := make(chan error, 1)
	go func() { received <- c.receive(ctx, stream) }()
	defer c.close() // before cancel: a request under way still finds the session

	send := func() error {
		for {
			m := out.take()
			if m == nil {
				return nil
			}
			if err := stream.Send(m); err != nil {
				return err
			}
		}
	}
	for {
		select {
		case <-out.ready:
			if err := send(); err != nil {
				return err
			}
		case err := <-received:
			// Messages queued before the end are still sent, such as the StreamError of a last message.
			if e := send(); e != nil && err == nil {
				err = e
			}
			return err
		case <-s.done:
			return errorf(codes.Unavailable, "the server is shutting down")
		}
	}
}

// channel is the receiving side of one stream.
type channel struct {
	server *Server
	client *clientlimit.Client
	out    *outbox
	// updates is the rate of arbitration updates that are taken: each of them stops all other requests
	// that change state.
	updates *rate.Limiter
	ctx     context.Context // never ends: the session must be closed whatever happens

	mu      sync.Mutex
	closed  bool     // guarded by mu
	dev     *served  // guarded by mu; set by the first arbitration update
	session *Session // guarded by mu; used on the device's goroutine
	leave   func()   // guarded by mu; gives the place of the stream back
}

func (c *channel) receive(ctx context.Context, stream p4v1.P4Runtime_StreamChannelServer) error {
	for {
		// Flow control stops a client that does not read the answers to its arbitration updates.
		if err := c.out.wait(ctx); err != nil {
			return err
		}
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.handle(ctx, m); err != nil {
			return err
		}
	}
}

func (c *channel) handle(ctx context.Context, m *p4v1.StreamMessageRequest) error {
	dev, session, err := c.target(m)
	if err != nil || dev == nil {
		return err
	}
	if m.GetArbitration() != nil {
		if err := c.updates.Wait(ctx); err != nil {
			return execError(err)
		}
		// A client learns about its primacy after the end of all requests from the previous primary.
		if err := dev.exclusive(ctx,
			func(now time.Duration) error { return session.Receive(now, m) }); err != nil {
			return err
		}
		c.client.Trust()
		return nil
	}
	var result error
	if err := dev.do(ctx, func(now time.Duration) { result = session.Receive(now, m) }); err != nil {
		return err
	}
	return result
}

// target finds the device and the session of a message. Before arbitration neither exists, and any
// other message is answered by a StreamError.
func (c *channel) target(m *p4v1.StreamMessageRequest) (*served, *Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	if c.dev != nil {
		return c.dev, c.session, nil
	}
	if a := m.GetArbitration(); a != nil {
		dev, err := c.server.device(a.GetDeviceId())
		if err != nil {
			return nil, nil, err
		}
		leave, ok := c.client.Stream(fmt.Sprint("device ", a.GetDeviceId()))
		if !ok {
			return nil, nil, errorf(codes.ResourceExhausted,
				"the connection has %d stream channels of device %d; there is no room for more",
				clientlimit.MaxStreams, a.GetDeviceId())
		}
		c.leave = leave
		c.dev, c.session = dev, dev.sessions.open(c.client, c.out.put)
		return c.dev, c.session, nil
	}
	if m.GetUpdate() == nil {
		return nil, nil, invalid("the stream message is empty; want a MasterArbitrationUpdate first")
	}
	e := &p4v1.StreamError{CanonicalCode: int32(codes.PermissionDenied),
		Message: "the stream has no controller session; send a MasterArbitrationUpdate first"}
	switch u := m.GetUpdate().(type) {
	case *p4v1.StreamMessageRequest_Packet:
		e.Details = &p4v1.StreamError_PacketOut{PacketOut: &p4v1.PacketOutError{PacketOut: u.Packet}}
	case *p4v1.StreamMessageRequest_DigestAck:
		e.Details = &p4v1.StreamError_DigestListAck{
			DigestListAck: &p4v1.DigestListAckError{DigestListAck: u.DigestAck}}
	case *p4v1.StreamMessageRequest_Other:
		e.Details = &p4v1.StreamError_Other{Other: &p4v1.StreamOtherError{Other: u.Other}}
	}
	c.out.put(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Error{Error: e}})
	return nil, nil, nil
}

// close ends the session on the device's goroutine. It does not depend on the
// stream's context, which may have ended: the others must learn that a
// primary is gone.
func (c *channel) close() {
	c.mu.Lock()
	c.closed = true
	dev, session, leave := c.dev, c.session, c.leave
	c.mu.Unlock()
	if dev != nil {
		defer leave()
		_ = dev.exec.Do(c.ctx, func(time.Duration) { session.Close() })
	}
}

func (s *Server) track(o *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[o] = struct{}{}
}

func (s *Server) untrack(o *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, o)
	s.dropped += o.drops()
}

// How many arbitration updates of one stream are taken, a second and at once.
const (
	updateRate  = 100
	updateBurst = 200
)

// Limits of the messages in an outbox.
const (
	maxNotices    = 16       // arbitration messages
	maxQueueBytes = 16 << 20 // octets of other messages
)

// outbox is the queue of one stream: put never blocks. When maxNotices arbitration messages wait, a
// new arbitration message replaces the last one, since only the current primary matters. put drops
// and counts any other message when limit of them or maxQueueBytes wait.
type outbox struct {
	ready chan struct{} // has a token while messages may wait
	drain chan struct{} // has a token when messages were taken
	limit int

	mu      sync.Mutex
	queue   []*p4v1.StreamMessageResponse // guarded by mu
	bulk    int                           // guarded by mu; of queue, those that may be dropped
	octets  int                           // guarded by mu; of those
	dropped uint64                        // guarded by mu
}

func newOutbox(limit int) *outbox {
	return &outbox{ready: make(chan struct{}, 1), drain: make(chan struct{}, 1), limit: limit}
}

func mayDrop(m *p4v1.StreamMessageResponse) bool {
	return m.GetArbitration() == nil
}

func (o *outbox) put(m *p4v1.StreamMessageResponse) {
	o.add(m)
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

func (o *outbox) add(m *p4v1.StreamMessageResponse) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if mayDrop(m) {
		n := proto.Size(m)
		if o.bulk >= o.limit || o.octets+n > maxQueueBytes {
			o.dropped++
			return
		}
		o.bulk++
		o.octets += n
	} else if len(o.queue)-o.bulk >= maxNotices {
		for i, last := range slices.Backward(o.queue) {
			if !mayDrop(last) {
				o.queue[i] = m
				return
			}
		}
	}
	o.queue = append(o.queue, m)
}

// wait returns when an arbitration message has room.
func (o *outbox) wait(ctx context.Context) error {
	for {
		o.mu.Lock()
		full := len(o.queue)-o.bulk >= maxNotices
		o.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-o.drain:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// take returns the next message, nil when there is none.
func (o *outbox) take() *p4v1.StreamMessageResponse {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue = nil
		return nil
	}
	m := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	if mayDrop(m) {
		o.bulk--
		o.octets -= proto.Size(m)
	}
	select {
	case o.drain <- struct{}{}:
	default:
	}
	return m
}

func (o *outbox) drops() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}
