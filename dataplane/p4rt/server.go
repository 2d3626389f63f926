package p4rt

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// APIVersion is the P4Runtime version that Capabilities reports.
const APIVersion = "1.5.0"

// maxMessage is the largest request in octets: a pipeline configuration is
// one message.
const maxMessage = 256 << 20

// Executor runs functions on the goroutine that owns a device; live.Runner is
// one.
type Executor interface {
	// Do runs f and returns when it has run. It fails, and does not run f,
	// when ctx ends first or the device is closed.
	Do(ctx context.Context, f func(now time.Duration)) error
}

// ServerConfig configures a Server.
type ServerConfig struct {
	// Credentials secure the connections; nil: none. See TLSConfig.
	Credentials credentials.TransportCredentials
	// StreamQueue is how many packet-ins, digest lists and notifications may
	// wait for one controller; more are dropped and counted. 0:
	// DefaultStreamQueue.
	StreamQueue int
}

// DefaultStreamQueue is the default of ServerConfig.StreamQueue.
const DefaultStreamQueue = 4096

// Server is the gRPC service p4.v1.P4Runtime for one or more devices. It does
// nothing but carry requests to the goroutines of the devices and their
// answers back: the semantics are those of Sessions and Device. A controller
// that reads slowly delays nobody but itself.
type Server struct {
	p4v1.UnimplementedP4RuntimeServer

	cfg   ServerConfig
	grpc  *grpc.Server
	done  chan struct{} // closed by Close: streams end
	calls callCounter

	mu      sync.Mutex
	closed  bool                 // guarded by mu
	devices map[uint64]*served   // guarded by mu
	dropped uint64               // guarded by mu; of streams that have ended
	streams map[*outbox]struct{} // guarded by mu
}

type served struct {
	sessions *Sessions
	exec     Executor
}

// NewServer makes a server without devices.
func NewServer(cfg ServerConfig) *Server {
	if cfg.StreamQueue <= 0 {
		cfg.StreamQueue = DefaultStreamQueue
	}
	s := &Server{
		cfg:     cfg,
		done:    make(chan struct{}),
		devices: make(map[uint64]*served),
		streams: make(map[*outbox]struct{}),
	}
	opts := []grpc.ServerOption{
		grpc.UnaryInterceptor(s.calls.unary),
		grpc.StreamInterceptor(s.calls.stream),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		// The stream is what says that a controller lives: one that vanished
		// without a word must not stay primary for long.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
	if cfg.Credentials != nil {
		opts = append(opts, grpc.Creds(cfg.Credentials))
	}
	s.grpc = grpc.NewServer(opts...)
	p4v1.RegisterP4RuntimeServer(s.grpc, s)
	return s
}

// ErrDuplicateDevice says that a server has a device with this id already.
var ErrDuplicateDevice = errors.New("p4rt: device id in use")

// Add makes a device reachable. All its calls go through exec.
func (s *Server) Add(sessions *Sessions, exec Executor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := sessions.dev.cfg.ID
	if s.devices[id] != nil {
		return ErrDuplicateDevice
	}
	s.devices[id] = &served{sessions, exec}
	return nil
}

// Serve accepts connections on a listener until Close. It returns nil after
// Close.
func (s *Server) Serve(l net.Listener) error {
	err := s.grpc.Serve(l)
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
		return nil, notFound("device id %d is unknown; this server has %d devices, from %d to %d", id, len(ids), ids[0], ids[len(ids)-1])
	}
	return nil, notFound("device id %d is unknown; this server has %v", id, ids)
}

// do runs f on the goroutine of a device; what f leaves in *err is returned
// when it ran.
func (s *Server) do(ctx context.Context, id uint64, f func(now time.Duration, x *Sessions) error) error {
	d, err := s.device(id)
	if err != nil {
		return err
	}
	var result error
	if err := d.exec.Do(ctx, func(now time.Duration) { result = f(now, d.sessions) }); err != nil {
		return execError(err)
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

// Write implements p4.v1.P4Runtime.
func (s *Server) Write(ctx context.Context, req *p4v1.WriteRequest) (*p4v1.WriteResponse, error) {
	err := s.do(ctx, req.GetDeviceId(), func(now time.Duration, x *Sessions) error { return x.Write(now, req) })
	if err != nil {
		return nil, err
	}
	return &p4v1.WriteResponse{}, nil
}

// Read implements p4.v1.P4Runtime. The whole answer is put together on the
// device's goroutine, so it is one state, and sent from this one.
func (s *Server) Read(req *p4v1.ReadRequest, stream p4v1.P4Runtime_ReadServer) error {
	var out []*p4v1.ReadResponse
	err := s.do(stream.Context(), req.GetDeviceId(), func(now time.Duration, x *Sessions) error {
		return x.Read(now, req, func(r *p4v1.ReadResponse) { out = append(out, r) })
	})
	for i, r := range out {
		if e := stream.Send(r); e != nil {
			return e
		}
		out[i] = nil
	}
	return err
}

// SetForwardingPipelineConfig implements p4.v1.P4Runtime.
func (s *Server) SetForwardingPipelineConfig(ctx context.Context, req *p4v1.SetForwardingPipelineConfigRequest) (*p4v1.SetForwardingPipelineConfigResponse, error) {
	err := s.do(ctx, req.GetDeviceId(), func(now time.Duration, x *Sessions) error { return x.SetPipeline(now, req) })
	if err != nil {
		return nil, err
	}
	return &p4v1.SetForwardingPipelineConfigResponse{}, nil
}

// GetForwardingPipelineConfig implements p4.v1.P4Runtime.
func (s *Server) GetForwardingPipelineConfig(ctx context.Context, req *p4v1.GetForwardingPipelineConfigRequest) (*p4v1.GetForwardingPipelineConfigResponse, error) {
	var resp *p4v1.GetForwardingPipelineConfigResponse
	err := s.do(ctx, req.GetDeviceId(), func(_ time.Duration, x *Sessions) (err error) {
		resp, err = x.dev.GetPipeline(req)
		return err
	})
	return resp, err
}

// Capabilities implements p4.v1.P4Runtime.
func (s *Server) Capabilities(_ context.Context, req *p4v1.CapabilitiesRequest) (*p4v1.CapabilitiesResponse, error) {
	if req.GetDeviceId() != 0 {
		if _, err := s.device(req.GetDeviceId()); err != nil {
			return nil, err
		}
	}
	return &p4v1.CapabilitiesResponse{P4RuntimeApiVersion: APIVersion}, nil
}
