package rc

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// Encapsulation is the outer header a source puts around its requests to send them into a multicast
// tree itself (draft-li-spring-rdma-multicast-over-srv6 §5.2): IPv6 and an SRH with the segments
// SID, EdgeSIDs and then the queue pair's RemoteAddr, the proxy address of the group. For an IPv4
// group the last segment is the IPv4-mapped address, as for receivers in TLVs. Segments Left and
// Last Entry equal the number of segments minus 1. The source copies traffic class and flow label
// from the inner header.
type Encapsulation struct {
	Source netip.Addr // of the outer header, IPv6 unicast
	SID    netip.Addr // segment the tree starts with
	// EdgeSIDs are the End.MT SIDs of the edges (section 7.1). They may be left out: the nodes of
	// the tree write them into the destination address.
	EdgeSIDs []netip.Addr
	HopLimit uint8 // of the outer header; 0 means 64

	TLVType uint8 // type of the End.MT TLVs; 0 means packet.TLVEndMTDefault
	// receivers by edge node, one End.MT TLV (or several) each; none for no TLVs
	Edges []packet.EdgeReceivers
}

// Validate reports which field cannot be used; the error wraps ErrConfig.
func (e *Encapsulation) Validate() error {
	if !ibta.Unicast(e.Source) {
		return fmt.Errorf("encapsulation: Source %v is not an IPv6 unicast address: %w", e.Source,
			verbs.ErrConfig)
	}
	_, err := e.srh(e.Source)
	return err
}

func (e *Encapsulation) srh(proxy netip.Addr) (packet.SRH, error) {
	if !ibta.Unicast(e.SID) {
		return packet.SRH{}, fmt.Errorf("encapsulation: SID %v is not an IPv6 unicast address: %w", e.SID,
			verbs.ErrConfig)
	}
	tlvType := e.TLVType
	if tlvType == 0 {
		tlvType = packet.TLVEndMTDefault
	}
	for i, sid := range e.EdgeSIDs {
		if !ibta.Unicast(sid) {
			return packet.SRH{}, fmt.Errorf(
				"encapsulation: EdgeSIDs[%d] %v is not an IPv6 unicast address: %w", i, sid, verbs.ErrConfig)
		}
	}
	segments := append(append([]netip.Addr{e.SID}, e.EdgeSIDs...), mapped(proxy))
	edges := make([]packet.EdgeReceivers, len(e.Edges))
	for i, x := range e.Edges {
		edges[i] = packet.EdgeReceivers{Edge: x.Edge, Receivers: slices.Clone(x.Receivers)}
		for j := range x.Receivers {
			edges[i].Receivers[j].Addr = mapped(x.Receivers[j].Addr)
		}
	}
	tlvs, err := packet.EndMTList(tlvType, len(segments), edges)
	if err != nil {
		return packet.SRH{}, fmt.Errorf("encapsulation: %w: %w", verbs.ErrConfig, err)
	}
	srh, err := packet.NewSRH(packet.NextHeaderIPv6, segments, tlvs)
	if err != nil {
		return packet.SRH{}, fmt.Errorf("encapsulation: %w: %w", verbs.ErrConfig, err)
	}
	return srh, nil
}

// mapped returns the IPv4-mapped address of an IPv4 address: an SRH has room for IPv6 alone.
func mapped(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.AddrFrom16(a.As16())
	}
	return a
}

// apply sets the outer header of p, whose inner header is complete but for its lengths.
func (e *Encapsulation) apply(p *packet.RoCE, srh packet.SRH) {
	hopLimit := e.HopLimit
	if hopLimit == 0 {
		hopLimit = 64
	}
	p.Encapsulated, p.Routed, p.SRH = true, true, srh
	p.Outer = packet.IPv6{
		TrafficClass: p.IPv6.TrafficClass, FlowLabel: p.IPv6.FlowLabel, HopLimit: hopLimit,
		Src: e.Source, Dst: e.SID,
	}
}

// SetEncapsulation changes the outer header of the requests sent from now on, retransmissions too;
// nil sends them without.
func (q *QP) SetEncapsulation(e *Encapsulation) error {
	if e == nil {
		q.encap, q.srh = nil, packet.SRH{}
		return nil
	}
	if err := e.Validate(); err != nil {
		return fmt.Errorf("QP %#x: %w", q.cfg.QPN, err)
	}
	srh, err := e.srh(q.cfg.RemoteAddr)
	if err != nil {
		return fmt.Errorf("QP %#x: %w", q.cfg.QPN, err)
	}
	encap := *e
	q.encap, q.srh = &encap, srh
	return nil
}
