package dataplane

import (
	"testing"
)

const fabricJSON = "../p4/fabric.json"

// A RoCEv2 packet of the fabric: Ethernet, IPv6, UDP, and what follows.
const (
	macSwitch = "0200000000aa"
	macHost   = "0200000000bb"
	macNext   = "0200000000cc"
)

// forwardingRig is a fabric switch that routes 2001:db8::/32 out of port 2.
func forwardingRig(t testing.TB) *rig {
	r := newRig(t, fabricJSON)
	r.setDefault("node", r.call("set_node", addrA, "01"))
	r.insert("my_station", key(macSwitch), 0, r.call("accept_station"))
	r.insert("port", key("0001"), 0, r.call("set_port", "00", "0000"))
	r.insert("ipv6_route", key("0000", "20010db8000000000000000000000000/32"), 0, r.call("forward", "0002", "0007"))
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
