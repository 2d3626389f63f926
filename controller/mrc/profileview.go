package mrc

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// ProfileState is an EV profile and its present outcome.
type ProfileState struct {
	Name                string
	Source, Destination ev.Attachment
	Hosts               []string // that hold it
	// Built is the profile without losses, Outcome the profile that hosts hold now. Built is nil when
	// there is no profile; Outcome.Degraded says why.
	Built   *ev.Built
	Outcome ev.Outcome
	// Note reports whether the paths of its EVs are not known.
	Note string
	// Since is when Outcome.Degraded began or ended.
	Since time.Duration
	// Explicit is the profile that replaces a generated profile, nil: not replaced.
	Explicit *ev.Built
	// Behind lists the Hosts that do not yet hold all their state: they have not answered yet, refuse
	// the state, or are not connected.
	Behind []string
	// Lost lists the denied links that its paths would cross; only [Core.Profile] sets it.
	Lost []topology.LinkID
	// AssumedBad counts, for each EV, the hosts that found the EV bad.
	AssumedBad map[hostapi.EV]int

	began    time.Time          // of the core's time
	topology *topology.Snapshot // that names are of
}

// Profiles returns the profiles by name.
func (c *Core) Profiles() []ProfileState {
	c.settle()
	out := make([]ProfileState, 0, len(c.profiles.all))
	for _, p := range c.profiles.all {
		out = append(out, c.stateOf(p))
	}
	return out
}

// Profile returns the profile of a name.
func (c *Core) Profile(name string) (ProfileState, bool) {
	c.settle()
	p := c.profiles.byName[name]
	if p == nil {
		return ProfileState{}, false
	}
	s := c.stateOf(p)
	s.Lost = c.lostTo(p)
	return s, true
}

// lostTo are the denied links that paths of a profile would cross.
func (c *Core) lostTo(p *profile) (out []topology.LinkID) {
	if p.err != nil {
		return nil
	}
	links := c.state.Links()
	for i := range int32(links.Len()) {
		l := links.At(i)
		if !l.Denied() || len(l.Leaves()) == 0 {
			continue
		}
		lost := c.state.Fabric().Clos().Lost(topology.Losses{Directed: []topology.LinkID{l.ID}})
		for port := range p.from.rack.At() {
			if set, ok := c.profiles.paths(p, uint8(port+1)); ok && lost.Touches(set) {
				out = append(out, l.ID)
				break
			}
		}
	}
	return out
}

func (c *Core) stateOf(p *profile) ProfileState {
	s := ProfileState{Name: p.name, Source: p.from.rack.At(), Destination: p.to.At(),
		Outcome: p.outcome, Since: p.since, began: c.start, topology: c.state.Advertised()}
	if p.err == nil {
		s.Built = p.built
	}
	if p.explicit != nil && p.outcome.Profile != nil &&
		p.outcome.Profile.Mode == hostapi.ModeExplicit &&
		p.built.Profile.Mode != hostapi.ModeExplicit {
		s.Explicit = p.explicit
	}
	for _, h := range p.from.hosts {
		s.Hosts = append(s.Hosts, h.Name)
		if !h.current() {
			s.Behind = append(s.Behind, h.Name)
		}
		for profile, e := range h.AssumedBad() {
			if profile == p.name {
				if s.AssumedBad == nil {
					s.AssumedBad = make(map[hostapi.EV]int)
				}
				s.AssumedBad[e]++
			}
		}
	}
	if c.mode == ev.ModeECMP {
		s.Note = "mode ecmp: EVs have no known path, nothing is denied by link"
	}
	return s
}

// ProfilePage returns profiles by name, and whether there are more.
func (c *Core) ProfilePage(f api.EVProfileFilter, page Page) (out []ProfileState, more bool) {
	c.settle()
	out = []ProfileState{}
	for _, p := range c.profiles.all[c.profiles.after(page.After):] {
		if !c.wantsProfile(f, p) {
			continue
		}
		if page.full(len(out)) {
			return out, true
		}
		out = append(out, c.stateOf(p))
	}
	return out, false
}

func (c *Core) wantsProfile(f api.EVProfileFilter, p *profile) bool {
	if f.Degraded && p.outcome.Degraded == "" || f.Source != "" && !c.hasLeaf(p.from.rack, f.Source) ||
		f.Destination != "" && !c.hasLeaf(p.to, f.Destination) {
		return false
	}
	return f.Host == "" || slices.ContainsFunc(p.from.hosts,
		func(h *host) bool { return h.Name == f.Host })
}

func (c *Core) hasLeaf(r *fabric.Rack, name string) bool {
	return slices.ContainsFunc(r.At(),
		func(leaf topology.NodeID) bool { return leaf != "" && c.isCalled(leaf, name) })
}

// Reasons for conditions of EV profiles, in addition to the reasons of package api.
const (
	reasonBuilt     = "Built"           // Accepted
	reasonNoProfile = "NoProfile"       // not Accepted, Degraded: the pair has none
	reasonApplied   = "Applied"         // Programmed: all hosts have it
	reasonApplying  = "Applying"        // not Programmed
	reasonNoPath    = "NoPath"          // Degraded: no path is left
	reasonReplaced  = "EVsReplaced"     // Degraded: EVs of surviving paths stand in for denied ones
	reasonTooFew    = "TooFewEVs"       // Degraded: fewer than minActive
	reasonExplicit  = "ExplicitInstead" // Degraded: too few generated EVs were left
	reasonOverride  = "SpecNotMet"      // Degraded: the profile follows the configuration
)

// View describes the profile without its EVs. It may be called from any goroutine, as may EVs and
// Path.
func (s *ProfileState) View() api.EVProfileStatus {
	v := api.EVProfileStatus{
		Conditions: s.conditions(), Source: leafPorts(s.topology, s.Source),
		Destination: leafPorts(s.topology, s.Destination),
		Hosts:       append([]string{}, s.Hosts...), Behind: s.Behind, LostLinks: s.Lost, Note: s.Note,
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
		v.Fields = append(v.Fields, api.EVField{Width: f.Width, InitVal: f.InitVal, MinVal: f.MinVal,
			MaxVal: f.MaxVal, Mask: f.Mask})
	}
	v.Mode, v.Count, v.Active, v.Replaced, v.Denied = q.Mode.String(), q.Count, s.Outcome.Active,
		s.Outcome.Replaced, len(q.Denied)
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
	degraded := api.Condition{Type: api.Degraded, Reason: api.ReasonHealthy,
		LastTransition: s.began.Add(s.Since).UTC()}
	switch {
	case s.Built == nil:
		accepted.Status, accepted.Reason, accepted.Message = false, reasonNoProfile, s.Outcome.Degraded
		programmed.Status, programmed.Reason, programmed.Message = false, reasonNoProfile,
			"there is nothing to hold"
	case len(s.Behind) > 0:
		programmed.Status, programmed.Reason = false, reasonApplying
		programmed.Message = fmt.Sprintf("%d of %d hosts do not hold all that they are to", len(s.Behind),
			len(s.Hosts))
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

// EVs returns the EVs of a profile. An explicit profile has its own order. A generated profile has
// the EVs that a device without an order of its own makes, followed by the remaining denied EVs.
func (s *ProfileState) EVs() iter.Seq[api.EV] {
	return func(yield func(api.EV) bool) {
		p := s.Outcome.Profile
		if p == nil {
			return
		}
		view := func(i int, e hostapi.EV) api.EV {
			v := api.EV{EV: e.String(), Index: i, Port: e.Port, State: hostapi.EVGood.String(),
				BadAt: s.AssumedBad[e]}
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

// Path describes the path of an EV. It returns an *[api.Error] when the profile has no such EV, or
// the path is unknown.
func (s *ProfileState) Path(e hostapi.EV) (api.EVPath, error) {
	none := func(detail string) (api.EVPath, error) {
		return api.EVPath{}, &api.Error{Code: api.CodeNotFound, Message: detail}
	}
	built, now := s.inUse(), s.Outcome.Profile
	switch {
	case built == nil || now == nil:
		return none(fmt.Sprintf("EV profile %q has no EVs: %s", s.Name, s.Outcome.Degraded))
	case built.Assignment().Format().Mode == ev.ModeECMP:
		return none(fmt.Sprintf("EV %v of profile %q: %v", e, s.Name, ev.ErrUnknownPath))
	case now.Has(e):
	case s.Built.Profile.Has(e): // it is not in use while another is in its place
		built = s.Built
	default:
		return none(fmt.Sprintf("EV %v is none of the %d of profile %q", e, now.Count, s.Name))
	}
	r, err := built.Route(e)
	if errors.Is(err, ev.ErrNoSuchEV) {
		return none(err.Error())
	} else if err != nil {
		return api.EVPath{}, err
	}
	wire, err := built.Profile.Expand(e)
	if err != nil {
		return api.EVPath{}, err
	}
	v := api.EVPath{
		Profile: s.Name, EV: e.String(), Mode: r.Mode.String(), Port: e.Port, Source: r.Source,
		Destination: r.Destination,
		State:       hostapi.EVGood.String(), Packet: viewPacket(r, ev.Value(wire.Value)),
		Hops: []api.EVHop{},
	}
	switch {
	case now.IsDenied(e):
		v.State = hostapi.EVDenied.String()
	case s.AssumedBad[e] > 0:
		v.State = hostapi.EVAssumedBad.String()
	}
	clos := built.Assignment().Clos()
	snap := clos.Graph().Snapshot()
	display := func(id topology.NodeID) string {
		if n := snap.Node(id); n != nil {
			return n.DisplayName()
		}
		return string(id)
	}
	v.Nodes = []string{display(r.Source)}
	lost := make(map[topology.LinkID]bool, len(s.Lost))
	for _, id := range s.Lost {
		lost[id] = true
	}
	for _, h := range r.Hops {
		hop := api.EVHop{By: h.By.String(), Value: h.Value, Links: []api.EVLink{}}
		for _, l := range h.Links {
			plane := clos.LinkPlane(l.ID)
			hop.Links = append(hop.Links, api.EVLink{
				ID: l.ID, From: l.Local, FromName: fabric.NameOf(snap, l.Local), FromPort: l.LocalPort,
				FromAddresses: l.LocalAddresses,
				To:            l.Remote, ToName: fabric.NameOf(snap, l.Remote), ToPort: l.RemotePort,
				ToAddresses: l.RemoteAddresses, Plane: plane,
			})
			v.Plane = plane
			if lost[l.ID] {
				v.LostLinks = append(v.LostLinks, l.ID)
			}
		}
		v.Hops = append(v.Hops, hop)
		if len(h.Links) != 1 {
			v.Nodes = nil
		} else if v.Nodes != nil {
			v.Nodes = append(v.Nodes, display(h.Links[0].Remote))
		}
	}
	return v, nil
}

func viewPacket(r *ev.Route, wire ev.Value) (p api.EVPacket) {
	if !r.Mode.SRv6() {
		port, label := wire.Structured().SrcPort(), wire.Structured().FlowLabel()
		p.SourcePort, p.FlowLabel = &port, &label
		return p
	}
	p.Destination = wire.Container()
	p.Segment, _ = wire.Segment()
	if p.Segment.IsUnspecified() {
		p.Segment = netip.Addr{}
	}
	p.LastUSID = fmt.Sprintf("%#04x", r.Last)
	return p
}

// ProfileSample counts the packets that the EVs of a profile carried so far, and the usable EVs.
type ProfileSample struct {
	Name string
	// Sent and Lost are packets since the controller began to decide, as all hosts of the profile
	// count them. A packet that a switch trimmed is not lost.
	Sent, Lost uint64
	// Active counts the EVs left, Denied the EVs that hosts must not use, AssumedBad the EVs that some
	// host has found bad by itself.
	Active, Denied, AssumedBad int
}

// Samples returns a sample of each profile that hosts hold, by name.
func (c *Core) Samples() []ProfileSample {
	c.settle()
	type key struct {
		profile string
		ev      hostapi.EV
	}
	assumed := make(map[key]bool)
	bad := make(map[string]int)
	for _, h := range c.hosts.byName {
		for profile, e := range h.AssumedBad() {
			if k := (key{profile, e}); !assumed[k] {
				assumed[k] = true
				bad[profile]++
			}
		}
	}
	out := make([]ProfileSample, 0, len(c.profiles.all))
	for _, p := range c.profiles.all {
		carried := p.probed.Carried()
		s := ProfileSample{
			Name: p.name, Sent: carried.Sent, Lost: carried.Lost,
			Active: p.outcome.Active, AssumedBad: bad[p.name],
		}
		if q := p.outcome.Profile; q != nil {
			s.Denied = len(q.Denied)
			if q.Mode != hostapi.ModeAuto {
				out = append(out, s)
			}
		}
	}
	return out
}
