package packet

import "encoding/binary"

// BTHLen is the length of a base transport header in octets.
const BTHLen = 12

// DefaultPKey is the partition key RoCEv2 uses: the default partition, full membership.
const DefaultPKey = 0xFFFF

const (
	bthFlags     = 1
	bthPKey      = 2
	bthResv8a    = 4
	bthDestQPN   = 5
	bthAckReq    = 8
	bthPSN       = 9
	bthSolicited = 0x80
	bthMigReq    = 0x40
	bthFECN      = 0x80
	bthBECN      = 0x40
	bthA         = 0x80
)

// BTH is a base transport header (IBTA volume 1, §9.2; FECN and BECN as in annex A17.9).
type BTH struct {
	Opcode    Opcode
	Solicited bool  // SE: solicited event
	MigReq    bool  // M: migration state
	PadCount  uint8 // octets of padding after the payload, 0..3
	TVer      uint8 // transport version, 0; 4 bits
	PKey      uint16
	FECN      bool
	BECN      bool
	// 6 bits after FECN and BECN; sent as zero, kept so that Append can write a packet as parsed
	Reserved6 uint8
	DestQPN   uint32 // 24 bits
	AckReq    bool   // A: the responder shall acknowledge this packet
	Reserved7 uint8  // 7 bits beside A; sent as zero
	PSN       uint32 // 24 bits
}

// ParseBTH reads a base transport header. It accepts any opcode and transport version.
func ParseBTH(b []byte) (BTH, int, error) {
	if len(b) < BTHLen {
		return BTH{}, 0, truncated("BTH", len(b), BTHLen)
	}
	return BTH{
		Opcode:    Opcode(b[0]),
		Solicited: b[bthFlags]&bthSolicited != 0,
		MigReq:    b[bthFlags]&bthMigReq != 0,
		PadCount:  b[bthFlags] >> 4 & 3,
		TVer:      b[bthFlags] & 0xF,
		PKey:      binary.BigEndian.Uint16(b[bthPKey:]),
		FECN:      b[bthResv8a]&bthFECN != 0,
		BECN:      b[bthResv8a]&bthBECN != 0,
		Reserved6: b[bthResv8a] & 0x3F,
		DestQPN:   uint24(b[bthDestQPN:]),
		AckReq:    b[bthAckReq]&bthA != 0,
		Reserved7: b[bthAckReq] & 0x7F,
		PSN:       uint24(b[bthPSN:]),
	}, BTHLen, nil
}

// Append writes the header after b; bits beyond a field's width are dropped.
func (h BTH) Append(b []byte) []byte {
	flags := h.PadCount&3<<4 | h.TVer&0xF
	if h.Solicited {
		flags |= bthSolicited
	}
	if h.MigReq {
		flags |= bthMigReq
	}
	resv8a := h.Reserved6 & 0x3F
	if h.FECN {
		resv8a |= bthFECN
	}
	if h.BECN {
		resv8a |= bthBECN
	}
	a := h.Reserved7 & 0x7F
	if h.AckReq {
		a |= bthA
	}
	b = append(b, byte(h.Opcode), flags)
	b = binary.BigEndian.AppendUint16(b, h.PKey)
	b = binary.BigEndian.AppendUint32(b, uint32(resv8a)<<24|h.DestQPN&PSNMask)
	return binary.BigEndian.AppendUint32(b, uint32(a)<<24|h.PSN&PSNMask)
}

// Len is BTHLen.
func (BTH) Len() int { return BTHLen }

func uint24(b []byte) uint32 {
	_ = b[2]
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}
