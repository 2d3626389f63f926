package pfc

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// probePort is the UDP port of probes (that of STAMP, RFC 8762; the payload is
// ours).
const probePort = 862

const (
	probeLen      = 16 // cookie, sequence number, time sent in nanoseconds
	probeHopLimit = 64
)

// probeFrame returns the frame of a probe and the egress port. The probe follows the tunnel's
// segments. The last segment forwards the probe to the SID that ends the probe at the sending
// switch. ok is false while no path exists.
func probeFrame(
	n *plan.Network, p tunnel.Probe, sent time.Duration,
) (sw string, port uint32, frame []byte, ok bool) {
	name, known := n.SwitchOf(p.From)
	if !known || !p.Source.IsValid() {
		return "", 0, nil, false
	}
	s := n.Switch(name)
	end, err := n.ReturnSID(n.Node(name))
	paths, reached := n.Graph().Toward(p.First, topology.MetricIGP)
	if err != nil || !reached {
		return "", 0, nil, false
	}
	hops := n.Hops(s, paths)
	if len(hops) == 0 {
		return "", 0, nil, false
	}
	next := packet.MAC{}
	for _, l := range n.Snapshot.LinksFrom(p.From) {
		if h, ok := n.Hop(s, l); ok && h.Port == hops[0].Port {
			remote, _ := n.SwitchOf(l.Remote)
			next = packet.MAC(n.Switch(remote).MAC)
		}
	}
	udp := packet.UDP{SrcPort: probePort, DstPort: probePort, Length: packet.UDPLen + probeLen}
	datagram := udp.Append(nil)
	datagram = binary.BigEndian.AppendUint32(datagram, p.Cookie)
	datagram = binary.BigEndian.AppendUint32(datagram, p.Seq)
	datagram = binary.BigEndian.AppendUint64(datagram, uint64(sent))
	udp.Checksum = packet.UDPChecksum(p.Source, p.Source, datagram)
	copy(datagram, udp.Append(nil))

	srh, err := packet.NewSRH(packet.NextHeaderIPv6, append(slices.Clone(p.SIDs), end), nil)
	if err != nil {
		return "", 0, nil, false
	}
	class := n.Inventory.PFC.DSCP << 2
	inner := packet.IPv6{TrafficClass: class, PayloadLength: uint16(len(datagram)),
		NextHeader: packet.NextHeaderUDP, HopLimit: probeHopLimit, Src: p.Source, Dst: p.Source}
	outer := packet.IPv6{
		TrafficClass: class, PayloadLength: uint16(srh.Len() + packet.IPv6Len + len(datagram)),
		NextHeader: packet.NextHeaderRouting,
		HopLimit:   probeHopLimit, Src: p.Source, Dst: p.SIDs[0],
	}
	frame = packet.Ethernet{Dst: next, Src: packet.MAC(s.MAC),
		EtherType: packet.EtherTypeIPv6}.Append(nil)
	frame = outer.Append(frame)
	frame = srh.Append(frame)
	frame = inner.Append(frame)
	return name, hops[0].Port, append(frame, datagram...), true
}

// A probeBack is a probe that has come back.
type probeBack struct {
	At          netip.Addr
	Cookie, Seq uint32
	Sent        time.Duration
}

// parseProbe reads a probe that has come back; ok is false for any other packet.
func parseProbe(frame []byte) (p probeBack, ok bool) {
	e, n, err := packet.ParseEthernet(frame)
	if err != nil || e.EtherType != packet.EtherTypeIPv6 {
		return p, false
	}
	b := frame[n:]
	ip, n, err := packet.ParseIPv6(b)
	if err != nil || ip.NextHeader != packet.NextHeaderUDP || ip.Src != ip.Dst ||
		len(b) < n+int(ip.PayloadLength) {
		return p, false
	}
	b = b[n : n+int(ip.PayloadLength)]
	udp, n, err := packet.ParseUDP(b)
	if err != nil || udp.DstPort != probePort || len(b) != packet.UDPLen+probeLen ||
		packet.CheckUDPChecksum(ip.Src, ip.Dst, b) != nil {
		return p, false
	}
	b = b[n:]
	return probeBack{At: ip.Dst, Cookie: binary.BigEndian.Uint32(b),
		Seq: binary.BigEndian.Uint32(b[4:]), Sent: time.Duration(binary.BigEndian.Uint64(b[8:]))}, true
}
