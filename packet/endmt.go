package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

const (
	// EndMTMaxReceivers is the most receivers one End.MT TLV can name: 22 + 20·11 = 242 octets, and a
	// Length ends at 255.
	EndMTMaxReceivers = 11

	endMTReceivers   = 22 // offset of the first receiver in the value
	endMTReceiverLen = 20

	endMTEdge         = 2
	endMTNumReceivers = 18
	endMTReceiverQPN  = 16
)

// Receiver is one receiver of a multicast group.
type Receiver struct {
	Addr netip.Addr
	QPN  uint32 // 24 bits
}

// EndMT is an End.MT TLV (draft-li-spring-rdma-multicast-over-srv6 §7.2): receivers reached through
// one edge node. It stays in wire format; Receiver reads it. Reserved fields are written as zero
// and ignored when read.
type EndMT struct {
	Type         uint8
	Edge         netip.Addr // unicast address of the edge node
	ReceiverList []byte     // 20 octets a receiver: address, QPN, reserved
}

// ParseEndMT reads an End.MT TLV of the given type at the start of b; its ReceiverList is a slice
// of b. A Num Receivers that disagrees with Length is malformed.
func ParseEndMT(b []byte, tlvType uint8) (EndMT, int, error) {
	t, n, err := ParseTLV(b)
	if err != nil {
		return EndMT{}, 0, err
	}
	if t.Type != tlvType {
		return EndMT{}, 0, fmt.Errorf("End.MT TLV: type %d, want %d: %w", t.Type, tlvType, ErrUnsupported)
	}
	h, err := endMT(t)
	if err != nil {
		return EndMT{}, 0, err
	}
	return h, n, nil
}

func endMT(t TLV) (EndMT, error) {
	v := t.Value
	if len(v) < endMTReceivers {
		return EndMT{}, fmt.Errorf("End.MT TLV: Length %d, want at least %d: %w", len(v), endMTReceivers,
			ErrTruncated)
	}
	num := int(v[endMTNumReceivers])
	if want := endMTReceivers + endMTReceiverLen*num; len(v) != want {
		return EndMT{}, fmt.Errorf("End.MT TLV: Num Receivers %d with Length %d, want Length %d: %w", num,
			len(v), want, ErrMalformed)
	}
	return EndMT{
		Type:         t.Type,
		Edge:         netip.AddrFrom16([16]byte(v[endMTEdge:])),
		ReceiverList: v[endMTReceivers:],
	}, nil
}

// Append writes the TLV after b. Of more than EndMTMaxReceivers receivers the first ones are
// written; AppendEndMT takes several TLVs instead.
func (h EndMT) Append(b []byte) []byte {
	num := min(h.NumReceivers(), EndMTMaxReceivers)
	b = append(b, h.Type, uint8(endMTReceivers+endMTReceiverLen*num), 0, 0)
	b = appendAddr(b, h.Edge)
	b = binary.BigEndian.AppendUint32(b, uint32(num)<<24)
	for i := range num {
		b = h.Receiver(i).append(b)
	}
	return b
}

// Len is the octets Append writes.
func (h EndMT) Len() int {
	return TLVHeaderLen + endMTReceivers + endMTReceiverLen*min(h.NumReceivers(), EndMTMaxReceivers)
}

// NumReceivers is the number of receivers.
func (h EndMT) NumReceivers() int { return len(h.ReceiverList) / endMTReceiverLen }

// Receiver is the i-th receiver, from 0; the zero Receiver when there is none.
func (h EndMT) Receiver(i int) Receiver {
	if i < 0 || i >= h.NumReceivers() {
		return Receiver{}
	}
	r := h.ReceiverList[endMTReceiverLen*i : endMTReceiverLen*(i+1)]
	return Receiver{Addr: netip.AddrFrom16([16]byte(r)), QPN: uint24(r[endMTReceiverQPN:])}
}

func (r Receiver) append(b []byte) []byte {
	b = appendAddr(b, r.Addr)
	return binary.BigEndian.AppendUint32(b, r.QPN&PSNMask<<8)
}

// EdgeReceivers lists the receivers behind one edge node.
type EdgeReceivers struct {
	Edge      netip.Addr
	Receivers []Receiver
}

// AppendEndMT appends the End.MT TLVs with the receivers of one edge to b, in order. An edge
// without receivers gets one empty TLV. AppendEndMT adds no padding.
func AppendEndMT(b []byte, tlvType uint8, edge netip.Addr, receivers []Receiver) []byte {
	for {
		num := min(len(receivers), EndMTMaxReceivers)
		b = append(b, tlvType, uint8(endMTReceivers+endMTReceiverLen*num), 0, 0)
		b = appendAddr(b, edge)
		b = binary.BigEndian.AppendUint32(b, uint32(num)<<24)
		for _, r := range receivers[:num] {
			b = r.append(b)
		}
		receivers = receivers[num:]
		if len(receivers) == 0 {
			return b
		}
	}
}

// EndMTList returns the TLVs with the receivers of every edge, in order, padded to a multiple of 8
// octets: the TLVList of an SRH. EndMTList returns an error if an address is not IPv6, a QPN has
// more than 24 bits, an edge comes twice or has no receivers, or the TLVs are too long for an SRH
// with the given number of segments.
func EndMTList(tlvType uint8, segments int, edges []EdgeReceivers) ([]byte, error) {
	var b []byte
	for i, e := range edges {
		if !isIPv6(e.Edge) {
			return nil, fmt.Errorf("End.MT TLV: edge %v, want an IPv6 address: %w", e.Edge, ErrMalformed)
		}
		for _, other := range edges[:i] {
			if other.Edge == e.Edge {
				return nil, fmt.Errorf("End.MT TLV: edge %v twice, want its receivers together: %w", e.Edge,
					ErrMalformed)
			}
		}
		if len(e.Receivers) == 0 {
			return nil, fmt.Errorf("End.MT TLV: edge %v without receivers, want at least one: %w", e.Edge,
				ErrMalformed)
		}
		for _, r := range e.Receivers {
			if !isIPv6(r.Addr) {
				return nil, fmt.Errorf("End.MT TLV: receiver %v, want an IPv6 address: %w", r.Addr,
					ErrMalformed)
			}
			if r.QPN > PSNMask {
				return nil, fmt.Errorf("End.MT TLV: receiver %v with QPN %#x, want at most 24 bits: %w", r.Addr,
					r.QPN, ErrMalformed)
			}
		}
		b = AppendEndMT(b, tlvType, e.Edge, e.Receivers)
	}
	b = AppendPadding(b)
	if n := SRHFixedLen + SegmentLen*segments + len(b); n > SRHMaxLen {
		return nil, fmt.Errorf("End.MT TLVs of %d octets make an SRH of %d, want at most %d: %w", len(b),
			n, SRHMaxLen, ErrTooLong)
	}
	return b, nil
}

func isIPv6(a netip.Addr) bool { return a.Is6() && a.Zone() == "" }

// EndMTReceivers appends the receivers of one edge node to dst, from all End.MT TLVs for the edge,
// in order. found is false if no TLV names the edge. EndMTReceivers checks every End.MT TLV of the
// header, also TLVs for other edges: a malformed TLV makes the packet invalid for every edge, and
// EndMTReceivers then returns dst unchanged.
func (h SRH) EndMTReceivers(dst []Receiver, tlvType uint8, edge netip.Addr) (receivers []Receiver,
	found bool, err error) {
	receivers = dst
	for b := h.TLVList; len(b) > 0; {
		t, n, err := ParseTLV(b)
		if err != nil {
			return dst, false, err
		}
		b = b[n:]
		if t.Type != tlvType {
			continue
		}
		mt, err := endMT(t)
		if err != nil {
			return dst, false, err
		}
		if mt.Edge != edge {
			continue
		}
		found = true
		for i := range mt.NumReceivers() {
			receivers = append(receivers, mt.Receiver(i))
		}
	}
	return receivers, found, nil
}
