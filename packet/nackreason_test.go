package packet

import "testing"

// Tables 7-3 and 7-17.
func TestNACKReason(t *testing.T) {
	type row struct {
		name                           string
		mandatory, retransmit, trimmed bool
	}
	rows := map[NACKReason]row{
		0x01: {"TRIMMED", false, true, true},
		0x02: {"TRIMMED_LASTHOP", false, true, true},
		0x06: {"NO_BITMAP", true, true, false},
		0x07: {"NO_PKT_BUFFER", true, true, false},
		0x0A: {"NO_RESOURCE", true, true, false},
		0x0B: {"PSN_OOR_WINDOW", true, true, false},
		0x19: {"UNEXP_EVENT", true, false, false},
	}
	for r := range 256 {
		r := NACKReason(r)
		want, known := rows[r]
		if r.Known() != known {
			t.Errorf("%v: known %v", r, r.Known())
		}
		if got := (row{r.String(), r.Mandatory(), r.Retransmittable(), r.Trimmed()}); known &&
			got != want {
			t.Errorf("reason %#02x: %+v, want %+v", uint8(r), got, want)
		} else if !known && (got.mandatory || got.retransmit || got.trimmed) {
			t.Errorf("reserved reason %#02x: %+v", uint8(r), got)
		}
	}
	if got := NACKReason(0x42).String(); got != "reserved NACK reason 0x42" {
		t.Errorf("reason 0x42 is %q", got)
	}
	for r, code := range map[NACKReason]uint8{
		NACKTrimmed: 0x01, NACKTrimmedLastHop: 0x02, NACKNoBitmap: 0x06, NACKNoPacketBuffer: 0x07,
		NACKNoResource: 0x0A, NACKPSNOutOfRange: 0x0B, NACKUnexpectedEvent: 0x19,
	} {
		if uint8(r) != code {
			t.Errorf("%v is %#02x, want %#02x", r, uint8(r), code)
		}
	}
}
