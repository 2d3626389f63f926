// Package ledger runs a core, and stands between it and clients: clients see only the part of the
// core that the store has kept.
//
// One goroutine owns the core. After each call, and when something is due, the [Ledger] takes a
// [Step]: it hands Saves to the writer of the store, does Now at once, and Then and Events when the
// store has the Saves. A core has no other way to keep something, and learns by Kept how far the
// store is.
//
// A core takes a change at once, and the store keeps it a moment later, or never. So answers and
// events wait until the store has everything that they may rest on. Then the ledger asks whether
// this process still decides: if so, no other decider has acknowledged anything newer than the
// answer. After a failed write the core may know more than the store: the core answers nothing that
// rests on the write, takes no change, and must be made anew from the records.
package ledger
