package southbound

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// ifPath reads "eth1 state/id", and "" as the whole tree.
func ifPath(text string) *gpb.Path {
	p := &gpb.Path{}
	name, below, leaf := strings.Cut(text, " ")
	if name == "" {
		return p
	}
	p.Elem = []*gpb.PathElem{{Name: "openconfig-interfaces:interfaces"},
		{Name: "interface", Key: map[string]string{"name": name}}}
	if leaf {
		for part := range strings.SplitSeq(below, "/") {
			p.Elem = append(p.Elem, &gpb.PathElem{Name: part})
		}
	}
	return p
}

func text(v string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: v}}
}
func uintVal(n uint64) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: n}}
}

// said is a notification of pairs of a path and a value: a string, an int, or a
// *gpb.TypedValue.
func said(pairs ...any) *gpb.Notification {
	n := &gpb.Notification{}
	for i := 0; i < len(pairs); i += 2 {
		u := &gpb.Update{Path: ifPath(pairs[i].(string))}
		switch v := pairs[i+1].(type) {
		case string:
			u.Val = text(v)
		case int:
			u.Val = uintVal(uint64(v))
		case *gpb.TypedValue:
			u.Val = v
		}
		n.Update = append(n.Update, u)
	}
	return n
}

// fakeGNMI is the gNMI server of a fake switch: each subscription gets what is in
// say, until something ends it.
type fakeGNMI struct {
	gpb.UnimplementedGNMIServer
	asked chan *gpb.SubscribeRequest // the first message of each
	say   chan any                   // *gpb.Notification, bool (sync) or error
	sets  chan *gpb.SetRequest
}

func (f *fakeGNMI) Set(_ context.Context, req *gpb.SetRequest) (*gpb.SetResponse, error) {
	f.sets <- req
	return &gpb.SetResponse{}, nil
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
	return &fakeGNMI{asked: make(chan *gpb.SubscribeRequest, 16), say: make(chan any, 16),
		sets: make(chan *gpb.SetRequest, 16)}
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
	if list.GetMode() != gpb.SubscriptionList_STREAM ||
		list.GetSubscription()[0].GetMode() != gpb.SubscriptionMode_ON_CHANGE {
		t.Errorf("asked for %v", list)
	}
	g.tell(said("a state/id", 1, "a state/oper-status", "UP"),
		said("b state/id", 2, "b state/oper-status", "UP"), true)
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

// TestNoPortState checks that a switch without gNMI is known to report nothing.
func TestNoPortState(t *testing.T) {
	f := newFakeSwitch(t)
	_, first := open(t, f.config())
	if p := next[Ports](t, first); p.Up != nil ||
		status.Code(errors.Unwrap(p.Err)) != codes.Unimplemented {
		t.Errorf("%+v; want nothing, and Unimplemented", p)
	}
}

// TestPortStateApart: gNMI at another address uses a separate connection, which outlives the
// P4Runtime connection.
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

// TestSetPort checks that the settings of a port are written by the primary, with its election id.
func TestSetPort(t *testing.T) {
	f, g := gnmiSwitch(t)
	s, ev := open(t, f.config())
	enabled := false
	g.tell(said("a state/id", 1, "a state/oper-status", "UP"), true)
	wantPorts(t, ev, map[uint32]bool{1: true})
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if refused, err := s.SetPort(t.Context(), "a", &gnmi.Settings{Enabled: &enabled}); err != nil ||
		len(refused) > 0 {
		t.Fatal(refused, err)
	}
	want := f.config().Election
	if id := (<-g.sets).GetExtension()[0].GetMasterArbitration().GetElectionId(); id.GetHigh() != want.High || id.GetLow() != want.Low {
		t.Errorf("fenced by %v, want %v", id, want)
	}
	f.drop(status.Error(codes.Unavailable, "restarting"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetPort(t.Context(), "a", &gnmi.Settings{Enabled: &enabled}); err == nil {
		t.Error("a session that is closed writes")
	}
}
