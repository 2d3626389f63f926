package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// maxUpdateBytes bounds a message from the controller: a part, plus a single item that exceeds the
// part limit.
const maxUpdateBytes = 16 << 20

// window bounds the octets sent by the controller but not yet read by the host.
const window = 1 << 20

// errProtocol is a controller that breaks a rule of the stream.
var errProtocol = errors.New("agent: protocol")

// An Agent keeps a host's endpoint at what its controller wants. Its methods are safe for
// concurrent use and never wait.
type Agent struct {
	cfg      Config
	news     chan struct{} // of capacity 1: the outbox has something
	finished chan struct{} // closed by Finish

	endpoint sync.Mutex // held while the endpoint is called; taken before mu
	core     *Core

	mu        sync.Mutex
	out       *Outbox
	status    Status
	end       context.CancelFunc // of Run; nil before
	finishing bool
	last      bool // what the outbox has are the last words
}

// Status is how an Agent is.
type Status struct {
	Connected bool
	Since     time.Time // of the welcome, or of the stream's end
	Err       error     // why there is no stream
	Version   hostapi.Version
	Welcome   hostapi.Welcome  // the last
	Refused   *hostapi.Refused // the last update refused, nil when the last was applied
	// Lost counts events and probe results that were dropped because the stream could not carry
	// them.
	LostEvents, LostResults uint64
}

// New makes an agent; Run runs it.
func New(cfg Config, e Endpoint) (*Agent, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Instance == 0 {
		cfg.Instance = uint64(time.Now().UnixNano())
	}
	core := NewCore(e)
	core.version, core.share = cfg.Version, cfg.Share
	if cfg.State != nil {
		core.state = cfg.State
	}
	return &Agent{cfg: cfg, core: core, news: make(chan struct{}, 1), finished: make(chan struct{}),
		out: NewOutbox(), status: Status{Version: cfg.Version}}, nil
}

// EVEvent reports an EV that became ASSUMED_BAD, or GOOD again.
func (a *Agent) EVEvent(e hostapi.EVEvent) { a.say(func(o *Outbox) { o.EVEvent(e) }) }

// EventsDropped reports EV events that the device lost.
func (a *Agent) EventsDropped(n uint64) { a.say(func(o *Outbox) { o.Dropped(n) }) }

// Count reports the counters of an EV, in addition to those of the endpoint.
func (a *Agent) Count(c hostapi.EVCount) { a.say(func(o *Outbox) { o.Count(c) }) }

// QueuePairs reports the queue pairs of applications, in place of the last report, for an endpoint
// that does not report queue pairs itself.
func (a *Agent) QueuePairs(q hostapi.QueuePairs) { a.say(func(o *Outbox) { o.QueuePairs(q) }) }

// Held returns the version that the host holds, and its state. It waits for an update that is being
// applied.
func (a *Agent) Held() (hostapi.Version, *hostapi.State) {
	a.endpoint.Lock()
	defer a.endpoint.Unlock()
	return a.core.Held()
}

// PortStatus reports the host's ports that are up.
func (a *Agent) PortStatus(up hostapi.PortMask) { a.say(func(o *Outbox) { o.Ports(up) }) }

// PortErrors reports the counters of errors of the host's ports that are not 0, in place of the
// last report.
func (a *Agent) PortErrors(e hostapi.PortErrors) { a.say(func(o *Outbox) { o.PortErrors(e) }) }

// SelfProbeCounts reports what became of probes of the host to itself.
func (a *Agent) SelfProbeCounts(c *hostapi.SelfProbeCounts) {
	a.say(func(o *Outbox) { o.SelfProbeCounts(c) })
}

func (a *Agent) say(what func(*Outbox)) {
	a.mu.Lock()
	what(a.out)
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// Status is how the agent is now.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.status
	s.LostEvents, s.LostResults = a.out.lost.events, a.out.lost.results
	return s
}

// Finish ends the agent: Run returns after sending all waiting messages and the current counters to
// the controller, or at once without a stream. The caller of Run must bound this time, and keep the
// endpoint usable meanwhile.
func (a *Agent) Finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.finishing {
		return
	}
	a.finishing = true
	close(a.finished)
	if a.end != nil && !a.out.open {
		a.end()
	}
}

// Run keeps the host connected until ctx ends, or Finish. It returns nil.
func (a *Agent) Run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	a.mu.Lock()
	a.end = end
	if a.finishing {
		end()
	}
	a.mu.Unlock()
	a.cfg.Backoff.Keep(ctx, func(ctx context.Context) (time.Duration, error) {
		served, err := a.serve(ctx)
		a.mu.Lock()
		a.out.Close()
		a.status.Connected, a.status.Since, a.status.Err = false, time.Now(), err
		if a.finishing {
			end()
		}
		a.mu.Unlock()
		return served, err
	}, func(err error, pause time.Duration) {
		a.cfg.Log.Warn("no stream from the controller", "controller", a.cfg.Controller, "error", err,
			"again", pause)
	})
	return nil
}

// serve is one stream, from dialing to its end. served is how long it was after the welcome.
func (a *Agent) serve(ctx context.Context) (served time.Duration, err error) {
	cc, release, err := a.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	cctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	welcome := time.AfterFunc(a.cfg.WelcomeTimeout, func() {
		fail(fmt.Errorf("%w: no welcome within %v", errProtocol, a.cfg.WelcomeTimeout))
	})
	defer welcome.Stop()

	g, gctx := errgroup.WithContext(cctx)
	stream, err := hostpb.NewHostsClient(cc).Subscribe(gctx)
	if err == nil {
		err = stream.Send(hostapi.EncodeUp(a.core.Hello(a.cfg.Name, a.cfg.Software, a.cfg.Instance)))
	}
	if err != nil && !errors.Is(err, io.EOF) { // io.EOF: Recv has the reason
		return 0, because(cctx, err)
	}
	w, err := first(stream)
	if err != nil {
		return 0, because(cctx, err)
	}
	welcome.Stop()
	start := time.Now()
	a.say(func(o *Outbox) {
		o.Open(w)
		a.status.Connected, a.status.Since, a.status.Err, a.status.Welcome = true, start, nil, *w
	})
	a.cfg.Log.Info("stream from the controller", "controller", a.cfg.Controller, "software",
		w.Software)
	g.Go(func() error { return a.receive(stream) })
	g.Go(func() error { return a.send(gctx, stream) })
	g.Go(func() error { return a.report(gctx, w.CountsInterval) })
	err = g.Wait()
	return time.Since(start), because(cctx, err)
}

// connect returns the connection for a stream. release ends it, unless it is shared.
func (a *Agent) connect(ctx context.Context) (cc grpc.ClientConnInterface, release func(),
	err error) {
	if a.cfg.Connect != nil {
		cc, err = a.cfg.Connect(ctx)
		return cc, func() {}, err
	}
	creds, err := a.cfg.credentials()
	if err != nil {
		return nil, nil, err
	}
	own, err := grpc.NewClient("passthrough:///"+a.cfg.Controller, append([]grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig,
			MinConnectTimeout: a.cfg.WelcomeTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: a.cfg.PingInterval,
			Timeout: a.cfg.PingTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxUpdateBytes)),
		// Windows of a fixed size: for others gRPC sends a ping with every message, to measure.
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
	}, a.cfg.DialOptions...)...)
	if err != nil {
		return nil, nil, err
	}
	return own, func() { _ = own.Close() }, nil
}

// because prefers the reason that a context was cancelled for.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// report reports counters from time to time, and when the host ends. An interval of 0 is never.
func (a *Agent) report(ctx context.Context, every time.Duration) error {
	var due <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		due = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-due:
			a.count()
		case <-a.finished:
			if every > 0 {
				a.count()
			}
			a.endpoint.Lock() // an update that is being applied is answered
			a.say(func(*Outbox) { a.last = true })
			a.endpoint.Unlock()
			return nil
		}
	}
}

func first(stream grpc.BidiStreamingClient[hostpb.HostMessage, hostpb.ControllerMessage]) (
	*hostapi.Welcome, error) {
	m, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	w, ok := m.GetMessage().(*hostpb.ControllerMessage_Welcome)
	if !ok {
		return nil, fmt.Errorf("%w: message: %T first, want welcome", errProtocol, m.GetMessage())
	}
	return hostapi.DecodeWelcome(w.Welcome)
}

// send sends the messages of the outbox. After the last message send closes its end, and the
// controller closes the stream after reading all messages.
func (a *Agent) send(ctx context.Context, stream grpc.BidiStreamingClient[hostpb.HostMessage,
	hostpb.ControllerMessage]) error {
	leftOut := 0
	for {
		a.mu.Lock()
		m, last := a.out.Next(), a.last
		a.mu.Unlock()
		if m == nil && last {
			return stream.CloseSend()
		}
		if m == nil {
			select {
			case <-ctx.Done():
				return nil
			case <-a.news:
			}
			continue
		}
		if e, ok := m.(*hostapi.PortErrors); ok {
			if e.LeftOut > 0 && leftOut == 0 {
				a.cfg.Log.Warn("the controller takes fewer counters of errors than the ports have",
					"sent", len(e.Errors), "leftOut", e.LeftOut)
			}
			leftOut = e.LeftOut
		}
		if err := stream.Send(hostapi.EncodeUp(m)); err != nil {
			if errors.Is(err, io.EOF) {
				return nil // receive has the reason
			}
			return err
		}
	}
}

// receive takes what arrives.
func (a *Agent) receive(stream grpc.BidiStreamingClient[hostpb.HostMessage,
	hostpb.ControllerMessage]) error {
	var parts hostapi.Assembler
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the controller closed the stream")
		case err != nil:
			return err
		}
		a.endpoint.Lock()
		err = a.handle(m, &parts)
		a.endpoint.Unlock()
		if err != nil {
			return err
		}
	}
}

// count has the endpoint's counters reported.
func (a *Agent) count() {
	a.endpoint.Lock()
	defer a.endpoint.Unlock()
	var list []hostapi.EVCount
	a.core.endpoint.Counts(func(c hostapi.EVCount) bool {
		list = append(list, c)
		return true
	})
	var groups []hostapi.QueuePairGroup
	occupied, ok := a.core.endpoint.(Occupied)
	if ok {
		groups = occupied.QueuePairs()
	}
	a.say(func(o *Outbox) {
		for _, c := range list {
			o.Count(c)
		}
		if ok {
			o.QueuePairs(hostapi.QueuePairs{Groups: groups})
		}
	})
}

func (a *Agent) handle(m *hostpb.ControllerMessage, parts *hostapi.Assembler) error {
	switch m := m.GetMessage().(type) {
	case *hostpb.ControllerMessage_Update:
		u, lost, err := parts.Add(m.Update)
		if lost {
			return fmt.Errorf("%w: update.part: %d of version %v, which does not follow", errProtocol,
				m.Update.GetPart(), m.Update.GetVersion())
		}
		if u != nil {
			a.update(u, err)
		}
	case *hostpb.ControllerMessage_ProbeRequest:
		p, err := hostapi.DecodeProbe(m.ProbeRequest)
		if err != nil {
			a.say(func(o *Outbox) { o.Result(hostapi.ProbeResult{ID: p.ID, Err: err.Error()}) })
			return nil
		}
		done := func(r hostapi.ProbeResult) { a.say(func(o *Outbox) { o.Result(r) }) }
		if r := a.core.Probe(p, done); r != nil {
			done(*r)
		}
	case *hostpb.ControllerMessage_SelfProbes:
		p, err := hostapi.DecodeSelfProbes(m.SelfProbes)
		if err != nil {
			return fmt.Errorf("%w: self_probes: %w", errProtocol, err)
		}
		if e, ok := a.core.endpoint.(SelfProber); ok {
			e.SelfProbe(p)
		}
	default:
		return fmt.Errorf("%w: message: %T after welcome, want update, probe_request or self_probes",
			errProtocol, m)
	}
	return nil
}

// update applies an update, or refuses it for what was wrong with its encoding.
func (a *Agent) update(u *hostapi.Update, wrong error) {
	var answer hostapi.Up
	if wrong != nil {
		answer = hostapi.AsRefusal(u.Version, wrong)
	} else {
		answer = a.core.Update(u)
	}
	version, state := a.core.Held()
	refused, _ := answer.(*hostapi.Refused)
	if refused == nil && a.cfg.Keep != nil {
		if err := a.cfg.Keep(version, state); err != nil {
			a.cfg.Log.Error("what the controller wants is applied, but will not survive the end of the host",
				"version", version, "reason", err)
		}
	}
	if refused != nil {
		a.cfg.Log.Error("an update of the controller is refused", "version", u.Version, "code",
			refused.Code, "field", refused.Field, "reason", refused.Reason)
	}
	a.say(func(o *Outbox) {
		o.Answer(answer, state, u.Base == hostapi.Version{})
		a.status.Version, a.status.Refused = version, refused
	})
}
