package p4rt

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/p4"
)

// APIVersion is the P4Runtime version that Capabilities reports.
const APIVersion = "1.5.0"

// Sizes of messages in octets.
const (
	// maxAnswer bounds a response: a pipeline configuration is one message.
	maxAnswer = 256 << 20
	// maxSmall bounds the messages of clients except Write and SetForwardingPipelineConfig, and the
	// messages of all other services at the port.
	maxSmall = 4 << 20
	// window is how much of a message a client may send before the server takes the call.
	window = 256 << 10
	// connWindow is the window of a connection, shared by all calls that the server has not accounted
	// for yet.
	connWindow = 1 << 20
)

// Executor runs functions on the goroutine that owns a device; live.Runner is
// one.
type Executor interface {
	// Do runs f and returns when it has run. It fails, and does not run f,
	// when ctx ends first or the device is closed.
	Do(ctx context.Context, f func(now time.Duration)) error
}

// A Stepper is an Executor that runs work of many steps by itself.
type Stepper interface {
	Executor
	// Steps runs f like Do, again and again until f reports its end, with packets and other calls in
	// between. Once f has run, the end of ctx changes nothing.
	Steps(ctx context.Context, f func(now time.Duration) (done bool)) error
}

// ServerConfig configures a Server.
type ServerConfig struct {
	// Credentials secure the connections; nil: none. See TLSConfig.
	Credentials credentials.TransportCredentials
	// MaxMessage is the largest request in octets: a Write or a pipeline configuration. Other requests
	// may have 4 MiB, or this if it is less. 0: DefaultMaxMessage.
	MaxMessage int
	// Limits bound the resources of clients. MaxMessage sets its Unfinished where that is 0: two of
	// the largest requests, and at least clientlimit.DefaultUnfinished.
	Limits clientlimit.Config
	// ReadBacklog is how many octets of Read answers may wait for clients. Beyond this limit, the
	// server ends the Read whose client has taken nothing for the longest time. 0: DefaultReadBacklog.
	ReadBacklog int
	// StreamQueue is how many packet-ins, digest lists and notifications may
	// wait for one controller; more are dropped and counted. 0:
	// DefaultStreamQueue.
	StreamQueue int
	// Log gets the state of a switch that a new P4 program cannot keep; nil: no log.
	Log *slog.Logger
}

// Defaults of ServerConfig.
const (
	DefaultStreamQueue = 4096
	DefaultMaxMessage  = 64 << 20
	DefaultReadBacklog = 256 << 20
)

// maxReads is how many answers to Reads are put together at once. A request that changes state
// waits for no more of them.
const maxReads = 8

// handshakeTime is how long a connection may take until it can carry calls, idleTime how long it
// may carry none.
const (
	handshakeTime = 10 * time.Second
	idleTime      = 30 * time.Minute
)

// Server is the gRPC service p4.v1.P4Runtime for one or more devices. It does
// nothing but carry requests to the goroutines of the devices and their
// answers back: the semantics are those of Sessions and Device. A controller
// that reads slowly delays itself only.
type Server struct {
	p4v1.UnimplementedP4RuntimeServer

	cfg     ServerConfig
	grpc    *grpc.Server
	health  *health.Server
	limiter *clientlimit.Limiter
	done    chan struct{} // closed by Close: streams end
	calls   callCounter

	reads     *semaphore.Weighted // a place for each Read whose answer is put together
	pipelines *semaphore.Weighted // a place for each pipeline configuration that is decoded and loaded
	backlogs  backlogs

	mu      sync.Mutex
	closed  bool                 // guarded by mu
	devices map[uint64]*served   // guarded by mu
	dropped uint64               // guarded by mu; of streams that have ended
	streams map[*outbox]struct{} // guarded by mu
}

type served struct {
	sessions *Sessions
	exec     Executor
	// state separates requests while packets come in between: a change of the device's state takes all
	// of the semaphore, a Read takes one of many parts.
	state *semaphore.Weighted
}

// wholeState is what a request takes that changes state.
const wholeState = math.MaxInt32

// Work on a large request before packets have their turn, about a quarter of a millisecond. A batch
// that must be atomic to packets has no such limit.
const (
	stepUpdates = 64  // of a Write
	stepObjects = 256 // that a Read looks at
)

// NewServer makes a server without devices.
func NewServer(cfg ServerConfig) *Server {
	if cfg.StreamQueue <= 0 {
		cfg.StreamQueue = DefaultStreamQueue
	}
	if cfg.MaxMessage <= 0 {
		cfg.MaxMessage = DefaultMaxMessage
	}
	if cfg.ReadBacklog <= 0 {
		cfg.ReadBacklog = DefaultReadBacklog
	}
	if cfg.Limits.Unfinished <= 0 {
		cfg.Limits.Unfinished = max(clientlimit.DefaultUnfinished, 2*cfg.MaxMessage)
	}
	s := &Server{
		cfg:     cfg,
		limiter: clientlimit.New(cfg.Limits),

		reads:     semaphore.NewWeighted(maxReads),
		pipelines: semaphore.NewWeighted(1),
		backlogs:  backlogs{limit: cfg.ReadBacklog, all: make(map[*backlog]struct{})},

		done:    make(chan struct{}),
		devices: make(map[uint64]*served),
		streams: make(map[*outbox]struct{}),
	}
	opts := []grpc.ServerOption{
		grpc.UnaryInterceptor(s.calls.unary),
		grpc.ChainStreamInterceptor(s.calls.stream, s.commonStream),
		grpc.StatsHandler(s.limiter),
		grpc.ForceServerCodecV2(newCodec(min(maxSmall, cfg.MaxMessage))),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(connWindow),
		grpc.ReadBufferSize(128 << 10),
		grpc.MaxRecvMsgSize(cfg.MaxMessage),
		grpc.MaxSendMsgSize(maxAnswer),
		grpc.MaxConcurrentStreams(uint32(s.limiter.Calls())),
		grpc.MaxHeaderListSize(16 << 10),
		grpc.ConnectionTimeout(handshakeTime),
		// The stream is what reports that a controller lives: one that vanished
		// without a word must not stay primary for long.
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleTime,
			Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}),
	}
	if cfg.Credentials != nil {
		opts = append(opts, grpc.Creds(cfg.Credentials))
	}
	s.grpc = grpc.NewServer(opts...)
	s.common()
	s.RegisterService(service(), s)
	return s
}

// ErrDuplicateDevice reports that a server has a device with this id already.
var ErrDuplicateDevice = errors.New("p4rt: device id in use")

// Add makes a device reachable. All its calls go through exec.
func (s *Server) Add(sessions *Sessions, exec Executor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := sessions.dev.cfg.ID
	if s.devices[id] != nil {
		return ErrDuplicateDevice
	}
	s.devices[id] = &served{sessions, exec, semaphore.NewWeighted(wholeState)}
	return nil
}

// Limiter bounds and counts the clients of the server.
func (s *Server) Limiter() *clientlimit.Limiter { return s.limiter }

// Serve accepts connections on a listener until Close. It returns nil after
// Close.
func (s *Server) Serve(l net.Listener) error {
	err := s.grpc.Serve(s.limiter.Listener(l))
	select {
	case <-s.done:
		return nil
	default:
		return err
	}
}

// Close ends all streams with UNAVAILABLE, lets the calls in progress finish
// for as long as ctx allows, and closes every listener and connection.
func (s *Server) Close(ctx context.Context) {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
		s.health.Shutdown()
	}
	s.mu.Unlock()
	stopped := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		s.grpc.Stop()
		<-stopped
	}
}

// Dropped returns how many messages to controllers were dropped because they
// read too slowly.
func (s *Server) Dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.dropped
	for o := range s.streams {
		n += o.drops()
	}
	return n
}

func (s *Server) device(id uint64) (*served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.devices[id]; d != nil {
		return d, nil
	}
	ids := make([]uint64, 0, len(s.devices))
	for id := range s.devices {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) > 8 {
		return nil, notFound("device id %d is unknown; this server has %d devices, from %d to %d", id,
			len(ids), ids[0], ids[len(ids)-1])
	}
	return nil, notFound("device id %d is unknown; this server has %v", id, ids)
}

// do runs f on the goroutine of a device.
func (d *served) do(ctx context.Context, f func(now time.Duration)) error {
	if err := d.exec.Do(ctx, f); err != nil {
		return execError(err)
	}
	return nil
}

// steps runs f until it is done, as a Stepper does.
func (d *served) steps(ctx context.Context, f func(now time.Duration) (done bool)) error {
	if s, ok := d.exec.(Stepper); ok {
		if err := s.Steps(ctx, f); err != nil {
			return execError(err)
		}
		return nil
	}
	for done := false; !done; ctx = context.WithoutCancel(ctx) {
		if err := d.do(ctx, func(now time.Duration) { done = f(now) }); err != nil {
			return err
		}
	}
	return nil
}

// exclusive runs f, which changes state, on the goroutine of a device; what f
// returns is returned when it ran.
func (d *served) exclusive(ctx context.Context, f func(now time.Duration) error) error {
	if err := d.state.Acquire(ctx, wholeState); err != nil {
		return execError(err)
	}
	defer d.state.Release(wholeState)
	var result error
	if err := d.do(ctx, func(now time.Duration) { result = f(now) }); err != nil {
		return err
	}
	return result
}

// execError is the status of a call that never reached its device.
func execError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return errorf(codes.Unavailable, "the device is closed: %v", err)
}

// Write implements p4.v1.P4Runtime. Packets pass between the steps of a large
// batch; a batch that has begun is finished, whether or not its client waits.
func (s *Server) Write(ctx context.Context, req *p4v1.WriteRequest) (*p4v1.WriteResponse, error) {
	d, err := s.device(req.GetDeviceId())
	if err != nil {
		return nil, err
	}
	if err := d.write(ctx, req); err != nil {
		return nil, err
	}
	return &p4v1.WriteResponse{}, nil
}

func (d *served) write(ctx context.Context, req *p4v1.WriteRequest) error {
	if err := d.state.Acquire(ctx, wholeState); err != nil {
		return execError(err)
	}
	defer d.state.Release(wholeState)
	var (
		w      *writing
		failed error
	)
	if err := d.steps(ctx, func(now time.Duration) bool {
		if w == nil {
			if w, failed = d.sessions.startWrite(now, req); failed != nil {
				return true
			}
		}
		return w.step(now, stepUpdates)
	}); err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	return w.result()
}

// Read implements p4.v1.P4Runtime. The answer is a single state of the objects that clients write,
// put together while packets pass. Another goroutine sends the answer, so that a slow reader does
// not delay writers.
func (s *Server) Read(req *p4v1.ReadRequest, stream p4v1.P4Runtime_ReadServer) error {
	d, err := s.device(req.GetDeviceId())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	out := s.backlogs.open(clientlimit.ClientOf(ctx), cancel)
	defer out.forget()
	sent := make(chan error, 1)
	go func() { sent <- out.send(stream) }()
	err = s.produce(ctx, d, req, out, stream)
	out.close()
	select {
	case e := <-sent:
		return cmp.Or(e, err, readError(ctx))
	case <-ctx.Done():
		// The sender may still wait for its client: it ends with the call.
		return cmp.Or(err, readError(ctx))
	}
}

// produce puts the answer to a Read together. A client gets a turn when it has read the answers
// before.
func (s *Server) produce(ctx context.Context, d *served, req *p4v1.ReadRequest, out *backlog,
	stream p4v1.P4Runtime_ReadServer) error {
	if err := out.turn(ctx); err != nil {
		return readError(ctx)
	}
	for _, limit := range []*semaphore.Weighted{out.client.Reads, s.reads} {
		if err := limit.Acquire(ctx, 1); err != nil {
			return readError(ctx)
		}
		defer limit.Release(1)
	}
	err := d.read(ctx, req, func(r *p4v1.ReadResponse, octets int) error {
		m := new(grpc.PreparedMsg)
		if err := m.Encode(stream, r); err != nil {
			return err
		}
		out.put(m, octets)
		return readError(ctx)
	})
	if e := readError(ctx); e != nil {
		return e
	}
	return err
}

// readError is why a Read must end early, nil if it need not.
func readError(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); status.Code(cause) == codes.ResourceExhausted {
		return cause
	}
	return execError(ctx.Err())
}

// read calls emit, on the caller's goroutine, with every response; it may be
// used until emit returns.
func (d *served) read(ctx context.Context, req *p4v1.ReadRequest, emit func(resp *p4v1.ReadResponse,
	octets int) error) error {
	if err := d.state.Acquire(ctx, 1); err != nil {
		return execError(err)
	}
	defer d.state.Release(1)
	var (
		x      *reading
		failed error
	)
	if err := d.do(ctx, func(time.Duration) { x, failed = d.sessions.startRead(req) }); err != nil ||
		failed != nil {
		return cmp.Or(err, failed)
	}
	x.limit = stepObjects
	next, stop := iter.Pull(x.responses)
	defer stop()
	for {
		var (
			resp *p4v1.ReadResponse
			more bool
		)
		if err := d.do(ctx, func(now time.Duration) {
			x.now = now
			resp, more = next()
		}); err != nil {
			return err
		}
		if !more {
			return x.err
		}
		if resp == nil {
			continue
		}
		if err := emit(resp, x.flushed); err != nil {
			return err
		}
		x.slab.Reset()
	}
}

// SetForwardingPipelineConfig implements p4.v1.P4Runtime. Loading a program
// takes its time: packets pass meanwhile.
func (s *Server) SetForwardingPipelineConfig(ctx context.Context,
	req *p4v1.SetForwardingPipelineConfigRequest) (*p4v1.SetForwardingPipelineConfigResponse, error) {
	d, err := s.device(req.GetDeviceId())
	if err != nil {
		return nil, err
	}
	if err := d.setPipeline(ctx, req, s.cfg.Log); err != nil {
		return nil, err
	}
	return &p4v1.SetForwardingPipelineConfigResponse{}, nil
}

// maySetPipeline reports whether the server may decode a request; it ignores the config, the
// largest part.
func (d *served) maySetPipeline(ctx context.Context,
	req *p4v1.SetForwardingPipelineConfigRequest) error {
	var denied error
	if err := d.do(ctx, func(time.Duration) { denied = d.sessions.maySetPipeline(req) }); err != nil {
		return err
	}
	return denied
}

// mayWrite reports whether the server may decode a request; it ignores the updates, the largest
// part.
func (d *served) mayWrite(ctx context.Context, req *p4v1.WriteRequest) error {
	var denied error
	if err := d.do(ctx, func(time.Duration) { denied = d.sessions.maySend(req) }); err != nil {
		return err
	}
	return denied
}

func (d *served) setPipeline(ctx context.Context,
	req *p4v1.SetForwardingPipelineConfigRequest, log *slog.Logger) error {
	if err := d.maySetPipeline(ctx, req); err != nil {
		return err
	}
	p, bad := d.sessions.dev.verify(req)
	if bad != nil {
		return bad
	}
	md, _ := metadata.FromIncomingContext(ctx)
	partial := len(md.Get(p4.ReconcileKey)) > 0
	var lost map[string]int
	err := d.exclusive(ctx, func(now time.Duration) (err error) {
		if err := d.sessions.maySetPipeline(req); err != nil {
			return err
		}
		if lost, bad = d.sessions.dev.setPipeline(now, req, p, partial); bad != nil {
			return bad
		}
		return nil
	})
	if len(lost) > 0 && log != nil {
		log.Warn("another P4 program lacks what the switch held", "lost", lost)
	}
	return err
}

// GetForwardingPipelineConfig implements p4.v1.P4Runtime.
func (s *Server) GetForwardingPipelineConfig(ctx context.Context,
	req *p4v1.GetForwardingPipelineConfigRequest) (*p4v1.GetForwardingPipelineConfigResponse, error) {
	d, err := s.device(req.GetDeviceId())
	if err != nil {
		return nil, err
	}
	var (
		resp   *p4v1.GetForwardingPipelineConfigResponse
		failed error
	)
	if err := d.do(ctx,
		func(time.Duration) { resp, failed = d.sessions.dev.GetPipeline(req) }); err != nil {
		return nil, err
	}
	return resp, failed
}

// Capabilities implements p4.v1.P4Runtime.
func (s *Server) Capabilities(_ context.Context,
	req *p4v1.CapabilitiesRequest) (*p4v1.CapabilitiesResponse, error) {
	if req.GetDeviceId() != 0 {
		if _, err := s.device(req.GetDeviceId()); err != nil {
			return nil, err
		}
	}
	reconciles, err := anypb.New(wrapperspb.String(p4.ReconcileKey))
	if err != nil {
		return nil, err
	}
	return &p4v1.CapabilitiesResponse{P4RuntimeApiVersion: APIVersion, Experimental: reconciles}, nil
}
