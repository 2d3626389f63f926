package rc

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/packet"
)

// bed joins two hosts by a link in virtual time. Each direction can lose, duplicate, delay,
// reorder, corrupt and mark frames.
type bed struct {
	virtual.Clock
	t     testing.TB
	rng   *rand.Rand
	hosts [2]*Host
	links [2]link // links[i]: frames sent by hosts[i]
	pool  [][]byte
}

type link struct {
	delay, jitter      time.Duration
	reorder            bool // jitter may reorder
	loss, dup, corrupt float64
	mark               float64 // of the ECN-capable frames, marked CE
	last               time.Duration
	tap                func(now time.Duration, frame []byte) (drop bool)
	carried            int
}

var (
	testAddr = [2]netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")}
	testMAC  = [2]packet.MAC{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}
)

const (
	testQPN0 = 0x11
	testQPN1 = 0x22
)

func newBed(t testing.TB, seed uint64) *bed { return newBedAt(t, seed, testAddr) }

func newBedAt(t testing.TB, seed uint64, at [2]netip.Addr) *bed {
	l := &bed{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
	for i := range l.hosts {
		cfg := DefaultConfig()
		cfg.Name, cfg.Addr, cfg.MAC, cfg.GatewayMAC = string(rune('A'+i)), at[i], testMAC[i],
			testMAC[1-i]
		cfg.Output = func(now time.Duration, frame []byte) { l.send(i, now, frame) }
		h, err := NewHost(cfg)
		if err != nil {
			t.Fatal(err)
		}
		l.hosts[i] = h
		l.links[i].delay = time.Microsecond
	}
	return l
}

// pair creates a queue pair on each host, connected to each other. The initial PSNs are those of
// host 0's side.
func (l *bed) pair(edit func(side int, c *QPConfig)) [2]*QP {
	var qps [2]*QP
	for i := range qps {
		c := DefaultQPConfig()
		c.QPN, c.RemoteQPN, c.RemoteAddr = testQPN0, testQPN1, l.hosts[1-i].cfg.Addr
		if i == 1 {
			c.QPN, c.RemoteQPN = testQPN1, testQPN0
		}
		if edit != nil {
			edit(i, &c)
		}
		q, err := l.hosts[i].CreateQP(c)
		if err != nil {
			l.t.Fatal(err)
		}
		qps[i] = q
	}
	return qps
}

func (l *bed) send(from int, now time.Duration, frame []byte) {
	k := &l.links[from]
	k.carried++
	if k.tap != nil && k.tap(now, frame) {
		return
	}
	if l.rng.Float64() < k.loss {
		return
	}
	copies := 1
	if l.rng.Float64() < k.dup {
		copies = 2
	}
	for range copies {
		at := now + k.delay
		if k.jitter > 0 {
			at += time.Duration(l.rng.Int64N(int64(k.jitter)))
		}
		if !k.reorder {
			at = max(at, k.last)
			k.last = at
		}
		f := l.copyOf(frame)
		if l.rng.Float64() < k.corrupt {
			f[l.rng.IntN(len(f))] ^= 1 << l.rng.IntN(8)
		}
		if tc := f[packet.EthernetLen+1]; tc>>4&3 == packet.ECT0 && l.rng.Float64() < k.mark {
			f[packet.EthernetLen+1] = tc | packet.CE<<4
		}
		l.At(at, func() {
			l.hosts[1-from].Receive(l.Now(), f)
			l.pool = append(l.pool, f)
		})
	}
}

func (l *bed) copyOf(frame []byte) []byte {
	var f []byte
	if n := len(l.pool); n > 0 {
		f, l.pool = l.pool[n-1][:0], l.pool[:n-1]
	}
	return append(f, frame...)
}

// run advances until done says so, nothing is left to happen, or the time limit; it returns whether
// done said so.
func (l *bed) run(limit time.Duration, done func() bool) bool {
	return l.Run(limit, virtual.All(l.hosts[:]...), done)
}

func (l *bed) region(side int, va uint64, rkey uint32, n int, access verbs.Access) *verbs.Region {
	r, err := l.hosts[side].RegisterMR(va, rkey, make([]byte, n), access)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *bed) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(l.rng.Uint32())
	}
	return b
}

func mustPost(t testing.TB, q *QP, wr verbs.WorkRequest) {
	t.Helper()
	if err := q.PostSend(wr); err != nil {
		t.Fatal(err)
	}
}

func mustRecv(t testing.TB, q *QP, r verbs.RecvRequest) {
	t.Helper()
	if err := q.PostRecv(r); err != nil {
		t.Fatal(err)
	}
}

func completions(q *QP) []verbs.Completion {
	var all []verbs.Completion
	for c, ok := q.Poll(); ok; c, ok = q.Poll() {
		all = append(all, c)
	}
	return all
}

// parse reads a frame that must be well formed, its ICRC too.
func parse(t testing.TB, frame []byte) packet.RoCE {
	t.Helper()
	p, _, err := packet.ParseRoCE(frame)
	if err != nil {
		t.Fatal(err)
	}
	if err := packet.CheckICRC(p.Datagram); err != nil {
		t.Fatal(err)
	}
	return p
}
