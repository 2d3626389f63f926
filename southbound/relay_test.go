package southbound

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/southbound/entry"
)

// owner is a controller that owns a fake switch and relays to it.
type holder struct {
	t        *testing.T
	f        *fakeSwitch
	relay    *Relay
	hosted   *Hosted
	listener *bufconn.Listener
	bound    func() error // why nothing may be written any more
	// parts, when not nil, takes what ends the present part of the time in which it may write.
	parts chan context.CancelFunc
}

// newOwner returns the owner of a switch since term 5.
func newOwner(t *testing.T, f *fakeSwitch, tune ...func(*Config)) *holder {
	t.Helper()
	o := &holder{t: t, f: f, relay: NewRelay(), listener: bufconn.Listen(1 << 16),
		bound: func() error {
			return nil
		}}
	cfg := f.config()
	cfg.Pipeline, cfg.NoPortState = smallPipeline(t), true
	for _, f := range tune {
		f(&cfg)
	}
	var err error
	if o.hosted, err = Host(t.Context(), cfg, 5, func(ctx context.Context) (context.Context,
		context.CancelFunc, error) {
		ctx, cancel := context.WithCancel(ctx)
		if o.parts != nil {
			o.parts <- cancel
		}
		return ctx, cancel, o.bound()
	}); err != nil {
		t.Fatal(err)
	}
	remove := o.relay.Add("n1", o.hosted)
	served := make(chan error, 1)
	go func() { served <- o.relay.Serve(o.listener) }()
	t.Cleanup(func() {
		remove()
		_ = o.hosted.Close()
		o.relay.Close()
		<-served
	})
	return o
}

// peer is another controller's connection to the relay.
func (o *holder) peer() *Peer {
	o.t.Helper()
	p, err := NewPeer(func(ctx context.Context) (net.Conn, error) {
		return o.listener.DialContext(ctx)
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { _ = p.Close() })
	return p
}

// config is the config of a decider's session in a term.
func (o *holder) config(term uint64) Config {
	p := o.peer()
	cfg := DefaultConfig()
	cfg.Name, cfg.Target, cfg.DeviceID, cfg.Election, cfg.Pipeline = "n1", "relay:1", 1,
		ElectionID{Low: term}, smallPipeline(o.t)
	cfg.Backoff = Backoff{Initial: time.Millisecond, Max: 5 * time.Millisecond, Multiplier: 1.5}
	cfg.Dial = func() (Conn, error) { return p.Dial(context.Background(), "n1", term), nil }
	return cfg
}

// entries are those that updates of tests need.
func tableEntries() (out []entry.Entity) {
	for _, e := range every() {
		if e.Kind() != entry.KindReports {
			out = append(out, e)
		}
	}
	return out
}

// TestRelay: a session by way of the owner does what one with the switch does, with the election id
// of the owner.
func TestRelay(t *testing.T) {
	f, g := gnmiSwitch(t)
	o := newOwner(t, f)
	s, ev := open(t, o.config(5))
	if next[Ready](t, ev).Installed {
		t.Error("the decider installs the pipeline after the owner has")
	}
	<-g.asked
	g.tell(said("a state/id", 1, "a state/oper-status", "UP"), true)
	wantPorts(t, ev, map[uint32]bool{1: true})

	want := tableEntries()
	wantAccepted(t)(s.Write(t.Context(), insert(want...)))
	got, err := s.ReadAll(t.Context())
	if err != nil || len(got.Entities) != len(want) {
		t.Fatalf("%d of %d entities, %v", len(got.Entities), len(want), err)
	}
	f.with(func() {
		if id := electionFromProto(f.requests[0].GetElectionId()); id != f.config().Election {
			t.Errorf("written with election id %v", id)
		}
	})
	refused, err := s.Write(t.Context(), insert(want[0], want[1]))
	if err != nil || len(refused) != 2 || refused[0].Reason != entry.RefusedExists ||
		refused[1].Update != 1 {
		t.Errorf("refused %v, %v", refused, err)
	}
	if err := s.PacketOut(t.Context(), entry.PacketOut{Op: entry.State, Group: 7,
		Branch: 3}); err != nil {
		t.Error(err)
	}
	next[PacketIn](t, ev) // the fake sends it back
	f.push(&p4v1.StreamMessageResponse{
		Update: &p4v1.StreamMessageResponse_Digest{Digest: &p4v1.DigestList{DigestId: 77, ListId: 78}}})
	for acked := false; !acked; time.Sleep(time.Millisecond) {
		f.with(func() { acked = len(f.acks) == 1 && f.acks[0].GetListId() == 78 })
	}

	f.drop(status.Error(codes.Unavailable, "link flap"))
	if down := next[Down](t, ev); !errors.Is(down.Err, ErrNotConnected) {
		t.Errorf("%v", down.Err)
	}
	next[Ready](t, ev)
	wantAccepted(t)(s.Write(t.Context(),
		[]entry.Update{{Type: entry.Delete, Entity: want[len(want)-1]}}))
	if owned, ready := o.relay.Count(); owned != 1 || ready != 1 {
		t.Errorf("%d switches, %d ready", owned, ready)
	}
}

// TestRelayTerms: a later decider begins when the writes of the one before have ended, which then
// writes no more, even when nobody waits for their outcome.
func TestRelayTerms(t *testing.T) {
	f := newFakeSwitch(t)
	o := newOwner(t, f)
	if early, ev := open(t, o.config(4)); early != nil {
		if down := next[Down](t, ev); !errors.Is(down.Err, ErrArbitration) {
			t.Errorf("a decider of a term before the owner's: %v", down.Err)
		}
	}
	first, ev := open(t, o.config(5))
	next[Ready](t, ev)
	entries := tableEntries()
	hold, got := make(chan struct{}), make(chan struct{}, 16)
	f.with(func() { f.hold, f.gotWrite = hold, got })
	dying, die := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() {
		_, err := first.Write(dying, insert(entries[0]))
		written <- err
	}()
	<-got
	die()
	if err := <-written; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	second, evs := open(t, o.config(6))
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := second.WaitReady(impatient); err == nil {
		t.Error("term 6 begins while a write of term 5 is under way")
	}
	if _, err := first.Write(t.Context(), insert(entries[1])); err == nil {
		t.Error("term 5 writes after term 6 has come")
	}
	f.with(func() { f.hold, f.gotWrite = nil, nil })
	close(hold)
	next[Ready](t, evs)
	all, err := second.ReadAll(t.Context())
	if err != nil || len(all.Entities) != 1 {
		t.Errorf("term 6 reads %v, %v: want the entry of the last write of term 5", all.Entities, err)
	}
	if _, err := first.Write(t.Context(), insert(entries[1])); err == nil {
		t.Error("term 5 writes in term 6")
	}
	wantAccepted(t)(second.Write(t.Context(), insert(entries[1])))
}

// TestRelayBound: an owner that must stop writes nothing, sends no packet, and lets go only when
// its writes have ended.
func TestRelayBound(t *testing.T) {
	f := newFakeSwitch(t)
	o := newOwner(t, f)
	s, ev := open(t, o.config(5))
	next[Ready](t, ev)
	entries := tableEntries()
	hold, got := make(chan struct{}), make(chan struct{}, 16)
	f.with(func() { f.hold, f.gotWrite = hold, got })
	go func() { _, _ = s.Write(t.Context(), insert(entries[0])) }()
	<-got
	closed := make(chan struct{})
	go func() {
		_ = o.hosted.Close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("the owner let go of a switch that it writes to")
	case <-time.After(50 * time.Millisecond):
	}
	close(hold)
	<-closed
	// the switch sees the end of the stream
	for streams := 1; streams > 0; time.Sleep(time.Millisecond) {
		f.with(func() { streams = len(f.streams) })
	}
	f.with(func() {
		if len(f.requests) != 1 {
			t.Errorf("%d requests", len(f.requests))
		}
		f.hold, f.gotWrite = nil, nil
	})

	over := newOwner(t, f, func(c *Config) { c.Election = ElectionID{Low: 11} })
	over.bound = func() error { return errors.New("the lease is over") }
	fenced, ev := open(t, over.config(5))
	next[Ready](t, ev)
	if _, err := fenced.Write(t.Context(), insert(entries[1])); err == nil {
		t.Error("a write after the end of the lease")
	}
	if err := fenced.PacketOut(t.Context(), entry.PacketOut{Op: entry.State}); err == nil {
		next[Down](t, ev) // the stream ends in place of an answer
	}
	f.with(func() {
		if len(f.requests) != 1 || len(f.outs) != 0 {
			t.Errorf("%d requests, %d packets reach the switch", len(f.requests), len(f.outs))
		}
	})
}

// TestRelayInstalls: the decider installs the pipeline by way of an owner that has none. The
// installation may outlast a renewed lease, and a decider that reconnects waits.
func TestRelayInstalls(t *testing.T) {
	f := newFakeSwitch(t)
	o := newOwner(t, f, func(c *Config) { c.Pipeline = nil })
	o.parts = make(chan context.CancelFunc, 16)
	sets := make(chan chan struct{}, 1)
	fresh := func() {
		f.with(func() { f.sets, f.installs, f.pipeline, f.cookie = sets, 0, false, nil })
	}
	once := func(when string) {
		t.Helper()
		installs := 0
		f.with(func() { installs = f.installs })
		if installs != 1 {
			t.Fatalf("%s: the switch got the pipeline %d times, want once", when, installs)
		}
	}
	fresh()
	first, ev := open(t, o.config(5))
	set := <-sets
	(<-o.parts)() // the lease is over, had it not been renewed
	<-o.parts
	close(set)
	next[Ready](t, ev)
	once("a lease that is renewed")

	_ = first.Close()
	fresh()
	first, _ = open(t, o.config(5))
	set = <-sets
	_ = first.Close()
	again, ev := open(t, o.config(5))
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := again.WaitReady(impatient); err == nil {
		t.Error("the decider is ready while the switch installs the pipeline")
	}
	close(set)
	next[Ready](t, ev)
	once("a decider that connects again")

	_ = again.Close()
	<-o.parts // of the second time
	fresh()
	_, ev = open(t, o.config(5))
	set = <-sets
	o.bound = func() error { return errors.New("the lease is over") }
	(<-o.parts)()
	if down := next[Down](t, ev); !strings.Contains(down.Err.Error(), "installing the pipeline") {
		t.Errorf("the owner's lease is over: %v", down.Err)
	}
	close(set)
}

// TestRelayForeign: a decider learns from the owner that another installation programs a switch,
// both before it has a stream and with one.
func TestRelayForeign(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFakeSwitch(t)
		x := &stranger{f, newStream()}
		f.streams[x.at] = NewElectionID(7, 0xbb)
		o := newOwner(t, f, func(c *Config) {
			c.Claim, c.Election = ClaimVacant, NewElectionID(1, 0xaa)
		})
		s, ev := open(t, o.config(5))
		says := func() {
			t.Helper()
			if down := next[Down](t, ev); !errors.Is(down.Err, ErrForeign) ||
				!strings.HasPrefix(down.Err.Error(), ErrForeign.Error()+": its controller is primary") {
				t.Errorf("the decider learns %v", down.Err)
			}
		}
		says()
		x.leave()
		next[Ready](t, ev)
		x.rise(false)
		says()
		_ = s.Close()
	})
}

// TestRelayRefuses: calls without a switch or a term, and of a switch of others.
func TestRelayRefuses(t *testing.T) {
	o := newOwner(t, newFakeSwitch(t))
	p := o.peer()
	for _, c := range []struct {
		cc   grpc.ClientConnInterface
		want codes.Code
	}{
		{p.cc, codes.InvalidArgument},
		{p.Dial(t.Context(), "n2", 5), codes.Unavailable},
		{p.Dial(t.Context(), "n1", 4), codes.PermissionDenied},
	} {
		_, err := p4v1.NewP4RuntimeClient(c.cc).Capabilities(t.Context(), &p4v1.CapabilitiesRequest{})
		if status.Code(err) != c.want {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}
