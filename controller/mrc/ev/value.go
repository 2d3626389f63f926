package ev

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
)

// A Value is an entropy value as it lies in a packet, its most significant bit
// first and left-justified; unused bits are 0. A value is the UDP source
// port (ecmp), UDP source port and the low 16 bits of the flow label (stev), the
// outer destination address, or the outer destination address and the segment of the SRH.
type Value [hostapi.EVBytes]byte

// StructuredValue returns the value of a structured EV or, with a flow label of 0, of an ECMP EV.
func StructuredValue(v packet.EV) (out Value) {
	binary.BigEndian.PutUint32(out[:], uint32(v))
	return out
}

// Structured is the structured EV that the value starts with.
func (v Value) Structured() packet.EV { return packet.EV(binary.BigEndian.Uint32(v[:])) }

// Container is the uSID container that goes into the outer destination address.
func (v Value) Container() netip.Addr { return netip.AddrFrom16([16]byte(v[:16])) }

// Segment is the uSID container that goes into the SRH; ok is false when it is
// empty, and the packet needs no SRH.
func (v Value) Segment() (container netip.Addr, ok bool) {
	s := netip.AddrFrom16([16]byte(v[16:]))
	return s, !s.IsUnspecified()
}

// String is the value in hexadecimal: 4 octets, or as many as it takes.
func (v Value) String() string {
	return "0x" + hex.EncodeToString(v[:max(4, (v.bits()+7)/8)])
}

// bits is the width up to the last bit that is 1.
func (v Value) bits() int { return hostapi.EV{Value: v}.Bits() }
