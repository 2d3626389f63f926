package api

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/hostapi"
)

// EVProfile is what a client wants of the EV profile of a pair of leaves, where
// that is not what the configuration says. The profile itself is there without it.
type EVProfile struct {
	// Name is that of the profile.
	Name string `json:"name"`
	// Version changes with every change of the spec; 0: nobody wants anything.
	Version uint64        `json:"version"`
	Created time.Time     `json:"created,omitzero"`
	Spec    EVProfileSpec `json:"spec"`
}

// EVProfileSpec overrides the configuration for one EV profile; what is left out
// is as the configuration says.
type EVProfileSpec struct {
	// Mode is who makes the EVs. Default: generated where the fabric is regular and
	// the hosts can, explicit elsewhere; the device's own in mode ecmp.
	Mode EVMode `json:"mode,omitempty" enum:"AUTO,EXP,GEN" doc:"Who makes the EVs: the device on its own (only with hashed paths), the controller, or the device by fields. Default: GEN where the fabric is regular and the hosts can, EXP elsewhere."`
	// MaxEVs is how many EVs the profile has at most.
	MaxEVs int `json:"maxEvs,omitempty" doc:"EVs of the profile at most. Default: the configuration's."`
	// MinActive is how many EVs a host leaves active when it marks EVs
	// ASSUMED_BAD; at most the count. Default: a quarter of the count.
	MinActive int `json:"minActive,omitempty" doc:"EVs that a host leaves active when it finds some bad by itself; at most the count. Default: the configuration's, or a quarter of the count."`
	// CCProfile is the name of the CC profile for the profile's destinations.
	CCProfile string `json:"ccProfile,omitempty" maxLength:"63" doc:"Name of the CC profile for the destinations. Default: the configuration's."`
}

// EVMode is who makes the EVs of a profile, as mrc_ctl.h has it.
type EVMode string

// The modes.
const (
	EVModeAuto      EVMode = "AUTO" // the device on its own
	EVModeExplicit  EVMode = "EXP"  // the controller lists them
	EVModeGenerated EVMode = "GEN"  // the device, by the profile's fields
)

// HostMode returns the mode as hosts are told it; 0: the controller's choice.
func (m EVMode) HostMode() hostapi.Mode {
	for _, h := range [...]hostapi.Mode{hostapi.ModeAuto, hostapi.ModeExplicit, hostapi.ModeGenerated} {
		if string(m) == h.String() {
			return h
		}
	}
	return 0
}

// EVProfileEnv is what the validation of an EV profile knows about the rest.
type EVProfileEnv struct {
	// HashedPaths: switches choose paths by a hash (mode ecmp), and nobody knows them.
	HashedPaths bool
	// Count is how many EVs the profile has with this MaxEVs; 0: not known.
	Count int
	// HasCCProfile says whether there is a CC profile of a name.
	HasCCProfile func(name string) bool
}

// ValidateEVProfile returns everything that is wrong with a spec, or nil. Whether
// the hosts can hold it is for whoever builds the profile to say.
func ValidateEVProfile(s *EVProfileSpec, env EVProfileEnv) error {
	var v validator
	switch {
	case s.Mode != "" && s.Mode.HostMode() == 0:
		v.bad("spec.mode", strconv.Quote(string(s.Mode)), `"AUTO", "EXP" or "GEN", or nothing for the controller's choice`)
	case s.Mode == EVModeAuto && !env.HashedPaths:
		v.bad("spec.mode", strconv.Quote(string(s.Mode)), `"EXP" or "GEN": of EVs that a device makes on its own nobody knows the paths, so AUTO is for mode ecmp`)
	}
	if s.MaxEVs != 0 {
		v.count("spec.maxEvs", s.MaxEVs, 1, hostapi.MaxProfileEVs, "number of EVs")
	}
	if s.MinActive != 0 {
		switch most := hostapi.MaxProfileEVs; {
		case env.Count > 0:
			v.count("spec.minActive", s.MinActive, 1, min(env.Count, most), "number of the EVs that the profile has")
		case s.MaxEVs > 0:
			v.count("spec.minActive", s.MinActive, 1, min(s.MaxEVs, most), "number of EVs up to maxEvs")
		default:
			v.count("spec.minActive", s.MinActive, 1, most, "number of EVs")
		}
	}
	if s.CCProfile != "" && !env.HasCCProfile(s.CCProfile) {
		v.bad("spec.ccProfile", strconv.Quote(s.CCProfile), "the name of a CC profile")
	}
	return Refuse(v.found)
}

// count checks a number that may be negative.
func (v *validator) count(field string, n, lo, hi int, what string) {
	if n >= lo && n <= hi {
		return
	}
	f := FieldError{Field: field, Code: CodeInvalid, Value: strconv.Itoa(n), Want: fmt.Sprintf("a %s, %d to %d", what, lo, hi)}
	if n > hi {
		f.Limit = Limit(hi)
	}
	v.found = append(v.found, f)
}
