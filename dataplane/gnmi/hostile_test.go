package gnmi_test

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/dataplane/clientlimit/limittest"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

const subscribeMethod = "/gnmi.gNMI/Subscribe"

// listen has the switch of a bed serve at an address too.
func (b *bed) listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(l) }()
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		b.gnmi.Close()
		b.server.Close(ctx)
		if err := <-served; err != nil {
			b.t.Error(err)
		}
	})
	return l.Addr().String()
}

// greedy is a Subscribe for everything, as often as there may be.
func greedy(t *testing.T) []byte {
	t.Helper()
	list := &gpb.SubscriptionList{Encoding: gpb.Encoding_JSON_IETF}
	for i := range 64 {
		mode := []gpb.SubscriptionMode{gpb.SubscriptionMode_SAMPLE, gpb.SubscriptionMode_ON_CHANGE}[i%2]
		list.Subscription = append(list.Subscription, &gpb.Subscription{Mode: mode, Path: &gpb.Path{}})
	}
	m,
		err := proto.Marshal(&gpb.SubscribeRequest{
		Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// begin subscribes. The switch may refuse the call before it has all of the message.
func begin(t *testing.T, c *limittest.Client, m []byte) *limittest.Stream {
	t.Helper()
	x, err := c.Call(subscribeMethod)
	if err == nil {
		err = x.Message(len(m), m)
	}
	if err != nil && !errors.Is(err, limittest.ErrEnded) {
		t.Fatal(err)
	}
	return x
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// TestSubscriptionsNeverRead checks that clients that subscribe to everything and read nothing take
// bounded memory and streams, and that a further client still learns of a port going down.
func TestSubscriptionsNeverRead(t *testing.T) {
	connections, limit := 3, uint64(64<<20)
	if os.Getenv("WEFT_SIEGE") != "" {
		connections, limit = 40, 192<<20
	}
	b := newBed(t)
	address := b.listen()
	good := b.subscribe(&gpb.SubscriptionList{Subscription: on(gpb.SubscriptionMode_ON_CHANGE,
		path("eth1", "state/oper-status"))})
	b.expect(good, "eth1 state/oper-status UP", "sync")
	before, m := inUse(), greedy(t)
	for i := range connections {
		c := limittest.Dial(t, address)
		for range clientlimit.MaxCalls {
			begin(t, c, m)
		}
		for _, up := range []bool{false, true} {
			b.cables[0].SetUp(up)
			b.expect(good, "eth1 state/oper-status "+map[bool]string{true: "UP", false: "DOWN"}[up])
		}
		if n := inUse(); n > before+limit {
			t.Fatalf("%d connections: %d MiB in use, %d before; want %d more at most", i+1, n>>20,
				before>>20, limit>>20)
		}
	}
	want := uint64(connections * (clientlimit.MaxCalls - clientlimit.MaxStreams))
	for b.server.Stats().Clients.Refused[clientlimit.Streams] < want {
		if _, err := b.client.Capabilities(b.ctx, &gpb.CapabilityRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d MiB in use, %d before", inUse()>>20, before>>20)
}

// TestStalledSubscriber checks that a Subscribe call ends whose client reads nothing.
func TestStalledSubscriber(t *testing.T) {
	b := newBedWith(t, p4rt.ServerConfig{Limits: clientlimit.Config{Stall: 20 * time.Millisecond}})
	x := begin(t, limittest.Dial(t, b.listen()), greedy(t))
	for b.server.Stats().Clients.Refused[clientlimit.Stalled] == 0 {
		if _, err := b.client.Capabilities(b.ctx, &gpb.CapabilityRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Allow(16 << 20); err != nil { // now it reads, and learns of it
		t.Fatal(err)
	}
	if got, err := x.Status(); err != nil || codes.Code(got) != codes.ResourceExhausted {
		t.Errorf("the call ended with %s, %v", codes.Code(got), err)
	}
}
