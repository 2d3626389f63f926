package p4rt

import (
	"math/rand/v2"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4/wire"
)

// decodeBoth decodes a WriteRequest in our way and in package proto's, and
// compares; twice, as memory is used again.
func decodeBoth(t *testing.T, b []byte) {
	t.Helper()
	want := &p4v1.WriteRequest{}
	wantErr := proto.Unmarshal(b, want)
	for range 2 {
		w := writeCalls.Get().(*writeCall)
		err := newCodec(maxSmall).Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, w)
		if err == nil {
			err = w.decodeUpdates()
		}
		switch {
		case (err == nil) != (wantErr == nil):
			t.Fatalf("%x: %v, package proto says %v", b, err, wantErr)
		case err == nil && !proto.Equal(&w.req, want):
			t.Fatalf("%x:\n%v\n%v", b, &w.req, want)
		}
		w.release()
	}
}

func TestCodecDecodes(t *testing.T) {
	reqs := scriptWrites(t)
	reqs = append(reqs, &p4v1.WriteRequest{}, &p4v1.WriteRequest{
		DeviceId: 1, Role: "r", ElectionId: &p4v1.Uint128{High: 1, Low: 2},
		Atomicity: p4v1.WriteRequest_DATAPLANE_ATOMIC,
		Updates: []*p4v1.Update{{}, {Entity: &p4v1.Entity{}},
			{Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{}}}},
	})
	for _, req := range reqs {
		b, err := proto.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		decodeBoth(t, b)
		for i := range min(len(b), 200) { // cut short
			decodeBoth(t, b[:i])
		}
	}
	// More than a slab makes at once, of one entry and of many.
	const block = 512
	wide := &p4v1.TableEntry{TableId: 7,
		Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: 8}}}}
	for i := range uint32(block) {
		wide.Match = append(wide.Match,
			&p4v1.FieldMatch{FieldId: i,
				FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte{byte(i)}}}})
		wide.Action.GetAction().Params = append(wide.Action.GetAction().Params,
			&p4v1.Action_Param{ParamId: i, Value: []byte{byte(i)}})
	}
	many := &p4v1.WriteRequest{}
	for i := range 3 * block {
		e := &p4v1.TableEntry{TableId: uint32(i), Match: wide.Match[:i%5],
			Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{
				Action: &p4v1.Action{Params: wide.Action.GetAction().GetParams()[:i%7]}}}}
		if i == block {
			e = wide
		}
		many.Updates = append(many.Updates, &p4v1.Update{Type: p4v1.Update_INSERT,
			Entity: wire.Entity(e)})
	}
	b, err := proto.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	decodeBoth(t, b)
}

// FuzzCodecDecode: a table entry in pieces, or in another order, decodes to the same entry.
func FuzzCodecDecode(f *testing.F) {
	for _, req := range scriptWrites(f) {
		b, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(append(b[:len(b):len(b)], b...))
	}
	f.Add([]byte("\x22\x06\x12\x04\x12\x02\x08\x01\x22\x09\x12\x03\x12\x01\x00\x12\x02\x12\x00"))
	f.Fuzz(decodeBoth)
}

// Every entity that the scripts write is encoded as package proto would.
func TestCodecEncodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, req := range scriptWrites(t) {
		resp := &p4v1.ReadResponse{}
		for _, u := range req.GetUpdates() {
			if e := u.GetEntity(); e != nil {
				resp.Entities = append(resp.Entities, e)
				t := proto.Clone(e).(*p4v1.Entity)
				if x := t.GetTableEntry(); x != nil && rng.IntN(2) == 0 {
					x.Priority, x.Metadata, x.IsDefaultAction = rng.Int32(), []byte{1, 2}, true
					x.IdleTimeoutNs = -1
					resp.Entities = append(resp.Entities, t)
				}
			}
		}
		data, err := newCodec(maxSmall).Marshal(resp)
		if err != nil {
			t.Fatal(err)
		}
		want, err := proto.Marshal(resp)
		if err != nil {
			t.Fatal(err)
		}
		got := &p4v1.ReadResponse{}
		if err := proto.Unmarshal(data.Materialize(), got); err != nil || !proto.Equal(got, resp) ||
			data.Len() != len(want) {
			t.Fatalf("%v: %d octets, want %d\n%v\n%v", err, data.Len(), len(want), got, resp)
		}
	}
}

// pipelineBoth decodes a SetForwardingPipelineConfigRequest in two steps and by package proto, and
// compares; the first step must find who sends it and leave the config alone.
func pipelineBoth(t *testing.T, b []byte) {
	t.Helper()
	want := &p4v1.SetForwardingPipelineConfigRequest{}
	wantErr := proto.Unmarshal(b, want)
	p := new(pipelineCall)
	err := newCodec(maxSmall).Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, p)
	if err == nil && p.req.Config != nil {
		t.Fatalf("%x: the config is decoded before its sender is known", b)
	}
	early := proto.CloneOf(&p.req)
	if err == nil {
		err = p.decode()
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: %v, package proto says %v", b, err, wantErr)
	}
	if err != nil {
		return
	}
	if !proto.Equal(&p.req, want) {
		t.Fatalf("%x:\n%v\n%v", b, &p.req, want)
	}
	want.Config = nil
	if !proto.Equal(early, want) {
		t.Fatalf("%x: before the config:\n%v\n%v", b, early, want)
	}
}

func FuzzPipelineCall(f *testing.F) {
	seed := &p4v1.SetForwardingPipelineConfigRequest{DeviceId: 1, Role: "r",
		ElectionId: &p4v1.Uint128{Low: 1},
		Action:     p4v1.SetForwardingPipelineConfigRequest_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4DeviceConfig: []byte{1, 2, 3},
			Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: 4}}}
	b, err := proto.Marshal(seed)
	if err != nil {
		f.Fatal(err)
	}
	for i := range len(b) + 1 {
		f.Add(b[:i])
	}
	f.Add(append(b, b...)) // fields given twice
	f.Fuzz(pipelineBoth)
}
