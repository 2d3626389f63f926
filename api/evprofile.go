package api

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// EVProfileSpec overrides the configuration for one EV profile; the configuration decides on fields
// left out.
type EVProfileSpec struct {
	// Mode defines who makes the EVs: controller or host. Default: generated where the fabric is
	// regular and the hosts can, explicit elsewhere; the device's own in mode ecmp.
	Mode EVMode `json:"mode,omitempty" enum:"AUTO,EXP,GEN" doc:"Who makes the EVs: the device on its own (only with hashed paths), the controller, or the device by fields. Default: GEN where the fabric is regular and the hosts can, EXP elsewhere."`
	// MaxEVs is how many EVs the profile has at most.
	MaxEVs int `json:"maxEvs,omitempty" doc:"EVs of the profile at most. Default: the configuration's."`
	// MinActive is how many EVs a host leaves active when it marks EVs
	// ASSUMED_BAD; at most the count. Default: a quarter of the count.
	MinActive int `json:"minActive,omitempty" doc:"EVs that a host leaves active when it finds some bad by itself; at most the count. Default: the configuration's, or a quarter of the count."`
	// CCProfile is the name of the CC profile for the profile's destinations.
	CCProfile string `json:"ccProfile,omitempty" maxLength:"63" doc:"Name of the CC profile for the destinations. Default: the configuration's."`
}

// EVMode defines whether the controller or the host makes the EVs of a profile, with the names of
// mrc_ctl.h.
type EVMode string

// The modes.
const (
	EVModeAuto      EVMode = "AUTO" // the device on its own
	EVModeExplicit  EVMode = "EXP"  // the controller lists them
	EVModeGenerated EVMode = "GEN"  // the device, by the profile's fields
)

// HostMode returns the mode as hosts are told it; 0: the controller's choice.
func (m EVMode) HostMode() hostapi.Mode {
	for _, h := range [...]hostapi.Mode{hostapi.ModeAuto, hostapi.ModeExplicit,
		hostapi.ModeGenerated} {
		if string(m) == h.String() {
			return h
		}
	}
	return 0
}

// EVProfileEnv is what the validation of an EV profile knows about the rest.
type EVProfileEnv struct {
	// HashedPaths: switches choose paths by a hash (mode ecmp), and no one knows them.
	HashedPaths bool
	// Count is how many EVs the profile has with this MaxEVs; 0: not known.
	Count int
	// HasCCProfile reports whether there is a CC profile of a name.
	HasCCProfile func(name string) bool
}

// ValidateEVProfile returns everything that is wrong with a spec, or nil. Whether
// the hosts can hold it is for whoever builds the profile to say.
func ValidateEVProfile(s *EVProfileSpec, env EVProfileEnv) error {
	var v validator
	switch {
	case s.Mode != "" && s.Mode.HostMode() == 0:
		v.bad("spec.mode", strconv.Quote(string(s.Mode)),
			`"AUTO", "EXP" or "GEN", or nothing for the controller's choice`)
	case s.Mode == EVModeAuto && !env.HashedPaths:
		v.bad("spec.mode", strconv.Quote(string(s.Mode)),
			`"EXP" or "GEN": of EVs that a device makes on its own nobody knows the paths, so AUTO is for mode ecmp`)
	}
	if s.MaxEVs != 0 {
		v.count("spec.maxEvs", s.MaxEVs, 1, hostapi.MaxProfileEVs, "number of EVs")
	}
	if s.MinActive != 0 {
		switch most := hostapi.MaxProfileEVs; {
		case env.Count > 0:
			v.count("spec.minActive", s.MinActive, 1, min(env.Count, most),
				"number of the EVs that the profile has")
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
	f := FieldError{Field: field, Code: CodeInvalid, Value: strconv.Itoa(n),
		Want: fmt.Sprintf("a %s, %d to %d", what, lo, hi)}
	if n > hi {
		f.Limit = Limit(hi)
	}
	v.found = append(v.found, f)
}

// EVProfile is an EV profile as clients get it.
type EVProfile struct {
	Name    string          `json:"name" doc:"The leaves of source and destination, and a number where the source's hosts have devices of several kinds."`
	Version uint64          `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: no client has written the spec."`
	Created time.Time       `json:"created,omitzero" doc:"When somebody first wanted something."`
	Spec    EVProfileSpec   `json:"spec" doc:"What a client wants instead of what the configuration says."`
	Status  EVProfileStatus `json:"status" doc:"Status, which the controller writes."`
	Takes   []Taken         `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r EVProfile) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// EVProfileStatus is what the controller reports about an EV profile.
type EVProfileStatus struct {
	Conditions   Conditions        `json:"conditions" doc:"Accepted, Programmed and Degraded."`
	Source       []LeafPort        `json:"source" doc:"The leaf of each port of the hosts that send."`
	Destination  []LeafPort        `json:"destination" doc:"The leaf of each port of the hosts that receive."`
	Format       *EVFormat         `json:"format,omitempty" doc:"How EVs lie in packets; absent when there is no profile."`
	Mode         string            `json:"mode,omitempty" enum:"AUTO,EXP,GEN" doc:"Who makes the EVs: the device on its own, the controller, or the device by the fields."`
	Fields       []EVField         `json:"fields,omitempty" doc:"What an EV in a packet is made of, field by field; none: the field has the EV unchanged."`
	Count        int               `json:"count" doc:"EVs of the profile."`
	Active       int               `json:"active" doc:"Number of EVs that are not denied."`
	Denied       int               `json:"denied" doc:"EVs that hosts must not use."`
	Replaced     int               `json:"replaced" doc:"EVs in place of others with lost paths."`
	AssumedBad   int               `json:"assumedBad" doc:"EVs that some host has found bad by itself."`
	MinActive    int               `json:"minActive" doc:"EVs that a host leaves active when it finds some bad."`
	CCProfile    string            `json:"ccProfile,omitempty" doc:"CC profile of the destinations; absent: the device's own choice."`
	Destinations []netip.Prefix    `json:"destinations" doc:"Addresses that the profile serves."`
	Hosts        []string          `json:"hosts" doc:"Hosts that hold it."`
	Behind       []string          `json:"behind,omitempty" doc:"Hosts that do not hold all that they are to: they have not answered yet, refuse it, or are not connected."`
	LostLinks    []topology.LinkID `json:"lostLinks,omitempty" doc:"Links that its paths would cross, and must not. Not in lists."`
	Note         string            `json:"note,omitempty"`
	EVs          []EV              `json:"evs,omitempty" doc:"The EVs, in order. Not in lists."`
}

// LeafPort is the leaf behind a port of hosts.
type LeafPort struct {
	Port uint8           `json:"port" doc:"Port of the hosts, from 1."`
	Leaf topology.NodeID `json:"leaf" doc:"The switch behind it."`
	Name string          `json:"name,omitempty"`
}

// EVFormat is the format of the EVs of a profile.
type EVFormat struct {
	Mode   string `json:"mode" enum:"STEV,SRV6,UDP" doc:"Structured EV in UDP source port and flow label, SRv6 addresses, or source port alone."`
	Widths []int  `json:"widths" doc:"Bits of the fields, the most significant first."`
}

// EVField is a field of a structured EV.
type EVField struct {
	Width   uint8  `json:"width" doc:"Bits."`
	InitVal uint32 `json:"initVal" format:"uint32" doc:"The field before the EV's bits are written over it."`
	MinVal  uint32 `json:"minVal" format:"uint32" doc:"Least value of the EV's bits."`
	MaxVal  uint32 `json:"maxVal" format:"uint32" doc:"Greatest value of the EV's bits."`
	Mask    uint32 `json:"mask" format:"uint32" doc:"Bits of the field that the EV's bits go to."`
}

// EV is an entropy value of a profile.
type EV struct {
	EV          string `json:"ev" doc:"Value in hexadecimal and port, as paths take it."`
	Index       int    `json:"index" doc:"Place in the profile, from 0."`
	Port        uint8  `json:"port" doc:"Port that it leaves by; 0 is the device's choice."`
	State       string `json:"state" enum:"GOOD,ASSUMED_BAD,DENIED" doc:"DENIED by the controller, ASSUMED_BAD by hosts."`
	BadAt       int    `json:"badAt,omitempty" doc:"How many hosts have found it bad."`
	Replacement bool   `json:"replacement,omitempty" doc:"The EV replaces an EV with a lost path."`
}
