package p4rt_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4/wire"
)

// tutor sends the same messages as p4runtime_lib of p4lang/tutorials: one update a Write, values as
// wide as their fields, and only the lower half of the election id outside of the stream.
type tutor struct {
	t      *testing.T
	client p4v1.P4RuntimeClient
	cfg    *p4v1.ForwardingPipelineConfig
}

func (c *tutor) write(typ p4v1.Update_Type, e *p4v1.Entity) {
	c.t.Helper()
	_, err := c.client.Write(context.Background(), &p4v1.WriteRequest{
		ElectionId: &p4v1.Uint128{Low: 1}, Updates: []*p4v1.Update{{Type: typ, Entity: e}},
	})
	if err != nil {
		c.t.Fatalf("%v %v: %v", typ, e, err)
	}
}

func (c *tutor) read(e *p4v1.Entity) (out []*p4v1.Entity) {
	c.t.Helper()
	stream, err := c.client.Read(context.Background(), &p4v1.ReadRequest{Entities: []*p4v1.Entity{e}})
	for err == nil {
		var r *p4v1.ReadResponse
		if r, err = stream.Recv(); err == nil {
			out = append(out, r.GetEntities()...)
		}
	}
	if !errors.Is(err, io.EOF) {
		c.t.Fatalf("read %v: %v", e, err)
	}
	return out
}

func entryOf(e *p4v1.TableEntry) *p4v1.Entity {
	return wire.Entity(e)
}

func preOf(e *p4v1.PacketReplicationEngineEntry) *p4v1.Entity {
	return wire.Entity(e)
}

// wide returns a number in a number of octets.
func wide(n uint64, octets int) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, max(0, octets-8)), n)
	return b[len(b)-octets:]
}

// TestTutorialsClient does the same as the controllers of the exercises: it programs a switch of
// device id 0, in the message p4.tmp.P4DeviceConfig; writes entries, a default action, a multicast
// group and a clone session; reads entries and counters; takes a packet-in and answers with a
// packet-out whose metadata have one octet for each bit of the field; and deletes an entry.
func TestTutorialsClient(t *testing.T) {
	n := newNetwork(t, p4rt.ServerConfig{}, 0)
	cfg := entitiesConfig(t)
	c := &tutor{t: t, client: n.client(t), cfg: cfg}

	s := newController(t, c.client)
	if err := s.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
		Arbitration: &p4v1.MasterArbitrationUpdate{ElectionId: &p4v1.Uint128{High: 0, Low: 1}},
	}}); err != nil {
		t.Fatal(err)
	}
	s.wantStatus(0)

	var device []byte // P4DeviceConfig: reassign, device_data
	device = protowire.AppendVarint(protowire.AppendTag(device, 1, protowire.VarintType), 1)
	device = protowire.AppendBytes(protowire.AppendTag(device, 3, protowire.BytesType),
		cfg.P4DeviceConfig)
	if _, err := c.client.SetForwardingPipelineConfig(context.Background(),
		&p4v1.SetForwardingPipelineConfigRequest{
			ElectionId: &p4v1.Uint128{Low: 1},
			Action:     p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			Config:     &p4v1.ForwardingPipelineConfig{P4Info: cfg.P4Info, P4DeviceConfig: device},
		}); err != nil {
		t.Fatal(err)
	}

	const station, first, second = 0x0a0b, 2, 3
	entries := []*p4v1.TableEntry{
		{
			TableId: table(cfg, "station"),
			Match: []*p4v1.FieldMatch{{FieldId: 1,
				FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: wide(station,
					6)}}}},
			Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: action(
				cfg, "station_forward"), Params: []*p4v1.Action_Param{
				{ParamId: 1, Value: wide(second, 2)}, {ParamId: 2, Value: wide(0, 2)},
			}}}},
		},
		{
			TableId: table(cfg, "route"),
			Match: []*p4v1.FieldMatch{{FieldId: 1,
				FieldMatchType: &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{
					Value: append([]byte{0x20, 1, 0x0d, 0xb8}, make([]byte, 12)...), PrefixLen: 32,
				}}}},
			Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: action(
				cfg, "multicast"), Params: []*p4v1.Action_Param{
				{ParamId: 1, Value: wide(7, 2)},
			}}}},
		},
	}
	for _, e := range entries {
		c.write(p4v1.Update_INSERT, entryOf(e))
	}
	c.write(p4v1.Update_MODIFY, toCPU(cfg).GetEntity())
	replicas := []*p4v1.Replica{tutorReplica(1, 1), tutorReplica(2, 1)}
	c.write(p4v1.Update_INSERT,
		preOf(&p4v1.PacketReplicationEngineEntry{
			Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{
				MulticastGroupEntry: &p4v1.MulticastGroupEntry{MulticastGroupId: 7, Replicas: replicas},
			}}))
	c.write(p4v1.Update_INSERT,
		preOf(&p4v1.PacketReplicationEngineEntry{
			Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{
				CloneSessionEntry: &p4v1.CloneSessionEntry{SessionId: 5, Replicas: replicas[:1],
					PacketLengthBytes: 128},
			}}))

	// All entries of all tables, as of table_id 0.
	var tables []uint32
	for _, e := range c.read(entryOf(&p4v1.TableEntry{})) {
		if !e.GetTableEntry().GetIsDefaultAction() {
			tables = append(tables, e.GetTableEntry().GetTableId())
		}
	}
	for _, e := range entries {
		if !slices.Contains(tables, e.TableId) {
			t.Errorf("tables %v, want %d among them", tables, e.TableId)
		}
	}

	// A known station, then one that is not.
	frame := []byte("\x00\x00\x00\x00\x0a\x0b\x02\x00\x00\x00\x00\x02\x12\x34payload")
	out := make(chan string, 4)
	n.host[second].Attach(func(frames [][]byte) {
		for _, f := range frames {
			out <- string(f)
		}
	}, nil)
	n.host[first].Send([][]byte{frame})
	if f := <-out; f != string(frame) {
		t.Fatalf("forwarded: %x", f)
	}
	unknown := slices.Clone(frame)
	unknown[0] = 2
	n.host[first].Send([][]byte{unknown})
	m, err := s.Recv()
	if err != nil || string(m.GetPacket().GetPayload()) != string(unknown) ||
		m.GetPacket().GetMetadata()[0].GetValue()[0] != first {
		t.Fatalf("packet-in: %v, %v", m, err)
	}

	// The library makes metadata of as many octets as the field has bits.
	if err := s.Send(
		&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{
			Payload: unknown, Metadata: []*p4v1.PacketMetadata{{MetadataId: 1, Value: wide(second, 9)},
				{MetadataId: 2, Value: wide(0, 7)}},
		}}}); err != nil {
		t.Fatal(err)
	}
	if f := <-out; f != string(unknown) {
		t.Fatalf("packet-out: %x", f)
	}

	var rx uint32
	for _, x := range cfg.GetP4Info().GetCounters() {
		if x.GetPreamble().GetAlias() == "rx" {
			rx = x.GetPreamble().GetId()
		}
	}
	counted := c.read(wire.Entity(&p4v1.CounterEntry{CounterId: rx, Index: &p4v1.Index{Index: first}}))
	if len(counted) != 1 || counted[0].GetCounterEntry().GetData().GetPacketCount() != 2 {
		t.Errorf("counter of port %d: %v", first, counted)
	}

	c.write(p4v1.Update_DELETE, entryOf(entries[0]))
	n.host[first].Send([][]byte{frame})
	if m, err := s.Recv(); err != nil || string(m.GetPacket().GetPayload()) != string(frame) {
		t.Fatalf("after the entry was deleted: %v, %v", m, err)
	}
}
