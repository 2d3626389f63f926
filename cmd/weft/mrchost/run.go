package mrchost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/cmd/weft/rocehost"
	"github.com/weft-sdn/weft/endpoint"
	"github.com/weft-sdn/weft/endpoint/agent"
	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/nic"
	"github.com/weft-sdn/weft/packet"
)

// Link is an interface: where its frames go and come from, and its Ethernet address.
type Link struct {
	rocehost.Port
	MAC packet.MAC
}

// Options of a run beside its configuration.
type Options struct {
	Progress rocehost.Progress // nil: nobody is told
	Log      *slog.Logger      // nil: nowhere
	Dial     []grpc.DialOption // of the stream, for tests
}

const (
	frameQueue    = 8192 // received frames that may wait; more are dropped
	frameBatch    = 256  // frames handled before sending goes on
	reportingTime = time.Second
	lastWordsTime = 2 * time.Second // for what there is to say to the controller at the end
)

// runner owns the NIC.
type runner struct {
	cfg     *Config
	nic     *nic.NIC
	links   []Link
	start   time.Time
	frames  chan frame
	spare   chan []byte
	calls   chan func() // of the agent, once the loop runs
	looping bool
	ended   chan struct{}
	carrier carrier
	dropped atomic.Uint64 // frames that found the queue full
	regions []*endpoint.Region
	writes  []*writing
	queues  []*connection
	agent   *agent.Agent  // nil without a controller
	refused uint64        // frames that ports did not take
	last    time.Duration // when the last frame came
}

type frame struct {
	port   int
	octets []byte
}

// writing is a Write under way.
type writing struct {
	*Write
	data             []byte
	posted, complete int // octets
	began, ended     time.Duration
	status           endpoint.Status
}

func (w *writing) done() bool { return w.complete == len(w.data) && w.posted == len(w.data) }

// connection is a queue pair, and what it has to write, what is done aside.
type connection struct {
	*mrc.QP
	writes     []*writing
	immediates []uint32 // that the peer sent, the first ones
	received   int      // and how many
}

// keptImmediates is how much immediate data of a queue pair the report has.
const keptImmediates = 1024

// Run runs a host until its work is done or ctx ends, closes the links and reports. The report is there also when the work failed; errors wrap rocehost.ErrWrite,
// ErrInterrupted or ErrConfig. While the controller is gone, or has not been heard yet, the host goes on trying.
func Run(ctx context.Context, cfg *Config, links []Link, o Options) (*Report, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &runner{
		cfg: cfg, links: links, start: time.Now(), frames: make(chan frame, frameQueue), spare: make(chan []byte, frameQueue),
		calls: make(chan func()), ended: make(chan struct{}), carrier: carrier{news: make(chan struct{}, 1)},
	}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	for i, l := range links {
		l.Attach(func(frames [][]byte) { r.deliver(i+1, frames) }, func(up bool) { r.carrier.set(i+1, up) })
	}
	heard, hangUp, err := r.connect(o)
	if err == nil {
		err = r.loop(ctx, o.Progress)
	}
	stream := r.stream()
	r.lastWords(heard)
	close(r.ended)
	hangUp()
	if stream != nil { // the agent notes what the NIC holds when the call to the NIC has returned
		stream.Version = r.stream().Version
	}
	err = errors.Join(err, r.close())
	if o.Progress != nil {
		o.Progress(r.counts())
	}
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

func (r *runner) prepare() error {
	macs := make([]packet.MAC, len(r.links))
	for i, l := range r.links {
		macs[i] = l.MAC
	}
	cfg := r.cfg.nic(macs)
	cfg.Seed = uint64(r.start.UnixNano())
	one := make([][]byte, 1)
	cfg.Host.Output = func(_ time.Duration, port int, frame []byte) {
		one[0] = frame
		if taken, _ := r.links[port-1].Send(one); taken == 0 {
			r.refused++
		}
	}
	var err error
	if r.nic, err = nic.New(cfg); err != nil {
		return fmt.Errorf("%w: %w", rocehost.ErrConfig, err)
	}
	for i := range r.cfg.Regions {
		g := &r.cfg.Regions[i]
		region, err := r.nic.RegisterMR(g.VA, g.RKey, make([]byte, g.Size), endpoint.AccessRemoteWrite)
		if err != nil {
			return fmt.Errorf("regions[%d]: %w: %w", i, rocehost.ErrConfig, err)
		}
		r.regions = append(r.regions, region)
	}
	by := make(map[uint32]*connection)
	for i := range r.cfg.QueuePairs {
		qp, err := r.nic.CreateQP(r.cfg.QueuePairs[i].config())
		if err != nil {
			return fmt.Errorf("queuePairs[%d]: %w: %w", i, rocehost.ErrConfig, err)
		}
		q := &connection{QP: qp}
		r.queues, by[qp.Config().QPN] = append(r.queues, q), q
	}
	for i := range r.cfg.Writes {
		w := &writing{Write: &r.cfg.Writes[i]}
		if w.data, err = os.ReadFile(w.File); err != nil {
			return fmt.Errorf("writes[%d]: %w: %w", i, rocehost.ErrConfig, err)
		}
		q := by[w.QPN]
		r.writes, q.writes = append(r.writes, w), append(q.writes, w)
	}
	return nil
}

// connect starts the stream from the controller, if there is one. heard is closed when the stream's agent has ended, which hangUp makes it do and waits for.
func (r *runner) connect(o Options) (heard <-chan struct{}, hangUp func(), err error) {
	if r.cfg.Controller == nil {
		return nil, func() {}, nil
	}
	cfg := r.cfg.Controller.agent(r.cfg.Name)
	cfg.Log, cfg.DialOptions = o.Log, o.Dial
	a, err := agent.New(cfg, agent.Owned(r.nic, r.do))
	if err != nil {
		return nil, func() {}, fmt.Errorf("%w: controller: %w", rocehost.ErrConfig, err)
	}
	r.agent = a
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
		case <-heard:
			return
		case <-patience.C:
			return
		}
	}
}

// carrier is what ports said of their links since it was asked.
type carrier struct {
	news chan struct{} // of capacity 1

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
	case c.news <- struct{}{}:
	default:
	}
}

func (c *carrier) take(f func(port int, up bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for port, up := range c.up {
		f(port, up)
	}
	c.up = nil
}

// errEnded is what a call gets that comes too late.
var errEnded = errors.New("the host has ended")

// do runs f on the NIC's goroutine, which then does what follows from it. Before the loop runs that is the caller's.
func (r *runner) do(f func(now time.Duration)) error {
	if !r.looping {
		f(r.now())
		return nil
	}
	ran := make(chan struct{})
	call := func() {
		defer close(ran)
		f(r.now())
		r.nic.Advance(r.now()) // the loop asks again when the next thing is due
	}
	select {
	case r.calls <- call:
		<-ran
		return nil
	case <-r.ended:
		return errEnded
	}
}

// deliver queues copies of frames. It is called from a port's goroutine.
func (r *runner) deliver(port int, frames [][]byte) {
	for _, octets := range frames {
		var b []byte
		select {
		case b = <-r.spare:
		default:
		}
		select {
		case r.frames <- frame{port, append(b[:0], octets...)}:
		default: // the peer retransmits
			r.dropped.Add(1)
		}
	}
}

func (r *runner) now() time.Duration { return time.Since(r.start) }

func (r *runner) loop(ctx context.Context, progress rocehost.Progress) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	reporting := time.NewTicker(reportingTime)
	defer reporting.Stop()
	for {
		if err := r.pump(); err != nil {
			return err
		}
		next, pending := r.nic.Advance(r.now())
		if err := r.pump(); err != nil {
			return err
		}
		over, at := r.over()
		if over {
			return nil
		}
		var due <-chan time.Time
		if at > 0 && (!pending || at < next) {
			next, pending = at, true
		}
		if pending {
			timer.Reset(max(0, next-r.now()))
			due = timer.C
		}
		select {
		case f := <-r.frames:
			r.receive(f)
		case call := <-r.calls:
			call()
		case <-r.carrier.news:
			r.carrier.take(func(port int, up bool) { _ = r.nic.SetPort(port, up) }) // the port is there
		case <-due:
		case <-reporting.C:
			if progress != nil {
				progress(r.counts())
			}
		case <-ctx.Done():
			return r.interrupted()
		}
	}
}

// receive handles a frame and those that wait behind it.
func (r *runner) receive(f frame) {
	for i := 1; ; i++ {
		r.last = r.now()
		r.nic.Receive(r.last, f.port, f.octets)
		select {
		case r.spare <- f.octets:
		default:
		}
		if i == frameBatch {
			return
		}
		select {
		case f = <-r.frames:
		default:
			return
		}
	}
}

// pump collects completions, and posts what queues have room for.
func (r *runner) pump() error {
	for _, q := range r.queues {
		if err := r.drive(q); err != nil {
			return err
		}
	}
	return nil
}

// drive works on one queue pair.
func (r *runner) drive(q *connection) error {
	for c, ok := q.Poll(); ok; c, ok = q.Poll() {
		if err := r.completed(q, c); err != nil {
			return err
		}
	}
	if q.Failed() {
		return nil // of its requests as a responder: the report says so
	}
	for q.ReceiveQueueLen() < q.Config().RecvDepth {
		if err := q.PostRecv(endpoint.RecvRequest{}); err != nil {
			return fmt.Errorf("queue pair %d: %w", q.Config().QPN, err)
		}
	}
	for len(q.writes) > 0 {
		w := q.writes[0]
		if err := r.post(q, w); err != nil {
			return err
		}
		if !w.done() {
			break
		}
		w.ended = r.now()
		q.writes = q.writes[1:]
	}
	return nil
}

// completed takes a completion.
func (r *runner) completed(q *connection, c endpoint.Completion) error {
	switch {
	case c.Recv && c.HasImmediate:
		if q.received++; q.received <= keptImmediates {
			q.immediates = append(q.immediates, c.Immediate)
		}
	case !c.Recv && len(q.writes) > 0:
		w := q.writes[0]
		if c.Status != endpoint.StatusOK {
			w.status, w.ended = c.Status, r.now()
			return fmt.Errorf("%w: %s: %d of %d octets: %v", rocehost.ErrWrite, w.File, w.complete, len(w.data), c.Status)
		}
		w.complete += c.Octets
	}
	return nil
}

// post posts what the send queue has room for. Immediate data goes with the last WRITE of a file.
func (r *runner) post(q *connection, w *writing) error {
	if w.began == 0 {
		w.began = r.now()
	}
	for w.posted < len(w.data) && q.SendQueueLen() < q.Config().SendDepth {
		end := min(w.posted+w.Message, len(w.data))
		wr := endpoint.WorkRequest{Op: endpoint.OpWrite, Data: w.data[w.posted:end], RemoteVA: w.VA + uint64(w.posted), RKey: w.RKey}
		if w.Immediate != nil && end == len(w.data) {
			wr.Op, wr.Immediate = endpoint.OpWriteImmediate, *w.Immediate
		}
		err := q.PostSend(r.now(), wr)
		if errors.Is(err, endpoint.ErrQueueFull) {
			return nil // until packets are acknowledged
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", rocehost.ErrWrite, w.File, err)
		}
		w.posted = end
	}
	return nil
}

// over reports whether the host has done its work, or when it will have lingered long enough.
func (r *runner) over() (over bool, at time.Duration) {
	for _, w := range r.writes {
		if !w.done() {
			return false, 0
		}
	}
	n := r.counts()
	if n.Expected == 0 && len(r.writes) == 0 || n.Received < n.Expected {
		return false, 0
	}
	if n.Expected == 0 {
		return true, 0
	}
	at = r.last + r.cfg.Linger.D()
	return r.now() >= at, at
}

// interrupted is what the end of ctx means.
func (r *runner) interrupted() error {
	n := r.counts()
	why := ""
	if r.nic.Waiting() {
		why = ": the controller has sent nothing yet"
		if err := r.agent.Status().Err; err != nil {
			why += fmt.Sprintf(" (%v)", err)
		}
	}
	switch {
	case n.Written < n.ToWrite:
		return fmt.Errorf("%w after %d of %d octets were written%s", rocehost.ErrInterrupted, n.Written, n.ToWrite, why)
	case n.Received < n.Expected:
		return fmt.Errorf("%w after %d of %d octets were received%s", rocehost.ErrInterrupted, n.Received, n.Expected, why)
	}
	return nil
}

func (r *runner) counts() rocehost.Counts {
	n := rocehost.Counts{Expected: r.cfg.Expect, SinceStart: r.now()}
	for _, w := range r.writes {
		n.ToWrite += uint64(len(w.data))
		n.Written += uint64(w.complete)
	}
	for _, q := range r.queues {
		n.Received += q.Counters().PayloadReceived
	}
	return n
}
