package entry

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
)

func codec(t testing.TB) *Codec {
	t.Helper()
	p, err := southbound.NewPipeline(p4.P4Info(), p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	return NewCodec(p.Schema())
}

func routeTo(bits int, port uint64) Table {
	a := netip.MustParseAddr("2001:db8::")
	return In(p4.TableIpv6Route, Do(p4.ActionForward, With("port", Uint(port)), With("neighbor", Uint(7))),
		Match{Field: "dst_addr", Kind: southbound.LPM, Value: Addr(a), Bits: bits}, Exact("vrf", Uint(0)))
}

func TestKeysAndEquality(t *testing.T) {
	a := routeTo(32, 1)
	b := In(p4.TableIpv6Route, Do(p4.ActionForward, With("neighbor", Uint(7)), With("port", Uint(1))),
		Exact("vrf", Uint(0)), Match{Field: "dst_addr", Kind: southbound.LPM, Value: Addr(netip.MustParseAddr("2001:db8::")), Bits: 32})
	if !Equal(a, b) || a.Key() != b.Key() {
		t.Errorf("order counts: %s and %s", a, b)
	}
	if c := routeTo(32, 2); Equal(a, c) || a.Key() != c.Key() || SameContent(a, c) {
		t.Errorf("%s and %s", a, c)
	}
	if c := routeTo(48, 1); Equal(a, c) || a.Key() == c.Key() || !SameContent(a, c) {
		t.Errorf("%s and %s", a, c)
	}
	if a.Key() != "ipv6_route/dst_addr=2001:db8::/32/vrf=0" || a.String() != string(a.Key())+" -> forward(neighbor=7, port=1)" {
		t.Errorf("%s", a)
	}
	for _, pair := range [][2]Entity{
		{Member{Profile: "s", ID: 1, Action: Do("x")}, Member{Profile: "s", ID: 2, Action: Do("x")}},
		{Group{Profile: "s", ID: 1}, Member{Profile: "s", ID: 1}},
		{Group{Profile: "s", ID: 1, Members: []uint32{1, 2}}, Group{Profile: "s", ID: 1, Members: []uint32{1, 3}}},
		{Copies(1, Replica{Port: 1, Instance: 1}), Copies(1, Replica{Port: 1, Instance: 2})},
		{Copies(1), Clone{ID: 1}},
		{Clone{ID: 1}, Clone{ID: 1, Replicas: []Replica{{Port: 1}}}},
		{Table{Name: "node", Default: true}, Table{Name: "node"}},
		{Table{Name: "t", Priority: 1}, Table{Name: "t"}},
	} {
		if Equal(pair[0], pair[1]) || !Equal(pair[0], pair[0]) {
			t.Errorf("%s and %s", pair[0], pair[1])
		}
	}
	if !Equal(Copies(1, Replica{Port: 2, Instance: 9}, Replica{Port: 9, Instance: 1}), Copies(1, Replica{Port: 9, Instance: 1}, Replica{Port: 2, Instance: 9})) {
		t.Error("the order of replicas counts")
	}
	if !Equal(nil, nil) || Equal(nil, a) {
		t.Error("nil")
	}
}

func TestCodecErrors(t *testing.T) {
	c := codec(t)
	ok := routeTo(32, 1)
	if _, err := c.Encode(ok); err != nil {
		t.Fatal(err)
	}
	with := func(edit func(*Table)) Table {
		e := routeTo(32, 1)
		edit(&e)
		return e
	}
	for _, x := range []struct {
		name string
		e    Entity
		want error
	}{
		{"table", with(func(e *Table) { e.Name = "nope" }), ErrUnknownName},
		{"field", with(func(e *Table) { e.Match[0].Field = "nope" }), ErrUnknownName},
		{"action", with(func(e *Table) { e.Action.Name = "nope" }), ErrUnknownName},
		{"action of another table", with(func(e *Table) { e.Action = Do(p4.ActionEnd) }), ErrUnknownName},
		{"parameter", with(func(e *Table) { e.Action.Params[0].Name = "nope" }), ErrUnknownName},
		{"parameter missing", with(func(e *Table) { e.Action.Params = e.Action.Params[1:] }), ErrMissing},
		{"exact field missing", with(func(e *Table) { e.Match = e.Match[:1] }), ErrMissing},
		{"parameter too wide", with(func(e *Table) { e.Action = Do(p4.ActionForward, With("port", Uint(512)), With("neighbor", Uint(7))) }), ErrWidth},
		{"match too wide", with(func(e *Table) { e.Match[1].Value = Uint(1 << 16) }), ErrWidth},
		{"prefix too long", with(func(e *Table) { e.Match[0].Bits = 129 }), ErrWidth},
		{"match of another kind", with(func(e *Table) { e.Match[0].Kind = southbound.Exact }), ErrWidth},
		{"profile", Member{Profile: "nope", ID: 1, Action: Do(p4.ActionForward)}, ErrUnknownName},
		{"profile of a group", Group{Profile: "nope", ID: 1}, ErrUnknownName},
	} {
		if _, err := c.Encode(x.e); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", x.name, err, x.want)
		}
	}
	for _, e := range []southbound.Entity{
		southbound.TableEntry{Table: 1}, southbound.TableEntry{Table: p4.TableIpv6RouteID, Match: []southbound.Match{{Field: 99}}},
		southbound.TableEntry{Table: p4.TableIpv6RouteID, Action: southbound.Action{ID: 5}},
		southbound.TableEntry{Table: p4.TableIpv6RouteID, Action: southbound.Action{ID: p4.ActionForwardID, Params: []southbound.Param{{ID: 9}}}},
		southbound.ActionMember{Profile: 1}, southbound.ActionGroup{Profile: 1}, southbound.CounterCell{}, southbound.DigestConfig{},
	} {
		if _, err := c.Decode(e); !errors.Is(err, ErrUnknownID) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

func TestPackets(t *testing.T) {
	c := codec(t)
	out, err := c.EncodePacketOut(PacketOut{Op: State, Group: 1023, Branch: 31})
	if err != nil || len(out.Metadata) != 4 {
		t.Fatal(out, err)
	}
	got := make(map[string]uint64)
	for _, f := range out.Metadata {
		for _, info := range c.out.list {
			if info.ID == f.ID {
				got[info.Name], _ = f.Value.Uint64()
			}
		}
	}
	if got["op"] != 2 || got["group"] != 1023 || got["branch"] != 31 {
		t.Errorf("%v", got)
	}
	values := map[string]uint64{
		"ingress_port": 3, "reason": 2, "group": 9, "branch": 4, "epoch": 1 << 31, "flags": 0b1011, "ack_psn": 1<<24 - 1, "rnr_timer": 7,
		"msn": 5, "cnp_count": 6, "last_psn": 8, "cnp_total": 10, "cnp_branch": 11,
	}
	var in southbound.PacketIn
	for _, info := range c.in.list {
		v, known := values[info.Name]
		if !known {
			t.Errorf("nobody reads field %q", info.Name)
		}
		delete(values, info.Name)
		in.Metadata = append(in.Metadata, southbound.Field{ID: info.ID, Value: Uint(v)})
	}
	if len(values) > 0 {
		t.Errorf("the pipeline lacks %v", values)
	}
	want := PacketIn{
		IngressPort: 3, Reason: StateAnswer, Group: 9, Branch: 4, Epoch: 1 << 31, Valid: true, NAKPending: true, RNR: true,
		AckPSN: 1<<24 - 1, RNRTimer: 7, MSN: 5, CNPCount: 6, LastPSN: 8, CNPTotal: 10, CNPBranch: 11,
	}
	if p := c.DecodePacketIn(in); p.String() != want.String() {
		t.Errorf("%s\nwant %s", p, want)
	}
	for op, want := range map[Op]uint64{Send: uint64(p4.PacketOutOpSend), Poll: uint64(p4.PacketOutOpPoll), State: uint64(p4.PacketOutOpState)} {
		if uint64(op) != want {
			t.Errorf("%s is %d in the program", op, want)
		}
	}
	if Reason(p4.PacketInReasonCnpWindow) != CNPWindow || Reason(p4.PacketInReasonState) != StateAnswer {
		t.Error("reasons differ from the program's")
	}
}
