package neighbor

import (
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/packet"
)

var (
	arpHost   = packet.MAC{2, 0, 0, 0, 0xbb, 2}
	arpSwitch = packet.MAC{2, 0, 0, 0, 0xaa, 1}
)

// TestARPClaims: an ARP frame makes the same claim as the equivalent neighbor discovery message.
func TestARPClaims(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("10.0.0.1")
	none := netip.IPv4Unspecified()
	at := At{"leaf", 3}
	for _, x := range []struct {
		what      string
		operation uint16
		from, to  netip.Addr
		mac       packet.MAC
		want      netip.Addr
		how       How
		ok        bool
		forged    bool
	}{
		{"request", packet.ARPRequest, a, b, arpHost, a, Solicits, true, false},
		{"reply", packet.ARPReply, a, b, arpHost, a, Advertises, true, false},
		{"probe", packet.ARPRequest, none, a, arpHost, a, Detects, true, false},
		{"announcement", packet.ARPRequest, a, a, arpHost, a, Advertises, true, false},
		{"of another MAC", packet.ARPRequest, a, b, arpSwitch, netip.Addr{}, Solicits, false, true},
		{"link-local", packet.ARPRequest, netip.MustParseAddr("169.254.1.1"), b, arpHost,
			netip.MustParseAddr("169.254.1.1"), Solicits, false, false},
	} {
		f := packet.ARPFrame{Ethernet: packet.Ethernet{Dst: packet.BroadcastMAC, Src: arpHost},
			ARP: packet.ARP{Operation: x.operation, SenderMAC: x.mac, Sender: x.from, Target: x.to}}
		c, ok, forged := claimOfARP(at, &f)
		if ok != x.ok || forged != x.forged || c.Address != x.want || c.How != x.how {
			t.Errorf("%s: %+v, %v, %v", x.what, c, ok, forged)
		}
	}
}

// TestARPFrames: an IPv4 address is asked for and defended by ARP.
func TestARPFrames(t *testing.T) {
	a, gateway := netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("10.0.0.1")
	ask, err := packet.ParseARPFrame(solicitation(arpSwitch, gateway, a))
	if err != nil || ask.Ethernet.Dst != packet.BroadcastMAC || ask.ARP != (packet.ARP{
		Operation: packet.ARPRequest, SenderMAC: arpSwitch, Sender: gateway, Target: a}) {
		t.Errorf("question: %+v, %v", ask, err)
	}
	is, err := packet.ParseARPFrame(defense(arpSwitch, a))
	if err != nil || is.ARP.Operation != packet.ARPReply || is.ARP.Sender != a ||
		is.ARP.SenderMAC != arpSwitch {
		t.Errorf("defense: %+v, %v", is, err)
	}
	if _, err := packet.ParseNDFrame(solicitation(arpSwitch, netip.Addr{},
		netip.MustParseAddr("2001:db8::9"))); err != nil {
		t.Errorf("IPv6: %v", err)
	}
}
