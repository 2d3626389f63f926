package southbound

import (
	"errors"
	"net/netip"
	"os"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

const (
	routeTable = 33554433
	aclTable   = 33554434
	ecmpTable  = 33554435
	nodeTable  = 33554436
	forward    = 16777217
	deny       = 16777218
	setNode    = 16777219
	selector   = 285212673
	drops      = 302010369
	portRx     = 302010370
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
func every() []Entity {
	return []Entity{
		CloneSession{ID: 511, Replicas: []Replica{{Port: 510, Instance: 0}}, Truncate: 128},
		MulticastGroup{ID: 64, Replicas: []Replica{{Port: 3, Instance: 1}, {Port: 509, Instance: 256}}},
		ActionMember{Profile: selector, ID: 1, Action: forwardTo(1)},
		ActionMember{Profile: selector, ID: 2, Action: forwardTo(2)},
		ActionGroup{Profile: selector, ID: 7, Members: []WeightedMember{{ID: 1, Weight: 1}, {ID: 2, Weight: 3}}},
		TableEntry{Table: ecmpTable, Match: []Match{{Field: 1, Kind: Exact, Value: Uint(9)}}, Group: 7},
		TableEntry{Table: ecmpTable, Match: []Match{{Field: 1, Kind: Exact, Value: Uint(10)}}, Member: 2},
		route("2001:db8::", 32, 5),
		TableEntry{Table: routeTable, Match: []Match{{Field: 1, Kind: Exact, Value: Uint(0)}}, Action: Action{ID: deny}},
		TableEntry{Table: aclTable, Priority: 10, Action: Action{ID: deny}, Match: []Match{
			{Field: 1, Kind: Ternary, Value: Uint(0x100), Mask: Uint(0x1f0)},
			{Field: 2, Kind: Range, Value: Uint(0), Mask: Uint(500)},
			{Field: 3, Kind: Optional, Value: Uint(17)},
		}},
		TableEntry{Table: nodeTable, Default: true, Action: Action{ID: setNode, Params: []Param{{ID: 1, Value: Addr(netip.MustParseAddr("2001:db8::1"))}}}},
		CounterCell{Counter: drops, Index: 2, Packets: 3, Bytes: 4},
		DigestConfig{ID: 385875969, MaxTimeout: 1000, MaxList: 8, AckTimeout: 5000},
	}
}

func forwardTo(port uint64) Action {
	return Action{ID: forward, Params: []Param{
		{ID: 1, Value: Uint(port)}, {ID: 2, Value: MAC([6]byte{2, 0, 0, 0, 0, byte(port)})}, {ID: 3, Value: Uint(0)},
	}}
}

func route(prefix string, bits int, port uint64) TableEntry {
	return TableEntry{Table: routeTable, Action: forwardTo(port), Match: []Match{
		{Field: 1, Kind: Exact, Value: Uint(0)},
		{Field: 2, Kind: LPM, Value: Addr(netip.MustParseAddr(prefix)), Bits: bits},
	}}
}

func TestEntityRoundTrip(t *testing.T) {
	seen := make(map[string]Entity)
	for _, e := range every() {
		if other, dup := seen[e.Key()]; dup {
			t.Errorf("%s and %s share a key", describe(e), describe(other))
		}
		seen[e.Key()] = e
		p, err := toProto(e)
		if err != nil {
			t.Errorf("%s: %v", describe(e), err)
			continue
		}
		back, ok, err := fromProto(p)
		if err != nil || !ok || !Equal(e, back) {
			t.Errorf("%s: came back as %+v, %v, %v", describe(e), back, ok, err)
		}
		for k, other := range seen {
			if k != e.Key() && Equal(e, other) {
				t.Errorf("%s equals %s", describe(e), describe(other))
			}
		}
	}
}

// TestEqualWhateverTheForm: a switch may pad values, reorder everything, and
// spell out what matches anything.
func TestEqualWhateverTheForm(t *testing.T) {
	pad := func(v Value, n int) []byte { return append(make([]byte, n-len(v)), v...) }
	param := func(id uint32, v Value, n int) *p4v1.Action_Param {
		return &p4v1.Action_Param{ParamId: id, Value: pad(v, n)}
	}
	mac := MAC([6]byte{2, 0, 0, 0, 0, 5})
	padded := &p4v1.Action{ActionId: forward, Params: []*p4v1.Action_Param{param(3, Uint(0), 6), param(2, mac, 6), param(1, Uint(5), 2)}}
	dst := Addr(netip.MustParseAddr("2001:db8:ffff::"))
	//lint:ignore SA1019 servers of either age are met
	numbered := &p4v1.Replica_EgressPort{EgressPort: 509}
	for _, c := range []struct {
		name string
		in   *p4v1.Entity
		want Entity
	}{
		{"padded, reordered, bits beyond the prefix", &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
			TableId: routeTable,
			Match: []*p4v1.FieldMatch{
				{FieldId: 2, FieldMatchType: &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: []byte(dst), PrefixLen: 32}}},
				{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte{0, 0}}}},
			},
			Action:   &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: padded}},
			Metadata: []byte("ignored"),
		}}}, route("2001:db8::", 32, 5)},
		{"wildcards spelled out", &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
			TableId: aclTable, Priority: 3,
			Match: []*p4v1.FieldMatch{
				{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: []byte{1, 2}, Mask: []byte{0, 0}}}},
				{FieldId: 2, FieldMatchType: &p4v1.FieldMatch_Range_{Range: &p4v1.FieldMatch_Range{Low: []byte{0}, High: []byte{0x0f, 0xff, 0xff}}}},
			},
			Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: deny}}},
		}}}, TableEntry{Table: aclTable, Priority: 3, Action: Action{ID: deny}}},
		{"bits outside the mask", &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
			TableId: aclTable, Priority: 3,
			Match: []*p4v1.FieldMatch{
				{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: []byte{0x01, 0xff}, Mask: []byte{0x0f}}}},
			},
			Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: deny}}},
		}}}, TableEntry{Table: aclTable, Priority: 3, Action: Action{ID: deny}, Match: []Match{{Field: 1, Kind: Ternary, Value: Uint(15), Mask: Uint(15)}}}},
		{"replicas in either form and any order", preToProto(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{
			MulticastGroupEntry: &p4v1.MulticastGroupEntry{MulticastGroupId: 64, Replicas: []*p4v1.Replica{
				{PortKind: numbered, Instance: 256},
				{PortKind: &p4v1.Replica_Port{Port: []byte{0, 3}}, Instance: 1},
			}}}}), MulticastGroup{ID: 64, Replicas: []Replica{{Port: 3, Instance: 1}, {Port: 509, Instance: 256}}}},
		{"members reordered, a weight left out, a size reported", &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: &p4v1.ActionProfileGroup{
			ActionProfileId: selector, GroupId: 7, MaxSize: 32,
			Members: []*p4v1.ActionProfileGroup_Member{{MemberId: 2, Weight: 3}, {MemberId: 1}},
		}}}, ActionGroup{Profile: selector, ID: 7, Members: []WeightedMember{{ID: 1, Weight: 1}, {ID: 2, Weight: 3}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok, err := fromProto(c.in)
			if err != nil || !ok {
				t.Fatalf("%v, %v", ok, err)
			}
			if got = smallPipeline(t).normal(got); !Equal(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestUnequal(t *testing.T) {
	base := route("2001:db8::", 32, 5)
	longer := route("2001:db8::", 33, 5)
	other := route("2001:db8::", 32, 6)
	if Equal(base, longer) || base.Key() == longer.Key() {
		t.Error("prefix lengths are not told apart")
	}
	if Equal(base, other) || base.Key() != other.Key() {
		t.Error("actions are not told apart, or are part of the key")
	}
	if Equal(base, nil) || !Equal(nil, nil) {
		t.Error("nothing equals something")
	}
}

func TestMalformedUpdates(t *testing.T) {
	twice := route("2001:db8::", 32, 5)
	twice.Match = append(twice.Match, twice.Match[0])
	for name, u := range map[string]Update{
		"no entity":             {Type: Insert},
		"no type":               {Entity: route("::1", 128, 1)},
		"table 0":               {Insert, TableEntry{Action: Action{ID: deny}}},
		"no action":             {Insert, TableEntry{Table: routeTable}},
		"action and group":      {Insert, TableEntry{Table: routeTable, Action: Action{ID: deny}, Group: 1}},
		"default with a match":  {Modify, TableEntry{Table: routeTable, Default: true, Match: twice.Match[:1], Action: Action{ID: deny}}},
		"a field twice":         {Insert, twice},
		"prefix of length 0":    {Insert, TableEntry{Table: routeTable, Action: Action{ID: deny}, Match: []Match{{Field: 2, Kind: LPM, Value: Uint(0)}}}},
		"exact without a value": {Insert, TableEntry{Table: routeTable, Action: Action{ID: deny}, Match: []Match{{Field: 1, Kind: Exact}}}},
		"exact with a mask":     {Insert, TableEntry{Table: routeTable, Action: Action{ID: deny}, Match: []Match{{Field: 1, Kind: Exact, Value: Uint(1), Mask: Uint(1)}}}},
		"ternary without mask":  {Insert, TableEntry{Table: aclTable, Action: Action{ID: deny}, Match: []Match{{Field: 1, Kind: Ternary, Value: Uint(1)}}}},
		"member 0":              {Insert, ActionMember{Profile: selector}},
		"weight 0":              {Insert, ActionGroup{Profile: selector, ID: 1, Members: []WeightedMember{{ID: 1}}}},
		"multicast group 0":     {Insert, MulticastGroup{}},
		"clone session 0":       {Insert, CloneSession{}},
	} {
		if _, err := updateToProto(u); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUpdateTypesOfWhatAlwaysExists(t *testing.T) {
	def := TableEntry{Table: nodeTable, Default: true, Action: Action{ID: deny}}
	for _, typ := range []UpdateType{Insert, Modify, Delete} {
		for _, e := range []Entity{def, CounterCell{Counter: drops, Index: 1}} {
			p, err := updateToProto(Update{typ, e})
			if err != nil || p.GetType() != p4v1.Update_MODIFY {
				t.Errorf("%s of a %s: %v, %v", typ, e.Kind(), p.GetType(), err)
			}
			if te := p.GetEntity().GetTableEntry(); te != nil && (te.GetAction() == nil) != (typ == Delete) {
				t.Errorf("%s of a default action carries %v", typ, te.GetAction())
			}
		}
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
	d, err = s.Describe(every()[9].(TableEntry))
	if err != nil {
		t.Fatal(err)
	}
	equalDescriptions(t, d, Description{
		Table: "acl", Priority: 10, Action: "deny",
		Match: []Typed{{"port", "256&&&0x1f0"}, {"flow", "0..500"}, {"proto", uint64(17)}},
	})
	if _, err := s.Describe(TableEntry{Table: 1}); !errors.Is(err, ErrUnknownName) {
		t.Errorf("unknown table: %v", err)
	}
	if _, err := s.Describe(TableEntry{Table: routeTable, Action: Action{ID: 1}}); !errors.Is(err, ErrUnknownName) {
		t.Errorf("unknown action: %v", err)
	}
	if _, err := s.Describe(TableEntry{Table: routeTable, Action: Action{ID: forward}}); !errors.Is(err, ErrMalformed) {
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
}

func equalDescriptions(t *testing.T, got, want Description) {
	t.Helper()
	same := got.Table == want.Table && got.Action == want.Action && got.Priority == want.Priority &&
		len(got.Match) == len(want.Match) && len(got.Params) == len(want.Params)
	for i := 0; same && i < len(got.Match); i++ {
		same = got.Match[i] == want.Match[i]
	}
	for i := 0; same && i < len(got.Params); i++ {
		same = got.Params[i] == want.Params[i]
	}
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
	if _, err := ParsePipeline([]byte(`tables { preamble { id: 5 name: "a" } } tables { preamble { id: 5 name: "b" } }`), nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("an id used twice: %v", err)
	}
}
