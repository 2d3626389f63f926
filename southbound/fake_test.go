package southbound

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// fakeSwitch is a P4Runtime server in memory. Its hooks inject faults; they
// have to be set before a session is opened or through with.
type fakeSwitch struct {
	p4v1.UnimplementedP4RuntimeServer
	listener *bufconn.Listener
	server   *grpc.Server

	schema *Schema

	mu       sync.Mutex
	streams  map[*fakeStream]ElectionID
	cookie   *p4v1.ForwardingPipelineConfig_Cookie
	pipeline bool
	entities map[entry.Key]*p4v1.Entity
	requests []*p4v1.WriteRequest
	installs int
	probes   chan struct{} // when not nil, told of probes
	outs     []*p4v1.PacketOut
	acks     []*p4v1.DigestListAck

	remembered   ElectionID                      // of a client that has gone
	noCookie     bool                            // keeps no cookie
	refuse       error                           // ends streams at once
	mute         bool                            // never answers an arbitration or a probe
	fault        func(*p4v1.Update) *p4v1.Error  // of single updates
	writeFault   func(*p4v1.WriteRequest) error  // of whole requests
	readFault    func(*p4v1.Entity) error        // by pattern
	report       func(*p4v1.Entity) *p4v1.Entity // the form entities are reported in
	capabilities error                           // answer to probes
	hold         chan struct{}                   // when not nil, writes wait for it
	gotWrite     chan struct{}                   // when not nil, told of writes
	sets         chan chan struct{}              // when not nil, holds one pipeline until its end
	experimental *anypb.Any                      // what it can do beyond P4Runtime
	reconcile    error                           // answer to RECONCILE_AND_COMMIT
	actions      []string                        // asked of it for a pipeline
}

type fakeStream struct {
	send chan *p4v1.StreamMessageResponse
	quit chan error
}

func newFakeSwitch(t *testing.T, options ...grpc.ServerOption) *fakeSwitch {
	return newFakeSwitchWith(t, func(grpc.ServiceRegistrar) {}, options...)
}

// newFakeSwitchWith is a fake with other services at its port.
func newFakeSwitchWith(t *testing.T, register func(grpc.ServiceRegistrar),
	options ...grpc.ServerOption) *fakeSwitch {
	f := &fakeSwitch{
		listener: bufconn.Listen(1 << 16), schema: smallPipeline(t).Schema(),
		streams: make(map[*fakeStream]ElectionID), entities: make(map[entry.Key]*p4v1.Entity),
	}
	f.server = grpc.NewServer(options...)
	p4v1.RegisterP4RuntimeServer(f.server, f)
	register(f.server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.server.Serve(f.listener)
	}()
	t.Cleanup(func() {
		f.drop(errors.New("over"))
		f.server.Stop()
		<-done
	})
	return f
}

// config returns a Config for a session with the fake.
func (f *fakeSwitch) config() Config {
	c := DefaultConfig()
	c.Target = "fake:1"
	c.Name = "n1"
	c.DeviceID = 1
	c.Election = ElectionID{Low: 10}
	c.Backoff = Backoff{Initial: time.Millisecond, Max: 5 * time.Millisecond, Multiplier: 1.5}
	c.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		return f.listener.DialContext(ctx)
	})}
	return c
}

func (f *fakeSwitch) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// drop ends every stream with err.
func (f *fakeSwitch) drop(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.streams {
		select {
		case s.quit <- err:
		default:
		}
	}
}

// forget is a restart: everything is empty and streams end.
func (f *fakeSwitch) forget() {
	f.with(func() {
		f.pipeline, f.cookie = false, nil
		f.entities = make(map[entry.Key]*p4v1.Entity)
	})
	f.drop(status.Error(codes.Unavailable, "restarting"))
}

// push sends a message to the primary.
func (f *fakeSwitch) push(m *p4v1.StreamMessageResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s, id := range f.streams {
		if id == f.highest() {
			s.send <- m
		}
	}
}

func (f *fakeSwitch) highest() ElectionID {
	ids := slices.SortedFunc(maps.Values(f.streams), ElectionID.Compare)
	if len(ids) == 0 || f.remembered != (ElectionID{}) {
		return f.remembered
	}
	return ids[len(ids)-1]
}

// arbitrate sends every stream its role. f.mu is held.
func (f *fakeSwitch) arbitrate() {
	top := f.highest()
	for s, id := range f.streams {
		st := &rpcstatus.Status{Code: int32(codes.OK)}
		if id != top {
			st = &rpcstatus.Status{Code: int32(codes.AlreadyExists), Message: "backup"}
			if f.remembered != (ElectionID{}) {
				st = &rpcstatus.Status{Code: int32(codes.NotFound), Message: "no primary"}
			}
		}
		s.send <- &p4v1.StreamMessageResponse{
			Update: &p4v1.StreamMessageResponse_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{
				DeviceId: 1, ElectionId: top.proto(), Status: st,
			}}}
	}
}

func (f *fakeSwitch) StreamChannel(stream p4v1.P4Runtime_StreamChannelServer) error {
	s := &fakeStream{send: make(chan *p4v1.StreamMessageResponse, 64), quit: make(chan error, 1)}
	f.mu.Lock()
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil {
		return refuse
	}
	received := make(chan error, 1)
	go func() { received <- f.take(stream, s) }()
	defer f.with(func() {
		if _, ok := f.streams[s]; ok {
			delete(f.streams, s)
			f.arbitrate()
		}
	})
	for {
		select {
		case m := <-s.send:
			if err := stream.Send(m); err != nil {
				return err
			}
		case err := <-s.quit:
			return err
		case err := <-received:
			return err
		}
	}
}

// take handles what a client sends.
func (f *fakeSwitch) take(stream p4v1.P4Runtime_StreamChannelServer, s *fakeStream) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f.mu.Lock()
		switch m := m.GetUpdate().(type) {
		case *p4v1.StreamMessageRequest_Arbitration:
			id := electionFromProto(m.Arbitration.GetElectionId())
			if slices.Contains(slices.Collect(maps.Values(f.streams)), id) {
				f.mu.Unlock()
				return status.Error(codes.InvalidArgument, "Election id already exists")
			}
			f.streams[s] = id
			if !f.mute {
				f.arbitrate()
			}
		case *p4v1.StreamMessageRequest_Packet:
			f.outs = append(f.outs, m.Packet)
			s.send <- &p4v1.StreamMessageResponse{
				Update: &p4v1.StreamMessageResponse_Packet{Packet: &p4v1.PacketIn{
					Payload: m.Packet.GetPayload(), Metadata: m.Packet.GetMetadata(),
				}}}
		case *p4v1.StreamMessageRequest_DigestAck:
			f.acks = append(f.acks, m.DigestAck)
		}
		f.mu.Unlock()
	}
}

func (f *fakeSwitch) Capabilities(ctx context.Context,
	_ *p4v1.CapabilitiesRequest) (*p4v1.CapabilitiesResponse, error) {
	f.mu.Lock()
	mute, err, probes := f.mute, f.capabilities, f.probes
	f.mu.Unlock()
	if probes != nil {
		probes <- struct{}{}
	}
	if mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &p4v1.CapabilitiesResponse{P4RuntimeApiVersion: "1.5.0", Experimental: f.experimental}, nil
}

func (f *fakeSwitch) GetForwardingPipelineConfig(context.Context,
	*p4v1.GetForwardingPipelineConfigRequest) (*p4v1.GetForwardingPipelineConfigResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.pipeline {
		return nil, status.Error(codes.FailedPrecondition,
			"No forwarding pipeline config set for this device")
	}
	return &p4v1.GetForwardingPipelineConfigResponse{
		Config: &p4v1.ForwardingPipelineConfig{Cookie: f.cookie}}, nil
}

func (f *fakeSwitch) SetForwardingPipelineConfig(ctx context.Context,
	r *p4v1.SetForwardingPipelineConfigRequest) (*p4v1.SetForwardingPipelineConfigResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sets != nil { // as a switch does that compiles a program: whether or not the client waits
		sets, set := f.sets, make(chan struct{})
		f.sets = nil
		f.mu.Unlock()
		sets <- set
		<-set
		f.mu.Lock()
	}
	if electionFromProto(r.GetElectionId()) != f.highest() {
		return nil, status.Error(codes.PermissionDenied, "Not primary")
	}
	f.actions = append(f.actions, r.GetAction().String())
	keep := r.GetAction() == p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT
	if keep && f.reconcile != nil {
		return nil, f.reconcile
	}
	if md, _ := metadata.FromIncomingContext(ctx); keep && len(md.Get(p4.ReconcileKey)) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the state does not fit")
	}
	f.pipeline = true
	f.installs++
	if !f.noCookie {
		f.cookie = r.GetConfig().GetCookie()
	}
	if !keep {
		f.entities = make(map[entry.Key]*p4v1.Entity)
	}
	return &p4v1.SetForwardingPipelineConfigResponse{}, nil
}

func (f *fakeSwitch) Write(ctx context.Context, r *p4v1.WriteRequest) (*p4v1.WriteResponse, error) {
	f.mu.Lock()
	hold, got := f.hold, f.gotWrite
	f.mu.Unlock()
	if got != nil {
		got <- struct{}{}
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
	if electionFromProto(r.GetElectionId()) != f.highest() {
		return nil, status.Error(codes.PermissionDenied, "Not primary")
	}
	if f.writeFault != nil {
		if err := f.writeFault(r); err != nil {
			return nil, err
		}
	}
	if !f.pipeline {
		return nil, status.Error(codes.FailedPrecondition, "no pipeline")
	}
	failed := false
	details := make([]*anypb.Any, len(r.GetUpdates()))
	for i, u := range r.GetUpdates() {
		e := f.apply(u)
		failed = failed || e.GetCanonicalCode() != 0
		details[i], _ = anypb.New(e)
	}
	if failed {
		st := status.FromProto(&rpcstatus.Status{Code: int32(codes.Unknown), Message: "see details",
			Details: details})
		return nil, st.Err()
	}
	return &p4v1.WriteResponse{}, nil
}

// apply carries out one update. f.mu is held.
func (f *fakeSwitch) apply(u *p4v1.Update) *p4v1.Error {
	if f.fault != nil {
		if e := f.fault(u); e != nil {
			return e
		}
	}
	if te := u.GetEntity().GetTableEntry(); te != nil && te.GetAction() == nil &&
		!te.GetIsDefaultAction() {
		// deletes have none
		te.Action = &p4v1.TableAction{
			Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: 1}}
	}
	e, err := f.schema.Decode(u.GetEntity())
	if err != nil {
		return &p4v1.Error{CanonicalCode: int32(codes.InvalidArgument), Message: err.Error()}
	}
	if e == nil { // a default action set back
		return &p4v1.Error{}
	}
	key := e.Key()
	_, exists := f.entities[key]
	switch {
	case u.GetType() == p4v1.Update_INSERT && exists:
		return &p4v1.Error{CanonicalCode: int32(codes.AlreadyExists), Message: "exists"}
	case u.GetType() != p4v1.Update_INSERT && !exists && e.Kind() != entry.KindDefault:
		return &p4v1.Error{CanonicalCode: int32(codes.NotFound), Message: "no such entry"}
	case u.GetType() == p4v1.Update_DELETE:
		delete(f.entities, key)
	default:
		f.entities[key] = u.GetEntity()
	}
	return &p4v1.Error{}
}

func (f *fakeSwitch) Read(r *p4v1.ReadRequest, stream p4v1.P4Runtime_ReadServer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.pipeline {
		return status.Error(codes.FailedPrecondition, "no pipeline")
	}
	for _, p := range r.GetEntities() {
		if f.readFault != nil {
			if err := f.readFault(p); err != nil {
				return err
			}
		}
		for _, k := range slices.Sorted(maps.Keys(f.entities)) {
			e := f.entities[k]
			if !matchesPattern(p, e) {
				continue
			}
			if f.report != nil {
				e = f.report(proto.CloneOf(e))
			}
			if err := stream.Send(&p4v1.ReadResponse{Entities: []*p4v1.Entity{e}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func matchesPattern(p, e *p4v1.Entity) bool {
	id := func(pattern, have uint32) bool { return pattern == 0 || pattern == have }
	switch {
	case p.GetTableEntry() != nil && e.GetTableEntry() != nil:
		return p.GetTableEntry().GetIsDefaultAction() == e.GetTableEntry().GetIsDefaultAction() &&
			id(p.GetTableEntry().GetTableId(), e.GetTableEntry().GetTableId())
	case p.GetActionProfileMember() != nil && e.GetActionProfileMember() != nil:
		return id(p.GetActionProfileMember().GetActionProfileId(),
			e.GetActionProfileMember().GetActionProfileId())
	case p.GetActionProfileGroup() != nil && e.GetActionProfileGroup() != nil:
		return id(p.GetActionProfileGroup().GetActionProfileId(),
			e.GetActionProfileGroup().GetActionProfileId())
	case p.GetCounterEntry() != nil && e.GetCounterEntry() != nil:
		return id(p.GetCounterEntry().GetCounterId(), e.GetCounterEntry().GetCounterId())
	}
	if p.GetDigestEntry() != nil {
		return e.GetDigestEntry() != nil &&
			p.GetDigestEntry().GetDigestId() == e.GetDigestEntry().GetDigestId()
	}
	pp, ep := p.GetPacketReplicationEngineEntry(), e.GetPacketReplicationEngineEntry()
	return pp.GetMulticastGroupEntry() != nil && ep.GetMulticastGroupEntry() != nil ||
		pp.GetCloneSessionEntry() != nil && ep.GetCloneSessionEntry() != nil
}
