package reconcile

import "github.com/weft-sdn/weft/southbound/entry"

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
	// Err is set when it is unknown which updates took effect, or when the read
	// failed. The switch is then read again.
	Err error
}
