package wire

import "encoding/binary"

// PrefixAttributes are the attributes of RFC 9552 section 5.3.3, RFC 9085 section 2.3 and RFC 9514
// section 5.1.
type PrefixAttributes struct {
	IGPFlags uint8
	Metric   *uint32
	Locator  *Locator
	// AttributeFlags are the protocol's own octets, nil when absent.
	AttributeFlags []byte
}

// A Locator reports that the prefix is an SRv6 locator.
type Locator struct {
	Flags     uint8
	Algorithm uint8
	Metric    uint32
}

const locatorLen = 8

func (p *PrefixAttributes) parse(typ uint16, value []byte, unknown *int) (known bool, err error) {
	switch typ {
	case tlvIGPFlags:
		if err = wantLen(typ, value, 1); err == nil {
			p.IGPFlags = value[0]
		}
	case tlvPrefixMetric:
		p.Metric = new(uint32)
		err = readUint32(typ, value, p.Metric)
	case tlvSRv6Locator:
		if err = wantAtLeast(typ, value, locatorLen); err != nil {
			return true, err
		}
		p.Locator = &Locator{Flags: value[0], Algorithm: value[1],
			Metric: binary.BigEndian.Uint32(value[4:])}
		err = parseSubTLVs(value[locatorLen:], unknown, nil)
	case tlvPrefixAttrFlags:
		p.AttributeFlags = append([]byte{}, value...)
	default:
		return false, nil
	}
	return true, err
}

func (p *PrefixAttributes) append(b []byte) []byte {
	if p.IGPFlags != 0 {
		b = appendBytesTLV(b, tlvIGPFlags, []byte{p.IGPFlags})
	}
	if p.Metric != nil {
		b = appendUint32TLV(b, tlvPrefixMetric, *p.Metric)
	}
	if l := p.Locator; l != nil {
		b = appendTLV(b, tlvSRv6Locator, func(b []byte) []byte {
			b = append(b, l.Flags, l.Algorithm, 0, 0)
			return binary.BigEndian.AppendUint32(b, l.Metric)
		})
	}
	if p.AttributeFlags != nil {
		b = appendBytesTLV(b, tlvPrefixAttrFlags, p.AttributeFlags)
	}
	return b
}
