package fabric

import "slices"

// scenarios are all stories; each file adds its own.
func scenarios() []scenario {
	return slices.Concat(
		forwarding(),
		srv6(),
		endMT(),
		replicate(),
		firstSwitch(),
		inband(),
		responses(),
		cnps(),
		packetIO(),
		malformed(),
		classes(),
		trimming(),
		marking(),
		structuredEVs(),
		usids(),
		icmpErrors(),
		endXPFC(),
		pfcReceived(),
		pfcMade(),
		pfcTunnels(),
		l3vpn(),
		domainEdge(),
		hostileHost(),
		mrcHost(),
		isolation(),
		extensionHeaders(),
		pfcLearning(),
		discovery(),
		neighborDiscovery(),
		connect(),
		addressResolution(),
		ipv4Groups(),
		ipv4Tenants(),
		ipv4Refused(),
	)
}
