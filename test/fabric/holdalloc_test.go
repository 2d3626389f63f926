package fabric

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// TestPauseAllocatesNothing: PFC frames, held packets and generated frames cause no allocations.
func TestPauseAllocatesNothing(t *testing.T) {
	own := packet.MAC{2, 0, 0, 0, 0, 0x77}
	h := newHolder(t, 0,
		entry(p4.TablePfcQueue, []any{uint8(egress), 2, 3}, p4.ActionSetPfcQueue, 0, holdOctets, 0, 5000,
			1000, 1, 0, 1000, 0),
		upstream(egress, 2, 3, 0, p4.ActionPfcToTunnel, 9, sidBehind(4), 0, 48, 7, 7, own),
		entry(p4.TableSrPolicy, []any{9}, p4.ActionVia0, node))
	sw := h.device.Switch()
	sent := 0
	sw.SetOutput(counting{&sent})
	now := h.now
	pause, goOn, frame := onLink(2, pfcOf(1000, 3)).frame, onLink(2, packet.PFC{Classes: 8}).frame,
		data(3, 1)
	cycle := func() {
		sw.Receive(now, 2, pause)
		for range 4 {
			sw.Receive(now, 1, frame)
		}
		sw.Advance(now)
		for range 5 {
			now += 1000
			sw.Advance(now)
		}
		sw.Receive(now, 2, goOn)
		sw.Advance(now)
		now += 10 * wireTime
		sw.Advance(now)
	}
	cycle()
	before := sent
	if cycle(); sent-before < 8 {
		t.Fatalf("%d frames left in a cycle, want 4 held ones, XOFFs and XON", sent-before)
	}
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%g allocations in a cycle", n)
	}
}

// counting is an output that counts frames.
type counting struct{ sent *int }

func (c counting) Transmit(time.Duration, uint32, []byte) { *c.sent++ }
func (counting) Digest(time.Duration, int, [][]byte)      {}
