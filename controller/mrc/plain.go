package mrc

import (
	"context"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// Network is what a controller without an MRC fabric knows.
type Network interface {
	Kinds() []*kind.Kind
	Topology() *topology.Snapshot
	Inventory() *inventory.Inventory
	// Hosts returns the hosts of the configuration and those that were found.
	Hosts(ctx context.Context) ([]inventory.Found, error)
}

// Plain returns the kinds of this package for a network without an MRC fabric. Hosts, links and
// nodes are views of the topology and the inventory; they cannot be drained, and no host has a
// stream. The remaining kinds have no resources and no handles.
func Plain(n Network) []*kind.Kind {
	bound := []*kind.Kind{
		HostKind.With(plain[api.Host]{n: n, noun: "host",
			all: (*plainNetwork).hosts, name: func(h *api.Host) string { return h.Name }}),
		HostPortKind.With(plainPorts{n: n}),
		LinkKind.With(plain[api.Link]{n: n, noun: "link",
			all: (*plainNetwork).links, name: func(l *api.Link) string { return string(l.ID) }}),
		NodeKind.With(plain[api.Node]{n: n, noun: "node",
			all: (*plainNetwork).nodes, name: func(x *api.Node) string { return string(x.ID) }}),
	}
	var out []*kind.Kind
	for _, k := range Kinds() {
		for _, b := range bound {
			if b.One == k.One {
				k = kind.Reading(b)
			}
		}
		out = append(out, k)
	}
	return out
}

// plain implements kind.Handle for a kind of what a network without an MRC fabric has.
type plain[V any] struct {
	kind.Base
	n    Network
	noun string
	all  func(*plainNetwork) []V
	name func(*V) string
}

// List implements kind.Handle.
func (h plain[V]) List(ctx context.Context, q kind.Query) (kind.Page[any], error) {
	p, err := newPlain(ctx, h.n)
	if err != nil {
		return kind.Page[any]{}, err
	}
	page := kind.Select(h.all(p), q, h.name, func(v *V, filter any) bool {
		l, ok := any(v).(*api.Link)
		return !ok || plainLink(l, filter.(api.LinkFilter))
	})
	return kind.Any(page), kind.Known(q, len(page.Items), p.names)
}

// Get implements kind.Handle.
func (h plain[V]) Get(ctx context.Context, name string) (any, error) {
	p, err := newPlain(ctx, h.n)
	if err != nil {
		return nil, err
	}
	all := h.all(p)
	i := slices.IndexFunc(all, func(v V) bool { return h.name(&v) == name })
	if i < 0 {
		return nil, notFound("there is no %s %q", h.noun, name)
	}
	return all[i], nil
}

// plainPorts implements kind.Handle for the ports of hosts.
type plainPorts struct {
	kind.Base
	n Network
}

// Get implements kind.Handle.
func (h plainPorts) Get(ctx context.Context, name string) (any, error) {
	p, err := newPlain(ctx, h.n)
	if err != nil {
		return nil, err
	}
	t := portTarget(name)
	for _, host := range p.hosts() {
		if host.Name != t.Host {
			continue
		}
		if i := int(t.Port) - 1; i >= 0 && i < len(host.Ports) {
			return host.Ports[i], nil
		}
		return nil, notFound("host %q has no port %d", t.Host, t.Port)
	}
	return nil, notFound("there is no host %q", t.Host)
}

// plainNetwork is the present state of a network without a fabric.
type plainNetwork struct {
	snap     *topology.Snapshot
	inv      *inventory.Inventory
	found    []inventory.Found
	switches map[string]*api.SwitchStatus // by name
	of       map[topology.NodeID]*api.SwitchStatus
}

func newPlain(ctx context.Context, n Network) (*plainNetwork, error) {
	all, err := kind.Views[api.SwitchStatus](ctx, n.Kinds())
	if err != nil {
		return nil, err
	}
	p := &plainNetwork{
		snap: n.Topology(), inv: n.Inventory(),
		switches: make(map[string]*api.SwitchStatus), of: make(map[topology.NodeID]*api.SwitchStatus),
	}
	if p.found, err = n.Hosts(ctx); err != nil {
		return nil, err
	}
	for i := range all {
		p.switches[all[i].Name] = &all[i]
		if id := topology.NodeID(all[i].Node); id != "" {
			p.of[id] = &all[i]
		}
	}
	return p, nil
}

// names returns what a field of a filter may name.
func (p *plainNetwork) names(of string) (out []string) {
	if of != "nodes" {
		return nil
	}
	var ids []string
	for _, n := range p.snap.Nodes {
		if n.Name != "" && n.Name != string(n.ID) {
			out = append(out, n.Name)
		}
		ids = append(ids, string(n.ID))
	}
	return append(out, ids...)
}

// plainLink reports whether a filter selects a link, which is in no plane, and never denied.
func plainLink(l *api.Link, f api.LinkFilter) bool {
	st := &l.Status
	ends := []string{string(st.From), st.FromName, string(st.To), st.ToName}
	wrong := st.Phase != "up" || st.FromPort == "down" || st.ToPort == "down"
	return !f.Denied && f.Plane == 0 && (f.Node == "" || slices.Contains(ends, f.Node)) &&
		(!f.Wrong || wrong)
}

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
			From: l.Local, FromName: fabric.NameOf(p.snap, l.Local),
			To: l.Remote, ToName: fabric.NameOf(p.snap, l.Remote), Phase: "up", Sources: l.KnownFrom(),
			FromPort: portState(p.of[l.Local], p.port(l.Local, l.LocalID, l.LocalPort)),
			ToPort:   portState(p.of[l.Remote], p.port(l.Remote, l.RemoteID, l.RemotePort)),
		}})
	}
	slices.SortFunc(out, func(a, b api.Link) int { return natural.Compare(a.ID, b.ID) })
	return out
}

func (p *plainNetwork) hosts() []api.Host {
	out := make([]api.Host, 0, len(p.found))
	for i := range p.found {
		h := &p.found[i]
		v := api.Host{Name: h.Name, Address: h.Address, Prefixes: h.Prefixes, Ports: []api.HostPort{}}
		var all []inventory.Attachment
		for _, port := range h.AllPorts() {
			all = append(all, inventory.Attachment{Switch: h.Switch, Port: port, MAC: h.MAC})
		}
		for _, a := range append(all, h.Planes...) {
			port := api.HostPort{Port: uint8(len(v.Ports) + 1), Spec: adminUp,
				Status: api.HostPortStatus{LeafName: a.Switch, LeafPort: a.Port, FoundBy: h.By,
					Bound: h.Since, Seen: h.Seen}}
			if !a.MAC.IsZero() {
				port.Status.MAC = a.MAC.String()
			}
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
