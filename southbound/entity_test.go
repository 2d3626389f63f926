package southbound

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/southbound/entry"
)

// The ids of testdata/small.p4info.txtpb.
const (
	routeTable = 33554433
	aclTable   = 33554434
	forward    = 16777217
	deny       = 16777218
	selector   = 285212673
	drops      = 302010369
	portRx     = 302010370
	learn      = 385875969
)

func smallPipeline(t testing.TB) *Pipeline {
	t.Helper()
	text, err := os.ReadFile("testdata/small.p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePipeline(text, []byte(`{"program":"small"}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// every has one entity of each kind and each way to match.
func every() []entry.Entity {
	viaGroup := entry.In("ecmp", entry.Action{}, entry.Exact("group", entry.Uint(9)))
	viaGroup.Group = 7
	viaMember := entry.In("ecmp", entry.Action{}, entry.Exact("group", entry.Uint(10)))
	viaMember.Member = 2
	acl := entry.In("acl", entry.Do("deny"),
		entry.Match{Field: "port", Kind: entry.MatchTernary, Value: entry.Uint(0x100),
			Mask: entry.Uint(0x1f0)},
		entry.Match{Field: "flow", Kind: entry.MatchRange, Value: entry.Uint(0), Mask: entry.Uint(500)},
		entry.Match{Field: "proto", Kind: entry.MatchOptional, Value: entry.Uint(17)})
	acl.Priority = 10
	node := entry.In("node", entry.Do("set_node",
		entry.With("address", entry.Addr(netip.MustParseAddr("2001:db8::1")))))
	node.Default = true
	return []entry.Entity{
		entry.Clone{ID: 511, Replicas: []entry.Replica{{Port: 510}}, Class: 3, Truncate: 128},
		entry.Copies(64, entry.Replica{Port: 3, Instance: 1}, entry.Replica{Port: 509, Instance: 256}),
		entry.Member{Profile: "ecmp_selector", ID: 1, Action: forwardTo(1)},
		entry.Member{Profile: "ecmp_selector", ID: 2, Action: forwardTo(2)},
		entry.Group{Profile: "ecmp_selector", ID: 7, Members: []uint32{1, 2, 2, 2}},
		viaGroup, viaMember,
		route("2001:db8::", 32, 5),
		entry.In("route", entry.Do("deny"), entry.Exact("vrf", entry.Uint(0))),
		acl, node,
		entry.Reports{Digest: "learn", Wait: 1000, List: 8, Again: 5000},
	}
}

func forwardTo(port uint64) entry.Action {
	return entry.Do("forward", entry.With("port", entry.Uint(port)),
		entry.With("dst_mac", entry.MAC([6]byte{2, 0, 0, 0, 0, byte(port)})),
		entry.With("holdoff", entry.Uint(0)))
}

func route(prefix string, bits int, port uint64) entry.Table {
	return entry.In("route", forwardTo(port), entry.Exact("vrf", entry.Uint(0)),
		entry.Match{Field: "dst_addr", Kind: entry.MatchLPM,
			Value: entry.Addr(netip.MustParseAddr(prefix)), Bits: bits})
}

func insert(es ...entry.Entity) []entry.Update {
	out := make([]entry.Update, len(es))
	for i, e := range es {
		out[i] = entry.Update{Type: entry.Insert, Entity: e}
	}
	return out
}

func TestEntityRoundTrip(t *testing.T) {
	s := smallPipeline(t).Schema()
	seen := make(map[entry.Key]entry.Entity)
	for _, e := range every() {
		if other, dup := seen[e.Key()]; dup {
			t.Errorf("%s and %s share a key", e, other)
		}
		seen[e.Key()] = e
		p, err := s.Encode(e)
		if err != nil {
			t.Error(err)
			continue
		}
		back, err := s.Decode(p)
		if err != nil || !entry.Equal(e, back) {
			t.Errorf("%s: came back as %v, %v", e, back, err)
		}
		for k, other := range seen {
			if k != e.Key() && entry.Equal(e, other) {
				t.Errorf("%s equals %s", e, other)
			}
		}
	}
}

// TestEqualWhateverTheForm: a switch may pad values, reorder everything, and
// spell out what matches anything.
func TestEqualWhateverTheForm(t *testing.T) {
	pad := func(v entry.Value, n int) []byte { return append(make([]byte, n-len(v)), v...) }
	param := func(id uint32, v entry.Value, n int) *p4v1.Action_Param {
		return &p4v1.Action_Param{ParamId: id, Value: pad(v, n)}
	}
	mac := entry.MAC([6]byte{2, 0, 0, 0, 0, 5})
	padded := &p4v1.Action{ActionId: forward, Params: []*p4v1.Action_Param{param(3, entry.Uint(0), 6),
		param(2, mac, 6), param(1, entry.Uint(5), 2)}}
	dst := entry.Addr(netip.MustParseAddr("2001:db8:ffff::"))
	//lint:ignore SA1019 servers of either age are met
	numbered := &p4v1.Replica_EgressPort{EgressPort: 509}
	denyACL := func(matches ...entry.Match) entry.Table {
		e := entry.In("acl", entry.Do("deny"), matches...)
		e.Priority = 3
		return e
	}
	for _, c := range []struct {
		name string
		in   *p4v1.Entity
		want entry.Entity
	}{
		{"padded, reordered, bits beyond the prefix",
			wire.Entity(&p4v1.TableEntry{
				TableId: routeTable,
				Match: []*p4v1.FieldMatch{
					{FieldId: 2, FieldMatchType: &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: []byte(dst),
						PrefixLen: 32}}},
					{FieldId: 1,
						FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte{0, 0}}}},
				},
				Action:   &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: padded}},
				Metadata: []byte("ignored"),
			}), route("2001:db8::", 32, 5)},
		{"wildcards spelled out",
			wire.Entity(&p4v1.TableEntry{
				TableId: aclTable, Priority: 3,
				Match: []*p4v1.FieldMatch{
					{FieldId: 1,
						FieldMatchType: &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: []byte{1,
							2}, Mask: []byte{0, 0}}}},
					{FieldId: 2,
						FieldMatchType: &p4v1.FieldMatch_Range_{Range: &p4v1.FieldMatch_Range{Low: []byte{0},
							High: []byte{0x0f, 0xff, 0xff}}}},
				},
				Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: deny}}},
			}), denyACL()},
		{"bits outside the mask",
			wire.Entity(&p4v1.TableEntry{
				TableId: aclTable, Priority: 3,
				Match: []*p4v1.FieldMatch{
					{FieldId: 1,
						FieldMatchType: &p4v1.FieldMatch_Ternary_{
							Ternary: &p4v1.FieldMatch_Ternary{Value: []byte{0x01,
								0xff}, Mask: []byte{0x0f}}}},
				},
				Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: deny}}},
			}), denyACL(entry.Match{Field: "port", Kind: entry.MatchTernary, Value: entry.Uint(15),
				Mask: entry.Uint(15)})},
		{"replicas in either form and any order", multicastPattern(64, []*p4v1.Replica{
			{PortKind: numbered, Instance: 256},
			{PortKind: &p4v1.Replica_Port{Port: []byte{0, 3}}, Instance: 1},
		}), entry.Copies(64, entry.Replica{Port: 3, Instance: 1},
			entry.Replica{Port: 509, Instance: 256})},
		{"members reordered, a weight left out, a size reported",
			wire.Entity(&p4v1.ActionProfileGroup{
				ActionProfileId: selector, GroupId: 7, MaxSize: 32,
				Members: []*p4v1.ActionProfileGroup_Member{{MemberId: 2, Weight: 3}, {MemberId: 1}},
			}), entry.Group{Profile: "ecmp_selector", ID: 7, Members: []uint32{1, 2, 2, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := smallPipeline(t).Schema().Decode(c.in)
			if err != nil || got == nil {
				t.Fatalf("%v, %v", got, err)
			}
			if !entry.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

// TestDecodeRefuses: an answer of the switch with ids unknown to the pipeline, or out of bounds, is
// an error and never a wrong entity.
func TestDecodeRefuses(t *testing.T) {
	table := func(e *p4v1.TableEntry) *p4v1.Entity {
		return wire.Entity(e)
	}
	action := func(a *p4v1.Action) *p4v1.TableAction {
		return &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}}
	}
	group := func(id uint32, weight int32) *p4v1.Entity {
		return wire.Entity(&p4v1.ActionProfileGroup{
			ActionProfileId: id, GroupId: 1,
			Members: []*p4v1.ActionProfileGroup_Member{{MemberId: 1, Weight: weight}}})
	}
	for name, c := range map[string]struct {
		in   *p4v1.Entity
		want error
	}{
		"table": {table(&p4v1.TableEntry{TableId: 1}), ErrUnknownName},
		"field": {table(&p4v1.TableEntry{TableId: routeTable,
			Match: []*p4v1.FieldMatch{{FieldId: 99}}}), ErrUnknownName},
		"kind of match": {table(&p4v1.TableEntry{TableId: routeTable,
			Match: []*p4v1.FieldMatch{{FieldId: 1}}}), ErrMalformed},
		"action": {table(&p4v1.TableEntry{TableId: routeTable,
			Action: action(&p4v1.Action{ActionId: 5})}), ErrUnknownName},
		"parameter": {table(&p4v1.TableEntry{TableId: routeTable,
			Action: action(&p4v1.Action{ActionId: forward, Params: []*p4v1.Action_Param{{ParamId: 9}}})}),
			ErrUnknownName},
		"member": {wire.Entity(&p4v1.ActionProfileMember{ActionProfileId: 1}), ErrUnknownName},
		"group":  {group(1, 1), ErrUnknownName},
		"weight": {group(selector, 1<<31-1), ErrMalformed},
		"digest": {wire.Entity(&p4v1.DigestEntry{DigestId: 1}), ErrUnknownName},
		"port too large": {multicastPattern(1,
			[]*p4v1.Replica{{PortKind: &p4v1.Replica_Port{Port: []byte{1, 0, 0, 0, 0}}}}), ErrMalformed},
	} {
		if e, err := smallPipeline(t).Schema().Decode(c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, e, err, c.want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	with := func(edit func(*entry.Table)) []entry.Update {
		e := route("2001:db8::", 32, 5)
		e.Match, e.Action.Params = slices.Clone(e.Match), slices.Clone(e.Action.Params)
		edit(&e)
		return insert(e)
	}
	one := func(m entry.Match) []entry.Update { return insert(entry.In("acl", entry.Do("deny"), m)) }
	for name, c := range map[string]struct {
		updates []entry.Update
		want    error
	}{
		"no entity": {[]entry.Update{{Type: entry.Insert}}, ErrMalformed},
		"no type":   {[]entry.Update{{Entity: route("::1", 128, 1)}}, ErrMalformed},
		"table":     {with(func(e *entry.Table) { e.Name = "nope" }), ErrUnknownName},
		"field": {with(func(e *entry.Table) { e.Match[0].Field = "nope" }),
			ErrUnknownName},
		"a field twice": {with(func(e *entry.Table) {
			e.Match = append(e.Match, e.Match[0])
		}), ErrMalformed},
		"exact field missing": {with(func(e *entry.Table) { e.Match = e.Match[:1] }), ErrMalformed},
		"match too wide": {with(func(e *entry.Table) {
			e.Match[1].Value = entry.Uint(1 << 16)
		}), ErrRange},
		"match of another kind": {with(func(e *entry.Table) { e.Match[0].Kind = entry.MatchExact }),
			ErrMalformed},
		"prefix too long":       {with(func(e *entry.Table) { e.Match[0].Bits = 129 }), ErrRange},
		"prefix of length 0":    {with(func(e *entry.Table) { e.Match[0].Bits = 0 }), ErrMalformed},
		"exact without a value": {with(func(e *entry.Table) { e.Match[1].Value = "" }), ErrMalformed},
		"exact with a mask": {with(func(e *entry.Table) { e.Match[1].Mask = entry.Uint(1) }),
			ErrMalformed},
		"ternary without a mask": {one(entry.Match{Field: "port", Kind: entry.MatchTernary,
			Value: entry.Uint(1)}), ErrMalformed},
		"ternary mask too wide": {one(entry.Match{Field: "port", Kind: entry.MatchTernary,
			Value: entry.Uint(1), Mask: entry.Uint(512)}), ErrRange},
		"no action": {with(func(e *entry.Table) { e.Action = entry.Action{} }),
			ErrMalformed},
		"action": {with(func(e *entry.Table) { e.Action.Name = "nope" }),
			ErrUnknownName},
		"action of another table": {with(func(e *entry.Table) { e.Action = entry.Do("set_node") }),
			ErrUnknownName},
		"action and group": {with(func(e *entry.Table) { e.Group = 1 }), ErrMalformed},
		"parameter": {with(func(e *entry.Table) { e.Action.Params[0].Name = "nope" }),
			ErrUnknownName},
		"parameter missing": {with(func(e *entry.Table) {
			e.Action.Params = e.Action.Params[1:]
		}), ErrMalformed},
		"parameter without a value": {with(func(e *entry.Table) { e.Action.Params[0].Value = "" }),
			ErrMalformed},
		"parameter too wide":   {with(func(e *entry.Table) { e.Action = forwardTo(512) }), ErrRange},
		"default with a match": {with(func(e *entry.Table) { e.Default = true }), ErrMalformed},
		"member 0": {insert(entry.Member{Profile: "ecmp_selector",
			Action: forwardTo(1)}), ErrMalformed},
		"profile of a member": {insert(entry.Member{Profile: "nope", ID: 1, Action: forwardTo(1)}),
			ErrUnknownName},
		"group 0":            {insert(entry.Group{Profile: "ecmp_selector"}), ErrMalformed},
		"profile of a group": {insert(entry.Group{Profile: "nope", ID: 1}), ErrUnknownName},
		"multicast group 0":  {insert(entry.Multicast{}), ErrMalformed},
		"clone session 0":    {insert(entry.Clone{}), ErrMalformed},
		"digest":             {insert(entry.Reports{Digest: "nope"}), ErrUnknownName},
	} {
		_, err := smallPipeline(t).Schema().encodeUpdate(new(maker), c.updates[0])
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
		if e := c.updates[0].Entity; e != nil && err != nil &&
			!strings.Contains(err.Error(), string(e.Key())) {
			t.Errorf("%s: %q does not name the entity", name, err)
		}
	}
}

func TestUpdateTypesOfDefaultActions(t *testing.T) {
	def := entry.In("route", entry.Do("deny"))
	def.Default = true
	for _, typ := range []entry.UpdateType{entry.Insert, entry.Modify, entry.Delete} {
		p, err := smallPipeline(t).Schema().encodeUpdate(new(maker), entry.Update{Type: typ, Entity: def})
		if err != nil || p.GetType() != p4v1.Update_MODIFY {
			t.Errorf("%s: %v, %v", typ, p.GetType(), err)
		}
		if te := p.GetEntity().GetTableEntry(); (te.GetAction() == nil) != (typ == entry.Delete) {
			t.Errorf("%s of a default action carries %v", typ, te.GetAction())
		}
	}
}

// TestDeletionCarriesNoAction: the key alone says what goes (P4Runtime spec §9.1).
func TestDeletionCarriesNoAction(t *testing.T) {
	p, err := smallPipeline(t).Schema().encodeUpdate(new(maker), entry.Update{Type: entry.Delete,
		Entity: route("2001:db8::", 32, 5)})
	if te := p.GetEntity().GetTableEntry(); err != nil || p.GetType() != p4v1.Update_DELETE ||
		te.GetAction() != nil || len(te.GetMatch()) != 2 {
		t.Errorf("%v, %v", p, err)
	}
}

// TestFabricPackets: the headers of the fabric's program, field by field.
func TestFabricPackets(t *testing.T) {
	pipeline, err := NewPipeline(p4.P4Info(), p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	s := pipeline.Schema()
	out, err := s.encodePacketOut(entry.PacketOut{Op: entry.State, Group: 1023, Branch: 31})
	if err != nil || len(out.Metadata) != 4 {
		t.Fatal(out, err)
	}
	got := make(map[string]uint64)
	for _, m := range out.GetMetadata() {
		got[fieldByID(s.PacketOut, m.GetMetadataId()).Name], _ = entry.ValueOf(m.GetValue()).Uint64()
	}
	if got["op"] != 2 || got["group"] != 1023 || got["branch"] != 31 {
		t.Errorf("%v", got)
	}
	values := map[string]uint64{
		"ingress_port": 3, "reason": 2, "group": 9, "branch": 4, "epoch": 1 << 31, "flags": 0b1011,
		"ack_psn": 1<<24 - 1, "rnr_timer": 7,
		"msn": 5, "cnp_count": 6, "last_psn": 8, "cnp_total": 10, "cnp_branch": 11,
	}
	in := &p4v1.PacketIn{Payload: []byte("payload")}
	for _, info := range s.PacketIn {
		v, known := values[info.Name]
		if !known {
			t.Errorf("field %q is not decoded", info.Name)
		}
		delete(values, info.Name)
		in.Metadata = append(in.Metadata, &p4v1.PacketMetadata{MetadataId: info.ID,
			Value: []byte(entry.Uint(v))})
	}
	if len(values) > 0 {
		t.Errorf("the pipeline lacks %v", values)
	}
	want := entry.PacketIn{
		IngressPort: 3, Reason: entry.StateAnswer, Group: 9, Branch: 4, Epoch: 1 << 31, Valid: true,
		NAKPending: true, RNR: true,
		AckPSN: 1<<24 - 1, RNRTimer: 7, MSN: 5, CNPCount: 6, LastPSN: 8, CNPTotal: 10, CNPBranch: 11,
		Payload: []byte("payload"),
	}
	if p := s.DecodePacketIn(in); p.String() != want.String() {
		t.Errorf("%s\nwant %s", p, want)
	}
	if _, err := (&Schema{}).encodePacketOut(entry.PacketOut{}); !errors.Is(err, ErrUnknownName) {
		t.Errorf("a pipeline without the header: %v", err)
	}
}

func TestSchema(t *testing.T) {
	s := smallPipeline(t).Schema()
	d, err := s.Describe(route("2001:db8::", 32, 5))
	if err != nil {
		t.Fatal(err)
	}
	want := Description{
		Table:  "route",
		Match:  []Typed{{"vrf", uint64(0)}, {"dst_addr", "2001:db8::/32"}},
		Action: "forward",
		Params: []Typed{{"port", uint64(5)}, {"dst_mac", "02:00:00:00:00:05"}, {"holdoff", uint64(0)}},
	}
	equalDescriptions(t, d, want)
	d, err = s.Describe(every()[9].(entry.Table))
	if err != nil {
		t.Fatal(err)
	}
	equalDescriptions(t, d, Description{
		Table: "acl", Priority: 10, Action: "deny",
		Match: []Typed{{"port", "256&&&0x1f0"}, {"flow", "0..500"}, {"proto", uint64(17)}},
	})
	if _, err := s.Describe(entry.In("nope", entry.Do("deny"))); !errors.Is(err, ErrUnknownName) {
		t.Errorf("unknown table: %v", err)
	}
	if _, err := s.Describe(entry.In("route", entry.Do("nope"))); !errors.Is(err, ErrUnknownName) {
		t.Errorf("unknown action: %v", err)
	}
	if _, err := s.Describe(entry.In("route", entry.Do("forward"))); !errors.Is(err, ErrMalformed) {
		t.Errorf("missing argument: %v", err)
	}
	c, err := s.Counter("drops")
	if err != nil || c.IndexNames[2] != "BAD_ICRC" || c.Bytes || !c.Packets {
		t.Errorf("counter drops: %+v, %v", c, err)
	}
	if s.Enums["DropReason"][1] != "NO_ROUTE" {
		t.Errorf("enums: %v", s.Enums)
	}
	if _, err := s.Table("nosuch"); !errors.Is(err, ErrUnknownName) {
		t.Errorf("%v", err)
	}
	if _, err := s.Counter("nosuch"); !errors.Is(err, ErrUnknownName) {
		t.Errorf("%v", err)
	}
}

func equalDescriptions(t *testing.T, got, want Description) {
	t.Helper()
	same := got.Table == want.Table && got.Action == want.Action && got.Priority == want.Priority &&
		slices.Equal(got.Match, want.Match) && slices.Equal(got.Params, want.Params)
	if !same {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestPipelineCookie(t *testing.T) {
	text, err := os.ReadFile("testdata/small.p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	a, b := smallPipeline(t), smallPipeline(t)
	if a.Cookie() != b.Cookie() {
		t.Error("the cookie of the same pipeline varies")
	}
	c, err := ParsePipeline(text, []byte(`{"program":"other"}`))
	if err != nil || c.Cookie() == a.Cookie() {
		t.Errorf("the cookie does not depend on the program: %v", err)
	}
	if _, err := ParsePipeline([]byte("tables {"), nil); err == nil {
		t.Error("a broken P4Info is accepted")
	}
	if _, err := ParsePipeline(
		[]byte(`tables { preamble { id: 5 name: "a" } } tables { preamble { id: 5 name: "b" } }`),
		nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("an id used twice: %v", err)
	}
}

// FuzzDecode: whatever a switch reports is an entity that the pipeline can write
// again, or an error.
func FuzzDecode(f *testing.F) {
	pipeline := smallPipeline(f)
	for _, e := range every() {
		p, err := pipeline.Schema().Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := &p4v1.Entity{}
		if proto.Unmarshal(raw, p) != nil {
			return
		}
		s := pipeline.Schema()
		e, err := s.Decode(p)
		if err != nil || e == nil {
			return
		}
		again, err := s.Encode(e)
		if err != nil {
			return // incomplete, or too wide: a write of it is refused
		}
		if back, err := s.Decode(again); err != nil || !entry.Equal(e, back) {
			t.Fatalf("%v became %v, %v", e, back, err)
		}
	})
}
