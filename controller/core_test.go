package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// bed is a core with switches whose answers take a random time.
type bed struct {
	virtual.Clock
	t       *testing.T
	net     *sample.Net
	core    *controller.Core
	store   *store.Memory
	devices map[string]*controllertest.Device
	rng     *rand.Rand
	// session counts the connections of a switch, 0 for no connection. known is the connection that
	// the core knows.
	session, known map[string]int
	epochs         map[string]map[int]uint32 // by switch and group: highest written
	log            []api.Event
	states         []feature.Answer
	portTasks      []controller.PortTask
	// every is called after each write.
	every func()
	delay time.Duration
	// wires is the real network, when the topology of the core differs from the real network.
	wires *topology.Snapshot
	// keeps: neighbors and clone sessions of dead links may stay, because a tree
	// that cannot be moved leads to them.
	keeps bool
	// cables, when not nil, carry the frames that switches are asked to send.
	cables *cables
}

func newBed(t *testing.T, net *sample.Net, seed uint64) *bed {
	w := &bed{
		t: t, net: net, store: store.NewMemory(), devices: make(map[string]*controllertest.Device),
		rng: rand.New(rand.NewPCG(seed, 1)), session: make(map[string]int), known: make(map[string]int),
		epochs: make(map[string]map[int]uint32),
		delay:  2 * time.Millisecond,
	}
	net.Inventory.Intervals.Audit = 0
	net.Inventory.Intervals.Settle = api.Duration(100 * time.Millisecond)
	net.Inventory.Intervals.Stall = 0
	for _, sw := range net.Inventory.Switches {
		if !sw.Managed() {
			continue
		}
		d := controllertest.NewDevice(sw.Name)
		w.devices[sw.Name] = d
		w.epochs[sw.Name] = make(map[int]uint32)
		d.Wrote = func(u entry.Update) { w.wrote(d, u) }
	}
	w.boot()
	return w
}

// boot starts a core on the records there are.
func (w *bed) boot() {
	records, _, err := w.store.List(context.Background(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.core, err = controller.NewCore(controller.Config{Inventory: w.net.Inventory, Start: start},
		records)
	if err != nil {
		w.t.Fatal(err)
	}
	w.core.Tick(w.Now())
}

// wrote checks the rules that every single write has to keep.
func (w *bed) wrote(d *controllertest.Device, u entry.Update) {
	if tb, ok := u.Entity.(entry.Table); ok && tb.Name == p4.TableMtGroup && u.Type != entry.Delete {
		epoch, _ := plan.EpochOf(tb)
		g := plan.GroupOf(tb)
		switch highest := w.epochs[d.Name][g]; {
		case epoch == 0:
			w.t.Fatalf("%s: epoch 0: %s", d.Name, u)
		case epoch < highest:
			w.t.Fatalf("%s: epoch %d of group %d after %d", d.Name, epoch, g, highest)
		}
		w.epochs[d.Name][g] = epoch
	}
	if w.every != nil {
		w.every()
	}
}

// later has something happen to the core after a while.
func (w *bed) later(after time.Duration, do func()) {
	w.After(after, func() {
		w.core.Tick(w.Now())
		do()
	})
}

func (w *bed) random(d time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(d) + 1))
}

// connect lets a switch connect after a while, whatever it holds.
func (w *bed) connect(name string) {
	w.session[name]++
	session := w.session[name]
	w.later(w.random(w.delay), func() {
		if w.session[name] == session {
			w.known[name] = session
			w.core.SwitchConnected(name, w.devices[name].Contents())
		}
	})
}

func (w *bed) connectAll() {
	for _, sw := range w.net.Inventory.Switches {
		if sw.Managed() {
			w.connect(sw.Name)
		}
	}
}

func (w *bed) disconnect(name string) {
	w.session[name]++
	w.core.SwitchDisconnected(name, errors.New("lost"))
}

// pump carries out what the core wants.
func (w *bed) pump() {
	r := w.core.Ready(0)
	if err := w.store.Apply(context.Background(), r.Saves); err != nil {
		w.t.Fatal(err)
	}
	w.log = append(w.log, r.Events...)
	w.states = append(w.states, r.Answers...)
	w.portTasks = append(w.portTasks, r.PortTasks...)
	w.cables.discovered(w, r.Discovered)
	for _, work := range r.Tasks {
		d, session, core := w.devices[work.Switch], w.known[work.Switch], w.core
		w.later(w.random(w.delay), func() {
			if w.session[work.Switch] != session || w.core != core {
				return
			}
			result := d.Do(work)
			w.cables.carry(w, work.Switch, work.Packets)
			w.later(w.random(w.delay), func() {
				if w.core == core {
					w.core.Done(result)
				}
			})
		})
	}
}

// run lets everything happen for some time.
func (w *bed) run(d time.Duration) {
	w.t.Helper()
	w.Run(w.Now()+d, w.advance, nil)
	w.core.Tick(w.Now())
}

func (w *bed) advance(now time.Duration) (next time.Duration, pending bool) {
	w.core.Tick(now)
	w.pump()
	return w.core.Next()
}

// converged checks that every switch holds the entities that the core wants, and that the core
// wants the entities of the plan.
func (w *bed) converged() {
	w.t.Helper()
	n := plan.NewNetwork(w.core.Topology(), w.core.Inventory())
	for _, sw := range w.net.Inventory.Switches {
		d := w.devices[sw.Name]
		if d == nil {
			continue
		}
		want := make(map[entry.Key]entry.Entity)
		for _, e := range append(n.Base(&sw), plan.Discovery(&n.Inventory.Discovery)...) {
			want[e.Key()] = e
		}
		for _, e := range w.core.Wanted(sw.Name) {
			if plan.GroupOf(e) >= 0 {
				want[e.Key()] = e
			}
		}
		w.same(sw.Name, want, d.Entities)
		held := make(map[entry.Key]entry.Entity)
		for _, e := range w.core.Held(sw.Name) {
			held[e.Key()] = e
		}
		w.same(sw.Name+" as the core has it", want, held)
	}
	for _, s := range w.core.Switches() {
		if s.Managed && !s.Synced {
			w.t.Errorf("%s is not synced: %+v", s.Name, s)
		}
	}
}

func (w *bed) same(what string, want, got map[entry.Key]entry.Entity) {
	w.t.Helper()
	shown := 0
	for k, e := range want {
		if o, ok := got[k]; !ok || !entry.Equal(e, o) {
			if shown++; shown < 5 {
				w.t.Errorf("%s: want %s, has %v", what, e, o)
			}
		}
	}
	for k, e := range got {
		_, isClone := e.(entry.Clone)
		tb, _ := e.(entry.Table)
		if w.keeps && (isClone || tb.Name == p4.TableNeighbor) {
			continue
		}
		if _, ok := want[k]; !ok {
			if shown++; shown < 5 {
				w.t.Errorf("%s: has %s for nobody", what, e)
			}
		}
	}
}

func (w *bed) put(name string, spec api.MulticastGroupSpec) api.MulticastGroup {
	w.t.Helper()
	g, _, err := w.core.Groups().Put(name, spec, resource.Precondition{})
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

func (w *bed) group(name string) api.MulticastGroup {
	w.t.Helper()
	g, err := w.core.Groups().Get(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// state is the i-th answer to QueryState.
func (w *bed) state(i int) api.GroupState { return w.states[i].Value.(api.GroupState) }

func (w *bed) peers() func(string, uint32) (string, uint32, bool) {
	snap := w.wires
	if snap == nil {
		snap = w.core.Topology()
	}
	return func(sw string, port uint32) (string, uint32, bool) {
		for _, l := range snap.LinksFrom(w.net.Node(sw)) {
			if l.LocalPort == port {
				return snap.Node(l.Remote).Name, l.RemotePort, true
			}
		}
		return "", 0, false
	}
}

func (w *bed) copies(spec *api.MulticastGroupSpec) (map[netip.Addr]int, []string) {
	host := w.core.Inventory().Host(spec.Source.Address)
	n := controllertest.Network{Devices: w.devices, Peer: w.peers()}
	return n.Copies(host.Switch, host.Port, host.Address, spec.ProxyAddress)
}

// delivers checks that every receiver of the spec gets one copy, and nobody
// else any.
func (w *bed) delivers(spec *api.MulticastGroupSpec) {
	w.t.Helper()
	got, lost := w.copies(spec)
	for _, r := range spec.Receivers {
		if got[r.Address] != 1 {
			w.t.Errorf("%v gets %d copies", r.Address, got[r.Address])
		}
		delete(got, r.Address)
	}
	if len(got) > 0 || len(lost) > 0 {
		w.t.Errorf("others get copies: %v; lost: %v", got, lost)
	}
}

func up(t *testing.T, net *sample.Net, seed uint64) *bed {
	w := newBed(t, net, seed)
	w.core.SetTopology(net.Topology.Build())
	w.connectAll()
	w.run(time.Second)
	return w
}

func TestProgramFigure1(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	w.converged()
	spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
	g := w.put("g1", spec)
	if g.Version == 0 || g.Status.Is(api.Programmed) || !g.Status.Is(api.Accepted) ||
		g.Status.Epoch == 0 {
		t.Errorf("at first: %+v", g.Status)
	}
	w.run(time.Second)
	w.converged()
	w.delivers(&spec)
	g = w.group("g1")
	if !g.Status.Is(api.Programmed) || g.Status.Is(api.Degraded) || g.Status.Tree.Root != "n6" ||
		len(g.Status.Tree.Nodes) != 6 {
		t.Errorf("in the end: %+v", g.Status)
	}
	for _, r := range g.Status.Receivers {
		if !r.Programmed {
			t.Errorf("receiver %+v", r)
		}
	}
	if err := w.core.Groups().Delete("g1", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.core.Groups().Get("g1"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a deleted group: %v", err)
	}
	w.run(time.Second)
	w.converged()
	for name, d := range w.devices {
		for _, e := range d.Entities {
			if plan.GroupOf(e) >= 0 {
				t.Errorf("%s still has %s", name, e)
			}
		}
	}
	for _, prefix := range []string{"groups/", "leaving-groups/"} {
		if list, _, _ := w.store.List(t.Context(), prefix); len(list) != 0 {
			t.Errorf("records left: %v", list)
		}
	}
}

// The SIDs of the edges show the configured codepoint of End.MT. A new codepoint applies at once,
// without writes to switches.
func TestEndMTCodepoint(t *testing.T) {
	net := sample.Figure1()
	net.Inventory.SIDs.EndMT = 0x9000
	w := up(t, net, 1)
	before := w.put("g", net.Spec(1, "s1", "r1", "r3", "r5"))
	w.run(time.Second)
	codes := func(endMT uint16) {
		t.Helper()
		edges := 0
		for _, n := range w.group("g").Status.Tree.Nodes {
			want := uint16(75)
			if n.Behavior == "End.MT" {
				want, edges = endMT, edges+1
			}
			if n.BehaviorCode != want {
				t.Errorf("%s: %s has codepoint %#x, want %#x", n.Switch, n.Behavior, n.BehaviorCode, want)
			}
		}
		if edges != 3 {
			t.Errorf("%d edges", edges)
		}
	}
	codes(0x9000)
	w.every = func() { t.Error("a switch is written to") }
	net.Inventory.SIDs.EndMT = 0x9001
	if err := w.core.SetInventory(net.Inventory); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	codes(0x9001)
	if g := w.group("g"); g.Status.Epoch != before.Status.Epoch || !g.Status.Is(api.Programmed) {
		t.Errorf("in the end: %+v", g.Status)
	}
}

// TestSwitchComesBack: a switch and its host leave the inventory and come back. Meanwhile the
// controller cannot plan the group's tree. Afterwards the tree is the same as before, and the
// switch holds its entities again.
func TestSwitchComesBack(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	spec := net.Spec(1, "s1", "r1", "r3", "r5")
	w.put("g", spec)
	w.run(time.Second)
	whole := net.Inventory
	less := whole
	less.Switches = slices.DeleteFunc(slices.Clone(whole.Switches),
		func(s inventory.Switch) bool { return s.Name == "n2" })
	less.Hosts = slices.DeleteFunc(slices.Clone(whole.Hosts),
		func(h inventory.Host) bool { return h.Switch == "n2" })
	w.disconnect("n2")
	if err := w.core.SetInventory(less); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	if g := w.group("g"); g.Status.Is(api.Programmed) {
		t.Fatalf("without the switch of r3: %+v", g.Status.Conditions)
	}
	w.devices["n2"] = controllertest.NewDevice("n2")
	if err := w.core.SetInventory(whole); err != nil {
		t.Fatal(err)
	}
	w.connect("n2")
	w.run(time.Second)
	w.converged()
	w.delivers(&spec)
	if g := w.group("g"); !g.Status.Is(api.Programmed) {
		t.Errorf("in the end: %+v", g.Status.Conditions)
	}
}

// TestHostArrivesToConnect: a host that joins the inventory at a switch that had none may connect
// to a group that every host may connect to.
func TestHostArrivesToConnect(t *testing.T) {
	net := sample.Figure1()
	whole := net.Inventory
	net.Inventory.Hosts = slices.DeleteFunc(slices.Clone(whole.Hosts),
		func(h inventory.Host) bool { return h.Switch == "n3" })
	w := up(t, net, 1)
	w.put("g", whole.Defaults.Complete(api.MulticastGroupSpec{DesignatedQPN: 0xabc,
		ProxyAddress: netip.MustParseAddr("2001:db8:ffff::1"),
		Connect: &api.GroupConnect{Port: 4791, Source: api.SourceAny,
			Receivers: []netip.Prefix{netip.MustParsePrefix("2001:db8:1::/48")}}}))
	lets := func(sw string) bool {
		w.run(time.Second)
		for _, e := range w.devices[sw].Entities {
			if x, ok := e.(entry.Table); ok && x.Name == p4.TableMtConnect {
				return true
			}
		}
		return false
	}
	if !lets("n2") || lets("n3") {
		t.Fatal("hosts at n2 cannot connect, or those at n3 can, which has none")
	}
	if err := w.core.SetInventory(whole); err != nil {
		t.Fatal(err)
	}
	if !lets("n3") {
		t.Error("the hosts that have come cannot connect")
	}
}

func names(prefix string, from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("%s%d", prefix, i))
	}
	return out
}
