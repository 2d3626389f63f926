package topology

import (
	"net/netip"
	"slices"
)

// pairLinks finds for each link the link that is its other direction, -1 when
// there is none. Each link is in one pair at most. Two links match that run
// between the same nodes in opposite directions and whose link identifiers or
// addresses agree; an identifier that one side does not know, or knows as 0
// (RFC 9552 section 5.2.2), agrees with any. Links that say nothing about
// their ends pair in order.
func pairLinks(links []*Link) []int32 {
	reverse := make([]int32, len(links))
	for i := range reverse {
		reverse[i] = -1
	}
	between, opposite := linksBetween(links)
	// The strongest evidence pairs first, over all links, so that the order of
	// links decides only among equals.
	for _, agree := range [...]func(a, b *Link) bool{
		identifiersAgree, addressesAgree, nothingDisagrees} {
		for i, l := range links {
			if reverse[i] >= 0 || opposite[i] < 0 {
				continue
			}
			for _, j := range between[opposite[i]] {
				if reverse[j] < 0 && int(j) != i && agree(l, links[j]) {
					reverse[i], reverse[j] = j, int32(i)
					break
				}
			}
		}
	}
	return reverse
}

// linksBetween groups links by their local and remote node, and says for each
// link which group runs the other way, -1 when there is none.
func linksBetween(links []*Link) (groups [][]int32, opposite []int32) {
	type ends struct{ local, remote int32 }
	nodes := make(map[NodeID]int32)
	number := func(id NodeID) int32 {
		v, ok := nodes[id]
		if !ok {
			v = int32(len(nodes))
			nodes[id] = v
		}
		return v
	}
	group := make(map[ends]int32, len(links))
	of := make([]ends, len(links))
	for i, l := range links {
		e := ends{number(l.Local), number(l.Remote)}
		g, ok := group[e]
		if !ok {
			g = int32(len(groups))
			group[e] = g
			groups = append(groups, nil)
		}
		of[i] = e
		groups[g] = append(groups[g], int32(i))
	}
	opposite = make([]int32, len(links))
	for i, e := range of {
		g, ok := group[ends{e.remote, e.local}]
		if !ok {
			g = -1
		}
		opposite[i] = g
	}
	return groups, opposite
}

func identifiersAgree(a, b *Link) bool {
	return a.LocalID != 0 && a.RemoteID != 0 && a.LocalID == b.RemoteID && a.RemoteID == b.LocalID
}

func addressesAgree(a, b *Link) bool {
	return (meet(a.LocalAddresses, b.RemoteAddresses) || meet(a.RemoteAddresses, b.LocalAddresses)) &&
		nothingDisagrees(a, b)
}

func nothingDisagrees(a, b *Link) bool {
	ids := func(x, y uint32) bool { return x == 0 || y == 0 || x == y }
	addrs := func(x, y []netip.Addr) bool { return len(x) == 0 || len(y) == 0 || meet(x, y) }
	return ids(a.LocalID, b.RemoteID) && ids(a.RemoteID, b.LocalID) &&
		addrs(a.LocalAddresses, b.RemoteAddresses) && addrs(a.RemoteAddresses, b.LocalAddresses)
}

func meet(a, b []netip.Addr) bool {
	return slices.ContainsFunc(a, func(x netip.Addr) bool { return slices.Contains(b, x) })
}
