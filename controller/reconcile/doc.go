// Package reconcile makes switches hold what they should.
//
// The package knows the entities that each switch holds, as read back, and the entities that each
// owner wants on the switch. Owners are opaque: a feature of the controller sets the wanted
// entities of an owner. [Config] maps an entity to an owner, and orders the writes of entities.
// [New] returns three interfaces:
//
//   - [Want] takes the wanted entities of switches from features.
//   - [State] gives features the entities that switches hold, the refusals, and the orphans.
//   - [Events] takes the events of switches, and returns the writes and reads to carry out and the
//     records to store. Only the composition of features uses Events.
//
// How it works:
//
//   - After every event, the package computes the difference between wanted and held entities
//     again, so nothing depends on having seen a single event.
//   - Insertions and modifications go in the order of ranks, and deletions in the
//     opposite order when nothing is left to insert or modify.
//   - The package tries a refused update again after a pause that doubles. Meanwhile only the
//     deletions of the same owner wait.
//   - After an unknown outcome, and at every audit, the package reads the switch back.
//
// The package has no goroutine, clock or socket, and knows no feature.
package reconcile
