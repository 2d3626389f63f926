package gnmi

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/internal/retry"
)

// target is a gNMI server whose answers a test decides.
type target struct {
	gpb.UnimplementedGNMIServer
	caps *gpb.CapabilityResponse // nil: Unimplemented
	// takes refuses a subscription, or a Set of one path; nil: it takes all.
	takes func(path string, mode gpb.SubscriptionMode) error
	// serve sends the values of a subscription until it returns.
	serve func(l *gpb.SubscriptionList, send func(...any)) error

	mu    sync.Mutex
	asked []*gpb.SubscriptionList // what was taken
	tried int
	sets  []*gpb.SetRequest
}

// textOfPath is a path as dialects.yaml has it.
func textOfPath(p *gpb.Path) string {
	var b strings.Builder
	for _, e := range p.GetElem() {
		b.WriteString("/" + e.GetName())
		for k, v := range e.GetKey() {
			b.WriteString("[" + k + "=" + v + "]")
		}
	}
	return b.String()
}

func (x *target) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse,
	error) {
	if x.caps == nil {
		return nil, status.Error(codes.Unimplemented, "no capabilities")
	}
	return x.caps, nil
}

func (x *target) Subscribe(stream gpb.GNMI_SubscribeServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	l := req.GetSubscribe()
	x.mu.Lock()
	x.tried++
	x.mu.Unlock()
	for _, s := range l.GetSubscription() {
		if x.takes != nil {
			if err := x.takes(textOfPath(s.GetPath()), s.GetMode()); err != nil {
				return err
			}
		}
	}
	x.mu.Lock()
	x.asked = append(x.asked, l)
	x.mu.Unlock()
	send := func(what ...any) {
		for _, m := range what {
			var out gpb.SubscribeResponse
			switch m := m.(type) {
			case *gpb.Notification:
				out.Response = &gpb.SubscribeResponse_Update{Update: m}
			case bool:
				out.Response = &gpb.SubscribeResponse_SyncResponse{SyncResponse: m}
			}
			if stream.Send(&out) != nil {
				return
			}
		}
	}
	if x.serve != nil {
		if err := x.serve(l, send); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

func (x *target) Set(_ context.Context, req *gpb.SetRequest) (*gpb.SetResponse, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sets = append(x.sets, req)
	for _, u := range req.GetUpdate() {
		if x.takes != nil {
			if err := x.takes(textOfPath(u.GetPath()), gpb.SubscriptionMode_TARGET_DEFINED); err != nil {
				return nil, err
			}
		}
	}
	return &gpb.SetResponse{}, nil
}

func isCounters(l *gpb.SubscriptionList) bool {
	p := textOfPath(l.GetSubscription()[0].GetPath())
	return strings.Contains(p, "counters") || strings.Contains(p, "COUNTERS") ||
		strings.Contains(p, "qos")
}

// watched is a watcher of a target.
type watched struct {
	*Watcher
	t      *testing.T
	states chan State
}

func testConfig() Config {
	return Config{
		Switch: "s1", SampleInterval: time.Second, Backoff: retry.Backoff{Initial: time.Millisecond,
			Max: 10 * time.Millisecond, Multiplier: 2},
		Retry: time.Hour, ProbeInterval: time.Hour, AskTimeout: 5 * time.Second,
	}
}

// watch watches a target until the test ends.
func watch(t *testing.T, x gpb.GNMIServer, cfg Config) *watched {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	gpb.RegisterGNMIServer(s, x)
	var all sync.WaitGroup
	all.Go(func() { _ = s.Serve(l) })
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{t: t, states: make(chan State, 4096)}
	w.Watcher = New(cfg, func(_ context.Context, s State) { w.states <- s })
	all.Go(func() {
		w.Run(ctx, func() (grpc.ClientConnInterface, func(), error) {
			cc, err := grpc.NewClient("passthrough:///target",
				grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
					return l.DialContext(ctx)
				}))
			if err != nil {
				return nil, nil, err
			}
			return cc, func() { _ = cc.Close() }, nil
		})
	})
	t.Cleanup(func() {
		cancel()
		s.Stop()
		all.Wait()
	})
	return w
}

// until returns the first state that is as wanted.
func (w *watched) until(what string, ok func(*State) bool) State {
	w.t.Helper()
	var last State
	timeout := time.After(time.Minute)
	for {
		select {
		case last = <-w.states:
			if ok(&last) {
				return last
			}
		case <-timeout:
			w.t.Fatalf("never %s; the last state is %+v", what, last)
		}
	}
}
