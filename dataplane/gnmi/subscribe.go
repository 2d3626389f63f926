package gnmi

import (
	"errors"
	"io"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Subscribe implements gnmi.gNMI.
func (s *Server) Subscribe(stream gpb.GNMI_SubscribeServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	list := req.GetSubscribe()
	if list == nil {
		return status.Error(codes.InvalidArgument, "the first message has no subscribe; want a SubscriptionList")
	}
	if err := checkEncoding(list.GetEncoding()); err != nil {
		return err
	}
	subscriptions, err := subscriptionsOf(list)
	if err != nil {
		return err
	}
	c := &client{server: s, stream: stream, list: list, subscriptions: subscriptions}
	switch list.GetMode() {
	case gpb.SubscriptionList_ONCE:
		return c.tellAll()
	case gpb.SubscriptionList_POLL:
		return c.poll()
	case gpb.SubscriptionList_STREAM:
		return c.follow()
	}
	return status.Errorf(codes.InvalidArgument, "mode %v; want ONCE, POLL or STREAM", list.GetMode())
}

// client is the other end of a Subscribe.
type client struct {
	server        *Server
	stream        gpb.GNMI_SubscribeServer
	list          *gpb.SubscriptionList
	subscriptions []*subscription
}

// messages receives what the client says after the first message, until that
// fails; the channel takes one of each.
func (c *client) messages() (polls <-chan *gpb.SubscribeRequest, failed <-chan error) {
	out, end := make(chan *gpb.SubscribeRequest), make(chan error, 1)
	go func() {
		for {
			m, err := c.stream.Recv()
			if err != nil {
				end <- err
				return
			}
			select {
			case out <- m:
			case <-c.stream.Context().Done(): // that of the call, which has ended
				return
			}
		}
	}()
	return out, end
}

// tellAll sends all there is, once.
func (c *client) tellAll() error {
	ports, err := c.server.ports(c.stream.Context())
	if err != nil {
		return err
	}
	r := newReport(time.Now(), c.list.GetPrefix(), c.list.GetEncoding())
	if !c.list.GetUpdatesOnly() {
		for _, s := range c.subscriptions {
			s.each(ports, r.add)
		}
	}
	return c.send(r, true)
}

func (c *client) poll() error {
	polls, failed := c.messages()
	for {
		select {
		case m := <-polls:
			if m.GetPoll() == nil {
				return status.Error(codes.InvalidArgument, "a message without poll; want none but polls after the first one of mode POLL")
			}
			if err := c.tellAll(); err != nil {
				return err
			}
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-c.server.done:
			return errClosed
		}
	}
}

// follow sends all there is, and then what the subscriptions say.
func (c *client) follow() error {
	unasked, failed := c.messages()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for first := true; ; first = false {
		changed := c.server.change() // before the ports are read
		if err := c.tell(first); err != nil {
			return err
		}
		var due <-chan time.Time
		if at, ok := c.next(); ok {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-changed:
		case <-due:
		case <-unasked:
			return status.Error(codes.InvalidArgument, "a second message; want none in mode STREAM")
		case err := <-failed:
			if !errors.Is(err, io.EOF) {
				return err
			}
			failed = nil // it has nothing more to say, and listens
		case <-c.stream.Context().Done():
			return status.FromContextError(c.stream.Context().Err()).Err()
		case <-c.server.done:
			return errClosed
		}
	}
}

// tell sends what is due now.
func (c *client) tell(first bool) error {
	ports, err := c.server.ports(c.stream.Context())
	if err != nil {
		return err
	}
	now := time.Now()
	r := newReport(now, c.list.GetPrefix(), c.list.GetEncoding())
	for _, s := range c.subscriptions {
		s.take(now, ports, func(p *Port, leaf int, v any) {
			if !first || !c.list.GetUpdatesOnly() {
				r.add(p, leaf, v)
			}
		})
	}
	return c.send(r, first)
}

// next is when the first of the subscriptions is due.
func (c *client) next() (at time.Time, ok bool) {
	for _, s := range c.subscriptions {
		if t, due := s.next(); due && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}

// send sends a report, and behind it that the client has all now.
func (c *client) send(r *report, sync bool) error {
	for _, n := range r.all {
		if err := c.stream.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}}); err != nil {
			return err
		}
	}
	if !sync {
		return nil
	}
	return c.stream.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
}
