package controller

import (
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// The owners of what a switch holds. The owner of what a group needs is the group's index.
const (
	linkUnit  = reconcile.Owner(plan.OwnerLinks)
	routeUnit = reconcile.Owner(plan.OwnerRoutes)
	pfcUnit   = reconcile.Owner(plan.OwnerPFC)
)

func ownerOf(e entry.Entity) reconcile.Owner { return reconcile.Owner(plan.OwnerOf(e)) }

// Ranks order the updates of a switch: first what others refer to, last what
// leads packets somewhere, long routes before short ones.
const (
	rankMembers = iota
	rankGroups
	rankTables
	rankCopies
	rankWays
)

func rank(e entry.Entity) int {
	switch e := e.(type) {
	case entry.Clone, entry.Member:
		return rankMembers
	case entry.Group:
		return rankGroups
	case entry.Multicast:
		return rankCopies
	case entry.Table:
		switch e.Name {
		case p4.TableIpv6Route:
			return routeRank(e)
		case p4.TableLocalSid, p4.TableMtSource, p4.TableSrv6Policy, p4.TablePfcQueue:
			return rankWays
		}
	}
	return rankTables
}
