package rc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// The models below are the go-back-N requester and the responder that the aggregation rules for
// multicast responses (docs/multicast.md, Responses) were proved against, written as plainly
// as possible. The tests drive them and the real ones with the same random events.

const circle = 1 << 24

func modelBefore(a, b uint32) bool {
	d := (b - a) % circle
	return d >= 1 && d <= circle/2-1
}

type modelRequester struct {
	una, nxt, max, end, win uint32
	retry, limit            int
	failed                  bool
	rnrUntil                time.Duration
}

func (m *modelRequester) retried() {
	if m.retry++; m.retry > m.limit {
		m.failed = true
	}
}

func (m *modelRequester) send() {
	for m.nxt != m.end && (m.nxt-m.una)%circle < m.win {
		m.nxt = (m.nxt + 1) % circle
		if modelBefore(m.max, m.nxt) {
			m.max = m.nxt
		}
	}
}

func (m *modelRequester) acked(a uint32) {
	if a != m.una && !modelBefore(m.una, a) || !modelBefore(a, m.max) {
		return
	}
	m.una, m.retry = (a+1)%circle, 0
	if modelBefore(m.nxt, m.una) {
		m.nxt = m.una
	}
}

func (m *modelRequester) response(now time.Duration, psn uint32, s packet.Syndrome) {
	if s.Kind() == packet.SyndromeACK {
		m.acked(psn)
		return
	}
	m.acked((psn - 1) % circle)
	if psn != m.una || !modelBefore(psn, m.max) {
		return
	}
	switch {
	case s.Kind() == packet.SyndromeRNR:
		m.rnrUntil = max(m.rnrUntil, now+packet.RNRTimer(s.Value()))
	case s.NAKCode() == packet.NAKSequence:
		m.retried()
	default:
		m.failed = true
		return
	}
	m.nxt = psn
}

func (m *modelRequester) timeout() {
	if m.una != m.max {
		m.retried()
		m.nxt = m.una
	}
}

// TestRequesterAgainstModel gives both the same responses, waits and timeouts, and compares what
// they would send next.
func TestRequesterAgainstModel(t *testing.T) {
	progress, failures := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		base := [2]uint32{rng.Uint32N(circle), (circle - rng.Uint32N(60)) % circle}[rng.IntN(2)]
		retries := [3]uint8{7, 3, 1}[rng.IntN(3)]
		h := newSolo(t, func(c *QPConfig) {
			c.SQPSN, c.Window, c.LocalAckTimeout, c.RetryCnt = base, 1+rng.IntN(20), 4, retries
		})
		m := &modelRequester{una: base, nxt: base, max: base, end: base, win: uint32(h.qp.cfg.Window),
			limit: int(retries)}
		if retries == InfiniteRetries {
			m.limit = 1 << 30
		}
		for step := range 200 {
			var what string
			switch k := rng.IntN(10); {
			case k == 0 && h.qp.SendQueueLen() < 20 && !m.failed:
				n := rng.IntN(9)
				mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 256*n)})
				m.end = (m.end + uint32(max(n, 1))) % circle
				what = "post"
			case k == 1:
				if m.una != m.max && !m.failed {
					h.now = h.qp.deadline
					h.qp.expire(h.now)
					m.timeout()
				}
				what = "timeout"
			default:
				syndrome := [6]packet.Syndrome{plainACK, plainACK, plainACK, sequenceNAK,
					packet.RNRSyndrome(uint8(1 + rng.IntN(4))),
					packet.NAKSyndrome(packet.NAKRemoteAccess)}[min(rng.IntN(40)/6, 5)]
				if syndrome.NAKCode() != 0 && syndrome.Kind() == packet.SyndromeNAK && rng.IntN(10) > 0 {
					syndrome = sequenceNAK
				}
				psn := (m.una + uint32(rng.IntN(30)) - 5) % circle
				if rng.IntN(20) == 0 {
					psn = rng.Uint32N(circle)
				}
				if !m.failed {
					m.response(h.now, psn, syndrome)
				}
				h.respond(psn, syndrome)
				what = fmt.Sprintf("%v PSN %#x", syndrome, psn)
			}
			// Let it send all it can, unless a timeout would come before that; or nothing at all.
			at := max(h.now, m.rnrUntil) + 10*time.Microsecond
			if rng.IntN(3) > 0 && (!h.qp.timed || at < h.qp.deadline) {
				h.settle(at)
				m.send()
			}
			r := &h.qp.requester
			if h.qp.Failed() != m.failed {
				t.Fatalf("seed %d step %d (%s): failed %v, model %v", seed, step, what, h.qp.Failed(), m.failed)
			}
			if m.failed {
				failures++
				break
			}
			if r.una != m.una || r.nxt != m.nxt || r.sent != m.max || int(r.retries) != m.retry ||
				r.rnrUntil != m.rnrUntil {
				t.Fatalf("seed %d step %d (%s): una %#x nxt %#x sent %#x retries %d RNR until %v; model %#x "+
					"%#x %#x %d %v",
					seed, step, what, r.una, r.nxt, r.sent, r.retries, r.rnrUntil, m.una, m.nxt, m.max, m.retry,
					m.rnrUntil)
			}
			progress = max(progress, int((m.una-base)%circle))
		}
	}
	if progress < 50 || failures < 20 {
		t.Errorf("the test tests little: %d packets acknowledged at most, %d failures", progress,
			failures)
	}
}

type modelAnswer struct {
	psn      uint32
	syndrome packet.Syndrome
}

type modelResponder struct {
	expected uint32
	silent   bool
	ready    int // receive requests
}

func (m *modelResponder) request(psn uint32, ackReq, needsRecv bool) []modelAnswer {
	switch {
	case psn == m.expected:
		if needsRecv && m.ready == 0 {
			m.silent = true
			return []modelAnswer{{psn, packet.RNRSyndrome(3)}}
		}
		if needsRecv {
			m.ready--
		}
		m.expected, m.silent = (m.expected+1)%circle, false
		if ackReq {
			return []modelAnswer{{psn, plainACK}}
		}
	case modelBefore(m.expected, psn):
		if !m.silent {
			m.silent = true
			return []modelAnswer{{m.expected, sequenceNAK}}
		}
	default:
		return []modelAnswer{{(m.expected - 1) % circle, plainACK}}
	}
	return nil
}

// TestResponderAgainstModel gives both the same requests, and compares the answers.
func TestResponderAgainstModel(t *testing.T) {
	kinds := make(map[packet.Syndrome]int)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		base := [2]uint32{rng.Uint32N(circle), (circle - rng.Uint32N(60)) % circle}[rng.IntN(2)]
		h, _ := newResponder(t, base)
		m := &modelResponder{expected: base}
		for step := range 300 {
			if rng.IntN(4) == 0 {
				mustRecv(t, h.qp, verbs.RecvRequest{})
				m.ready++
			}
			psn := m.expected
			switch rng.IntN(4) {
			case 0:
				psn = (m.expected + rng.Uint32N(12) - 6) % circle
			case 1:
				if rng.IntN(5) == 0 {
					psn = rng.Uint32N(circle)
				}
			}
			p := h.write(psn, []byte{1})
			if rng.IntN(3) == 0 {
				p.BTH.Opcode = packet.OpWriteOnlyImmediate
			}
			p.BTH.AckReq = rng.IntN(2) == 0
			want := m.request(psn, p.BTH.AckReq, p.BTH.Opcode == packet.OpWriteOnlyImmediate)
			var got []modelAnswer
			for _, a := range h.give(p) {
				got = append(got, modelAnswer{a.BTH.PSN, a.AETH.Syndrome})
				kinds[a.AETH.Syndrome]++
			}
			if !slices.Equal(got, want) || h.qp.ExpectedPSN() != m.expected {
				t.Fatalf("seed %d step %d, PSN %#x: answers %v, expected PSN %#x; model %v, %#x", seed, step,
					psn, got, h.qp.ExpectedPSN(), want, m.expected)
			}
		}
	}
	if len(kinds) != 3 || slices.Min([]int{kinds[plainACK], kinds[sequenceNAK],
		kinds[packet.RNRSyndrome(3)]}) < 500 {
		t.Errorf("the test tests little: %v", kinds)
	}
}
