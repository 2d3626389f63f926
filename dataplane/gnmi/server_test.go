package gnmi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/gnmi"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/interfaces"
	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a switch with two ports, and a client.
type bed struct {
	t      *testing.T
	ctx    context.Context
	cables [2]*livetest.Cable
	gnmi   *gnmi.Server
	runner *live.Runner
	server *p4rt.Server
	client gpb.GNMIClient
}

func newBed(t *testing.T) *bed { return newBedWith(t, p4rt.ServerConfig{}) }

func newBedWith(t *testing.T, cfg p4rt.ServerConfig) *bed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	b := &bed{t: t, ctx: ctx, cables: [2]*livetest.Cable{livetest.NewCable(), livetest.NewCable()},
		gnmi: gnmi.NewServer(gnmi.System{Hostname: "s1", Software: "v1", DeviceID: 1})}
	runner, err := live.Start(live.Config{
		Device: p4rt.Config{ID: 1, Switch: dataplane.Config{PortChanged: b.gnmi.PortChanged}},
		Ports:  map[uint32]live.Port{1: b.cables[0].A, 2: b.cables[1].A},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.runner = runner
	server := p4rt.NewServer(cfg)
	b.server = server
	if err := server.Add(runner.Sessions(), runner); err != nil {
		t.Fatal(err)
	}
	b.gnmi.Register(server, interfaces.New(runner, nil))
	listener := bufconn.Listen(1 << 16)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient("passthrough:///switch",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.gnmi.Close()
		server.Close(ctx)
		serving.Wait()
		if err := errors.Join(conn.Close(), runner.Close()); err != nil {
			t.Error(err)
		}
		if n := server.Stats().Calls; len(n) > 0 {
			t.Errorf("calls of gNMI are counted as those of P4Runtime: %v", n)
		}
	})
	b.client = gpb.NewGNMIClient(conn)
	return b
}

func elems(text string) *gpb.Path {
	p := &gpb.Path{}
	for part := range strings.SplitSeq(text, "/") {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: part})
	}
	return p
}

func path(name, leaf string) *gpb.Path {
	p := elems("interfaces/interface/" + leaf)
	p.Elem[1].Key = map[string]string{"name": name}
	return p
}

// tell is a notification as "eth1 state/oper-status UP, …".
func tell(n *gpb.Notification) string {
	var out []string
	for _, u := range n.GetUpdate() {
		e := u.GetPath().GetElem()
		var below []string
		for _, x := range e[2:] {
			below = append(below, x.GetName())
		}
		v := u.GetVal().GetStringVal()
		if v == "" {
			v = fmt.Sprint(u.GetVal().GetUintVal())
		}
		out = append(out, e[1].GetKey()["name"]+" "+strings.Join(below, "/")+" "+v)
	}
	return strings.Join(out, ", ")
}

type subscribing = grpc.BidiStreamingClient[gpb.SubscribeRequest, gpb.SubscribeResponse]

func (b *bed) subscribe(list *gpb.SubscriptionList) subscribing {
	b.t.Helper()
	list.Encoding = gpb.Encoding_PROTO
	stream, err := b.client.Subscribe(b.ctx)
	if err == nil {
		err = stream.Send(&gpb.SubscribeRequest{
			Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return stream
}

// expect receives messages; "sync" stands for a sync_response.
func (b *bed) expect(stream subscribing, want ...string) {
	b.t.Helper()
	for _, w := range want {
		m, err := stream.Recv()
		if err != nil {
			b.t.Fatalf("%v; want %s", err, w)
		}
		got := tell(m.GetUpdate())
		if m.GetSyncResponse() {
			got = "sync"
		} else if age := time.Since(time.Unix(0, m.GetUpdate().GetTimestamp())); age < 0 ||
			age > time.Minute {
			b.t.Errorf("%s is of %v ago", got, age)
		}
		if got != w {
			b.t.Fatalf("%q; want %q", got, w)
		}
	}
}

func on(mode gpb.SubscriptionMode, p *gpb.Path) []*gpb.Subscription {
	return []*gpb.Subscription{{Path: p, Mode: mode}}
}

// TestLeafThatIsNotThere: a subscription to a path unknown to the switch selects nothing, alone or
// beside others, and its stream stays open (gNMI, section 3.5.1.3).
func TestLeafThatIsNotThere(t *testing.T) {
	b := newBed(t)
	missing := on(gpb.SubscriptionMode_ON_CHANGE, elems("bgp/neighbors"))
	there := on(gpb.SubscriptionMode_ON_CHANGE, path("eth1", "state/oper-status"))
	nothing := b.subscribe(&gpb.SubscriptionList{Subscription: missing})
	b.expect(nothing, "sync")
	both := b.subscribe(&gpb.SubscriptionList{Subscription: append(missing, there...)})
	b.expect(both, "eth1 state/oper-status UP", "sync")
	once := b.subscribe(&gpb.SubscriptionList{Mode: gpb.SubscriptionList_ONCE,
		Subscription: append(missing, there...)})
	b.expect(once, "eth1 state/oper-status UP", "sync")
	b.cables[0].SetUp(false)
	b.expect(both, "eth1 state/oper-status DOWN")
	if _, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{elems("bgp")}}); status.Code(
		err) != codes.InvalidArgument {
		t.Errorf("a Get of what is not there: %v", err)
	}
}

// TestOnChange: a link that goes down is told, and nothing else is.
func TestOnChange(t *testing.T) {
	b := newBed(t)
	b.cables[1].SetUp(false)
	all := b.subscribe(&gpb.SubscriptionList{Subscription: on(gpb.SubscriptionMode_ON_CHANGE,
		path("*", "state/oper-status"))})
	one := b.subscribe(&gpb.SubscriptionList{Prefix: &gpb.Path{Target: "s1"}, UpdatesOnly: true,
		Subscription: on(gpb.SubscriptionMode_ON_CHANGE, path("eth2", "state/oper-status"))})
	b.expect(all, "eth1 state/oper-status UP", "eth2 state/oper-status DOWN", "sync")
	b.expect(one, "sync")
	b.cables[0].SetUp(false)
	b.expect(all, "eth1 state/oper-status DOWN")
	b.cables[1].SetUp(true)
	b.expect(all, "eth2 state/oper-status UP")
	m, err := one.Recv()
	if err != nil || tell(m.GetUpdate()) != "eth2 state/oper-status UP" ||
		m.GetUpdate().GetPrefix().GetTarget() != "s1" {
		t.Errorf("%v, %v", m, err)
	}
	// It has nothing more to say, and goes on listening.
	if err := all.CloseSend(); err != nil {
		t.Fatal(err)
	}
	b.cables[0].SetUp(true)
	b.expect(all, "eth1 state/oper-status UP")
	b.gnmi.Close()
	if _, err := all.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the end is %v, want Unavailable", err)
	}
}

// TestOnceAndPoll: all there is, once, and whenever it is asked for.
func TestOnceAndPoll(t *testing.T) {
	b := newBed(t)
	once := b.subscribe(&gpb.SubscriptionList{Mode: gpb.SubscriptionList_ONCE,
		Subscription: on(0, path("eth2", "state/id"))})
	b.expect(once, "eth2 state/id 2", "sync")
	if _, err := once.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v, want EOF", err)
	}
	poll := b.subscribe(&gpb.SubscriptionList{Mode: gpb.SubscriptionList_POLL,
		Subscription: on(0, path("eth1", "state/oper-status"))})
	ask := func() {
		t.Helper()
		if err := poll.Send(
			&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Poll{Poll: &gpb.Poll{}}}); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	b.expect(poll, "eth1 state/oper-status UP", "sync")
	b.cables[0].SetUp(false)
	ask()
	b.expect(poll, "eth1 state/oper-status DOWN", "sync")
	if err := poll.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := poll.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v, want EOF", err)
	}
}

// TestSample: samples come by themselves.
func TestSample(t *testing.T) {
	b := newBed(t)
	s := b.subscribe(&gpb.SubscriptionList{Subscription: on(gpb.SubscriptionMode_SAMPLE,
		path("eth1", "state/counters/in-pkts"))})
	b.expect(s, "eth1 state/counters/in-pkts 0", "sync", "eth1 state/counters/in-pkts 0")
}

func TestGet(t *testing.T) {
	b := newBed(t)
	req := &gpb.GetRequest{Encoding: gpb.Encoding_PROTO, Path: []*gpb.Path{path("*", "state/ifindex"),
		path("eth1", "name")}}
	resp, err := b.client.Get(b.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range resp.GetNotification() {
		got = append(got, tell(n))
	}
	if s := strings.Join(got,
		"; "); s != "eth1 state/ifindex 1, eth2 state/ifindex 2; eth1 name eth1" {
		t.Error(s)
	}
	for _, c := range []struct {
		req  *gpb.GetRequest
		want codes.Code
	}{
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth9", "state/id")}}, codes.NotFound},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "state/id")}, Type: gpb.GetRequest_CONFIG},
			codes.NotFound},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "config/mtu")}}, codes.NotFound},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "config/enabled")}, Type: gpb.GetRequest_STATE},
			codes.NotFound},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "config/enabled")},
			Type: gpb.GetRequest_OPERATIONAL}, codes.NotFound},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "state/enabled")},
			Type: gpb.GetRequest_OPERATIONAL}, codes.NotFound},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "config/color")}}, codes.InvalidArgument},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "state/id")},
			UseModels: []*gpb.ModelData{{Name: "openconfig-bgp"}}}, codes.InvalidArgument},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "state/id")},
			UseModels: []*gpb.ModelData{{Name: "openconfig-interfaces"}}}, codes.NotFound},
		{&gpb.GetRequest{}, codes.InvalidArgument},
		{&gpb.GetRequest{Path: []*gpb.Path{path("eth1", "state/id")}, Encoding: gpb.Encoding_BYTES},
			codes.Unimplemented},
	} {
		if _, err := b.client.Get(b.ctx, c.req); status.Code(err) != c.want {
			t.Errorf("%v: %v, want %v", c.req, err, c.want)
		}
	}
	c, err := b.client.Capabilities(b.ctx, &gpb.CapabilityRequest{})
	if err != nil || c.GetGNMIVersion() != gnmi.Version || len(c.GetSupportedModels()) != 7 ||
		len(c.GetSupportedEncodings()) != 4 {
		t.Errorf("%v, %v", c, err)
	}
}

// TestBadStreams: what a client does wrong ends its stream alone, with the reason.
func TestBadStreams(t *testing.T) {
	b := newBed(t)
	good := &gpb.SubscriptionList{Subscription: on(gpb.SubscriptionMode_ON_CHANGE,
		path("eth1", "state/oper-status"))}
	first := func(l *gpb.SubscriptionList) *gpb.SubscribeRequest {
		return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: l}}
	}
	ask := &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Poll{Poll: &gpb.Poll{}}}
	for _, c := range []struct {
		name string
		say  []*gpb.SubscribeRequest
		want codes.Code
	}{
		{"no list", []*gpb.SubscribeRequest{ask}, codes.InvalidArgument},
		{"two lists", []*gpb.SubscribeRequest{first(good), first(good)}, codes.InvalidArgument},
		{"poll of a stream", []*gpb.SubscribeRequest{first(good), ask}, codes.InvalidArgument},
		{"a list to poll", []*gpb.SubscribeRequest{first(
			&gpb.SubscriptionList{Mode: gpb.SubscriptionList_POLL, Subscription: good.Subscription}),
			first(good)}, codes.InvalidArgument},
		{"mode", []*gpb.SubscribeRequest{first(&gpb.SubscriptionList{Mode: 7,
			Subscription: good.Subscription})}, codes.InvalidArgument},
		{"path", []*gpb.SubscribeRequest{first(&gpb.SubscriptionList{
			Subscription: on(0, &gpb.Path{Origin: "cli"})})}, codes.InvalidArgument},
		{"encoding", []*gpb.SubscribeRequest{first(&gpb.SubscriptionList{Encoding: gpb.Encoding_BYTES,
			Subscription: good.Subscription})}, codes.Unimplemented},
	} {
		stream, err := b.client.Subscribe(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.say {
			if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
