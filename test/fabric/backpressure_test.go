package fabric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/seeds"
)

// wan is two switches far apart, R1 and R3 of the draft's figure 3: data goes in at R1, over its
// port 2 and the WAN to R3, and out by R3's port 2; PFC frames come back through a tunnel.
type wan struct {
	r1, r3 *holder
	delay  time.Duration
	rng    *rand.Rand
	flying []arrivalAt
	taken  [2]int // of what left r1 and r3
	spared bool   // the PFC frame before was lost
	lost   int
}

type arrivalAt struct {
	at    time.Duration
	to    *holder
	port  uint32
	frame []byte
}

func (w *wan) later(at time.Duration, to *holder, port uint32, frame []byte) {
	a := arrivalAt{at, to, port, slices.Clone(frame)}
	copy(a.frame, nodeMAC[:])
	if p := new(packet.PFC); len(frame) == packet.PFCFrameLen {
		if _, err := p.ParseFrame(frame); err == nil {
			copy(a.frame, packet.PFCAddress[:])
		}
	}
	i, _ := slices.BinarySearchFunc(w.flying, at, func(x arrivalAt, at time.Duration) int {
		if x.at <= at {
			return -1
		}
		return 1
	})
	w.flying = slices.Insert(w.flying, i, a)
}

// collect puts on its way what has left the switches.
func (w *wan) collect() {
	for ; w.taken[0] < len(w.r1.out); w.taken[0]++ {
		if o := w.r1.out[w.taken[0]]; o.port == 2 {
			w.later(w.r1.at[w.taken[0]]+w.delay, w.r3, 1, o.frame)
		}
	}
	for ; w.taken[1] < len(w.r3.out); w.taken[1]++ {
		o := w.r3.out[w.taken[1]]
		if o.port != 1 {
			continue
		}
		if w.spared = !w.spared && w.rng.IntN(5) == 0; w.spared {
			w.lost++
			continue
		}
		w.later(w.r3.at[w.taken[1]]+w.delay, w.r1, 2, o.frame)
	}
}

// run plays all until nothing is on its way, nor waits.
func (w *wan) run() {
	for {
		w.collect()
		var next time.Duration = -1
		for _, h := range []*holder{w.r1, w.r3} {
			if t, pending := h.device.Advance(h.now); pending && (next < 0 || t < next) {
				next = t
			}
		}
		w.collect()
		if len(w.flying) > 0 && (next < 0 || w.flying[0].at <= next) {
			a := w.flying[0]
			w.flying = w.flying[1:]
			a.to.now = max(a.to.now, a.at)
			a.to.device.Receive(a.at, a.port, a.frame)
			continue
		}
		if next < 0 {
			return
		}
		w.r1.now, w.r3.now = max(w.r1.now, next), max(w.r3.now, next)
	}
}

// TestBackpressure: with the headroom of a round trip and a refresh nothing is lost at R3, whatever
// it is paused by and although single PFC frames get lost; packets stay in order, and another
// priority does not wait. Without marks the same traffic overflows.
func TestBackpressure(t *testing.T) {
	const (
		priority, other = 3, 5 // the other above: queues have strict priorities
		packets         = 3000
		quanta          = 2000
		refresh         = 60 * time.Microsecond // half of what the quanta last, and a little less
		xoff            = 20 * holdOctets
	)
	first, rounds := seeds.Range(t, 1, 4)
	for seed := first; seed < first+rounds; seed++ {
		for _, marks := range []bool{true, false} {
			rng := rand.New(rand.NewPCG(seed, 7))
			delay := 20*time.Microsecond + time.Duration(rng.Int64N(int64(200*time.Microsecond)))
			headroom := int((2*delay + refresh + 5*time.Microsecond) * holdSpeed / 8 / time.Second)
			sid, own := addr("fd00:b:1::bfc2"), packet.MAC{2, 0, 0, 0, 0, 0x33}
			mark := xoff
			if !marks {
				mark = 0
			}
			w := &wan{
				delay: delay, rng: rng,
				r1: newHolder(t, 0,
					entry(p4.TableLocalSid, []any{exactly(sid)}, p4.ActionEndXPfc, 2, neighborOf(2), 0),
					entry(p4.TablePfcTunnel, []any{sid, node, 0}, p4.ActionAcceptPfc, 1<<priority)),
				r3: newHolder(t, 0,
					entry(p4.TablePfcQueue, []any{uint8(egress), 2, priority}, p4.ActionSetPfcQueue, xoff+headroom,
						mark, xoff/2, quanta, int(refresh), 1, 0, 0, 0),
					upstream(egress, 2, priority, 0, p4.ActionPfcToTunnel, 9, sid, 0, 48, 7, 7, own),
					entry(p4.TableSrPolicy, []any{9}, p4.ActionVia0, node)),
			}
			at := w.r1.start
			for n := range packets {
				w.later(at, w.r1, 1, data(priority, n))
				w.later(at, w.r1, 1, data(other, n))
				at += 3 * wireTime
			}
			// The data center behind R3 pauses it now and then, and then for long.
			for at := w.r3.start; at < w.r3.start+500*time.Microsecond; at += time.Duration(
				rng.Int64N(int64(200 * time.Microsecond))) {
				w.later(at, w.r3, 2, pfcOf(uint16(1+rng.IntN(3000)), priority).AppendFrame(nil, pfcSource))
				if rng.IntN(2) == 0 {
					w.later(at+time.Duration(rng.Int64N(int64(100*time.Microsecond))), w.r3, 2,
						pfcOf(0, priority).AppendFrame(nil, pfcSource))
				}
			}
			w.later(w.r3.start+600*time.Microsecond, w.r3, 2, pfcOf(65535, priority).AppendFrame(nil,
				pfcSource))
			w.later(w.r3.start+3*time.Millisecond, w.r3, 2, pfcOf(0, priority).AppendFrame(nil, pfcSource))
			w.run()

			dropped := w.r1.device.Switch().Stats().Drops.Total() +
				w.r3.device.Switch().Stats().Drops.Total()
			if !marks {
				if dropped == 0 {
					t.Errorf("seed %d: nothing is lost without marks: the traffic proves nothing", seed)
				}
				continue
			}
			times, which := w.r3.left()
			next := map[byte]int{}
			for i, name := range which {
				p := name[0] - '0'
				if want := fmt.Sprintf("%d:%d", p, next[p]); name != want {
					t.Fatalf("seed %d: %s left, want %s", seed, name, want)
				}
				if late := times[i] - time.Duration(next[p])*3*wireTime - delay; p == other &&
					late > 4*wireTime {
					t.Fatalf("seed %d: %s left %v late: it waited for another priority", seed, name, late)
				}
				next[p]++
			}
			held := w.r1.report(egress, 2, priority)
			if dropped != 0 || next[priority] != packets || next[other] != packets {
				t.Errorf("seed %d: %d dropped, %d and %d of %d delivered", seed, dropped, next[priority],
					next[other], packets)
			}
			if held.XOFFsReceived == 0 || held.Peak == 0 {
				t.Errorf("seed %d: R1 held nothing: %+v", seed, held)
			}
			t.Logf("seed %d: delay %v, headroom %d octets; R1 was paused %d times and held %d octets at "+
				"most, R3 %d; %d PFC frames lost",
				seed, delay, headroom, held.XOFFsReceived, held.Peak, w.r3.report(egress, 2, priority).Peak,
				w.lost)
		}
	}
}
