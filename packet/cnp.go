package packet

// CNPLen is the length of what follows the BTH of a congestion notification packet, in octets.
const CNPLen = 16

// CNP is the field after the BTH of a congestion notification packet (IBTA annex A17.9): 16
// reserved octets, written as zero and ignored when read.
type CNP struct{}

// ParseCNP skips the reserved octets of a congestion notification packet.
func ParseCNP(b []byte) (CNP, int, error) {
	if len(b) < CNPLen {
		return CNP{}, 0, truncated("CNP", len(b), CNPLen)
	}
	return CNP{}, CNPLen, nil
}

// Append writes the reserved octets after b.
func (CNP) Append(b []byte) []byte {
	var reserved [CNPLen]byte
	return append(b, reserved[:]...)
}

// Len is CNPLen.
func (CNP) Len() int { return CNPLen }

// CNPHeader is the BTH of a congestion notification packet to a queue pair: BECN set, PSN 0, no
// acknowledgement asked for.
func CNPHeader(destQPN uint32) BTH {
	return BTH{Opcode: OpCongestionNotification, PKey: DefaultPKey, BECN: true, DestQPN: destQPN}
}
