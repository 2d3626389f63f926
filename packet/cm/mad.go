package cm

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-sdn/weft/packet"
)

// Lengths in octets.
const (
	MADLen    = 256
	HeaderLen = 24
	bodyLen   = MADLen - HeaderLen
)

// What the header of every CM message has (IBTA volume 1, tables 103 and 104).
const (
	baseVersion  = 1
	class        = 7 // communication management
	classVersion = 2
	methodSend   = 3
)

// Offsets in the header of a MAD.
const (
	madBase         = 0
	madClass        = 1
	madClassVersion = 2
	madMethod       = 3
	madTID          = 8
	madAttribute    = 16
)

// Attribute is the kind of a CM message (IBTA volume 1, table 105).
type Attribute uint16

// The attributes.
const (
	AttrREQ     Attribute = 0x10
	AttrMRA     Attribute = 0x11
	AttrREJ     Attribute = 0x12
	AttrREP     Attribute = 0x13
	AttrRTU     Attribute = 0x14
	AttrDREQ    Attribute = 0x15
	AttrDREP    Attribute = 0x16
	AttrSIDRREQ Attribute = 0x17
	AttrSIDRREP Attribute = 0x18
	AttrLAP     Attribute = 0x19
	AttrAPR     Attribute = 0x1A
)

var attributeNames = map[Attribute]string{
	AttrREQ: "REQ", AttrMRA: "MRA", AttrREJ: "REJ", AttrREP: "REP", AttrRTU: "RTU",
	AttrDREQ: "DREQ", AttrDREP: "DREP", AttrSIDRREQ: "SIDR_REQ", AttrSIDRREP: "SIDR_REP",
	AttrLAP: "LAP", AttrAPR: "APR",
}

// String returns IBTA's name of the message, or its number.
func (a Attribute) String() string {
	if name := attributeNames[a]; name != "" {
		return name
	}
	return fmt.Sprintf("attribute %#04x", uint16(a))
}

// Message is one of REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDRREQ, SIDRREP, LAP and APR. All are
// comparable.
type Message interface {
	Attribute() Attribute
	// put writes the message into the zeroed body of a MAD.
	put(b *[bodyLen]byte)
}

// MAD is a management datagram of the CM class.
type MAD struct {
	// TID is the transaction id: a repetition, and an answer, has that of the request.
	TID     uint64
	Message Message
}

// ParseMAD reads a MAD. An error that wraps packet.ErrUnsupported means another class, version,
// method or attribute.
func ParseMAD(b []byte) (MAD, int, error) {
	if len(b) < MADLen {
		return MAD{}, 0, fmt.Errorf("MAD: %d octets, need %d: %w", len(b), MADLen, packet.ErrTruncated)
	}
	for _, f := range []struct {
		name     string
		at, want byte
	}{{"base version", madBase, baseVersion}, {"class", madClass, class},
		{"class version", madClassVersion, classVersion}, {"method", madMethod, methodSend}} {
		if b[f.at] != f.want {
			return MAD{}, 0, fmt.Errorf("MAD: %s %d, want %d: %w", f.name, b[f.at], f.want,
				packet.ErrUnsupported)
		}
	}
	m := MAD{TID: binary.BigEndian.Uint64(b[madTID:])}
	a := Attribute(binary.BigEndian.Uint16(b[madAttribute:]))
	body := (*[bodyLen]byte)(b[HeaderLen:MADLen])
	switch a {
	case AttrREQ:
		m.Message = parseREQ(body)
	case AttrMRA:
		m.Message = parseMRA(body)
	case AttrREJ:
		m.Message = parseREJ(body)
	case AttrREP:
		m.Message = parseREP(body)
	case AttrRTU:
		m.Message = parseRTU(body)
	case AttrDREQ:
		m.Message = parseDREQ(body)
	case AttrDREP:
		m.Message = parseDREP(body)
	case AttrSIDRREQ:
		m.Message = parseSIDRREQ(body)
	case AttrSIDRREP:
		m.Message = parseSIDRREP(body)
	case AttrLAP:
		m.Message = parseLAP(body)
	case AttrAPR:
		m.Message = parseAPR(body)
	default:
		return MAD{}, 0, fmt.Errorf("MAD: %v, want REQ (0x10) to APR (0x1a): %w", a,
			packet.ErrUnsupported)
	}
	return m, MADLen, nil
}

// Append writes the MAD after b; a MAD without a message is not one, and panics.
func (m MAD) Append(b []byte) []byte {
	var mad [MADLen]byte
	mad[madBase], mad[madClass] = baseVersion, class
	mad[madClassVersion], mad[madMethod] = classVersion, methodSend
	binary.BigEndian.PutUint64(mad[madTID:], m.TID)
	binary.BigEndian.PutUint16(mad[madAttribute:], uint16(m.Message.Attribute()))
	m.Message.put((*[bodyLen]byte)(mad[HeaderLen:]))
	return append(b, mad[:]...)
}

// Len is MADLen.
func (MAD) Len() int { return MADLen }

func u32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
func u24(b []byte) uint32 { return u32(b) >> 8 }

func put32(b []byte, v uint32) { binary.BigEndian.PutUint32(b, v) }
func put64(b []byte, v uint64) { binary.BigEndian.PutUint64(b, v) }

// put24 writes 24 bits and leaves the octet after them.
func put24(b []byte, v uint32) { b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v) }

// bit returns v as the bit at a shift.
func bit(v bool, shift int) byte {
	if v {
		return 1 << shift
	}
	return 0
}
