package mrc

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/runner"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/store/storetest"
	"github.com/weft-sdn/weft/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compiled has the program of all switches of the process.
var compiled = new(p4rt.Cache)

// bed is everything, in one bubble.
type bed struct {
	t       *testing.T
	inv     inventory.Inventory
	world   *lab.World
	clock   *lab.Clock
	store   *storetest.Faulty
	learned *topology.Builder
	servers map[string]*bufconn.Listener // P4Runtime, by switch
	ends    map[string]func()            // end a server

	controller *controller.Controller
	mrc        *runner.Runner
	stop       func()         // ends the controller, and waits
	assigned   *ev.Assignment // the last known
	members    *members       // nil: hosts are connected to the controller

	mu       sync.Mutex
	streams  *bufconn.Listener // nil while there is no controller
	events   []api.Event
	election uint64
}

// long skips a test where time is short: with the race detector one story is enough.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
}

// run runs a test on a fabric of two planes of two leaves and two spines, with four hosts, that is
// programmed.
func run(t *testing.T, change func(*inventory.MRC), test func(*testing.T, *bed)) {
	withMembers(t, 0, change, test)
}

// withMembers is run with other controllers, which hosts are connected to; 0: to the one that
// decides.
func withMembers(t *testing.T, n int, change func(*inventory.MRC), test func(*testing.T, *bed)) {
	bubble.Test(t, func(t *testing.T) {
		f := &bed{
			t: t, store: new(storetest.Faulty), learned: topology.NewBuilder(),
			servers: make(map[string]*bufconn.Listener), ends: make(map[string]func()),
		}
		network := lab.Clos(lab.ClosConfig{Planes: 2, T0: 2, T1: 2, Hosts: 4, Rate: 5e7,
			Delay: 2 * time.Microsecond})
		var err error
		if f.world, err = lab.NewWorld(network,
			lab.Options{Seed: 1, Cache: compiled, Managed: true}); err != nil {
			t.Fatal(err)
		}
		f.inv = f.world.Network.Inventory(nil)
		f.inv.MRC.Mode = "stev"
		f.inv.MRC.Probes.Rate, f.inv.MRC.Probes.HostRate = 200, 100 // what a test has the time for
		if change != nil {
			change(&f.inv.MRC)
		}
		f.clock = f.world.StartClock()
		defer f.clock.Stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, s := range f.world.Network.Switches {
			f.ends[s.Name] = sync.OnceFunc(f.serve(ctx, s.Name))
			defer f.ends[s.Name]()
		}
		if n > 0 {
			f.members = startMembers(f, n)
			defer f.members.stop()
		}
		f.start()
		f.learn()
		defer func() { f.stop() }()
		subscribers, err := f.world.Subscribe(ctx, f.clock, f.agents())
		if err != nil {
			t.Fatal(err)
		}
		defer subscribers.Close()
		f.until(5*time.Second, "switches and hosts hold what they should", f.ready)
		test(t, f)
	})
}

// serve starts the P4Runtime server of a switch, and returns what ends it.
func (f *bed) serve(ctx context.Context, name string) func() {
	node, err := f.world.Switch(name)
	if err != nil {
		f.t.Fatal(err)
	}
	server := p4rt.NewServer(p4rt.ServerConfig{})
	f.do(func() { err = server.Add(p4rt.NewSessions(node.Device()), executor{f.clock, node}) })
	if err != nil {
		f.t.Fatal(err)
	}
	l := bufconn.Listen(1 << 20)
	f.servers[name] = l
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	return func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		server.Close(ending)
		if err := <-done; err != nil {
			f.t.Errorf("switch %s: %v", name, err)
		}
	}
}

// executor runs a switch's P4Runtime calls on the world's goroutine.
type executor struct {
	clock *lab.Clock
	node  *lab.SwitchNode
}

func (e executor) Do(ctx context.Context, call func(now time.Duration)) error {
	return e.clock.Do(ctx, func(now time.Duration) {
		call(now)
		e.node.Wake()
	})
}

// do touches the world.
func (f *bed) do(call func()) {
	f.t.Helper()
	if err := f.clock.Do(f.t.Context(), func(time.Duration) { call() }); err != nil {
		f.t.Fatal(err)
	}
}

// start starts a controller on the records of the one before. It knows no network yet.
func (f *bed) start() {
	t := f.t
	pipeline, err := southbound.NewPipeline(p4.P4Info(), p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	f.election++
	switches := controller.NewP4Runtime(pipeline, southbound.ElectionID{Low: f.election})
	switches.Configure = func(sw inventory.Switch, c *southbound.Config) {
		c.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
			_ string) (net.Conn, error) {
			return f.servers[sw.Name].DialContext(ctx)
		})}
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.controller, err = controller.NewController(ctx, controller.Options{Inventory: f.inv,
		Store: f.store, Southbound: switches, Events: f.event,
		Multipath: jobsOnly{f}})
	if err != nil {
		t.Fatal(err)
	}
	f.mrc, err = runner.NewRunner(ctx, runner.Options{
		Inventory: &f.inv, Epoch: f.election, Store: f.store,
		Switches: f.controller, Events: f.event,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := service.HostsConfig(&f.inv.MRC)
	cfg.Epoch = f.election
	server, err := hosts.New(cfg, f.mrc)
	if err != nil {
		t.Fatal(err)
	}
	l := bufconn.Listen(1 << 20)
	var running sync.WaitGroup
	for _, do := range []func() error{
		func() error { return f.controller.Run(ctx) }, func() error {
			return f.mrc.Run(ctx, server)
		}, func() error { return server.Serve(ctx, l) },
	} {
		running.Go(func() {
			if err := do(); err != nil {
				t.Errorf("controller: %v", err)
			}
		})
	}
	f.mu.Lock()
	f.streams = l
	f.mu.Unlock()
	f.stop = sync.OnceFunc(func() {
		f.mu.Lock()
		f.streams = nil
		f.mu.Unlock()
		cancel()
		running.Wait()
	})
}

// jobsOnly implements [controller.Multipath] by the fabric's controller that there is, which knows
// no ports of switches.
type jobsOnly struct{ f *bed }

func (jobsOnly) SetPorts(context.Context, string, controller.PortStates) {}

func (j jobsOnly) SetWants(w *fabricview.Wants) { j.f.mrc.SetWants(w) }

func (f *bed) event(e api.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
}

// happened reports whether an event of a type has been told of an object.
func (f *bed) happened(t api.EventType, object, message string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.Type == t && e.Object == object && e.Message == message {
			return true
		}
	}
	return false
}

// agents is how hosts reach the controller that there is.
func (f *bed) agents() agent.Config {
	cfg := agent.DefaultConfig()
	cfg.Controller = "controller:1"
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		if f.members != nil {
			return f.members.dial(ctx)
		}
		return f.dial(ctx)
	})}
	return cfg
}

// dial connects to the controller that there is.
func (f *bed) dial(ctx context.Context) (net.Conn, error) {
	f.mu.Lock()
	l := f.streams
	f.mu.Unlock()
	if l == nil {
		return nil, errors.New("there is no controller")
	}
	return l.DialContext(ctx)
}

// learn has the controller learn the present network.
func (f *bed) learn() {
	f.t.Helper()
	var s *topology.Snapshot
	f.do(func() { s = f.world.Learned(f.learned) })
	f.tell(s)
}

func (f *bed) tell(s *topology.Snapshot) {
	f.t.Helper()
	if f.members != nil {
		f.members.tell(s)
	}
	if err := errors.Join(f.controller.SetTopology(f.t.Context(), s), f.mrc.SetTopology(f.t.Context(),
		s)); err != nil {
		f.t.Fatal(err)
	}
}

// setLink takes a link down or up, which the controller learns.
func (f *bed) setLink(a, b string, up bool) {
	f.t.Helper()
	var err error
	f.do(func() { err = f.world.SetLink(a, b, up) })
	if err != nil {
		f.t.Fatal(err)
	}
	f.learn()
}

// until lets time pass until something is true, and returns how long that took.
func (f *bed) until(limit time.Duration, what string, is func() bool) time.Duration {
	f.t.Helper()
	for began := time.Now(); ; time.Sleep(limit / 500) {
		synctest.Wait()
		if is() {
			return time.Since(began)
		}
		if time.Since(began) > limit {
			f.t.Fatalf("after %v not: %s", limit, what)
		}
	}
}

// ready reports whether all switches and hosts hold what they should.
func (f *bed) ready() bool {
	f.t.Helper()
	switches, err := f.controller.Switches(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, s := range switches {
		if !s.Synced {
			return false
		}
	}
	fabric, err := f.mrc.Fabric(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return fabric.InSync && fabric.Hosts.Current == len(f.world.Network.Hosts)
}

// states are what the hosts hold.
func (f *bed) states() map[string]*hostapi.State {
	f.t.Helper()
	out := make(map[string]*hostapi.State)
	for _, h := range f.world.Network.Hosts {
		node, err := f.world.MRCHost(h.Name)
		if err != nil {
			f.t.Fatal(err)
		}
		f.do(func() { out[h.Name] = node.State() })
	}
	return out
}

// crossing returns how many EVs that hosts hold cross a link between two switches, either way, and
// how many of these are denied; denied are also all that are, whatever they cross. The paths are
// those of a walk through the switches of the assignment.
func (f *bed) crossing(a, b string) (crossing, deniedOfThem, denied int) {
	f.t.Helper()
	assigned := f.assigned
	if err := f.mrc.Do(f.t.Context(), func(c *mrc.Core) {
		assigned = cmp.Or(c.Assignment(), assigned)
	}); err != nil && !errors.Is(err, controller.ErrStopped) {
		f.t.Fatal(err)
	}
	f.assigned = assigned
	ids := map[topology.NodeID]string{}
	for _, s := range f.world.Network.Switches {
		ids[lab.NodeID(s)] = s.Name
	}
	leaves := func(host string) (out []topology.NodeID) {
		for sw := range f.world.Network.Uplinks(host) {
			for id, name := range ids {
				if name == sw {
					out = append(out, id)
				}
			}
		}
		return out
	}
	for name, state := range f.states() {
		if state == nil {
			continue
		}
		for _, p := range state.Profiles {
			to := ""
			for _, h := range f.world.Network.Hosts {
				if p.Destinations[0].Contains(h.Address) {
					to = h.Name
				}
			}
			src, dst := leaves(name), leaves(to)
			evs := p.EVs
			if p.Mode == hostapi.ModeGenerated {
				evs = p.Generate(hostapi.Ports(1, 2))
			}
			for _, v := range evs {
				wire, err := p.Expand(v)
				if err != nil {
					f.t.Fatal(err)
				}
				route, err := assigned.Decode(src[v.Port-1], dst[v.Port-1], wire.Value)
				crosses := err != nil // a link that the controller does not know any more
				for hop := range hops(route) {
					l := hop.Links[0]
					crosses = crosses || ids[l.Local] == a && ids[l.Remote] == b || ids[l.Local] == b &&
						ids[l.Remote] == a
				}
				if p.IsDenied(v) {
					denied++
				}
				if crosses {
					crossing++
					if p.IsDenied(v) {
						deniedOfThem++
					}
				}
			}
		}
	}
	return crossing, deniedOfThem, denied
}

// hops are the hops of a route; none of nil.
func hops(r *ev.Route) iter.Seq[ev.Hop] {
	if r == nil {
		return func(func(ev.Hop) bool) {}
	}
	return slices.Values(r.Hops)
}

// denies reports whether hosts deny the EVs that cross a link, and no others.
func (f *bed) denies(a, b string) bool {
	crossing, ofThem, denied := f.crossing(a, b)
	return crossing > 0 && ofThem == crossing && denied == crossing
}

// deniesNothing reports whether hosts use all EVs.
func (f *bed) deniesNothing() bool {
	_, _, denied := f.crossing("", "")
	return denied == 0
}
