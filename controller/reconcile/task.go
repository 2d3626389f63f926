package reconcile

import (
	"iter"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Task is something to do with one switch. Its outcome goes to Done, unless the
// switch disconnects before; a Task that has only Packets has none.
type Task struct {
	Switch string
	// ID is unique, and repeated in the Result. It is 0 when no Result is expected.
	ID uint64
	// Batches are written one after the other; the updates of one may be carried out
	// in any order. A refused update does not stop the others.
	Batches [][]entry.Update
	// Read asks for everything the switch holds, instead of Batches.
	Read bool
	// Packets are sent to the switch after the updates.
	Packets []entry.PacketOut

	sent []pending // the updates, in order
}

// Writes returns the entities of the updates, in order, each with the owner who wants the update.
func (t *Task) Writes() iter.Seq2[Owner, entry.Entity] {
	return func(yield func(Owner, entry.Entity) bool) {
		for i := range t.sent {
			if !yield(t.sent[i].owner, t.sent[i].Entity) {
				return
			}
		}
	}
}

// Updates returns the number of updates in all batches.
func (t *Task) Updates() (n int) {
	for _, b := range t.Batches {
		n += len(b)
	}
	return n
}

// Result is the outcome of a [Task].
type Result struct {
	Switch string
	ID     uint64
	// Refused are the updates that did not take effect, in any order.
	Refused []entry.Refusal
	// Contents answer Read.
	Contents entry.Contents
	// Err is set if the effect of the updates is unknown, or if the read failed. The reconciler then
	// reads the switch again.
	Err error
}
