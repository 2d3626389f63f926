package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/sonic/sonictest"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// sonicBed is a Clos fabric in mode usid-f3216, whose switches run SONiC but for some.
type sonicBed struct {
	t        *testing.T
	net      *sample.Net
	store    store.Store
	switches map[string]*sonictest.Switch
	listen   map[string]*bufconn.Listener
	p4       *controllertest.Southbound
	c        *controller.Controller
	stop     func()
	found    atomic.Pointer[[]topology.Source] // what LLDP knows of the topology
	// ports, when not nil, is told what switches say of their ports.
	ports func(ctx context.Context, sw string, p controller.PortStates)
}

// newSONiCBed returns a fabric that no controller runs yet; p4 names switches that run P4.
func newSONiCBed(t *testing.T, p4 ...string) *sonicBed {
	t.Helper()
	f := &sonicBed{t: t, net: sample.Clos(2, 2, 2), store: store.NewMemory(),
		switches: make(map[string]*sonictest.Switch), listen: make(map[string]*bufconn.Listener),
		p4: new(controllertest.Southbound)}
	inv := &f.net.Inventory
	inv.MRC.Mode, inv.Discovery.Protocol = ev.ModeF3216.String(), inventory.DiscoveryLLDP
	var interfaces []string
	for i := range 102 { // hosts are at 101 and 102
		interfaces = append(interfaces, fmt.Sprintf("Ethernet%d", 8*i))
	}
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		if slices.Contains(p4, sw.Name) {
			continue
		}
		sw.System, sw.DeviceID = target.SONiC, 0
		s, l, server := sonictest.New(interfaces...), bufconn.Listen(1<<20), grpc.NewServer()
		s.Register(server)
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { s.Close(); server.Stop() })
		f.switches[sw.Name], f.listen[sw.Name] = s, l
	}
	return f
}

// Configure has sessions lead to the switches of the fabric.
func (f *sonicBed) configure(sw inventory.Switch, cfg *southbound.Config) {
	cfg.DialOptions = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return f.listen[sw.Name].DialContext(ctx)
		})}
}

// start runs a controller on what the store has, which knows the network.
func (f *sonicBed) start() {
	f.t.Helper()
	f.begin()
	f.learn()
}

// begin runs a controller on what the store has, which knows no topology yet.
func (f *sonicBed) begin() {
	f.t.Helper()
	c, err := controller.NewController(f.t.Context(), controller.Options{Inventory: f.net.Inventory,
		Store: f.store, Discovered: func(s []topology.Source) { f.found.Store(&s) },
		Multipath: onlyPorts(f.ports),
		Southbound: controller.Systems{inventory.P4: f.p4,
			target.SONiC: &controller.SONiC{Configure: f.configure}}})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	f.c, f.stop = c, func() {
		f.t.Helper()
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			f.t.Error(err)
		}
	}
}

// onlyPorts implements [controller.Multipath] without a fabric; it may be nil.
type onlyPorts func(ctx context.Context, sw string, p controller.PortStates)

func (f onlyPorts) SetPorts(ctx context.Context, sw string, p controller.PortStates) {
	if f != nil {
		f(ctx, sw, p)
	}
}

func (onlyPorts) SetWants(*fabricview.Wants) {}

// learn has the controller know the topology, and what EVs mean.
func (f *sonicBed) learn() {
	f.t.Helper()
	whole := f.net.Topology.Build()
	if err := f.c.SetTopology(f.t.Context(), whole); err != nil {
		f.t.Fatal(err)
	}
	a := assignment(f.t, f.net, whole, ev.ModeF3216)
	if err := f.c.Do(f.t.Context(),
		func(core *controller.Core) { core.SetAssignment(a) }); err != nil {
		f.t.Fatal(err)
	}
}

// synced waits until all switches hold what they should.
func (f *sonicBed) synced() map[string]api.SwitchStatus {
	f.t.Helper()
	var last []api.SwitchStatus
	for range 600 {
		all, err := f.c.Switches(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		out := make(map[string]api.SwitchStatus)
		for _, s := range all {
			if s.Synced && !s.Settling {
				out[s.Name] = s
			}
		}
		if len(out) == len(f.net.Inventory.Switches) {
			return out
		}
		last = all
		time.Sleep(100 * time.Millisecond)
	}
	f.t.Fatalf("not synced after a minute: %+v", last)
	return nil
}

// rows returns all rows of CONFIG_DB, as text by table and key.
func (f *sonicBed) rows(sw string) map[string]string {
	out := make(map[string]string)
	for _, table := range []string{"SRV6_MY_LOCATORS", "SRV6_MY_SIDS", "STATIC_ROUTE", "INTERFACE",
		"DSCP_TO_TC_MAP", "PORT_QOS_MAP", "QUEUE", "WRED_PROFILE", "SWITCH_TRIMMING", "PORT"} {
		for key, row := range f.switches[sw].Rows("CONFIG_DB", table) {
			out[table+"|"+key] = fmt.Sprint(row)
		}
	}
	return out
}

func inBubble(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	bubble.Test(t, run)
}

// TestSONiC: a fabric of SONiC switches gets its SIDs and routes, with one Set for each switch. A
// failed link changes no row, nor does a restarted controller, and rows of other writers remain.
func TestSONiC(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSONiCBed(t)
		before := f.rows("leaf1")
		f.start()
		status := f.synced()
		leaf := f.rows("leaf1")
		locators := f.switches["leaf1"].Rows("CONFIG_DB", "SRV6_MY_LOCATORS")
		sids := f.switches["leaf1"].Rows("CONFIG_DB", "SRV6_MY_SIDS")
		routes := f.switches["leaf1"].Rows("CONFIG_DB", "STATIC_ROUTE")
		if len(locators) != 1 || len(sids) < 3 || len(routes) != 1+2+2 {
			t.Errorf("leaf1: locators %v, SIDs %v, routes %v: want one, a uN, uAs and a uDT, and to the "+
				"management, two spines and two hosts", locators, sids, routes)
		}
		for key, row := range before {
			if leaf[key] == "" || !strings.HasPrefix(key, "PORT_QOS_MAP") && leaf[key] != row {
				t.Errorf("%s is %q, was %q", key, leaf[key], row)
			}
		}
		for name, sw := range f.switches {
			if n := sw.Sets(); n != 1 {
				t.Errorf("%s got %d Sets, want 1", name, n)
			}
			if s := status[name]; s.System != "sonic" || s.DeviceID != 0 || !s.Managed || s.Entries == 0 ||
				len(s.Conditions) > 0 {
				t.Errorf("%s: %+v", name, s)
			}
		}
		_, err := f.c.PortCounts(t.Context(), "leaf1", controller.Sent)
		var refused *api.Error
		if !errors.As(err, &refused) || !strings.Contains(refused.Message, "runs no P4 program") {
			t.Errorf("tables of a switch without P4: %v", err)
		}

		removed := removeLinks(f.net, f.net.Topology.Build(), "spine1")
		if len(removed) == 0 {
			t.Fatal("no link was removed")
		}
		f.learnTopology()
		f.synced()
		f.stop()
		// A controller that starts learns the network bit by bit.
		f.begin()
		f.learnTopology()
		time.Sleep(100 * time.Millisecond)
		for _, l := range removed {
			f.net.Topology.SetLink(l)
		}
		f.learn()
		f.synced()
		time.Sleep(time.Minute)
		for name, sw := range f.switches {
			if n := sw.Sets(); n != 1 {
				t.Errorf("%s got %d Sets after a lost link and a restart, want 1", name, n)
			}
		}

		// A host that goes takes its route along; others' routes stay.
		f.switches["leaf1"].Change("CONFIG_DB", "STATIC_ROUTE", func(t sonictest.Table) {
			t["default|2001:db8:9::/64"] = map[string]any{"nexthop": "fe80::9", "ifname": "Ethernet0"}
		})
		inv := f.net.Inventory
		gone := inv.Hosts[0]
		inv.Hosts = slices.Clone(inv.Hosts[1:])
		if err := f.c.SetInventory(t.Context(), inv); err != nil {
			t.Fatal(err)
		}
		f.synced()
		after := f.switches["leaf1"].Rows("CONFIG_DB", "STATIC_ROUTE")
		if len(after) != len(routes) || after["default|"+gone.Address.String()+"/128"] != nil ||
			after["default|2001:db8:9::/64"] == nil || after["mgmt|::/0"] == nil {
			t.Errorf("without %s the routes are %v", gone.Name, slices.Sorted(maps.Keys(after)))
		}

		// Rows that a controller wanted before are its own; what it has taken away is so no more.
		f.stop()
		again := inv
		again.Hosts = slices.Clone(inv.Hosts[1:])
		f.net.Inventory = again
		second := inv.Hosts[0].Address.String()
		f.start()
		f.synced()
		after = f.switches["leaf1"].Rows("CONFIG_DB", "STATIC_ROUTE")
		if after["default|"+second+"/128"] != nil || after["default|2001:db8:9::/64"] == nil {
			t.Errorf("after a restart without %s the routes are %v", second,
				slices.Sorted(maps.Keys(after)))
		}
		f.stop()
		f.start()
		f.synced()
		f.switches["leaf1"].Change("CONFIG_DB", "STATIC_ROUTE", func(t sonictest.Table) {
			t["default|"+second+"/128"] = map[string]any{"nexthop": "::", "ifname": "Ethernet0"}
		})
		time.Sleep(10 * time.Second)
		f.synced()
		after = f.switches["leaf1"].Rows("CONFIG_DB", "STATIC_ROUTE")
		if after["default|"+second+"/128"] == nil {
			t.Errorf("somebody's own route to %s was taken away", second)
		}
		if n, err := f.c.FrameCounts(t.Context()); err != nil || n.Links == nil || n.Links.Sent > 0 {
			t.Errorf("discovery: %+v, %v, want no frames", n.Links, err)
		}
		f.stop()
	})
}

// learnTopology has the controller know the present topology.
func (f *sonicBed) learnTopology() {
	f.t.Helper()
	if err := f.c.SetTopology(f.t.Context(), f.net.Topology.Build()); err != nil {
		f.t.Fatal(err)
	}
}

// TestSONiCDrift: 100 rows and SIDs are lost, one at a time. Each lost row is back within two
// seconds, and no row of other writers changes.
func TestSONiCDrift(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r, losses := rand.New(rand.NewPCG(seed, 0)), 100
	if testing.Short() {
		losses = 25
	}
	inBubble(t, func(t *testing.T) {
		f := newSONiCBed(t)
		f.start()
		f.synced()
		names := slices.Sorted(maps.Keys(f.switches))
		want := make(map[string]map[string]string)
		for _, name := range names {
			want[name] = f.rows(name)
		}
		for i := range losses {
			name := names[r.IntN(len(names))]
			what := lose(r, f.switches[name])
			time.Sleep(2 * time.Second)
			if got := f.rows(name); !maps.Equal(got, want[name]) {
				t.Fatalf("loss %d, %s of %s: it is not back after 2 s", i, what, name)
			}
			for key := range f.switches[name].Rows("CONFIG_DB", "SRV6_MY_SIDS") {
				_, prefix, _ := strings.Cut(key, "|")
				address, _, _ := strings.Cut(prefix, "/")
				appl := f.switches[name].Rows("APPL_DB", "SRV6_MY_SID_TABLE")
				if !slices.ContainsFunc(slices.Collect(maps.Keys(appl)),
					func(k string) bool { return strings.HasSuffix(k, ":"+address) }) {
					t.Fatalf("loss %d, %s of %s: FRR has no %s", i, what, name, address)
				}
			}
		}
		f.stop()
	})
}

// lose takes a row of Weft's away, or has FRR lose a SID, and returns which.
func lose(r *rand.Rand, sw *sonictest.Switch) string {
	table := []string{"SRV6_MY_SIDS", "STATIC_ROUTE", "DSCP_TO_TC_MAP", "INTERFACE",
		"PORT_QOS_MAP"}[r.IntN(5)]
	var own []string
	for key, row := range sw.Rows("CONFIG_DB", table) {
		if !strings.HasPrefix(key, "mgmt|") && key != "AZURE" &&
			(table != "PORT_QOS_MAP" || row["dscp_to_tc_map"] == "weft") {
			own = append(own, key)
		}
	}
	slices.Sort(own)
	key := own[r.IntN(len(own))]
	switch {
	case table == "SRV6_MY_SIDS" && r.IntN(2) == 0:
		sw.LoseSID(key)
		return "FRR's " + key
	case table == "PORT_QOS_MAP": // the rest of the row is others'
		sw.Change("CONFIG_DB", table, func(t sonictest.Table) { delete(t[key], "dscp_to_tc_map") })
	default:
		sw.Change("CONFIG_DB", table, func(t sonictest.Table) { delete(t, key) })
	}
	return table + "|" + key
}

// TestSONiCRefusals: what a SONiC switch cannot carry is refused before anything is written, with
// the switch and the reason; a group between switches that run P4 does not cross others.
func TestSONiCRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSONiCBed(t, "leaf1", "leaf2", "spine1")
		f.start()
		f.synced()
		sets := f.switches["spine2"].Sets()
		spec := f.net.Spec(1, "h1", "h3")
		g, _, err := f.c.Groups().Put(t.Context(), "g", spec, resource.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		if crossed := slices.ContainsFunc(g.Status.Tree.Nodes, func(n api.TreeNode) bool {
			return n.Switch == "spine2"
		}); crossed {
			t.Errorf("the tree crosses a switch without P4: %+v", g.Status.Tree)
		}
		removeLinks(f.net, f.net.Topology.Build(), "spine1")
		f.learnTopology()
		_, _, err = f.c.Groups().Put(t.Context(), "g2", f.net.Spec(2, "h1", "h3"),
			resource.Precondition{})
		if want := "spine2 runs SONiC"; err == nil || !strings.Contains(fmt.Sprint(details(err)), want) {
			t.Errorf("a group over plane 2: %v, want %q", details(err), want)
		}
		if n := f.switches["spine2"].Sets(); n != sets {
			t.Errorf("spine2 got %d Sets more", n-sets)
		}
		f.stop()

		f = newSONiCBed(t, "leaf1", "spine1", "spine2")
		f.start()
		f.synced()
		_, _, err = f.c.Groups().Put(t.Context(), "g", f.net.Spec(1, "h1", "h3"),
			resource.Precondition{})
		if want := "behind leaf2, which runs SONiC"; !strings.Contains(fmt.Sprint(details(err)), want) {
			t.Errorf("a receiver behind SONiC: %v, want %q", details(err), want)
		}
		_, _, err = kind.Of[api.SRv6PolicySpec, api.SRv6Policy](f.c.Kinds()).Put(t.Context(), "q",
			api.SRv6PolicySpec{Headend: "leaf1", Endpoint: "leaf2"}, resource.Precondition{})
		if want := "that the controller programs, and that runs P4"; !strings.Contains(
			fmt.Sprint(details(err)), want) {
			t.Errorf("an SRv6 policy: %v, want %q", details(err), want)
		}
		_, _, err = f.c.Projects().Put(t.Context(), "p", api.ProjectSpec{Isolated: true},
			resource.Precondition{})
		if want := "switch leaf2 has hosts"; !strings.Contains(fmt.Sprint(details(err)), want) {
			t.Errorf("an isolated project: %v, want %q", details(err), want)
		}
		f.stop()
	})
}

// details returns an error with its fields.
func details(err error) string {
	var e *api.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return fmt.Sprint(e.Message, e.Fields)
}

// TestSONiCUnsupported: a switch whose release lacks something says so, with the reason, and gets
// the rest.
func TestSONiCUnsupported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSONiCBed(t)
		f.net.Inventory.Switch("leaf1").Release = "202511"
		f.start()
		s := f.synced()["leaf1"]
		want := "uA needs SONiC of August 2026 or later; leaf1 runs 202511"
		if c := s.Conditions.Find(api.Unsupported); c == nil || !c.Status ||
			c.Reason != api.ReasonSystemCannot || !strings.Contains(c.Message, want) {
			t.Errorf("conditions %+v, want %q", s.Conditions, want)
		}
		for key, row := range f.switches["leaf1"].Rows("CONFIG_DB", "SRV6_MY_SIDS") {
			if row["action"] == "uA" {
				t.Errorf("it got %s %v", key, row)
			}
		}
		f.stop()
	})
}
