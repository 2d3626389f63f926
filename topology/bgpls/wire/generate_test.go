package wire

import (
	"cmp"
	"net/netip"
	"slices"

	"pgregory.net/rapid"
)

// Generators of everything that can be encoded.

func drawAddr(t *rapid.T, n int) netip.Addr {
	a, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "address"))
	return a
}

func maybe(t *rapid.T) bool { return rapid.Bool().Draw(t, "present") }

func maybeAddr(t *rapid.T, n int) (a netip.Addr) {
	if maybe(t) {
		a = drawAddr(t, n)
	}
	return a
}

func maybeUint32(t *rapid.T, limit uint32) *uint32 {
	if !maybe(t) {
		return nil
	}
	v := rapid.Uint32Range(0, limit).Draw(t, "number")
	return &v
}

func drawOctets(t *rapid.T, sizes ...int) string {
	n := rapid.SampledFrom(sizes).Draw(t, "size")
	return string(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "octets"))
}

func drawNode(t *rapid.T) NodeDescriptor {
	d := NodeDescriptor{ASN: rapid.Uint32().Draw(t, "asn"), IGPRouterID: drawOctets(t, 4, 6, 7, 8)}
	if maybe(t) {
		d.BGPLSID = rapid.Uint32Min(1).Draw(t, "id")
	}
	if maybe(t) {
		d.Area = Area{true, rapid.Uint32().Draw(t, "area")}
	}
	d.BGPRouterID = maybeAddr(t, 4)
	return d
}

func drawNLRI(t *rapid.T) NLRI {
	n := NLRI{
		Type: rapid.SampledFrom([]NLRIType{NLRINode, NLRILink, NLRIPrefix4, NLRIPrefix6,
			NLRISRv6SID}).Draw(t, "type"),
		Protocol:   ProtocolID(rapid.Byte().Draw(t, "protocol")),
		Identifier: rapid.Uint64().Draw(t, "identifier"),
		Local:      drawNode(t),
	}
	if n.Type != NLRINode && maybe(t) {
		n.Topology = MultiTopology{true, rapid.Uint16Range(0, 4095).Draw(t, "mt")}
	}
	switch n.Type {
	case NLRILink:
		n.Remote = drawNode(t)
		if maybe(t) {
			n.Link.IDs = LinkIDs{true, rapid.Uint32().Draw(t, "local"), rapid.Uint32().Draw(t, "remote")}
		}
		n.Link.InterfaceIPv4, n.Link.NeighborIPv4 = maybeAddr(t, 4), maybeAddr(t, 4)
		n.Link.InterfaceIPv6, n.Link.NeighborIPv6 = maybeAddr(t, 16), maybeAddr(t, 16)
	case NLRIPrefix4, NLRIPrefix6:
		size := 4
		if n.Type == NLRIPrefix6 {
			size = 16
		}
		n.Prefix.Prefix = netip.PrefixFrom(drawAddr(t, size), rapid.IntRange(0, 8*size).Draw(t,
			"bits")).Masked()
		n.Prefix.OSPFRouteType = rapid.Uint8Range(0, 6).Draw(t, "route type")
	case NLRISRv6SID:
		n.SID = drawAddr(t, 16)
	}
	return n
}

func drawMSDs(t *rapid.T) (msds []MSD) {
	for range rapid.IntRange(0, 3).Draw(t, "msds") {
		msds = append(msds, MSD{rapid.Byte().Draw(t, "type"), rapid.Byte().Draw(t, "value")})
	}
	return msds
}

func maybeStructure(t *rapid.T) *SIDStructure {
	if !maybe(t) {
		return nil
	}
	bits := rapid.Uint8Range(0, 32)
	return &SIDStructure{bits.Draw(t, "block"), bits.Draw(t, "node"), bits.Draw(t, "function"),
		bits.Draw(t, "argument")}
}

func drawAttributes(t *rapid.T) *Attributes {
	a := new(Attributes)
	a.Node = NodeAttributes{
		MSDs:      drawMSDs(t),
		Flags:     rapid.Byte().Draw(t, "flags"),
		Name:      rapid.StringN(0, 20, 255).Draw(t, "name"),
		RouterID4: maybeAddr(t, 4),
		RouterID6: maybeAddr(t, 16),
	}
	if maybe(t) {
		a.Node.Algorithms = rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "algorithms")
	}
	if maybe(t) {
		a.Node.SRv6 = SRv6Capabilities{true, rapid.Uint16().Draw(t, "capabilities")}
	}
	a.Link = LinkAttributes{
		MSDs:            drawMSDs(t),
		RemoteRouterID4: maybeAddr(t, 4),
		RemoteRouterID6: maybeAddr(t, 16),
		AdminGroup:      maybeUint32(t, 1<<32-1),
		TEMetric:        maybeUint32(t, 1<<32-1),
		IGPMetric:       maybeUint32(t, maxIGPMetric),
		DelayVariation:  maybeUint32(t, delayMask),
	}
	if maybe(t) {
		a.Link.IDs = LinkIDs{true, rapid.Uint32().Draw(t, "local"), rapid.Uint32().Draw(t, "remote")}
	}
	if a.Node.RouterID4.IsValid() {
		for range rapid.IntRange(0, 2).Draw(t, "router-ids") {
			a.Node.RouterIDs = append(a.Node.RouterIDs, drawAddr(t, 4))
		}
	}
	if maybe(t) {
		f := rapid.Float32().Draw(t, "bandwidth")
		a.Link.MaxBandwidth = &f
	}
	delay := rapid.Uint32Range(0, delayMask)
	if maybe(t) {
		a.Link.Delay = &Delay{maybe(t), delay.Draw(t, "delay")}
	}
	if maybe(t) {
		a.Link.MinMaxDelay = &MinMaxDelay{maybe(t), delay.Draw(t, "min"), delay.Draw(t, "max")}
	}
	for range rapid.IntRange(0, 3).Draw(t, "end.x") {
		a.Link.EndX = append(a.Link.EndX, EndX{
			Behavior: rapid.Uint16().Draw(t, "behavior"), Flags: rapid.Byte().Draw(t, "flags"),
			Algorithm: rapid.Byte().Draw(t, "algorithm"), Weight: rapid.Byte().Draw(t, "weight"),
			Neighbor: drawOctets(t, 0, 4, 6), SID: drawAddr(t, 16), Structure: maybeStructure(t),
		})
	}
	slices.SortStableFunc(a.Link.EndX, func(x, y EndX) int {
		return cmp.Compare(x.tlvType(), y.tlvType())
	})
	a.Prefix.IGPFlags = rapid.Byte().Draw(t, "igp flags")
	a.Prefix.Metric = maybeUint32(t, 1<<32-1)
	if maybe(t) {
		a.Prefix.Locator = &Locator{rapid.Byte().Draw(t, "flags"), rapid.Byte().Draw(t, "algorithm"),
			rapid.Uint32().Draw(t, "metric")}
	}
	if maybe(t) {
		a.Prefix.AttributeFlags = []byte(drawOctets(t, 1, 2))
	}
	if maybe(t) {
		a.SID.Behavior = &EndpointBehavior{rapid.Uint16().Draw(t, "behavior"),
			rapid.Byte().Draw(t, "flags"), rapid.Byte().Draw(t, "algorithm")}
	}
	if maybe(t) {
		a.SID.PeerNode = &PeerNode{rapid.Byte().Draw(t, "flags"), rapid.Byte().Draw(t, "weight"),
			rapid.Uint32().Draw(t, "asn"), drawAddr(t, 4)}
	}
	a.SID.Structure = maybeStructure(t)
	return a
}
