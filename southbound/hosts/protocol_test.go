package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostapitest"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a host that sends messages as a test wants.
type client struct {
	t      *testing.T
	drop   context.CancelFunc // ends the stream without a word
	stream grpc.BidiStreamingClient[hostpb.HostMessage, hostpb.ControllerMessage]
}

// serve serves hosts for a test, and returns how to open a stream.
func serve(t *testing.T, o *hoststest.Observer, change func(*hosts.Config)) (*hosts.Server,
	func() *client) {
	s, open, _ := serveAt(t, o, change)
	return s, open
}

// serveAt is serve, and returns how to make a connection without a word on it too.
func serveAt(t *testing.T, o *hoststest.Observer, change func(*hosts.Config)) (_ *hosts.Server,
	_ func() *client, dial func() net.Conn) {
	cfg := hosts.DefaultConfig()
	cfg.Epoch = 1
	if change != nil {
		change(&cfg)
	}
	s, err := hosts.New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	l := bufconn.Listen(1 << 16)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	dial = func() net.Conn {
		c, err := l.DialContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	cc, err := grpc.NewClient("passthrough:///controller",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return l.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = cc.Close()
	})
	return s, func() *client {
		ctx, drop := context.WithCancel(ctx)
		t.Cleanup(drop)
		stream, err := hostpb.NewHostsClient(cc).Subscribe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return &client{t, drop, stream}
	}, dial
}

func (c *client) say(m hostapi.Up) { c.raw(hostapi.EncodeUp(m)) }

func (c *client) raw(m *hostpb.HostMessage) {
	c.t.Helper()
	if err := c.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
		c.t.Fatal(err)
	}
}

func hello(name string) *hostapi.Hello {
	return &hostapi.Hello{API: hostapi.API, Name: name, Instance: 1,
		Capabilities: hostapitest.Capabilities()}
}

// end is how the stream ends, whatever comes before.
func (c *client) end() error {
	for {
		if _, err := c.stream.Recv(); err != nil {
			return err
		}
	}
}

// TestFence: a controller that may decide no more sends a host nothing that has an effect: its
// stream ends with the reason.
func TestFence(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		over := errors.New("the lease is over")
		for _, what := range []string{"update", "probe"} {
			var fenced atomic.Bool
			s, open := serve(t, &hoststest.Observer{}, func(c *hosts.Config) {
				c.Fence = func() error {
					if fenced.Load() {
						return over
					}
					return nil
				}
			})
			c := open()
			c.say(hello("h1"))
			if _, err := c.stream.Recv(); err != nil { // welcome
				t.Fatal(err)
			}
			synctest.Wait()
			fenced.Store(true)
			if what == "update" {
				if err := s.Set("h1", &hostapi.State{}); err != nil {
					t.Fatal(err)
				}
			} else if err := s.Probe("h1", &hostapi.Probe{
				ID: 1, Destination: hostapitest.Peer(1), Format: hostapi.Format{Mode: hostapi.FormatUDP,
					Widths: []uint8{16}}, EV: hostapi.NewEV(7<<16, 1),
				Count: 1, Timeout: time.Second,
			}); err != nil {
				t.Fatal(err)
			}
			m, err := c.stream.Recv()
			if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), over.Error()) {
				t.Errorf("%s: the host got %v, %v; want the end of its stream with %q", what, m, err, over)
			}
		}
	})
}

// TestBadHosts: a host that breaks a rule is told which, and loses its stream; nothing else
// happens.
func TestBadHosts(t *testing.T) {
	ev := hostapi.NewEV(1<<16, 1)
	unknown := &hostpb.HostMessage{}
	for name, c := range map[string]struct {
		say  func(*client)
		code codes.Code
		want string
	}{
		"no hello": {func(c *client) { c.say(&hostapi.PortStatus{}) }, codes.InvalidArgument,
			"want hello"},
		"nothing": {func(c *client) { c.raw(unknown) }, codes.InvalidArgument, "message: none"},
		"silence": {func(*client) {}, codes.InvalidArgument, "no hello within 10s"},
		"other version": {func(c *client) { h := hello("h1"); h.API = 2; c.say(h) },
			codes.FailedPrecondition, "hello.api: 2, want 1"},
		"no name": {func(c *client) { c.say(hello("")) }, codes.InvalidArgument, `hello.name: ""`},
		"a bad name": {func(c *client) { c.say(hello("h 1")) }, codes.InvalidArgument,
			`hello.name: "h 1"`},
		"no instance": {func(c *client) { h := hello("h1"); h.Instance = 0; c.say(h) },
			codes.InvalidArgument, "hello.instance: 0"},
		"port 0": {func(c *client) { h := hello("h1"); h.Capabilities.Ports = 1; c.say(h) },
			codes.InvalidArgument, "hello.capabilities.phy_port_mask: 0x1"},
		"not wanted": {func(c *client) { c.say(hello("stranger")) }, codes.PermissionDenied,
			"stranger is not in the inventory"},
		"hello twice": {func(c *client) { c.say(hello("h1")); c.say(hello("h1")) },
			codes.InvalidArgument, "after hello"},
		"answer to none": {func(c *client) {
			c.say(hello("h1"))
			c.say(&hostapi.Applied{Version: hostapi.Version{Epoch: 1, Number: 1}})
		}, codes.InvalidArgument, "applied.version: 1.1, want none"},
		"refusal of none": {func(c *client) {
			c.say(hello("h1"))
			c.say(&hostapi.Refused{Version: hostapi.Version{Epoch: 1, Number: 1}, Code: hostapi.CodeBusy})
		}, codes.InvalidArgument, "refused.version: 1.1, want none"},
		"version 0": {func(c *client) { c.say(hello("h1")); c.say(&hostapi.Applied{}) },
			codes.InvalidArgument, "applied.version: epoch 0"},
		"state of an event": {func(c *client) {
			c.say(hello("h1"))
			c.say(&hostapi.EVEvents{Events: []hostapi.EVEvent{{Profile: "a", EV: ev,
				State: hostapi.EVDenied}}})
		}, codes.InvalidArgument, "ev_events.events[0].state: 3"},
		"too many events": {func(c *client) {
			c.say(hello("h1"))
			c.say(&hostapi.EVEvents{Events: make3(hostapi.EVEvent{Profile: "a", EV: ev,
				State: hostapi.EVGood})})
		}, codes.ResourceExhausted, "ev_events.events: 3, want at most 2"},
		"too many counts": {func(c *client) {
			c.say(hello("h1"))
			c.say(&hostapi.EVCounts{Counts: make3(hostapi.EVCount{Profile: "a", EV: ev})})
		}, codes.ResourceExhausted, "ev_counts.counts: 3, want at most 2"},
		"too large": {func(c *client) {
			c.say(hello("h1"))
			c.say(&hostapi.Refused{Version: hostapi.Version{Epoch: 1, Number: 1}, Code: hostapi.CodeBusy,
				Reason: strings.Repeat("x", 5000)})
		}, codes.ResourceExhausted, "larger than max"},
		"more received than sent": {func(c *client) {
			c.say(hello("h1"))
			c.say(&hostapi.ProbeResult{Sent: 1, Received: 2})
		}, codes.InvalidArgument, "probe_result.received: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				o := &hoststest.Observer{Refuse: func(host string, _ *hostapi.Hello) error {
					if host == "stranger" {
						return fmt.Errorf("%s is not in the inventory", host)
					}
					return nil
				}}
				_, open := serve(t, o, func(c *hosts.Config) {
					c.MaxEvents, c.MaxCounts, c.MaxMessageBytes = 2, 2, 4096
				})
				client := open()
				c.say(client)
				err := client.end()
				if s := status.Convert(err); s.Code() != c.code || !strings.Contains(s.Message(), c.want) {
					t.Errorf("%v, want %v with %q", err, c.code, c.want)
				}
				synctest.Wait()
				for _, said := range o.Said("h1") {
					if said != "hello none" && said != "gone" {
						t.Error(said)
					}
				}
			})
		})
	}
}

func make3[T any](x T) []T { return []T{x, x, x} }

// TestWhyAStreamEnded: the note about a gone host distinguishes a lost stream from an ended stream,
// without a gRPC error.
func TestWhyAStreamEnded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		for want, end := range map[error]func(c *client) error{
			hosts.ErrLost:  func(c *client) error { c.drop(); return nil },
			hosts.ErrEnded: func(c *client) error { return c.stream.CloseSend() },
		} {
			s, open := serve(t, &hoststest.Observer{}, nil)
			if err := s.Set("h1", nil); err != nil {
				t.Fatal(err)
			}
			c := open()
			c.say(hello("h1"))
			synctest.Wait()
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if st, _ := s.Status("h1"); st.Connected || !errors.Is(st.Err, want) ||
				st.Err.Error() != want.Error() {
				t.Errorf("connected %v, %v; want %v", st.Connected, st.Err, want)
			}
		}
	})
}

// TestUnknownEVs: the server only counts a host's reports about EVs that the host does not hold.
func TestUnknownEVs(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		o := &hoststest.Observer{}
		s, open := serve(t, o, nil)
		p := &hostapi.Profile{
			Name: "a", Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16}},
			Mode: hostapi.ModeExplicit, Count: 1,
			EVs: []hostapi.EV{hostapi.NewEV(1<<16, 1)},
		}
		state, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{p}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Set("h1", state); err != nil {
			t.Fatal(err)
		}
		c := open()
		c.say(hello("h1"))
		bad := hostapi.EVAssumedBad
		synctest.Wait()
		c.say(&hostapi.EVEvents{Dropped: 4, Events: []hostapi.EVEvent{
			{Profile: "a", EV: p.EVs[0], State: bad}, {Profile: "a", EV: hostapi.NewEV(1<<16, 2),
				State: bad}, {Profile: "b", EV: p.EVs[0], State: bad},
		}})
		c.say(&hostapi.EVCounts{Counts: []hostapi.EVCount{{Profile: "b", EV: p.EVs[0], Sent: 1}}})
		synctest.Wait()
		if got := o.Events("h1"); len(got) != 1 || got[0].EV != p.EVs[0] || len(o.Counts("h1")) != 0 {
			t.Errorf("%v, %v", got, o.Counts("h1"))
		}
		if n := s.Counters(); n.UnknownEVs != 3 || n.Events != 1 || n.EventsDropped != 4 {
			t.Errorf("%+v", n)
		}
	})
}

// TestPace: the server reads the messages of a host that sends too fast at the allowed rate, and
// loses none.
func TestPace(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		o := &hoststest.Observer{}
		s, open := serve(t, o, func(c *hosts.Config) { c.MaxMessageRate = 10 })
		c := open()
		c.say(hello("h1"))
		synctest.Wait()
		start := time.Now()
		for i := range 100 {
			c.say(&hostapi.PortStatus{Up: hostapi.PortMask(i+1) << 1})
		}
		for len(o.Said("h1")) < 101 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if d := time.Since(start); d < 9*time.Second || d > 10*time.Second {
			t.Errorf("%v for 100 messages, 10 at once and 10 a second", d)
		}
		if n := s.Counters(); n.Messages != 100 || n.Paced != 90 {
			t.Errorf("%+v", n)
		}
	})
}

// TestProbeRequests: the server refuses an impossible probe at once, and counts a probe that was
// not sent in time.
func TestProbeRequests(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := serve(t, &hoststest.Observer{}, func(c *hosts.Config) { c.MaxProbes = 2 })
		probe := func() *hostapi.Probe {
			return &hostapi.Probe{
				ID: 1, Destination: hostapitest.Peer(1), Format: hostapi.Format{Mode: hostapi.FormatUDP,
					Widths: []uint8{16}}, EV: hostapi.NewEV(7<<16, 1),
				DSCP: 63, Count: 1, Timeout: time.Second,
			}
		}
		if err := s.Probe("h1", probe()); !errors.Is(err, hosts.ErrNotConnected) {
			t.Error(err)
		}
		c := open()
		h := hello("h1")
		h.Capabilities.Ports = hostapi.Ports(1)
		c.say(h)
		synctest.Wait()
		for field, change := range map[string]func(*hostapi.Probe){
			"ev.port": func(p *hostapi.Probe) { p.EV.Port = 2 }, "dscp": func(p *hostapi.Probe) {
				p.DSCP = 64
			}, "count": func(p *hostapi.Probe) { p.Count = 65 },
			"timeout_ns": func(p *hostapi.Probe) {
				p.Timeout = time.Minute
			}, "ev.value": func(p *hostapi.Probe) { p.EV = hostapi.NewEV(1, 1) },
			"destination": func(p *hostapi.Probe) {
				p.Destination = hostapitest.Peer(1).Prev().WithZone("x")
			},
		} {
			p := probe()
			change(p)
			var e *hostapi.FieldError
			if err := s.Probe("h1", p); !errors.As(err, &e) || e.Field != field {
				t.Errorf("%s: %v", field, err)
			}
		}
		if err := s.Probe("h1", probe()); err != nil {
			t.Fatal(err)
		}
		for {
			m, err := c.stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if p := m.GetProbeRequest(); p != nil {
				if got, err := hostapi.DecodeProbe(p); err != nil || !reflect.DeepEqual(got, probe()) {
					t.Errorf("%+v, %v", got, err)
				}
				break
			}
		}
	})
}

// TestStrangers: connections on which no host says hello are bounded in number and time; more are
// refused, and hosts that are connected keep their streams.
func TestStrangers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open, dial := serveAt(t, &hoststest.Observer{},
			func(c *hosts.Config) { c.MaxStrangers = 3 })
		c := open()
		c.say(hello("h1"))
		synctest.Wait()
		var ended [5]atomic.Bool
		over := func() (out []bool) {
			for i := range ended {
				out = append(out, ended[i].Load())
			}
			return out
		}
		for i := range ended {
			far := dial()
			go func() {
				for {
					if _, err := far.Read(make([]byte, 64)); err != nil {
						ended[i].Store(true)
						return
					}
				}
			}()
			synctest.Wait()
		}
		if want := []bool{false, false, false, true, true}; !slices.Equal(over(), want) {
			t.Errorf("ended %v, want %v", over(), want)
		}
		if n := s.Counters().Denied; n != 2 {
			t.Errorf("%d were denied, want 2", n)
		}
		time.Sleep(2 * hosts.DefaultConfig().HelloTimeout)
		synctest.Wait()
		if slices.Contains(over(), false) {
			t.Errorf("ended %v, want all", over())
		}
		if st, _ := s.Status("h1"); !st.Connected {
			t.Errorf("the host has lost its stream: %v", st.Err)
		}
	})
}

// TestTooManyHosts: a controller accepts as many hosts as configured, and forgets hosts that it may
// forget.
func TestTooManyHosts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := serve(t, &hoststest.Observer{}, func(c *hosts.Config) { c.MaxHosts = 2 })
		_ = s.Set("h1", nil)
		c := open()
		c.say(hello("h2"))
		synctest.Wait()
		d := open()
		d.say(hello("h3"))
		if err := d.end(); status.Code(err) != codes.ResourceExhausted ||
			!strings.Contains(err.Error(), "knows 2 hosts") {
			t.Error(err)
		}
		if err := s.Set("h4", nil); !errors.Is(err, hosts.ErrBusy) {
			t.Error(err)
		}
		s.Forget("h2") // is connected
		s.Forget("h1")
		if err := s.Set("h4", nil); err != nil {
			t.Error(err)
		}
		var names []string
		for _, h := range s.List() {
			names = append(names, fmt.Sprintf("%s %v", h.Name, h.Connected))
		}
		if got := strings.Join(names, ", "); got != "h2 true, h4 false" {
			t.Error(got)
		}
		// A host that nothing was set for is forgotten when it goes.
		if err := c.stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, known := s.Status("h2"); known || len(s.List()) != 1 {
			t.Errorf("%+v", s.List())
		}
	})
}
