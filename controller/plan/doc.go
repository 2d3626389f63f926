// Package plan computes what every switch should hold: pure functions of a
// topology, an inventory and intents.
//
// A [Network] is one topology matched with one inventory. [Network.Links]
// and [Network.Routes] are what a switch needs whatever groups there are; one
// route stands for several destinations. [Network.Place] decides the tree of a
// group, its branch indices, SIDs and epoch as a [Placement], given the previous
// one; [Placement.Items] is what the placement needs of a switch. A placement
// holds all it needs, so that what a switch should hold for a group does not
// change with the network until the group is placed anew.
//
// An MRC fabric needs [Network.EVs], [Network.Classes] and [Network.ICMPErrors] on top, and
// [Network.EVRoutes] in place of the routes.
//
// # Numbers
//
// A group has the same number g, its index, on every switch. On a switch:
//
//   - neighbors: the neighbor behind a fabric port has the port's number as its
//     id; the k-th host behind a port has 512 (k+1) + port.
//   - ECMP groups: a number derived from the set of ports, so that it stays when
//     others come and go; members have their port's number.
//   - clone sessions: port + 1.
//   - multicast groups: 1 to 32 fan out to so many receivers; the tree of group g
//     has 64 + 2g or 2112 + 2g, in turns, and its receivers alone 65 + 2g.
//   - replicas of branch b: instance b + 1 or b + 33, in turns with the tree.
//   - SIDs: the locator of the switch, and one of the four functions from
//     FunctionBase + 4g on: the first at the switch where the tree starts, where
//     it never changes; the second or third, in turns, at all others.
//
// Taking turns keeps what a tree is moved away from working until nothing is on
// its way there any more.
package plan
