package fabric

import (
	"encoding/binary"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// register reads or writes the cell of a queue in a register of 32 bits.
func register(t *testing.T, e *embedded, name string, port uint32, class int,
	set ...uint32) uint32 {
	t.Helper()
	sw, cell := e.device.Switch(), int(port)<<3|class
	for i, r := range sw.Program().Registers() {
		if r.Name != name {
			continue
		}
		for _, v := range set {
			if err := sw.SetRegister(i, cell, binary.BigEndian.AppendUint32(nil, v)); err != nil {
				t.Fatal(err)
			}
		}
		v, err := sw.Register(i, cell)
		if err != nil {
			t.Fatal(err)
		}
		return binary.BigEndian.Uint32(v)
	}
	t.Fatalf("no register %s", name)
	return 0
}

// TestQueueOfReplacedProgram: if more packets have left than arrived, the surplus dates from before
// the program's replacement: the queue is empty, and counting starts there.
func TestQueueOfReplacedProgram(t *testing.T) {
	const port, left = 2, 100
	for _, trims := range []bool{false, true} {
		e := newEmbedded()
		e.reset(t)
		e.write(t, baseEntries())
		e.write(t, classEntries(priorities{}))
		class, q := dataClass, queueOf{port: port, limit: 1, ecnMin: never, ecnMax: never}
		dscp := dscps.NoTrim
		frame := octets(mrcPacket(port, dscp, 512))
		want := forwarded(port, frame)
		if trims {
			class, dscp = controlClass, dscps.Trimmable
			q.limit, q.trimLimit = 0, 1
			frame = octets(mrcPacket(port, dscp, 512))
			tr := packet.Trimmer{DSCP: dscps, Size: 96}
			rest, err := tr.Trim(forwarded(port, frame).frame, false)
			if err != nil {
				t.Fatal(err)
			}
			want.frame = rest
			e.write(t, []*p4v1.Update{trimEntry(tr, 0)})
		}
		e.write(t, []*p4v1.Update{q.entry()})
		register(t, e, "queue_out", port, class, left)
		for n := range uint32(3) {
			compareOutput(t, "replaced", e.inject(t, wire{1, frame}), []wire{want})
			if got := register(t, e, "queue_in", port, class); got != left+1+n {
				t.Errorf("trims %v: %d packets came, want %d", trims, got, left+1+n)
			}
		}
	}
}

// TestMarksOfReplacedProgram: for a packet that waited during a replacement of the program, only
// packets that arrived since count as waiting behind.
func TestMarksOfReplacedProgram(t *testing.T) {
	e := newEmbedded()
	e.reset(t)
	e.write(t, baseEntries())
	e.write(t, classEntries(priorities{}))
	e.write(t, []*p4v1.Update{queueOf{port: 2, limit: never, ecnMin: 5, ecnMax: 6}.entry()})
	e.device.Switch().SetQueueRate(2, 0, 1000)
	frame := wire{1, octets(mrcPacket(2, dscps.NoTrim, 64))}
	if out := e.inject(t, frame, frame); len(out) != 1 {
		t.Fatalf("%d packets left at once", len(out))
	}
	register(t, e, "queue_in", 2, dataClass, 0)
	e.out = nil
	e.advance(time.Second)
	e.device.Advance(e.now)
	compareOutput(t, "waited", e.out, []wire{forwarded(2, frame.frame)})
	if n := e.counters(t, p4.CounterClassMarksID)[2<<3|dataClass]; n != 0 {
		t.Errorf("%d marks", n)
	}
}
