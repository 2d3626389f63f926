package p4rt

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

// StreamChannel implements p4.v1.P4Runtime. The first arbitration update says
// which device the stream is for.
//
// This goroutine sends; another one receives, and ends with the stream.
func (s *Server) StreamChannel(stream p4v1.P4Runtime_StreamChannelServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	out := newOutbox(s.cfg.StreamQueue)
	s.track(out)
	defer s.untrack(out)

	c := &channel{server: s, out: out, ctx: context.WithoutCancel(stream.Context())}
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
			// What was queued before the end is still sent, such as the
			// StreamError of a last message.
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
	out    *outbox
	ctx    context.Context // never ends: the session must be closed whatever happens

	mu      sync.Mutex
	closed  bool     // guarded by mu
	dev     *served  // guarded by mu; set by the first arbitration update
	session *Session // guarded by mu; used on the device's goroutine
}

func (c *channel) receive(ctx context.Context, stream p4v1.P4Runtime_StreamChannelServer) error {
	for {
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
		// A primary is told so when the requests of the one before are done.
		return dev.exclusive(ctx, func(now time.Duration) error { return session.Receive(now, m) })
	}
	var result error
	if err := dev.do(ctx, func(now time.Duration) { result = session.Receive(now, m) }); err != nil {
		return err
	}
	return result
}

// target finds the device and the session of a message. Before arbitration
// there are none, and any other message is answered by a StreamError.
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
		c.dev, c.session = dev, dev.sessions.Open(c.out.put)
		return c.dev, c.session, nil
	}
	if m.GetUpdate() == nil {
		return nil, nil, invalid("the stream message is empty; want a MasterArbitrationUpdate first")
	}
	e := &p4v1.StreamError{CanonicalCode: int32(codes.PermissionDenied), Message: "the stream has no controller session; send a MasterArbitrationUpdate first"}
	switch u := m.GetUpdate().(type) {
	case *p4v1.StreamMessageRequest_Packet:
		e.Details = &p4v1.StreamError_PacketOut{PacketOut: &p4v1.PacketOutError{PacketOut: u.Packet}}
	case *p4v1.StreamMessageRequest_DigestAck:
		e.Details = &p4v1.StreamError_DigestListAck{DigestListAck: &p4v1.DigestListAckError{DigestListAck: u.DigestAck}}
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
	dev, session := c.dev, c.session
	c.mu.Unlock()
	if dev != nil {
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

// outbox is the queue of one stream: put never blocks. Arbitration messages
// always fit, they are few; others are dropped, and counted, when limit of them
// wait.
type outbox struct {
	ready chan struct{} // has a token while messages may wait
	limit int

	mu      sync.Mutex
	queue   []*p4v1.StreamMessageResponse // guarded by mu
	bulk    int                           // guarded by mu; of queue, those that may be dropped
	dropped uint64                        // guarded by mu
}

func newOutbox(limit int) *outbox {
	return &outbox{ready: make(chan struct{}, 1), limit: limit}
}

func mayDrop(m *p4v1.StreamMessageResponse) bool {
	return m.GetArbitration() == nil
}

func (o *outbox) put(m *p4v1.StreamMessageResponse) {
	o.mu.Lock()
	if mayDrop(m) {
		if o.bulk >= o.limit {
			o.dropped++
			o.mu.Unlock()
			return
		}
		o.bulk++
	}
	o.queue = append(o.queue, m)
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
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
	}
	return m
}

func (o *outbox) drops() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}
