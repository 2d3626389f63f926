package cm

import (
	"encoding/binary"
	"net/netip"
)

// Octets of private data.
const (
	PrivateREQ  = 92
	PrivateREP  = 196
	PrivateRTU  = 224
	PrivateREJ  = 148
	PrivateDREQ = 220
	PrivateDREP = 224
	PrivateMRA  = 222
	PrivateSIDR = 216 // of SIDR_REQ
)

// MTU is a path MTU of IBTA: the most octets of payload in a packet, as a code.
type MTU uint8

// The path MTUs.
const (
	MTU256 MTU = 1 + iota
	MTU512
	MTU1024
	MTU2048
	MTU4096
)

// Octets returns the octets of payload, 0 for a code that IBTA does not have.
func (m MTU) Octets() int {
	if m < MTU256 || m > MTU4096 {
		return 0
	}
	return 128 << m
}

// RC is the transport service type of a reliable connection.
const RC = 0

// NoLID replaces the LID in a REQ on RoCE.
const NoLID = 0xFFFF

// REQ asks for a connection (IBTA volume 1, table 106). Times are exponents: 4.096 us times 2^n.
type REQ struct {
	LocalID            uint32 // communication id of the sender
	ServiceID          uint64
	CAGUID             uint64
	QKey               uint32
	QPN                uint32 // 24 bits: of the sender's queue pair
	ResponderResources uint8  // READ and ATOMIC operations that the sender takes at once
	InitiatorDepth     uint8  // and those that it may send
	RemoteTimeout      uint8  // 5 bits: the receiver's answer is expected within
	Service            uint8  // 2 bits; RC
	FlowControl        bool   // end-to-end
	StartingPSN        uint32 // 24 bits: first PSN that the sender expects to receive
	LocalTimeout       uint8  // 5 bits: the sender answers within
	RetryCount         uint8  // 3 bits
	PKey               uint16
	PathMTU            MTU // 4 bits
	RDC                bool
	RNRRetryCount      uint8 // 3 bits; 7: without end
	MaxCMRetries       uint8 // 4 bits
	SRQ                bool
	ExtendedService    uint8 // 3 bits
	LocalLID           uint16
	RemoteLID          uint16
	LocalGID           netip.Addr
	RemoteGID          netip.Addr
	FlowLabel          uint32 // 20 bits
	PacketRate         uint8  // 6 bits
	TrafficClass       uint8
	HopLimit           uint8
	SL                 uint8 // 4 bits
	SubnetLocal        bool
	ACKTimeout         uint8 // 5 bits
	Private            [PrivateREQ]byte
}

// Attribute implements Message.
func (REQ) Attribute() Attribute { return AttrREQ }

func gid(b []byte) netip.Addr { return netip.AddrFrom16([16]byte(b)) }

func parseREQ(b *[bodyLen]byte) REQ {
	return REQ{
		LocalID: u32(b[0:]), ServiceID: u64(b[8:]), CAGUID: u64(b[16:]), QKey: u32(b[28:]),
		QPN: u24(b[32:]), ResponderResources: b[35], InitiatorDepth: b[39],
		RemoteTimeout: b[43] >> 3, Service: b[43] >> 1 & 3, FlowControl: b[43]&1 != 0,
		StartingPSN: u24(b[44:]), LocalTimeout: b[47] >> 3, RetryCount: b[47] & 7,
		PKey: binary.BigEndian.Uint16(b[48:]), PathMTU: MTU(b[50] >> 4), RDC: b[50]&8 != 0,
		RNRRetryCount: b[50] & 7, MaxCMRetries: b[51] >> 4, SRQ: b[51]&8 != 0,
		ExtendedService: b[51] & 7,
		LocalLID:        binary.BigEndian.Uint16(b[52:]), RemoteLID: binary.BigEndian.Uint16(b[54:]),
		LocalGID: gid(b[56:72]), RemoteGID: gid(b[72:88]),
		FlowLabel: u32(b[88:]) >> 12, PacketRate: b[91] & 0x3F, TrafficClass: b[92], HopLimit: b[93],
		SL: b[94] >> 4, SubnetLocal: b[94]&8 != 0, ACKTimeout: b[95] >> 3,
		Private: [PrivateREQ]byte(b[140:]),
	}
}

func (m REQ) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put64(b[8:], m.ServiceID)
	put64(b[16:], m.CAGUID)
	put32(b[28:], m.QKey)
	put24(b[32:], m.QPN)
	b[35], b[39] = m.ResponderResources, m.InitiatorDepth
	b[43] = m.RemoteTimeout<<3 | m.Service&3<<1 | bit(m.FlowControl, 0)
	put24(b[44:], m.StartingPSN)
	b[47] = m.LocalTimeout<<3 | m.RetryCount&7
	binary.BigEndian.PutUint16(b[48:], m.PKey)
	b[50] = byte(m.PathMTU)<<4 | bit(m.RDC, 3) | m.RNRRetryCount&7
	b[51] = m.MaxCMRetries<<4 | bit(m.SRQ, 3) | m.ExtendedService&7
	binary.BigEndian.PutUint16(b[52:], m.LocalLID)
	binary.BigEndian.PutUint16(b[54:], m.RemoteLID)
	putGID(b[56:], m.LocalGID)
	putGID(b[72:], m.RemoteGID)
	put32(b[88:], m.FlowLabel<<12|uint32(m.PacketRate&0x3F))
	b[92], b[93] = m.TrafficClass, m.HopLimit
	b[94] = m.SL<<4 | bit(m.SubnetLocal, 3)
	b[95] = m.ACKTimeout << 3
	copy(b[140:], m.Private[:])
}

// putGID writes an address; an invalid one is written as "::".
func putGID(b []byte, a netip.Addr) {
	if a.IsValid() {
		v := a.As16()
		copy(b, v[:])
	}
}
