package plan

import (
	"net/netip"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

const (
	groupsATurn = 2 * p4.MtGroups // distance of the second turn's tree groups
	localOffset = 1
)

// TreeGroup returns the number of the multicast group of a tree, and LocalGroup that
// of the receivers alone.
func TreeGroup(group uint16, turn uint8) uint32 {
	return p4.McastTree + groupsATurn*uint32(turn) + 2*uint32(group)
}

func LocalGroup(group uint16) uint32 { return p4.McastTree + localOffset + 2*uint32(group) }

// GroupOf returns the index of the group that an entity belongs to, -1 when it
// belongs to none.
func GroupOf(e entry.Entity) int {
	number := func(v entry.Value) int {
		if n, ok := v.Uint64(); ok && n < p4.MtGroups {
			return int(n)
		}
		return -1
	}
	switch e := e.(type) {
	case entry.Multicast:
		if e.ID >= p4.McastTree && e.ID < p4.McastTree+2*groupsATurn {
			return int(e.ID-p4.McastTree) % groupsATurn / 2
		}
	case entry.Table:
		switch e.Name {
		case p4.TableMtProxy, p4.TableMtConnect, p4.TableLocalSid:
			return number(e.Action.Arg("group"))
		}
		if m, ok := e.Field("group"); ok && ownerOf(e) == p4.OwnerMulticast {
			return number(m.Value)
		}
	}
	return -1
}

// Owners of what belongs to no group.
const (
	OwnerLinks  = -1
	OwnerRoutes = -2
	OwnerPFC    = -3
)

// OwnerOf returns the group that an entity belongs to, or else OwnerPFC for entities only in
// [Network.PFC], OwnerRoutes for entities in [Network.Routes], and OwnerLinks for everything else,
// also rows on switches without P4. The P4 program says by @weft_owner which feature has an entry;
// see [p4.Owner].
func OwnerOf(e entry.Entity) int {
	switch e := e.(type) {
	case entry.Row:
		return OwnerLinks
	case entry.Member, entry.Group:
		return OwnerRoutes
	case entry.Table:
		switch ownerOf(e) {
		case p4.OwnerPfc:
			return OwnerPFC
		case p4.OwnerRoutes:
			return OwnerRoutes
		}
	}
	return GroupOf(e)
}

// Intended reports whether the entities of an owner follow from what clients want. Owners of other
// entries follow from topology and inventory.
func Intended(owner int) bool { return owner >= 0 || owner == OwnerPFC }

// ownerOf returns the feature of a table's entry.
func ownerOf(t entry.Table) string {
	return p4.Owner(t.Name, t.Action.Name, func(field string) bool {
		v := t.Action.Arg(field)
		if m, ok := t.Field(field); ok {
			v = m.Value
		}
		n, ok := v.Uint64()
		return ok && n != 0
	})
}

// EpochOf returns the epoch that an entity holds; ok is false when it holds
// none.
func EpochOf(e entry.Entity) (epoch uint32, ok bool) {
	t, isTable := e.(entry.Table)
	if !isTable {
		return 0, false
	}
	n, ok := t.Action.Arg("epoch").Uint64()
	return uint32(n), ok
}

// ProxyOf returns the proxy address that an entity leads to its group.
func ProxyOf(e entry.Entity) (proxy netip.Addr, ok bool) {
	t, isTable := e.(entry.Table)
	if !isTable || t.Name != p4.TableMtProxy {
		return netip.Addr{}, false
	}
	m, ok := t.Field("dst_addr")
	if !ok {
		return netip.Addr{}, false
	}
	return m.Value.Addr6()
}

// TurnOf returns the turn of a tree group; ok is false for any other entity.
func TurnOf(e entry.Entity) (turn uint8, ok bool) {
	m, isMulticast := e.(entry.Multicast)
	if !isMulticast || GroupOf(e) < 0 || (m.ID-p4.McastTree)%2 == localOffset {
		return 0, false
	}
	return uint8((m.ID - p4.McastTree) / groupsATurn), true
}
