package node

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// LargestPacket is the length in octets by which queues are counted that a system measures in
// octets: 4,096 of payload, with all headers of MRC in a tunnel.
const LargestPacket = 4300

// Fabric has the inputs of models.
type Fabric struct {
	Network *plan.Network
	// Assignment is the meaning of EVs; nil: the network has no MRC fabric, or it is not known yet.
	Assignment *ev.Assignment
}

// Settings returns what clients want of a port of the switch.
type Settings func(port uint32) api.PortSpec

// Of returns the model of a switch. settings may be nil: clients want nothing of any port.
func Of(f Fabric, sw *inventory.Switch, settings Settings) api.SwitchModel {
	w := work{Fabric: f, sw: sw, node: f.Network.Node(sw.Name)}
	w.out = api.SwitchModel{Name: sw.Name, Tier: -1}
	if !sw.MAC.IsZero() {
		w.out.MAC = packet.MAC(sw.MAC).String()
	}
	if m := &f.Network.Inventory.MRC; m.On() {
		w.out.Mode = m.Mode
		w.classes(&m.Classes)
	}
	if w.node != nil {
		w.out.Node, w.out.Loopback = string(w.node.ID), w.node.Loopback
	}
	srv6 := false
	if a := f.Assignment; a != nil && w.node != nil {
		if s, ok := a.Switch(w.node.ID); ok {
			w.out.Tier, w.out.Plane = s.Tier, a.Clos().Plane(w.node.ID)
			if srv6 = a.Format().Mode.SRv6(); srv6 {
				w.sids(s)
			}
			if a.Format().Mode == ev.ModeECMP {
				w.out.Hash = []string{"ipv6-source", "ipv6-destination", "ipv6-flow-label", "ipv6-next-header",
					"udp-source", "udp-destination"}
			}
		}
	}
	w.ports(settings)
	w.routes(srv6)
	return w.out
}

type work struct {
	Fabric
	sw   *inventory.Switch
	node *topology.Node // nil: no node of the topology is this switch
	out  api.SwitchModel
}

// links returns the links of the switch: in a fabric all links that ever existed, since the role of
// a switch does not change with a lost link, else the present links.
func (w *work) links() []*topology.Link {
	if w.Assignment == nil {
		return w.Network.Snapshot.LinksFrom(w.node.ID)
	}
	clos := w.Assignment.Clos()
	return append(clos.Up(w.node.ID), clos.Down(w.node.ID)...)
}

// hop returns the way out by a link; ok is false with an unknown port, or an unknown address at the
// other end. The P4 program has a highest port (p4.MaxLinkPort), and other systems have not.
func (w *work) hop(l *topology.Link) (h api.ModelHop, ok bool) {
	h = api.ModelHop{Port: w.sw.Port(l.LocalID, l.LocalPort), Address: w.neighbor(l), Weight: 1}
	return h, h.Port != 0 && h.Address.IsValid()
}

// neighbor returns the address of the other end of a link, or none.
func (w *work) neighbor(l *topology.Link) (none netip.Addr) {
	if i := slices.IndexFunc(l.RemoteAddresses, netip.Addr.Is6); i >= 0 {
		return l.RemoteAddresses[i]
	}
	name, known := w.Network.SwitchOf(l.Remote)
	if !known {
		return none
	}
	remote := w.Network.Switch(name)
	if remote.MAC.IsZero() {
		return none
	}
	return packet.LinkLocal(packet.MAC(remote.MAC))
}

// sids has the locator and the local SIDs that EVs are made of. A switch whose EVs name switches
// needs no uA, and a uDT6 behind its own uN as well: it takes both in one step.
func (w *work) sids(s ev.Switch) {
	format := w.Assignment.Format()
	usid := format.Mode.USID()
	own, ok := w.Assignment.Node(w.node.ID)
	if !ok {
		return
	}
	locator, err := usid.SID(format.Block, own)
	if err != nil {
		return // never: the format is valid, and no uN is 0
	}
	w.out.Locator = &api.ModelLocator{Prefix: locator, BlockBits: format.Block.Bits(),
		NodeBits: locator.Bits() - format.Block.Bits()}
	for _, u := range s.USIDs {
		x := api.ModelSID{Prefix: u.SID}
		switch u.Behavior {
		case packet.UN:
			x.Behavior = api.BehaviorUN
		case packet.UA:
			h, ok := w.hop(u.Link)
			if !ok || format.Hops == ev.HopNodes {
				continue
			}
			x.Behavior, x.Hop = api.BehaviorUA, &h
		case packet.UDT6:
			x.Behavior = api.BehaviorUDT6
			c, err := usid.Containers(format.Block, own, u.USID)
			if err == nil && format.Hops == ev.HopNodes {
				w.out.SIDs = append(w.out.SIDs, api.ModelSID{
					Prefix: netip.PrefixFrom(c[0], locator.Bits()+16), Behavior: api.BehaviorUDT6})
			}
		default:
			continue
		}
		w.out.SIDs = append(w.out.SIDs, x)
	}
	slices.SortFunc(w.out.SIDs, func(a, b api.ModelSID) int { return a.Prefix.Compare(b.Prefix) })
}

// ports has the ports to other switches and to hosts.
func (w *work) ports(settings Settings) {
	at := make(map[uint32]int)
	add := func(port uint32, faces string) *api.ModelPort {
		i, ok := at[port]
		if !ok {
			i = len(w.out.Ports)
			at[port] = i
			p := api.ModelPort{Port: port, Faces: faces}
			if settings != nil {
				p.Settings = settings(port)
			}
			w.out.Ports = append(w.out.Ports, p)
		}
		return &w.out.Ports[i]
	}
	for _, p := range w.Network.HostPorts(w.sw) {
		add(p, api.FacesHost)
	}
	for _, h := range w.Network.HostsAt(w.sw.Name) {
		for _, port := range h.Ports {
			p := add(port, api.FacesHost)
			p.Peers = append(p.Peers, h.Name)
		}
	}
	if w.node != nil {
		for _, l := range w.links() {
			h, ok := w.hop(l)
			if !ok {
				continue
			}
			p := add(h.Port, api.FacesFabric)
			if p.Faces != api.FacesFabric {
				continue // what the inventory says of a port counts
			}
			peer, _ := w.Network.SwitchOf(l.Remote)
			p.Peers = append(p.Peers, peer)
			for _, a := range l.LocalAddresses {
				if a.Is6() && !slices.Contains(p.Addresses, a) {
					p.Addresses = append(p.Addresses, a)
				}
			}
		}
	}
	slices.SortFunc(w.out.Ports, func(a, b api.ModelPort) int { return cmp.Compare(a.Port, b.Port) })
}

// routes has the routes to the hosts of the switch, and to the uNs of its neighbors, or to all
// destinations.
func (w *work) routes(srv6 bool) {
	if srv6 {
		w.neighborRoutes()
	} else {
		addresses := w.addresses()
		w.Network.EachDestination(w.sw, func(p netip.Prefix, hops []plan.Hop) {
			r := api.ModelRoute{Prefix: p}
			for _, h := range hops {
				r.Hops = append(r.Hops, api.ModelHop{Port: h.Port, Address: addresses[h.Port], Weight: 1})
			}
			w.out.Routes = append(w.out.Routes, r)
		})
	}
	w.hostRoutes()
	slices.SortFunc(w.out.Routes, func(a, b api.ModelRoute) int { return a.Prefix.Compare(b.Prefix) })
}

// hostRoutes adds the routes to the switch's hosts, in place of other routes to equal prefixes:
// what is at the switch itself is nearer. The first of two hosts with one prefix counts.
func (w *work) hostRoutes() {
	own := make(map[netip.Prefix]bool)
	var routes []api.ModelRoute
	add := func(p netip.Prefix, port uint32, via netip.Addr) {
		if !own[p] {
			own[p] = true
			routes = append(routes, api.ModelRoute{Prefix: p,
				Hops: []api.ModelHop{{Port: port, Address: via, Weight: 1}}})
		}
	}
	for _, h := range w.Network.HostsAt(w.sw.Name) {
		add(netip.PrefixFrom(h.Address, h.Address.BitLen()), h.Ports[0], netip.Addr{})
		for _, p := range h.Prefixes {
			add(p.Masked(), h.Ports[0], h.Address)
		}
	}
	w.out.Routes = append(slices.DeleteFunc(w.out.Routes, func(x api.ModelRoute) bool {
		return own[x.Prefix]
	}), routes...)
}

// addresses returns the addresses of neighbors by port.
func (w *work) addresses() map[uint32]netip.Addr {
	out := make(map[uint32]netip.Addr)
	if w.node == nil {
		return out
	}
	for _, l := range w.Network.Snapshot.LinksFrom(w.node.ID) {
		if h, ok := w.hop(l); ok {
			out[h.Port] = h.Address
		}
	}
	return out
}

func (w *work) neighborRoutes() {
	format := w.Assignment.Format()
	at := make(map[uint16]int) // by uN: place in routes
	for _, l := range w.links() {
		usid, ok := w.Assignment.Node(l.Remote)
		h, known := w.hop(l)
		if !ok || !known {
			continue
		}
		i, ok := at[usid]
		if !ok {
			sid, err := format.Mode.USID().SID(format.Block, usid)
			if err != nil {
				continue // never, as above
			}
			i = len(w.out.Routes)
			at[usid] = i
			w.out.Routes = append(w.out.Routes, api.ModelRoute{Prefix: sid})
		}
		r := &w.out.Routes[i]
		r.Hops = append(r.Hops, h)
	}
	for i := range w.out.Routes {
		hops := w.out.Routes[i].Hops
		slices.SortFunc(hops, func(a, b api.ModelHop) int { return cmp.Compare(a.Port, b.Port) })
	}
}

// classes has what the switch does with the classes of MRC traffic (OCP MRC 1.0, section 7.5.3).
func (w *work) classes(c *inventory.Classes) {
	trims := c.TrimSize != 0
	known := make(map[uint8]bool)
	for _, x := range []api.ModelClass{
		{DSCP: c.DSCP.NoTrim, Name: "NO_TRIM", Queue: c.DataPriority},
		{DSCP: c.DSCP.Trimmable, Name: "TRIMMABLE", Queue: c.DataPriority, Trimming: trims},
		{DSCP: c.DSCP.TrimmableRetx, Name: "TRIMMABLE_RETX", Queue: c.DataPriority, Trimming: trims},
		{DSCP: c.DSCP.Trimmed, Name: "TRIMMED", Queue: c.ControlPriority},
		{DSCP: c.DSCP.TrimmedLastHop, Name: "TRIMMED_LASTHOP", Queue: c.ControlPriority},
		{DSCP: c.DSCP.Control, Name: "CONTROL", Queue: c.ControlPriority},
	} {
		if !known[x.DSCP] {
			known[x.DSCP] = true
			w.out.Classes = append(w.out.Classes, x)
		}
	}
	slices.SortFunc(w.out.Classes, func(a, b api.ModelClass) int {
		return cmp.Compare(a.DSCP, b.DSCP)
	})
	octets := func(packets uint32) uint64 { return uint64(packets) * LargestPacket }
	w.out.Queues = []api.ModelQueue{{
		Queue: c.DataPriority, Packets: c.DataPackets, Octets: octets(c.DataPackets),
		ECN: &api.ModelECN{MinPackets: c.ECNMin, MaxPackets: c.ECNMax,
			MinOctets: octets(c.ECNMin), MaxOctets: octets(c.ECNMax)},
	}}
	if c.ControlPriority != c.DataPriority {
		w.out.Queues = append(w.out.Queues, api.ModelQueue{Queue: c.ControlPriority,
			Packets: c.ControlPackets, Octets: octets(c.ControlPackets)})
	}
	if trims {
		w.out.Trimming = &api.ModelTrimming{Octets: c.TrimSize, DSCP: c.DSCP.Trimmed,
			DSCPLastHop: c.DSCP.TrimmedLastHop, Queue: c.ControlPriority, SetLength: c.TrimLength}
	}
}
