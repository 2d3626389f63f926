package dataplane

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"

	"github.com/weft-sdn/weft/packet"
)

const fabricJSON = "../p4/fabric.json"

// A RoCEv2 packet of the fabric: Ethernet, IPv6, UDP, and what follows.
const (
	macSwitch = "0200000000aa"
	macHost   = "0200000000bb"
	macNext   = "0200000000cc"
)

// forwardingRig is a fabric switch that routes 2001:db8::/32 out of port 2.
func forwardingRig(t testing.TB) *bed { return forwardingRigOf(t, loadFile(t, fabricJSON)) }

func forwardingRigOf(t testing.TB, p *engine.Program) *bed {
	r := newRigWith(t, p, Config{Seed: 1})
	r.setDefault("node", r.call("set_node", addrA, "01"))
	r.insert("my_station", key(macSwitch), 0, r.call("accept_station"))
	r.insert("port", key("0001"), 0, r.call("set_port", "00", "0000"))
	r.insert("ipv6_route", key("0000", "20010db8000000000000000000000000/32"), 0,
		r.call("forward", "0002", "0007"))
	r.insert("neighbor", key("0007"), 0, r.call("set_macs", macSwitch, macNext))
	return r
}

func TestFabricForward(t *testing.T) {
	r := forwardingRig(t)
	udp := "c000 1234 000c 0000 01020304" // not RoCEv2
	in := macSwitch + macHost + "86dd" + "60000000 000c 11 40" + addrA + addrB + udp
	out := macNext + macSwitch + "86dd" + "60000000 000c 11 3f" + addrA + addrB + udp
	r.expect(1, in, sent{2, out})
	if t.Failed() {
		t.Logf("%+v", r.s.Stats())
	}
}

// roce builds an IPv6/UDP/BTH packet with its ICRC: hex in, hex out.
func roce(t testing.TB, src, dst, bth, rest string) string {
	t.Helper()
	body := unhex(t, bth+rest)
	udpLen := 8 + len(body) + 4
	p := unhex(t, fmt.Sprintf("60000000%04x1140", udpLen)+src+dst+fmt.Sprintf("c00012b7%04x0000",
		udpLen))
	p = packet.AppendICRC(append(p, body...))
	if err := packet.CheckICRC(p); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(p)
}

// Addresses of the multicast scenario.
const (
	proxyAddr       = "20010db800ff0000000000000000000f"
	inbandProxyAddr = "20010db800ff0000000000000000001f"
	edgeSID         = "20010db800020000000000000000e001"
	sourceAddr      = "20010db8000100000000000000000001"
	parentAddr      = "20010db8000300000000000000000003"
)

func receiverAddr(i int) string { return fmt.Sprintf("20010db80004000000000000000000%02x", i) }

// edgeRig is an End.MT edge, provisioned, with n receivers on port 2; the tree
// comes in and responses go out on port 1.
func edgeRig(t testing.TB, n int) *bed { return edgeRigOf(t, loadFile(t, fabricJSON), n) }

func edgeRigOf(t testing.TB, p *engine.Program, n int) *bed {
	r := forwardingRigOf(t, p)
	r.insert("port", key("0002"), 0, r.call("set_port", "00", "0000"))
	r.insert("local_sid", key(edgeSID+"/128"), 0, r.call("end_mt", "0005", fmt.Sprintf("%04x", 64+2*5),
		parentAddr))
	r.insert("mt_proxy", key(proxyAddr), 0, r.call("set_group", "0005"))
	live := fmt.Sprintf("%08x", uint32(1<<n-1))
	r.insert("mt_group", key("0005"), 0, r.call("set_group_state", "00000011", "000077", live,
		"000000000064", "000000000064", "000000", "0001", "0002"))
	g := MulticastGroup{ID: 64 + 2*5}
	for i := range n {
		g.Replicas = append(g.Replicas, Replica{Port: 509, Instance: uint16(i + 1)})
		r.insert("mt_replica", key("0005", fmt.Sprintf("%04x", i+1)), 0,
			r.call("to_receiver", receiverAddr(i), fmt.Sprintf("%06x", 0x100+i), "01"))
		r.insert("mt_branch", key("0005", "0002", receiverAddr(i)), 0,
			r.call("set_branch", fmt.Sprintf("%02x", i), "00000011", "01", "000000"))
	}
	if err := r.s.InsertMulticastGroup(g); err != nil {
		t.Fatal(err)
	}
	r.insert("mt_upstream", key("0005"), 0,
		r.call("to_parent", proxyAddr, addrA, "00000011", "000077", "0007"))
	return r
}

// treePacket is what the tree brings to the edge: a WRITE Middle in SRv6.
func treePacket(t testing.TB, psn uint32, payload string) string {
	inner := roce(t, sourceAddr, proxyAddr, fmt.Sprintf("0700ffff00000077 00%06x", psn), payload)
	outer := fmt.Sprintf("60000000%04x2b40", 40+len(inner)/2) + parentAddr + edgeSID
	return macSwitch + macHost + "86dd" + outer + "2904040101000000" + proxyAddr + edgeSID + inner
}

func TestFabricEndMT(t *testing.T) {
	const n = 5
	r := edgeRig(t, n)
	payload := strings.Repeat("00112233445566778899aabbccddeeff", 256)
	var want []sent
	for i := range n {
		out := roce(t, proxyAddr, receiverAddr(i), fmt.Sprintf("0700ffff00%06x 00%06x", 0x100+i, 42),
			payload)
		want = append(want, sent{2, macNext + macSwitch + "86dd" + out})
	}
	r.expect(1, treePacket(t, 42, payload), want...)

	// A corrupt packet would get a correct ICRC: it is dropped.
	bad := treePacket(t, 43, payload)
	bad = bad[:len(bad)-40] + "01" + bad[len(bad)-38:]
	r.expect(1, bad)
}

// ackPacket is a receiver's ACK.
func ackPacket(t testing.TB, branch int, psn uint32) string {
	return macSwitch + macHost + "86dd" + roce(t, receiverAddr(branch), proxyAddr,
		fmt.Sprintf("1100ffff00000077 00%06x", psn), "1f000001")
}

func TestFabricAggregation(t *testing.T) {
	const n = 5
	r := edgeRig(t, n)
	for i := range n - 1 {
		r.expect(2, ackPacket(t, i, 10))
	}
	up := func(psn uint32) sent {
		p := unhex(t, roce(t, addrA, proxyAddr, fmt.Sprintf("1100ffff00000077 00%06x", psn), "1f000001"))
		return sent{1, hex.EncodeToString(p)}
	}
	got := r.send(2, ackPacket(t, n-1, 7))
	if len(got) != 1 || got[0].port != 1 {
		t.Fatalf("the last branch's ACK: %v", got)
	}
	// The same BTH and AETH go up, whatever the path's fields.
	if want := up(7).data; got[0].data[2*(14+40+8):2*(14+40+8+16)] != want[2*(40+8):2*(40+8+16)] {
		t.Fatalf("went up: %s\nwant      %s", got[0].data, want)
	}
}
