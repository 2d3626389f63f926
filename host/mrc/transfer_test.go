package mrc

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestTransfer: one WRITE and one WRITE with Immediate over a clean network, each packet sent once.
func TestTransfer(t *testing.T) {
	l := newBed(t, 1, 2, 2)
	qps := l.pair(0, 1, nil)
	memory := l.region(1, 1<<20)
	data := pattern(300_001, 1)
	l.post(qps[0], verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: data})
	l.post(qps[0], verbs.WorkRequest{ID: 2, Op: verbs.OpWriteImmediate, Data: data[:10],
		RemoteVA: 500_000, Immediate: 42, Solicited: true})
	if err := qps[1].PostRecv(verbs.RecvRequest{ID: 9}); err != nil {
		t.Fatal(err)
	}
	l.run(time.Second, func() bool { return qps[0].SendQueueLen() == 0 })
	if !bytes.Equal(memory[:len(data)], data) || !bytes.Equal(memory[500_000:500_010], data[:10]) {
		t.Error("wrong bytes")
	}
	c := qps[0].Counters()
	if c.RequestsResent != 0 || c.Timeouts != 0 || c.RequestsSent != 75 {
		t.Errorf("counters %+v", c)
	}
	for id := uint64(1); id <= 2; id++ {
		if c, ok := qps[0].Poll(); !ok || c.ID != id || c.Status != verbs.StatusOK {
			t.Errorf("completion %+v, %v: want ID %d, ok", c, ok, id)
		}
	}
	got, ok := qps[1].Poll()
	if want := (verbs.Completion{At: got.At, ID: 9, Recv: true, Op: verbs.OpWriteImmediate, Octets: 10,
		Immediate: 42, HasImmediate: true, Solicited: true}); !ok || got != want {
		t.Errorf("completion %+v, want %+v", got, want)
	}
	if q := qps[0]; q.InFlight() != 0 || q.Schedule() != Idle {
		t.Errorf("%d octets in flight, %v", q.InFlight(), q.Schedule())
	}
}

// TestWrites: whatever the network does, all writes complete with the right bytes, in the order
// they were posted, and those with immediate data in the same order at the responder.
func TestWrites(t *testing.T) {
	first, n := seeds.Range(t, 1, 60)
	var total QPCounters
	for seed := first; seed < first+n; seed++ {
		if err := writes(t, seed, trivial, &total); err != nil {
			t.Fatalf("seed %d (WEFT_SEED=%d): %v", seed, seed, err)
		}
	}
	t.Logf("%d seeds: %+v", n, total)
	if n >= 60 {
		for name, v := range map[string]uint64{
			"SACK losses": total.SACKLosses, "probe losses": total.ProbeLosses, "timeouts": total.Timeouts,
			"duplicates": total.Duplicates,
			"trimmed":    total.Trimmed, "marks": total.CEReceived, "ack probes": total.AckProbes,
			"probes": total.ProbesAnswered,
		} {
			if v < 3 {
				t.Errorf("the test tests little: %d %s", v, name)
			}
		}
	}
}

// ends makes what the queue pairs of a test are given.
type ends struct {
	congestion func(window, pmtu int) Congestion
	sprayer    func(seed uint64, planes int) Sprayer
	avoids     bool // the sprayer keeps off dead paths
}

var trivial = ends{
	congestion: func(window, _ int) Congestion { return FixedWindow(window) },
	sprayer: func(_ uint64, planes int) Sprayer {
		return NewRoundRobin(testPaths(8*planes, planes)...)
	},
}

func writes(t *testing.T, seed uint64, e ends, total *QPCounters) error {
	hosts := 2 + int(seed%3)
	l := newBed(t, seed, hosts, 1+int(seed%4))
	l.together = []time.Duration{0, time.Microsecond, 20 * time.Microsecond}[seed%3]
	rng := l.rng
	for i := range l.planes {
		p := &l.planes[i]
		p.delay = time.Duration(1+rng.IntN(20)) * time.Microsecond
		p.jitter = []time.Duration{0, time.Microsecond, 30 * time.Microsecond}[rng.IntN(3)]
		p.loss = []float64{0, 0.001, 0.01, 0.05}[rng.IntN(4)]
		p.dup = []float64{0, 0.01}[rng.IntN(2)]
		p.corrupt = []float64{0, 0.01}[rng.IntN(2)]
		p.trim = []float64{0, 0.02, 0.2}[rng.IntN(3)]
		p.mark = []float64{0, 0.3}[rng.IntN(2)]
		p.deadEVs = []uint32{0, 0, 5}[rng.IntN(3)]
		if !e.avoids {
			p.deadEVs = 0
		}
	}
	type flow struct {
		qps      [2]*QP
		data     []byte
		memory   []byte
		want     []uint32
		posted   int
		got      []uint32
		finished int
	}
	memories := make([][]byte, hosts)
	const slice = 1 << 18
	for i := range memories {
		memories[i] = l.region(i, slice*hosts)
	}
	var flows []*flow
	for a := range hosts {
		for b := range a {
			pmtu := 256 << rng.IntN(5)
			window := (2 + rng.IntN(64)) * pmtu
			wimm := 1 + rng.IntN(6)
			stamp := []time.Duration{0, 128 * time.Nanosecond}[rng.IntN(2)]
			base := [2]uint32{rng.Uint32N(1 << 24), 1<<24 - 1 - rng.Uint32N(100)}
			qps := l.pair(a, b, func(side int, c *QPConfig) {
				c.PMTU, c.Congestion, c.TimestampUnit = pmtu, e.congestion(window, pmtu), stamp
				c.Sprayer = e.sprayer(rng.Uint64(), len(l.planes))
				c.Local.MaxWIMM, c.Remote.MaxWIMM = wimm, wimm
				c.Local.MaxMPR, c.Remote.MaxMPR = 1, 1
				c.SQPSN, c.RQPSN = base[side], base[1-side]
				c.Local.TrimNACK = seed%5 != 0
				c.Remote.TrimNACK = c.Local.TrimNACK
				c.Trimmable = true
			})
			for side := range 2 {
				to := b
				from := a
				if side == 1 {
					to, from = a, b
				}
				f := &flow{qps: [2]*QP{qps[side], qps[1-side]},
					memory: memories[to][from*slice : (from+1)*slice]}
				offset := 0
				for i := range 1 + rng.IntN(12) {
					n := rng.IntN(20 * pmtu)
					if rng.IntN(6) == 0 {
						n = rng.IntN(3)
					}
					if offset+n > slice {
						break
					}
					wr := verbs.WorkRequest{ID: uint64(i), Op: verbs.OpWrite, Data: pattern(n, byte(seed)+byte(i)),
						RemoteVA: uint64(from*slice + offset)}
					if rng.IntN(2) == 0 {
						wr.Op, wr.Immediate = verbs.OpWriteImmediate, uint32(i)
						f.want = append(f.want, wr.Immediate)
						if err := qps[1-side].PostRecv(verbs.RecvRequest{ID: uint64(len(f.want))}); err != nil {
							return err
						}
					}
					l.post(qps[side], wr)
					f.data = append(f.data, wr.Data...)
					offset += n
					f.posted++
				}
				flows = append(flows, f)
			}
		}
	}
	dying := -1 // a plane that fails under way, when it is not the last
	if e.avoids && len(l.planes) > 1 && rng.IntN(2) == 0 {
		dying = rng.IntN(len(l.planes))
	}
	dies := time.Duration(rng.IntN(200)) * time.Microsecond
	l.run(5*time.Second, func() bool {
		if dying >= 0 && l.Now() > dies {
			l.planes[dying].dead = true
		}
		for _, f := range flows {
			if f.qps[0].SendQueueLen() > 0 && !f.qps[0].Failed() {
				return false
			}
		}
		return true
	})
	for _, f := range flows {
		c := f.qps[0].Counters()
		total.SACKLosses += c.SACKLosses
		total.ProbeLosses += c.ProbeLosses
		total.Timeouts += c.Timeouts
		total.ResendsSaved += c.ResendsSaved
		total.Duplicates += c.Duplicates
		total.Trimmed += c.Trimmed
		total.CEReceived += c.CEReceived
		total.AckProbes += c.AckProbes
		total.ProbesAnswered += c.ProbesAnswered
		total.RequestsSent += c.RequestsSent
		total.RequestsResent += c.RequestsResent
		total.EVMismatch += c.EVMismatch
		total.ProbesUnknown += c.ProbesUnknown
	}
	ends := make(map[*QP][2]*flow) // those a queue pair sends and receives for
	for _, f := range flows {
		a, b := ends[f.qps[0]], ends[f.qps[1]]
		a[0], b[1] = f, f
		ends[f.qps[0]], ends[f.qps[1]] = a, b
	}
	for q, of := range ends {
		for c, ok := q.Poll(); ok; c, ok = q.Poll() {
			f, want := of[0], uint64(of[0].finished)
			if c.Recv {
				f = of[1]
				want = uint64(len(f.got) + 1)
				f.got = append(f.got, c.Immediate)
			} else {
				f.finished++
			}
			if c.Status != verbs.StatusOK || c.ID != want {
				return fmt.Errorf("completion %+v, want ID %d, ok", c, want)
			}
		}
	}
	for _, f := range flows {
		if f.finished != f.posted {
			return fmt.Errorf("%d of %d requests completed at %v: requester %v, %+v", f.finished, f.posted,
				l.Now(), f.qps[0].Schedule(), f.qps[0].Counters())
		}
		if fmt.Sprint(f.got) != fmt.Sprint(f.want) {
			return fmt.Errorf("immediate data %v, want %v", f.got, f.want)
		}
		if !bytes.Equal(f.memory[:len(f.data)], f.data) {
			return fmt.Errorf("wrong bytes")
		}
		if f.qps[0].InFlight() != 0 {
			return fmt.Errorf("%d octets in flight at the end", f.qps[0].InFlight())
		}
	}
	return nil
}
