package plan

import (
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// sidPrefixes returns the prefixes that hold all SIDs of the domain, in order: the block of a
// locator if its node advertises a SID structure, else the locator, and SIDs outside all locators.
func sidPrefixes(s *topology.Snapshot) []netip.Prefix {
	seen := make(map[netip.Prefix]bool)
	var out []netip.Prefix
	add := func(p netip.Prefix) {
		if p.Addr().Is6() && !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	for _, node := range s.Nodes {
		for _, l := range node.Locators {
			p := l.Prefix.Masked()
			for _, sid := range node.SIDs {
				if bits := int(sid.Structure.LocatorBlock); bits > 0 && bits <= p.Bits() &&
					p.Contains(sid.Address) {
					p = netip.PrefixFrom(p.Addr(), bits).Masked()
					break
				}
			}
			add(p)
		}
	}
	known := len(out)
	covered := func(a netip.Addr) bool {
		return slices.ContainsFunc(out[:known], func(p netip.Prefix) bool { return p.Contains(a) })
	}
	for _, node := range s.Nodes {
		for _, sid := range node.SIDs {
			if sid.Address.Is6() && !covered(sid.Address) {
				add(host(sid.Address))
			}
		}
	}
	for _, l := range s.Links {
		for _, sid := range l.EndX {
			if sid.Address.Is6() && !covered(sid.Address) {
				add(host(sid.Address))
			}
		}
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return out
}

// isSID reports whether an address is in a prefix that holds SIDs of the domain.
func (n *Network) isSID(a netip.Addr) bool {
	return slices.ContainsFunc(n.sids, func(p netip.Prefix) bool { return p.Contains(a) })
}

// sidSpace returns the entries for destinations closed to hosts: the prefixes of all SIDs in the
// domain, without hosts' prefixes inside.
func (n *Network) sidSpace() (out []entry.Entity) {
	for _, p := range n.sids {
		out = append(out, entry.In(p4.TableSidSpace, entry.Do(p4.ActionSidOfDomain),
			entry.LPM("dst_addr", p)))
	}
	seen := make(map[netip.Prefix]bool)
	for i := range n.Inventory.Hosts {
		h := &n.Inventory.Hosts[i]
		for _, p := range append([]netip.Prefix{host(h.Address)}, h.Prefixes...) {
			inside := func(s netip.Prefix) bool { return s.Bits() < p.Bits() && s.Contains(p.Addr()) }
			if !seen[p] && slices.ContainsFunc(n.sids, inside) && !slices.Contains(n.sids, p) {
				seen[p] = true
				out = append(out, entry.In(p4.TableSidSpace, entry.Do(p4.ActionNoSid),
					entry.LPM("dst_addr", p)))
			}
		}
	}
	return out
}

// hostUSIDs emits the uSIDs that the hosts of a leaf may start with: the local uSIDs, which are the
// leaf's links and ports, and the leaf's own uSID where EVs are made of nodes. Each host may use
// them only from its own address, and on the ports of this leaf.
func (b *baseWork) hostUSIDs(a *ev.Assignment) {
	format := a.Format()
	usid := format.Mode.USID()
	if !slices.Contains(b.n.sids, format.Block) {
		b.add(entry.In(p4.TableSidSpace, entry.Do(p4.ActionSidOfDomain),
			entry.LPM("dst_addr", format.Block)))
	}
	local, err := usid.SID(format.Block, ev.FirstLocal)
	if err != nil {
		return // never: the format is valid
	}
	first := []netip.Prefix{netip.PrefixFrom(local.Addr(), format.Block.Bits()+ev.LocalBits)}
	if own, ok := a.Node(b.node.ID); ok && format.Hops == ev.HopNodes {
		if p, err := usid.SID(format.Block, own); err == nil {
			first = append(first, p)
		}
	}
	block := entry.Addr(netip.AddrFrom16(ones(format.Block.Bits())))
	for _, h := range b.n.hostsOf[b.sw.Name] {
		for _, p := range h.Ports {
			for _, sid := range first {
				b.add(entry.In(p4.TableSidAllowed, entry.Do(p4.ActionAllowSid, entry.With("block_mask", block)),
					entry.Exact("port", port(p)), entry.Exact("src_addr", entry.Addr(h.Address)),
					entry.LPM("dst_addr", sid)))
			}
		}
	}
}

// ones returns an address whose first bits are set.
func ones(bits int) (mask [16]byte) {
	for i := range bits {
		mask[i/8] |= 0x80 >> (i % 8)
	}
	return mask
}
