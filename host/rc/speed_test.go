package rc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
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
}

func newDirect(tb testing.TB, edit func(*QPConfig)) *direct {
	d := &direct{}
	for i := range d.hosts {
		cfg := DefaultConfig()
		cfg.Addr, cfg.MAC, cfg.GatewayMAC = testAddr[i], testMAC[i], testMAC[1-i]
		cfg.Output = func(_ time.Duration, frame []byte) {
			var f []byte
			if n := len(d.free); n > 0 {
				f, d.free = d.free[n-1], d.free[:n-1]
			}
			d.queue[1-i].Push(append(f[:0], frame...))
		}
		h, err := NewHost(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		c := DefaultQPConfig()
		c.QPN, c.RemoteQPN, c.RemoteAddr = testQPN0, testQPN0, testAddr[1-i]
		if edit != nil {
			edit(&c)
		}
		if d.qps[i], err = h.CreateQP(c); err != nil {
			tb.Fatal(err)
		}
		d.hosts[i] = h
	}
	return d
}

// write posts a WRITE of data from host 0 and runs until it completes.
func (d *direct) write(tb testing.TB, data []byte) {
	if err := d.qps[0].PostSend(verbs.WorkRequest{Op: verbs.OpWrite, Data: data,
		RKey: 1}); err != nil {
		tb.Fatal(err)
	}
	for {
		next, pending := d.hosts[0].Advance(d.now)
		for i := range d.queue {
			i = 1 - i // requests first
			for d.queue[i].Len() > 0 {
				f := d.queue[i].Pop()
				d.hosts[i].Receive(d.now, f)
				d.free = append(d.free, f)
			}
		}
		if c, ok := d.qps[0].Poll(); ok {
			if c.Status != verbs.StatusOK {
				tb.Fatal(c.Status)
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

// TestNotify: a queue pair tells of each completion, of send and of receive requests.
func TestNotify(t *testing.T) {
	told := 0
	d := newDirect(t, func(c *QPConfig) { c.Notify = func() { told++ } })
	if err := d.qps[1].PostRecv(verbs.RecvRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := d.qps[0].PostSend(verbs.WorkRequest{Op: verbs.OpWriteImmediate}); err != nil {
		t.Fatal(err)
	}
	d.write(t, nil) // runs until the first request has completed
	if told != 2 {
		t.Errorf("told %d times, want 2: of a send request and of a receive request", told)
	}
}

// TestNoAllocations: in steady state sending, receiving and acknowledging allocate nothing.
func TestNoAllocations(t *testing.T) {
	for name, edit := range map[string]func(*QPConfig){
		"plain": nil,
		"in-band": func(c *QPConfig) {
			c.Encapsulation = &Encapsulation{Source: testAddr[0], SID: testAddr[1]}
		},
	} {
		d := newDirect(t, edit)
		if _, err := d.hosts[1].RegisterMR(0, 1, make([]byte, 1<<20),
			verbs.AccessRemoteWrite); err != nil {
			t.Fatal(err)
		}
		if edit != nil { // the receiver takes no outer header: sending alone is measured
			d.qps[0].cfg.LocalAckTimeout = 0
			for i := range d.hosts {
				d.hosts[i].cfg.Output = func(time.Duration, []byte) {}
			}
			d.qps[0].cfg.Window = ibta.MaxWindow
			if err := d.qps[0].PostSend(verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 4<<20),
				RKey: 1}); err != nil {
				t.Fatal(err)
			}
			step := func() { d.now, _ = d.hosts[0].Advance(d.now) }
			if n := testing.AllocsPerRun(100, step); n != 0 {
				t.Errorf("%s: %v allocations a packet", name, n)
			}
			continue
		}
		data := make([]byte, 64*4096)
		d.write(t, data)
		if n := testing.AllocsPerRun(20, func() { d.write(t, data) }); n != 0 {
			t.Errorf("%s: %v allocations for %d packets", name, n, len(data)/4096)
		}
	}
}

// BenchmarkWrite sends 4096-octet packets from one host to another, acknowledged as usual; an
// operation is one packet, sent and received.
func BenchmarkWrite(b *testing.B) {
	d := newDirect(b, nil)
	const packets = 4096
	if _, err := d.hosts[1].RegisterMR(0, 1, make([]byte, packets*4096),
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
