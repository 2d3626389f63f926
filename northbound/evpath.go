package northbound

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

func (s *Server) evPath(ctx context.Context, in *struct {
	NameParam
	EV string `path:"ev" maxLength:"80" doc:"An EV as lists have it: 0x, octets in hexadecimal, @ and the port."`
}) (*struct{ Body api.EVPath }, error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	e, err := hostapi.ParseEV(in.EV)
	if err != nil {
		return nil, newProblem(string(api.CodeMalformed), "the EV in the path is none", api.FieldError{
			Field: "path.ev", Code: api.CodeMalformed, Value: valueText(in.EV),
			Want: fmt.Sprintf(`"0x", 1 to %d octets in hexadecimal, "@", and a port of 0 to %d`, hostapi.EVBytes, hostapi.MaxPort),
		})
	}
	p, err := m.EVProfile(ctx, in.Name)
	if err != nil {
		return nil, problemOf(err)
	}
	view, err := s.viewPath(&p.Status, e)
	if err != nil {
		return nil, err
	}
	return &struct{ Body api.EVPath }{view}, nil
}

// viewPath describes the way of an EV of a profile.
func (s *Server) viewPath(st *mrc.ProfileStatus, e hostapi.EV) (api.EVPath, error) {
	none := func(detail string) (api.EVPath, error) {
		return api.EVPath{}, newProblem(string(api.CodeNotFound), detail)
	}
	built, now := builtOf(st), st.Outcome.Profile
	switch {
	case built == nil || now == nil:
		return none(fmt.Sprintf("EV profile %q has no EVs: %s", st.Name, st.Outcome.Degraded))
	case built.Assignment().Format().Mode == ev.ModeECMP:
		return none(fmt.Sprintf("EV %v of profile %q: %v", e, st.Name, ev.ErrUnknownPath))
	case now.Has(e):
	case st.Built.Profile.Has(e): // it is not in use while another is in its place
		built = st.Built
	default:
		return none(fmt.Sprintf("EV %v is none of the %d of profile %q", e, now.Count, st.Name))
	}
	r, err := built.Route(e)
	if errors.Is(err, ev.ErrNoSuchEV) {
		return none(err.Error())
	} else if err != nil {
		return api.EVPath{}, problemOf(err)
	}
	wire, err := built.Profile.Expand(e)
	if err != nil {
		return api.EVPath{}, problemOf(err)
	}
	v := api.EVPath{
		Profile: st.Name, EV: e.String(), Mode: r.Mode.String(), Port: e.Port, Source: r.Source, Destination: r.Destination,
		State: hostapi.EVGood.String(), Packet: viewPacket(r, ev.Value(wire.Value)), Hops: []api.EVHop{},
	}
	switch {
	case now.IsDenied(e):
		v.State = hostapi.EVDenied.String()
	case st.AssumedBad[e] > 0:
		v.State = hostapi.EVAssumedBad.String()
	}
	fabric := built.Assignment().Clos()
	snap := fabric.Graph().Snapshot()
	display := func(id topology.NodeID) string {
		if n := snap.Node(id); n != nil {
			return n.DisplayName()
		}
		return string(id)
	}
	v.Nodes = []string{display(r.Source)}
	lost := make(map[topology.LinkID]bool, len(st.Lost))
	for _, id := range st.Lost {
		lost[id] = true
	}
	for _, h := range r.Hops {
		hop := api.EVHop{By: h.By.String(), Value: h.Value, Links: []api.EVLink{}}
		for _, l := range h.Links {
			plane := fabric.LinkPlane(l.ID)
			hop.Links = append(hop.Links, api.EVLink{
				ID: l.ID, From: l.Local, FromName: nodeName(snap, l.Local), FromPort: l.LocalPort, FromAddresses: l.LocalAddresses,
				To: l.Remote, ToName: nodeName(snap, l.Remote), ToPort: l.RemotePort, ToAddresses: l.RemoteAddresses, Plane: plane,
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
