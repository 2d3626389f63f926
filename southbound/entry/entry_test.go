package entry

import (
	"hash/maphash"
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/p4"
)

func routeTo(bits int, port uint64) Table {
	a := netip.MustParseAddr("2001:db8::")
	return In(p4.TableIpv6Route, Do(p4.ActionForward, With("port", Uint(port)),
		With("neighbor", Uint(7))),
		Match{Field: "dst_addr", Kind: MatchLPM, Value: Addr(a), Bits: bits}, Exact("vrf", Uint(0)))
}

func TestKeysAndEquality(t *testing.T) {
	a := routeTo(32, 1)
	b := In(p4.TableIpv6Route, Do(p4.ActionForward, With("neighbor", Uint(7)), With("port", Uint(1))),
		Exact("vrf", Uint(0)), Match{Field: "dst_addr", Kind: MatchLPM,
			Value: Addr(netip.MustParseAddr("2001:db8::")), Bits: 32})
	if !Equal(a, b) || a.Key() != b.Key() {
		t.Errorf("order counts: %s and %s", a, b)
	}
	if c := routeTo(32, 2); Equal(a, c) || a.Key() != c.Key() || SameContent(a, c) {
		t.Errorf("%s and %s", a, c)
	}
	if c := routeTo(48, 1); Equal(a, c) || a.Key() == c.Key() || !SameContent(a, c) {
		t.Errorf("%s and %s", a, c)
	}
	if a.Key() != "ipv6_route/dst_addr=2001:db8::/32/vrf=0" || a.String() != string(a.Key())+
		" -> forward(neighbor=7, port=1)" {
		t.Errorf("%s", a)
	}
	seed := maphash.MakeSeed()
	if HashKey(seed, a) != HashKey(seed, b) {
		t.Error("the order of matches counts in the hash of a key")
	}
	for _, pair := range [][2]Entity{
		{Member{Profile: "s", ID: 1, Action: Do("x")}, Member{Profile: "s", ID: 2, Action: Do("x")}},
		{Group{Profile: "s", ID: 1}, Member{Profile: "s", ID: 1}},
		{Group{Profile: "s", ID: 1, Members: []uint32{1, 2}},
			Group{Profile: "s", ID: 1, Members: []uint32{1, 3}}},
		{Copies(1, Replica{Port: 1, Instance: 1}), Copies(1, Replica{Port: 1, Instance: 2})},
		{Copies(1), Clone{ID: 1}},
		{Clone{ID: 1}, Clone{ID: 1, Replicas: []Replica{{Port: 1}}}},
		{Clone{ID: 1}, Clone{ID: 1, Class: 1}},
		{Clone{ID: 1}, Clone{ID: 1, Truncate: 64}},
		{Table{Name: "node", Default: true}, Table{Name: "node"}},
		{Table{Name: "t", Priority: 1}, Table{Name: "t"}},
	} {
		if Equal(pair[0], pair[1]) || !Equal(pair[0], pair[0]) {
			t.Errorf("%s and %s", pair[0], pair[1])
		}
		same := HashKey(seed, pair[0]) == HashKey(seed, pair[1])
		if same != (pair[0].Key() == pair[1].Key()) {
			t.Errorf("%s and %s: the same hash %v", pair[0], pair[1], same)
		}
	}
	if !Equal(Copies(1, Replica{Port: 2, Instance: 9}, Replica{Port: 9, Instance: 1}),
		Copies(1, Replica{Port: 9, Instance: 1}, Replica{Port: 2, Instance: 9})) {
		t.Error("the order of replicas counts")
	}
	if !Equal(nil, nil) || Equal(nil, a) {
		t.Error("nil")
	}
}

// TestPrefixOfEverything: a prefix of length 0 is no match at all (P4Runtime section 9.1.1:
// don't-care fields are omitted), so the written entry equals the entry that the switch returns.
func TestPrefixOfEverything(t *testing.T) {
	e := In(p4.TableIpv6Route, Do(p4.ActionForward), LPM("dst_addr", netip.MustParsePrefix("::/0")),
		Exact("vrf", Uint(0)))
	if m, ok := e.Field("dst_addr"); ok || len(e.Match) != 1 {
		t.Errorf("%s matches %+v", e, m)
	}
	if m, ok := In(p4.TableIpv6Route, Do(p4.ActionForward),
		LPM("dst_addr", netip.MustParsePrefix("8000::/1"))).Field("dst_addr"); !ok || m.Bits != 1 {
		t.Errorf("8000::/1 is %+v", m)
	}
}
