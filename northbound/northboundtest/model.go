package northboundtest

import (
	"net/netip"

	"github.com/weft-sdn/weft/api"
)

// Model returns what switch n1 is: a T0 with a link up and a host.
func Model() api.SwitchModel {
	address, prefix := netip.MustParseAddr, netip.MustParsePrefix
	up := api.ModelHop{Port: 1, Address: address("fe80::ff:fe00:4"), Weight: 1}
	return api.SwitchModel{
		Name: "n1", Node: "64512:10.0.0.1", Mode: "usid-f3216", Tier: 0, Plane: 1,
		MAC: "02:00:00:00:00:01", Loopback: address("2001:db8::1"),
		Locator: &api.ModelLocator{Prefix: prefix("5f00:100:1::/48"), BlockBits: 32, NodeBits: 16},
		SIDs: []api.ModelSID{
			{Prefix: prefix("5f00:100:1::/48"), Behavior: api.BehaviorUN},
			{Prefix: prefix("5f00:100:e000::/48"), Behavior: api.BehaviorUDT6},
			{Prefix: prefix("5f00:100:e001::/48"), Behavior: api.BehaviorUA, Hop: &up},
		},
		Routes: []api.ModelRoute{
			{Prefix: prefix("2001:db8:1::1/128"), Hops: []api.ModelHop{{Port: 2, Weight: 1}}},
			{Prefix: prefix("5f00:100:4::/48"), Hops: []api.ModelHop{up}},
		},
		Ports: []api.ModelPort{
			{Port: 1, Faces: api.FacesFabric, Peers: []string{"n4"}},
			{Port: 2, Faces: api.FacesHost, Peers: []string{"r1"}},
		},
		Classes: []api.ModelClass{
			{DSCP: 7, Name: "TRIMMABLE", Queue: 0, Trimming: true},
			{DSCP: 35, Name: "TRIMMED", Queue: 7}, {DSCP: 39, Name: "TRIMMED_LASTHOP", Queue: 7},
		},
		Queues: []api.ModelQueue{
			{Queue: 0, Packets: 256, Octets: 1_100_800, ECN: &api.ModelECN{
				MinPackets: 51, MaxPackets: 205, MinOctets: 219_300, MaxOctets: 881_500}},
			{Queue: 7, Packets: 2048, Octets: 8_806_400},
		},
		Trimming: &api.ModelTrimming{Octets: 206, DSCP: 35, DSCPLastHop: 39, Queue: 7},
	}
}
