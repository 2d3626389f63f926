package packet

import "fmt"

// NACKReason is the nack_reason of a NETH: why a responder did not take a packet.
type NACKReason uint8

// Reasons of a NACK (OCP MRC 1.0, tables 7-3 and 7-17). Section 7.5.3 has other names for some:
// TRIM and TRIM_LAST_HOP are the first two, PSNE ("error in processing bitmap") is
// NACKPSNOutOfRange, and GERR (general error) is NACKNoResource when it may pass and
// NACKUnexpectedEvent when not.
const (
	NACKTrimmed         NACKReason = 0x01
	NACKTrimmedLastHop  NACKReason = 0x02 // by the last switch before the responder
	NACKNoBitmap        NACKReason = 0x06 // nothing to track the packet with, for now
	NACKNoPacketBuffer  NACKReason = 0x07 // nothing to hold the packet in, for now
	NACKNoResource      NACKReason = 0x0A // something else missing, for now
	NACKPSNOutOfRange   NACKReason = 0x0B // PSN outside the window the responder tracks
	NACKUnexpectedEvent NACKReason = 0x19
)

var nackReasons = [256]struct {
	name                  string
	mandatory, retransmit bool
}{
	NACKTrimmed:         {"TRIMMED", false, true},
	NACKTrimmedLastHop:  {"TRIMMED_LASTHOP", false, true},
	NACKNoBitmap:        {"NO_BITMAP", true, true},
	NACKNoPacketBuffer:  {"NO_PKT_BUFFER", true, true},
	NACKNoResource:      {"NO_RESOURCE", true, true},
	NACKPSNOutOfRange:   {"PSN_OOR_WINDOW", true, true},
	NACKUnexpectedEvent: {"UNEXP_EVENT", true, false},
}

// String is the mnemonic of table 7-3, or the number.
func (r NACKReason) String() string {
	if name := nackReasons[r].name; name != "" {
		return name
	}
	return fmt.Sprintf("reserved NACK reason %#02x", uint8(r))
}

// Known reports whether the reason is assigned.
func (r NACKReason) Known() bool { return nackReasons[r].name != "" }

// Mandatory reports whether every responder supports the reason; the others are a capability
// negotiated with the connection.
func (r NACKReason) Mandatory() bool { return nackReasons[r].mandatory }

// Retransmittable reports whether the requester sends the packet again, as far as its retries go.
// If not, the queue pair fails at once.
func (r NACKReason) Retransmittable() bool { return nackReasons[r].retransmit }

// Trimmed reports whether the packet was trimmed on its way.
func (r NACKReason) Trimmed() bool { return r == NACKTrimmed || r == NACKTrimmedLastHop }
