package northbound

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

type topologyView struct {
	Version  uint64              `json:"version" doc:"Grows with every change."`
	Stale    *topology.Staleness `json:"stale,omitempty" doc:"Why this may no longer be true; absent while it is what the network last said."`
	Nodes    []nodeView          `json:"nodes" nullable:"false" doc:"Ordered by id."`
	Links    []linkView          `json:"links" nullable:"false" doc:"One direction each; ordered by their ends."`
	Prefixes []prefixView        `json:"prefixes" nullable:"false" doc:"Ordered by node."`
	Hosts    []hostView          `json:"hosts" nullable:"false" doc:"Of the inventory, in its order."`
}

type nodeView struct {
	ID         topology.NodeID    `json:"id" doc:"AS:router-id."`
	Name       string             `json:"name,omitempty"`
	Loopback   netip.Addr         `json:"loopback,omitzero" doc:"The IPv6 address that stands for the node."`
	ASN        uint32             `json:"asn,omitempty"`
	Protocol   string             `json:"protocol,omitempty" doc:"Where the node was learned: isis-l2, direct, …"`
	Pseudonode bool               `json:"pseudonode,omitempty" doc:"A LAN that the IGP models as a node."`
	Overload   bool               `json:"overload,omitempty" doc:"The node asked not to be crossed."`
	SRv6       bool               `json:"srv6" doc:"The node advertises SRv6 capabilities."`
	Locators   []topology.Locator `json:"locators,omitempty"`
	SIDs       []sidView          `json:"sids,omitempty" doc:"SIDs of the node; those of adjacencies are with the links."`
}

type sidView struct {
	Address   netip.Addr            `json:"address"`
	Behavior  string                `json:"behavior" doc:"End, End.X, End.DT6, End.X.PFC, …, with flavors; 0x…. for codepoints without a name."`
	Codepoint uint16                `json:"codepoint" doc:"SRv6 endpoint behavior (IANA)."`
	Structure topology.SIDStructure `json:"structure,omitzero" doc:"Widths in bits of the parts of the SID."`
	Neighbor  string                `json:"neighbor,omitempty" doc:"Router-id of the neighbour on a LAN."`
}

type linkView struct {
	ID           topology.LinkID `json:"id"`
	Local        topology.NodeID `json:"local"`
	Remote       topology.NodeID `json:"remote"`
	LocalPort    uint32          `json:"localPort,omitempty" doc:"Port of the local end: the link identifier, or what the inventory has in its place."`
	RemotePort   uint32          `json:"remotePort,omitempty" doc:"Port of the remote end."`
	IGPMetric    uint32          `json:"igpMetric"`
	TEMetric     uint32          `json:"teMetric,omitempty"`
	Delay        topology.Delay  `json:"delay,omitzero" doc:"Unidirectional, in microseconds."`
	MaxBandwidth uint64          `json:"maxBandwidth,omitempty" doc:"Bits per second."`
	EndX         []sidView       `json:"endX,omitempty" doc:"SIDs that send a packet over this link."`
}

type prefixView struct {
	Node   topology.NodeID `json:"node"`
	Prefix netip.Prefix    `json:"prefix"`
	Metric uint32          `json:"metric,omitempty"`
}

type hostView struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address" doc:"IPv6 address the host is reached by."`
	Switch  string     `json:"switch" doc:"The switch it is attached to."`
	Ports   []uint32   `json:"ports" nullable:"false" doc:"Ports of that switch, the one it is reached by first."`
}

func (s *Server) registerTopology() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-topology", Method: http.MethodGet, Path: "/v1/topology", Tags: []string{"network"},
		Summary: "Get the topology", Description: "As learned by BGP-LS, with the hosts of the inventory.",
	}), s.topology)
}

func (s *Server) topology(ctx context.Context, _ *struct{}) (*struct{ Body topologyView }, error) {
	snapshot, inv := s.controller.Topology(), s.controller.Inventory()
	hosts := inv.Hosts
	switches, err := s.controller.Switches(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	of := make(map[topology.NodeID]*inventory.Switch, len(switches))
	for i := range switches {
		if sw := inv.Switch(switches[i].Name); sw != nil && switches[i].Node != "" {
			of[topology.NodeID(switches[i].Node)] = sw
		}
	}
	port := func(node topology.NodeID, id, advertised uint32) uint32 {
		if sw := of[node]; sw != nil {
			return sw.Port(id, advertised)
		}
		return advertised
	}
	v := topologyView{
		Version: snapshot.Version, Stale: snapshot.Stale,
		Nodes: make([]nodeView, 0, len(snapshot.Nodes)), Links: make([]linkView, 0, len(snapshot.Links)),
		Prefixes: make([]prefixView, 0, len(snapshot.Prefixes)), Hosts: make([]hostView, 0, len(hosts)),
	}
	behaviors := inv.SIDs.PFCBehaviors()
	for _, n := range snapshot.Nodes {
		out := nodeView{
			ID: n.ID, Name: n.Name, Loopback: n.Loopback, ASN: n.ASN, Protocol: n.Protocol,
			Pseudonode: n.Pseudonode, Overload: n.Overload, SRv6: n.SRv6 != nil, Locators: n.Locators,
		}
		for _, sid := range n.SIDs {
			out.SIDs = append(out.SIDs, viewSID(behaviors, sid, ""))
		}
		v.Nodes = append(v.Nodes, out)
	}
	for _, l := range snapshot.Links {
		out := linkView{
			ID: l.ID, Local: l.Local, Remote: l.Remote, LocalPort: port(l.Local, l.LocalID, l.LocalPort), RemotePort: port(l.Remote, l.RemoteID, l.RemotePort),
			IGPMetric: l.IGPMetric, TEMetric: l.TEMetric, Delay: l.Delay, MaxBandwidth: l.MaxBandwidth,
		}
		for _, x := range l.EndX {
			out.EndX = append(out.EndX, viewSID(behaviors, x.SID, x.Neighbor))
		}
		v.Links = append(v.Links, out)
	}
	for _, p := range snapshot.Prefixes {
		v.Prefixes = append(v.Prefixes, prefixView{Node: p.Node, Prefix: p.Prefix, Metric: p.Metric})
	}
	for i := range hosts {
		h := &hosts[i]
		v.Hosts = append(v.Hosts, hostView{Name: h.Name, Address: h.Address, Switch: h.Switch, Ports: h.AllPorts()})
	}
	return &struct{ Body topologyView }{v}, nil
}

func viewSID(behaviors topology.PFCBehaviors, sid topology.SID, neighbor string) sidView {
	return sidView{
		Address: sid.Address, Behavior: behaviors.Name(sid.Behavior), Codepoint: uint16(sid.Behavior),
		Structure: sid.Structure, Neighbor: neighbor,
	}
}
