package packet

// ECN codepoints (RFC 3168 §5), the low two bits of the traffic class.
const (
	NotECT uint8 = 0
	ECT1   uint8 = 1
	ECT0   uint8 = 2
	CE     uint8 = 3
)

// TrafficClass puts a DSCP (6 bits) and an ECN codepoint (2 bits) together.
func TrafficClass(dscp, ecn uint8) uint8 { return dscp<<2 | ecn&3 }

// DSCP is the differentiated services codepoint of a traffic class.
func DSCP(trafficClass uint8) uint8 { return trafficClass >> 2 }

// ECN is the ECN codepoint of a traffic class.
func ECN(trafficClass uint8) uint8 { return trafficClass & 3 }

// DecapECN gives the ECN codepoint a packet leaves a tunnel with, from the codepoints of its inner
// and outer headers (RFC 6040 §4.2). ok is false when the packet must be dropped: congestion was
// marked on a packet whose sender does not understand marks.
func DecapECN(inner, outer uint8) (ecn uint8, ok bool) {
	inner, outer = inner&3, outer&3
	switch {
	case outer == CE:
		if inner == NotECT {
			return NotECT, false
		}
		return CE, true
	case outer == ECT1 && inner == ECT0:
		return ECT1, true
	}
	return inner, true
}
