package plan

import (
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

func ruled(table, action string, params ...entry.Param) entry.Table {
	return entry.In(table, entry.Do(action, params...))
}

func routed(prefixText string, vrf uint64) entry.Table {
	return entry.In(p4.TableIpv6Route, entry.Do(p4.ActionForward), entry.Exact("vrf", entry.Uint(vrf)),
		entry.LPM("dst_addr", netip.MustParsePrefix(prefixText)))
}

// TestRank: a switch has what an entity refers to before the entity, and a long route before a
// short one.
func TestRank(t *testing.T) {
	member, group := entry.Member{Profile: p4.ActionProfileEcmpSelector},
		entry.Group{Profile: p4.ActionProfileEcmpSelector}
	neighbor, replica := ruled(p4.TableNeighbor, p4.ActionSetMacs),
		ruled(p4.TableMtReplica, p4.ActionToChild)
	for _, chain := range [][]entry.Entity{
		{neighbor, member, group, ruled(p4.TableEcmp, p4.ActionForward), routed("2001:db8::1/128", 0),
			routed("2001:db8::/64", 0), routed("::/0", 0)},
		{entry.Clone{}, ruled(p4.TableMtGroup, p4.ActionSetGroupState), replica, entry.Multicast{},
			ruled(p4.TableLocalSid, p4.ActionEndMt)},
		{neighbor, replica, entry.Multicast{}, ruled(p4.TableMtSource, p4.ActionMtEncapsReplicate)},
		{neighbor, ruled(p4.TableSrPolicy, p4.ActionViaAdjacency1),
			ruled(p4.TablePfcUpstream, p4.ActionPfcToTunnel), ruled(p4.TablePfcQueue, p4.ActionSetPfcQueue)},
	} {
		for i := 1; i < len(chain); i++ {
			if Rank(chain[i-1]) >= Rank(chain[i]) {
				t.Errorf("rank %d of %v, rank %d of %v after it", Rank(chain[i-1]), chain[i-1], Rank(chain[i]),
					chain[i])
			}
		}
	}
}

// TestOwnerOf: of a table that features share, each has its own entries.
func TestOwnerOf(t *testing.T) {
	vrf := func(n uint64) entry.Param { return entry.With("vrf", entry.Uint(n)) }
	for _, c := range []struct {
		e    entry.Entity
		want int
	}{
		{ruled(p4.TableNeighbor, p4.ActionSetMacs), OwnerLinks},
		{entry.Clone{ID: 1}, OwnerLinks},
		{entry.Member{}, OwnerRoutes}, {entry.Group{}, OwnerRoutes},
		{ruled(p4.TableEcmp, p4.ActionForward), OwnerRoutes},
		{routed("2001:db8::/64", 0), OwnerRoutes}, {routed("2001:db8::/64", 1), OwnerPFC},
		{ruled(p4.TableLocalSid, p4.ActionEndDt6, vrf(0)), OwnerLinks},
		{ruled(p4.TableLocalSid, p4.ActionEndDt6, vrf(1)), OwnerPFC},
		{ruled(p4.TableSrv6Policy, p4.ActionHEncaps1), OwnerLinks},
		{ruled(p4.TableSrv6Policy, p4.ActionVpnSteer), OwnerPFC},
		{ruled(p4.TablePfcSid3, p4.ActionUpstreamPfc), OwnerPFC},
		{ruled(p4.TableServiceSid, p4.ActionServiceDt6), OwnerPFC},
		{entry.In(p4.TableMtBranch, entry.Do(p4.ActionSetBranch), entry.Exact("group", entry.Uint(7))),
			7},
		{ruled(p4.TableMtProxy, p4.ActionSetGroup, entry.With("group", entry.Uint(8))), 8},
		{ruled(p4.TableLocalSid, p4.ActionEndMt, entry.With("group", entry.Uint(9))), 9},
	} {
		if got := OwnerOf(c.e); got != c.want {
			t.Errorf("%v belongs to %d, want %d", c.e, got, c.want)
		}
	}
}
