package southbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
)

// A relay serves P4Runtime and gNMI of the switches that its controller owns, to the controller
// that decides. The metadata of each call has the switch, the term of the caller, and the number of
// the caller's connection, which grows in a term; older builds send no number.
const (
	switchKey     = "weft-switch"
	termKey       = "weft-term"
	connectionKey = "weft-connection"
)

// Methods that a relay does more for than to hand them on.
const (
	writeMethod    = "/p4.v1.P4Runtime/Write"
	pipelineMethod = "/p4.v1.P4Runtime/SetForwardingPipelineConfig"
	streamMethod   = "/p4.v1.P4Runtime/StreamChannel"
	setMethod      = "/gnmi.gNMI/Set"
	gnmiService    = "/gnmi.gNMI/"
)

// Relay is a gRPC server of P4Runtime and gNMI. The owner of the listener ensures that only other
// controllers connect.
type Relay struct {
	server *grpc.Server
	local  *bufconn.Listener // of its own process

	mu      sync.Mutex
	hosted  map[string]*Hosted
	changed chan struct{} // closed and replaced when hosted changes
}

// NewRelay returns a relay of no switch.
func NewRelay() *Relay {
	r := &Relay{local: bufconn.Listen(localBuffer), hosted: make(map[string]*Hosted),
		changed: make(chan struct{})}
	r.server = grpc.NewServer(grpc.UnknownServiceHandler(r.handle), grpc.ForceServerCodec(frames{}),
		grpc.MaxRecvMsgSize(64<<20),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}))
	return r
}

// RegisterService has the relay serve something else too. It must be called before Serve.
func (r *Relay) RegisterService(desc *grpc.ServiceDesc, service any) {
	r.server.RegisterService(desc, service)
}

// localBuffer is how many octets may be on the way between a relay and its own process.
const localBuffer = 1 << 20

// Serve takes connections from l, and of Dial, until Close.
func (r *Relay) Serve(l net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(r.local) }()
	err := r.server.Serve(l)
	r.server.Stop()
	return errors.Join(err, <-served)
}

// Dial connects to the relay from its own process.
func (r *Relay) Dial(ctx context.Context) (net.Conn, error) { return r.local.DialContext(ctx) }

// Close ends all connections.
func (r *Relay) Close() { r.server.Stop() }

// Add has a switch served until remove is called.
func (r *Relay) Add(sw string, h *Hosted) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hosted[sw] = h
	r.wake()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.hosted[sw] == h {
			delete(r.hosted, sw)
		}
	}
}

// Count returns how many switches the relay serves, and how many are ready.
func (r *Relay) Count() (owned, ready int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.hosted {
		if state, _ := h.State(); state == StateReady {
			ready++
		}
	}
	return len(r.hosted), ready
}

func (r *Relay) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// find returns a switch, which this controller may be about to own.
func (r *Relay) find(ctx context.Context, sw string) (*Hosted, error) {
	timeout := time.NewTimer(readyPatience)
	defer timeout.Stop()
	for {
		r.mu.Lock()
		h, changed := r.hosted[sw], r.changed
		r.mu.Unlock()
		if h != nil {
			return h, nil
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil, status.Error(codes.Unavailable, "its owner has no session yet")
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// handle serves every method.
func (r *Relay) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	ctx := stream.Context()
	md, _ := metadata.FromIncomingContext(ctx)
	name := strings.Join(md.Get(switchKey), ",")
	term, err := strconv.ParseUint(strings.Join(md.Get(termKey), ","), 10, 64)
	if name == "" || err != nil {
		return status.Error(codes.InvalidArgument, "want a switch and a term in the metadata")
	}
	from := place{term: term}
	if number := md.Get(connectionKey); len(number) > 0 {
		if from.connection, err = strconv.ParseUint(number[0], 10, 64); err != nil {
			return status.Errorf(codes.InvalidArgument, "%s %q in the metadata: want a number",
				connectionKey, number[0])
		}
	}
	h, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	switch method {
	case streamMethod:
		return h.serve(from, stream)
	case writeMethod:
		return unary(stream, &p4v1.WriteRequest{}, func(req *p4v1.WriteRequest) (*p4v1.WriteResponse,
			error) {
			return h.write(ctx, from, req)
		})
	case pipelineMethod:
		return unary(stream, &p4v1.SetForwardingPipelineConfigRequest{},
			func(req *p4v1.SetForwardingPipelineConfigRequest) (*p4v1.SetForwardingPipelineConfigResponse,
				error) {
				return h.setPipeline(ctx, from, req)
			})
	}
	if err := h.admit(ctx, from); err != nil {
		return err
	}
	c, err := h.ready(ctx)
	if err != nil {
		return err
	}
	cc := c.cc
	if strings.HasPrefix(method, gnmiService) && c.cfg.GNMI != "" {
		if cc, err = c.cfg.Connect(c.cfg.GNMI); err != nil {
			return unavailable(err)
		}
		defer func() { _ = cc.Close() }()
	}
	if method == setMethod {
		return unary(stream, &gpb.SetRequest{}, func(req *gpb.SetRequest) (*gpb.SetResponse, error) {
			return h.set(ctx, from, cc, req)
		})
	}
	return h.forward(ctx, stream, cc, method)
}

// unary carries out a call of one request and one answer.
func unary[Q, A proto.Message](stream grpc.ServerStream, request Q, do func(Q) (A, error)) error {
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	answer, err := do(request)
	if err != nil {
		return err
	}
	return stream.SendMsg(answer)
}

// forward hands a call on to the switch as it is.
func (h *Hosted) forward(ctx context.Context, stream grpc.ServerStream, cc grpc.ClientConnInterface,
	method string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the call
	call, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method,
		grpc.ForceCodec(frames{}), grpc.MaxCallRecvMsgSize(h.session.cfg.MaxReadBytes))
	if err != nil {
		return err
	}
	go func() {
		for {
			var f frame
			if err := stream.RecvMsg(&f); errors.Is(err, io.EOF) {
				_ = call.CloseSend() // never fails
				return
			} else if err != nil {
				cancel()
				return
			}
			if call.SendMsg(&f) != nil {
				return // RecvMsg of the call has the reason
			}
		}
	}()
	for {
		var f frame
		if err := call.RecvMsg(&f); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(&f); err != nil {
			return err
		}
	}
}

// frame is a message that the relay forwards unchanged.
type frame struct{ octets []byte }

// frames is gRPC's codec of protobuf messages and of frames.
type frames struct{}

// Name implements encoding.Codec.
func (frames) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (frames) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case *frame:
		return v.octets, nil
	case proto.Message:
		return proto.Marshal(v)
	}
	return nil, fmt.Errorf("southbound: %T is no message", v)
}

// Unmarshal implements encoding.Codec.
func (frames) Unmarshal(octets []byte, v any) error {
	switch v := v.(type) {
	case *frame:
		v.octets = octets
		return nil
	case proto.Message:
		return proto.Unmarshal(octets, v)
	}
	return fmt.Errorf("southbound: %T is no message", v)
}

// Peer is the connection to a relay.
type Peer struct{ cc *grpc.ClientConn }

// NewPeer returns a connection that dial opens on demand, and again after a loss. dial must ensure
// that the connection leads to a controller.
func NewPeer(dial func(context.Context) (net.Conn, error)) (*Peer, error) {
	quick := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
		MaxDelay: time.Second}
	cc, err := grpc.NewClient("passthrough:///relay",
		grpc.WithTransportCredentials(insecure.NewCredentials()), // dial does it
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return dial(ctx)
		}),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: 2 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second,
			Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(DefaultConfig().MaxReadBytes),
			grpc.MaxCallSendMsgSize(64<<20)))
	return &Peer{cc}, err
}

// Conn returns the connection, for services that were registered with the relay.
func (p *Peer) Conn() grpc.ClientConnInterface { return p.cc }

// Close ends the connection and all calls.
func (p *Peer) Close() error { return p.cc.Close() }

// Dial returns a [Conn] to a switch that the other controller owns, for a decider in a term. Its
// calls end with ctx.
func (p *Peer) Dial(ctx context.Context, sw string, term uint64) Conn {
	ctx, cancel := context.WithCancel(ctx)
	return &relayed{cc: p.cc, ctx: ctx, cancel: cancel, md: []string{switchKey, sw, termKey,
		strconv.FormatUint(term, 10), connectionKey, strconv.FormatUint(connections.Add(1), 10)}}
}

// connections numbers the connections of [Peer.Dial] in this process.
var connections atomic.Uint64

// relayed is a Conn to one switch, by way of a relay.
type relayed struct {
	cc     *grpc.ClientConn
	ctx    context.Context
	cancel context.CancelFunc
	md     []string
}

// Close implements Conn.
func (r *relayed) Close() error {
	r.cancel()
	return nil
}

// Invoke implements grpc.ClientConnInterface.
func (r *relayed) Invoke(ctx context.Context, method string, args, reply any,
	opts ...grpc.CallOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	return r.cc.Invoke(metadata.AppendToOutgoingContext(ctx, r.md...), method, args, reply, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (r *relayed) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.ctx, cancel)
	s, err := r.cc.NewStream(metadata.AppendToOutgoingContext(ctx, r.md...), desc, method, opts...)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	context.AfterFunc(s.Context(), func() { // when the call has ended
		stop()
		cancel()
	})
	return s, nil
}
