package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/ring"
)

// direct joins two hosts without any delay: frames wait in a queue of reused buffers until the
// sender has returned.
type direct struct {
	now   time.Duration
	hosts [2]*Host
	qps   [2]*QP
	queue [2]ring.Ring[[]byte] // frames to each host
	free  [][]byte
	drop  int // every so many frames to host 1 are lost
	count int
}

func newDirect(tb testing.TB, edit func(*QPConfig)) *direct {
	d := &direct{}
	for i := range d.hosts {
		d.hosts[i] = newTestHost(tb, i, 1, func(_ time.Duration, _ int, frame []byte) {
			if d.count++; i == 0 && d.drop > 0 && d.count%d.drop == 0 {
				return
			}
			var f []byte
			if n := len(d.free); n > 0 {
				f, d.free = d.free[n-1], d.free[:n-1]
			}
			f = append(f[:0], frame...)
			mac := testMAC(1-i, 1)
			copy(f, mac[:])
			d.queue[1-i].Push(f)
		})
		c := testQPConfig(i, 1-i, 1)
		if edit != nil {
			edit(&c)
		}
		q, err := d.hosts[i].CreateQP(c)
		if err != nil {
			tb.Fatal(err)
		}
		d.qps[i] = q
	}
	return d
}

// write posts a WRITE with Immediate of data from host 0 and runs until it completes at both ends.
func (d *direct) write(tb testing.TB, data []byte) {
	wr := verbs.WorkRequest{Op: verbs.OpWriteImmediate, Data: data, RKey: testRKey}
	if err := d.qps[1].PostRecv(verbs.RecvRequest{}); err != nil {
		tb.Fatal(err)
	}
	if err := d.qps[0].PostSend(d.now, wr); err != nil {
		tb.Fatal(err)
	}
	for {
		next, pending := d.hosts[0].Advance(d.now)
		for i := range d.queue {
			i = 1 - i // requests first
			for d.queue[i].Len() > 0 {
				f := d.queue[i].Pop()
				d.hosts[i].Receive(d.now, 1, f)
				d.free = append(d.free, f)
			}
		}
		if c, ok := d.qps[0].Poll(); ok {
			if c.Status != verbs.StatusOK {
				tb.Fatal(c.Status)
			}
			if _, ok := d.qps[1].Poll(); !ok {
				tb.Fatal("no completion at the responder")
			}
			return
		}
		if !pending {
			if next, pending = d.hosts[0].Advance(d.now); !pending {
				tb.Fatal("stalled")
			}
		}
		d.now = max(d.now, next)
	}
}

// TestNoAllocations: in steady state sending, receiving, acknowledging and sending again allocate
// nothing.
func TestNoAllocations(t *testing.T) {
	for name, drop := range map[string]int{"clean": 0, "lossy": 50} {
		d := newDirect(t, nil)
		d.drop = drop
		if _, err := d.hosts[1].RegisterMR(0, testRKey, make([]byte, 1<<20),
			verbs.AccessRemoteWrite); err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 200*4096)
		for range 5 {
			d.write(t, data)
		}
		if n := testing.AllocsPerRun(20, func() { d.write(t, data) }); n != 0 {
			t.Errorf("%s: %v allocations for %d packets", name, n, len(data)/4096)
		}
		if c := d.qps[0].Counters(); (c.RequestsResent > 0) != (drop > 0) {
			t.Errorf("%s: %d packets sent again", name, c.RequestsResent)
		}
	}
}

// BenchmarkWrite sends 4096-octet packets from one host to another, acknowledged as usual; an
// operation is one packet, sent and received.
func BenchmarkWrite(b *testing.B) {
	d := newDirect(b, nil)
	const packets = 4096
	if _, err := d.hosts[1].RegisterMR(0, testRKey, make([]byte, packets*4096),
		verbs.AccessRemoteWrite); err != nil {
		b.Fatal(err)
	}
	data := make([]byte, packets*4096)
	b.SetBytes(4096)
	b.ReportAllocs()
	for left := b.N; left > 0; left -= packets {
		d.write(b, data[:min(left, packets)*4096])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
}
