package p4rt

import (
	"bytes"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4/wire"
)

// A large answer comes in parts that a client with gRPC's default limit of 4
// MiB takes, in the order of insertion and whole.
func TestReadInParts(t *testing.T) {
	const entries = 1000
	var cache Cache
	c := newChecker(t, &cache)
	env := newScriptEnv(t, "entities")
	req := &p4v1.WriteRequest{DeviceId: 1}
	for i := range entries {
		req.Updates = append(req.Updates, &p4v1.Update{Type: p4v1.Update_INSERT,
			Entity: wire.Entity(&p4v1.TableEntry{
				TableId: env.ids["source"],
				Match: []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{
					Exact: &p4v1.FieldMatch_Exact{Value: []byte{1, byte(i >> 8), byte(i)}},
				}}},
				Action: &p4v1.TableAction{
					Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: env.ids["NoAction"]}}},
				Metadata: bytes.Repeat([]byte{byte(i)}, 5000),
			})})
	}
	if err := c.dev.Write(0, req); err != nil {
		t.Fatal(err)
	}
	parts, n := 0, 0
	q := &p4v1.ReadRequest{DeviceId: 1,
		Entities: []*p4v1.Entity{{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}}}}
	if err := c.dev.Read(0, q, func(r *p4v1.ReadResponse) {
		if size := proto.Size(r); size > 2<<20 {
			t.Errorf("part %d has %d octets", parts, size)
		}
		parts++
		for _, e := range r.GetEntities() {
			if e.GetTableEntry().GetTableId() != env.ids["source"] {
				continue
			}
			if n >= entries || !proto.Equal(e, req.GetUpdates()[n].GetEntity()) {
				t.Fatalf("entry %d: %.200v", n, e)
			}
			n++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if n != entries || parts < 5 {
		t.Errorf("%d entries in %d parts", n, parts)
	}
}
