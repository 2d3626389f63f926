package mrc

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// Path describes the path of an EV. The error is an *[api.Error] when the profile has no such EV, or
// nobody knows its path.
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
		Profile: s.Name, EV: e.String(), Mode: r.Mode.String(), Port: e.Port, Source: r.Source, Destination: r.Destination,
		State: hostapi.EVGood.String(), Packet: viewPacket(r, ev.Value(wire.Value)), Hops: []api.EVHop{},
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
				ID: l.ID, From: l.Local, FromName: fabric.NameOf(snap, l.Local), FromPort: l.LocalPort, FromAddresses: l.LocalAddresses,
				To: l.Remote, ToName: fabric.NameOf(snap, l.Remote), ToPort: l.RemotePort, ToAddresses: l.RemoteAddresses, Plane: plane,
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
