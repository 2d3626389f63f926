package hostrun

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

var (
	own    = packet.MAC{2, 0, 0, 0, 0xaa, 1}
	leaf   = packet.MAC{2, 0, 0, 0, 0, 1}
	peer   = packet.MAC{2, 0, 0, 0, 0xbb, 1}
	inIPv6 = netip.MustParseAddr("2001:db8:1:1::10")
	inIPv4 = netip.MustParseAddr("10.1.0.10")
)

// wantND is the one message of neighbor discovery in a frame.
func wantND(t *testing.T, frame []byte) packet.NDFrame {
	t.Helper()
	f, err := packet.ParseNDFrame(frame)
	if err != nil {
		t.Fatalf("%x: %v", frame, err)
	}
	return f
}

func solicits(src, target netip.Addr) []byte {
	m := packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: target}
	if !src.IsUnspecified() {
		m.SourceMAC = leaf
	}
	dst := packet.SolicitedNode(target)
	return packet.NDFrame{Ethernet: packet.Ethernet{Dst: packet.MulticastMAC(dst), Src: leaf},
		IP: packet.IPv6{Src: src, Dst: dst}, ND: m}.Append(nil)
}

func advertises(lifetime uint16) []byte {
	return packet.NDFrame{Ethernet: packet.Ethernet{Dst: packet.MulticastMAC(packet.AllNodes),
		Src: leaf}, IP: packet.IPv6{Src: packet.LinkLocal(leaf), Dst: packet.AllNodes},
		ND: packet.ND{Type: packet.ICMPv6RouterAdvertisement, Lifetime: lifetime,
			SourceMAC: leaf}}.Append(nil)
}

// TestAnswers: a port answers for the address of its host, with its own MAC, and for no other
// (OCP MRC 1.0 section 11.5: the switch of each plane learns the MAC of the port behind it).
func TestAnswers(t *testing.T) {
	for _, fixed := range []packet.MAC{{}, leaf} {
		n := newNeighbor(Neighbor{MAC: own, Address: inIPv6, Gateway: fixed})
		answer, mine := n.receive(solicits(packet.LinkLocal(leaf), inIPv6))
		if !mine {
			t.Fatal("a solicitation is left to the endpoint")
		}
		f := wantND(t, answer)
		if f.ND.Type != packet.ICMPv6NeighborAdvertisement || f.ND.Target != inIPv6 ||
			f.ND.TargetMAC != own || !f.ND.Solicited || !f.ND.Override || f.ND.Router ||
			f.IP.Src != inIPv6 || f.IP.Dst != packet.LinkLocal(leaf) || f.Ethernet.Src != own ||
			f.Ethernet.Dst != leaf {
			t.Errorf("answer %+v", f)
		}
		answer, _ = n.receive(solicits(netip.IPv6Unspecified(), inIPv6))
		if f := wantND(t, answer); f.IP.Dst != packet.AllNodes || f.ND.Solicited || !f.ND.Override {
			t.Errorf("to one that asks for duplicates: %+v", f)
		}
		if answer, mine := n.receive(solicits(packet.LinkLocal(leaf), inIPv6.Next())); !mine ||
			len(answer) > 0 {
			t.Errorf("another address: %v, %x", mine, answer)
		}
		bad := solicits(packet.LinkLocal(leaf), inIPv6)
		bad[21] = 64 // Hop Limit: from another link
		if answer, mine := n.receive(bad); !mine || len(answer) > 0 {
			t.Errorf("from another link: %v, %x", mine, answer)
		}
	}
}

// TestAnswersARP: so does one of IPv4, also to a probe.
func TestAnswersARP(t *testing.T) {
	n := newNeighbor(Neighbor{MAC: own, Address: inIPv4, Gateway: leaf})
	for _, sender := range []netip.Addr{netip.MustParseAddr("10.1.0.1"), netip.IPv4Unspecified()} {
		for _, target := range []netip.Addr{inIPv4, inIPv4.Next()} {
			ask := packet.ARPFrame{Ethernet: packet.Ethernet{Dst: packet.BroadcastMAC, Src: peer},
				ARP: packet.ARP{Operation: packet.ARPRequest, SenderMAC: peer, Sender: sender,
					Target: target}}.Append(nil)
			answer, mine := n.receive(ask[:42]) // as interfaces of the kernel have it
			if !mine || (len(answer) > 0) != (target == inIPv4) {
				t.Fatalf("from %v for %v: %v, %x", sender, target, mine, answer)
			}
			if target != inIPv4 {
				continue
			}
			f, err := packet.ParseARPFrame(answer)
			if err != nil || f.Ethernet.Dst != peer || f.ARP != (packet.ARP{
				Operation: packet.ARPReply, SenderMAC: own, Sender: inIPv4, TargetMAC: peer,
				Target: sender}) {
				t.Errorf("answer %+v, %v", f, err)
			}
		}
	}
}

// TestFindsRouter: a port without a gateway asks for a router with growing pauses until one
// advertises itself, asks again when its link comes up or the router ceases to be one, and gives
// frames the MAC that it found.
func TestFindsRouter(t *testing.T) {
	n := newNeighbor(Neighbor{MAC: own, Address: inIPv6})
	frames, next, pending := n.advance(0)
	if len(frames) != 2 || !pending || next != searchMin {
		t.Fatalf("%d frames, next %v, %v", len(frames), next, pending)
	}
	if f := wantND(t, frames[0]); f.ND.Type != packet.ICMPv6NeighborAdvertisement ||
		f.ND.Target != inIPv6 || f.ND.TargetMAC != own || f.IP.Dst != packet.AllNodes {
		t.Errorf("announcement %+v", f)
	}
	if f := wantND(t, frames[1]); f.ND.Type != packet.ICMPv6RouterSolicitation ||
		f.IP.Src != packet.LinkLocal(own) || f.ND.SourceMAC != own || f.IP.Dst != packet.AllRouters {
		t.Errorf("question %+v", f)
	}
	var asked int
	for range 20 {
		frames, next, pending = n.advance(next)
		asked += len(frames)
	}
	if asked != 20 || !pending || n.gap != searchMax {
		t.Errorf("asked %d times, pending %v, every %v", asked, pending, n.gap)
	}
	frame := make([]byte, 64)
	if n.fill(frame) || n.found() {
		t.Error("a frame has somewhere to go")
	}
	if answer, mine := n.receive(advertises(1800)); !mine || len(answer) > 0 {
		t.Errorf("an advertisement: %v, %x", mine, answer)
	}
	if !n.fill(frame) || packet.MAC(frame[:6]) != leaf {
		t.Errorf("a frame goes to %x", frame[:6])
	}
	if frames, _, pending = n.advance(next); len(frames) > 0 || pending {
		t.Errorf("found, it says %d, pending %v", len(frames), pending)
	}
	n.up(next)
	if frames, _, _ = n.advance(next); len(frames) != 2 || !n.found() {
		t.Errorf("link up: %d frames, found %v", len(frames), n.found())
	}
	n.receive(advertises(1800))
	n.receive(advertises(0))
	if frames, _, _ = n.advance(next + time.Minute); len(frames) != 1 || n.found() {
		t.Errorf("no router any more: %d frames, found %v", len(frames), n.found())
	}
}

// TestFindsGatewayByARP: for IPv4, the gateway has the first address of the /24.
func TestFindsGatewayByARP(t *testing.T) {
	n := newNeighbor(Neighbor{MAC: own, Address: inIPv4})
	frames, _, _ := n.advance(0)
	if len(frames) != 2 {
		t.Fatalf("%d frames", len(frames))
	}
	router := netip.MustParseAddr("10.1.0.1")
	for i, want := range []packet.ARP{
		{Operation: packet.ARPRequest, SenderMAC: own, Sender: inIPv4, Target: inIPv4},
		{Operation: packet.ARPRequest, SenderMAC: own, Sender: inIPv4, Target: router},
	} {
		if f, err := packet.ParseARPFrame(frames[i]); err != nil || f.ARP != want {
			t.Errorf("frame %d: %+v, %v", i, f.ARP, err)
		}
	}
	reply := func(sender netip.Addr, mac packet.MAC) {
		n.receive(packet.ARPFrame{Ethernet: packet.Ethernet{Dst: own, Src: mac},
			ARP: packet.ARP{Operation: packet.ARPReply, SenderMAC: mac, Sender: sender, TargetMAC: own,
				Target: inIPv4}}.Append(nil))
	}
	reply(router.Next(), peer)
	if n.found() {
		t.Error("another host is the gateway")
	}
	reply(router, leaf)
	if n.Gateway != leaf {
		t.Errorf("gateway %v", n.Gateway)
	}
}

// TestFixedGateway: what is configured stays, whoever advertises itself.
func TestFixedGateway(t *testing.T) {
	n := newNeighbor(Neighbor{MAC: own, Address: inIPv6, Gateway: peer})
	n.receive(advertises(1800))
	frame := make([]byte, 64)
	if !n.fill(frame) || packet.MAC(frame[:6]) != (packet.MAC{}) || n.Gateway != peer {
		t.Errorf("%x, %v", frame[:6], n.Gateway)
	}
	if frames, _, pending := n.advance(0); len(frames) != 1 || pending {
		t.Errorf("%d frames, pending %v", len(frames), pending)
	}
}

// TestSilent: a port without an address leaves everything to the endpoint.
func TestSilent(t *testing.T) {
	n := newNeighbor(Neighbor{})
	if _, mine := n.receive(advertises(1800)); mine || !n.found() {
		t.Errorf("mine %v, found %v", mine, n.found())
	}
}
