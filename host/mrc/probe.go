package mrc

import (
	"time"

	"github.com/weft-sdn/weft/packet"
)

// probes holds the reliability probes of a queue pair (OCP MRC 1.0, §7.4.6): probes that the queue
// pair sends after a time without feedback, and probes of doubtful paths for the sprayer.
type probes struct {
	out     [16]probe     // those not answered yet
	waiting int           // of them
	id      uint16        // of the last probe sent
	quietAt time.Duration // when the quiet time ends
	unheard int           // probes sent since the last feedback or packet
}

type probe struct {
	used     bool
	id       uint16
	sentBy   sentBy
	sentAt   time.Duration
	deadline time.Duration
}

// quiet starts the wait again: something was sent or heard.
func (p *probes) quiet(now, timeout time.Duration) {
	p.quietAt, p.unheard = now+timeout, 0
}

// take gives the place of a probe that is sent now; the oldest makes room.
func (p *probes) take(now time.Duration, q *QP) *probe {
	slot := &p.out[0]
	for i := range p.out {
		if !p.out[i].used {
			slot = &p.out[i]
			break
		}
		if p.out[i].sentAt < slot.sentAt {
			slot = &p.out[i]
		}
	}
	if slot.used {
		p.lose(now, q, slot)
	}
	p.id++
	p.waiting++
	*slot = probe{used: true, id: p.id, sentAt: now, deadline: now + q.cfg.ackTimeout(1)}
	return slot
}

func (p *probes) lose(now time.Duration, q *QP, slot *probe) {
	slot.used = false
	p.waiting--
	q.counters.ProbesLost++
	q.cfg.Sprayer.Feedback(now, slot.sentBy.id, SignalProbeLost)
}

func (p *probes) expire(now time.Duration, q *QP) {
	if p.waiting == 0 {
		return
	}
	for i := range p.out {
		if slot := &p.out[i]; slot.used && slot.deadline <= now {
			p.lose(now, q, slot)
		}
	}
}

// nextProbe returns the time at which the next probe is due, or the queue pair gives up a sent
// probe.
func (q *QP) nextProbe(now time.Duration) (at time.Duration, ok bool) {
	earlier := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if q.probeWanted() {
		earlier(q.probes.quietAt)
	}
	if q.sq.Len() > 0 {
		if t, due := q.cfg.Sprayer.NextProbe(); due {
			earlier(t)
		}
	}
	if ok && at <= now { // due already, and had no port: when one may have become free
		at, ok = q.host.nextFree(now)
	}
	if q.probes.waiting > 0 {
		for i := range q.probes.out {
			if p := &q.probes.out[i]; p.used {
				earlier(p.deadline)
			}
		}
	}
	return at, ok
}

func (q *QP) probeWanted() bool { return q.cfg.ProbeTimeout > 0 && q.flying > 0 }

// sendProbe sends a due probe, if any path allows.
func (q *QP) sendProbe(now time.Duration, free packet.PortMask) bool {
	if q.sq.Len() == 0 { // for example after a failure
		return false
	}
	ports := free & q.host.reachable(q.cfg.RemoteAddr)
	if at, due := q.cfg.Sprayer.NextProbe(); due && at <= now {
		path, ok := q.cfg.Sprayer.Probe(now, ports)
		path, fits := q.host.fits(path)
		if ok && fits && ports.Has(path.Port) {
			q.transmitProbe(now, path)
			return true
		}
	}
	if q.probeWanted() && q.probes.quietAt <= now {
		if path, ok := q.path(now, UseProbe, free); ok {
			q.probes.unheard = min(q.probes.unheard+1, 10)
			q.probes.quietAt = now + q.cfg.ProbeTimeout<<q.probes.unheard
			q.transmitProbe(now, path)
			return true
		}
	}
	return false
}

func (q *QP) transmitProbe(now time.Duration, path Path) {
	slot := q.probes.take(now, q)
	slot.sentBy = sentBy{path.ID, path.EV}
	q.counters.ProbesSent++
	bth := packet.MRCBTH{Opcode: packet.OpMRCProbe, PKey: q.host.cfg.ControlPKey,
		DestQPN: q.cfg.RemoteQPN}
	ecn := packet.ECT0
	if q.cfg.NotECT {
		ecn = packet.NotECT
	}
	out := q.host.prepare(q.cfg.RemoteAddr, path, q.dscp(bth, true), ecn)
	out.BTH = bth
	out.PETH = packet.PETH{ProbeID: slot.id, SPDCID: uint16(q.cfg.QPN),
		DPDCID: uint16(q.cfg.RemoteQPN), TSETH: q.stamp(now)}
	q.host.transmit(now, path.Port)
}

// answered handles what a SACK says of the probe it answers: its round trip and its path. It
// returns when the probe was sent.
func (q *QP) answered(now time.Duration, s *packet.SETH, ts uint16,
	info *SACK) (sentAt time.Duration, ok bool) {
	for i := range q.probes.out {
		p := &q.probes.out[i]
		if !p.used || p.id != s.ProbeID() {
			continue
		}
		if p.sentBy.ev != s.Entropy {
			q.counters.EVMismatch++
			return 0, false
		}
		p.used = false
		q.probes.waiting--
		q.counters.ProbesAnswered++
		info.RTTValid = true
		if q.cfg.TimestampUnit != 0 {
			info.RTT = since(now, ts, q.cfg.TimestampUnit, p.sentAt)
		} else {
			info.RTT = now - p.sentAt - q.remoteService(ts)
		}
		q.cfg.Sprayer.Feedback(now, p.sentBy.id, sackSignal(s))
		return p.sentAt, true
	}
	q.counters.ProbesUnknown++
	return 0, false
}
