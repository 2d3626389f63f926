//go:build linux

package hostrun

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/host/verbs"
)

// echo is an endpoint that sends back what it receives, and knows no time.
type echo struct {
	r *Runner
	n int
}

func (*echo) Advance(time.Duration) (next time.Duration, pending bool) { return 0, false }

func (e *echo) ReceiveAll(_ time.Duration, port int, frames [][]byte) {
	for _, f := range frames {
		e.n++
		e.r.Send(port, f)
	}
}

func (*echo) RegisterMR(uint64, uint32, []byte, verbs.Access) (*verbs.Region, error) {
	return nil, errors.ErrUnsupported
}

// pipePort uses the octets of a pipe as frames of one octet.
type pipePort struct {
	fd      int // never waits
	deliver func(frames [][]byte)
	sent    chan string
}

func (p *pipePort) Attach(deliver func(frames [][]byte), _ func(bool)) { p.deliver = deliver }
func (*pipePort) Close() error                                         { return nil }
func (p *pipePort) Descriptor() int                                    { return p.fd }

func (p *pipePort) Poll() bool {
	var b [4]byte
	n, err := unix.Read(p.fd, b[:])
	if err != nil || n == 0 {
		return false
	}
	var frames [][]byte
	for i := range n {
		frames = append(frames, b[i:i+1])
	}
	p.deliver(frames)
	return true
}

func (p *pipePort) Send(frames [][]byte) (taken, octets int) {
	batch := ""
	for _, f := range frames {
		batch += string(f)
	}
	p.sent <- batch
	return len(frames), len(batch)
}

// TestPolled: a runner with a port that is polled handles frames, calls and the end of its context,
// also after it has gone to sleep; what it sends goes to the port in batches.
func TestPolled(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	fd := int(in.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	p := &pipePort{fd: fd, sent: make(chan string, 16)}
	r := New(0, 0, nil)
	e := &echo{r: r}
	calls, rested := make(chan func(), 1), make(chan bool, 1000)
	r.Endpoint, r.Calls, r.Pump = e, calls, func() error { return nil }
	r.Received = func() uint64 { return 0 }
	r.Rest = func() bool {
		select {
		case rested <- true:
		default:
		}
		return false
	}
	r.Attach(1, p, Neighbor{}, func(bool) {})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for range 3 {
		<-rested // it sleeps now, or is about to
		if _, err := out.WriteString("abcd"); err != nil {
			t.Fatal(err)
		}
		if got := <-p.sent; got != "abcd" {
			t.Errorf("sent %q", got)
		}
		ran := make(chan bool)
		calls <- func() { close(ran) }
		r.Wake()
		<-ran
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.Wake() // of one that has ended
	if e.n != 12 {
		t.Errorf("%d frames", e.n)
	}
}

// TestReportBesideCall: a runner that has reported looks for a call once more before it sleeps: the
// bell, which rings once, may have rung for the call.
func TestReportBesideCall(t *testing.T) {
	r := New(0, 0, nil)
	r.busy = -time.Hour
	r.Rest = func() bool {
		t.Error("the runner is about to sleep")
		return true
	}
	reporting := make(chan time.Time, 1)
	reporting <- time.Time{}
	if !r.poll(t.Context(), nil, reporting, 0, false) {
		t.Error("the runner has ended")
	}
}
