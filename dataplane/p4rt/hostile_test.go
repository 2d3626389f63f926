package p4rt_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/dataplane/clientlimit/limittest"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
)

const (
	writeMethod    = "/p4.v1.P4Runtime/Write"
	readMethod     = "/p4.v1.P4Runtime/Read"
	streamMethod   = "/p4.v1.P4Runtime/StreamChannel"
	pipelineMethod = "/p4.v1.P4Runtime/SetForwardingPipelineConfig"
)

// siege is a switch with a table, its primary controller, and an address for others.
type siege struct {
	t       *testing.T
	net     *network
	address string
	client  p4v1.P4RuntimeClient
	entries int
	before  uint64 // octets of memory in use
}

// besiege starts a switch with a table of some entries.
func besiege(t *testing.T, cfg p4rt.ServerConfig, entries int) *siege {
	t.Helper()
	s := &siege{t: t, net: newNetwork(t, cfg, 1), entries: entries}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.net.server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.net.server.Close(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s.client = p4v1.NewP4RuntimeClient(conn)
	c := newController(t, s.client)
	c.arbitrate(1, 1)
	c.wantStatus(codes.OK)
	if _, err := s.client.SetForwardingPipelineConfig(t.Context(),
		&p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 1}, Config: roomyFabric(t, entries+1),
			Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		}); err != nil {
		t.Fatal(err)
	}
	req := &p4v1.WriteRequest{DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 1}}
	for i := range entries {
		req.Updates = append(req.Updates, branchUpdate(p4v1.Update_INSERT, i))
	}
	if _, err := s.client.Write(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	s.before = inUse()
	return s
}

// besieged reports whether the tests run large attacks, as make soak does.
func besieged() bool { return os.Getenv("WEFT_SIEGE") != "" }

// inUse returns the octets of memory that the process holds for objects, garbage included.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// controller checks that the primary can write and read all the while, and how much memory is in
// use.
func (s *siege) controller(rounds int, read bool, limit uint64) {
	s.t.Helper()
	var longest time.Duration
	for range rounds {
		start := time.Now()
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
		for _, typ := range []p4v1.Update_Type{p4v1.Update_INSERT, p4v1.Update_DELETE} {
			if _, err := s.client.Write(ctx, &p4v1.WriteRequest{DeviceId: 1,
				ElectionId: &p4v1.Uint128{Low: 1},
				Updates:    []*p4v1.Update{branchUpdate(typ, s.entries)}}); err != nil {
				s.t.Errorf("the primary writes: %v", err)
			}
		}
		if read {
			if n, err := readAll(ctx, s.client); err != nil || n != s.entries {
				s.t.Errorf("the primary reads %d of %d entries: %v", n, s.entries, err)
			}
		}
		cancel()
		longest = max(longest, time.Since(start))
		if m := inUse(); m > s.before+limit {
			s.t.Fatalf("%d MiB in use, %d before; want %d more at most", m>>20, s.before>>20, limit>>20)
		}
	}
	s.t.Logf("the slowest of %d rounds of the primary took %v; %+v", rounds, longest,
		s.net.server.Stats().Clients)
	if longest > 10*time.Second {
		s.t.Errorf("a round of the primary took %v", longest)
	}
}

func allBranches() *p4v1.ReadRequest {
	return &p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{{
		Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: p4.TableMtBranchID}},
	}}}
}

func readAll(ctx context.Context, c p4v1.P4RuntimeClient) (entities int, err error) {
	s, err := c.Read(ctx, allBranches())
	for err == nil {
		var r *p4v1.ReadResponse
		if r, err = s.Recv(); err == nil {
			entities += len(r.GetEntities())
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entities, err
}

func encode(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// request calls a method with a whole message, and returns the stream.
func request(t *testing.T, c *limittest.Client, method string, m []byte) *limittest.Stream {
	t.Helper()
	s, err := c.Call(method)
	if err == nil {
		err = s.Message(len(m), m)
	}
	if err == nil {
		err = s.CloseSend()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *siege) wantStatus(x *limittest.Stream, want codes.Code) {
	s.t.Helper()
	if got, err := x.Status(); err != nil || codes.Code(got) != want {
		s.t.Errorf("the call ended with %s, %v; want %s", codes.Code(got), err, want)
	}
}

// TestStrangersPipelines checks that the server does not decode pipeline configurations and Writes
// from clients that are not primary, refuses long messages, and bounds the memory for messages that
// never end.
func TestStrangersPipelines(t *testing.T) {
	const message = 8 << 20
	attacks, limit := 8, uint64(96<<20)
	if besieged() {
		attacks = 200
	}
	s := besiege(t, p4rt.ServerConfig{MaxMessage: message,
		Limits: clientlimit.Config{Unfinished: 2 * message}}, 100)
	pipeline := encode(t, &p4v1.SetForwardingPipelineConfigRequest{DeviceId: 1,
		ElectionId: &p4v1.Uint128{Low: 9},
		Action:     p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: p4.P4Info(),
			P4DeviceConfig: make([]byte, message-1<<20)}})
	s.before = inUse()
	c := limittest.Dial(t, s.address)
	s.wantStatus(request(t, c, pipelineMethod, pipeline), codes.PermissionDenied)
	// Octets that are no updates at all: had they been decoded, the call would have failed otherwise.
	write := append(encode(t, &p4v1.WriteRequest{DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 9}}),
		0x22, 0x80, 0x80, 0x08)
	write = append(write, make([]byte, 128<<10)...)
	s.wantStatus(request(t, c, writeMethod, write), codes.PermissionDenied)
	for _, method := range []string{pipelineMethod, writeMethod, readMethod} {
		x, err := c.Call(method)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Message(250<<20, nil); err != nil {
			t.Fatal(err)
		}
		s.wantStatus(x, codes.ResourceExhausted)
	}
	var attack sync.WaitGroup
	for i := range attacks {
		c := limittest.Dial(t, s.address)
		for _, method := range []string{pipelineMethod, writeMethod, streamMethod, readMethod} {
			attack.Go(func() {
				if x, err := c.Call(method); err == nil {
					_ = x.Message(message, pipeline[:message-2<<20]) // until the connection is closed
				}
			})
		}
		if i%2 == 0 {
			s.controller(1, true, limit)
		}
	}
	attack.Wait()
	s.controller(5, true, limit)
	n := s.net.server.Stats().Clients
	if n.Refused[clientlimit.Unfinished] == 0 || n.Unfinished > 2*message {
		t.Errorf("%+v", n)
	}
}

// TestReadsNeverRead checks that clients that ask for a table again and again and read nothing take
// bounded memory, and that others read and write beside them.
func TestReadsNeverRead(t *testing.T) {
	connections, limit, backlog := 4, uint64(96<<20), 1<<20
	if besieged() {
		connections, limit = 30, 160<<20
	}
	s := besiege(t, p4rt.ServerConfig{ReadBacklog: backlog}, 5_000) // a third of the backlog
	ask := encode(t, allBranches())
	for i := range connections {
		c := limittest.Dial(t, s.address)
		for range clientlimit.MaxCalls {
			request(t, c, readMethod, ask)
		}
		if i%4 == 0 {
			s.controller(1, true, limit)
		}
	}
	for s.net.server.Stats().Clients.Refused[clientlimit.Backlog] == 0 && !t.Failed() {
		s.controller(1, true, limit)
	}
	s.controller(5, true, limit)
	if n := s.net.server.Stats(); n.Unread > backlog {
		t.Errorf("%+v", n)
	}
}

// TestStalledReader checks that a Read ends whose client reads nothing.
func TestStalledReader(t *testing.T) {
	s := besiege(t, p4rt.ServerConfig{Limits: clientlimit.Config{Stall: 20 * time.Millisecond}}, 5_000)
	x := request(t, limittest.Dial(t, s.address), readMethod, encode(t, allBranches()))
	for s.net.server.Stats().Clients.Refused[clientlimit.Stalled] == 0 {
		if _, err := s.client.Capabilities(t.Context(), &p4v1.CapabilitiesRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Allow(16 << 20); err != nil { // now it reads, and learns of it
		t.Fatal(err)
	}
	s.wantStatus(x, codes.ResourceExhausted)
	if n := s.net.server.Stats().Unread; n != 0 {
		t.Errorf("%d octets of the answer are kept", n)
	}
}

// TestArbitrationFlood checks that the server stops listening to clients that stream arbitration
// updates and never read, and that the primary for another role works on.
func TestArbitrationFlood(t *testing.T) {
	const flood = 64 << 20
	s := besiege(t, p4rt.ServerConfig{}, 100)
	update := func(role string) []byte {
		m := encode(t, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
			Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 5},
				Role: &p4v1.Role{Name: role}}}})
		return m
	}
	var attack sync.WaitGroup
	var streams []*limittest.Stream
	var clients []*limittest.Client
	for _, role := range []string{"a", "b"} {
		c := limittest.Dial(t, s.address)
		x, err := c.Call(streamMethod)
		if err != nil {
			t.Fatal(err)
		}
		streams, clients = append(streams, x), append(clients, c)
		attack.Go(func() {
			m := update(role)
			for x.Sent() < flood && x.Message(len(m), m) == nil {
			}
		})
	}
	s.controller(50, false, 32<<20)
	for _, x := range streams {
		if n := x.Sent(); n > flood/8 {
			t.Errorf("the switch took %d MiB of arbitration updates", n>>20)
		}
	}
	for _, c := range clients {
		c.Close()
	}
	attack.Wait()
}

// TestMaxConnections checks that the server closes and counts connections beyond an address's
// limit, that controllers keep their connections, and that an untrusted client gets service while
// it uses its connection.
func TestMaxConnections(t *testing.T) {
	const limit = 5
	s := besiege(t, p4rt.ServerConfig{Limits: clientlimit.Config{PerClient: limit}}, 10)
	for range 4 * limit {
		limittest.Dial(t, s.address)
	}
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := p4v1.NewP4RuntimeClient(conn).Capabilities(t.Context(), &p4v1.CapabilitiesRequest{},
		grpc.WaitForReady(true)); err != nil {
		t.Errorf("a client beside those that do nothing: %v", err)
	}
	s.controller(2, true, 16<<20)
	if n := s.net.server.Stats().Clients; n.Refused[clientlimit.PerClient] < 3*limit {
		t.Errorf("%+v", n)
	}
}

// TestManyStreams checks the limit of stream channels of a device on a connection, and that a
// server of many devices can take a stream of each.
func TestManyStreams(t *testing.T) {
	const devices = 20
	ids := make([]uint64, devices)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	n := newNetwork(t, p4rt.ServerConfig{Limits: clientlimit.Config{Calls: 100}}, ids...)
	client := n.client(t)
	for _, id := range ids {
		c := newController(t, client)
		c.arbitrate(id, 1)
		c.wantStatus(codes.OK)
	}
	for i := range uint64(clientlimit.MaxStreams - 1) {
		c := newController(t, client)
		c.arbitrate(1, 100+i)
		c.wantStatus(codes.OK)
	}
	c := newController(t, client)
	c.arbitrate(1, 200)
	if _, err := c.Recv(); status.Code(err) != codes.ResourceExhausted ||
		n.server.Stats().Clients.Refused[clientlimit.Streams] != 1 {
		t.Errorf("a stream more than %d: %v, %+v", clientlimit.MaxStreams, err, n.server.Stats().Clients)
	}
}
