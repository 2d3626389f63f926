package fabric

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
)

// ports of a target: 1 to ports.
const ports = 8

// wire is a frame on a port. On the CPU port it starts with the packet_out or packet_in header.
type wire struct {
	port  uint32
	frame []byte
}

func (w wire) String() string {
	return fmt.Sprintf("port %d: %s", w.port, hex.EncodeToString(w.frame))
}

func compareWires(a, b wire) int {
	return cmp.Or(cmp.Compare(a.port, b.port), slices.Compare(a.frame, b.frame))
}

// target is a switch that runs the program.
type target interface {
	// reset starts the program afresh: tables, registers and counters empty.
	reset(t testing.TB)
	// write changes entries.
	write(t testing.TB, updates []*p4v1.Update)
	// inject sends frames in one after the other, and returns all resulting frames, in order on each
	// port.
	inject(t testing.TB, in ...wire) []wire
	// digests waits for want digests and returns all digests since the previous call.
	digests(t testing.TB, want int) []learned
	// counters returns the cells of an indirect counter that are not zero, in packets.
	counters(t testing.TB, id uint32) map[int]int
	// virtual reports that time stands still but for advance.
	virtual() bool
	advance(d time.Duration)
}

type drops = map[p4.DropReason]int
type events = map[p4.MtEvent]int

// step is a packet with all its consequences.
type step struct {
	what  string
	after time.Duration  // time that passes before; only in scenarios for virtual time
	write []*p4v1.Update // changed before
	in    wire           // none if the frame is nil
	out   []wire         // in any order
	// Increments.
	ingress, egress drops
	events          events
	classes         counts // only of scenarios that state them
	icmp            map[p4.IcmpEvent]int
	nd              map[p4.NdEvent]int
	pauses          counts // commands given and PFC frames made
	learned         []learned
}

// counts are increments of cells of other counters.
type counts = map[cell]int

// scenario is a story of one switch. It starts with the base entries and its own.
type scenario struct {
	name    string
	virtual bool // only where time is virtual
	classes bool // its steps state the counters of classes too
	entries []*p4v1.Update
	steps   []step
}

// run plays the scenario.
func (s scenario) run(t *testing.T, target target) {
	if s.virtual && !target.virtual() {
		t.Skip("skipped: needs exact times, this target has the real clock")
	}
	target.reset(t)
	target.write(t, baseEntries())
	target.write(t, s.entries)
	read := func() map[cell]int { return readCells(t, target, s.counters()...) }
	seen := read()
	for i, step := range s.steps {
		name := fmt.Sprintf("step %d", i+1)
		if step.what != "" {
			name += " (" + step.what + ")"
		}
		target.write(t, step.write)
		target.advance(step.after)
		var out []wire
		if step.in.frame != nil {
			out = target.inject(t, step.in)
		}
		compareOutput(t, name, out, step.out)
		if got := target.digests(t, len(step.learned)); !slices.EqualFunc(got, step.learned,
			learned.equal) {
			t.Errorf("%s: digests\n%v, want\n%v", name, got, step.learned)
		}
		now := read()
		compareCells(t, name, seen, now, step.cells())
		seen = now
		if t.Failed() {
			return
		}
	}
}

// cell names a counter cell that scenarios state.
type cell struct {
	counter uint32
	index   int
}

func (c cell) String() string {
	switch c.counter {
	case p4.CounterIngressDropsID:
		return fmt.Sprintf("ingress_drops[%v]", p4.DropReason(c.index))
	case p4.CounterEgressDropsID:
		return fmt.Sprintf("egress_drops[%v]", p4.DropReason(c.index))
	case p4.CounterIcmpEventsID:
		return fmt.Sprintf("icmp_events[%v]", p4.IcmpEvent(c.index))
	case p4.CounterNdEventsID:
		return fmt.Sprintf("nd_events[%v]", p4.NdEvent(c.index))
	case p4.CounterMtEventsID:
		return fmt.Sprintf("mt_events[%v]", p4.MtEvent(c.index))
	}
	return fmt.Sprintf("%s[port %d class %d]", map[uint32]string{
		p4.CounterPfcXoffRxID: p4.CounterPfcXoffRx, p4.CounterPfcXonRxID: p4.CounterPfcXonRx,
		p4.CounterPfcXoffTxID: p4.CounterPfcXoffTx, p4.CounterPfcXonTxID: p4.CounterPfcXonTx,
		p4.CounterClassTxID: p4.CounterClassTx, p4.CounterClassMarksID: p4.CounterClassMarks,
		p4.CounterClassTrimsID: p4.CounterClassTrims, p4.CounterClassDropsID: p4.CounterClassDrops,
	}[c.counter], c.index>>3, c.index&7)
}

// counters are those that its steps state.
func (s scenario) counters() []uint32 {
	ids := []uint32{
		p4.CounterIngressDropsID, p4.CounterEgressDropsID, p4.CounterMtEventsID, p4.CounterIcmpEventsID,
		p4.CounterNdEventsID,
		p4.CounterPfcXoffRxID, p4.CounterPfcXonRxID, p4.CounterPfcXoffTxID, p4.CounterPfcXonTxID,
	}
	if s.classes {
		ids = append(ids, p4.CounterClassTxID, p4.CounterClassMarksID, p4.CounterClassTrimsID,
			p4.CounterClassDropsID)
	}
	return ids
}

func readCells(t testing.TB, target target, ids ...uint32) map[cell]int {
	cells := map[cell]int{}
	if len(ids) == 0 {
		ids = scenario{}.counters()
	}
	for _, id := range ids {
		for index, packets := range target.counters(t, id) {
			cells[cell{id, index}] = packets
		}
	}
	return cells
}

func (s step) cells() map[cell]int {
	cells := map[cell]int{}
	for reason, n := range s.ingress {
		cells[cell{p4.CounterIngressDropsID, int(reason)}] = n
	}
	for reason, n := range s.egress {
		cells[cell{p4.CounterEgressDropsID, int(reason)}] = n
	}
	for event, n := range s.events {
		cells[cell{p4.CounterMtEventsID, int(event)}] = n
	}
	for event, n := range s.icmp {
		cells[cell{p4.CounterIcmpEventsID, int(event)}] = n
	}
	for event, n := range s.nd {
		cells[cell{p4.CounterNdEventsID, int(event)}] = n
	}
	maps.Copy(cells, s.classes)
	maps.Copy(cells, s.pauses)
	return cells
}

func compareCells(t testing.TB, name string, before, after, want map[cell]int) {
	t.Helper()
	keys := map[cell]bool{}
	for _, m := range []map[cell]int{before, after, want} {
		for c := range m {
			keys[c] = true
		}
	}
	for c := range keys {
		if got := after[c] - before[c]; got != want[c] {
			t.Errorf("%s: %v went up by %d, want %d", name, c, got, want[c])
		}
	}
}

func compareOutput(t testing.TB, name string, got, want []wire) {
	t.Helper()
	got, want = slices.Clone(got), slices.Clone(want)
	slices.SortFunc(got, compareWires)
	slices.SortFunc(want, compareWires)
	if slices.EqualFunc(got, want, func(a, b wire) bool { return compareWires(a, b) == 0 }) {
		return
	}
	t.Errorf("%s: %d packets out, want %d", name, len(got), len(want))
	for _, w := range want {
		i := slices.IndexFunc(got, func(g wire) bool { return compareWires(g, w) == 0 })
		if i >= 0 {
			got = slices.Delete(got, i, i+1)
			continue
		}
		t.Errorf("%s: missing %v\n%s", name, w, dissect(w))
	}
	for _, g := range got {
		t.Errorf("%s: not wanted %v\n%s", name, g, dissect(g))
	}
}
