package ev

import (
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/packet"
)

// A Mode is how a packet says its path.
type Mode uint8

const (
	// ModeECMP: switches choose by a hash; a packet's EV changes the choice, and
	// nobody knows to what (section 9.3.3).
	ModeECMP Mode = iota
	// ModeStructured: a structured EV in UDP source port and flow label, of
	// which every switch on the way up takes a field (sections 9.1 and 9.3.4).
	ModeStructured
	// ModeF3216 and ModeF1616: SRv6, one container of uSIDs as the outer
	// destination address (sections 9.3.5 and 11.4).
	ModeF3216
	ModeF1616
	// ModeSRH: SRv6, a second container (both F3216) in a reduced SRH (section 9.2). The first
	// container holds as many uSIDs as possible. The second holds at least the last uSID, so that the
	// SRH is never empty.
	ModeSRH
	// ModeUSIDStructured: SRv6, one container (F3216) of uNs with plane and index as bit fields. A NIC
	// makes any path from a [Template] of its destination and an EV of few bits.
	ModeUSIDStructured

	modes
)

var modeNames = [modes]string{"ecmp", "stev", "usid-f3216", "usid-f1616", "usid-srh",
	"usid-structured"}

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("mode is %q: want %s", name, (*Mode)(nil).Wanted())
}

// String is the mode's name.
func (m Mode) String() string {
	if m < modes {
		return modeNames[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// MarshalText writes the mode's name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Wanted reports what UnmarshalText takes.
func (*Mode) Wanted() string { return "one of " + strings.Join(modeNames[:], ", ") }

// UnmarshalText reads a mode's name.
func (m *Mode) UnmarshalText(text []byte) error {
	parsed, err := ParseMode(string(text))
	if err == nil {
		*m = parsed
	}
	return err
}

// SRv6 reports whether EVs are uSID containers.
func (m Mode) SRv6() bool {
	return m == ModeF3216 || m == ModeF1616 || m == ModeSRH || m == ModeUSIDStructured
}

// USID is the format of the containers of an SRv6 mode.
func (m Mode) USID() packet.USIDFormat {
	if m == ModeF1616 {
		return packet.F1616
	}
	return packet.F3216
}
