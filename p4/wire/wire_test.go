package wire

import (
	"math/rand/v2"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// octets are up to n random octets.
func octets(rng *rand.Rand, n int) []byte {
	b := make([]byte, rng.IntN(n+1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// matchOf returns a match of a random kind, mostly an exact one.
func matchOf(rng *rand.Rand) *p4v1.FieldMatch {
	f := &p4v1.FieldMatch{FieldId: rng.Uint32N(300)}
	switch v := octets(rng, 20); rng.IntN(12) {
	case 0:
		f.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: v,
			PrefixLen: rng.Int32N(129)}}
	case 1:
		f.FieldMatchType = &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: v, Mask: v}}
	case 2:
		f.FieldMatchType = &p4v1.FieldMatch_Optional_{Optional: &p4v1.FieldMatch_Optional{Value: v}}
	case 3: // none
	default:
		f.FieldMatchType = &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: v}}
	}
	return f
}

// entityOf returns an entity, mostly a table entry of the usual form.
func entityOf(rng *rand.Rand) *p4v1.Entity {
	e := &p4v1.TableEntry{TableId: rng.Uint32(), Priority: rng.Int32N(3) - 1}
	for range rng.IntN(5) {
		e.Match = append(e.Match, matchOf(rng))
	}
	switch rng.IntN(8) {
	case 0:
	case 1:
		of := &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: 7}
		e.Action = &p4v1.TableAction{Type: of}
	default:
		a := &p4v1.Action{ActionId: rng.Uint32N(1000)}
		for range rng.IntN(5) {
			a.Params = append(a.Params, &p4v1.Action_Param{ParamId: rng.Uint32N(200),
				Value: octets(rng, 300)})
		}
		e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}}
	}
	switch rng.IntN(8) {
	case 0:
		e.IsDefaultAction, e.Metadata, e.IdleTimeoutNs = true, []byte{1}, -1
	case 1:
		e.IsConst = true
	case 2:
		of := &p4v1.CounterEntry{CounterId: 9}
		return &p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: of}}
	case 3:
		return &p4v1.Entity{}
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}}
}

// TestAsPackageProto encodes random entities and updates, and decodes them again. Package proto
// must read the same messages, and encode them to the same length.
func TestAsPackageProto(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var slab Slab
	for range 20_000 {
		u := &p4v1.Update{Type: p4v1.Update_Type(rng.IntN(4))}
		if rng.IntN(20) > 0 {
			u.Entity = entityOf(rng)
		}
		req := &p4v1.WriteRequest{Updates: []*p4v1.Update{u}}
		b := AppendUpdate(nil, u)
		got := &p4v1.WriteRequest{}
		if err := proto.Unmarshal(b, got); err != nil || !proto.Equal(got, req) ||
			len(b) != UpdateSize(u) || len(b) != proto.Size(req) {
			t.Fatalf("%v: %d octets of %d\n%v\n%v", err, len(b), proto.Size(req), got, req)
		}
		_, _, n := protowire.ConsumeTag(b)
		body, _ := protowire.ConsumeBytes(b[n:])
		if x, ok := slab.DecodeUpdate(body); ok && !proto.Equal(x, u) {
			t.Fatalf("decoded\n%v, want\n%v", x, u)
		}
		if u.GetEntity() == nil {
			continue
		}
		resp := &p4v1.ReadResponse{Entities: []*p4v1.Entity{u.GetEntity()}}
		b = AppendListed(nil, u.GetEntity())
		back := &p4v1.ReadResponse{}
		if err := proto.Unmarshal(b, back); err != nil || !proto.Equal(back, resp) ||
			len(b) != ListedSize(u.GetEntity()) {
			t.Fatalf("%v: %d octets\n%v\n%v", err, len(b), back, resp)
		}
		_, _, n = protowire.ConsumeTag(b)
		body, _ = protowire.ConsumeBytes(b[n:])
		if x, ok := slab.DecodeEntity(body); ok && !proto.Equal(x, u.GetEntity()) {
			t.Fatalf("decoded\n%v, want\n%v", x, u.GetEntity())
		}
		if rng.IntN(100) == 0 {
			slab.Reset()
		}
	}
}

// TestUsualForm: a table entry with a direct action is decoded here.
func TestUsualForm(t *testing.T) {
	e := &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: 1,
		Match: []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{
			Exact: &p4v1.FieldMatch_Exact{Value: []byte{1}}}}},
		Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: 2,
			Params: []*p4v1.Action_Param{{ParamId: 1, Value: []byte{3}}}}}}}}}
	b, err := proto.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var slab Slab
	if got, ok := slab.DecodeEntity(b); !ok || !proto.Equal(got, e) {
		t.Errorf("%v, %v", ok, got)
	}
	if got := testing.AllocsPerRun(100, func() {
		slab.Reset()
		slab.DecodeEntity(b)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestSlabReuse: what a slab hands out again is empty, whatever its size.
func TestSlabReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var s slab[uint64]
	for range 200 {
		var all [][]uint64
		for i := range rng.IntN(300) {
			v := s.take(rng.IntN(80))
			for j := range v {
				if v[j] != 0 {
					t.Fatalf("%d, want 0", v[j])
				}
				v[j] = uint64(i + 1)
			}
			all = append(all, v)
		}
		for i, v := range all {
			if len(v) != cap(v) {
				t.Fatalf("a slice of %d with room for %d", len(v), cap(v))
			}
			for _, x := range v {
				if x != uint64(i+1) {
					t.Fatal("two slices share memory")
				}
			}
		}
		s.reset()
	}
}
