package gnmi

import (
	"errors"
	"io"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

// Subscribe implements gnmi.gNMI. A client loses its subscriptions if it reads nothing for a while
// although data waits for it.
func (s *Server) Subscribe(stream gpb.GNMI_SubscribeServer) error {
	who := clientlimit.ClientOf(stream.Context())
	leave, ok := who.Stream("gnmi.gNMI")
	if !ok {
		return status.Errorf(codes.ResourceExhausted,
			"the connection has %d Subscribe calls, as many as it may", clientlimit.MaxStreams)
	}
	defer leave()
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	list := req.GetSubscribe()
	if list == nil {
		return status.Error(codes.InvalidArgument,
			"the first message has no subscribe; want a SubscriptionList")
	}
	if err := checkEncoding(list.GetEncoding()); err != nil {
		return err
	}
	subscriptions, err := subscriptionsOf(list)
	if err != nil {
		return err
	}
	c := &client{server: s, stream: stream, list: list, subscriptions: subscriptions,
		stall: who.Stall()}
	var serve func() error
	switch list.GetMode() {
	case gpb.SubscriptionList_ONCE:
		serve = c.tellAll
	case gpb.SubscriptionList_POLL:
		serve = c.poll
	case gpb.SubscriptionList_STREAM:
		serve = c.follow
	default:
		return status.Errorf(codes.InvalidArgument, "mode %v; want ONCE, POLL or STREAM", list.GetMode())
	}
	stalled := make(chan struct{})
	c.timer = time.AfterFunc(c.stall, func() { close(stalled) })
	c.timer.Stop()
	served := make(chan error, 1)
	go func() { served <- serve() }() // it ends with the stream, which may wait for its client
	select {
	case err := <-served:
		return err
	case <-stalled:
		who.Refuse(clientlimit.Stalled)
		return status.Errorf(codes.ResourceExhausted, "the client has read nothing for %v", c.stall)
	}
}

// client is the other end of a Subscribe.
type client struct {
	server        *Server
	stream        gpb.GNMI_SubscribeServer
	list          *gpb.SubscriptionList
	subscriptions []*subscription
	stall         time.Duration // how long a message may wait
	timer         *time.Timer   // of the message that waits
}

// messages receives what the client reports after the first message, until that
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

// parts are what the subscriptions need to be read of the switch.
func (c *client) parts() (all Parts) {
	for _, s := range c.subscriptions {
		all |= s.parts()
	}
	return all
}

// tellAll sends all there is, once.
func (c *client) tellAll() error {
	v, err := c.server.view(c.stream.Context(), c.parts())
	if err != nil {
		return err
	}
	if err := c.walk(v, func(t int, r *row, add func(r *row, leaf int, v any)) {
		for _, s := range c.subscriptions {
			for i := range s.all {
				if s.all[i].table != t || !s.all[i].has(r) {
					continue
				}
				for _, l := range s.all[i].leaves {
					if v := leaves[l].value(r); v != nil && !c.list.GetUpdatesOnly() {
						add(r, l, v)
					}
				}
			}
		}
	}); err != nil {
		return err
	}
	return c.sync()
}

// walk calls take with the rows of all tables selected by a subscription, and sends the added
// values. It finishes the rows of one port before the next port, so a slow client holds up one
// port's data only.
func (c *client) walk(v *view, take func(t int, r *row, add func(r *row, leaf int, v any))) error {
	report := newReport(v.at, c.list.GetPrefix(), c.list.GetEncoding())
	var failed error
	for t := range tables {
		if !slices.ContainsFunc(c.subscriptions, func(s *subscription) bool { return s.selects(t) }) {
			continue
		}
		group := uint64(0)
		tables[t].each(v, func(r *row) {
			if failed != nil {
				return
			}
			if r.group != group {
				failed = c.send(report)
				group = r.group
			}
			take(t, r, report.add)
		})
		if failed == nil {
			failed = c.send(report)
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

func (c *client) poll() error {
	polls, failed := c.messages()
	for {
		select {
		case m := <-polls:
			if m.GetPoll() == nil {
				return status.Error(codes.InvalidArgument,
					"a message without poll; want none but polls after the first one of mode POLL")
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

// follow sends all values, and then the updates of the subscriptions.
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
	v, err := c.server.view(c.stream.Context(), c.parts())
	if err != nil {
		return err
	}
	if first {
		if n := c.cells(v); n > maxCells {
			return status.Errorf(codes.ResourceExhausted,
				"the subscriptions select %d values; want %d at most", n, maxCells)
		}
	}
	for _, s := range c.subscriptions {
		s.look(v.at)
	}
	silent := first && c.list.GetUpdatesOnly()
	if err := c.walk(v, func(t int, r *row, add func(r *row, leaf int, v any)) {
		for _, s := range c.subscriptions {
			s.take(t, r, func(r *row, l int, v any) {
				if !silent {
					add(r, l, v)
				}
			})
		}
	}); err != nil {
		return err
	}
	if first {
		return c.sync()
	}
	return nil
}

// cells returns how many values the subscriptions select. It does not change while the switch runs.
func (c *client) cells(v *view) (n int) {
	for _, s := range c.subscriptions {
		s.each(v, func(*row, int, any) { n++ })
	}
	return n
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

// send sends a report and empties it.
func (c *client) send(r *report) error {
	if r.out == nil {
		return nil
	}
	n := r.out
	r.clear()
	return c.put(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}})
}

// sync reports that the client has all now.
func (c *client) sync() error {
	return c.put(&gpb.SubscribeResponse{
		Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

func (c *client) put(m *gpb.SubscribeResponse) error {
	c.timer.Reset(c.stall)
	defer c.timer.Stop()
	return c.stream.Send(m)
}
