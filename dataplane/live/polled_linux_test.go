package live_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// polledPort is a testPort that is polled: what it receives waits, and a pipe says so.
type polledPort struct {
	*testPort
	read, write int

	waitMu  sync.Mutex
	waiting [][]byte // guarded by waitMu
	polls   int      // guarded by waitMu
}

// polledBatch is how many frames one Poll delivers at most.
const polledBatch = 4

func newPolledPort(t *testing.T) *polledPort {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return &polledPort{testPort: newTestPort(), read: fds[0], write: fds[1]}
}

func (p *polledPort) Descriptor() int { return p.read }

func (p *polledPort) Poll() bool {
	p.waitMu.Lock()
	defer p.waitMu.Unlock()
	p.polls++
	n := min(len(p.waiting), polledBatch)
	if n == 0 {
		return false
	}
	p.testPort.receive(p.waiting[:n]...)
	if p.waiting = p.waiting[n:]; len(p.waiting) == 0 {
		var octet [1]byte
		_, _ = unix.Read(p.read, octet[:])
	}
	return true
}

// arrive has frames wait for the switch.
func (p *polledPort) arrive(t *testing.T, frames ...[]byte) {
	t.Helper()
	p.waitMu.Lock()
	defer p.waitMu.Unlock()
	if len(p.waiting) == 0 {
		if _, err := unix.Write(p.write, []byte{1}); err != nil {
			t.Error(err)
		}
	}
	p.waiting = append(p.waiting, frames...)
}

// TestPolled: a switch at rest is woken by frames of a polled port, by those of a port that
// delivers by itself, by calls, and by Close; and rests otherwise.
func TestPolled(t *testing.T) {
	in, out, other := newPolledPort(t), newPolledPort(t), newTestPort()
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: in, 2: out, 3: other}})
	program(t, r, forwardTo2)
	want := 0
	for round := range 50 {
		for range round % 11 {
			in.arrive(t, frame)
			want++
		}
		in.arrive(t, frame, frame)
		other.receive(frame)
		want += 3
		for ; want > 0; want-- {
			if got := <-out.sent; got != string(frame) {
				t.Fatalf("%x left", got)
			}
		}
		if err := r.Do(t.Context(), func(time.Duration) {}); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.PortStats(1); got.Received == 0 || got.RxOctets != got.Received*uint64(len(frame)) ||
		got.RxDropped != 0 {
		t.Errorf("port 1 counts %+v", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Do(t.Context(), func(time.Duration) {}); !errors.Is(err, live.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	in.waitMu.Lock()
	defer in.waitMu.Unlock()
	if in.polls > 5000 { // frames, calls and wakes are some hundreds
		t.Errorf("%d polls: the switch does not rest", in.polls)
	}
}

// TestPolledTurns: polled ports take turns frame by frame, however many frames wait on one port.
func TestPolledTurns(t *testing.T) {
	a, b, out := newPolledPort(t), newPolledPort(t), newTestPort()
	begun, hold := make(chan struct{}), make(chan struct{})
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: a, 2: out, 3: b}})
	program(t, r, forwardTo2)
	held := make(chan error, 1)
	go func() { held <- r.Do(t.Context(), func(time.Duration) { close(begun); <-hold }) }()
	<-begun
	mark := func(port string) []byte { return append(slices.Clone(frame), port...) }
	for range 8 {
		a.arrive(t, mark("a"))
	}
	for range 4 {
		b.arrive(t, mark("b"))
	}
	close(hold)
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	order := ""
	for range 12 {
		f := <-out.sent
		order += f[len(f)-1:]
	}
	if want := "abababab" + "aaaa"; order != want { // each Poll has four
		t.Errorf("the order is %s, want %s", order, want)
	}
}

// TestPolledTimers: time wakes a switch that waits for polled ports.
func TestPolledTimers(t *testing.T) {
	notified := make(chan time.Duration, 1)
	r, err := live.Start(live.Config{Ports: map[uint32]live.Port{1: newPolledPort(t)},
		Device: p4rt.Config{ID: 1, Notify: func(now time.Duration, m *p4v1.StreamMessageResponse) {
			if m.GetIdleTimeoutNotification() != nil {
				select {
				case notified <- now:
				default:
				}
			}
		}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const timeout = 20 * time.Millisecond
	program(t, r, `updates { type: INSERT entity { table_entry { table_id: 38690580
		match { field_id: 1 exact { value: "\x01" } }
		action { action { action_id: 21257015 } } idle_timeout_ns: 20000000 } } }`)
	if at := <-notified; at < timeout {
		t.Errorf("notified at %s", at)
	}
}
