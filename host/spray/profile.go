package spray

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

var (
	// ErrConfig: a field of a configuration has an invalid value.
	ErrConfig = errors.New("invalid spraying configuration")
	// ErrProfile: the profile is invalid.
	ErrProfile = errors.New("invalid EV profile")
	// ErrIndex: the profile has no entropy value of this index.
	ErrIndex = errors.New("no such EV")
)

// MaxEVs is the greatest number of entropy values in a profile.
const MaxEVs = 1 << indexBits

// EV is an entropy value of a profile.
type EV struct {
	// of the packet's source port and flow label. With a Route it is not used: the inner header has
	// the value's index
	Value  packet.EV
	Route  *mrc.Route // outer header of source routing by SRv6; nil for none. It must not change
	Port   int        // of the host to send on, which is the plane: 1 to packet.MaxPort
	Denied bool       // by the controller
}

// same reports whether two are the same path.
func (v EV) same(o EV) bool {
	if v.Port != o.Port || (v.Route == nil) != (o.Route == nil) {
		return false
	}
	if v.Route == nil {
		return v.Value == o.Value
	}
	return v.Route == o.Route || v.Route.Dst == o.Route.Dst && sameSRH(v.Route.SRH, o.Route.SRH)
}

func sameSRH(a, b *packet.SRH) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.SegmentsLeft == b.SegmentsLeft && string(a.SegmentList) == string(b.SegmentList)
}

// NewSRv6 is a value that is a path through SRv6: the uSID containers as the public controller API
// has them (mrc_ctl_ev_t), the first in the destination address, the second, if there is one, in a
// reduced SRH (Last Entry 0, Segments Left 1). The error wraps ErrProfile.
func NewSRv6(containers [32]byte, port int) (EV, error) {
	first, second := netip.AddrFrom16([16]byte(containers[:16])),
		netip.AddrFrom16([16]byte(containers[16:]))
	if first.IsUnspecified() {
		return EV{}, fmt.Errorf("SRv6 EV: no first uSID container: %w", ErrProfile)
	}
	route := &mrc.Route{Dst: first}
	if !second.IsUnspecified() {
		srh, err := packet.NewReducedSRH(packet.NextHeaderIPv6, []netip.Addr{first, second}, nil)
		if err != nil {
			return EV{}, fmt.Errorf("SRv6 EV: %w: %w", err, ErrProfile)
		}
		route.SRH = &srh
	}
	return EV{Route: route, Port: port}, nil
}

// Profile holds the part of an EV profile that a sender needs.
type Profile struct {
	EVs []EV // the EV universe in the order of indexes: 1 to MaxEVs of them
	// MinActive is ev_min_active: a sender marks none ASSUMED_BAD by itself when less than so many
	// would be left to send on. The bound does not apply to denials by the controller. 0 to the number
	// of EVs.
	MinActive int
}

// Validate reports what cannot be used; the error wraps ErrProfile.
func (p Profile) Validate() error {
	if len(p.EVs) < 1 || len(p.EVs) > MaxEVs {
		return fmt.Errorf("EVs: %d, want 1 to %d: %w", len(p.EVs), MaxEVs, ErrProfile)
	}
	if p.MinActive < 0 || p.MinActive > len(p.EVs) {
		return fmt.Errorf("MinActive %d: want 0 to %d, the number of EVs: %w", p.MinActive, len(p.EVs),
			ErrProfile)
	}
	for i, ev := range p.EVs {
		if ev.Port < 1 || ev.Port > packet.MaxPort {
			return fmt.Errorf("EVs[%d].Port %d: want 1 to %d: %w", i, ev.Port, packet.MaxPort, ErrProfile)
		}
	}
	return nil
}
