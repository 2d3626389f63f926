package hosts

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/connlimit"
)

// stream is one stream of a host, from Hello to its end.
type stream struct {
	server *Server
	entry  *entry
	name   string
	grpc   grpc.BidiStreamingServer[hostpb.HostMessage, hostpb.ControllerMessage]
	ctx    context.Context // ends with the stream
	fail   context.CancelCauseFunc
	plan   *hostapi.SelfProbes // that was sent last
	answer *time.Timer         // fails the stream when an update is not answered
}

// serve runs a stream. serve returns as soon as the stream has failed; its return unblocks the
// goroutines of the stream.
func (s *Server) serve(g grpc.BidiStreamingServer[hostpb.HostMessage,
	hostpb.ControllerMessage]) error {
	ctx, fail := context.WithCancelCause(g.Context())
	defer fail(nil)
	stop := make(chan struct{})
	defer close(stop)
	s.running.Go(func() {
		select {
		case <-s.closed:
			fail(ErrClosed)
		case <-stop:
		}
	})
	st := &stream{server: s, grpc: g, ctx: ctx, fail: fail}
	hello := make(chan *hostapi.Hello, 1)
	timer := time.AfterFunc(s.cfg.HelloTimeout, func() {
		fail(fmt.Errorf("%w: no hello within %v", ErrProtocol, s.cfg.HelloTimeout))
	})
	s.running.Go(func() {
		h, err := st.first()
		if err != nil {
			fail(err)
			return
		}
		timer.Stop()
		hello <- h
	})
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return s.ended(context.Cause(ctx))
	case h := <-hello:
		if err := st.open(h); err != nil {
			if st.entry != nil {
				s.release(st.name, st.entry)
			}
			return s.ended(err)
		}
		defer s.release(st.name, st.entry)
	}
	if p, ok := peer.FromContext(ctx); ok {
		connlimit.At(p.Addr).Trust()
	}
	s.running.Go(func() { fail(st.receive()) })
	s.running.Go(func() { fail(st.send()) })
	<-ctx.Done()
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled {
		err = ErrLost // which of the two comes first is chance
	}
	return s.ended(st.close(err))
}

// ended counts the reason why a stream ended, and returns the error for the client.
func (s *Server) ended(err error) error {
	code := codes.Unknown
	switch field := (*hostapi.FieldError)(nil); {
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, ErrEnded):
		return nil
	case errors.Is(err, ErrReplaced):
		code = codes.Aborted
		s.count.replaced.Add(1)
	case errors.Is(err, ErrClosed):
		code = codes.Unavailable
	case errors.Is(err, ErrSilent):
		code = codes.DeadlineExceeded
		s.count.silent.Add(1)
	case errors.Is(err, ErrProtocol), errors.As(err, &field):
		code = codes.InvalidArgument
		s.count.malformed.Add(1)
	default:
		if st, ok := status.FromError(err); ok {
			return st.Err()
		}
	}
	return status.Error(code, err.Error())
}

func (st *stream) recv() (hostapi.Up, error) {
	m, err := st.grpc.Recv()
	if err != nil {
		return nil, err
	}
	return hostapi.DecodeUp(m)
}

// first reads the first message, and reports whether the host may have a stream.
func (st *stream) first() (*hostapi.Hello, error) {
	m, err := st.recv()
	if err != nil {
		return nil, err
	}
	h, ok := m.(*hostapi.Hello)
	if !ok {
		return nil, fmt.Errorf("%w: message: %T first, want hello", ErrProtocol, m)
	}
	if h.API != hostapi.API {
		st.server.count.denied.Add(1)
		return nil, status.Errorf(codes.FailedPrecondition, "hello.api: %d, want %d", h.API, hostapi.API)
	}
	if err := nameAllowed(st.ctx, h.Name); err != nil {
		st.server.count.denied.Add(1)
		return nil, err
	}
	return h, nil
}

// nameAllowed reports whether the client's certificate is one of a name. Without TLS every name is.
func nameAllowed(ctx context.Context, name string) error {
	p, _ := peer.FromContext(ctx)
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil
	}
	if len(info.State.PeerCertificates) == 0 {
		return status.Error(codes.PermissionDenied, "no certificate, want one with the host's name")
	}
	names, err := certNames(info.State.PeerCertificates[0])
	if err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	if slices.Contains(names, name) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied,
		"hello.name: %q is not a name of the certificate, which has %q", name, names)
}

// certNames returns the hosts whose certificate it is.
func certNames(cert *x509.Certificate) ([]string, error) {
	id, err := certs.IdentityOf(cert)
	switch {
	case err != nil:
		return nil, err
	case id != (certs.Identity{}):
		return []string{id.Name}, nil // the handshake has checked its kind
	case len(cert.DNSNames) > 0:
		return cert.DNSNames, nil
	}
	return []string{cert.Subject.CommonName}, nil
}

// open makes the stream its host's, in place of an older one.
func (st *stream) open(h *hostapi.Hello) error {
	s := st.server
	st.name, st.entry = h.Name, s.acquire(h.Name)
	if st.entry == nil {
		s.count.denied.Add(1)
		return status.Errorf(codes.ResourceExhausted,
			"hello.name: the controller knows %d hosts, as many as it takes", s.cfg.MaxHosts)
	}
	e := st.entry
	e.deliver.Lock()
	defer e.deliver.Unlock()
	e.mu.Lock()
	older := e.stream
	e.mu.Unlock()
	if older != nil {
		older.fail(ErrReplaced)
		st.gone(older, ErrReplaced)
	}
	if err := s.observer.Hello(h.Name, h); err != nil {
		s.count.denied.Add(1)
		return status.Errorf(codes.PermissionDenied, "hello: %v", err)
	}
	if err := st.grpc.Send(hostapi.EncodeDown(&hostapi.Welcome{
		Software: s.cfg.Software, MaxEvents: s.cfg.MaxEvents, MaxCounts: s.cfg.MaxCounts,
		MaxGroups:      s.cfg.MaxGroups,
		MaxPortErrors:  s.cfg.MaxPortErrors,
		MaxMessageRate: s.cfg.MaxMessageRate,
		CountsInterval: s.cfg.CountsInterval,
	})[0]); err != nil {
		s.observer.Gone(h.Name, err)
		return err
	}
	s.count.streams.Add(1)
	st.answer = time.AfterFunc(time.Hour, func() {
		st.fail(fmt.Errorf("%w within %v", ErrSilent, s.cfg.AnswerTimeout))
	})
	st.answer.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stream, e.since, e.err = st, time.Now(), nil
	e.host.Hello(h)
	e.nudge()
	return nil
}

// gone ends a stream for its host, once; the caller holds deliver.
func (st *stream) gone(of *stream, err error) {
	e := st.entry
	e.mu.Lock()
	if e.stream != of {
		e.mu.Unlock()
		return
	}
	e.stream, e.since, e.err = nil, time.Now(), err
	e.host.Gone()
	st.server.count.probesLost.Add(uint64(len(e.probes)))
	e.probes = nil
	e.mu.Unlock()
	st.server.observer.Gone(st.name, err)
}

// close is the end of a stream that was open; it returns err.
func (st *stream) close(err error) error {
	st.answer.Stop()
	st.entry.deliver.Lock()
	defer st.entry.deliver.Unlock()
	st.gone(st, err)
	return err
}

// send sends what the host lacks and the probes that wait, whenever there may be something, until
// the stream ends.
func (st *stream) send() error {
	again := time.AfterFunc(time.Hour, st.entry.nudge)
	defer again.Stop()
	for {
		select {
		case <-st.ctx.Done():
			return nil
		case <-st.entry.wake:
		}
		update, delta, asks, refusals, wake := st.next()
		for i := range refusals {
			st.tell(func(o Observer) { o.Refused(st.name, &refusals[i]) })
		}
		if v, refusals, obeys := st.obeyed(); obeys {
			st.tell(func(o Observer) { o.Applied(st.name, v, refusals) })
		}
		if !wake.IsZero() {
			again.Reset(time.Until(wake))
		}
		messages, err := st.encode(update, delta, asks)
		if err != nil {
			return err
		}
		for i := range messages {
			if fence := st.server.cfg.Fence; fence != nil {
				if err := fence(); err != nil {
					return status.Error(codes.Unavailable, err.Error())
				}
			}
			if err := st.grpc.SendMsg(&messages[i]); err != nil {
				return err
			}
		}
	}
}

// encode returns the messages of an update with its delta (nil: no update) and of requests for
// probes. A full update waits for its turn; any other update is small, and may be a denial.
func (st *stream) encode(u *hostapi.Update, d *delta, asks []hostapi.Down) ([]grpc.PreparedMsg,
	error) {
	var all []*hostpb.ControllerMessage
	switch {
	case u == nil:
	case u.Base == (hostapi.Version{}):
		st.server.count.snapshots.Add(1)
		select {
		case st.server.encoders <- struct{}{}:
			defer func() { <-st.server.encoders }()
		case <-st.ctx.Done():
			return nil, context.Cause(st.ctx)
		}
		all = hostapi.EncodeDown(u)
	default:
		st.server.count.deltas.Add(1)
		encoded, err := d.encoded()
		if err != nil {
			return nil, err
		}
		all = encoded.Update(u.Version, u.Base)
	}
	for _, m := range asks {
		if _, once := m.(*hostapi.Probe); once {
			st.server.count.probes.Add(1)
		}
		all = append(all, hostapi.EncodeDown(m)...)
	}
	prepared := make([]grpc.PreparedMsg, len(all))
	for i, m := range all {
		if err := prepared[i].Encode(st.grpc, m); err != nil {
			return nil, err
		}
	}
	return prepared, nil
}

// next takes the update to send with its delta, the requests for probes, and the refusals by the
// controller.
func (st *stream) next() (u *hostapi.Update, d *delta, asks []hostapi.Down,
	refusals []hostapi.Refused, wake time.Time) {
	e := st.entry
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stream != st {
		e.nudge() // the newer stream's
		return nil, nil, nil, nil, time.Time{}
	}
	if u, wake = e.host.Next(time.Now()); u != nil {
		st.answer.Reset(st.server.cfg.AnswerTimeout)
	}
	for _, p := range e.probes {
		asks = append(asks, p)
	}
	e.probes = nil
	if e.plan != st.plan && e.host.hello.Capabilities.SelfProbes {
		st.plan = e.plan
		asks = append(asks, e.plan)
	}
	return u, e.host.sent.delta, asks, e.host.TakeRefusals(), wake
}

// obeyed is the observer's event for a host that needed no update.
func (st *stream) obeyed() (v hostapi.Version, refusals []hostapi.Refused, obeys bool) {
	e := st.entry
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stream != st || !e.host.TakeObeyed() {
		return hostapi.Version{}, nil, false
	}
	v, _ = e.host.Held()
	return v, e.host.Refusals(), true
}

// tell calls the observer while the stream is its host's.
func (st *stream) tell(call func(Observer)) {
	e := st.entry
	e.deliver.Lock()
	defer e.deliver.Unlock()
	e.mu.Lock()
	current := e.stream == st
	e.mu.Unlock()
	if current {
		call(st.server.observer)
	}
}

// receive hands on what the host reports, no faster than it may, until the stream ends.
func (st *stream) receive() error {
	limit := rate.NewLimiter(rate.Limit(st.server.cfg.MaxMessageRate), st.server.cfg.MaxMessageRate)
	for {
		m, err := st.recv()
		if errors.Is(err, io.EOF) {
			return ErrEnded
		}
		if err != nil {
			return err
		}
		st.server.count.messages.Add(1)
		if !limit.Allow() {
			st.server.count.paced.Add(1)
			if err := limit.Wait(st.ctx); err != nil {
				return err
			}
		}
		if err := st.handle(m); err != nil {
			return err
		}
	}
}

// handle takes one message.
func (st *stream) handle(m hostapi.Up) error {
	c := &st.server.count
	switch m := m.(type) {
	case *hostapi.Applied:
		return st.applied(m)
	case *hostapi.Refused:
		return st.refused(m)
	case *hostapi.EVEvents:
		if n := len(m.Events); n > st.server.cfg.MaxEvents {
			return status.Errorf(codes.ResourceExhausted, "ev_events.events: %d, want at most %d", n,
				st.server.cfg.MaxEvents)
		}
		c.eventsDropped.Add(m.Dropped)
		m.Events = known(st, m.Events, func(e hostapi.EVEvent) (string, hostapi.EV) {
			return e.Profile, e.EV
		})
		c.events.Add(uint64(len(m.Events)))
		if len(m.Events) > 0 || m.Dropped > 0 {
			st.tell(func(o Observer) { o.EVEvents(st.name, m) })
		}
	case *hostapi.EVCounts:
		if n := len(m.Counts); n > st.server.cfg.MaxCounts {
			return status.Errorf(codes.ResourceExhausted, "ev_counts.counts: %d, want at most %d", n,
				st.server.cfg.MaxCounts)
		}
		m.Counts = known(st, m.Counts, func(e hostapi.EVCount) (string, hostapi.EV) {
			return e.Profile, e.EV
		})
		c.counts.Add(uint64(len(m.Counts)))
		if len(m.Counts) > 0 {
			st.tell(func(o Observer) { o.EVCounts(st.name, m) })
		}
	case *hostapi.ProbeResult:
		c.results.Add(1)
		st.tell(func(o Observer) { o.ProbeResult(st.name, m) })
	case *hostapi.PortStatus:
		st.tell(func(o Observer) { o.PortStatus(st.name, m.Up) })
	case *hostapi.QueuePairs:
		if n := len(m.Groups); n > st.server.cfg.MaxGroups {
			return status.Errorf(codes.ResourceExhausted, "queue_pairs.groups: %d, want at most %d", n,
				st.server.cfg.MaxGroups)
		}
		st.tell(func(o Observer) { o.QueuePairs(st.name, m) })
	case *hostapi.PortErrors:
		if n := len(m.Errors); n > st.server.cfg.MaxPortErrors {
			return status.Errorf(codes.ResourceExhausted, "port_errors.errors: %d, want at most %d", n,
				st.server.cfg.MaxPortErrors)
		}
		st.tell(func(o Observer) { o.PortErrors(st.name, m) })
	case *hostapi.SelfProbeCounts:
		if n := len(m.Counts); n > st.server.cfg.MaxCounts {
			return status.Errorf(codes.ResourceExhausted, "self_probe_counts.counts: %d, want at most %d",
				n, st.server.cfg.MaxCounts)
		}
		st.tell(func(o Observer) { o.SelfProbeCounts(st.name, m) })
	default:
		return fmt.Errorf("%w: message: %T after hello", ErrProtocol, m)
	}
	return nil
}

// known is the elements whose EVs the host holds; the others are counted.
func known[T any](st *stream, list []T, of func(T) (string, hostapi.EV)) []T {
	st.entry.mu.Lock()
	defer st.entry.mu.Unlock()
	out := list[:0]
	for _, x := range list {
		if st.entry.host.Knows(of(x)) == nil {
			out = append(out, x)
		} else {
			st.server.count.unknownEVs.Add(1)
		}
	}
	return out
}

func (st *stream) applied(m *hostapi.Applied) error {
	e := st.entry
	e.mu.Lock()
	err := e.host.Applied(m.Version)
	if err == nil {
		st.answer.Stop() // before the next update can be sent
	}
	refusals, current := e.host.Refusals(), e.host.Current()
	e.mu.Unlock()
	if err != nil {
		return err
	}
	st.server.count.applied.Add(1)
	st.tell(func(o Observer) { o.Applied(st.name, m.Version, refusals) })
	if !current {
		e.nudge()
	}
	return nil
}

func (st *stream) refused(m *hostapi.Refused) error {
	e := st.entry
	e.mu.Lock()
	err := e.host.Refused(m, time.Now())
	if err == nil {
		st.answer.Stop()
	}
	e.mu.Unlock()
	if err != nil {
		return err
	}
	st.server.count.refused.Add(1)
	st.tell(func(o Observer) { o.Refused(st.name, m) })
	e.nudge()
	return nil
}
