package dataplane

import (
	"errors"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"

	"github.com/weft-sdn/weft/dataplane/drop"
)

const (
	ethIPv6 = "0200000000aa 0200000000bb 86dd"
	ethTag  = "0200000000aa 0200000000bb 8100"
	addrA   = "20010db8000000000000000000000001"
	addrB   = "20010db8000000000000000000000002"
	ipAB    = "6 12 345ff " + addrA + addrB // version, class, flow; source, destination
)

func TestForwarding(t *testing.T) {
	r := newBed(t, "basic")
	payload := "deadbeef"
	r.expect(1, ethIPv6+ipAB+payload) // no route: dropped

	r.insert("route", key("0001", "20010db8000000000000000000000000/32"), 0, r.call("forward", "0004"))
	r.insert("route", key("0001", addrB+"/128"), 0, r.call("rewrite", "0005", addrA))
	r.insert("route", key("0002", "*"), 0, r.call("forward", "0006"))
	r.expect(1, ethIPv6+ipAB+payload, sent{5, ethIPv6 + "6 12 34500" + addrA + addrA + payload})
	r.expect(1, ethIPv6+"6 12 345ff"+addrB+addrA, sent{4, ethIPv6 + "6 12 345ff" + addrB + addrA})

	// Another VRF, chosen by port; the tag is absent, so its id reads as 0.
	r.insert("port", key("0009", "0000"), 0, r.call("set_vrf", "0002"))
	r.expect(9, ethIPv6+ipAB, sent{6, ethIPv6 + ipAB})
	r.insert("port", key("0009", "0005"), 0, r.call("set_vrf", "0001"))
	r.expect(9, ethTag+"2005"+ipAB, sent{5, ethIPv6 + "6 12 34500" + addrA + addrA})
	// the default VRF
	r.expect(9, ethTag+"2006"+ipAB, sent{5, ethTag + "2006 6 12 34500" + addrA + addrA})

	v, err := r.s.Counter(engine.CellOf(r.table("route"),
		[]engine.Match{match(t, "0001"), match(t, addrB+"/128")}, 0))
	if err != nil || v.Packets != 3 || v.Bytes != 54+52+52 {
		t.Fatalf("direct counter %+v, %v", v, err)
	}
}

func TestTernaryAndRange(t *testing.T) {
	r := newBed(t, "basic")
	r.insert("route", key("0001", "*"), 0, r.call("forward", "0004"))
	acl := func(prio int32, call engine.ActionCall, k ...string) { r.insert("acl", k, prio, call) }
	acl(10, r.call("set_class", "03"),
		"20010db8 000000000000000000000000 & ffffffff 000000000000000000000000", "*", "01")
	acl(20, r.call("drop"), "*", "010000-01ffff", "01")
	r.expect(1, ethIPv6+ipAB, sent{4, ethIPv6 + "6 03 345ff" + addrA + addrB})
	r.expect(1, ethIPv6+"6 12 0ffff"+addrA+addrB, sent{4, ethIPv6 + "6 03 0ffff" + addrA + addrB})
	r.expect(1, ethIPv6+"6 12 10000"+addrA+addrB)
	r.expect(1, ethIPv6+"6 12 1ffff"+addrA+addrB)
	r.expect(1, ethIPv6+"6 12 20000"+addrA+addrB, sent{4, ethIPv6 + "6 03 20000" + addrA + addrB})

	// A later entry of a higher priority wins over both.
	acl(30, r.call("NoAction"), addrA+"&ffffffffffffffffffffffffffffffff", "*", "01")
	r.expect(1, ethIPv6+"6 12 10000"+addrA+addrB, sent{4, ethIPv6 + "6 12 10000" + addrA + addrB})
	m := []engine.Match{match(t, addrA+"&ffffffffffffffffffffffffffffffff"), match(t, "*"),
		match(t, "01")}
	if err := r.s.DeleteEntry(r.table("acl"), m, 30); err != nil {
		t.Fatal(err)
	}
	r.expect(1, ethIPv6+"6 12 10000"+addrA+addrB)
}

func TestConstEntries(t *testing.T) {
	r := newBed(t, "basic")
	eth := "0200000000aa 0200000000bb "
	r.expect(1, eth+"0800 00", sent{7, eth + "0800 00"})
	r.expect(1, eth+"08ff 00", sent{8, eth + "08ff 00"})
	r.expect(1, eth+"9abc 00", sent{9, eth + "9abc 00"})
	r.expect(1, eth+"0700 00")
	err := r.s.InsertEntry(r.table("types"), r.entry(key("0700&ffff"), 1, r.call("drop")))
	if !errors.Is(err, engine.ErrConst) {
		t.Fatalf("insert into a constant table: %v", err)
	}
	if n := r.s.EntryCount(r.table("types")); n != 3 {
		t.Fatalf("%d constant entries, want 3", n)
	}
}

func TestShortPacket(t *testing.T) {
	r := newBed(t, "basic")
	r.insert("route", key("0001", "*"), 0, r.call("forward", "0004"))
	full := ethIPv6 + ipAB
	// A header that is cut off is not valid: its octets stay payload.
	r.expect(1, full[:len(full)-2])
	r.expect(1, "02")
	if st := r.s.Stats(); st.Drops[drop.Ingress] != 2 {
		t.Fatalf("%+v", st)
	}
}
