package mrchost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// Link is an interface: where its frames go and come from, and its Ethernet address.
type Link struct {
	hostrun.Port
	MAC packet.MAC
	MTU int // octets from the IPv6 header on; 0: not known
}

// Options of a run beside its configuration.
type Options struct {
	Progress hostrun.Progress  // nil: nobody is told
	Log      *slog.Logger      // nil: nowhere
	Dial     []grpc.DialOption // of the stream, for tests
	// Device, if not nil, follows the controller in place of the NIC, which only makes the probes of
	// the host to itself.
	Device agent.Endpoint
	// Connected, if not nil, is told the agent of the stream before it runs.
	Connected func(*agent.Agent)
}

// lastWordsTime is for what there is to say to the controller at the end.
const lastWordsTime = 2 * time.Second

// runner owns the NIC.
type runner struct {
	*hostrun.Runner
	cfg     *Config
	nic     *nic.NIC
	links   []Link
	calls   chan func() // of the agent, once the loop runs
	looping bool
	ended   chan struct{}
	carrier carrier
	queues  []*connection
	agent   *agent.Agent // nil without a controller
	door    *door        // nil without applications
}

// connection is a queue pair with the data to write.
type connection struct {
	*mrc.QP
	*hostrun.Queue
	immediates []uint32 // that the peer sent, the first ones
	received   int      // and how many
}

// keptImmediates is how much immediate data of a queue pair the report has.
const keptImmediates = 1024

// Run runs a host until its work is done or ctx ends, closes the links and reports. The report is
// there also when the work failed; errors wrap hostrun.ErrWrite, ErrInterrupted or ErrConfig. While
// the controller is gone, or has not been heard yet, the host goes on trying.
func Run(ctx context.Context, cfg *Config, links []Link, o Options) (*Report, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &runner{Runner: hostrun.New(cfg.Expect, cfg.Linger.D(), o.Progress), cfg: cfg, links: links,
		calls: make(chan func(), waitingCalls), ended: make(chan struct{})}
	r.carrier.news = make(chan func(), 1)
	if err := r.prepare(o.Log); err != nil {
		return nil, errors.Join(err, r.close())
	}
	for i, l := range links {
		on := hostrun.Neighbor{MAC: l.MAC, Address: cfg.Address,
			Gateway: packet.MAC(cfg.Ports[i].Gateway)}
		if own := cfg.Ports[i].MAC; !own.IsZero() {
			on.MAC = packet.MAC(own)
		}
		r.Attach(i+1, l.Port, on, func(up bool) {
			r.carrier.set(i+1, up)
			r.Wake()
		})
	}
	heard, hangUp, err := r.connect(o)
	if err == nil {
		err = r.open(o.Log)
	}
	if err == nil {
		err = r.Run(ctx)
	}
	stream := r.stream()
	r.lastWords(heard)
	close(r.ended)
	hangUp()
	err = errors.Join(err, r.door.close())
	if stream != nil { // the agent notes what the NIC holds when the call to the NIC has returned
		stream.Version = r.stream().Version
	}
	err = errors.Join(err, r.close())
	r.Tell()
	report, saveErr := r.report()
	report.Controller = stream
	return report, errors.Join(err, saveErr)
}

func (r *runner) close() error {
	var errs []error
	for _, l := range r.links {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func (r *runner) prepare(log *slog.Logger) error {
	macs := make([]packet.MAC, len(r.links))
	for i, l := range r.links {
		macs[i] = l.MAC
	}
	cfg := r.cfg.nic(macs)
	cfg.Seed = uint64(r.Start().UnixNano())
	cfg.Host.Output = func(_ time.Duration, port int, frame []byte) { r.Send(port, frame) }
	var err error
	if r.nic, err = nic.New(cfg); err != nil {
		return fmt.Errorf("%w: %w", hostrun.ErrConfig, err)
	}
	r.Endpoint, r.Pump, r.Received, r.Calls, r.News, r.Why, r.Rest = r.nic, r.pump, r.received,
		r.calls, r.carrier.news, r.why, r.rest
	r.carrier.tell = func(port int, up bool) {
		if r.door == nil || !r.door.setPort(port, up) {
			_ = r.nic.SetPort(port, up) // the port is there
		}
	}
	if err := r.Register(r.cfg.Regions); err != nil {
		return err
	}
	by := make(map[uint32]*connection)
	for i := range r.cfg.QueuePairs {
		qp, err := r.cfg.QueuePairs[i].create(r.nic, &r.cfg.Receive, log)
		if err != nil {
			return fmt.Errorf("queuePairs[%d]: %w: %w", i, hostrun.ErrConfig, err)
		}
		q := &connection{QP: qp, Queue: r.Queue(qp)}
		r.queues, by[qp.Config().QPN] = append(r.queues, q), q
	}
	for i, w := range r.cfg.Writes {
		if err := by[w.QPN].Add(i, w.Write, w.Immediate); err != nil {
			return err
		}
	}
	return nil
}

// connect starts the stream from the controller, if there is one. heard is closed when the stream's
// agent has ended, which hangUp makes it do and waits for.
func (r *runner) connect(o Options) (heard <-chan struct{}, hangUp func(), err error) {
	if r.cfg.Controller == nil {
		return nil, func() {}, nil
	}
	cfg := r.cfg.Controller.Agent(r.cfg.Name)
	cfg.Log, cfg.DialOptions = o.Log, o.Dial
	endpoint := agent.Serialized(r.nic, r.do)
	if o.Device != nil {
		endpoint = beside{o.Device, endpoint.(agent.SelfProber)}
	}
	if path := r.cfg.Controller.State; path != "" {
		cfg.Version, cfg.State = restore(path, endpoint, o.Log)
		cfg.Keep = keeper(path)
	}
	a, err := agent.New(cfg, endpoint)
	if err != nil {
		return nil, func() {}, fmt.Errorf("%w: controller: %w", hostrun.ErrConfig, err)
	}
	if r.agent = a; o.Connected != nil {
		o.Connected(a)
	}
	r.nic.Report(a)
	r.looping = true
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Run(ctx) // it has no error
	}()
	return ended, func() {
		cancel()
		<-ended
	}, nil
}

// beside is a device whose host is probed by another.
type beside struct {
	agent.Endpoint
	agent.SelfProber
}

// Capabilities are the capabilities of the device, and self-probes.
func (b beside) Capabilities() hostapi.Capabilities {
	c := b.Endpoint.Capabilities()
	c.SelfProbes = true
	return c
}

// lastWords lets the controller hear what there is to say, for a while at most.
func (r *runner) lastWords(heard <-chan struct{}) {
	if r.agent == nil {
		return
	}
	r.agent.Finish()
	patience := time.NewTimer(lastWordsTime)
	defer patience.Stop()
	for {
		select {
		case call := <-r.calls:
			call()
			r.Flush()
		case <-heard:
			return
		case <-patience.C:
			return
		}
	}
}

// carrier holds the link changes of ports since the last report.
type carrier struct {
	tell func(port int, up bool)
	news chan func() // of capacity 1

	mu sync.Mutex
	up map[int]bool
}

// set never waits.
func (c *carrier) set(port int, up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up == nil {
		c.up = make(map[int]bool)
	}
	c.up[port] = up
	select {
	case c.news <- c.take:
	default:
	}
}

func (c *carrier) take() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for port, up := range c.up {
		c.tell(port, up)
	}
	c.up = nil
}

// errEnded is what a call gets that comes too late.
var errEnded = errors.New("the host has ended")

// do runs f on the NIC's goroutine, which then does what follows from it. Before the loop runs that
// is the caller's.
func (r *runner) do(f func(now time.Duration)) error {
	if !r.looping {
		f(r.Now())
		return nil
	}
	ran := make(chan struct{})
	call := func() {
		defer close(ran)
		f(r.Now())
		r.nic.Advance(r.Now()) // the loop asks again when the next thing is due
	}
	select {
	case r.calls <- call:
	case <-r.ended:
		return errEnded
	}
	r.Wake()
	select {
	case <-ran:
		return nil
	case <-r.ended: // nothing runs any more
	}
	select {
	case <-ran:
		return nil
	default:
		return errEnded
	}
}

// waitingCalls is how many calls wait for the NIC's goroutine before their callers do.
const waitingCalls = 16

// pump collects completions, and posts what queues have room for.
func (r *runner) pump() error {
	if err := r.door.pump(r.Now()); err != nil {
		return err
	}
	for _, q := range r.queues {
		if err := r.drive(q); err != nil {
			return err
		}
	}
	return nil
}

// rest has applications ring for what comes, and reports whether there is work already.
func (r *runner) rest() bool { return r.door.rest(r.Now()) }

// drive works on one queue pair.
func (r *runner) drive(q *connection) error {
	for c, ok := q.Poll(); ok; c, ok = q.Poll() {
		if err := q.completed(c); err != nil {
			return err
		}
	}
	if q.Failed() {
		return nil // of its requests as a responder: the report says so
	}
	for q.ReceiveQueueLen() < q.Config().RecvDepth {
		if err := q.PostRecv(verbs.RecvRequest{}); err != nil {
			return fmt.Errorf("queue pair %d: %w", q.Config().QPN, err)
		}
	}
	return q.Post()
}

// completed takes a completion.
func (q *connection) completed(c verbs.Completion) error {
	if !c.Recv {
		return q.Completed(c)
	}
	if c.HasImmediate {
		if q.received++; q.received <= keptImmediates {
			q.immediates = append(q.immediates, c.Immediate)
		}
	}
	return nil
}

// received is how many octets of payload were executed.
func (r *runner) received() (octets uint64) {
	for _, q := range r.queues {
		octets += q.Counters().PayloadReceived
	}
	return octets
}

// why reports that nothing can be sent yet.
func (r *runner) why() string {
	if !r.nic.Waiting() {
		return ""
	}
	s := r.agent.Status()
	if s.Refused != nil {
		return fmt.Sprintf(": the host does not take what the controller says: %v", s.Refused.Error())
	}
	if s.Err != nil {
		return fmt.Sprintf(": the controller has sent nothing yet (%v)", s.Err)
	}
	return ": the controller has sent nothing yet"
}
