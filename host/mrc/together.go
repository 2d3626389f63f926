package mrc

import (
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// together holds what waits for the last of the frames that arrived together.
type together struct {
	on    bool
	owing []*QP // have answers to send
	qp    *QP   // of the arrivals
	to    *verbs.Region
	parts []verbs.Part // payloads, in the frames, by the index of their arrival
	waits []arrival
}

// arrival is what the responder needs of a request after the request was executed.
type arrival struct {
	question
	last   bool // of its message
	octets int  // of payload
	length int  // of UDP
}

func arrivalOf(p *packet.MRC, s shape) arrival {
	return arrival{question: questionOf(p), last: s.last, octets: len(p.Payload),
		length: int(p.UDP.Length)}
}

// owed are the answers that a responder sends after the last of the frames that arrived together.
type owed struct {
	is       bool // in together.owing
	question      // of the last packet that the SACK is due for
	ack      bool
}

// ReceiveAll is Receive for frames that arrived by a port together. The memory takes the payloads
// of successive packets at once, and a queue pair answers with one SACK and one ACK for all that
// ask for one (OCP MRC 1.0, section 7.5.2.2: SACKs may be coalesced), but for packets that are
// marked or sent again, whose SACKs carry what no other does.
func (h *Host) ReceiveAll(now time.Duration, port int, frames [][]byte) {
	t := &h.together
	t.on = len(frames) > 1
	for _, f := range frames {
		h.Receive(now, port, f)
	}
	h.placeTogether(now)
	t.on = false
	for _, q := range t.owing {
		q.pay(now)
	}
	t.owing = t.owing[:0]
}

// join has a request wait, if the request can be executed with those that wait, and after them.
func (q *QP) join(now time.Duration, p *packet.MRC) bool {
	t := &q.host.together
	n := len(t.waits)
	s, known := shapeOf(p.BTH.Opcode)
	if !t.on || !known || s.immediate || len(p.Payload) == 0 || p.Trim != packet.NotTrimmed ||
		q.faulted || len(q.underway) > 0 || q.cfg.Admit != nil ||
		!lengthFits(s, len(p.Payload), int(p.RETH.DMALength), q.cfg.PMTU) ||
		q.standing(p.BTH.PSN) != fresh {
		return false
	}
	region := q.host.regions.Region(p.RETH.RKey)
	if !region.Admits(q.cfg.Domain, p.RETH.VA, len(p.Payload)) {
		return false
	}
	if n > 0 && (q != t.qp || region != t.to || !packet.PSNBefore(t.waits[n-1].psn, p.BTH.PSN)) {
		q.host.placeTogether(now)
		if q.state != qpReady || q.faulted || q.standing(p.BTH.PSN) != fresh {
			return false
		}
	}
	t.qp, t.to = q, region
	t.parts = append(t.parts, verbs.Part{VA: p.RETH.VA, Octets: p.Payload})
	t.waits = append(t.waits, arrivalOf(p, s))
	return true
}

// placeTogether executes the requests that wait.
func (h *Host) placeTogether(now time.Duration) {
	t := &h.together
	if len(t.waits) == 0 {
		return
	}
	q, waits := t.qp, t.waits
	n, err := t.to.PlaceAll(t.parts)
	clear(t.parts)
	t.parts, t.waits = t.parts[:0], t.waits[:0]
	for i, a := range waits {
		var f fault
		if i >= n {
			f = unplaced(a.psn, err)
			if f.reason == RefusedResource {
				q.note(a.psn, err)
			}
		}
		switch {
		case q.state != qpReady:
			h.refuse(RefusedQPState)
		case q.faulted && packet.PSNBefore(q.fault.psn, a.psn):
			h.refuse(RefusedFault)
		default:
			if r, ok := q.executed(now, a, f, i < n); !ok {
				h.refuse(r)
			}
		}
	}
}

// owe puts off the answers to a packet; false: they cannot wait.
func (q *QP) owe(p question, ack bool) bool {
	if !q.host.together.on || p.marked || p.retransmission {
		return false
	}
	if !q.owed.is {
		q.owed.is = true
		q.host.together.owing = append(q.host.together.owing, q)
	}
	q.owed.question, q.owed.ack = p, q.owed.ack || ack
	return true
}

// pay sends the answers that were put off.
func (q *QP) pay(now time.Duration) {
	o := q.owed
	q.owed = owed{}
	if q.state != qpReady {
		return
	}
	q.sack(now, o.question)
	if o.ack {
		q.ack(now)
	}
}
