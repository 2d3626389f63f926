package northbound

import (
	"fmt"
	"iter"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// evProfile is an EV profile as clients get it.
type evProfile struct {
	Name    string            `json:"name" doc:"The leaves of source and destination, and a number where the source's hosts have devices of several kinds."`
	Version uint64            `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: nobody wants anything."`
	Created time.Time         `json:"created,omitzero" doc:"When somebody first wanted something."`
	Spec    api.EVProfileSpec `json:"spec" doc:"What a client wants instead of what the configuration says."`
	Status  evProfileStatus   `json:"status" doc:"What the controller says."`
}

type evProfileStatus struct {
	Conditions   []condition       `json:"conditions" nullable:"false" doc:"Accepted, Programmed and Degraded."`
	Source       []leafPort        `json:"source" nullable:"false" doc:"The leaf of each port of the hosts that send."`
	Destination  []leafPort        `json:"destination" nullable:"false" doc:"The leaf of each port of the hosts that receive."`
	Format       *evFormat         `json:"format,omitempty" doc:"How EVs lie in packets; absent when there is no profile."`
	Mode         string            `json:"mode,omitempty" enum:"AUTO,EXP,GEN" doc:"Who makes the EVs: the device on its own, the controller, or the device by the fields."`
	Fields       []evField         `json:"fields,omitempty" doc:"What an EV in a packet is made of, field by field; none: the EV lies there as it is."`
	Count        int               `json:"count" doc:"EVs of the profile."`
	Active       int               `json:"active" doc:"Of those, the ones that are not denied."`
	Denied       int               `json:"denied" doc:"EVs that hosts must not use."`
	Replaced     int               `json:"replaced" doc:"EVs that have taken the place of others, whose paths are lost."`
	AssumedBad   int               `json:"assumedBad" doc:"EVs that some host has found bad by itself."`
	MinActive    int               `json:"minActive" doc:"EVs that a host leaves active when it finds some bad."`
	CCProfile    string            `json:"ccProfile,omitempty" doc:"CC profile of the destinations; absent: the device's own choice."`
	Destinations []netip.Prefix    `json:"destinations" nullable:"false" doc:"Addresses that the profile serves."`
	Hosts        []string          `json:"hosts" nullable:"false" doc:"Hosts that hold it."`
	Behind       []string          `json:"behind,omitempty" doc:"Hosts that do not hold all that they are to: they have not answered yet, refuse it, or are not connected."`
	LostLinks    []topology.LinkID `json:"lostLinks,omitempty" doc:"Links that its paths would cross, and must not. Not in lists."`
	Note         string            `json:"note,omitempty"`
	EVs          []evView          `json:"evs,omitempty" doc:"The EVs, in order. Not in lists."`
}

// condition is one aspect of a resource's state.
type condition struct {
	Type           api.ConditionType `json:"type" enum:"Accepted,Programmed,Degraded"`
	Status         bool              `json:"status"`
	Reason         string            `json:"reason" doc:"One word, stable."`
	Message        string            `json:"message,omitempty" doc:"The same for people."`
	LastTransition time.Time         `json:"lastTransition,omitzero" doc:"When status changed last, where that is known."`
}

type leafPort struct {
	Port uint8           `json:"port" doc:"Port of the hosts, from 1."`
	Leaf topology.NodeID `json:"leaf" doc:"The switch behind it."`
	Name string          `json:"name,omitempty"`
}

type evFormat struct {
	Mode   string `json:"mode" enum:"STEV,SRV6,UDP" doc:"Structured EV in UDP source port and flow label, SRv6 addresses, or source port alone."`
	Widths []int  `json:"widths" nullable:"false" doc:"Bits of the fields, the most significant first."`
}

type evField struct {
	Width   uint8  `json:"width" doc:"Bits."`
	InitVal uint32 `json:"initVal" format:"uint32" doc:"The field before the EV's bits are written over it."`
	MinVal  uint32 `json:"minVal" format:"uint32" doc:"Least value of the EV's bits."`
	MaxVal  uint32 `json:"maxVal" format:"uint32" doc:"Greatest value of the EV's bits."`
	Mask    uint32 `json:"mask" format:"uint32" doc:"Bits of the field that the EV's bits go to."`
}

type evView struct {
	EV          string `json:"ev" doc:"Value in hexadecimal and port, as paths take it."`
	Index       int    `json:"index" doc:"Place in the profile, from 0."`
	Port        uint8  `json:"port" doc:"Port that it leaves by; 0 is the device's choice."`
	State       string `json:"state" enum:"GOOD,ASSUMED_BAD,DENIED" doc:"DENIED by the controller, ASSUMED_BAD by hosts."`
	BadAt       int    `json:"badAt,omitempty" doc:"How many hosts have found it bad."`
	Replacement bool   `json:"replacement,omitempty" doc:"It has taken the place of one whose path is lost."`
}

// Reasons of the conditions of EV profiles, beside those of package api.
const (
	reasonBuilt     = "Built"
	reasonNoProfile = "NoProfile"
	reasonApplied   = "Applied"
	reasonApplying  = "Applying"
	reasonNoPath    = "NoPath"
	reasonReplaced  = "EVsReplaced"
	reasonTooFew    = "TooFewEVs"
	reasonExplicit  = "ExplicitInstead"
	reasonOverride  = "SpecNotMet"
)

// viewEVProfile describes a profile; whole includes its EVs.
func (s *Server) viewEVProfile(p *mrc.EVProfile, whole bool) evProfile {
	st := &p.Status
	out := evProfile{Name: st.Name, Version: p.Version, Created: p.Created, Spec: p.Spec}
	v := &out.Status
	snap := s.controller.Topology()
	v.Source, v.Destination = leafPorts(snap, st.Source), leafPorts(snap, st.Destination)
	v.Hosts = append([]string{}, st.Hosts...)
	v.Behind, v.LostLinks, v.Note = st.Behind, st.Lost, st.Note
	v.Destinations = []netip.Prefix{}
	v.AssumedBad = len(st.AssumedBad)
	v.Conditions = s.evConditions(st)
	if q := st.Outcome.Profile; q != nil {
		v.Format = &evFormat{Mode: q.Format.Mode.String(), Widths: []int{}}
		for _, w := range q.Format.Widths {
			v.Format.Widths = append(v.Format.Widths, int(w))
		}
		for _, f := range q.Fields {
			v.Fields = append(v.Fields, evField{Width: f.Width, InitVal: f.InitVal, MinVal: f.MinVal, MaxVal: f.MaxVal, Mask: f.Mask})
		}
		v.Mode, v.Count, v.Active, v.Replaced, v.Denied = q.Mode.String(), q.Count, st.Outcome.Active, st.Outcome.Replaced, len(q.Denied)
		v.MinActive, v.CCProfile = q.MinActive, q.CC
		v.Destinations = append(v.Destinations, q.Destinations...)
	}
	if whole {
		for e := range profileEVs(st) {
			v.EVs = append(v.EVs, e)
		}
	}
	return out
}

func leafPorts(snap *topology.Snapshot, at ev.Attachment) []leafPort {
	out := []leafPort{}
	for i, leaf := range at {
		if leaf != "" {
			out = append(out, leafPort{Port: uint8(i + 1), Leaf: leaf, Name: nodeName(snap, leaf)})
		}
	}
	return out
}

// nodeName is the name that a node shows, empty when it is not known.
func nodeName(snap *topology.Snapshot, id topology.NodeID) string {
	if n := snap.Node(id); n != nil {
		return n.Name
	}
	return ""
}

// at is a time in the statuses of the fabric.
func (s *Server) at(d time.Duration) time.Time {
	return s.cfg.Multipath.Began().Add(d).UTC()
}

func (s *Server) evConditions(st *mrc.ProfileStatus) []condition {
	accepted := condition{Type: api.Accepted, Status: true, Reason: reasonBuilt}
	programmed := condition{Type: api.Programmed, Status: true, Reason: reasonApplied}
	degraded := condition{Type: api.Degraded, Reason: api.ReasonHealthy, LastTransition: s.at(st.Since)}
	switch {
	case st.Built == nil:
		accepted.Status, accepted.Reason, accepted.Message = false, reasonNoProfile, st.Outcome.Degraded
		programmed.Status, programmed.Reason, programmed.Message = false, reasonNoProfile, "there is nothing to hold"
	case len(st.Behind) > 0:
		programmed.Status, programmed.Reason = false, reasonApplying
		programmed.Message = fmt.Sprintf("%d of %d hosts do not hold all that they are to", len(st.Behind), len(st.Hosts))
	}
	if o := &st.Outcome; o.Degraded != "" {
		degraded.Status, degraded.Message = true, o.Degraded
		switch {
		case st.Built == nil:
			degraded.Reason = reasonNoProfile
		case o.Active == 0 && o.Profile.Mode != hostapi.ModeAuto:
			degraded.Reason = reasonNoPath
		case st.Explicit != nil:
			degraded.Reason = reasonExplicit
		case o.Active < o.Profile.MinActive:
			degraded.Reason = reasonTooFew
		case o.Replaced > 0:
			degraded.Reason = reasonReplaced
		default:
			degraded.Reason = reasonOverride
		}
	}
	return []condition{accepted, programmed, degraded}
}

// profileEVs are the EVs of a profile: those of an explicit one in their order; of
// a generated one those that a device makes which has no order of its own, and
// then what else is denied.
func profileEVs(st *mrc.ProfileStatus) iter.Seq[evView] {
	return func(yield func(evView) bool) {
		p := st.Outcome.Profile
		if p == nil {
			return
		}
		view := func(i int, e hostapi.EV) evView {
			v := evView{EV: e.String(), Index: i, Port: e.Port, State: hostapi.EVGood.String(), BadAt: st.AssumedBad[e]}
			switch {
			case p.IsDenied(e):
				v.State = hostapi.EVDenied.String()
			case v.BadAt > 0:
				v.State = hostapi.EVAssumedBad.String()
			}
			return v
		}
		if p.Mode == hostapi.ModeExplicit {
			built := builtOf(st)
			for i, e := range p.EVs {
				v := view(i, e)
				v.Replacement = built != nil && i < len(built.Profile.EVs) && built.Profile.EVs[i] != e
				if !yield(v) {
					return
				}
			}
			return
		}
		var ports hostapi.PortMask
		for i, leaf := range st.Source {
			if leaf != "" {
				ports |= hostapi.Ports(i + 1)
			}
		}
		made := p.Generate(ports)
		seen := make(map[hostapi.EV]bool, len(made))
		for i, e := range made {
			seen[e] = true
			if !yield(view(i, e)) {
				return
			}
		}
		n := len(made)
		for _, e := range p.Denied {
			if seen[e] {
				continue
			}
			if !yield(view(n, e)) {
				return
			}
			n++
		}
	}
}

// builtOf is what the EVs that hosts hold now were built as.
func builtOf(st *mrc.ProfileStatus) *ev.Built {
	if st.Explicit != nil {
		return st.Explicit
	}
	return st.Built
}
