package packet

import "fmt"

// EndpointQPN is the queue pair number of MRC endpoint operations, which belong to a node and not
// to a connection (OCP MRC 1.0, §7.3).
const EndpointQPN = 2

const (
	mrcReserved       = 0x40
	mrcRetransmission = 0x20
	mrcTimestamped    = 0x10
	mrcInvReserved    = 0x0F
)

// MRCBTH is the base transport header of an MRC packet (OCP MRC 1.0, tables 6-3, 6-4, 7-10 and
// 7-11). MRCBTH has the layout of IBTA's BTH, but defines two of the seven reserved bits after A,
// so BTH reads the same packet, with the two bits in Reserved7. Opcodes of other services reserve
// these bits, so MRCBTH is a separate type and takes only MRC opcodes.
type MRCBTH struct {
	Opcode         Opcode
	Solicited      bool   // SE; ignored in control packets
	MigReq         bool   // M; unused
	PadCount       uint8  // octets of padding after the payload, 0..3; ignored in control packets
	TVer           uint8  // transport version, 0; 4 bits
	PKey           uint16 // provisioned in control packets too; the opcode alone says what follows
	VarReserved    uint8  // IBTA's FECN, BECN and reserved bits; sent as zero, not covered by the ICRC
	DestQPN        uint32 // 24 bits
	AckReq         bool   // A
	Reserved       bool   // R; sent as zero
	Retransmission bool   // rtx; in a SACK or NACK, of the packet it answers
	Timestamped    bool   // ts: a TSETH follows; of requests only
	InvReserved    uint8  // 4 bits; sent as zero, covered by the ICRC
	PSN            uint32 // 24 bits; table 7-6 says of which packet
}

// ParseMRCBTH reads the base transport header of an MRC packet. It accepts any opcode of MRC,
// assigned or not, and any transport version; an opcode of another service is ErrUnsupported.
func ParseMRCBTH(b []byte) (MRCBTH, int, error) {
	h, n, err := ParseBTH(b)
	if err != nil {
		return MRCBTH{}, 0, err
	}
	if !h.Opcode.MRC() {
		return MRCBTH{}, 0, fmt.Errorf("BTH: %v, want an opcode of MRC, 0xc0 to 0xdf: %w", h.Opcode,
			ErrUnsupported)
	}
	return MRCBTH{
		Opcode:         h.Opcode,
		Solicited:      h.Solicited,
		MigReq:         h.MigReq,
		PadCount:       h.PadCount,
		TVer:           h.TVer,
		PKey:           h.PKey,
		VarReserved:    b[bthResv8a],
		DestQPN:        h.DestQPN,
		AckReq:         h.AckReq,
		Reserved:       h.Reserved7&mrcReserved != 0,
		Retransmission: h.Reserved7&mrcRetransmission != 0,
		Timestamped:    h.Reserved7&mrcTimestamped != 0,
		InvReserved:    h.Reserved7 & mrcInvReserved,
		PSN:            h.PSN,
	}, n, nil
}

// BTH is the header as IBTA reads it.
func (h MRCBTH) BTH() BTH {
	reserved7 := h.InvReserved & mrcInvReserved
	if h.Reserved {
		reserved7 |= mrcReserved
	}
	if h.Retransmission {
		reserved7 |= mrcRetransmission
	}
	if h.Timestamped {
		reserved7 |= mrcTimestamped
	}
	return BTH{
		Opcode:    h.Opcode,
		Solicited: h.Solicited,
		MigReq:    h.MigReq,
		PadCount:  h.PadCount,
		TVer:      h.TVer,
		PKey:      h.PKey,
		FECN:      h.VarReserved&bthFECN != 0,
		BECN:      h.VarReserved&bthBECN != 0,
		Reserved6: h.VarReserved &^ (bthFECN | bthBECN),
		DestQPN:   h.DestQPN,
		AckReq:    h.AckReq,
		Reserved7: reserved7,
		PSN:       h.PSN,
	}
}

// Append writes the header after b; bits beyond a field's width are dropped.
func (h MRCBTH) Append(b []byte) []byte { return h.BTH().Append(b) }

// Len is BTHLen.
func (MRCBTH) Len() int { return BTHLen }

// Extensions reports which headers follow (table 6-2); ok is false when the opcode is not assigned.
// The bit ts counts for requests only.
func (h MRCBTH) Extensions() (ext Extension, ok bool) {
	if !h.Opcode.MRC() {
		return 0, false
	}
	ext = opcodes[h.Opcode].ext
	if h.Timestamped && ext.Is(ExtMETH) {
		ext |= ExtTSETH
	}
	return ext &^ extKnown, ext != 0
}

// EndpointHeader is the BTH of an endpoint request or response: to EndpointQPN, with the
// requester's identifier in PSN[15:0].
func EndpointHeader(op Opcode, id uint16) MRCBTH {
	return MRCBTH{Opcode: op, PKey: DefaultPKey, DestQPN: EndpointQPN, PSN: uint32(id)}
}

// EndpointID is the identifier in the header of an endpoint request or response.
func (h MRCBTH) EndpointID() uint16 { return uint16(h.PSN) }
