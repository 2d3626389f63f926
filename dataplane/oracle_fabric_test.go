package dataplane

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/test/seeds"
)

// fabricOracle makes a fabric switch with a bit of everything: an edge and bud
// node of group 5, transit of group 6, provisioned encapsulation of group 5, in-band source of
// group 6, ECMP-free routing, SRv6 SIDs and policies. Time-dependent features are set so that time
// does not matter.
func fabricOracle(o *oracle) {
	o.setDefault("node", o.call("set_node", addrA, "7c"))
	o.insert("my_station", key(macSwitch), 0, o.call("accept_station"))
	o.insert("port", key("0001"), 0, o.call("set_port", "00", "0000"))
	o.insert("port", key("0002"), 0, o.call("set_port", "00", "0000"))
	o.insert("port", key("0003"), 0, o.call("set_port", "01", "0000"))
	o.insert("source_guard", key("0003", "20010db8000100000000000000000000/48"), 0,
		o.call("allow_source"))
	o.insert("ipv6_route", key("0000", "20010db8000000000000000000000000/32"), 0,
		o.call("forward", "0002", "0007"))
	o.insert("ipv6_route", key("0000", "20010db8000400000000000000000000/48"), 0,
		o.call("forward", "0003", "0008"))
	o.insert("ipv6_route", key("0001", "*"), 0, o.call("forward", "0001", "0007"))
	o.insert("neighbor", key("0007"), 0, o.call("set_macs", macSwitch, macNext))
	o.insert("neighbor", key("0008"), 0, o.call("set_macs", macSwitch, macHost))
	sid := func(n string) string { return "20010db80002000000000000000" + n }
	o.insert("local_sid", key(sid("0e001")+"/128"), 0, o.call("end_mt", "0005", "004a", parentAddr))
	o.insert("local_sid", key(sid("0e002")+"/128"), 0, o.call("end_replicate", "0006", "004c", "00",
		sourceAddr))
	o.insert("local_sid", key(sid("0e003")+"/128"), 0, o.call("end_replicate", "0005", "004a", "01",
		parentAddr))
	o.insert("local_sid", key(sid("01000")+"/116"), 0, o.call("end"))
	o.insert("local_sid", key(sid("0d006")+"/128"), 0, o.call("end_dt6", "0001"))
	o.insert("local_sid", key(sid("0000a")+"/128"), 0, o.call("end_x", "0001", "0007"))
	o.insert("srv6_policy", key("0000", "20010db8000500000000000000000000/48"), 0,
		o.call("h_encaps_2", addrA, sid("01001"), sid("01002")))
	o.insert("mt_proxy", key(proxyAddr), 0, o.call("set_group", "0005"))
	o.insert("mt_proxy", key(inbandProxyAddr), 0, o.call("set_group", "0006"))
	for _, g := range []string{"0005", "0006"} {
		o.insert("mt_group", key(g), 0, o.call("set_group_state", "00000011", "000077", "00000007",
			"ffffffffffff", "ffffffffffff", "000003", "0001", "0002"))
	}
	o.insert("mt_source", key("0005", "0003", sourceAddr), 0,
		o.call("mt_encaps_replicate", addrA, sid("0e001"), "004a", "01"))
	o.insert("mt_source", key("0006", "0003", sourceAddr), 0, o.call("mt_inband"))
	tree := MulticastGroup{ID: 74}
	for i := range 3 {
		tree.Replicas = append(tree.Replicas, Replica{Port: 509, Instance: uint16(i + 1)})
		o.insert("mt_replica", key("0005", fmt.Sprintf("%04x", i+1)), 0,
			o.call("to_receiver", receiverAddr(i), fmt.Sprintf("%06x", 0x100+i), "01"))
		o.insert("mt_branch", key("0005", "0003", receiverAddr(i)), 0,
			o.call("set_branch", fmt.Sprintf("%02x", i), "00000011", "01", "000000"))
		o.insert("mt_tlv_receiver", key("0005", receiverAddr(i)), 0, o.call("allow_tlv_receiver", "01"))
	}
	tree.Replicas = append(tree.Replicas, Replica{Port: 509, Instance: 256},
		Replica{Port: 2, Instance: 9})
	o.insert("mt_replica", key("0005", "0100"), 0, o.call("to_tlv_receivers", "01"))
	o.insert("mt_replica", key("0005", "0009"), 0, o.call("to_child", sid("0f009"), "0007"))
	o.group(tree)
	o.group(MulticastGroup{ID: 75, Replicas: tree.Replicas[:3]})
	o.group(MulticastGroup{ID: 76, Replicas: []Replica{{Port: 1, Instance: 1},
		{Port: 2, Instance: 2}}})
	o.insert("mt_replica", key("0006", "0001"), 0, o.call("to_child", sid("0f001"), "0007"))
	o.insert("mt_replica", key("0006", "0002"), 0, o.call("to_child", sid("0f002"), "0008"))
	for n := 1; n <= 4; n++ {
		g := MulticastGroup{ID: uint16(n)}
		for i := range n {
			g.Replicas = append(g.Replicas, Replica{Port: 509, Instance: uint16(512 + i)})
		}
		o.group(g)
	}
	o.insert("mt_upstream", key("0005"), 0, o.call("to_parent", proxyAddr, addrA, "00000011", "000077",
		"0007"))
	o.session(511, 510)
	o.session(2, 1)
}

// fabricSeeds are well-formed packets for every path of that switch.
func fabricSeeds(t testing.TB) []arrival {
	var in []arrival
	add := func(port uint32, frame string) { in = append(in, arrival{port, unhex(t, frame)}) }
	eth := macSwitch + macHost + "86dd"
	payload := strings.Repeat("0123456789abcdef", 8)
	sid := func(n string) string { return "20010db80002000000000000000" + n }
	tree := func(dst, tlvs string, psn uint32) string {
		inner := roce(t, sourceAddr, proxyAddr, fmt.Sprintf("0700ffff00000077 00%06x", psn), payload)
		if psn%2 == 0 {
			inner = roce(t, sourceAddr, proxyAddr, fmt.Sprintf("0600ffff00000077 00%06x", psn),
				"00000000000010000000abcd00000080"+payload)
		}
		n := 4 + len(tlvs)/16
		srh := fmt.Sprintf("29%02x040101000000", n) + proxyAddr + sid("0e001") + tlvs
		return eth + fmt.Sprintf("60212345%04x2b40", (len(srh)+len(inner))/2) + parentAddr + dst + srh +
			inner
	}
	tlv := func(edge string, rs ...int) string {
		s := fmt.Sprintf("7c%02x0000%s%02x000000", 22+20*len(rs), edge, len(rs))
		for _, r := range rs {
			s += receiverAddr(r) + fmt.Sprintf("%06x00", 0x200+r)
		}
		for len(s)%16 != 0 {
			s += "00"
		}
		return s
	}
	add(1, forward64)
	add(3, macSwitch+macHost+"86dd"+"60000000 000c 11 40"+sourceAddr+receiverAddr(1)+
		"c000 1234 000c 0000 01020304")
	add(1, eth+"60000000 0014 06 02"+addrB+addrA+"0102030405060708090a0b0c0d0e0f1011121314")
	for i := range 4 {
		add(1, tree(sid("0e001"), "", uint32(i)))
		add(1, tree(sid("0e002"), "", uint32(i)))
		add(1, tree(sid("0e003"), "", uint32(i)))
		// by a host itself: group 5 refuses, group 6 wants it so
		for _, s := range []string{"0e001", "0e002"} {
			frame := strings.Replace(tree(sid(s), "", uint32(i)), parentAddr, sourceAddr, 1)
			add(3, frame)
			add(3, strings.ReplaceAll(frame, proxyAddr, inbandProxyAddr)) // its ICRC is the edges' business
		}
		add(1, tree(sid("0e001"), tlv(addrA, 0, 2), uint32(i)))
		add(1, tree(sid("0e001"), "0104000000000000"+tlv(addrB, 0, 2)+tlv(addrA, 1)+tlv(addrA, 0, 2),
			uint32(i)))
		add(3, eth+roce(t, sourceAddr, proxyAddr, fmt.Sprintf("0a00ffff00000077 00%06x", i),
			"00000000000010000000abcd00000080"+payload))
		add(1, tree(sid("01001"), "", uint32(i)))
		add(1, tree(sid("0000a"), "", uint32(i)))
	}
	add(1, eth+"600000000040 29 40"+parentAddr+sid("0d006")+"600000000018 3b 40"+addrB+addrA+
		strings.Repeat("55", 24))
	add(1, eth+"600000000018 3b 40"+addrB+"20010db8000500000000000000000001"+strings.Repeat("55", 24))
	for psn := range 6 {
		for b := range 3 {
			for _, op := range []string{"1f000001", "60000001", "2c000002", "61000003"} {
				add(3, eth+roce(t, receiverAddr(b), proxyAddr, fmt.Sprintf("1100ffff00000077 00%06x", psn), op))
			}
			add(3, eth+roce(t, receiverAddr(b), proxyAddr, fmt.Sprintf("8100ffff40000077 00%06x", 0),
				strings.Repeat("00", 16)))
		}
	}
	add(510, "00 0002 0000 00"+forward64)
	add(510, "01 0000 0005 00")
	for b := range 4 {
		add(510, fmt.Sprintf("02 0000 0005 %02x", b))
	}
	return in
}

func TestFabricAgainstSimpleSwitch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts another process")
	}
	o := newOracle(t, fabricJSON)
	fabricOracle(o)
	arrivals := fabricSeeds(t)
	first, times := seeds.Range(t, 20261121, 1)
	rng := rand.New(rand.NewPCG(first, 0))
	for _, a := range arrivals {
		o.packet(a.port, a.frame)
	}
	for range 3000 * times {
		a := arrivals[rng.IntN(len(arrivals))]
		f := a.frame
		if rng.IntN(4) > 0 {
			f = mutate(rng, f)
		}
		o.packet(a.port, f)
	}
	o.compare([]uint32{1, 2, 3, 510})
}
