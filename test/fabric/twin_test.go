package fabric

import (
	"time"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// twin is the response aggregation of one group in the words of docs/multicast.md, written for a
// reader and not for a switch: PSNs and MSNs never wrap (values on the wire count modulo 2^24), a
// pending NAK has its own ePSN, and nothing is packed.
type twin struct {
	g    group
	now  time.Duration
	live map[int]bool
	// Of the epoch.
	branches map[int]*twinBranch // those that have reported
	sent     *int64              // last m sent
	nacked   *int64              // last m sent as a NAK, at nackedAt
	nackedAt time.Duration
	naksOfM  int // NAKs of that m

	open      bool
	openedAt  time.Duration
	cnpsBy    map[int]int
	cnpsTotal int
}

type twinBranch struct {
	ack     int64
	pending *int64 // ePSN
	timer   time.Duration
	code    uint8 // of the timer
	msn     int64
}

// twinAnswer is what leaves upstream, or why nothing does.
type twinAnswer struct {
	event    p4.MtEvent
	psn      int64
	syndrome packet.Syndrome
	msn      int64
	drop     p4.DropReason
	cnp      bool // a window ended
	opened   bool // a window opened
}

func newTwin(g group) *twin {
	w := &twin{g: g, live: map[int]bool{}, branches: map[int]*twinBranch{}, cnpsBy: map[int]int{}}
	for b := range g.branches {
		w.live[b] = true
	}
	return w
}

// newEpoch forgets everything but the window's history.
func (w *twin) newEpoch() {
	w.branches, w.sent, w.nacked, w.naksOfM, w.open = map[int]*twinBranch{}, nil, nil, 0, false
}

// next is the minimum AckPSN + 1 over the live branches, if all have reported.
func (w *twin) next() (m int64, known bool) {
	for b := range w.live {
		r := w.branches[b]
		if r == nil {
			return 0, false
		}
		if !known || r.ack+1 < m {
			m, known = r.ack+1, true
		}
	}
	return m, known
}

func (w *twin) minMSN() int64 {
	first, msn := true, int64(0)
	for b := range w.live {
		if r := w.branches[b]; first || r.msn < msn {
			first, msn = false, r.msn
		}
	}
	return msn
}

func (w *twin) lowest(b int) bool {
	for other := range w.live {
		if other < b {
			return false
		}
	}
	return true
}

// respond is an ACK or NAK of a branch.
func (w *twin) respond(b int, psn int64, syndrome packet.Syndrome, msn int64) twinAnswer {
	if !w.live[b] {
		return twinAnswer{drop: p4.DropReasonMtDeadBranch}
	}
	kind := syndrome.Kind()
	fatal := kind == packet.SyndromeNAK && syndrome.NAKCode() != packet.NAKSequence
	acked := psn
	if kind != packet.SyndromeACK {
		acked = psn - 1 // a NAK acknowledges what is before it
	}
	r := w.branches[b]
	advancing := false
	if r == nil {
		r, advancing = &twinBranch{ack: acked}, true
		w.branches[b] = r
	}
	if acked > r.ack {
		r.ack, advancing = acked, true
	}
	if r.pending != nil && r.ack >= *r.pending {
		r.pending, r.timer, r.code = nil, 0, 0
	}
	if advancing {
		r.msn = msn + int64(w.g.branches[b].offset)
	}
	plainACK, repeated := kind == packet.SyndromeACK, false
	if !fatal && kind != packet.SyndromeACK {
		if psn <= r.ack {
			plainACK = true // stale
		} else {
			repeated = r.pending != nil
			r.pending = &psn
			if kind == packet.SyndromeRNR {
				r.timer, r.code = packet.RNRTimer(syndrome.Value()), syndrome.Value()
			}
		}
	}

	m, known := w.next()
	if fatal {
		switch {
		case known:
		case w.sent != nil:
			m = *w.sent
		default:
			return twinAnswer{drop: p4.DropReasonMtNoPsn}
		}
		return w.windows(w.answer(p4.MtEventNakFatal, m, syndrome, known))
	}
	if !known {
		return w.windows(twinAnswer{drop: p4.DropReasonMtAbsorbed})
	}
	if a, due := w.due(m, repeated && *r.pending == m); due {
		return w.windows(a)
	}
	if plainACK && !advancing && w.lowest(b) {
		return w.windows(w.answer(p4.MtEventAckRepeated, m, packet.ACKSyndrome(packet.CreditInvalid),
			true))
	}
	return w.windows(twinAnswer{drop: p4.DropReasonMtAbsorbed})
}

// due returns the NAK or ACK of m that must leave regardless of the asking branch.
func (w *twin) due(m int64, repeated bool) (twinAnswer, bool) {
	pending := false
	var longest time.Duration
	var code uint8
	for b := range w.live {
		if r := w.branches[b]; r.pending != nil && *r.pending == m {
			pending = true
			if r.timer > longest {
				longest, code = r.timer, r.code
			}
		}
	}
	holdoff := time.Duration(w.g.holdoff) * time.Microsecond
	if w.g.holdoff == forever {
		holdoff = 1 << 62
	}
	if w.nacked == nil || *w.nacked != m {
		w.naksOfM = 0
	}
	for n := 1; n < w.naksOfM && n <= p4.NackDoublings && holdoff < 1<<60; n++ {
		holdoff *= 2
	}
	if pending && (w.naksOfM == 0 || repeated || w.now-w.nackedAt >= holdoff) {
		w.nacked, w.nackedAt = &m, w.now
		w.naksOfM++
		if longest > 0 {
			return w.answer(p4.MtEventNakRnr, m, packet.RNRSyndrome(code), true), true
		}
		return w.answer(p4.MtEventNakSequence, m, packet.NAKSyndrome(packet.NAKSequence), true), true
	}
	if w.sent == nil || m > *w.sent {
		return w.answer(p4.MtEventAckAdvanced, m, packet.ACKSyndrome(packet.CreditInvalid), true), true
	}
	return twinAnswer{}, false
}

func (w *twin) answer(event p4.MtEvent, m int64, syndrome packet.Syndrome, known bool) twinAnswer {
	a := twinAnswer{event: event, psn: m, syndrome: syndrome}
	if known {
		a.msn = w.minMSN()
		if w.sent == nil || m > *w.sent {
			w.sent = &m
		}
	}
	if syndrome.Kind() == packet.SyndromeACK {
		a.psn = m - 1
	}
	return a
}

// poll is the controller's.
func (w *twin) poll() twinAnswer {
	if m, known := w.next(); known {
		if a, due := w.due(m, false); due {
			return w.windows(a)
		}
	}
	return w.windows(twinAnswer{drop: p4.DropReasonMtPollIdle})
}

// windows ends a window that is over, with a CNP.
func (w *twin) windows(a twinAnswer) twinAnswer {
	length := time.Duration(w.g.window) * time.Microsecond
	if w.g.window == forever {
		length = 1 << 62
	}
	if w.open && w.now-w.openedAt >= length {
		w.open = false
		w.cnpsTotal++
		a.cnp, a.drop = true, p4.DropReasonNone
	}
	return a
}

// cnp is a CNP of a branch.
func (w *twin) cnp(b int) twinAnswer {
	if !w.live[b] {
		return twinAnswer{drop: p4.DropReasonMtDeadBranch}
	}
	a := w.windows(twinAnswer{})
	if !w.open {
		w.open, w.openedAt, w.cnpsBy = true, w.now, map[int]int{}
		a.opened = true
	}
	if w.g.limit != 0 && w.cnpsBy[b] >= int(w.g.limit) {
		a.drop = p4.DropReasonMtCnpRate
	} else {
		w.cnpsBy[b]++
		if !a.cnp && !a.opened {
			a.drop = p4.DropReasonMtCnpAbsorbed
		}
	}
	return a
}
