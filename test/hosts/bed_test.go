package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a controller's end and hosts, in one bubble of virtual time.
type bed struct {
	t        *testing.T
	observer *hoststest.Observer
	server   *hosts.Server

	mu       sync.Mutex
	listener *bufconn.Listener
	conns    []*cuttable
	stop     func() // ends the server, and waits
}

// cuttable is a connection that a test can end, even in the middle of a write to the host.
type cuttable struct {
	net.Conn
	left    *atomic.Int64 // octets that may still be read by the host; negative: any number
	stalled chan struct{} // when not nil: reads of the host wait until it is closed
}

func (c *cuttable) Read(b []byte) (int, error) {
	if c.stalled != nil {
		<-c.stalled
	}
	if left := c.left.Load(); left >= 0 {
		if left == 0 {
			return 0, errors.Join(errors.New("cut"), c.Close())
		}
		b = b[:min(int64(len(b)), left)]
	}
	n, err := c.Conn.Read(b)
	if c.left.Load() >= 0 {
		c.left.Add(-int64(n))
	}
	return n, err
}

func newBed(t *testing.T, change func(*hosts.Config)) *bed {
	w := &bed{t: t, observer: &hoststest.Observer{}}
	w.start(1, change)
	t.Cleanup(func() { w.stop() })
	return w
}

// start starts a controller of an epoch.
func (w *bed) start(epoch uint64, change func(*hosts.Config)) {
	w.t.Helper()
	cfg := hosts.DefaultConfig()
	cfg.Epoch, cfg.CountsInterval = epoch, 0
	if change != nil {
		change(&cfg)
	}
	s, err := hosts.New(cfg, w.observer)
	if err != nil {
		w.t.Fatal(err)
	}
	w.server = s
	l := bufconn.Listen(1 << 16)
	w.mu.Lock()
	w.listener = l
	w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

// host runs an agent until the test ends or stop is called. Tune may change how its connections
// are, by their number.
type host struct {
	*agenttest.Endpoint
	agent *agent.Agent
	done  <-chan struct{} // closed when it has ended
	stop  func()
}

func (w *bed) host(name string, e *agenttest.Endpoint, tune func(i int, c *cuttable)) *host {
	w.t.Helper()
	cfg := w.config(tune)
	cfg.Name = name
	a, err := agent.New(cfg, e)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.Run(ctx)
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		<-done
	})
	w.t.Cleanup(stop)
	return &host{Endpoint: e, agent: a, done: done, stop: stop}
}

// config is the config of an agent, without a name.
func (w *bed) config(tune func(i int, c *cuttable)) agent.Config {
	cfg := agent.DefaultConfig()
	cfg.Controller, cfg.Instance = "controller:1", 1
	n := 0
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		w.mu.Lock()
		l := w.listener
		w.mu.Unlock()
		conn, err := l.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		c := &cuttable{Conn: conn, left: new(atomic.Int64)}
		c.left.Store(-1)
		w.mu.Lock()
		i := n // several hosts may have the configuration
		n++
		w.conns = append(w.conns, c)
		w.mu.Unlock()
		if tune != nil {
			tune(i, c)
		}
		return c, nil
	})}
	return cfg
}

// cut ends all connections.
func (w *bed) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// settle lets time pass until nothing but timers of a while is left to do.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// state is a state of n profiles, of m EVs each.
func state(t *testing.T, n, m int) *hostapi.State {
	t.Helper()
	var s hostapi.State
	for i := range n {
		p := &hostapi.Profile{
			Name: fmt.Sprintf("leaf0-leaf%d", i+1), Format: hostapi.Format{Mode: hostapi.FormatSTEV,
				Widths: []uint8{8, 8, 16}},
			Mode: hostapi.ModeExplicit, Count: m, MinActive: m / 4, Events: true,
			Destinations: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8,
				byte(i >> 8), byte(i)}), 48)},
		}
		for j := range m {
			p.EVs = append(p.EVs, hostapi.NewEV(uint32(j+1)<<16|uint32(i), uint8(j%4+1)))
		}
		s.Profiles = append(s.Profiles, p)
	}
	made, err := hostapi.NewState(s)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// deny is a state with some EVs of every profile denied too.
func deny(t *testing.T, s *hostapi.State, which ...int) *hostapi.State {
	t.Helper()
	next := *s
	next.Profiles = nil
	for _, p := range s.Profiles {
		denied := append([]hostapi.EV(nil), p.Denied...)
		for _, j := range which {
			denied = append(denied, p.EVs[j])
		}
		next.Profiles = append(next.Profiles, p.WithDenied(denied))
	}
	made, err := hostapi.NewState(next)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
