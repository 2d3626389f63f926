package live_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/internal/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program loads the program of package p4rt's tests into a running switch and
// writes updates given in text form.
func program(t *testing.T, r *live.Runner, updates string) {
	t.Helper()
	text, err := os.ReadFile("../p4rt/testdata/entities.p4info.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	info := &configv1.P4Info{}
	if err := prototext.Unmarshal(text, info); err != nil {
		t.Fatal(err)
	}
	json, err := os.ReadFile("../p4rt/testdata/entities.json")
	if err != nil {
		t.Fatal(err)
	}
	req := &p4v1.WriteRequest{}
	if err := prototext.Unmarshal([]byte(updates), req); err != nil {
		t.Fatal(err)
	}
	req.DeviceId = 1
	var failed error
	if err := r.WithDevice(context.Background(), func(now time.Duration, d *p4rt.Device) {
		failed = errors.Join(d.SetPipeline(now, &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: json},
		}), d.Write(now, req))
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

// The frames of every port that miss everything leave by port 2: table miss
// (37974470), action forward (33244565).
const forwardTo2 = `updates { type: MODIFY entity { table_entry { table_id: 37974470
	is_default_action: true
	action { action { action_id: 33244565 params { param_id: 1 value: "\x02" } } } } } }`

var frame = []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x12\x34payload")

// testPort is a port whose far end is the test.
type testPort struct {
	mu      sync.Mutex
	deliver func([][]byte) // guarded by mu
	link    func(bool)     // guarded by mu
	refuse  bool           // guarded by mu
	sent    chan string    // what the switch sent
	closed  chan struct{}  // closed by Close
}

func newTestPort() *testPort {
	return &testPort{sent: make(chan string, 1024), closed: make(chan struct{})}
}

func (p *testPort) Attach(deliver func([][]byte), link func(bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deliver, p.link = deliver, link
}

func (p *testPort) Send(frames [][]byte) (taken, octets int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		return 0, 0
	}
	for _, f := range frames {
		p.sent <- string(f)
		octets += len(f)
	}
	return len(frames), octets
}

func (p *testPort) Close() error {
	close(p.closed)
	return nil
}

func (p *testPort) receive(frames ...[]byte) {
	p.mu.Lock()
	deliver := p.deliver
	p.mu.Unlock()
	deliver(frames)
}

func (p *testPort) setUp(up bool) {
	p.mu.Lock()
	link := p.link
	p.mu.Unlock()
	link(up)
}

// until waits for what must become true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not happen", what)
		}
	}
}

func snapshot(t *testing.T, r *live.Runner) live.Snapshot {
	t.Helper()
	s, err := r.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(t *testing.T, cfg live.Config) *live.Runner {
	t.Helper()
	cfg.Device.ID = 1
	r, err := live.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A frame crosses two switches joined by a cable, and stops when it is cut.
func TestCable(t *testing.T) {
	link := livetest.NewCable()
	in, out := newTestPort(), newTestPort()
	a := start(t, live.Config{Ports: map[uint32]live.Port{1: in, 2: link.A}})
	b := start(t, live.Config{Ports: map[uint32]live.Port{1: link.B, 2: out}})
	program(t, a, forwardTo2)
	program(t, b, forwardTo2)
	in.receive(frame)
	if got := <-out.sent; got != string(frame) {
		t.Fatalf("got %x", got)
	}
	link.SetUp(false)
	snapshot(t, a) // has heard of it
	in.receive(frame)
	until(t, "a drop", func() bool { return snapshot(t, a).Switch.Drops[drop.PortDown] == 1 })
	if s := snapshot(t, b); s.Ports[0].Up || !s.Ports[1].Up {
		t.Errorf("b has not seen its link go: %+v", s.Ports)
	}
	link.SetUp(true)
	snapshot(t, a)
	snapshot(t, b)
	in.receive(frame)
	if got := <-out.sent; got != string(frame) {
		t.Fatalf("got %x", got)
	}
	snapshot(t, a) // has counted what it sent
	if s := a.PortStats(2); s.Sent != 2 || s.SentOctets != uint64(2*len(frame)) {
		t.Errorf("port 2 of a: %+v", s)
	}
	if s := b.PortStats(1); s.Received != 2 || s.RxOctets != uint64(2*len(frame)) || s.RxDropped != 0 {
		t.Errorf("port 1 of b: %+v", s)
	}
	if s := b.PortStats(99); s != (live.PortStats{}) {
		t.Errorf("a port there is not: %+v", s)
	}
}

// A flood on one port fills the queue of that port only.
func TestFlood(t *testing.T) {
	flooded, quiet, out := newTestPort(), newTestPort(), newTestPort()
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: flooded, 2: out, 3: quiet}, Queue: 16,
		Batch: 4})
	program(t, r, forwardTo2)
	busy, release := make(chan struct{}), make(chan struct{})
	blocked := make(chan error, 1)
	go func() {
		blocked <- r.Do(context.Background(), func(time.Duration) { close(busy); <-release })
	}()
	<-busy
	for range 100 {
		flooded.receive(frame)
	}
	quiet.receive([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x03\x12\x34quiet"))
	if s := r.PortStats(1); s.RxDropped != 100-16 {
		t.Errorf("port 1: %+v, want %d dropped", s, 100-16)
	}
	close(release)
	if err := <-blocked; err != nil {
		t.Fatal(err)
	}
	// The quiet port is served in the first round, after at most one batch.
	for i := range 17 {
		if f := <-out.sent; f[6:12] == "\x02\x00\x00\x00\x00\x03" {
			if i > 4 {
				t.Errorf("the quiet port waited for %d frames", i)
			}
		}
	}
	if s := r.PortStats(3); s.Received != 1 || s.RxDropped != 0 {
		t.Errorf("port 3: %+v", s)
	}
}

// A port that takes nothing costs its own frames only.
func TestRefusingPort(t *testing.T) {
	in, out := newTestPort(), newTestPort()
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: in, 2: out}})
	program(t, r, forwardTo2)
	out.mu.Lock()
	out.refuse = true
	out.mu.Unlock()
	in.receive(frame)
	for r.PortStats(2).TxDropped == 0 {
		if err := r.Do(context.Background(), func(time.Duration) {}); err != nil {
			t.Fatal(err)
		}
	}
	out.mu.Lock()
	out.refuse = false
	out.mu.Unlock()
	in.receive(frame)
	if got := <-out.sent; got != string(frame) {
		t.Fatalf("got %x", got)
	}
}

// A switch drops what comes from and goes to a port whose link is down, and
// nothing else.
func TestLinkDown(t *testing.T) {
	in, out := newTestPort(), newTestPort()
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: in, 2: out}})
	program(t, r, forwardTo2)
	out.setUp(false)
	snapshot(t, r) // has heard of it
	in.receive(frame, frame)
	until(t, "two drops", func() bool { return snapshot(t, r).Switch.Drops[drop.PortDown] == 2 })
	in.setUp(false)
	snapshot(t, r)
	in.receive(frame)
	until(t, "the third", func() bool { return snapshot(t, r).Switch.Drops[drop.PortDown] == 3 })
	out.setUp(true)
	in.setUp(true)
	snapshot(t, r)
	in.receive(frame)
	if got := <-out.sent; got != string(frame) {
		t.Fatalf("got %x", got)
	}
	if s := snapshot(t, r); s.Switch.Drops[drop.PortDown] != 3 || s.Switch.Transmitted != 1 ||
		len(out.sent) != 0 || !s.Ports[0].Up || !s.Ports[1].Up {
		t.Errorf("%+v, ports %+v", s.Switch, s.Ports)
	}
}

// TestSnapshot: a snapshot shows the queues in use, and the tables of P4Info with their entries.
func TestSnapshot(t *testing.T) {
	in, out := newTestPort(), newTestPort()
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: in, 2: out}})
	if s := snapshot(t, r); len(s.Tables) != 0 || len(s.Ports) != 2 {
		t.Errorf("without a program: %+v", s)
	}
	program(t, r, forwardTo2+` updates { type: INSERT entity { table_entry { table_id: 38690580
		match { field_id: 1 exact { value: "\x01" } }
		action { action { action_id: 21257015 } } } } }`)
	in.receive(frame)
	<-out.sent
	s := snapshot(t, r)
	entries := 0
	for _, table := range s.Tables {
		if table.Size == 0 {
			t.Errorf("table %s has no size", table.Name)
		}
		entries += table.Entries
	}
	if entries == 0 {
		t.Errorf("tables %+v: want the entry in one of them", s.Tables)
	}
	if len(s.Queues) != 8 || s.Queues[7].Port != 2 || s.Queues[7].Priority != 7 ||
		s.Queues[7].Packets != 0 {
		t.Errorf("queues %+v: want the eight of port 2", s.Queues)
	}
}

// Frames to a port that does not exist are counted.
func TestNoSuchPort(t *testing.T) {
	in := newTestPort()
	r := start(t, live.Config{Ports: map[uint32]live.Port{1: in}})
	program(t, r, forwardTo2)
	in.receive(frame)
	for r.NoSuchPort() == 0 {
		if err := r.Do(context.Background(), func(time.Duration) {}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDo(t *testing.T) {
	r := start(t, live.Config{})
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	never := func(time.Duration) { t.Error("it ran") }
	if err := r.Do(canceled, never); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}

	// One call runs, one waits; the one that waits can give up.
	busy, release, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first <- r.Do(context.Background(), func(time.Duration) { close(busy); <-release })
	}()
	<-busy
	ctx, giveUp := context.WithCancel(context.Background())
	second := make(chan error, 1)
	go func() { second <- r.Do(ctx, never) }()
	giveUp()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}

	// Close lets the running call finish; what waits or comes later fails.
	third := make(chan error, 1)
	queued := make(chan struct{})
	go func() {
		close(queued)
		third <- r.Do(context.Background(), func(time.Duration) {})
	}()
	<-queued
	closed := make(chan error, 1)
	go func() { closed <- r.Close() }()
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the running call: %v", err)
	}
	if err := <-third; err != nil && !errors.Is(err, live.ErrClosed) {
		t.Errorf("the waiting call: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if err := r.Do(context.Background(), never); !errors.Is(err, live.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

// What is pending runs when its time comes: an idle timeout is notified
// though nothing else happens.
func TestTimers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		notified := make(chan time.Duration, 1)
		r, err := live.Start(live.Config{Device: p4rt.Config{ID: 1, Notify: func(now time.Duration,
			m *p4v1.StreamMessageResponse) {
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
		program(t, r, `updates { type: INSERT entity { table_entry { table_id: 38690580 match {
			field_id: 1 exact { value: "\x01" } }
			action { action { action_id: 21257015 } } idle_timeout_ns: 1000000000 } } }`)
		if at := <-notified; at < time.Second || at > time.Second+2*p4rt.DefaultIdleScan {
			t.Errorf("notified at %s", at)
		}
	})
}

// A configuration that cannot be leaves no port open.
func TestStartRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  live.Config
		port uint32
	}{
		{"CPU port", live.Config{Device: p4rt.Config{ID: 1}}, 510},
		{"drop port", live.Config{Device: p4rt.Config{ID: 1}}, 511},
		{"port of 10 bits", live.Config{Device: p4rt.Config{ID: 1}}, 512},
	} {
		p := newTestPort()
		c.cfg.Ports = map[uint32]live.Port{c.port: p}
		if _, err := live.Start(c.cfg); !errors.Is(err, p4rt.ErrConfig) {
			t.Errorf("%s: %v", c.name, err)
		}
		select {
		case <-p.closed:
		default:
			t.Errorf("%s: the port stays open", c.name)
		}
	}
}
