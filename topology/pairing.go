package topology

import (
	"net/netip"
	"slices"
)

// pairLinks finds each link's opposite direction, -1 if no link matches. Each link is in one pair
// at most. Two links match if they run between the same nodes in opposite directions and their link
// identifiers or addresses agree; an identifier that one side does not know, or knows as 0 (RFC
// 9552 section 5.2.2), agrees with any. Links without identifiers or addresses of their ends pair
// in order. The links are in the order of a snapshot of some nodes; local and remote are the
// indexes of the links' ends among these nodes, -1 if the snapshot lacks the node.
func pairLinks(links []*Link, nodes int, local, remote []int32) []int32 {
	reverse := make([]int32, len(links))
	for i := range reverse {
		reverse[i] = -1
	}
	between, opposite := linksBetween(links, nodes, local, remote)
	// The strongest evidence pairs first, over all links, so that the order of
	// links decides only among equals.
	for _, agree := range [...]func(a, b *Link) bool{
		identifiersAgree, addressesAgree, nothingDisagrees} {
		left := false
		for g, from := range between[:len(opposite)] {
			o := opposite[g]
			if o < 0 {
				continue
			}
			for i := from; i < between[g+1]; i++ {
				if reverse[i] >= 0 {
					continue
				}
				left = true
				for j := between[o]; j < between[o+1]; j++ {
					if reverse[j] < 0 && j != i && agree(links[i], links[j]) {
						reverse[i], reverse[j] = j, i
						break
					}
				}
			}
		}
		if !left {
			break
		}
	}
	return reverse
}

// linksBetween groups links by their local and remote node: group g has the links from starts[g] to
// before starts[g+1]. opposite[g] is the group in the other direction, -1 if no such group exists.
// The arguments are those of pairLinks.
func linksBetween(links []*Link, nodes int, local, remote []int32) (starts, opposite []int32) {
	type run struct{ next, end int32 } // the groups from a node, as far as they are not passed
	known, others := make([]run, nodes), make(map[NodeID]*run)
	from := func(place int32, id NodeID) *run {
		if place >= 0 {
			return &known[place]
		}
		r := others[id]
		if r == nil {
			r = new(run)
			others[id] = r
		}
		return r
	}
	var r *run
	for i, l := range links {
		newRun := i == 0 || l.Local != links[i-1].Local
		if !newRun && l.Remote == links[i-1].Remote {
			continue
		}
		g := int32(len(starts))
		if newRun {
			r = from(local[i], l.Local)
			r.next = g
		}
		r.end = g + 1
		starts = append(starts, int32(i))
	}
	opposite = make([]int32, len(starts))
	starts = append(starts, int32(len(links)))
	// Groups are ordered by local node, then by remote node, so that the search for opposite groups
	// passes each group once.
	for g := range opposite {
		opposite[g] = -1
		i := starts[g]
		id := links[i].Local
		back := from(remote[i], links[i].Remote)
		for back.next < back.end && links[starts[back.next]].Remote < id {
			back.next++
		}
		if back.next < back.end && links[starts[back.next]].Remote == id {
			opposite[g] = back.next
		}
	}
	return starts, opposite
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
