package fabric

import (
	"fmt"
	"slices"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// What the embedded switch's traffic manager does with what the program tells it, in virtual time.

const (
	holdSpeed   = 8_000_000_000 // bits a second of port 2
	quantum     = packet.PFCQuantumBits * time.Second / holdSpeed
	holdPayload = 200
	holdOctets  = packet.EthernetLen + packet.IPv6Len + holdPayload
	wireTime    = (holdOctets + 24) * 8 * time.Second / holdSpeed
)

// holder is a switch whose port 2 has a speed, and DSCPs 10 + n in queue n.
type holder struct {
	*embedded
	t     *testing.T
	start time.Duration
	seen  int // of what left
}

func newHolder(t *testing.T, buffer int, entries ...*p4v1.Update) *holder {
	t.Helper()
	h := &holder{embedded: &embedded{hold: true, buffer: buffer}, t: t}
	h.reset(t)
	h.write(t, baseEntries())
	for n := range 8 {
		h.write(t, []*p4v1.Update{entry(p4.TableTrafficClass, []any{10 + n}, p4.ActionSetClass, n, n)})
	}
	h.write(t, []*p4v1.Update{entry(p4.TablePfcPort, []any{2}, p4.ActionAcceptLinkPfc, 0x7f)})
	h.write(t, entries)
	h.device.Switch().SetPortSpeed(2, holdSpeed)
	h.start = h.now
	return h
}

// data is the n-th packet of a priority, to port 2.
func data(priority, n int) []byte {
	ip := packet.IPv6{TrafficClass: packet.TrafficClass(uint8(10+priority), 0), FlowLabel: uint32(n),
		NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: host(1), Dst: host(2)}
	return plain(ip, pattern(holdPayload))
}

func (h *holder) send(port uint32, frame []byte) {
	h.device.Receive(h.now, port, frame)
	h.run(h.now)
}

// run lets time pass up to a moment, in the steps that the switch asks for.
func (h *holder) run(to time.Duration) {
	for {
		next, pending := h.device.Advance(h.now)
		if pending && next <= h.now {
			continue
		}
		if !pending || next > to {
			break
		}
		h.now = next
	}
	h.now = max(h.now, to)
}

func (h *holder) wait(d time.Duration) { h.run(h.now + d) }

// left are the packets that left by port 2 since it was asked last: when, since the start, and
// which.
func (h *holder) left() (at []time.Duration, which []string) {
	for ; h.seen < len(h.out); h.seen++ {
		if w := h.out[h.seen]; w.port == 2 && len(w.frame) == holdOctets {
			priority := w.frame[offOuter]<<4 | w.frame[offOuter+1]>>4
			at = append(at, h.at[h.seen]-h.start)
			which = append(which, fmt.Sprintf("%d:%d", priority>>2-10,
				uint32(w.frame[offOuter+2])<<8|uint32(w.frame[offOuter+3])))
		}
	}
	return at, which
}

func (h *holder) want(what string, which ...string) []time.Duration {
	h.t.Helper()
	at, got := h.left()
	if !slices.Equal(got, which) {
		h.t.Fatalf("%s: left %v, want %v", what, got, which)
	}
	return at
}

// report asks for the state of a queue in the controller's way.
func (h *holder) report(direction p4.PfcDirection, port uint32, priority uint8) p4.QueueReport {
	h.t.Helper()
	before := len(h.out)
	query := p4.TargetFrame{Op: p4.TargetOpQuery, Direction: direction, Port: uint16(port),
		Priority: priority}
	if err := h.device.PacketOut(h.now,
		toPacketOut(packetOut(p4.PacketOutOpSend, p4.PfcPort, 0, 0,
			query.Append(nil)...).frame)); err != nil {
		h.t.Fatal(err)
	}
	h.run(h.now)
	for _, w := range h.out[before:] {
		if f, r, ok := reportIn(w); ok && f.Op == p4.TargetOpState {
			return r
		}
	}
	h.t.Fatal("no answer")
	return p4.QueueReport{}
}

// reportIn is what a packet-in says of a queue.
func reportIn(w wire) (p4.TargetFrame, p4.QueueReport, bool) {
	if w.port != p4.CpuPort || len(w.frame) < packetInLen ||
		p4.PacketInReason(w.frame[2]) != p4.PacketInReasonPfc {
		return p4.TargetFrame{}, p4.QueueReport{}, false
	}
	f, r, err := p4.ParseTargetReport(w.frame[packetInLen:])
	return f, r, err == nil
}

// reports returns the unsolicited reports of an operation.
func (h *holder) reports(op p4.TargetOp) (list []p4.QueueReport) {
	for _, w := range h.out {
		if f, r, ok := reportIn(w); ok && f.Op == op {
			list = append(list, r)
		}
	}
	return list
}

// TestPauseHolds: a pause holds the named priorities of its port for its quanta, in order, and
// nothing else. A new pause replaces the previous pause; quanta of 0 end a pause.
func TestPauseHolds(t *testing.T) {
	h := newHolder(t, 0)
	h.send(2, onLink(2, pfcOf(1000, 3)).frame)
	for n := range 3 {
		h.send(1, data(3, n))
		h.send(1, data(1, n))
		h.send(1, data(7, n))
	}
	h.wait(9 * wireTime)
	at := h.want("others", "1:0", "7:0", "7:1", "7:2", "1:1", "1:2")
	for i, a := range at {
		if a != time.Duration(i)*wireTime {
			t.Errorf("other packet %d left at %v, want %v", i, a, time.Duration(i)*wireTime)
		}
	}
	if r := h.report(egress, 2, 3); r.Packets != 3 || r.Octets != 3*holdOctets ||
		r.Paused != 1000*quantum-9*wireTime || r.PausedFor != 9*wireTime || r.XOFFsReceived != 1 ||
		r.XOFFReceived != 9*wireTime || r.XONReceived != p4.NeverYet {
		t.Errorf("%+v", r)
	}
	h.run(h.start + 1000*quantum - 1)
	h.want("a nanosecond before")
	h.run(h.start + 1000*quantum + 9*wireTime)
	for i, a := range h.want("when the quanta are over", "3:0", "3:1", "3:2") {
		if want := 1000*quantum + time.Duration(i)*wireTime; a != want {
			t.Errorf("held packet %d left at %v, want %v", i, a, want)
		}
	}

	// XON, and a longer second pause, then a shorter one.
	from := h.now
	h.send(2, onLink(2, pfcOf(100, 3, 4)).frame)
	h.send(1, data(3, 10))
	h.send(1, data(4, 10))
	h.wait(50 * quantum)
	h.send(2, onLink(2, packet.PFC{Classes: 1 << 3}).frame)
	h.want("XON", "3:10")
	h.send(2, onLink(2, pfcOf(1000, 4)).frame)
	h.run(from + 1049*quantum)
	h.want("the second pause is longer")
	h.send(2, onLink(2, pfcOf(100, 4)).frame)
	h.run(from + 1149*quantum)
	if at := h.want("the third is shorter", "4:10"); at[0] != from-h.start+1149*quantum {
		t.Errorf("left at %v", at)
	}
	if n := h.device.Switch().Stats().Drops.Total(); n != 0 {
		t.Errorf("%d packets dropped", n)
	}
}

// TestPauseOfPortsWithoutSpeed: the same where frames take no time, and by a packet-out.
func TestPauseOfPortsWithoutSpeed(t *testing.T) {
	h := newHolder(t, 0)
	h.device.Switch().SetPortSpeed(2, 0)
	const pause = 1000 * packet.PFCQuantumBits * time.Second / 100e9
	h.send(1, data(3, 0))
	h.want("before", "3:0")
	h.send(2, onLink(2, pfcOf(1000, 3)).frame)
	h.send(1, data(3, 1))
	h.send(1, data(3, 2))
	h.send(1, data(1, 1))
	h.want("others", "1:1")
	h.run(h.start + pause)
	h.want("after", "3:1", "3:2")
	h.send(2, onLink(2, pfcOf(1000, 3)).frame)
	h.send(1, data(3, 3))
	h.device.Switch().SetPortSpeed(2, holdSpeed)
	h.device.Switch().SetPortSpeed(2, 0)
	h.run(h.now)
	h.want("the pause is kept when the speed changes")
	h.wait(pause)
	h.want("and over", "3:3")
}

// TestIngressWatchCountsEveryPacket: a packet that need not wait counts in the watch of its ingress
// port. The switch therefore signals an XOFF below the packet's length, and takes the XOFF back
// after the packet has left.
func TestIngressWatchCountsEveryPacket(t *testing.T) {
	h := newHolder(t, 0, entry(p4.TablePfcQueue, []any{uint8(ingress), 1, 3}, p4.ActionSetPfcQueue, 0,
		holdOctets-1, 0, 0, 0, 1, 0, 0, 0))
	h.device.Switch().SetPortSpeed(2, 0)
	h.send(1, data(3, 1))
	h.want("passes", "3:1")
	if r := h.report(ingress, 1, 3); r.Peak != holdOctets || r.XOFFsSent != 1 || r.XONsSent != 1 ||
		r.Asserted || r.Packets != 0 {
		t.Errorf("the watch says %+v", r)
	}
}

// TestPauseBuffer: a paused queue has a bound, with an entry or without; the switch counts packets
// beyond the bound, and keeps the order of the others.
func TestPauseBuffer(t *testing.T) {
	for name, h := range map[string]*holder{
		"by the configuration": newHolder(t, 3*holdOctets),
		"by an entry": newHolder(t, 0, entry(p4.TablePfcQueue, []any{uint8(egress), 2, 3},
			p4.ActionSetPfcQueue, 3*holdOctets, 0, 0, 0, 0, 0, 0, 0, 0)),
	} {
		h.t = t
		h.send(2, onLink(2, pfcOf(1000, 3)).frame)
		for n := range 5 {
			h.send(1, data(3, n))
			h.send(1, data(2, n))
		}
		if r := h.report(egress, 2, 3); r.Packets != 3 || r.Peak != 3*holdOctets || r.Overflows != 2 {
			t.Errorf("%s: %+v", name, r)
		}
		h.wait(2000 * quantum)
		h.want(name, "2:0", "2:1", "2:2", "2:3", "2:4", "3:0", "3:1", "3:2")
		if s := h.device.Switch().Stats(); s.Drops[drop.PauseBufferFull] != 2 || s.Drops.Total() != 2 {
			t.Errorf("%s: %d dropped, %d for the buffer; want 2", name, s.Drops.Total(),
				s.Drops[drop.PauseBufferFull])
		}
		h.send(2, onLink(2, packet.PFC{Classes: 8}).frame)
		h.send(1, data(3, 9))
		h.wait(wireTime)
		h.want("room again", "3:9")
	}
}

// pfcFrames are the PFC frames that left by a port since an index, as quanta of a priority and
// when.
func (h *holder) pfcFrames(port uint32, priority int) (at []time.Duration, quanta []uint16) {
	for i, w := range h.out {
		var p packet.PFC
		frame := w.frame
		if f, _, err := packet.ParseSRv6Frame(frame); err == nil {
			frame = f.Frame
		}
		if _, err := p.ParseFrame(frame); w.port == port && err == nil && p.Classes == 1<<priority {
			at, quanta = append(at, h.at[i]-h.start), append(quanta, p.Quanta[priority])
		}
	}
	return at, quanta
}

// TestMarks: XOFF goes to all upstreams when a queue passes its mark, again while it stays above
// the lower one, and XON when it does not; on congestion, on being paused, and on what came by a
// port.
func TestMarks(t *testing.T) {
	own := packet.MAC{2, 0, 0, 0, 0, 0x77}
	const refresh = 100 * wireTime
	for name, c := range map[string]struct {
		direction p4.PfcDirection
		port      uint32
	}{"egress queue": {egress, 2}, "what came by port 1": {ingress, 1}} {
		settings := []any{0, 4 * holdOctets, 2 * holdOctets, 5000, int(refresh), 2, 0, 0, 0}
		h := newHolder(t, 0,
			entry(p4.TablePfcQueue, []any{uint8(c.direction), c.port, 3}, p4.ActionSetPfcQueue, settings...),
			upstream(c.direction, c.port, 3, 0, p4.ActionPfcToLink, 1, 7, own),
			upstream(c.direction, c.port, 3, 1, p4.ActionPfcToTunnel, 9, sidBehind(4), 0, 48, 7, 7, own),
			entry(p4.TableSrPolicy, []any{9}, p4.ActionVia0, node),
		)
		h.t = t
		// A burst: one is on the wire, more than four wait.
		for n := range 6 {
			h.send(1, data(3, n))
		}
		h.wait(20 * wireTime)
		for _, port := range []uint32{1, 4} {
			at, quanta := h.pfcFrames(port, 3)
			if !slices.Equal(quanta, []uint16{5000, 0}) ||
				!slices.Equal(at, []time.Duration{0, 3 * wireTime}) {
				t.Errorf("%s, congestion: port %d sent %v at %v", name, port, quanta, at)
			}
		}
		// Paused, and no packet comes any more: it is said again.
		from := h.now
		h.send(2, onLink(2, pfcOf(65535, 3)).frame)
		for n := range 5 {
			h.send(1, data(3, n))
			h.send(1, data(1, n))
		}
		h.wait(3*refresh + refresh/2)
		h.send(2, onLink(2, packet.PFC{Classes: 8}).frame)
		h.wait(20 * wireTime)
		at, quanta := h.pfcFrames(1, 3)
		since := from - h.start
		if !slices.Equal(quanta[2:], []uint16{5000, 5000, 5000, 5000, 0}) ||
			!slices.Equal(at[2:6], []time.Duration{since, since + refresh, since + 2*refresh,
				since + 3*refresh}) {
			t.Errorf("%s, paused: %v at %v, from %v", name, quanta[2:], at[2:], since)
		}
		r := h.report(c.direction, c.port, 3)
		if r.Asserted || r.XOFFsSent != 10 || r.XONsSent != 4 || r.Packets != 0 || r.Octets != 0 ||
			r.Peak != 5*holdOctets {
			t.Errorf("%s: %+v", name, r)
		}
		if n := h.device.Switch().Stats().Drops.Total(); n != 0 {
			t.Errorf("%s: %d dropped", name, n)
		}
		// Marks that move, and an entry that goes.
		h.send(2, onLink(2, pfcOf(65535, 3)).frame)
		for n := range 3 {
			h.send(1, data(3, n))
		}
		before := len(h.out)
		settings[1], settings[2] = holdOctets, 0
		h.write(t, modify(entry(p4.TablePfcQueue, []any{uint8(c.direction), c.port, 3},
			p4.ActionSetPfcQueue, settings...)))
		h.run(h.now)
		if got := len(h.out) - before; got != 2 {
			t.Errorf("%s: a lower mark made %d frames, want 2", name, got)
		}
		h.write(t, remove(entry(p4.TablePfcQueue, []any{uint8(c.direction), c.port, 3},
			p4.ActionSetPfcQueue, settings...)))
		before = len(h.out)
		h.wait(3 * refresh)
		if got := len(h.out) - before; got != 0 {
			t.Errorf("%s: without its entry a queue made %d frames", name, got)
		}
	}
}

// TestQueueRateOfSlice: a queue has its own bandwidth.
func TestQueueRateOfSlice(t *testing.T) {
	const rate = holdSpeed / 10
	h := newHolder(t, 0, entry(p4.TablePfcQueue, []any{uint8(egress), 2, 3}, p4.ActionSetPfcQueue, 0,
		0, 0, 0, 0, 0, rate/1000, 0, 0))
	for n := range 3 {
		h.send(1, data(3, n))
	}
	h.send(1, data(1, 0))
	h.wait(time.Millisecond)
	const each = holdOctets * 8 * time.Second / rate
	if at := h.want("at a tenth", "3:0", "1:0", "3:1", "3:2"); !slices.Equal(at,
		[]time.Duration{0, wireTime, each, 2 * each}) {
		t.Errorf("%v", at)
	}
}

// TestWatchdog: a queue that is paused for longer than its limit and does not move is a storm,
// which ends a limit after the pauses do. A queue that moves is none, however long it is paused in
// all.
func TestWatchdog(t *testing.T) {
	const limit = 200 * time.Microsecond // the longest pause of this speed lasts 4.2 ms
	watched := func(action p4.WatchdogAction) *holder {
		return newHolder(t, 0, entry(p4.TablePfcQueue, []any{uint8(egress), 2, 3}, p4.ActionSetPfcQueue,
			0, 0, 0, 0, 0, 0, 0, int(limit/time.Microsecond), uint8(action)))
	}
	pause := func(h *holder, quanta uint16) { h.send(2, onLink(2, pfcOf(quanta, 3)).frame) }

	t.Run("refreshed, and moving", func(t *testing.T) {
		h := watched(p4.WatchdogActionDrop)
		h.t = t
		for n := range 100 {
			pause(h, uint16(limit*9/10/quantum))
			h.send(1, data(3, 2*n))
			h.send(1, data(3, 2*n+1))
			h.wait(limit * 95 / 100)
		}
		if s := h.reports(p4.TargetOpStorm); len(s) != 0 || h.device.Switch().Stats().Drops.Total() != 0 {
			t.Errorf("a storm: %+v", s)
		}
		if _, which := h.left(); len(which) < 190 {
			t.Errorf("%d packets left", len(which))
		}
	})
	t.Run("nothing waits", func(t *testing.T) {
		h := watched(p4.WatchdogActionDrop)
		h.t = t
		pause(h, 65535)
		h.wait(5 * limit)
		h.send(1, data(3, 0))
		h.wait(limit - 1)
		if len(h.reports(p4.TargetOpStorm)) != 0 {
			t.Error("a storm before a packet has waited for the limit")
		}
		h.wait(1)
		if len(h.reports(p4.TargetOpStorm)) != 1 {
			t.Error("no storm after it has")
		}
	})
	t.Run("just not as long", func(t *testing.T) {
		h := watched(p4.WatchdogActionDrop)
		h.t = t
		pause(h, uint16(limit/quantum))
		h.send(1, data(3, 0))
		h.wait(2 * limit)
		h.want("it goes on by itself", "3:0")
		if len(h.reports(p4.TargetOpStorm)) != 0 {
			t.Error("a storm")
		}
	})
	storm := func(t *testing.T, h *holder) {
		h.t = t
		pause(h, 65535)
		h.send(1, data(3, 0))
		h.send(1, data(1, 0))
		for range 10 { // refreshed, and nothing moves
			h.wait(limit / 10)
			pause(h, 65535)
		}
		if s := h.reports(p4.TargetOpStorm); len(s) != 1 || !s[0].Storm || s[0].Storms != 1 ||
			s[0].Packets > 1 {
			t.Fatalf("%+v", s)
		}
	}
	over := func(t *testing.T, h *holder) {
		t.Helper()
		h.send(2, onLink(2, packet.PFC{Classes: 8}).frame)
		h.wait(limit - 1)
		if len(h.reports(p4.TargetOpStormOver)) != 0 {
			t.Error("over before it was quiet for the limit")
		}
		h.wait(1)
		if s := h.reports(p4.TargetOpStormOver); len(s) != 1 || s[0].Storm {
			t.Errorf("the end: %+v", s)
		}
		h.left()
		pause(h, 100)
		h.send(1, data(3, 8))
		h.want("a pause counts again")
		h.wait(100 * quantum)
		h.want("for its time", "3:8")
	}
	t.Run("released", func(t *testing.T) {
		h := watched(p4.WatchdogActionRelease)
		storm(t, h)
		h.send(1, data(3, 1))
		h.wait(wireTime)
		h.want("pauses have no effect", "1:0", "3:0", "3:1")
		over(t, h)
		if n := h.device.Switch().Stats().Drops.Total(); n != 0 {
			t.Errorf("%d dropped", n)
		}
	})
	t.Run("dropped", func(t *testing.T) {
		h := watched(p4.WatchdogActionDrop)
		storm(t, h)
		h.send(1, data(3, 1))
		h.send(1, data(1, 1))
		h.wait(wireTime)
		h.want("others go on", "1:0", "1:1")
		if s := h.device.Switch().Stats(); s.Drops[drop.Storm] != 2 || s.Drops.Total() != 2 {
			t.Errorf("%d dropped, %d of them by the watchdog; want 2", s.Drops.Total(), s.Drops[drop.Storm])
		}
		if r := h.report(egress, 2, 3); r.StormDrops != 2 || !r.Storm || r.Packets != 0 {
			t.Errorf("%+v", r)
		}
		over(t, h)
	})
	t.Run("reported", func(t *testing.T) {
		h := watched(p4.WatchdogActionReport)
		storm(t, h)
		h.want("the pause holds", "1:0")
		over(t, h)
	})
}

// TestQuery: any queue can be asked for; what the traffic manager does not know is counted.
func TestQuery(t *testing.T) {
	h := newHolder(t, 0)
	none := p4.QueueReport{XOFFReceived: p4.NeverYet, XONReceived: p4.NeverYet, XOFFSent: p4.NeverYet,
		XONSent: p4.NeverYet}
	for _, direction := range []p4.PfcDirection{egress, ingress} {
		for _, port := range []uint32{2, 7, 400} {
			if r := h.report(direction, port, 5); r != none {
				t.Errorf("port %d: %+v", port, r)
			}
		}
	}
	for n := range 3 {
		h.send(1, data(5, n))
	}
	if r := h.report(egress, 2, 5); r.Packets != 2 || r.Octets != 2*holdOctets {
		t.Errorf("a queue that nobody watches: %+v", r)
	}
	unknown := [][]byte{
		p4.TargetFrame{Op: 99}.Append(nil), p4.TargetFrame{Op: p4.TargetOpQuery, Priority: 8}.Append(nil),
		p4.TargetFrame{Op: p4.TargetOpPause}.Append(nil),
		pattern(60), pattern(3),
	}
	for _, frame := range unknown {
		if err := h.device.PacketOut(h.now,
			toPacketOut(packetOut(p4.PacketOutOpSend, p4.PfcPort, 0, 0, frame...).frame)); err != nil {
			t.Fatal(err)
		}
	}
	h.run(h.now)
	if n := h.device.Switch().Stats().Drops[drop.PFCRefused]; n != uint64(len(unknown)) {
		t.Errorf("%d refused, want %d", n, len(unknown))
	}
}
