package plan

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Object is the thing that an entity belongs to, according to the entity alone.
type Object struct {
	Kind api.OrphanKind
	// Index is the number of the thing on its switch.
	Index uint32
}

// ObjectOf returns the object that an entity belongs to. The owner of the entity is [Intended].
func ObjectOf(e entry.Entity) Object {
	if i := GroupOf(e); i >= 0 {
		return Object{api.OrphanGroup, uint32(i)}
	}
	if vrf, ok := VRFOf(e); ok && vrf <= MaxVRF {
		return Object{api.OrphanTenant, uint32(vrf)}
	}
	if t, ok := e.(entry.Table); ok {
		switch t.Name {
		case p4.TableSrPolicy:
			return Object{api.OrphanSRv6Policy, field(t, "policy")}
		case p4.TableSlice:
			return Object{api.OrphanSlice, field(t, "slice")}
		}
	}
	return Object{Kind: api.OrphanPFC}
}

func field(t entry.Table, name string) uint32 {
	m, _ := t.Field(name)
	n, _ := m.Value.Uint64()
	return uint32(n)
}

// VRFOf returns the VRF that an entry routes, or leads packets into; ok is false when it is 0 or
// the entity has none.
func VRFOf(e entry.Entity) (vrf uint16, ok bool) {
	t, isTable := e.(entry.Table)
	if !isTable {
		return 0, false
	}
	n := uint64(field(t, "vrf"))
	if n == 0 {
		n, _ = t.Action.Arg("vrf").Uint64()
	}
	return uint16(n), n != 0
}

// EdgeOf returns the port that an entry says faces a tenant, and the tenant's VRF.
func EdgeOf(e entry.Entity) (port uint32, vrf uint16, ok bool) {
	if t, isTable := e.(entry.Table); isTable && t.Name == p4.TablePort {
		vrf, ok = VRFOf(e)
		return field(t, "port"), vrf, ok
	}
	return 0, 0, false
}

// SegmentsOf returns the number and the SIDs of a segment list.
func SegmentsOf(e entry.Entity) (list uint16, sids []netip.Addr, ok bool) {
	t, isTable := e.(entry.Table)
	if !isTable || t.Name != p4.TableSrPolicy {
		return 0, nil, false
	}
	for i := 1; i <= ListSIDs; i++ {
		if a, ok := t.Action.Arg(fmt.Sprintf("s%d", i)).Addr6(); ok {
			sids = append(sids, a)
		}
	}
	return uint16(field(t, "policy")), sids, true
}

// IsPFCClass reports whether an entity is the class that PFC frames in tunnels have.
func IsPFCClass(e entry.Entity, dscp uint8) bool {
	t, ok := e.(entry.Table)
	return ok && t.Name == p4.TableTrafficClass && field(t, "dscp") == uint32(dscp)
}

// LeadsTo reports whether an entity of a tenant or PFC policy sends packets by a segment list, or
// in a slice.
func LeadsTo(from, to entry.Entity) bool {
	t, ok := from.(entry.Table)
	if !ok {
		return false
	}
	switch o := ObjectOf(to); o.Kind {
	case api.OrphanSRv6Policy:
		return t.Action.Arg("policy") == entry.Uint(uint64(o.Index))
	case api.OrphanSlice:
		return t.Action.Arg("slice") == entry.Uint(uint64(o.Index))
	}
	return false
}
