package southbound

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fakeGNMI is the gNMI server of a fake switch: each subscription gets what is in
// say, until something ends it.
type fakeGNMI struct {
	gpb.UnimplementedGNMIServer
	asked chan *gpb.SubscribeRequest // the first message of each
	say   chan any                   // *gpb.Notification, bool (sync) or error
}

func (f *fakeGNMI) Subscribe(stream gpb.GNMI_SubscribeServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	f.asked <- req
	for {
		select {
		case x := <-f.say:
			m := &gpb.SubscribeResponse{}
			switch x := x.(type) {
			case *gpb.Notification:
				m.Response = &gpb.SubscribeResponse_Update{Update: x}
			case bool:
				m.Response = &gpb.SubscribeResponse_SyncResponse{SyncResponse: x}
			case error:
				return x
			}
			if err := stream.Send(m); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func newFakeGNMI() *fakeGNMI {
	return &fakeGNMI{asked: make(chan *gpb.SubscribeRequest, 16), say: make(chan any, 16)}
}

// tell has the subscription say things.
func (f *fakeGNMI) tell(what ...any) {
	for _, x := range what {
		f.say <- x
	}
}

// gnmiSwitch is a fake switch that speaks gNMI too.
func gnmiSwitch(t *testing.T) (*fakeSwitch, *fakeGNMI) {
	g := newFakeGNMI()
	return newFakeSwitchWith(t, func(s grpc.ServiceRegistrar) { gpb.RegisterGNMIServer(s, g) }), g
}

func wantPorts(t *testing.T, ev events, want map[uint32]bool) {
	t.Helper()
	if p := next[Ports](t, ev); p.Err != nil || !maps.Equal(p.Up, want) {
		t.Fatalf("%v, %v; want %v", p.Up, p.Err, want)
	}
}

// TestPortStates: all ports at first, each change, and all anew after the
// connection was lost.
func TestPortStates(t *testing.T) {
	f, g := gnmiSwitch(t)
	s, ev := open(t, f.config())
	list := (<-g.asked).GetSubscribe()
	if list.GetMode() != gpb.SubscriptionList_STREAM || len(list.GetSubscription()) != 3 || list.GetSubscription()[2].GetMode() != gpb.SubscriptionMode_ON_CHANGE {
		t.Errorf("asked for %v", list)
	}
	g.tell(said("a state/id", 1, "a state/oper-status", "UP"), said("b state/id", 2, "b state/oper-status", "UP"), true)
	wantPorts(t, ev, map[uint32]bool{1: true, 2: true})
	g.tell(said("a state/oper-status", "UP"), said("b state/oper-status", "DOWN"))
	wantPorts(t, ev, map[uint32]bool{1: true, 2: false})

	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.drop(status.Error(codes.Unavailable, "restarting"))
	next[Down](t, ev)
	<-g.asked
	g.tell(said("a state/id", 1, "a state/oper-status", "DOWN"), true)
	wantPorts(t, ev, map[uint32]bool{1: false})
}

// TestPortStateFails: a subscription that ends leaves what is known, says so once,
// and is made again while P4Runtime goes on.
func TestPortStateFails(t *testing.T) {
	f, g := gnmiSwitch(t)
	s, ev := open(t, f.config())
	next[Ready](t, ev)
	<-g.asked
	g.tell(status.Error(codes.Internal, "not yet"))
	if p := next[Ports](t, ev); p.Up != nil || status.Code(errors.Unwrap(p.Err)) != codes.Internal {
		t.Errorf("%+v", p)
	}
	<-g.asked
	g.tell(status.Error(codes.Internal, "not yet")) // which it has said
	<-g.asked
	g.tell(said("a state/id", 1, "a state/oper-status", "UP"), true)
	wantPorts(t, ev, map[uint32]bool{1: true})
	many := &gpb.Notification{}
	for i := range maxInterfaces + 1 {
		many.Update = append(many.Update, said(fmt.Sprintf("p%d state/id", i), 1).Update...)
	}
	g.tell(many)
	if p := next[Ports](t, ev); !maps.Equal(p.Up, map[uint32]bool{1: true}) || !errors.Is(p.Err, ErrMalformed) {
		t.Errorf("%+v; want what was known, and ErrMalformed", p)
	}
	<-g.asked
	g.tell(true)
	wantPorts(t, ev, map[uint32]bool{})
	if state, err := s.State(); state != StateReady {
		t.Errorf("the session is %v, %v", state, err)
	}
}

// TestNoPortState: a switch without gNMI, or that has it no longer, is known to
// tell nothing, and not asked again soon.
func TestNoPortState(t *testing.T) {
	f := newFakeSwitch(t)
	_, first := open(t, f.config())
	if p := next[Ports](t, first); p.Up != nil || status.Code(errors.Unwrap(p.Err)) != codes.Unimplemented {
		t.Errorf("%+v; want nothing, and Unimplemented", p)
	}

	f, g := gnmiSwitch(t)
	cfg := f.config()
	cfg.PortStateRetry = time.Hour
	s, ev := open(t, cfg)
	<-g.asked
	g.tell(said("a state/id", 1, "a state/oper-status", "DOWN"), true)
	wantPorts(t, ev, map[uint32]bool{1: false})
	g.tell(status.Error(codes.Unimplemented, "no such path"))
	if p := next[Ports](t, ev); p.Up != nil || p.Err == nil {
		t.Errorf("%+v; want that nothing is known", p)
	}
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.drop(status.Error(codes.Unavailable, "another program")) // a new connection is asked once
	<-g.asked
	g.tell(said("a state/id", 1, "a state/oper-status", "UP"), true)
	wantPorts(t, ev, map[uint32]bool{1: true})
	if n := len(g.asked); n > 0 {
		t.Errorf("asked %d times too often", n)
	}
}

// TestPortStateRetry: a switch that refused is asked again, slowly.
func TestPortStateRetry(t *testing.T) {
	f, g := gnmiSwitch(t)
	cfg := f.config()
	cfg.PortStateRetry = time.Millisecond
	_, ev := open(t, cfg)
	for range 3 {
		<-g.asked
		g.tell(status.Error(codes.Unimplemented, "not in this version"))
	}
	<-g.asked
	g.tell(said("a state/id", 1, "a state/oper-status", "UP"), true)
	if p := next[Ports](t, ev); p.Err == nil {
		t.Errorf("%+v before the error", p)
	}
	wantPorts(t, ev, map[uint32]bool{1: true}) // the error was told once
}

// TestPortStateApart: gNMI at another address has a connection of its own, which
// outlives that of P4Runtime.
func TestPortStateApart(t *testing.T) {
	f, g := gnmiSwitch(t)
	cfg := f.config()
	cfg.GNMI = "fake:2"
	s, ev := open(t, cfg)
	<-g.asked
	g.tell(said("a state/id", 1, "a state/oper-status", "UP"), true)
	wantPorts(t, ev, map[uint32]bool{1: true})
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.drop(status.Error(codes.Unavailable, "restarting"))
	next[Down](t, ev)
	g.tell(said("a state/oper-status", "DOWN"))
	wantPorts(t, ev, map[uint32]bool{1: false})
	if n := len(g.asked); n > 0 {
		t.Errorf("asked %d times too often", n)
	}

	if err := s.Close(); err != nil { // or else the election id is taken
		t.Fatal(err)
	}
	cfg.NoPortState = true
	_, ev = open(t, cfg)
	next[Ready](t, ev)
	if n := len(g.asked); n > 0 {
		t.Error("asked, though it is to be left alone")
	}
}
