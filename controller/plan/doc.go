// Package plan is the model that features plan on: a topology matched with an inventory, the shared
// numbers, and the assignment of switch entities to features. It also plans the entries that every
// switch holds regardless of groups and tenants. All functions are pure functions of topology,
// inventory and EV assignment.
//
// A [Network] is one topology matched with one inventory. [Network.Links] and [Network.Routes] make
// a switch part of it; one route stands for several destinations. An MRC fabric needs
// [Network.EVs], [Network.Classes] and [ICMPErrors] on top, and [Network.EVRoutes] in place of the
// routes. They share one package because both kinds of routes need the network's tree of
// destinations. Package controller/multicast/tree plans groups, and package controller/pfc plans
// tenants and PFC policies.
//
// # Numbers
//
// A group has the same number g, its index, on every switch. On a switch:
//
//   - neighbors: the neighbor behind a fabric port has the port's number as its
//     id; the k-th host behind a port has 512 (k+1) + port.
//   - ECMP groups: a number derived from the set of ports, unchanged while other
//     sets come and go; members have their port's number.
//   - clone sessions: port + 1.
//   - multicast groups: 1 to 32 fan out to so many receivers; the tree of group g
//     has 64 + 2g or 2112 + 2g, in turns, and its receivers alone 65 + 2g.
//   - replicas of branch b: instance b + 1 or b + 33, in turns with the tree.
//   - SIDs: the locator of the switch, and one of the four functions from
//     FunctionBase + 4g on: the first at the switch where the tree starts, where
//     it never changes; the second or third, in turns, at all others. Behind those
//     of all groups: the SID that ends probes, and those of tenants by VRF.
//
// Taking turns keeps the old tree working during a move, until no packet is on the old path any
// more.
package plan
