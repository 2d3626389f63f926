package p4rt_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/p4/wire"
)

// octets is a gRPC codec whose messages are encoded already, or stay so: the client of a benchmark
// costs nothing but its transport.
type octets struct{}

func (octets) Name() string { return "proto" }

func (octets) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (octets) Unmarshal(data mem.BufferSlice, v any) error {
	b := v.(*[]byte)
	*b = (*b)[:0]
	for _, x := range data {
		*b = append(*b, x.ReadOnlyData()...)
	}
	return nil
}

// roomyFabric is the fabric's program with room for n entries in mt_branch.
func roomyFabric(t testing.TB, n int) *p4v1.ForwardingPipelineConfig {
	t.Helper()
	info, name := p4.P4Info(), ""
	for _, table := range info.GetTables() {
		if table.GetPreamble().GetId() == p4.TableMtBranchID {
			name, table.Size = table.GetPreamble().GetName(), int64(n)
		}
	}
	var program map[string]any
	if err := json.Unmarshal(p4.JSON(), &program); err != nil {
		t.Fatal(err)
	}
	for _, pl := range program["pipelines"].([]any) {
		for _, x := range pl.(map[string]any)["tables"].([]any) {
			if table := x.(map[string]any); table["name"] == name {
				table["max_size"] = n
			}
		}
	}
	data, err := json.Marshal(program)
	if err != nil {
		t.Fatal(err)
	}
	return &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: data}
}

// branchUpdate is about the i-th of many entries of mt_branch.
func branchUpdate(typ p4v1.Update_Type, i int) *p4v1.Update {
	exact := func(id uint32, v []byte) *p4v1.FieldMatch {
		return &p4v1.FieldMatch{FieldId: id,
			FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: v}}}
	}
	source := []byte{0x20, 0x01, 0x0d, 0xb8, 0, 2, 15: 0}
	binary.BigEndian.PutUint32(source[12:], uint32(i))
	e := &p4v1.TableEntry{TableId: p4.TableMtBranchID, Match: []*p4v1.FieldMatch{
		exact(1, []byte{1, byte(i)}), exact(2, []byte{byte(i%32 + 1)}), exact(3, source),
	}}
	if typ != p4v1.Update_DELETE {
		param := func(id uint32, v ...byte) *p4v1.Action_Param {
			return &p4v1.Action_Param{ParamId: id, Value: v}
		}
		e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_Action{
			Action: &p4v1.Action{ActionId: p4.ActionSetBranchID, Params: []*p4v1.Action_Param{
				param(1, byte(i%32)), param(2, 1, 2, 3, 4), param(3, 1), param(4, 0x80|byte(i>>16), byte(i>>8),
					byte(i)),
			}}}}
	}
	return &p4v1.Update{Type: typ,
		Entity: wire.Entity(e)}
}

// BenchmarkServer writes entries through gRPC on loopback in batches of 1,000, and reads them back
// whole. The requests are encoded before, and the responses not decoded after: what is measured is
// the server, and the transport of both sides. An operation is one entry.
func BenchmarkServer(b *testing.B) {
	const batch = 1000
	serve := func(b *testing.B, n int) *grpc.ClientConn {
		r, err := live.Start(live.Config{Device: p4rt.Config{ID: 1}})
		if err != nil {
			b.Fatal(err)
		}
		s := p4rt.NewServer(p4rt.ServerConfig{})
		if err := s.Add(r.Sessions(), r); err != nil {
			b.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		conn, err := grpc.NewClient(l.Addr().String(),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			conn.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			s.Close(ctx)
			if err := errors.Join(<-served, r.Close()); err != nil {
				b.Error(err)
			}
		})
		client := p4v1.NewP4RuntimeClient(conn)
		stream, err := client.StreamChannel(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
			Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 1}},
		}}); err != nil {
			b.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			b.Fatal(err)
		}
		if _, err := client.SetForwardingPipelineConfig(b.Context(),
			&p4v1.SetForwardingPipelineConfigRequest{
				DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 1}, Config: roomyFabric(b, n),
				Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			}); err != nil {
			b.Fatal(err)
		}
		return conn
	}
	encode := func(b *testing.B, n int) [][]byte {
		var out [][]byte
		for i := 0; i < n; i += batch {
			req := &p4v1.WriteRequest{DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 1}}
			for j := i; j < min(n, i+batch); j++ {
				req.Updates = append(req.Updates, branchUpdate(p4v1.Update_INSERT, j))
			}
			m, err := proto.Marshal(req)
			if err != nil {
				b.Fatal(err)
			}
			out = append(out, m)
		}
		return out
	}
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	fill := func(b *testing.B, conn *grpc.ClientConn, requests [][]byte) {
		var reply []byte
		for i := range requests {
			if err := conn.Invoke(b.Context(), p4v1.P4Runtime_Write_FullMethodName, &requests[i], &reply,
				grpc.ForceCodecV2(octets{})); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("write", func(b *testing.B) {
		conn, requests := serve(b, b.N), encode(b, b.N)
		b.ReportAllocs()
		b.ResetTimer()
		used := cpu()
		fill(b, conn, requests)
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		b.ReportMetric(float64(cpu()-used)/float64(b.N), "cpu-ns/op")
	})
	b.Run("read", func(b *testing.B) {
		conn := serve(b, b.N)
		fill(b, conn, encode(b, b.N))
		request, err := proto.Marshal(&p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{{
			Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: p4.TableMtBranchID}},
		}}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		used := cpu()
		stream, err := conn.NewStream(b.Context(), &grpc.StreamDesc{ServerStreams: true},
			p4v1.P4Runtime_Read_FullMethodName, grpc.ForceCodecV2(octets{}))
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(stream.SendMsg(&request), stream.CloseSend()); err != nil {
			b.Fatal(err)
		}
		var size int
		for m := []byte(nil); ; {
			if err := stream.RecvMsg(&m); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			size += len(m)
		}
		if size < 60*b.N {
			b.Fatalf("%d octets for %d entries", size, b.N)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		b.ReportMetric(float64(cpu()-used)/float64(b.N), "cpu-ns/op")
	})
}
