package packet

import "fmt"

// Opcode is a BTH opcode: the transport service in the three high bits, the operation in the five low ones.
type Opcode uint8

// Opcodes of the reliable connection service (IBTA volume 1, §9.2.1), and the congestion notification packet
// (annex A17.9).
const (
	OpSendFirst              Opcode = 0x00
	OpSendMiddle             Opcode = 0x01
	OpSendLast               Opcode = 0x02
	OpSendLastImmediate      Opcode = 0x03
	OpSendOnly               Opcode = 0x04
	OpSendOnlyImmediate      Opcode = 0x05
	OpWriteFirst             Opcode = 0x06
	OpWriteMiddle            Opcode = 0x07
	OpWriteLast              Opcode = 0x08
	OpWriteLastImmediate     Opcode = 0x09
	OpWriteOnly              Opcode = 0x0A
	OpWriteOnlyImmediate     Opcode = 0x0B
	OpReadRequest            Opcode = 0x0C
	OpReadResponseFirst      Opcode = 0x0D
	OpReadResponseMiddle     Opcode = 0x0E
	OpReadResponseLast       Opcode = 0x0F
	OpReadResponseOnly       Opcode = 0x10
	OpAcknowledge            Opcode = 0x11
	OpAtomicAcknowledge      Opcode = 0x12
	OpCompareSwap            Opcode = 0x13
	OpFetchAdd               Opcode = 0x14
	OpSendLastInvalidate     Opcode = 0x16
	OpSendOnlyInvalidate     Opcode = 0x17
	OpCongestionNotification Opcode = 0x81
)

// Extension says which headers, in this order, follow the BTH.
type Extension uint8

// The extension headers this package decodes.
const (
	ExtRETH Extension = 1 << iota
	ExtAETH
	ExtImmDt
	ExtCNP // the 16 reserved octets of a congestion notification packet

	extKnown // set for every opcode this package decodes
)

var opcodes = [256]struct {
	name string
	ext  Extension
}{
	OpSendFirst:              {"SEND First", extKnown},
	OpSendMiddle:             {"SEND Middle", extKnown},
	OpSendLast:               {"SEND Last", extKnown},
	OpSendLastImmediate:      {"SEND Last with Immediate", extKnown | ExtImmDt},
	OpSendOnly:               {"SEND Only", extKnown},
	OpSendOnlyImmediate:      {"SEND Only with Immediate", extKnown | ExtImmDt},
	OpWriteFirst:             {"RDMA WRITE First", extKnown | ExtRETH},
	OpWriteMiddle:            {"RDMA WRITE Middle", extKnown},
	OpWriteLast:              {"RDMA WRITE Last", extKnown},
	OpWriteLastImmediate:     {"RDMA WRITE Last with Immediate", extKnown | ExtImmDt},
	OpWriteOnly:              {"RDMA WRITE Only", extKnown | ExtRETH},
	OpWriteOnlyImmediate:     {"RDMA WRITE Only with Immediate", extKnown | ExtRETH | ExtImmDt},
	OpReadRequest:            {"RDMA READ Request", extKnown | ExtRETH},
	OpReadResponseFirst:      {"RDMA READ Response First", extKnown | ExtAETH},
	OpReadResponseMiddle:     {"RDMA READ Response Middle", extKnown},
	OpReadResponseLast:       {"RDMA READ Response Last", extKnown | ExtAETH},
	OpReadResponseOnly:       {"RDMA READ Response Only", extKnown | ExtAETH},
	OpAcknowledge:            {"Acknowledge", extKnown | ExtAETH},
	OpAtomicAcknowledge:      {"ATOMIC Acknowledge", 0},
	OpCompareSwap:            {"CmpSwap", 0},
	OpFetchAdd:               {"FetchAdd", 0},
	OpSendLastInvalidate:     {"SEND Last with Invalidate", 0},
	OpSendOnlyInvalidate:     {"SEND Only with Invalidate", 0},
	OpCongestionNotification: {"CNP", extKnown | ExtCNP},
}

// String is the name IBTA gives the opcode, or its number.
func (o Opcode) String() string {
	if name := opcodes[o].name; name != "" {
		return name
	}
	return fmt.Sprintf("opcode %#02x", uint8(o))
}

// Extensions says which headers follow the BTH; ok is false when the opcode is not one this package decodes: other services
// than reliable connection, ATOMIC operations and SEND with Invalidate.
func (o Opcode) Extensions() (ext Extension, ok bool) {
	e := opcodes[o].ext
	return e &^ extKnown, e != 0
}

// Is says whether all headers of want are among those of e.
func (e Extension) Is(want Extension) bool { return e&want == want }

// Len is the octets the extension headers take.
func (e Extension) Len() int {
	n := 0
	if e.Is(ExtRETH) {
		n += RETHLen
	}
	if e.Is(ExtAETH) {
		n += AETHLen
	}
	if e.Is(ExtImmDt) {
		n += ImmDtLen
	}
	if e.Is(ExtCNP) {
		n += CNPLen
	}
	return n
}
