package networks

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind describes networks.
var Kind = kind.New[api.NetworkSpec, api.Network](kind.About{
	Names: kind.Names{One: "network", Noun: "network"}, Prefix: "networks/", Creates: true,
	Heading: kind.HeadingNetwork, Reads: access.Read, Writes: access.Configure,
	Example: map[string]any{"asn": 64512},
	Created: "Nodes and links in addition to those of BGP-LS. Of a node that BGP-LS knows, " +
		"BGP-LS decides which links there are.",
	Deleted: "The nodes and links of the network leave the topology, unless another source has them.",
	Help:    "networks that clients describe", Events: []string{"network"},
})
