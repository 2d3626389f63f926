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

// evPathView is the way of an EV.
type evPathView struct {
	Profile     string            `json:"profile"`
	EV          string            `json:"ev" doc:"Value in hexadecimal and port."`
	State       string            `json:"state" enum:"GOOD,ASSUMED_BAD,DENIED"`
	Mode        ev.Mode           `json:"mode" doc:"How packets say their path: stev, usid-f3216, usid-f1616 or usid-srh."`
	Port        uint8             `json:"port" doc:"Port of the host that it leaves by."`
	Plane       int               `json:"plane,omitempty" doc:"Plane of its links; absent when it crosses none."`
	Packet      evPacket          `json:"packet" doc:"What packets of the EV carry."`
	Source      topology.NodeID   `json:"source" doc:"The first leaf."`
	Destination topology.NodeID   `json:"destination" doc:"The last leaf."`
	Nodes       []string          `json:"nodes,omitempty" doc:"The switches in order, by name; absent where a switch chooses by a hash."`
	Hops        []evHop           `json:"hops" nullable:"false" doc:"In order; none from a leaf to itself."`
	LostLinks   []topology.LinkID `json:"lostLinks,omitempty" doc:"Links of the path that must not be crossed: why the EV is denied."`
}

type evPacket struct {
	SourcePort  *uint16    `json:"sourcePort,omitempty" doc:"UDP source port of a structured EV."`
	FlowLabel   *uint32    `json:"flowLabel,omitempty" doc:"Low 16 bits of the IPv6 flow label of a structured EV."`
	Destination netip.Addr `json:"destination,omitzero" doc:"The uSID container in the outer destination address."`
	Segment     netip.Addr `json:"segment,omitzero" doc:"The uSID container in the SRH, where there is one."`
	LastUSID    string     `json:"lastUsid,omitempty" doc:"The last uSID, for the last leaf."`
}

type evHop struct {
	By    string   `json:"by" enum:"field,uN,uA,route" doc:"What the switch goes by: field (of a structured EV), uN, uA, or route (to the destination address)."`
	Value uint32   `json:"value" format:"uint32" doc:"Value of the field, or the uSID; 0 with a route."`
	Links []evLink `json:"links" nullable:"false" doc:"The link taken; several where the EV leaves the choice to the hash of a switch."`
}

type evLink struct {
	ID       topology.LinkID `json:"id"`
	From     topology.NodeID `json:"from"`
	FromName string          `json:"fromName,omitempty"`
	FromPort uint32          `json:"fromPort,omitempty" doc:"Port that the packet leaves by."`
	To       topology.NodeID `json:"to"`
	ToName   string          `json:"toName,omitempty"`
	ToPort   uint32          `json:"toPort,omitempty" doc:"Port that the packet comes in by."`
	// Addresses of the interfaces, where they are advertised.
	FromAddresses []netip.Addr `json:"fromAddresses,omitempty" doc:"Addresses of the interface it leaves by, where they are advertised."`
	ToAddresses   []netip.Addr `json:"toAddresses,omitempty" doc:"Addresses of the interface it comes in by, where they are advertised."`
	Plane         int          `json:"plane,omitempty"`
}

func (s *Server) evPath(ctx context.Context, in *struct {
	NameParam
	EV string `path:"ev" maxLength:"80" doc:"An EV as lists have it: 0x, octets in hexadecimal, @ and the port."`
}) (*struct{ Body evPathView }, error) {
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
	return &struct{ Body evPathView }{view}, nil
}

// viewPath describes the way of an EV of a profile.
func (s *Server) viewPath(st *mrc.ProfileStatus, e hostapi.EV) (evPathView, error) {
	none := func(detail string) (evPathView, error) {
		return evPathView{}, newProblem(string(api.CodeNotFound), detail)
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
		return evPathView{}, problemOf(err)
	}
	wire, err := built.Profile.Expand(e)
	if err != nil {
		return evPathView{}, problemOf(err)
	}
	v := evPathView{
		Profile: st.Name, EV: e.String(), Mode: r.Mode, Port: e.Port, Source: r.Source, Destination: r.Destination,
		State: hostapi.EVGood.String(), Packet: viewPacket(r, ev.Value(wire.Value)), Hops: []evHop{},
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
		hop := evHop{By: h.By.String(), Value: h.Value, Links: []evLink{}}
		for _, l := range h.Links {
			plane := fabric.LinkPlane(l.ID)
			hop.Links = append(hop.Links, evLink{
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

func viewPacket(r *ev.Route, wire ev.Value) (p evPacket) {
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
