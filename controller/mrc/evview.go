package mrc

import (
	"fmt"
	"iter"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
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

// View describes the profile without its EVs. It may be called from any goroutine, as may EVs and Path.
func (s *ProfileState) View() api.EVProfileStatus {
	v := api.EVProfileStatus{
		Conditions: s.conditions(), Source: leafPorts(s.topology, s.Source), Destination: leafPorts(s.topology, s.Destination),
		Hosts: append([]string{}, s.Hosts...), Behind: s.Behind, LostLinks: s.Lost, Note: s.Note,
		Destinations: []netip.Prefix{}, AssumedBad: len(s.AssumedBad),
	}
	q := s.Outcome.Profile
	if q == nil {
		return v
	}
	v.Format = &api.EVFormat{Mode: q.Format.Mode.String(), Widths: []int{}}
	for _, w := range q.Format.Widths {
		v.Format.Widths = append(v.Format.Widths, int(w))
	}
	for _, f := range q.Fields {
		v.Fields = append(v.Fields, api.EVField{Width: f.Width, InitVal: f.InitVal, MinVal: f.MinVal, MaxVal: f.MaxVal, Mask: f.Mask})
	}
	v.Mode, v.Count, v.Active, v.Replaced, v.Denied = q.Mode.String(), q.Count, s.Outcome.Active, s.Outcome.Replaced, len(q.Denied)
	v.MinActive, v.CCProfile = q.MinActive, q.CC
	v.Destinations = append(v.Destinations, q.Destinations...)
	return v
}

func leafPorts(snap *topology.Snapshot, at ev.Attachment) []api.LeafPort {
	out := []api.LeafPort{}
	for i, leaf := range at {
		if leaf != "" {
			out = append(out, api.LeafPort{Port: uint8(i + 1), Leaf: leaf, Name: fabric.NameOf(snap, leaf)})
		}
	}
	return out
}

func (s *ProfileState) conditions() api.Conditions {
	accepted := api.Condition{Type: api.Accepted, Status: true, Reason: reasonBuilt}
	programmed := api.Condition{Type: api.Programmed, Status: true, Reason: reasonApplied}
	degraded := api.Condition{Type: api.Degraded, Reason: api.ReasonHealthy, LastTransition: s.began.Add(s.Since).UTC()}
	switch {
	case s.Built == nil:
		accepted.Status, accepted.Reason, accepted.Message = false, reasonNoProfile, s.Outcome.Degraded
		programmed.Status, programmed.Reason, programmed.Message = false, reasonNoProfile, "there is nothing to hold"
	case len(s.Behind) > 0:
		programmed.Status, programmed.Reason = false, reasonApplying
		programmed.Message = fmt.Sprintf("%d of %d hosts do not hold all that they are to", len(s.Behind), len(s.Hosts))
	}
	if o := &s.Outcome; o.Degraded != "" {
		degraded.Status, degraded.Message = true, o.Degraded
		switch {
		case s.Built == nil:
			degraded.Reason = reasonNoProfile
		case o.Active == 0 && o.Profile.Mode != hostapi.ModeAuto:
			degraded.Reason = reasonNoPath
		case s.Explicit != nil:
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

// EVs are the EVs of a profile: those of an explicit one in their order; of
// a generated one those that a device makes which has no order of its own, and
// then what else is denied.
func (s *ProfileState) EVs() iter.Seq[api.EV] {
	return func(yield func(api.EV) bool) {
		p := s.Outcome.Profile
		if p == nil {
			return
		}
		view := func(i int, e hostapi.EV) api.EV {
			v := api.EV{EV: e.String(), Index: i, Port: e.Port, State: hostapi.EVGood.String(), BadAt: s.AssumedBad[e]}
			switch {
			case p.IsDenied(e):
				v.State = hostapi.EVDenied.String()
			case v.BadAt > 0:
				v.State = hostapi.EVAssumedBad.String()
			}
			return v
		}
		if p.Mode == hostapi.ModeExplicit {
			built := s.inUse()
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
		for i, leaf := range s.Source {
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

// inUse is what the EVs that hosts hold now were built as.
func (s *ProfileState) inUse() *ev.Built {
	if s.Explicit != nil {
		return s.Explicit
	}
	return s.Built
}

// EVPage returns the EVs that a question asks for.
func (s *ProfileState) EVPage(q api.ReadEVs) (out []api.EV) {
	for e := range s.EVs() {
		switch {
		case q.Port != 0 && e.Port != q.Port, q.State != "" && e.State != q.State, e.Index < q.From:
			continue
		case q.Limit > 0 && len(out) == q.Limit:
			return out
		}
		out = append(out, e)
	}
	return out
}
