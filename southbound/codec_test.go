package southbound

import (
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/southbound/entry"
)

func ourCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// TestCodecEncodes: package proto reads a WriteRequest as it was meant, and an answer too.
func TestCodecEncodes(t *testing.T) {
	schema := smallPipeline(t).Schema()
	for _, typ := range []entry.UpdateType{entry.Insert, entry.Delete} {
		want := &p4v1.WriteRequest{DeviceId: 3, Role: "r", ElectionId: &p4v1.Uint128{High: 1, Low: 2},
			Atomicity: p4v1.WriteRequest_ROLLBACK_ON_ERROR}
		resp := &p4v1.ReadResponse{}
		var m maker
		for _, e := range every() {
			u, err := schema.encodeUpdate(&m, entry.Update{Type: typ, Entity: e})
			if err != nil {
				t.Fatal(err)
			}
			want.Updates, resp.Entities = append(want.Updates, u), append(resp.Entities, u.GetEntity())
		}
		data, err := ourCodec().Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := &p4v1.WriteRequest{}
		if err := proto.Unmarshal(data.Materialize(), got); err != nil || !proto.Equal(got, want) {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
		octets, err := proto.Marshal(resp)
		if err != nil {
			t.Fatal(err)
		}
		back := &p4v1.ReadResponse{Entities: make([]*p4v1.Entity, 1)}
		if err := ourCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(octets)}, back); err != nil ||
			!proto.Equal(back, resp) {
			t.Errorf("%v: %v, want %v", err, back, resp)
		}
	}
}

// FuzzCodecDecode decodes an answer to a read in our way and in package proto's, and compares.
func FuzzCodecDecode(f *testing.F) {
	f.Add([]byte("\x0a\x06\x12\x04\x12\x02\x08\x01"))
	f.Add([]byte("\x0a\x04\x12\x02\x08\x07\x0a\x00\x10\x01"))
	f.Add([]byte("\x0a\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		want := &p4v1.ReadResponse{}
		wantErr := proto.Unmarshal(b, want)
		want.ProtoReflect().SetUnknown(nil) // a ReadResponse has entities only
		got := &p4v1.ReadResponse{}
		err := ourCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, got)
		if (err == nil) != (wantErr == nil) || err == nil && !proto.Equal(got, want) {
			t.Fatalf("%x: %v, package proto says %v:\n%v\n%v", b, err, wantErr, got, want)
		}
	})
}
