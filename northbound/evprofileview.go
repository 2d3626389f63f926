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
func (s *Server) viewEVProfile(p *mrc.EVProfile, whole bool) api.EVProfile {
	st := &p.Status
	out := api.EVProfile{Name: st.Name, Version: p.Version, Created: p.Created, Spec: p.Spec}
	v := &out.Status
	snap := s.controller.Topology()
	v.Source, v.Destination = leafPorts(snap, st.Source), leafPorts(snap, st.Destination)
	v.Hosts = append([]string{}, st.Hosts...)
	v.Behind, v.LostLinks, v.Note = st.Behind, st.Lost, st.Note
	v.Destinations = []netip.Prefix{}
	v.AssumedBad = len(st.AssumedBad)
	v.Conditions = s.evConditions(st)
	if q := st.Outcome.Profile; q != nil {
		v.Format = &api.EVFormat{Mode: q.Format.Mode.String(), Widths: []int{}}
		for _, w := range q.Format.Widths {
			v.Format.Widths = append(v.Format.Widths, int(w))
		}
		for _, f := range q.Fields {
			v.Fields = append(v.Fields, api.EVField{Width: f.Width, InitVal: f.InitVal, MinVal: f.MinVal, MaxVal: f.MaxVal, Mask: f.Mask})
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

func leafPorts(snap *topology.Snapshot, at ev.Attachment) []api.LeafPort {
	out := []api.LeafPort{}
	for i, leaf := range at {
		if leaf != "" {
			out = append(out, api.LeafPort{Port: uint8(i + 1), Leaf: leaf, Name: nodeName(snap, leaf)})
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

func (s *Server) evConditions(st *mrc.ProfileStatus) api.Conditions {
	accepted := api.Condition{Type: api.Accepted, Status: true, Reason: reasonBuilt}
	programmed := api.Condition{Type: api.Programmed, Status: true, Reason: reasonApplied}
	degraded := api.Condition{Type: api.Degraded, Reason: api.ReasonHealthy, LastTransition: s.at(st.Since)}
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
	return api.Conditions{accepted, programmed, degraded}
}

// profileEVs are the EVs of a profile: those of an explicit one in their order; of
// a generated one those that a device makes which has no order of its own, and
// then what else is denied.
func profileEVs(st *mrc.ProfileStatus) iter.Seq[api.EV] {
	return func(yield func(api.EV) bool) {
		p := st.Outcome.Profile
		if p == nil {
			return
		}
		view := func(i int, e hostapi.EV) api.EV {
			v := api.EV{EV: e.String(), Index: i, Port: e.Port, State: hostapi.EVGood.String(), BadAt: st.AssumedBad[e]}
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
