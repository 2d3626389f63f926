package mrc

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/packet"
)

// bed joins hosts in virtual time, each port to the same port of every other host: a plane. Every
// direction of a plane can lose, duplicate, delay, reorder, corrupt, trim and mark frames.
type bed struct {
	virtual.Clock
	t      testing.TB
	rng    *rand.Rand
	hosts  []*Host
	planes []plane
	pool   [][]byte
	tap    func(now time.Duration, from, port int, frame []byte) (drop bool)
	// together is how long a port of a host waits for more frames before the host gets them; 0: the
	// host gets each by itself.
	together time.Duration
	waiting  map[[2]int][][]byte // by host and port
}

type plane struct {
	delay, jitter            time.Duration
	loss, dup, corrupt, trim float64
	mark                     float64 // of the ECN-capable frames, marked CE
	dead                     bool
	deadEVs                  uint32 // one in so many entropy values leads nowhere; 0 is none

	egress []*egress // by host, when the plane is a switch with queues
}

func testAddr(host int) netip.Addr {
	a := netip.MustParseAddr("2001:db8::").As16()
	binary.BigEndian.PutUint16(a[14:], uint16(host+1))
	return netip.AddrFrom16(a)
}

func testMAC(host, port int) packet.MAC {
	return packet.MAC{2, 0, 0, byte(port), 0, byte(host + 1)}
}

var gatewayMAC = packet.MAC{2, 0xFF, 0, 0, 0, 0}

const testRKey = 7

func newBed(t testing.TB, seed uint64, hosts, planes int) *bed {
	l := &bed{t: t, rng: rand.New(rand.NewPCG(seed, 1)), planes: make([]plane, planes)}
	for i := range l.planes {
		l.planes[i].delay = time.Microsecond
	}
	for i := range hosts {
		l.hosts = append(l.hosts, newTestHost(t, i, planes, func(now time.Duration, port int,
			frame []byte) {
			l.send(i, port, now, frame)
		}))
	}
	return l
}

func newTestHost(t testing.TB, i, ports int, output func(time.Duration, int, []byte)) *Host {
	cfg := DefaultConfig()
	cfg.Name, cfg.Addr, cfg.Output = string(rune('A'+i)), testAddr(i), output
	for p := range ports {
		cfg.Ports = append(cfg.Ports, Port{MAC: testMAC(i, p+1), Gateway: gatewayMAC})
	}
	h, err := NewHost(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func testPaths(n, ports int) []Path {
	paths := make([]Path, n)
	for i := range paths {
		paths[i] = Path{EV: packet.EV(0xC0000000 + i*0x10001), Port: i%ports + 1}
	}
	return paths
}

// testQPConfig is the configuration of the queue pair of host a for host b.
func testQPConfig(a, b, planes int) QPConfig {
	c := DefaultQPConfig()
	c.QPN, c.RemoteQPN, c.RemoteAddr = uint32(0x100+b), uint32(0x100+a), testAddr(b)
	c.SQPSN, c.RQPSN = uint32(a*0x1000), uint32(b*0x1000)
	c.Congestion = FixedWindow(256 << 10)
	c.Sprayer = NewRoundRobin(testPaths(8*planes, planes)...)
	return c
}

// pair creates a queue pair on host a and one on host b, connected to each other.
func (l *bed) pair(a, b int, edit func(side int, c *QPConfig)) [2]*QP {
	var qps [2]*QP
	for side, ends := range [2][2]int{{a, b}, {b, a}} {
		c := testQPConfig(ends[0], ends[1], len(l.planes))
		if edit != nil {
			edit(side, &c)
		}
		q, err := l.hosts[ends[0]].CreateQP(c)
		if err != nil {
			l.t.Fatal(err)
		}
		qps[side] = q
	}
	return qps
}

func (l *bed) send(from, port int, now time.Duration, frame []byte) {
	k := &l.planes[port-1]
	if l.tap != nil && l.tap(now, from, port, frame) {
		return
	}
	if k.dead || l.rng.Float64() < k.loss || k.deadEVs > 0 &&
		evOf(frame)*0x9E3779B1>>16%k.deadEVs == 0 {
		return
	}
	to := -1
	dst := netip.AddrFrom16([16]byte(frame[packet.EthernetLen+24 : packet.EthernetLen+40]))
	for i, h := range l.hosts {
		if h.cfg.Addr == dst {
			to = i
		}
	}
	if to < 0 {
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
		var f []byte
		if n := len(l.pool); n > 0 {
			f, l.pool = l.pool[n-1][:0], l.pool[:n-1]
		}
		f = append(f, frame...)
		mac := testMAC(to, port)
		copy(f, mac[:])
		classes := packet.DefaultDSCPClasses()
		if dscp := packet.DSCP(f[packet.EthernetLen]<<4 | f[packet.EthernetLen+1]>>4); classes.MayTrim(dscp) && l.rng.Float64() < k.trim {
			var err error
			if f, err = (packet.Trimmer{DSCP: classes, Size: packet.MinTrimLen,
				SetLength: l.rng.IntN(2) == 0}).Trim(f, l.rng.IntN(2) == 0); err != nil {
				l.t.Fatal(err)
			}
		}
		if l.rng.Float64() < k.corrupt {
			f[packet.EthernetLen+l.rng.IntN(len(f)-packet.EthernetLen)] ^= 1 << l.rng.IntN(8)
		}
		if tc := f[packet.EthernetLen+1]; tc>>4&3 == packet.ECT0 && l.rng.Float64() < k.mark {
			f[packet.EthernetLen+1] = tc | packet.CE<<4
		}
		l.At(at, func() {
			if k.egress != nil {
				k.egress[to].take(l, f)
			} else {
				l.receive(to, port, f)
			}
		})
	}
}

func (l *bed) receive(to, port int, frame []byte) {
	if l.together == 0 {
		l.hosts[to].Receive(l.Now(), port, frame)
		l.pool = append(l.pool, frame)
		return
	}
	at := [2]int{to, port}
	if l.waiting == nil {
		l.waiting = make(map[[2]int][][]byte)
	}
	if l.waiting[at] = append(l.waiting[at], frame); len(l.waiting[at]) > 1 {
		return
	}
	l.At(l.Now()+l.together, func() {
		frames := l.waiting[at]
		l.waiting[at] = nil
		l.hosts[to].ReceiveAll(l.Now(), port, frames)
		l.pool = append(l.pool, frames...)
	})
}

// evOf is the entropy value of a frame without outer header.
func evOf(frame []byte) uint32 {
	return uint32(binary.BigEndian.Uint16(frame[packet.EthernetLen+packet.IPv6Len:]))<<16 | uint32(
		binary.BigEndian.Uint16(frame[packet.EthernetLen+2:]))
}

// run advances all hosts until nothing is left to do, or done, or virtual time is up.
func (l *bed) run(until time.Duration, done func() bool) {
	advance := virtual.All(l.hosts...)
	l.Run(until, func(now time.Duration) (time.Duration, bool) {
		next, pending := advance(now)
		if pending && next <= now {
			l.t.Fatalf("a host wants to be advanced at %v, which is past at %v", next, now)
		}
		return next, pending
	}, done)
}

func (l *bed) region(host int, size int) []byte {
	buf := make([]byte, size)
	if _, err := l.hosts[host].RegisterMR(0, testRKey, buf, verbs.AccessRemoteWrite); err != nil {
		l.t.Fatal(err)
	}
	return buf
}

func (l *bed) post(q *QP, wr verbs.WorkRequest) {
	l.t.Helper()
	wr.RKey = testRKey
	if err := q.PostSend(l.Now(), wr); err != nil {
		l.t.Fatal(err)
	}
}

func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7+i>>8) ^ seed
	}
	return b
}
