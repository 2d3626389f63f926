// Package reconcile makes switches hold what they should.
//
// It knows what each switch holds, as read back, and what each owner wants of it. Owners are
// opaque: a feature of the controller sets what its owner wants of a switch, and [Config] has to
// which owner an entity belongs and which entities must be written before others. [New] returns
// three faces:
//
//   - [Want] is what switches should hold. Features set it.
//   - [State] is what switches hold, what they refused and what nothing explains. Features ask it.
//   - [Events] takes what happens to switches, and returns the writes and reads to carry out and the
//     records to keep. It belongs to the composition of features.
//
// How it works:
//
//   - The difference between what is wanted and what a switch holds is computed
//     anew after every event, so nothing depends on having seen one.
//   - Insertions and modifications go in the order of ranks, and deletions in the
//     opposite order when nothing is left to insert or modify.
//   - A refused update is tried again after a pause that doubles; it holds up the
//     deletions of its owner, and nothing else.
//   - After an unknown outcome, and at every audit, the switch is read back.
//
// The package has no goroutine, clock or socket, and knows no feature.
package reconcile
