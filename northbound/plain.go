package northbound

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// A network without an MRC fabric has hosts, links and nodes too. These are views of the
// topology and the inventory: nothing of them can be drained, and no host has a stream.

// plainNetwork is what the controller knows of such a network.
type plainNetwork struct {
	snap     *topology.Snapshot
	inv      *inventory.Inventory
	switches map[string]*api.SwitchStatus // by name
	of       map[topology.NodeID]*api.SwitchStatus
}

func (s *Server) plain(ctx context.Context) (*plainNetwork, error) {
	all, err := s.switches(ctx)
	if err != nil {
		return nil, err
	}
	p := &plainNetwork{
		snap: s.controller.Topology(), inv: s.controller.Inventory(),
		switches: make(map[string]*api.SwitchStatus), of: make(map[topology.NodeID]*api.SwitchStatus),
	}
	for i := range all {
		p.switches[all[i].Name] = &all[i]
		if id := topology.NodeID(all[i].Node); id != "" {
			p.of[id] = &all[i]
		}
	}
	return p, nil
}

var adminUp = api.AdminSpec{Admin: api.AdminUp}

func (p *plainNetwork) nodes() []api.Node {
	links := make(map[topology.NodeID]int)
	for _, l := range p.snap.Links {
		links[l.Local]++
		links[l.Remote]++
	}
	out := make([]api.Node, 0, len(p.snap.Nodes))
	for _, n := range p.snap.Nodes {
		out = append(out, api.Node{ID: n.ID, Spec: adminUp, Status: api.NodeStatus{
			Name: n.Name, Planes: []int{}, Present: true, Links: links[n.ID],
		}})
	}
	slices.SortFunc(out, func(a, b api.Node) int { return natural.Compare(a.ID, b.ID) })
	return out
}

// portState is what a switch reports of a port; "" when nothing is known.
func portState(s *api.SwitchStatus, port uint32) string {
	if s == nil || s.Ports == nil || port == 0 {
		return ""
	}
	if slices.Contains(s.Ports.Down, port) {
		return "down"
	}
	if s.Ports.Up == 0 {
		return ""
	}
	return "up"
}

// port is the port of a link end.
func (p *plainNetwork) port(node topology.NodeID, id, advertised uint32) uint32 {
	if s := p.of[node]; s != nil {
		if sw := p.inv.Switch(s.Name); sw != nil {
			return sw.Port(id, advertised)
		}
	}
	return advertised
}

func (p *plainNetwork) links() []api.Link {
	out := make([]api.Link, 0, len(p.snap.Links))
	for _, l := range p.snap.Links {
		out = append(out, api.Link{ID: l.ID, Spec: adminUp, Status: api.LinkStatus{
			From: l.Local, FromName: nodeName(p.snap, l.Local), To: l.Remote, ToName: nodeName(p.snap, l.Remote), Phase: "up", Sources: l.KnownFrom(),
			FromPort: portState(p.of[l.Local], p.port(l.Local, l.LocalID, l.LocalPort)),
			ToPort:   portState(p.of[l.Remote], p.port(l.Remote, l.RemoteID, l.RemotePort)),
		}})
	}
	slices.SortFunc(out, func(a, b api.Link) int { return natural.Compare(a.ID, b.ID) })
	return out
}

func (p *plainNetwork) hosts() []api.Host {
	out := make([]api.Host, 0, len(p.inv.Hosts))
	for i := range p.inv.Hosts {
		h := &p.inv.Hosts[i]
		v := api.Host{Name: h.Name, Address: h.Address, Prefixes: h.Prefixes, Ports: []api.HostPort{}}
		var all []inventory.Attachment
		for _, port := range h.AllPorts() {
			all = append(all, inventory.Attachment{Switch: h.Switch, Port: port})
		}
		for _, a := range append(all, h.Planes...) {
			port := api.HostPort{Port: uint8(len(v.Ports) + 1), Spec: adminUp, Status: api.HostPortStatus{LeafName: a.Switch, LeafPort: a.Port}}
			if s := p.switches[a.Switch]; s != nil {
				port.Status.Leaf = topology.NodeID(s.Node)
				port.Status.LinkDown = portState(s, a.Port) == "down"
				port.Status.Usable = s.Node != "" && !port.Status.LinkDown
			}
			v.Ports = append(v.Ports, port)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b api.Host) int { return natural.Compare(a.Name, b.Name) })
	return out
}

// plainPage is a page of what a network without an MRC fabric has.
func plainPage[V any](ctx context.Context, s *Server, in PageParams, all func(*plainNetwork) []V, key func(*V) string) (*listOf[V], error) {
	p, err := s.plain(ctx)
	if err != nil {
		return nil, err
	}
	items, next, err := page(in, all(p), key)
	if err != nil {
		return nil, err
	}
	return &listOf[V]{api.List[V]{Items: items, Continue: next}}, nil
}

// plainItem is one of them.
func plainItem[V any](ctx context.Context, s *Server, noun, name string, all func(*plainNetwork) []V, key func(*V) string) (V, error) {
	p, err := s.plain(ctx)
	if err != nil {
		var none V
		return none, err
	}
	items := all(p)
	i := slices.IndexFunc(items, func(v V) bool { return key(&v) == name })
	if i < 0 {
		var none V
		return none, newProblem(string(api.CodeNotFound), fmt.Sprintf("there is no %s %q", noun, name))
	}
	return items[i], nil
}

func nodeKey(n *api.Node) string { return string(n.ID) }
func linkKey(l *api.Link) string { return string(l.ID) }
func hostKey(h *api.Host) string { return h.Name }
