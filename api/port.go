package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/weft-sdn/weft/topology"
)

// Port is a port of a switch: the client's settings, and the switch's reports.
type Port struct {
	Name    string     `json:"name" doc:"Name of the switch, a slash, and the P4Runtime port."`
	Version uint64     `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: no client has written the spec."`
	Changed time.Time  `json:"changed,omitzero" doc:"When the spec changed last."`
	Spec    PortSpec   `json:"spec" doc:"What a client wants. A field that is absent is left as it is on the switch."`
	Status  PortStatus `json:"status"`
	// Changes are the changes of a dry run; nil otherwise.
	Changes []SwitchChange `json:"changes,omitempty" doc:"In the answer to a dry run: the updates of switches."`
	Takes   []Taken        `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r Port) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// PortSpec is the configuration of a port. A nil field stays unchanged on the switch.
type PortSpec struct {
	Enabled *bool `json:"enabled,omitempty" yaml:"enabled" doc:"false takes the port out of service. Trees and tunnels leave its link at once."`
	// Speed in bit/s.
	Speed *uint64 `json:"speed,omitempty" yaml:"speed" doc:"Speed in bit/s that OpenConfig has a name for."`
	// MTU in octets.
	MTU         *uint32 `json:"mtu,omitempty" yaml:"mtu" format:"uint32" doc:"Largest frame in octets, as the switch counts it; 1280 to 65535."`
	Description *string `json:"description,omitempty" yaml:"description" doc:"Text for people, at most 255 octets."`
}

// Disabled reports whether the spec takes the port out of service.
func (s *PortSpec) Disabled() bool { return s.Enabled != nil && !*s.Enabled }

// Equal compares two specs.
func (s *PortSpec) Equal(o *PortSpec) bool {
	return equalPointers(s.Enabled, o.Enabled) && equalPointers(s.Speed, o.Speed) &&
		equalPointers(s.MTU, o.MTU) && equalPointers(s.Description, o.Description)
}

func equalPointers[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Bounds of a PortSpec.
const (
	minPortMTU         = 1280 // that of IPv6 (RFC 8200, section 5)
	maxPortMTU         = 65535
	maxPortDescription = 255
)

// Validate returns everything that is wrong with a spec, or nil. speeds are those that a port can
// be set to.
func (s *PortSpec) Validate(speeds []uint64) error {
	var wrong []FieldError
	bad := func(field, value, want string) {
		wrong = append(wrong, FieldError{Field: "spec." + field, Code: CodeInvalid, Value: value,
			Want: want})
	}
	if s.Speed != nil && !slices.Contains(speeds, *s.Speed) {
		var texts []string
		for _, v := range speeds {
			texts = append(texts, strconv.FormatUint(v, 10))
		}
		bad("speed", strconv.FormatUint(*s.Speed, 10), "a speed in bit/s: "+strings.Join(texts, ", "))
	}
	if s.MTU != nil && (*s.MTU < minPortMTU || *s.MTU > maxPortMTU) {
		bad("mtu", strconv.FormatUint(uint64(*s.MTU), 10), fmt.Sprintf("%d to %d octets", minPortMTU,
			maxPortMTU))
	}
	if s.Description != nil {
		d := *s.Description
		switch {
		case len(d) > maxPortDescription:
			wrong = append(wrong, FieldError{Field: "spec.description", Code: CodeInvalid,
				Value: fmt.Sprintf("%d octets", len(d)),
				Want:  fmt.Sprintf("at most %d octets", maxPortDescription), Limit: Limit(maxPortDescription)})
		case strings.ContainsFunc(d, func(r rune) bool { return !unicode.IsPrint(r) }):
			bad("description", strconv.Quote(d), "printable characters")
		}
	}
	return Refuse(wrong)
}

// PortStatus is what the controller knows of a port.
type PortStatus struct {
	Switch    string          `json:"switch" doc:"Name of the switch."`
	Port      uint32          `json:"port" format:"uint32" doc:"P4Runtime port."`
	Interface string          `json:"interface,omitempty" doc:"Name that the switch gives the port; absent while the switch reports none."`
	Ifindex   uint32          `json:"ifindex,omitempty" format:"uint32" doc:"Number of the interface at the switch."`
	Oper      string          `json:"oper,omitempty" enum:"up,down" doc:"Whether the port has a link, as the switch says; absent when nothing is known."`
	MAC       string          `json:"mac,omitempty" doc:"Ethernet address, as the switch says."`
	Speed     uint64          `json:"speed,omitempty" doc:"Present speed in bit/s, as the switch says."`
	Config    PortSpec        `json:"config" doc:"Configuration, as the switch says. It does not report the fields that are absent."`
	Link      topology.LinkID `json:"link,omitempty" doc:"The link that begins at the port, as in the topology."`
	Damping   *PortDamping    `json:"damping,omitempty" doc:"Present while failures of the port count."`
	// Conditions are Programmed and Degraded, of a port with a spec.
	Conditions Conditions `json:"conditions,omitempty" doc:"Programmed: the switch reports what the spec wants. Degraded: the switch refuses a setting, cannot be reached, or has changed one by itself. Absent without a spec."`
	Drift      *PortDrift `json:"drift,omitempty" doc:"The last time that the switch reported something else than the spec had been written to."`
}

// PortDamping is the back-off of a failed port.
type PortDamping struct {
	Out      bool      `json:"out" doc:"Trees, tunnels and routes do not use the link of the port."`
	Failures int       `json:"failures" doc:"Failures without a calm (ports.calm) between them."`
	Flaps    uint64    `json:"flaps" doc:"Times that the port went down while its failures count."`
	Until    time.Time `json:"until,omitzero" doc:"When the link is used again if the port stays up; absent while it is down."`
}

// PortDrift describes a change to a port's configuration by somebody other than the controller.
type PortDrift struct {
	Time    time.Time `json:"time" doc:"When it was seen last."`
	Message string    `json:"message" doc:"The settings, with their values and those of the spec."`
	Count   uint64    `json:"count" doc:"How often it was seen since the controller started."`
}

// SwitchGNMI is what a switch answers by gNMI.
type SwitchGNMI struct {
	Dialect  string         `json:"dialect,omitempty" doc:"Dialect that the switch is asked in: openconfig, sonic or stratum; absent before it was asked."`
	Version  string         `json:"version,omitempty" doc:"Version of gNMI that the switch names."`
	Encoding string         `json:"encoding,omitempty" doc:"Encoding that values are asked for in."`
	Models   []GNMIModel    `json:"models,omitempty" doc:"Data models that the switch names, at most 256."`
	Paths    []GNMIPath     `json:"paths" doc:"What the switch is asked for, and how it answers."`
	Error    string         `json:"error,omitempty" doc:"Why the switch does not report now."`
	Ignored  uint64         `json:"ignored,omitempty" doc:"What it said that made no sense, up to the last change."`
	Differs  []PortMismatch `json:"differs,omitempty" doc:"What the switch says otherwise than the configuration or BGP-LS."`
}

// GNMIModel is a data model of a switch.
type GNMIModel struct {
	Name         string `json:"name"`
	Organization string `json:"organization,omitempty"`
	Version      string `json:"version,omitempty"`
}

// GNMIPath is a path that a switch is asked for.
type GNMIPath struct {
	Stream string `json:"stream" enum:"states,counters,sids" doc:"The subscription that the path is a part of."`
	Path   string `json:"path"`
	Mode   string `json:"mode,omitempty" enum:"ON_CHANGE,SAMPLE,TARGET_DEFINED" doc:"Mode of the subscription that the switch took; absent when it took none, or was not asked."`
	Error  string `json:"error,omitempty" doc:"Why it took none."`
}

// PortMismatch is something that a switch says otherwise than the configuration or BGP-LS.
type PortMismatch struct {
	Field string `json:"field" doc:"Field of the configuration, or of a link: switches[n1].mac, switches[n1].ports.7."`
	Want  string `json:"want" doc:"What the configuration or BGP-LS says."`
	Got   string `json:"got" doc:"What the switch says."`
}
