package queue

import (
	"time"

	"github.com/weft-sdn/weft/p4"
)

// PFCPriorities is how many priorities priority-based flow control has (IEEE 802.1Qbb). Priority n
// is queue n.
const PFCPriorities = 8

// watch is the PFC state of a queue. The queue is an egress queue that was paused or whose marks
// are watched, or all waiting packets that came by a port with a priority, in whatever queue they
// wait. The watch exists from the first pause or the first setting on.
type watch struct {
	direction p4.PfcDirection
	port      uint32
	prio      int
	set       Settings

	packets      int
	octets, peak uint64 // as received

	// Pauses, of egress queues.
	until   time.Duration // no pause is in force from here on
	since   time.Duration // when the one in force began
	moved   time.Duration // when a packet came into the empty queue, or a storm was over
	freed   time.Duration // when the queue's own rate lets the next packet leave
	storm   bool          // the watchdog has acted
	settled time.Duration // of a storm: when the last command to pause ends

	// Marks.
	asserted bool          // XOFF was sent, and no XON since
	again    time.Duration // when XOFF must be sent once more

	xoffRx, xonRx, xoffTx, xonTx     uint64
	xoffRxAt, xonRxAt, xoffTxAt      time.Duration
	xonTxAt                          time.Duration
	overflows, storms, stormsDropped uint64
}

// Settings say what a watch does. The zero value sends no PFC frames and has no
// watchdog.
type Settings struct {
	Buffer    uint64 // octets that may wait; 0: Config.PauseBuffer
	XOFF, XON uint64 // octets at which PFC frames are sent; XOFF 0: none are
	Refresh   time.Duration
	Upstreams int    // nodes that PFC frames are made for
	Rate      uint64 // bits a second that may leave, 0: no limit
	Watchdog  time.Duration
	Action    p4.WatchdogAction
}

// opens returns when a pause no longer holds the queue.
func (w *watch) opens() time.Duration {
	if w.storm && w.set.Action != p4.WatchdogActionReport {
		return 0
	}
	return w.until
}

// ready returns when a packet may leave that could leave at a time were it not for the watch.
func (w *watch) ready(at time.Duration) time.Duration {
	at = max(at, w.opens())
	if w.set.Rate > 0 {
		at = max(at, w.freed)
	}
	return at
}

// left accounts for a packet that leaves at a time.
func (w *watch) left(at time.Duration, octets uint32) {
	if w.set.Rate > 0 {
		w.freed = max(w.freed, at) + time.Duration(uint64(octets)*8*uint64(time.Second)/w.set.Rate)
	}
}

// stalled returns when the watchdog of a queue acts if nothing changes; ok is false when it does
// not.
func (w *watch) stalled() (at time.Duration, ok bool) {
	if w.storm || w.set.Watchdog == 0 || w.packets == 0 {
		return 0, false
	}
	at = max(w.since, w.moved) + w.set.Watchdog
	return at, at < w.until
}

// due returns when a watch must be looked at; ok is false when it need not be.
func (w *watch) due() (at time.Duration, ok bool) {
	if w.asserted && w.set.Upstreams > 0 {
		at, ok = w.again, true
	}
	if t, may := w.stalled(); may && (!ok || t < at) {
		at, ok = t, true
	}
	if t := w.settled + w.set.Watchdog; w.storm && (!ok || t < at) {
		at, ok = t, true
	}
	return at, ok
}

// report returns the state of a queue at a time.
func (w *watch) report(now time.Duration) p4.QueueReport {
	age := func(count uint64, at time.Duration) time.Duration {
		if count == 0 {
			return p4.NeverYet
		}
		return now - at
	}
	r := p4.QueueReport{
		Asserted: w.asserted, Storm: w.storm, Packets: uint32(w.packets), Octets: w.octets, Peak: w.peak,
		XOFFReceived: age(w.xoffRx, w.xoffRxAt), XONReceived: age(w.xonRx, w.xonRxAt),
		XOFFSent: age(w.xoffTx, w.xoffTxAt), XONSent: age(w.xonTx, w.xonTxAt),
		XOFFsReceived: w.xoffRx, XONsReceived: w.xonRx, XOFFsSent: w.xoffTx, XONsSent: w.xonTx,
		Overflows: w.overflows, Storms: w.storms, StormDrops: w.stormsDropped,
	}
	if w.until > now {
		r.Paused, r.PausedFor = w.until-now, now-w.since
	}
	return r
}
