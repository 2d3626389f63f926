package packet

import (
	"fmt"
	"math/bits"
)

// Opcode is a BTH opcode: the transport service in the three high bits, the operation in the five
// low ones.
type Opcode uint8

// Opcodes of the reliable connection service (IBTA volume 1, §9.2.1), and the congestion
// notification packet (annex A17.9).
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

// Opcodes of MRC (OCP MRC 1.0, table 6-2), all those with 0b110 in the three high bits. MRCBTH is
// their header.
const (
	OpMRCWriteFirst         Opcode = 0xC6
	OpMRCWriteMiddle        Opcode = 0xC7
	OpMRCWriteLast          Opcode = 0xC8
	OpMRCWriteLastImmediate Opcode = 0xC9
	OpMRCWriteOnly          Opcode = 0xCA
	OpMRCWriteOnlyImmediate Opcode = 0xCB
	OpMRCAcknowledge        Opcode = 0xD1
	OpMRCEndpointRequest    Opcode = 0xD8
	OpMRCEndpointResponse   Opcode = 0xD9
	OpMRCSACK               Opcode = 0xDC
	OpMRCNACK               Opcode = 0xDD
	OpMRCProbe              Opcode = 0xDE
)

const mrcService = 0b110

// MRC reports whether the opcode is one of MRC's, assigned or not.
func (o Opcode) MRC() bool { return o>>5 == mrcService }

// Extension defines which headers, in this order, follow the BTH.
type Extension uint16

// The extension headers this package decodes.
const (
	ExtMETH Extension = 1 << iota
	ExtTSETH
	ExtRETH
	ExtAETH
	ExtImmDt
	ExtCNP // the 16 reserved octets of a congestion notification packet
	ExtSETH
	ExtNETH
	ExtPETH
	ExtERTH
	ExtEETH

	extKnown // set for every opcode this package decodes

	extMRCWrite = extKnown | ExtMETH | ExtRETH
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
	OpMRCWriteFirst:          {"MRC WRITE First", extMRCWrite},
	OpMRCWriteMiddle:         {"MRC WRITE Middle", extMRCWrite},
	OpMRCWriteLast:           {"MRC WRITE Last", extMRCWrite},
	OpMRCWriteLastImmediate:  {"MRC WRITE Last with Immediate", extMRCWrite | ExtImmDt},
	OpMRCWriteOnly:           {"MRC WRITE Only", extMRCWrite},
	OpMRCWriteOnlyImmediate:  {"MRC WRITE Only with Immediate", extMRCWrite | ExtImmDt},
	OpMRCAcknowledge:         {"MRC Acknowledge", extKnown | ExtAETH},
	OpMRCEndpointRequest:     {"MRC Endpoint Request", extKnown | ExtERTH},
	OpMRCEndpointResponse:    {"MRC Endpoint Response", extKnown | ExtEETH},
	OpMRCSACK:                {"MRC SACK", extKnown | ExtSETH},
	OpMRCNACK:                {"MRC NACK", extKnown | ExtNETH},
	OpMRCProbe:               {"MRC Probe Request", extKnown | ExtPETH},
}

// String is the name IBTA or MRC gives the opcode, or its number.
func (o Opcode) String() string {
	if name := opcodes[o].name; name != "" {
		return name
	}
	return fmt.Sprintf("opcode %#02x", uint8(o))
}

// Extensions returns the headers after the BTH. ok is false for opcodes that this package does not
// decode as RoCEv2: services other than reliable connection, ATOMIC operations and SEND with
// Invalidate. For MRC opcodes ok is false too: see MRCBTH.Extensions.
func (o Opcode) Extensions() (ext Extension, ok bool) {
	if o.MRC() {
		return 0, false
	}
	e := opcodes[o].ext
	return e &^ extKnown, e != 0
}

// first is the first of the headers.
func (e Extension) first() Extension { return e & -e }

// Is reports whether e contains all headers of want.
func (e Extension) Is(want Extension) bool { return e&want == want }

// extensionLens has the length of header 1<<i at i.
var extensionLens = [16]int{METHLen, TSETHLen, RETHLen, AETHLen, ImmDtLen, CNPLen, SETHLen, NETHLen,
	PETHLen, ERTHLen, EETHLen}

// Len is the octets the extension headers take.
func (e Extension) Len() int {
	n := 0
	for ; e != 0; e &= e - 1 {
		n += extensionLens[bits.TrailingZeros16(uint16(e))]
	}
	return n
}
