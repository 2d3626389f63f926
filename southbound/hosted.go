package southbound

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Bound returns a context that ends when this controller must stop to write, or an error when that
// is over.
type Bound func(context.Context) (context.Context, context.CancelFunc, error)

// Hosted is the session of an owned switch for the decider (another controller, or this
// controller): a [Relay] serves the session.
type Hosted struct {
	session *Session
	gate    *Gate
	bound   Bound

	// mu guards the fields below it.
	mu       sync.Mutex
	reason   error       // why the session is not ready, as the switch said last
	attached *attachment // the decider's stream; nil: there is none
}

// attachment is the stream of a decider.
type attachment struct {
	out chan *p4v1.StreamMessageResponse
	ctx context.Context
	end context.CancelCauseFunc
}

// streamQueue is how many messages of a switch may wait for the decider: more hold up the switch.
const streamQueue = 256

// Host opens a session that decides nothing. It serves deciders of term and later ones.
func Host(ctx context.Context, cfg Config, term uint64, bound Bound) (*Hosted, error) {
	h := &Hosted{gate: NewGate(term), bound: bound, reason: errors.New("it has not answered yet")}
	h.mu.Lock() // the handlers wait until the session is there
	defer h.mu.Unlock()
	var err error
	if h.session, err = openWith(ctx, cfg, h.event, h.take); err != nil {
		return nil, err
	}
	return h, nil
}

// Close waits for the writes that are under way, and ends the session. The outcome of every write
// is known then, or its deadline is over.
func (h *Hosted) Close() error {
	h.gate.Shut()
	h.detach(errors.New("another controller is to own it"))
	return h.session.Close()
}

// State is [Session.State].
func (h *Hosted) State() (State, error) { return h.session.State() }

// event takes what happens to the session.
func (h *Hosted) event(_ context.Context, e Event) {
	switch e := e.(type) {
	case Backup:
		h.lose(e.Err())
	case Down:
		h.lose(e.Err)
	}
}

// lose ends the decider's stream: the decider opens a new stream, which waits until the session is
// ready.
func (h *Hosted) lose(reason error) {
	h.mu.Lock()
	h.reason = reason
	h.mu.Unlock()
	h.detach(reason)
}

func (h *Hosted) detach(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached != nil {
		h.attached.end(why)
		h.attached = nil
	}
}

// attach gives the switch's messages to a decider alone.
func (h *Hosted) attach(ctx context.Context) *attachment {
	a := &attachment{out: make(chan *p4v1.StreamMessageResponse, streamQueue)}
	a.ctx, a.end = context.WithCancelCause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached != nil {
		h.attached.end(errors.New("another stream of a controller that decides took its place"))
	}
	h.attached = a
	return a
}

// take passes a message of the switch to the decider. Without a decider, packets are lost, like
// packets lost on the wire, and the switch repeats digests.
func (h *Hosted) take(ctx context.Context, m *p4v1.StreamMessageResponse) {
	h.mu.Lock()
	a := h.attached
	h.mu.Unlock()
	if a == nil {
		return
	}
	select {
	case a.out <- m:
	case <-a.ctx.Done():
	case <-ctx.Done():
	}
}

// readyPatience is how long a decider waits for a session to become ready before it learns why it
// is not.
const readyPatience = 2 * time.Second

// ready waits until the session is ready.
func (h *Hosted) ready(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	if err := h.session.WaitReady(ctx); err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		return nil, unavailable(h.reason)
	}
	c, err := h.session.primary()
	return c, unavailable(err)
}

// unavailable is an error of the session as a gRPC status, from which streamError makes ErrForeign
// again.
func unavailable(err error) error {
	code := codes.Unavailable
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrForeign):
		code = codes.Aborted
	}
	return status.Error(code, err.Error())
}

// change carries out a request that changes the switch. do gets a context that ends when this
// controller must stop, as bound says, and not with the caller: later requests wait for the outcome
// of this request.
func (h *Hosted) change(ctx context.Context, from place, timeout time.Duration, bound Bound,
	do func(context.Context, *conn) error) error {
	leave, err := h.gate.Enter(ctx, from.term, from.connection)
	if err != nil {
		return err
	}
	defer leave()
	c, err := h.session.primary()
	if err != nil {
		return unavailable(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	ctx, cancelBound, err := bound(ctx)
	if err != nil {
		return unavailable(err)
	}
	defer cancelBound()
	if err = do(ctx, c); err != nil {
		_ = c.requestError(ctx, err) // a switch without its pipeline gets it again
	}
	return err
}

// renewed is a [Bound] for a request that may take longer than a lease: its context ends when bound
// gives no more time.
func (h *Hosted) renewed(ctx context.Context) (context.Context, context.CancelFunc, error) {
	ctx, stop := context.WithCancelCause(ctx)
	part, end, err := h.bound(ctx)
	if err != nil {
		stop(err)
		return nil, nil, err
	}
	go func() {
		for err == nil {
			<-part.Done()
			end()
			if ctx.Err() != nil {
				return
			}
			part, end, err = h.bound(ctx)
		}
		stop(err)
	}()
	return ctx, func() { stop(nil) }, nil
}

// admit waits for earlier requests.
func (h *Hosted) admit(ctx context.Context, from place) error {
	leave, err := h.gate.Enter(ctx, from.term, from.connection)
	if err != nil {
		return err
	}
	leave()
	return nil
}

// write carries out a WriteRequest, with the election id of the session.
func (h *Hosted) write(ctx context.Context, from place,
	req *p4v1.WriteRequest) (out *p4v1.WriteResponse, err error) {
	timeout := h.session.cfg.RequestTimeout
	err = h.change(ctx, from, timeout, h.bound, func(ctx context.Context, c *conn) error {
		req.DeviceId, req.Role, req.ElectionId = c.cfg.DeviceID, c.cfg.Role, c.own().proto()
		out, err = c.rpc.Write(ctx, req)
		return err
	})
	return out, err
}

// setPipeline carries out a SetForwardingPipelineConfigRequest, as write does. A switch may take
// longer than the rest of the lease, which is renewed meanwhile. setPipeline waits, because the
// switch would carry out an abandoned request later, and then clear its entities.
func (h *Hosted) setPipeline(ctx context.Context, from place,
	req *p4v1.SetForwardingPipelineConfigRequest) (out *p4v1.SetForwardingPipelineConfigResponse,
	err error) {
	timeout := h.session.cfg.PipelineTimeout
	err = h.change(ctx, from, timeout, h.renewed, func(ctx context.Context, c *conn) error {
		req.DeviceId, req.Role, req.ElectionId = c.cfg.DeviceID, c.cfg.Role, c.own().proto()
		out, err = c.rpc.SetForwardingPipelineConfig(keepWhatFits(ctx), req)
		return err
	})
	return out, err
}

// set carries out a SetRequest over cc, as write does.
func (h *Hosted) set(ctx context.Context, from place, cc grpc.ClientConnInterface,
	req *gpb.SetRequest) (out *gpb.SetResponse, err error) {
	timeout := h.session.cfg.RequestTimeout
	err = h.change(ctx, from, timeout, h.bound, func(ctx context.Context, c *conn) error {
		for _, x := range req.GetExtension() {
			if a := x.GetMasterArbitration(); a != nil {
				id := c.own()
				a.ElectionId = &gnmi_ext.Uint128{High: id.High, Low: id.Low}
			}
		}
		out, err = gpb.NewGNMIClient(cc).Set(ctx, req)
		return err
	})
	return out, err
}

// sender is what serve needs of a gRPC stream.
type sender interface {
	Context() context.Context
	SendMsg(m any) error
	RecvMsg(m any) error
}

// serve is the StreamChannel of a decider. Its election id is its term.
func (h *Hosted) serve(from place, stream sender) error {
	ctx := stream.Context()
	var first p4v1.StreamMessageRequest
	if err := stream.RecvMsg(&first); err != nil {
		return err
	}
	if first.GetArbitration() == nil {
		return status.Error(codes.FailedPrecondition, "the first message is no arbitration update")
	}
	if err := h.admit(ctx, from); err != nil {
		return err
	}
	c, err := h.ready(ctx)
	if err != nil {
		return err
	}
	a := h.attach(ctx)
	defer a.end(nil)
	answer := func(m *p4v1.MasterArbitrationUpdate) error {
		return stream.SendMsg(&p4v1.StreamMessageResponse{
			Update: &p4v1.StreamMessageResponse_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{
				DeviceId: m.GetDeviceId(), Role: m.GetRole(), ElectionId: m.GetElectionId(),
			}}})
	}
	if err := answer(first.GetArbitration()); err != nil {
		return err
	}
	received := make(chan error, 1)
	go func() { received <- h.receive(a.ctx, c, stream) }()
	for {
		select {
		case m := <-a.out:
			if err := stream.SendMsg(m); err != nil {
				return err
			}
		case err := <-received:
			return err
		case <-c.ctx.Done():
			return status.Error(codes.Unavailable, fmt.Sprint(c.cause(c.ctx.Err())))
		case <-a.ctx.Done():
			return unavailable(context.Cause(a.ctx))
		}
	}
}

// receive hands on what the decider sends to the switch, until the stream ends.
func (h *Hosted) receive(ctx context.Context, c *conn, stream sender) error {
	for {
		m := &p4v1.StreamMessageRequest{}
		if err := stream.RecvMsg(m); err != nil {
			return err
		}
		if m.GetArbitration() != nil {
			return status.Error(codes.InvalidArgument, "a second arbitration update: want a new stream")
		}
		_, cancel, err := h.bound(ctx)
		if err != nil {
			return unavailable(err)
		}
		cancel()
		select {
		case c.sendq <- m:
		case <-c.ctx.Done():
			return status.Error(codes.Unavailable, "the switch is not connected")
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}
