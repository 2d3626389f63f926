package southbound

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/southbound/entry"
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

// TestPipelineIsReplaced: a switch with another pipeline gets the new pipeline in its turn, keeps
// fitting state if it announces that ability, and is cleared otherwise.
func TestPipelineIsReplaced(t *testing.T) {
	reconciles := func(text string) *anypb.Any {
		a, err := anypb.New(wrapperspb.String(text))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	const keep, wipe = "RECONCILE_AND_COMMIT", "VERIFY_AND_COMMIT"
	for _, c := range []struct {
		name         string
		experimental *anypb.Any
		reconcile    error
		want         string
	}{
		{"one that says nothing", nil, nil, wipe},
		{"one that can do something else", reconciles("else"), nil, wipe},
		{"one that keeps what fits", reconciles(p4.ReconcileKey), nil, keep},
		{"one that cannot after all", reconciles(p4.ReconcileKey),
			status.Error(codes.Unimplemented, "no"), keep + " " + wipe},
		{"one that refuses", reconciles(p4.ReconcileKey), status.Error(codes.InvalidArgument, "no"),
			keep + " " + wipe},
	} {
		f := newFakeSwitch(t)
		f.pipeline, f.cookie = true, &p4v1.ForwardingPipelineConfig_Cookie{Cookie: 1}
		f.experimental, f.reconcile = c.experimental, c.reconcile
		cfg := f.config()
		cfg.Pipeline = smallPipeline(t)
		turn, over := make(chan struct{}), make(chan struct{})
		cfg.Turn = func(context.Context) (func(context.Context), error) {
			<-turn
			return func(context.Context) { close(over) }, nil
		}
		_, ev := open(t, cfg)
		f.with(func() {
			if len(f.actions) > 0 {
				t.Errorf("%s: it got a pipeline before its turn", c.name)
			}
		})
		close(turn)
		if !next[Ready](t, ev).Installed {
			t.Errorf("%s: the pipeline was not installed", c.name)
		}
		<-over
		f.with(func() {
			if got := strings.Join(f.actions, " "); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		})
	}
}

func TestForgottenPipelineIsNoticedByARequest(t *testing.T) {
	f := newFakeSwitch(t)
	s, ev := ready(t, f)
	f.with(func() { f.pipeline, f.cookie = false, nil })
	if _, err := s.Write(t.Context(), insert(route("2001:db8::", 32, 1))); !errors.Is(err,
		ErrNoPipeline) {
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
	cfg.Election, cfg.Pipeline = ElectionID{High: 1}, smallPipeline(t)
	high, highEvents := open(t, cfg)
	next[Ready](t, highEvents)
	if b := next[Backup](t, lowEvents); b.Highest != cfg.Election || b.Own != f.config().Election ||
		b.Vacant {
		t.Errorf("backup: %v", b)
	}
	up := insert(route("2001:db8::", 32, 1))
	if _, err := low.Write(t.Context(), up); !errors.Is(err, ErrNotPrimary) {
		t.Errorf("a backup's write: %v", err)
	}
	if err := low.PacketOut(t.Context(), entry.PacketOut{}); !errors.Is(err, ErrNotPrimary) {
		t.Errorf("a backup's packet-out: %v", err)
	}
	wantAccepted(t)(high.Write(t.Context(), up))
	if es, err := low.ReadTable(t.Context(), "route"); err != nil || len(es) != 1 {
		t.Errorf("a backup's read: %v, %v", es, err)
	}
	if err := high.Close(); err != nil {
		t.Error(err)
	}
	if next[Ready](t, lowEvents).Installed {
		t.Error("the pipeline was installed over itself on promotion")
	}
	wantAccepted(t)(low.Write(t.Context(), []entry.Update{{Type: entry.Delete, Entity: up[0].Entity}}))
}

// TestArbitrationVacant: a switch remembers a higher election id than this
// controller's, of a client that has gone.
func TestArbitrationVacant(t *testing.T) {
	f := newFakeSwitch(t)
	f.remembered = ElectionID{High: 2, Low: 3}
	cfg := f.config()
	_, ev := open(t, cfg)
	b := next[Backup](t, ev)
	if want := (Backup{Own: cfg.Election, Highest: f.remembered, Vacant: true}); b != want {
		t.Errorf("%+v, want %+v", b, want)
	}
	want := "no controller is primary, but the switch remembers election id 2:3, and this " +
		"controller has " + cfg.Election.String() + ": start it with --election-id 2:3 or higher"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%v, want %s", b, want)
	}
}

func TestElectionID(t *testing.T) {
	for text, want := range map[string]ElectionID{
		"7": {Low: 7}, "0:7": {Low: 7}, "1:0": {High: 1},
		"18446744073709551615:18446744073709551615": {High: 1<<64 - 1, Low: 1<<64 - 1},
	} {
		e, err := ParseElectionID(text)
		if err != nil || e != want {
			t.Errorf("%s: %v, %v", text, e, err)
		}
		if again, err := ParseElectionID(e.String()); err != nil || again != e {
			t.Errorf("%s is %s, and that %v, %v", text, e, again, err)
		}
	}
	for _, text := range []string{"", "0", "0:0", ":", "1:", ":1", "-1", "1:2:3", "x",
		"18446744073709551616", "1:18446744073709551616", "0x10"} {
		if e, err := ParseElectionID(text); err == nil ||
			!strings.Contains(err.Error(), "LOW or HIGH:LOW") {
			t.Errorf("%q: %v, %v", text, e, err)
		}
	}
}

// TestDeposedMidWrite: the switch refuses a write before the session has heard
// of its successor.
func TestDeposedMidWrite(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	f.with(func() {
		f.writeFault = func(*p4v1.WriteRequest) error {
			return status.Error(codes.PermissionDenied, "Not primary")
		}
	})
	refused, err := s.Write(t.Context(), insert(route("2001:db8::", 32, 1), entry.Multicast{ID: 1}))
	if !errors.Is(err, ErrNotPrimary) || len(refused) != 0 {
		t.Fatalf("%v, %v", refused, err)
	}
	f.with(func() {
		if len(f.requests) != 1 {
			t.Errorf("%d requests were sent, the others in vain", len(f.requests))
		}
	})
}

func TestArbitrationRefused(t *testing.T) {
	f := newFakeSwitch(t)
	f.refuse = status.Error(codes.InvalidArgument, "Election id already exists")
	cfg := f.config()
	s, ev := open(t, cfg)
	if d := next[Down](t, ev); !errors.Is(d.Err, ErrArbitration) ||
		!strings.Contains(d.Err.Error(), "already exists") {
		t.Errorf("%v", d.Err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "already exists") {
		t.Errorf("waiting in vain: %v", err)
	}
	if _, err := s.Write(t.Context(), insert(entry.Multicast{ID: 1})); !errors.Is(err,
		ErrNotConnected) {
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
	out := entry.PacketOut{Op: entry.State, Port: 7, Group: 3, Branch: 2, Payload: []byte("hello")}
	if err := s.PacketOut(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	// the fake returns packets; in its packet-in header, the port is at the place of the packet-out's
	// port
	in := next[PacketIn](t, ev)
	if string(in.Payload) != "hello" || in.IngressPort != 7 {
		t.Errorf("%v", in)
	}
	f.with(func() {
		want := map[uint32]uint64{1: 7, 2: 2, 3: 3, 4: 2}
		for _, m := range f.outs[0].GetMetadata() {
			if n, _ := entry.ValueOf(m.GetValue()).Uint64(); n != want[m.GetMetadataId()] {
				t.Errorf("field %d is %d", m.GetMetadataId(), n)
			}
		}
	})
	bits := func(b ...byte) *p4v1.P4Data {
		return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: b}}
	}
	list := func(digest uint32, id uint64) {
		f.push(&p4v1.StreamMessageResponse{
			Update: &p4v1.StreamMessageResponse_Digest{Digest: &p4v1.DigestList{
				DigestId: digest, ListId: id, Timestamp: 9, Data: []*p4v1.P4Data{
					{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: []*p4v1.P4Data{bits(0, 1),
						bits(2)}}}}, bits(3),
				}}}})
	}
	list(5, 76) // which the pipeline has no name for
	list(learn, 77)
	d := next[Digest](t, ev)
	if d.Name != "learn" || len(d.Reports) != 2 ||
		!slices.Equal(d.Reports[0], []entry.Value{entry.Uint(1), entry.Uint(2)}) ||
		d.Reports[1][0] != entry.Uint(3) {
		t.Errorf("%+v", d)
	}
	f.push(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Error{
		Error: &p4v1.StreamError{CanonicalCode: int32(codes.InvalidArgument), Message: "bad packet"}}})
	if e := next[StreamError](t, ev); e.Code != codes.InvalidArgument || e.Message != "bad packet" {
		t.Errorf("%+v", e)
	}
	// One more packet goes around: what was queued before it has arrived.
	if err := s.PacketOut(t.Context(), entry.PacketOut{}); err != nil {
		t.Fatal(err)
	}
	next[PacketIn](t, ev)
	f.with(func() {
		if len(f.acks) != 2 || f.acks[0].GetListId() != 76 || f.acks[1].GetListId() != 77 {
			t.Errorf("acknowledged %v", f.acks)
		}
	})
}

func TestCounters(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	f.with(func() {
		cell := func(counter uint32, index, packets, bytes int64) {
			f.entities[entry.Key(fmt.Sprint(counter,
				index))] = wire.Entity(&p4v1.CounterEntry{
				CounterId: counter, Index: &p4v1.Index{Index: index},
				Data: &p4v1.CounterData{PacketCount: packets, ByteCount: bytes},
			})
		}
		cell(drops, 1, 5, 0)
		cell(drops, 2, 6, 0)
		cell(portRx, 1, 7, 700)
	})
	cells, err := s.ReadCounters(t.Context(), "port_rx")
	if err != nil || !slices.Equal(cells,
		[]entry.Counter{{Name: "port_rx", Index: 1, Packets: 7, Octets: 700}}) {
		t.Errorf("%v, %v", cells, err)
	}
	if cells, err = s.ReadCounters(t.Context(), ""); err != nil || len(cells) != 3 {
		t.Errorf("%v, %v", cells, err)
	}
	if _, err := s.ReadCounters(t.Context(), "nope"); !errors.Is(err, ErrUnknownName) {
		t.Errorf("%v", err)
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
		"write":      written(s.Write(t.Context(), insert(entry.Multicast{ID: 1}))),
		"packet-out": s.PacketOut(t.Context(), entry.PacketOut{}),
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

// written is the error of a Write.
func written(_ []entry.Refusal, err error) error { return err }

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
		_, err := s.Write(t.Context(), insert(want, entry.Multicast{ID: uint32(i + 1)}))
		if err != nil && !errors.Is(err, ErrNoPipeline) && !errors.Is(err, ErrNotConnected) &&
			!errors.Is(err, ErrNotPrimary) {
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
		_, _ = s.Write(t.Context(), insert(want))
		es, err := s.ReadTable(t.Context(), "route")
		if err == nil && len(es) == 1 && entry.Equal(es[0], want) {
			break
		}
	}
	_ = s.Close()
}

// TestAbove: above raises an id over another id, and keeps the controller's identity while room
// remains.
func TestAbove(t *testing.T) {
	const mine = 0x0a0a0a0a
	own := NewElectionID(3, mine)
	most := uint64(1<<64 - 1)
	for _, c := range []struct{ over, want ElectionID }{
		{ElectionID{}, own}, {ElectionID{Low: most}, own}, {NewElectionID(2, 1<<32-1), own},
		{own, NewElectionID(4, mine)}, {NewElectionID(7, 1), NewElectionID(8, mine)},
		{ElectionID{High: 1, Low: most}, ElectionID{High: 2, Low: own.Low}},
		{ElectionID{High: 9, Low: 5}, ElectionID{High: 9, Low: 1<<32 | mine}},
		{ElectionID{High: most, Low: most - 1}, ElectionID{High: most, Low: most}},
		{ElectionID{High: most, Low: most}, ElectionID{High: most, Low: most}},
	} {
		if got := own.above(c.over); got != c.want {
			t.Errorf("above %s: %s, want %s", c.over, got, c.want)
		}
	}
	if !own.sameController(NewElectionID(9, mine)) || own.sameController(NewElectionID(3, 1)) ||
		NewElectionID(1, 0).sameController(NewElectionID(2, 0)) {
		t.Error("controllers are taken for each other")
	}
}
