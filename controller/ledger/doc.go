// Package ledger stands between clients and a core that one goroutine owns: what clients see of the
// core is what the store has kept.
//
// A core takes a change at once, and the store keeps it a moment later, or never. So an answer waits
// until the store has everything that it may rest on, and so do events. Then the ledger asks whether
// this process still decides: an answer that was ready before it did cannot be older than what
// another decider has acknowledged. After a write that failed the core knows more than the store may
// have: it answers nothing that rests on it, takes no change, and must be made anew of the records.
package ledger
