package southbound

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events collects what a session tells its owner.
type events chan Event

func (e events) handle(ctx context.Context, ev Event) {
	select {
	case e <- ev:
	case <-ctx.Done():
	}
}

// next returns the next event of type T; events of other types are passed over.
func next[T Event](t *testing.T, e events) T {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case ev := <-e:
			if got, ok := ev.(T); ok {
				return got
			}
		case <-limit:
			var want T
			t.Fatalf("no %T", want)
		}
	}
}

func open(t *testing.T, cfg Config) (*Session, events) {
	t.Helper()
	ev := make(events, 256)
	s, err := Open(t.Context(), cfg, ev.handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, ev
}

// ready opens a session with a fake switch and waits until it may write.
func ready(t *testing.T, f *fakeSwitch) (*Session, events) {
	t.Helper()
	cfg := f.config()
	cfg.Pipeline = smallPipeline(t)
	s, ev := open(t, cfg)
	if r := next[Ready](t, ev); !r.Installed {
		t.Fatal("the pipeline was not installed on an empty switch")
	}
	return s, ev
}

func TestPipelineIsInstalledOnlyWhenItDiffers(t *testing.T) {
	f := newFakeSwitch(t)
	_, ev := ready(t, f)
	f.drop(status.Error(codes.Unavailable, "link flap"))
	down := next[Down](t, ev)
	if !errors.Is(down.Err, ErrNotConnected) || down.Retry <= 0 {
		t.Errorf("down: %v, retry %v", down.Err, down.Retry)
	}
	if next[Ready](t, ev).Installed {
		t.Error("the pipeline was installed over itself, which clears the switch")
	}
	f.forget()
	if !next[Ready](t, ev).Installed {
		t.Error("a switch that restarted empty got no pipeline")
	}
	f.with(func() { f.cookie = &p4v1.ForwardingPipelineConfig_Cookie{Cookie: 1} })
	f.drop(errors.New("flap"))
	if !next[Ready](t, ev).Installed {
		t.Error("another pipeline was left in place")
	}
	f.with(func() { f.cookie = nil })
	f.drop(errors.New("flap"))
	if !next[Ready](t, ev).Installed {
		t.Error("a pipeline without a cookie was left in place")
	}
}

func TestForgottenPipelineIsNoticedByARequest(t *testing.T) {
	f := newFakeSwitch(t)
	s, ev := ready(t, f)
	f.with(func() { f.pipeline, f.cookie = false, nil })
	if err := s.Write(t.Context(), []Update{{Insert, route("2001:db8::", 32, 1)}}); !errors.Is(err, ErrNoPipeline) {
		t.Errorf("write to a switch without a pipeline: %v", err)
	}
	if d := next[Down](t, ev); !errors.Is(d.Err, ErrNoPipeline) {
		t.Errorf("down for %v", d.Err)
	}
	if !next[Ready](t, ev).Installed {
		t.Error("the pipeline was not installed again")
	}
}

func TestArbitration(t *testing.T) {
	f := newFakeSwitch(t)
	low, lowEvents := ready(t, f)
	cfg := f.config()
	cfg.Election = ElectionID{High: 1}
	high, highEvents := open(t, cfg)
	next[Ready](t, highEvents)
	if b := next[Backup](t, lowEvents); b.Primary != cfg.Election {
		t.Errorf("backup to %v", b.Primary)
	}
	up := []Update{{Insert, route("2001:db8::", 32, 1)}}
	if err := low.Write(t.Context(), up); !errors.Is(err, ErrNotPrimary) {
		t.Errorf("a backup's write: %v", err)
	}
	if err := low.PacketOut(t.Context(), PacketOut{}); !errors.Is(err, ErrNotPrimary) {
		t.Errorf("a backup's packet-out: %v", err)
	}
	if err := high.Write(t.Context(), up); err != nil {
		t.Error(err)
	}
	if es, err := low.Read(t.Context(), Query{Kind: KindTableEntry}); err != nil || len(es) != 1 {
		t.Errorf("a backup's read: %v, %v", es, err)
	}
	if err := high.Close(); err != nil {
		t.Error(err)
	}
	if next[Ready](t, lowEvents).Installed {
		t.Error("the pipeline was installed over itself on promotion")
	}
	if err := low.Write(t.Context(), []Update{{Delete, up[0].Entity}}); err != nil {
		t.Error(err)
	}
}

// TestDeposedMidWrite: the switch refuses a write before the session has heard
// of its successor.
func TestDeposedMidWrite(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	f.with(func() {
		f.writeFault = func(*p4v1.WriteRequest) error { return status.Error(codes.PermissionDenied, "Not primary") }
	})
	err := s.Write(t.Context(), []Update{{Insert, route("2001:db8::", 32, 1)}, {Insert, MulticastGroup{ID: 1}}})
	var we *WriteError
	if !errors.Is(err, ErrNotPrimary) || !errors.As(err, &we) {
		t.Fatalf("%v", err)
	}
	if len(we.Updates) != 2 || we.Updates[0].Code != codes.PermissionDenied || we.Updates[1].Code != codes.Aborted {
		t.Errorf("%+v", we.Updates)
	}
}

func TestArbitrationRefused(t *testing.T) {
	f := newFakeSwitch(t)
	f.refuse = status.Error(codes.InvalidArgument, "Election id already exists")
	cfg := f.config()
	s, ev := open(t, cfg)
	if d := next[Down](t, ev); !errors.Is(d.Err, ErrArbitration) || !strings.Contains(d.Err.Error(), "already exists") {
		t.Errorf("%v", d.Err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("waiting in vain: %v", err)
	}
	if err := s.Write(t.Context(), []Update{{Insert, MulticastGroup{ID: 1}}}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("%v", err)
	}
	f.with(func() { f.refuse = nil })
	if err := s.WaitReady(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSilentSwitch(t *testing.T) {
	f := newFakeSwitch(t)
	f.mute = true
	cfg := f.config()
	cfg.SetupTimeout = 20 * time.Millisecond
	_, ev := open(t, cfg)
	if d := next[Down](t, ev); !errors.Is(d.Err, ErrArbitration) {
		t.Errorf("no answer to the arbitration: %v", d.Err)
	}
}

func TestDeadPeerIsNoticed(t *testing.T) {
	f := newFakeSwitch(t)
	cfg := f.config()
	cfg.ProbeInterval, cfg.ProbeTimeout = 5*time.Millisecond, 50*time.Millisecond
	_, ev := open(t, cfg)
	next[Ready](t, ev)
	f.with(func() { f.mute = true })
	if d := next[Down](t, ev); !errors.Is(d.Err, ErrDeadPeer) && !errors.Is(d.Err, ErrArbitration) {
		t.Errorf("%v", d.Err)
	}
	f.with(func() { f.mute = false })
	next[Ready](t, ev)
}

func TestProbesTakeAnyAnswer(t *testing.T) {
	f := newFakeSwitch(t)
	f.capabilities = status.Error(codes.Unimplemented, "no such method")
	f.probes = make(chan struct{}, 1000)
	cfg := f.config()
	cfg.ProbeInterval, cfg.NoPortState = time.Millisecond, true
	s, ev := open(t, cfg)
	next[Ready](t, ev)
	for range 10 {
		<-f.probes
	}
	if st, err := s.State(); st != StateReady {
		t.Errorf("%v, %v", st, err)
	}
	_ = s.Close()
	select {
	case e := <-ev:
		t.Errorf("%T %+v", e, e)
	default:
	}
}

func TestPacketsAndDigests(t *testing.T) {
	f := newFakeSwitch(t)
	s, ev := ready(t, f)
	if err := s.PacketOut(t.Context(), PacketOut{Payload: []byte("hello"), Metadata: []Field{{ID: 1, Value: Uint(7)}, {ID: 2}}}); err != nil {
		t.Fatal(err)
	}
	in := next[PacketIn](t, ev) // the fake sends packets back
	if string(in.Payload) != "hello" || in.Value(1) != Uint(7) || in.Value(2) != Uint(0) || in.Value(3) != "" {
		t.Errorf("%+v", in)
	}
	bits := func(b ...byte) *p4v1.P4Data { return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: b}} }
	f.push(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Digest{Digest: &p4v1.DigestList{
		DigestId: 5, ListId: 77, Timestamp: 9, Data: []*p4v1.P4Data{
			{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: []*p4v1.P4Data{bits(0, 1), bits(2)}}}}, bits(3),
		}}}})
	d := next[Digest](t, ev)
	if d.ID != 5 || d.List != 77 || len(d.Reports) != 2 || !slices.Equal(d.Reports[0], []Value{Uint(1), Uint(2)}) || d.Reports[1][0] != Uint(3) {
		t.Errorf("%+v", d)
	}
	f.push(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Error{Error: &p4v1.StreamError{CanonicalCode: int32(codes.InvalidArgument), Message: "bad packet"}}})
	if e := next[StreamError](t, ev); e.Code != codes.InvalidArgument || e.Message != "bad packet" {
		t.Errorf("%+v", e)
	}
	// One more packet goes around: what was queued before it has arrived.
	if err := s.PacketOut(t.Context(), PacketOut{}); err != nil {
		t.Fatal(err)
	}
	next[PacketIn](t, ev)
	f.with(func() {
		if len(f.acks) != 1 || f.acks[0].GetListId() != 77 {
			t.Errorf("acknowledged %v", f.acks)
		}
	})
}

func TestCounters(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	f.with(func() {
		for _, c := range []CounterCell{{drops, 1, 5, 0}, {drops, 2, 6, 0}, {portRx, 1, 7, 700}} {
			p, _ := toProto(c)
			f.entities[c.Key()] = p
		}
	})
	es, err := s.Read(t.Context(), Query{Kind: KindCounter, ID: portRx})
	if err != nil || len(es) != 1 || es[0] != Entity(CounterCell{portRx, 1, 7, 700}) {
		t.Errorf("%v, %v", es, err)
	}
	if es, err = s.Read(t.Context(), Query{Kind: KindCounter}); err != nil || len(es) != 3 {
		t.Errorf("%v, %v", es, err)
	}
}

func TestClose(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error("a second Close:", err)
	}
	for name, err := range map[string]error{
		"write":      s.Write(t.Context(), []Update{{Insert, MulticastGroup{ID: 1}}}),
		"packet-out": s.PacketOut(t.Context(), PacketOut{}),
		"wait":       s.WaitReady(t.Context()),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if st, _ := s.State(); st != StateClosed {
		t.Error(st)
	}
}

// TestCloseWhileTheHandlerBlocks: the handler's context ends.
func TestCloseWhileTheHandlerBlocks(t *testing.T) {
	f := newFakeSwitch(t)
	entered := make(chan struct{}, 8)
	s, err := Open(t.Context(), f.config(), func(ctx context.Context, _ Event) {
		entered <- struct{}{}
		<-ctx.Done()
	})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestPausesGrowAndAreBounded(t *testing.T) {
	f := newFakeSwitch(t)
	f.refuse = status.Error(codes.Unavailable, "starting")
	cfg := f.config()
	cfg.Backoff = Backoff{Initial: time.Millisecond, Max: 8 * time.Millisecond, Multiplier: 2}
	_, ev := open(t, cfg)
	for i, mean := range []time.Duration{1, 2, 4, 8, 8, 8} {
		mean *= time.Millisecond
		if d := next[Down](t, ev); d.Retry < mean/2 || d.Retry > mean*3/2 {
			t.Errorf("pause %d is %v, not around %v", i, d.Retry, mean)
		}
	}
}

func TestUnreachable(t *testing.T) {
	f := newFakeSwitch(t)
	_ = f.listener.Close()
	_, ev := open(t, f.config())
	for range 3 {
		if d := next[Down](t, ev); !errors.Is(d.Err, ErrNotConnected) {
			t.Errorf("%v", d.Err)
		}
	}
}

// TestStorm drops streams, restarts the switch and deposes the controller at
// random while writes go on; in the end the switch holds what was wanted.
func TestStorm(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	f := newFakeSwitch(t)
	s, ev := ready(t, f)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			select {
			case <-ev:
			case <-t.Context().Done():
				return
			}
		}
	}()
	want := route("2001:db8::", 32, 1)
	for i := range 60 {
		switch rng.IntN(4) {
		case 0:
			f.drop(errors.New("cut"))
		case 1:
			f.forget()
		}
		if err := s.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := s.Write(t.Context(), []Update{{Insert, want}, {Insert, MulticastGroup{ID: uint32(i + 1)}}})
		var we *WriteError
		if err != nil && !errors.As(err, &we) && !errors.Is(err, ErrNotConnected) && !errors.Is(err, ErrNotPrimary) {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	for attempt := 0; ; attempt++ {
		if attempt == 100 {
			t.Fatal("the entry never came back")
		}
		if s.WaitReady(t.Context()) != nil {
			t.Fatal("never ready")
		}
		_ = s.Write(t.Context(), []Update{{Insert, want}})
		es, err := s.Read(t.Context(), Query{Kind: KindTableEntry})
		if err == nil && len(es) == 1 && Equal(es[0], want) {
			break
		}
	}
	_ = s.Close()
}
