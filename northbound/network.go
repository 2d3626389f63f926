package northbound

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

func (s *Server) registerNetworks() {
	networks().over(s.controller.Networks()).registerAll(s)
}

// networks describes the networks that clients describe.
func networks() *collection[api.NetworkSpec, api.Network] {
	return &collection[api.NetworkSpec, api.Network]{
		path: "/v1/networks", reads: access.Read, writes: access.Configure, one: "network", noun: "network", tag: "network",
		example: map[string]any{"asn": 64512},
		created: "Nodes and links in addition to those of BGP-LS. Of a node that BGP-LS knows, BGP-LS decides which links there are.",
		draft: func(n *api.Network) api.Request[api.NetworkSpec] {
			return api.Request[api.NetworkSpec]{Name: n.Name, Version: n.Version, Spec: n.Spec}
		},
	}
}
