package gnmi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/internal/retry"
)

// Config defines how a switch is watched.
type Config struct {
	// Switch is its name in samples.
	Switch string
	// Dialect is the name of a dialect; "": the dialect that the switch's Capabilities name.
	Dialect string
	// PortOf returns the port number of an interface; 0: the interface is no port. nil: the switch
	// says which port an interface is.
	PortOf func(iface string) uint32
	// Samples takes the counters of the ports; nil: nobody asks for counters.
	Samples Samples
	// SampleInterval is the time between two samples, positive.
	SampleInterval time.Duration
	// Backoff between attempts to subscribe.
	Backoff retry.Backoff
	// Retry is the pause before a switch that has refused a subscription is asked again, positive.
	Retry time.Duration
	// ProbeInterval is the pause between requests that show whether the switch is alive. Positive.
	ProbeInterval time.Duration
	// AskTimeout bounds a request, and the wait for the first answer to a subscription that is tried
	// alone. Positive.
	AskTimeout time.Duration
}

// State holds the known state of a switch's ports.
type State struct {
	// Interfaces are ordered by name; nil: nothing is known. It must not be changed.
	Interfaces []Interface
	// Report holds the switch's answers.
	Report Report
	// Err reports why the switch sends nothing now. Interfaces is then the last report; nil if the
	// switch has no port state (any more).
	Err error
	// Ignored counts the switch's updates, since the subscription began, that made no sense.
	Ignored uint64
}

// A Dialer makes a connection to a switch. release is called when it is no longer used.
type Dialer func() (cc grpc.ClientConnInterface, release func(), err error)

// A Watcher follows the ports of one switch. Its methods may be called from any goroutine.
type Watcher struct {
	cfg  Config
	emit func(context.Context, State)

	emitting sync.Mutex // held while emit runs

	// mu guards the fields below it.
	mu      sync.Mutex
	told    *State            // what emit was called with last; nil: never
	numbers map[string]uint32 // ports by interface
	client  gpb.GNMIClient    // nil: there is no connection
	asked   asked
}

// asked has the switch's answers so far.
type asked struct {
	dialect  *Dialect
	encoding gpb.Encoding
	report   Report
	// accepted are the subscriptions that the switch took one by one, by stream; nil: all of them are
	// tried together.
	accepted map[string][]*gpb.Subscription
}

// New returns a watcher. After each change, the watcher calls emit with everything known, one call
// at a time.
func New(cfg Config, emit func(context.Context, State)) *Watcher {
	return &Watcher{cfg: cfg, emit: emit}
}

// Run keeps subscriptions to the ports of the switch until ctx ends.
func (w *Watcher) Run(ctx context.Context, dial Dialer) {
	w.cfg.Backoff.Keep(ctx, func(ctx context.Context) (time.Duration, error) {
		cc, release, err := dial()
		if err != nil {
			return 0, err
		}
		defer release()
		served, err := w.serve(ctx, gpb.NewGNMIClient(cc))
		if ctx.Err() == nil && refused(err) {
			w.fail(ctx, err, false)
			w.forget()
			pause(ctx, w.cfg.Retry)
		}
		return served, err
	}, func(err error, _ time.Duration) { w.fail(ctx, err, !refused(err)) })
}

func pause(ctx context.Context, d time.Duration) {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// refused reports whether a switch does not support port states, so that a repeated request is
// useless for a while.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.Unimplemented, codes.InvalidArgument, codes.NotFound, codes.PermissionDenied,
		codes.Unauthenticated:
		return true
	}
	return false
}

// forget has the next attempt ask for everything together.
func (w *Watcher) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked.accepted = nil
}

// fail reports, once for each reason, that there is no subscription. keep leaves what is known.
func (w *Watcher) fail(ctx context.Context, err error, keep bool) {
	w.tell(ctx, func(before *State) *State {
		s := &State{Err: fmt.Errorf("gNMI: %w", err)}
		if before != nil && keep {
			s.Interfaces, s.Ignored = before.Interfaces, before.Ignored
		}
		if before != nil && before.Err != nil && code(before.Err) == code(s.Err) {
			s.Err = before.Err // the same reason
		}
		return s
	})
	if !keep {
		w.mu.Lock()
		w.numbers = nil
		w.mu.Unlock()
	}
}

// code returns the gRPC code of an error; Unknown for what has none.
func code(err error) codes.Code {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Code()
	}
	return codes.Unknown
}

// tell reports the state that next returns, unless the state is nil or equals the last reported
// state. next receives the last reported state, which is nil at first.
func (w *Watcher) tell(ctx context.Context, next func(before *State) *State) {
	w.emitting.Lock()
	defer w.emitting.Unlock()
	w.mu.Lock()
	before := w.told
	s := next(before)
	if s != nil {
		s.Report = w.asked.report
	}
	if s == nil || before != nil && before.equal(s) || ctx.Err() != nil {
		w.mu.Unlock()
		return
	}
	w.told = s
	w.mu.Unlock()
	w.emit(ctx, *s)
}

// equal reports whether two states say the same but for Ignored.
func (s *State) equal(o *State) bool {
	return s.Err == o.Err && (s.Interfaces == nil) == (o.Interfaces == nil) &&
		slices.EqualFunc(s.Interfaces, o.Interfaces, equalInterfaces) &&
		equalReports(&s.Report, &o.Report)
}

// retell reports what is known with the present report.
func (w *Watcher) retell(ctx context.Context) {
	w.tell(ctx, func(before *State) *State {
		if before == nil {
			return nil
		}
		s := *before
		return &s
	})
}

// serve follows the states of ports until that fails, and their counters as long. served is the
// time since all states were known.
func (w *Watcher) serve(ctx context.Context, client gpb.GNMIClient) (served time.Duration,
	err error) {
	if err := w.ask(ctx, client); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	w.client = client
	d := w.asked.dialect
	w.mu.Unlock()
	var beside sync.WaitGroup
	defer func() {
		if dead := context.Cause(ctx); errors.Is(dead, ErrDead) {
			err = dead
		}
		cancel(nil)
		beside.Wait()
		w.mu.Lock()
		w.client = nil
		w.mu.Unlock()
	}()
	for _, name := range counted {
		if w.cfg.Samples != nil && d.stream(name) != nil {
			beside.Go(func() { w.count(ctx, client, d, name) })
		}
	}
	beside.Go(func() { w.probe(ctx, client, cancel) })
	return w.follow(ctx, client, d)
}

// probe ends the subscriptions to a switch that no longer answers anything.
func (w *Watcher) probe(ctx context.Context, client gpb.GNMIClient, end context.CancelCauseFunc) {
	tick := time.NewTicker(w.cfg.ProbeInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		asking, cancel := context.WithTimeout(ctx, w.cfg.AskTimeout)
		_, err := client.Capabilities(asking, &gpb.CapabilityRequest{})
		cancel()
		if ctx.Err() == nil && code(err) == codes.DeadlineExceeded {
			end(fmt.Errorf("%w: no answer within %v", ErrDead, w.cfg.AskTimeout))
			return
		}
	}
}

// ask asks for the switch's capabilities, and chooses the dialect by them.
func (w *Watcher) ask(ctx context.Context, client gpb.GNMIClient) error {
	asking, cancel := context.WithTimeout(ctx, w.cfg.AskTimeout)
	c, err := client.Capabilities(asking, &gpb.CapabilityRequest{})
	cancel()
	switch code(err) {
	case codes.Unavailable, codes.Canceled:
		if err != nil {
			return err
		}
	}
	if err != nil {
		c = nil // a switch need not answer
	}
	d := named(w.cfg.Dialect)
	if d == nil {
		d = detect(c)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.dialect != d {
		w.asked.accepted = nil
	}
	w.asked.dialect, w.asked.encoding = d, d.encoding(c)
	before := w.asked.report.Paths
	r := Report{Dialect: d.Name, Version: clip(c.GetGNMIVersion()),
		Encoding: w.asked.encoding.String()}
	for _, m := range c.GetSupportedModels() {
		if len(r.Models) == maxModels {
			break
		}
		r.Models = append(r.Models, Model{clip(m.GetName()), clip(m.GetOrganization()),
			clip(m.GetVersion())})
	}
	if w.asked.accepted != nil {
		r.Paths = before
	} else {
		for _, s := range d.Streams {
			for _, p := range s.Paths {
				if s.Name == statesStream || w.cfg.Samples != nil {
					r.Paths = append(r.Paths, PathReport{Stream: s.Name, Path: p.Path})
				}
			}
		}
	}
	w.asked.report = r
	return nil
}

// Bounds of the updates that the controller accepts from a switch per second and at once. Each
// stored interface first sends all of its leaves. Flow control slows down a switch that sends more.
const (
	stateRate    rate.Limit = 2000
	stateBurst              = 12 * maxInterfaces
	counterRate  rate.Limit = 100_000
	counterBurst            = 200_000
	// maxMessage is the greatest message of a subscription, in octets.
	maxMessage = 4 << 20
)

// tellEvery is the least time between two reports of changes. A port that was down in between is
// reported down first.
const tellEvery = 5 * time.Millisecond

// follow keeps the subscription to states.
func (w *Watcher) follow(ctx context.Context, client gpb.GNMIClient,
	d *Dialect) (served time.Duration, err error) {
	all := interfaces{tree: d.tree}
	var (
		synced, last time.Time
		pending      bool
	)
	timer := time.NewTimer(0)
	<-timer.C
	defer timer.Stop()
	report := func() {
		list, again := all.report()
		pending, last = again, time.Now()
		w.found(ctx, list, all.ignored)
		if again {
			timer.Reset(tellEvery)
		}
	}
	err = w.subscribe(ctx, client, d, statesStream, pace{rate.NewLimiter(stateRate, stateBurst)},
		timer.C, func(m *gpb.SubscribeResponse) error {
			switch {
			case m == nil: // the timer
				if pending {
					report()
				}
				return nil
			case m.GetSyncResponse():
				if synced.IsZero() {
					synced = time.Now()
					report()
				}
				return nil
			case m.GetUpdate() == nil:
				return nil
			}
			if err := all.take(m.GetUpdate()); err != nil || synced.IsZero() {
				return err
			}
			switch wait := tellEvery - time.Since(last); {
			case pending:
			case wait <= 0:
				report()
			default:
				pending = true
				timer.Reset(wait)
			}
			return nil
		})
	if !synced.IsZero() {
		served = time.Since(synced)
	}
	return served, err
}

// found reports interfaces.
func (w *Watcher) found(ctx context.Context, list []Interface, ignored uint64) {
	numbers := make(map[string]uint32, len(list))
	for i := range list {
		if w.cfg.PortOf != nil {
			list[i].Port = w.cfg.PortOf(list[i].Name)
		}
		numbers[list[i].Name] = list[i].Port
	}
	w.mu.Lock()
	w.numbers = numbers
	w.mu.Unlock()
	w.tell(ctx, func(*State) *State { return &State{Interfaces: list, Ignored: ignored} })
}

func equalReports(a, b *Report) bool {
	return a.Dialect == b.Dialect && a.Version == b.Version && a.Encoding == b.Encoding &&
		slices.Equal(a.Models, b.Models) && slices.Equal(a.Paths, b.Paths)
}

func equalInterfaces(a, b Interface) bool {
	x, y := a, b
	x.Config, y.Config = Settings{}, Settings{}
	return x == y && len(a.Config.Differ(&b.Config)) == 0 && len(b.Config.Differ(&a.Config)) == 0
}

// Set writes settings of an interface. The error reports that nobody knows what the switch has
// done; what it refused is in the first result.
func (w *Watcher) Set(ctx context.Context, by Election, iface string, want *Settings) ([]Refusal,
	error) {
	w.mu.Lock()
	client, d, e := w.client, w.asked.dialect, w.asked.encoding
	w.mu.Unlock()
	if client == nil {
		return nil, ErrNotConnected
	}
	return d.set(ctx, client, e, by, iface, want)
}

// pace holds a switch back that sends more than it may.
type pace struct{ *rate.Limiter }

func (p pace) wait(ctx context.Context, m *gpb.SubscribeResponse) error {
	n := 1 + len(m.GetUpdate().GetUpdate()) + len(m.GetUpdate().GetDelete())
	return p.WaitN(ctx, min(n, p.Burst()))
}

// received is a message of a stream, or its end.
type received struct {
	m   *gpb.SubscribeResponse
	err error
}

// subscribe keeps a stream and calls take with its messages until the stream ends or take fails,
// and with nil when tick does. The stream first tries its subscriptions together, and after a
// refusal one by one.
func (w *Watcher) subscribe(ctx context.Context, client gpb.GNMIClient, d *Dialect, name string,
	p pace, tick <-chan time.Time, take func(*gpb.SubscribeResponse) error) error {
	s := d.stream(name)
	w.mu.Lock()
	list, encoding := w.asked.accepted[name], w.asked.encoding
	w.mu.Unlock()
	alone := list != nil
	if !alone {
		list = s.together(w.cfg.SampleInterval)
	}
	answered := false
	err := w.stream(ctx, client, s.request(list, encoding), p, tick,
		func(m *gpb.SubscribeResponse) error {
			if m != nil && !answered {
				answered = true
				if !alone {
					w.note(name, s, list, nil)
					w.retell(ctx)
				}
			}
			return take(m)
		})
	if answered || ctx.Err() != nil || !refused(err) {
		return err
	}
	list, failed := w.discover(ctx, client, s, encoding)
	if failed != nil {
		return failed
	}
	return w.stream(ctx, client, s.request(list, encoding), p, tick, take)
}

// stream subscribes once.
func (w *Watcher) stream(ctx context.Context, client gpb.GNMIClient, req *gpb.SubscribeRequest,
	p pace, tick <-chan time.Time, take func(*gpb.SubscribeResponse) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	from, err := open(ctx, client, req)
	if err != nil {
		return err
	}
	messages := make(chan received)
	go func() {
		for {
			m, err := from.Recv()
			select {
			case messages <- received{m, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-tick:
			if err := take(nil); err != nil {
				return err
			}
		case r := <-messages:
			if errors.Is(r.err, io.EOF) {
				return ErrEnded
			}
			if r.err != nil {
				return r.err
			}
			if err := p.wait(ctx, r.m); err != nil {
				return err
			}
			if err := take(r.m); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func open(ctx context.Context, client gpb.GNMIClient,
	req *gpb.SubscribeRequest) (gpb.GNMI_SubscribeClient, error) {
	from, err := client.Subscribe(ctx, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return nil, err
	}
	if err := from.Send(req); err != nil && !errors.Is(err, io.EOF) { // io.EOF: Recv has the reason
		return nil, err
	}
	return from, nil
}

// together returns all subscriptions of a stream, each in its first mode.
func (s *stream) together(every time.Duration) (list []*gpb.Subscription) {
	for i := range s.Paths {
		list = append(list, s.Paths[i].subscription(s.Paths[i].Modes[0], every))
	}
	return list
}

func (p *subscriptionPath) subscription(mode string, every time.Duration) *gpb.Subscription {
	sub := &gpb.Subscription{Path: p.parsed,
		Mode: gpb.SubscriptionMode(gpb.SubscriptionMode_value[mode])}
	if sub.Mode == gpb.SubscriptionMode_SAMPLE {
		sub.SampleInterval = uint64(every)
	}
	return sub
}

func (s *stream) request(list []*gpb.Subscription, e gpb.Encoding) *gpb.SubscribeRequest {
	l := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_STREAM, Encoding: e, Subscription: list}
	if s.Target != "" {
		l.Prefix = &gpb.Path{Target: s.Target}
	}
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: l}}
}

// discover tries each subscription alone and returns those that a switch accepts. The error is the
// error of a required path.
func (w *Watcher) discover(ctx context.Context, client gpb.GNMIClient, s *stream,
	e gpb.Encoding) ([]*gpb.Subscription, error) {
	list := []*gpb.Subscription{}
	errs := make(map[string]error)
	var needed error
	for i := range s.Paths {
		p := &s.Paths[i]
		var last error
		for _, mode := range p.Modes {
			sub := p.subscription(mode, w.cfg.SampleInterval)
			if last = w.try(ctx, client, s.request([]*gpb.Subscription{sub}, e)); last == nil {
				list = append(list, sub)
				break
			}
			if !refused(last) && !errors.Is(last, context.DeadlineExceeded) {
				return nil, last
			}
		}
		if last != nil {
			errs[p.Path] = last
			if !p.Optional && needed == nil {
				needed = last
			}
		}
	}
	w.note(s.Name, s, list, errs)
	w.retell(ctx)
	if needed != nil {
		return nil, needed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.accepted == nil {
		w.asked.accepted = make(map[string][]*gpb.Subscription)
	}
	w.asked.accepted[s.Name] = list
	return list, nil
}

// try subscribes and waits for the first answer, which at least says that there are no values
// (sync_response).
func (w *Watcher) try(ctx context.Context, client gpb.GNMIClient, req *gpb.SubscribeRequest) error {
	asking, cancel := context.WithTimeout(ctx, w.cfg.AskTimeout)
	defer cancel()
	from, err := open(asking, client, req)
	if err == nil {
		_, err = from.Recv()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return status.Error(codes.Unimplemented, "the switch ended the subscription")
	case ctx.Err() == nil && status.Code(err) == codes.DeadlineExceeded:
		return fmt.Errorf("no answer within %v: %w", w.cfg.AskTimeout, context.DeadlineExceeded)
	}
	return err
}

// note notes in the report how a switch answers the paths of a stream.
func (w *Watcher) note(name string, s *stream, list []*gpb.Subscription, errs map[string]error) {
	modes := make(map[*gpb.Path]string, len(list))
	for _, sub := range list {
		modes[sub.GetPath()] = sub.GetMode().String()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	paths := slices.Clone(w.asked.report.Paths)
	for i := range paths {
		if paths[i].Stream != name {
			continue
		}
		for j := range s.Paths {
			if p := &s.Paths[j]; p.Path == paths[i].Path {
				paths[i].Mode, paths[i].Error = modes[p.parsed], ""
				if err := errs[p.Path]; err != nil {
					paths[i].Error = clip(err.Error())
				}
			}
		}
	}
	w.asked.report.Paths = paths
}
