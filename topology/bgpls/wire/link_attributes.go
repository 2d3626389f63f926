package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
)

// LinkAttributes are the attributes of RFC 9552 section 5.3.2, RFC 8571 and RFC 9514 section 4. A
// nil pointer is an attribute that is absent.
type LinkAttributes struct {
	// IDs are the link's identifiers, where the descriptor has addresses in their place (RFC 9552
	// section 5.2.2).
	IDs             LinkIDs
	MSDs            []MSD // RFC 8814
	RemoteRouterID4 netip.Addr
	RemoteRouterID6 netip.Addr
	AdminGroup      *uint32
	// MaxBandwidth is in octets per second.
	MaxBandwidth *float32
	TEMetric     *uint32
	// IGPMetric has up to 24 bits.
	IGPMetric *uint32
	// EndX are written by type: SIDs without a LAN first, SIDs of OSPFv3 last.
	EndX []EndX
	// Delays are in microseconds.
	Delay          *Delay
	MinMaxDelay    *MinMaxDelay
	DelayVariation *uint32
}

// A Delay is RFC 8571's average unidirectional delay.
type Delay struct {
	Anomalous    bool
	Microseconds uint32 // 24 bits
}

// A MinMaxDelay is RFC 8571's minimum and maximum unidirectional delay.
type MinMaxDelay struct {
	Anomalous bool
	Min, Max  uint32 // 24 bits
}

const (
	delayAnomalous        = 1 << 31
	delayMask      uint32 = 1<<24 - 1
	maxIGPMetric          = 1<<24 - 1
)

func (l *LinkAttributes) parse(typ uint16, value []byte, unknown *int) (known bool, err error) {
	number := func(into **uint32) error {
		*into = new(uint32)
		return readUint32(typ, value, *into)
	}
	switch typ {
	case tlvLinkIDs:
		err = l.IDs.parse(value)
	case tlvLinkMSD:
		l.MSDs, err = parseMSDs(typ, value)
	case tlvRemoteRouterID4:
		err = readFirstAddr(typ, value, 4, &l.RemoteRouterID4)
	case tlvRemoteRouterID6:
		err = readFirstAddr(typ, value, 16, &l.RemoteRouterID6)
	case tlvAdminGroup:
		err = number(&l.AdminGroup)
	case tlvMaxBandwidth:
		var bits uint32
		if err = readUint32(typ, value, &bits); err == nil {
			f := math.Float32frombits(bits)
			l.MaxBandwidth = &f
		}
	case tlvTEMetric:
		err = number(&l.TEMetric)
	case tlvIGPMetric:
		l.IGPMetric, err = parseIGPMetric(value)
	case tlvSRv6EndX, tlvSRv6LANEndXIS, tlvSRv6LANEndXOS:
		var x EndX
		if err = x.parse(typ, value, unknown); err == nil {
			l.EndX = append(l.EndX, x)
		}
	case tlvDelay:
		var v uint32
		if err = readUint32(typ, value, &v); err == nil {
			l.Delay = &Delay{v&delayAnomalous != 0, v & delayMask}
		}
	case tlvMinMaxDelay:
		if err = wantLen(typ, value, 8); err == nil {
			low, high := binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[4:])
			l.MinMaxDelay = &MinMaxDelay{low&delayAnomalous != 0, low & delayMask, high & delayMask}
		}
	case tlvDelayVariation:
		if err = number(&l.DelayVariation); err == nil {
			*l.DelayVariation &= delayMask
		}
	default:
		return false, nil
	}
	return true, err
}

func (l *LinkAttributes) append(b []byte) []byte {
	number := func(typ uint16, v *uint32) {
		if v != nil {
			b = appendUint32TLV(b, typ, *v)
		}
	}
	b = l.IDs.append(b)
	if len(l.MSDs) > 0 {
		b = appendTLV(b, tlvLinkMSD, func(b []byte) []byte {
			for _, m := range l.MSDs {
				b = append(b, m.Type, m.Value)
			}
			return b
		})
	}
	b = appendAddrTLV(b, tlvRemoteRouterID4, l.RemoteRouterID4)
	b = appendAddrTLV(b, tlvRemoteRouterID6, l.RemoteRouterID6)
	number(tlvAdminGroup, l.AdminGroup)
	if l.MaxBandwidth != nil {
		b = appendUint32TLV(b, tlvMaxBandwidth, math.Float32bits(*l.MaxBandwidth))
	}
	number(tlvTEMetric, l.TEMetric)
	if l.IGPMetric != nil {
		m := min(*l.IGPMetric, maxIGPMetric)
		b = appendBytesTLV(b, tlvIGPMetric, []byte{byte(m >> 16), byte(m >> 8), byte(m)})
	}
	for _, typ := range [...]uint16{tlvSRv6EndX, tlvSRv6LANEndXIS, tlvSRv6LANEndXOS} {
		for i := range l.EndX {
			if l.EndX[i].tlvType() == typ {
				b = l.EndX[i].append(b)
			}
		}
	}
	if d := l.Delay; d != nil {
		b = appendUint32TLV(b, tlvDelay, flagged(d.Microseconds, d.Anomalous))
	}
	if d := l.MinMaxDelay; d != nil {
		b = appendTLV(b, tlvMinMaxDelay, func(b []byte) []byte {
			b = binary.BigEndian.AppendUint32(b, flagged(d.Min, d.Anomalous))
			return binary.BigEndian.AppendUint32(b, min(d.Max, delayMask))
		})
	}
	number(tlvDelayVariation, l.DelayVariation)
	return b
}

func flagged(delay uint32, anomalous bool) uint32 {
	delay = min(delay, delayMask)
	if anomalous {
		delay |= delayAnomalous
	}
	return delay
}

// parseIGPMetric reads an IGP metric in one octet (IS-IS, only six bits count), two octets (OSPF)
// or three octets (IS-IS wide).
func parseIGPMetric(value []byte) (*uint32, error) {
	var m uint32
	switch len(value) {
	case 1:
		m = uint32(value[0] & 0x3F)
	case 2:
		m = uint32(binary.BigEndian.Uint16(value))
	case 3:
		m = uint32(value[0])<<16 | uint32(value[1])<<8 | uint32(value[2])
	default:
		return nil, fmt.Errorf("%w: IGP metric of %d octets", ErrMalformed, len(value))
	}
	return &m, nil
}
