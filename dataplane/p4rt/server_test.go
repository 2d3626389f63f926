package p4rt_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/p4/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network is a server with live switches and a listener in memory.
type network struct {
	server *p4rt.Server
	dial   func(context.Context, string) (net.Conn, error)
	host   map[uint32]live.Port // the far ends of switch 1's cables
	runner *live.Runner
}

func newNetwork(t *testing.T, cfg p4rt.ServerConfig, devices ...uint64) *network {
	t.Helper()
	return newNetworkOf(t, cfg, func(e p4rt.Executor) p4rt.Executor { return e }, devices...)
}

// newNetworkWith has one switch, whose calls go through what wrap makes.
func newNetworkWith(t *testing.T, wrap func(p4rt.Executor) p4rt.Executor) *network {
	t.Helper()
	return newNetworkOf(t, p4rt.ServerConfig{}, wrap, 1)
}

func newNetworkOf(t *testing.T, cfg p4rt.ServerConfig, wrap func(p4rt.Executor) p4rt.Executor,
	devices ...uint64) *network {
	t.Helper()
	n := &network{server: p4rt.NewServer(cfg), host: make(map[uint32]live.Port)}
	var cache p4rt.Cache
	for _, id := range devices {
		ports := make(map[uint32]live.Port)
		for p := uint32(1); p <= 3; p++ {
			c := livetest.NewCable()
			ports[p] = c.A
			if id == devices[0] {
				n.host[p] = c.B
			}
		}
		r, err := live.Start(live.Config{Device: p4rt.Config{ID: id, Cache: &cache}, Ports: ports})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		if n.runner == nil {
			n.runner = r
		}
		if err := n.server.Add(r.Sessions(), wrap(r)); err != nil {
			t.Fatal(err)
		}
	}
	l := bufconn.Listen(1 << 20)
	n.dial = func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		n.server.Close(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return n
}

func (n *network) client(t *testing.T) p4v1.P4RuntimeClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:switch", grpc.WithContextDialer(n.dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return p4v1.NewP4RuntimeClient(conn)
}

// controller is a stream of the plain generated client.
type controller struct {
	p4v1.P4Runtime_StreamChannelClient
	t      *testing.T
	cancel context.CancelFunc
}

func newController(t *testing.T, c p4v1.P4RuntimeClient) *controller {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	s, err := c.StreamChannel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &controller{s, t, cancel}
}

func (c *controller) arbitrate(device, election uint64) {
	c.t.Helper()
	if err := c.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
		Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: device,
			ElectionId: &p4v1.Uint128{Low: election}},
	}}); err != nil {
		c.t.Fatal(err)
	}
}

// wantStatus receives a notice with a status code.
func (c *controller) wantStatus(code codes.Code) {
	c.t.Helper()
	m, err := c.Recv()
	if err != nil {
		c.t.Fatal(err)
	}
	a := m.GetArbitration()
	if a == nil || codes.Code(a.GetStatus().GetCode()) != code {
		c.t.Fatalf("got %v, want an arbitration update with %s", m, code)
	}
}

func entitiesConfig(t testing.TB) *p4v1.ForwardingPipelineConfig {
	t.Helper()
	text, err := os.ReadFile("testdata/entities.p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	info := &configv1.P4Info{}
	if err := prototext.Unmarshal(text, info); err != nil {
		t.Fatal(err)
	}
	json, err := os.ReadFile("testdata/entities.json")
	if err != nil {
		t.Fatal(err)
	}
	return &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: json,
		Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: 42}}
}

func table(cfg *p4v1.ForwardingPipelineConfig, alias string) uint32 {
	for _, t := range cfg.GetP4Info().GetTables() {
		if t.GetPreamble().GetAlias() == alias {
			return t.GetPreamble().GetId()
		}
	}
	panic("no table " + alias)
}

func action(cfg *p4v1.ForwardingPipelineConfig, alias string) uint32 {
	for _, a := range cfg.GetP4Info().GetActions() {
		if a.GetPreamble().GetAlias() == alias {
			return a.GetPreamble().GetId()
		}
	}
	panic("no action " + alias)
}

func setPipeline(t *testing.T, c p4v1.P4RuntimeClient, device, election uint64,
	cfg *p4v1.ForwardingPipelineConfig) {
	t.Helper()
	if _, err := c.SetForwardingPipelineConfig(context.Background(),
		&p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: device, ElectionId: &p4v1.Uint128{Low: election},
			Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: cfg,
		}); err != nil {
		t.Fatal(err)
	}
}

func toCPU(cfg *p4v1.ForwardingPipelineConfig) *p4v1.Update {
	return &p4v1.Update{Type: p4v1.Update_MODIFY,
		Entity: wire.Entity(&p4v1.TableEntry{
			TableId: table(cfg, "miss"), IsDefaultAction: true,
			Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: action(
				cfg, "to_cpu")}}},
		})}
}

// A stock client does what a controller does: arbitrate, push the pipeline,
// write, read back, get packets in, send packets out, lose primacy.
func TestStockClient(t *testing.T) {
	n := newNetwork(t, p4rt.ServerConfig{}, 1, 7)
	client := n.client(t)
	ctx := context.Background()
	cfg := entitiesConfig(t)

	if r, err := client.Capabilities(ctx, &p4v1.CapabilitiesRequest{DeviceId: 7}); err != nil ||
		r.GetP4RuntimeApiVersion() != p4rt.APIVersion {
		t.Fatalf("capabilities: %v, %v", r, err)
	}
	if _, err := client.Capabilities(ctx,
		&p4v1.CapabilitiesRequest{DeviceId: 8}); status.Code(err) != codes.NotFound {
		t.Fatalf("capabilities of an unknown device: %v", err)
	}
	if _, err := client.Write(ctx,
		&p4v1.WriteRequest{DeviceId: 9}); status.Code(err) != codes.NotFound {
		t.Fatalf("write to an unknown device: %v", err)
	}

	a := newController(t, client)
	a.arbitrate(1, 1)
	a.wantStatus(codes.OK)
	setPipeline(t, client, 1, 1, cfg)
	got, err := client.GetForwardingPipelineConfig(ctx,
		&p4v1.GetForwardingPipelineConfigRequest{DeviceId: 1})
	if err != nil || !proto.Equal(got.GetConfig(), cfg) {
		t.Fatalf("the config reads back otherwise: %v", err)
	}
	got, err = client.GetForwardingPipelineConfig(ctx,
		&p4v1.GetForwardingPipelineConfigRequest{DeviceId: 7})
	if err != nil || got.GetConfig() != nil {
		t.Fatalf("device 7 has a config: %v, %v", got, err)
	}

	// Per-update errors arrive as details of the gRPC status.
	_, err = client.Write(ctx, &p4v1.WriteRequest{DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 1},
		Updates: []*p4v1.Update{
			toCPU(cfg),
			{Type: p4v1.Update_INSERT,
				Entity: wire.Entity(&p4v1.TableEntry{TableId: 3})},
		}})
	st := status.Convert(err)
	if st.Code() != codes.Unknown || len(st.Details()) != 2 {
		t.Fatalf("write: %v with details %v", err, st.Details())
	}
	for i, want := range []codes.Code{codes.OK, codes.InvalidArgument} {
		if e, ok := st.Details()[i].(*p4v1.Error); !ok || codes.Code(e.GetCanonicalCode()) != want {
			t.Fatalf("detail %d: %v, want %s", i, st.Details()[i], want)
		}
	}
	read, err := client.Read(ctx, &p4v1.ReadRequest{DeviceId: 1,
		Entities: []*p4v1.Entity{{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
			TableId: table(cfg, "miss"), IsDefaultAction: true,
		}}}}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := read.Recv()
	if err != nil || len(resp.GetEntities()) != 1 ||
		!proto.Equal(resp.GetEntities()[0], toCPU(cfg).GetEntity()) {
		t.Fatalf("read: %v, %v", resp, err)
	}
	if _, err := read.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("read goes on: %v", err)
	}

	// A frame comes in on port 2 and reaches the controller.
	frame := []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x12\x34payload")
	n.host[2].Send([][]byte{frame})
	m, err := a.Recv()
	if err != nil || string(m.GetPacket().GetPayload()) != string(frame) ||
		string(m.GetPacket().GetMetadata()[0].GetValue()) != "\x02" {
		t.Fatalf("packet-in: %v, %v", m, err)
	}

	// A packet-out leaves on port 3.
	out := make(chan string, 1)
	n.host[3].Attach(func(frames [][]byte) { out <- string(frames[0]) }, nil)
	if err := a.Send(
		&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{
			Payload: frame, Metadata: []*p4v1.PacketMetadata{{MetadataId: 1, Value: []byte{3}},
				{MetadataId: 2, Value: []byte{0}}},
		}}}); err != nil {
		t.Fatal(err)
	}
	if f := <-out; f != string(frame) {
		t.Fatalf("packet-out: %x", f)
	}

	// A second controller takes over; the first is told and may not write.
	b := newController(t, n.client(t))
	b.arbitrate(1, 2)
	b.wantStatus(codes.OK)
	a.wantStatus(codes.AlreadyExists)
	if _, err := client.Write(ctx,
		&p4v1.WriteRequest{DeviceId: 1,
			ElectionId: &p4v1.Uint128{Low: 1}}); status.Code(err) != codes.PermissionDenied {
		t.Fatalf("a deposed controller writes: %v", err)
	}
	// The new one hangs up.
	b.cancel()
	a.wantStatus(codes.NotFound)
	a.arbitrate(1, 2)
	a.wantStatus(codes.OK)

	// Closing the sending side ends the session and the stream.
	if err := a.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("the stream goes on: %v", err)
	}
}

func TestStreamErrors(t *testing.T) {
	n := newNetwork(t, p4rt.ServerConfig{}, 1)
	client := n.client(t)

	// Before arbitration everything else is refused on the stream.
	c := newController(t, client)
	if err := c.Send(&p4v1.StreamMessageRequest{
		Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{}}}); err != nil {
		t.Fatal(err)
	}
	m, err := c.Recv()
	if err != nil || codes.Code(m.GetError().GetCanonicalCode()) != codes.PermissionDenied ||
		m.GetError().GetPacketOut() == nil {
		t.Fatalf("got %v, %v", m, err)
	}
	c.arbitrate(1, 1)
	c.wantStatus(codes.OK)

	for _, x := range []struct {
		device, election uint64
		want             codes.Code
	}{{3, 1, codes.NotFound}, {1, 1, codes.InvalidArgument}} {
		c := newController(t, client)
		c.arbitrate(x.device, x.election)
		if _, err := c.Recv(); status.Code(err) != x.want {
			t.Errorf("device %d, election id %d: %v, want %s", x.device, x.election, err, x.want)
		}
	}
	// An empty message ends the stream.
	e := newController(t, client)
	if err := e.Send(&p4v1.StreamMessageRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an empty message: %v", err)
	}
}

// A controller that does not read loses packet-ins; it delays nobody.
func TestSlowController(t *testing.T) {
	n := newNetwork(t, p4rt.ServerConfig{StreamQueue: 8}, 1)
	client := n.client(t)
	cfg := entitiesConfig(t)
	a := newController(t, client)
	a.arbitrate(1, 1)
	a.wantStatus(codes.OK)
	setPipeline(t, client, 1, 1, cfg)
	if _, err := client.Write(context.Background(), &p4v1.WriteRequest{DeviceId: 1,
		ElectionId: &p4v1.Uint128{Low: 1}, Updates: []*p4v1.Update{toCPU(cfg)}}); err != nil {
		t.Fatal(err)
	}
	frame := append([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x12\x34"),
		make([]byte, 8192)...)
	for n.server.Dropped() == 0 {
		n.host[1].Send([][]byte{frame})
		// The device answers all the while.
		if _, err := client.Capabilities(context.Background(),
			&p4v1.CapabilitiesRequest{DeviceId: 1}); err != nil {
			t.Fatal(err)
		}
		if err := n.runner.Do(context.Background(), func(time.Duration) {}); err != nil {
			t.Fatal(err)
		}
	}
	a.cancel()
}

// Close ends open streams with UNAVAILABLE.
func TestServerClose(t *testing.T) {
	n := newNetwork(t, p4rt.ServerConfig{}, 1)
	a := newController(t, n.client(t))
	a.arbitrate(1, 1)
	a.wantStatus(codes.OK)
	n.server.Close(context.Background())
	if _, err := a.Recv(); status.Code(err) != codes.Unavailable {
		t.Fatalf("the stream ends with %v", err)
	}
	n.server.Close(context.Background()) // once more does no harm
}

// A device that is closed answers UNAVAILABLE.
func TestClosedDevice(t *testing.T) {
	n := newNetwork(t, p4rt.ServerConfig{}, 1)
	client := n.client(t)
	n.runner.Close()
	if _, err := client.Write(context.Background(),
		&p4v1.WriteRequest{DeviceId: 1}); status.Code(err) != codes.Unavailable {
		t.Fatalf("write: %v", err)
	}
	c := newController(t, client)
	c.arbitrate(1, 1)
	if _, err := c.Recv(); status.Code(err) != codes.Unavailable {
		t.Fatalf("stream: %v", err)
	}
}

func TestDuplicateDevice(t *testing.T) {
	n := newNetwork(t, p4rt.ServerConfig{}, 1)
	if err := n.server.Add(n.runner.Sessions(), n.runner); !errors.Is(err, p4rt.ErrDuplicateDevice) {
		t.Fatalf("got %v", err)
	}
}

// Mutual TLS over loopback: a client without certificate gets nowhere.
func TestMutualTLS(t *testing.T) {
	ca := certstest.New(t)
	ca.Issue(t, "server", "server", "switch")
	ca.Issue(t, "client", "client")
	creds, err := p4rt.TLSConfig{CertFile: ca.File("server.pem"), KeyFile: ca.File("server.key"),
		ClientCAFile: ca.File("ca.pem")}.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t, p4rt.ServerConfig{Credentials: creds}, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(l) }()
	defer func() {
		n.server.Close(context.Background())
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		name, cert, key string
		want            codes.Code
	}{{"with certificate", ca.File("client.pem"), ca.File("client.key"), codes.OK},
		{"without", "", "", codes.Unavailable}} {
		client, err := certs.Client{Enabled: true, CAFile: ca.File("ca.pem"), CertFile: c.cert,
			KeyFile: c.key, ServerName: "switch"}.Credentials(tls.VersionTLS12)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(client))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err = p4v1.NewP4RuntimeClient(conn).Capabilities(ctx, &p4v1.CapabilitiesRequest{})
		cancel()
		conn.Close()
		if status.Code(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if c, err := (p4rt.TLSConfig{}).Credentials(); c != nil || err != nil {
		t.Errorf("no files: %v, %v", c, err)
	}
	if _, err := (p4rt.TLSConfig{CertFile: "nowhere"}).Credentials(); err == nil {
		t.Error("a missing file is accepted")
	}
}
