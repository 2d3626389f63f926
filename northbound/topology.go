package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/topology"
)

func (s *Server) registerTopology() {
	register(s, huma.Operation{
		OperationID: "get-topology", Method: http.MethodGet, Security: asks(access.Read),
		Path: "/v1/topology", Tags: []string{"network"},
		Summary: "Get the topology", Description: "As learned by BGP-LS and described by networks and " +
			"files, with the hosts of the inventory.",
	}, s.topology)
}

func (s *Server) topology(ctx context.Context, _ *struct{}) (*api.Topology, error) {
	snapshot, inv := s.controller.Topology(), s.controller.Inventory()
	hosts := inv.Hosts
	switches, err := kind.Views[api.SwitchStatus](ctx, s.controller.Kinds())
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
	v := api.Topology{
		Version: snapshot.Version, Stale: snapshot.Stale,
		Nodes:    make([]api.TopologyNode, 0, len(snapshot.Nodes)),
		Links:    make([]api.TopologyLink, 0, len(snapshot.Links)),
		Prefixes: make([]api.TopologyPrefix, 0, len(snapshot.Prefixes)),
		Hosts:    make([]api.TopologyHost, 0, len(hosts)),
	}
	behaviors := inv.SIDs.PFCBehaviors()
	for _, n := range snapshot.Nodes {
		out := api.TopologyNode{
			ID: n.ID, Name: n.Name, Loopback: n.Loopback, ASN: n.ASN, Protocol: n.Protocol,
			Pseudonode: n.Pseudonode, Overload: n.Overload, SRv6: n.SRv6 != nil, Locators: n.Locators,
		}
		for _, sid := range n.SIDs {
			out.SIDs = append(out.SIDs, viewSID(behaviors, sid, ""))
		}
		v.Nodes = append(v.Nodes, out)
	}
	for _, l := range snapshot.Links {
		out := api.TopologyLink{
			ID: l.ID, Local: l.Local, Remote: l.Remote, LocalPort: port(l.Local, l.LocalID, l.LocalPort),
			RemotePort: port(l.Remote, l.RemoteID, l.RemotePort),
			IGPMetric:  l.IGPMetric, TEMetric: l.TEMetric, Delay: l.Delay, MaxBandwidth: l.MaxBandwidth,
			Sources: l.KnownFrom(),
		}
		for _, x := range l.EndX {
			out.EndX = append(out.EndX, viewSID(behaviors, x.SID, x.Neighbor))
		}
		v.Links = append(v.Links, out)
	}
	for _, p := range snapshot.Prefixes {
		v.Prefixes = append(v.Prefixes, api.TopologyPrefix{Node: p.Node, Prefix: p.Prefix,
			Metric: p.Metric})
	}
	for i := range hosts {
		h := &hosts[i]
		v.Hosts = append(v.Hosts, api.TopologyHost{Name: h.Name, Address: h.Address, Switch: h.Switch,
			Ports: h.AllPorts()})
	}
	return &v, nil
}

func viewSID(behaviors topology.PFCBehaviors, sid topology.SID, neighbor string) api.TopologySID {
	return api.TopologySID{
		Address: sid.Address, Behavior: behaviors.Name(sid.Behavior), Codepoint: uint16(sid.Behavior),
		Structure: sid.Structure, Neighbor: neighbor,
	}
}
