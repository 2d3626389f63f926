package packet

import (
	"encoding/binary"
	"fmt"
)

// EtherTypeLLDP is the EtherType of LLDP (IEEE 802.1AB clause 8.3).
const EtherTypeLLDP = 0x88CC

// LLDPAddress is where LLDP frames are sent: the nearest bridge, a group address that no
// bridge forwards (IEEE 802.1AB table 7-1).
var LLDPAddress = MAC{0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E}

// Subtypes of identifiers that name what the system itself names (IEEE 802.1AB tables 8-2
// and 8-3).
const (
	LLDPChassisMAC   = 4
	LLDPChassisLocal = 7
	LLDPPortLocal    = 7
)

// LLDPMaxString is the most octets of an identifier, a name or a description.
const LLDPMaxString = 255

// Types of LLDP TLVs (IEEE 802.1AB table 8-1).
const (
	lldpEnd          = 0
	lldpChassis      = 1
	lldpPort         = 2
	lldpTTL          = 3
	lldpPortText     = 4
	lldpSystemName   = 5
	lldpOrganization = 127

	lldpHead     = 2     // 7 bits of type, 9 bits of length
	lldpMaxValue = 0x1FF // octets of a value
	lldpOwner    = 4     // octets of an organizationally specific TLV before its own: OUI and subtype
)

// LLDPID is a chassis or port identifier, of 1 to LLDPMaxString octets.
type LLDPID struct {
	Subtype uint8
	Value   string
}

// LLDPOrganization is an organizationally specific TLV (IEEE 802.1AB clause 8.6).
type LLDPOrganization struct {
	OUI     [3]byte
	Subtype uint8
	Value   string // at most 507 octets
}

// LLDP holds the TLVs that this package reads from an LLDP data unit: the mandatory TLVs, the
// names, and organizationally specific TLVs.
type LLDP struct {
	Chassis, Port LLDPID
	TTL           uint16 // seconds; 0: forget what was said before
	PortText      string // port description
	SystemName    string
	Organization  []LLDPOrganization
}

// ParseLLDP reads an LLDP data unit up to its End TLV (IEEE 802.1AB clause 8.2). Chassis, port
// and TTL come first and in this order. TLVs of other types are skipped.
func ParseLLDP(b []byte) (LLDP, int, error) {
	var h LLDP
	at := 0
	for seen := 0; ; seen++ {
		if len(b) < at+lldpHead {
			return LLDP{}, 0, truncated("LLDP TLV", len(b)-at, lldpHead)
		}
		head := binary.BigEndian.Uint16(b[at:])
		typ, size := int(head>>9), int(head&lldpMaxValue)
		if len(b) < at+lldpHead+size {
			return LLDP{}, 0, truncated(fmt.Sprintf("LLDP TLV of type %d", typ), len(b)-at, lldpHead+size)
		}
		value := b[at+lldpHead : at+lldpHead+size]
		at += lldpHead + size
		if want := seen + lldpChassis; want <= lldpTTL && typ != want || want > lldpTTL &&
			typ >= lldpChassis && typ <= lldpTTL {
			return LLDP{}, 0, fmt.Errorf(
				"LLDP: TLV %d has type %d; want chassis, port and TTL first and once: %w", seen+1, typ,
				ErrMalformed)
		}
		if typ == lldpEnd {
			if size != 0 {
				return LLDP{}, 0, fmt.Errorf("LLDP: End TLV of %d octets, want 0: %w", size, ErrMalformed)
			}
			return h, at, nil
		}
		if err := h.take(typ, value); err != nil {
			return LLDP{}, 0, err
		}
	}
}

// take keeps a TLV.
func (h *LLDP) take(typ int, value []byte) error {
	switch typ {
	case lldpChassis, lldpPort:
		if n := len(value) - 1; n < 1 || n > LLDPMaxString {
			return fmt.Errorf("LLDP: identifier of %d octets, want 1 to %d: %w", n, LLDPMaxString,
				ErrMalformed)
		}
		id := LLDPID{Subtype: value[0], Value: string(value[1:])}
		if typ == lldpChassis {
			h.Chassis = id
		} else {
			h.Port = id
		}
	case lldpTTL:
		if len(value) != 2 {
			return fmt.Errorf("LLDP: TTL of %d octets, want 2: %w", len(value), ErrMalformed)
		}
		h.TTL = binary.BigEndian.Uint16(value)
	case lldpPortText, lldpSystemName:
		if len(value) > LLDPMaxString {
			return fmt.Errorf("LLDP: TLV of type %d has %d octets, want at most %d: %w", typ, len(value),
				LLDPMaxString, ErrMalformed)
		}
		if typ == lldpPortText {
			h.PortText = string(value)
		} else {
			h.SystemName = string(value)
		}
	case lldpOrganization:
		if len(value) < lldpOwner {
			return fmt.Errorf("LLDP: organizationally specific TLV of %d octets, want at least %d: %w",
				len(value), lldpOwner, ErrMalformed)
		}
		h.Organization = append(h.Organization, LLDPOrganization{OUI: [3]byte(value), Subtype: value[3],
			Value: string(value[lldpOwner:])})
	}
	return nil
}

// Append appends the data unit to b, with its End TLV, and cuts values too long for their TLVs.
func (h LLDP) Append(b []byte) []byte {
	tlv := func(typ int, head []byte, value string, most int) {
		value = value[:min(len(value), most)]
		b = binary.BigEndian.AppendUint16(b, uint16(typ<<9|len(head)+len(value)))
		b = append(append(b, head...), value...)
	}
	tlv(lldpChassis, []byte{h.Chassis.Subtype}, h.Chassis.Value, LLDPMaxString)
	tlv(lldpPort, []byte{h.Port.Subtype}, h.Port.Value, LLDPMaxString)
	tlv(lldpTTL, binary.BigEndian.AppendUint16(nil, h.TTL), "", 0)
	if h.PortText != "" {
		tlv(lldpPortText, nil, h.PortText, LLDPMaxString)
	}
	if h.SystemName != "" {
		tlv(lldpSystemName, nil, h.SystemName, LLDPMaxString)
	}
	for _, o := range h.Organization {
		tlv(lldpOrganization, append(o.OUI[:], o.Subtype), o.Value, lldpMaxValue-lldpOwner)
	}
	return binary.BigEndian.AppendUint16(b, lldpEnd)
}

// Len returns the octets that Append writes.
func (h LLDP) Len() int { return len(h.Append(nil)) }
