package fabric

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// arriving is a RoCEv2 frame as it reaches the switch.
func arriving(src, dst netip.Addr, bth packet.BTH) packet.RoCE {
	bth.PKey = packet.DefaultPKey
	p := packet.RoCE{
		Ethernet: packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9}},
		IPv6: packet.IPv6{TrafficClass: packet.TrafficClass(26, packet.ECT0), FlowLabel: 0x12345,
			HopLimit: 64, Src: src, Dst: dst},
		UDP: packet.UDP{SrcPort: 0xd001, DstPort: packet.RoCEPort},
		BTH: bth,
	}
	if p.IPv6.IsIPv4() {
		p.IPv6.FlowLabel, p.ID = 0, 0x4711
	}
	return p
}

// with returns a changed copy of a frame.
func with(p packet.RoCE, change func(*packet.RoCE)) packet.RoCE {
	p.Payload = append([]byte(nil), p.Payload...)
	change(&p)
	return p
}

// in returns a frame that arrives on a port. out returns a frame that leaves by the port, with the
// next hop's MAC addresses.
func in(port uint32, p packet.RoCE) wire { return wire{port, p.Append(nil)} }

func out(port uint32, p packet.RoCE) wire {
	p.Ethernet.Src, p.Ethernet.Dst = macOf(port), macBehind(port)
	return wire{port, p.Append(nil)}
}

// patch returns a wire with octets of its frame replaced.
func patch(w wire, offset int, octets ...byte) wire {
	frame := append([]byte(nil), w.frame...)
	copy(frame[offset:offset+len(octets)], octets)
	return wire{w.port, frame}
}

// cut returns a wire with its frame cut to n octets.
func cut(w wire, n int) wire { return wire{w.port, w.frame[:n:n]} }

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// plain is an IPv6 frame with any payload.
func plain(ip packet.IPv6, payload []byte) []byte {
	ip.PayloadLength = uint16(len(payload))
	b := packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9},
		EtherType: packet.EtherTypeIPv6}.Append(nil)
	return append(ip.Append(b), payload...)
}

// forwarded is a frame as it leaves by a port: new MAC addresses, and the Hop Limit of the
// outermost header less by one.
func forwarded(port uint32, frame []byte) wire {
	b := append([]byte(nil), frame...)
	src, dst := macOf(port), macBehind(port)
	copy(b, dst[:])
	copy(b[6:], src[:])
	b[offOuter+7]--
	return wire{port, b}
}

// Offsets in a frame.
const (
	offOuter = packet.EthernetLen        // first IPv6 header
	offNext  = offOuter + packet.IPv6Len // what follows it
)

// packetOut is a packet-out on the CPU port.
func packetOut(op p4.PacketOutOp, port uint32, group uint16, branch uint8, payload ...byte) wire {
	b := []byte{byte(op)}
	b = binary.BigEndian.AppendUint16(b, uint16(port))
	b = binary.BigEndian.AppendUint16(b, group)
	return wire{p4.CpuPort, append(append(b, branch), payload...)}
}

// report is the packet_in header.
type report struct {
	port      uint16
	reason    p4.PacketInReason
	group     uint16
	branch    uint8
	epoch     uint32
	flags     uint8
	ackPSN    uint32
	rnrTimer  uint8
	msn       uint32
	cnps      uint32
	lastPSN   uint32
	cnpTotal  uint32
	cnpBranch uint8
}

const (
	flagValid   = 1
	flagPending = 2
	flagLast    = 4
	flagRNR     = 8
)

func (r report) wire(payload ...byte) wire {
	b := binary.BigEndian.AppendUint16(nil, r.port)
	b = append(b, byte(r.reason))
	b = binary.BigEndian.AppendUint16(b, r.group)
	b = append(b, r.branch)
	b = binary.BigEndian.AppendUint32(b, r.epoch)
	b = append(b, r.flags)
	b = append24(b, r.ackPSN)
	b = append(b, r.rnrTimer)
	for _, v := range []uint32{r.msn, r.cnps, r.lastPSN, r.cnpTotal} {
		b = append24(b, v)
	}
	b = append(b, r.cnpBranch)
	return wire{p4.CpuPort, append(b, payload...)}
}

const (
	packetInLen  = 28
	packetOutLen = 6
)

func append24(b []byte, v uint32) []byte { return append(b, byte(v>>16), byte(v>>8), byte(v)) }

// dissect describes a frame for a person.
func dissect(w wire) string {
	var b strings.Builder
	frame := w.frame
	if w.port == p4.CpuPort && len(frame) >= packetInLen {
		fmt.Fprintf(&b, "  packet-in %s\n", hex.EncodeToString(frame[:packetInLen]))
		frame = frame[packetInLen:]
	}
	p, n, err := packet.ParseRoCE(frame)
	if err != nil {
		fmt.Fprintf(&b, "  %d octets: %v", len(frame), err)
		return b.String()
	}
	fmt.Fprintf(&b, "  %v > %v", p.Ethernet.Src, p.Ethernet.Dst)
	if p.Encapsulated {
		fmt.Fprintf(&b, "\n  outer %+v", p.Outer)
	}
	if p.Routed {
		fmt.Fprintf(&b, "\n  SRH SL %d LE %d %v TLVs %x", p.SRH.SegmentsLeft, p.SRH.LastEntry,
			segments(p.SRH), p.SRH.TLVList)
	}
	fmt.Fprintf(&b, "\n  %+v\n  %+v\n  %+v\n  %+v %+v payload %d", p.IPv6, p.UDP, p.BTH, p.RETH,
		p.AETH, len(p.Payload))
	if err := packet.CheckICRC(p.Datagram); err != nil {
		fmt.Fprintf(&b, "\n  %v", err)
	}
	if n != len(frame) {
		fmt.Fprintf(&b, "\n  %d octets after the packet", len(frame)-n)
	}
	return b.String()
}

func segments(h packet.SRH) []netip.Addr {
	var list []netip.Addr
	for i := range h.NumSegments() {
		list = append(list, h.Segment(i))
	}
	return list
}
