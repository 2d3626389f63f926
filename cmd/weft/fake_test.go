package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/topology"
)

// began is when everything happened in the fake network.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeController is a controller of two switches, n6 and n1, that programs
// nothing. Its hosts are 2001:db8:5::1 (s1, at n6) and 2001:db8:1::1 and ::2
// (r1 and r2, at n1).
type fakeController struct {
	mu      sync.Mutex
	groups  map[string]intent.MulticastGroup
	version uint64
	down    map[string]bool
	looks   int // at a group since it was put; it is programmed at the second
}

func newFakeController() *fakeController {
	return &fakeController{groups: make(map[string]intent.MulticastGroup), down: make(map[string]bool)}
}

var addr = netip.MustParseAddr

func (f *fakeController) Topology() *topology.Snapshot {
	b := topology.NewBuilder()
	for _, n := range []struct{ id, name, loopback, locator string }{
		{"64512:10.0.0.6", "n6", "2001:db8:ff::6", "5f00:0:6::/48"}, {"64512:10.0.0.1", "n1", "2001:db8:ff::1", "5f00:0:1::/48"},
	} {
		prefix := netip.MustParsePrefix(n.locator)
		sid := prefix.Addr().As16()
		sid[7] = 1
		b.SetNode(topology.Node{
			ID: topology.NodeID(n.id), Name: n.name, Loopback: addr(n.loopback), ASN: 64512, Protocol: "direct", SRv6: &topology.SRv6Capabilities{},
			Locators: []topology.Locator{{Prefix: prefix}}, SIDs: []topology.SID{{Address: netip.AddrFrom16(sid), Behavior: topology.BehaviorEnd}},
		})
	}
	b.SetNode(topology.Node{ID: "64512:10.0.0.7", Overload: true})
	b.SetLink(topology.Link{Local: "64512:10.0.0.6", Remote: "64512:10.0.0.1", LocalID: 2, RemoteID: 1, IGPMetric: 10,
		Delay: topology.Delay{Known: true, Min: 5, Max: 7}, MaxBandwidth: 100e9})
	b.SetLink(topology.Link{Local: "64512:10.0.0.1", Remote: "64512:10.0.0.6", LocalID: 1, RemoteID: 2, IGPMetric: 10})
	return b.Build()
}

func (f *fakeController) Inventory() *inventory.Inventory {
	inv := inventory.Default()
	inv.Hosts = []inventory.Host{
		{Name: "s1", Address: addr("2001:db8:5::1"), Switch: "n6", Port: 1},
		{Name: "r1", Address: addr("2001:db8:1::1"), Switch: "n1", Port: 2},
		{Name: "r2", Address: addr("2001:db8:1::2"), Switch: "n1", Ports: []uint32{3, 4}},
	}
	return &inv
}

func (f *fakeController) env(except string) intent.Env {
	host := func(a netip.Addr) (string, bool) {
		h := f.Inventory().Host(a)
		if h == nil {
			return "", false
		}
		return h.Name, true
	}
	return intent.Env{
		Limits: intent.StandardLimits(), Host: host,
		Taken: func(a netip.Addr) (string, bool) {
			name, ok := host(a)
			return "the address of host " + name, ok
		},
		OtherGroup: func(a netip.Addr) (string, bool) {
			for _, g := range f.groups {
				if g.Name != except && g.Spec.ProxyAddress == a {
					return g.Name, true
				}
			}
			return "", false
		},
	}
}

func (f *fakeController) Groups(context.Context) ([]intent.MulticastGroup, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.groups)), nil
}

func (f *fakeController) Group(_ context.Context, name string) (intent.MulticastGroup, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, err := f.find(name, controller.Precondition{})
	if f.looks++; err == nil && f.looks == 2 && !f.down["n1"] {
		g.Status.Set(intent.Programmed, true, intent.ReasonInstalled, "", began)
		for i := range g.Status.Receivers {
			g.Status.Receivers[i].Programmed = true
		}
		f.groups[name] = g
	}
	return g, err
}

// find returns a group that meets a precondition. f.mu is held.
func (f *fakeController) find(name string, pre controller.Precondition) (intent.MulticastGroup, error) {
	g, ok := f.groups[name]
	switch {
	case !ok:
		return g, &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("there is no group %q", name)}
	case pre.Absent:
		return g, &intent.Error{Code: intent.CodeExists, Message: fmt.Sprintf("group %q exists", name)}
	case pre.Version != 0 && pre.Version != g.Version:
		return g, &intent.Error{Code: intent.CodeVersion, Message: fmt.Sprintf("group %q has version %d, not %d", name, g.Version, pre.Version)}
	}
	return g, nil
}

func (f *fakeController) PutGroup(_ context.Context, name string, spec intent.Spec, pre controller.Precondition) (intent.MulticastGroup, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks = 0
	g, err := f.find(name, pre)
	created := errors.Is(err, intent.ErrNotFound) && pre.Version == 0
	if created {
		err = intent.ValidateName(name)
	}
	if err != nil {
		return g, false, err
	}
	spec = intent.StandardDefaults().Complete(spec)
	if err := intent.Validate(&spec, f.env(name)); err != nil {
		return g, false, err
	}
	if !created && spec.Equal(&g.Spec) {
		return g, false, nil
	}
	f.version++
	if created {
		g = intent.MulticastGroup{Name: name, Created: began, Status: intent.Status{Index: 1, Epoch: 7, Limits: intent.StandardLimits()}}
	}
	g.Spec, g.Version = spec, f.version
	g.Status.ObservedVersion = f.version
	f.plan(&g)
	f.groups[name] = g
	return g, created, nil
}

// plan gives a group the tree n6 → n1 → receivers.
func (f *fakeController) plan(g *intent.MulticastGroup) {
	s := &g.Status
	s.Set(intent.Accepted, true, intent.ReasonPlanned, "", began)
	s.Set(intent.Programmed, false, intent.ReasonInstalling, "3 updates to make in n1", began)
	s.Set(intent.Degraded, f.down["n1"], intent.ReasonHealthy, "", began)
	if f.down["n1"] {
		s.Set(intent.Degraded, true, intent.ReasonDisconnected, "n1 is not connected", began)
	}
	edge := intent.TreeNode{Switch: "n1", Address: addr("2001:db8:ff::1"), SID: addr("5f00:0:1:8000::"), Behavior: "End.MT", Parent: "n6", Upstream: 1}
	s.Receivers = nil
	for i, r := range g.Spec.Receivers {
		edge.Branches = append(edge.Branches, intent.TreeBranch{Index: uint8(i), Receiver: r.Address, QPN: r.QPN, Port: uint32(2 + i)})
		s.Receivers = append(s.Receivers, intent.ReceiverStatus{Address: r.Address, Switch: "n1", Branch: uint8(i)})
	}
	s.Tree = &intent.Tree{Root: "n6", SID: addr("5f00:0:6:8000::"), Cost: 10, Nodes: []intent.TreeNode{
		{Switch: "n6", Address: addr("2001:db8:ff::6"), SID: addr("5f00:0:6:8000::"), Behavior: "End.Replicate", Upstream: 1,
			Branches: []intent.TreeBranch{{Index: 0, Child: "n1", Port: 2}}},
		edge,
	}}
}

func (f *fakeController) DeleteGroup(_ context.Context, name string, pre controller.Precondition) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.find(name, pre)
	if err == nil {
		delete(f.groups, name)
	}
	return err
}

func (f *fakeController) ResetGroup(_ context.Context, name string, pre controller.Precondition) (intent.MulticastGroup, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, err := f.find(name, pre)
	if err == nil {
		g.Status.Epoch++
		f.groups[name] = g
	}
	return g, err
}

func (f *fakeController) GroupState(_ context.Context, name string) (controller.StateReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, err := f.find(name, controller.Precondition{})
	if err != nil {
		return controller.StateReport{}, err
	}
	timer := uint8(12)
	r := controller.StateReport{Group: name, Epoch: g.Status.Epoch, Complete: !f.down["n1"], Nodes: []controller.NodeState{
		{Switch: "n6", Answered: true, LastPSN: 100, CNPTotal: 1, Branches: []controller.BranchState{
			{Child: "n1", Answered: true, Valid: true, AckPSN: 99, EPSN: 100, MSN: 3, Epoch: 7},
		}},
		{Switch: "n1", Answered: true, LastPSN: 100, Branches: []controller.BranchState{
			{Receiver: addr("2001:db8:1::1"), Answered: true, Valid: true, AckPSN: 99, EPSN: 100, NAKPending: true, MSN: 3, CNPCount: 2, Epoch: 7},
			{Index: 1, Receiver: addr("2001:db8:1::2"), Answered: true, Valid: true, AckPSN: 120, EPSN: 121, NAKPending: true, RNRTimer: &timer, MSN: 4, Epoch: 7},
			{Index: 2, Receiver: addr("2001:db8:1::3"), Answered: true, AckPSN: -1, EPSN: -1, Epoch: 6},
		}},
	}}
	if f.down["n1"] {
		r.Nodes[1] = controller.NodeState{Switch: "n1", LastPSN: -1}
	}
	return r, nil
}

func (f *fakeController) Switches(context.Context) ([]controller.SwitchStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []controller.SwitchStatus{
		{Name: "n6", Node: "64512:10.0.0.6", Address: "127.0.0.1:9556", DeviceID: 6, Managed: true, Connected: true, Since: began, Entries: 40, Synced: true},
		{Name: "n1", Node: "64512:10.0.0.1", Address: "127.0.0.1:9551", DeviceID: 1, Managed: true, Connected: true, Since: began, Entries: 42, Synced: true},
		{Name: "n9"},
	}
	for i := range out {
		if f.down[out[i].Name] {
			out[i].Connected, out[i].Synced, out[i].Reason, out[i].Pending = false, false, "connection refused", 3
		}
	}
	return out, nil
}

func (f *fakeController) reach(sw string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case sw != "n1" && sw != "n6":
		return &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("there is no switch %q", sw)}
	case f.down[sw]:
		return &intent.Error{Code: intent.CodeUnavailable, Message: sw + " is not connected"}
	}
	return nil
}

func (f *fakeController) Tables(_ context.Context, sw string) ([]controller.TableView, error) {
	return []controller.TableView{
		{Name: "node", Size: 1, Actions: []string{"set_node"}},
		{Name: "ipv6_route", Size: 4096, Fields: []string{"vrf", "dst_addr"}, Actions: []string{"forward", "drop_no_route"}},
	}, f.reach(sw)
}

func (f *fakeController) Entries(_ context.Context, sw, table string) ([]controller.EntryView, error) {
	if err := f.reach(sw); err != nil {
		return nil, err
	}
	field := func(name string, value any) controller.FieldView {
		return controller.FieldView{Name: name, Value: value}
	}
	switch table {
	case "ipv6_route":
		out := []controller.EntryView{{Table: table, Default: true, Action: "drop_no_route"}}
		for i := range uint64(150) { // more than a page
			out = append(out, controller.EntryView{
				Table: table, Match: []controller.FieldView{field("vrf", i), field("dst_addr", "2001:db8:1::/48")},
				Action: "forward", Params: []controller.FieldView{field("port", uint64(1)), field("neighbor", 100+i)},
			})
		}
		out[1].Action, out[1].Params, out[1].Group = "", nil, 7
		return out, nil
	case "mt_replica":
		return []controller.EntryView{{
			Table: table, Match: []controller.FieldView{field("group", uint64(1)), field("rid", uint64(1))}, Action: "to_receiver_reth",
			Params: []controller.FieldView{field("receiver", "2001:db8:1::1"), field("va_offset", uint64(1<<64-4096)), field("rkey", uint64(1<<32-1))},
		}}, nil
	}
	return nil, &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("%s has no table %q", sw, table)}
}

func (f *fakeController) Counters(_ context.Context, sw string) ([]controller.CounterView, error) {
	return []controller.CounterView{
		{Counter: "port_rx", Index: 1, Name: "1", Packets: 100, Octets: 6400},
		{Counter: "ingress_drops", Index: 2, Name: "BAD_ICRC", Packets: 1},
		{Counter: "ingress_drops", Index: 1, Name: "NO_ROUTE", Packets: 5},
	}, f.reach(sw)
}

// fakeAPI is the API of a fake controller.
type fakeAPI struct {
	*fakeController
	events  *northbound.Events
	handler http.Handler
	watched chan struct{} // a token for each stream of events that has begun
}

func newFakeAPI(change ...func(*northbound.Config)) (*fakeAPI, error) {
	cfg := northbound.DefaultConfig()
	cfg.Now = func() time.Time { return began }
	for _, c := range change {
		c(&cfg)
	}
	a := &fakeAPI{fakeController: newFakeController(), events: northbound.NewEvents(16, began), watched: make(chan struct{}, 16)}
	server, err := northbound.New(cfg, a.fakeController, a.events)
	if err != nil {
		return nil, err
	}
	inner := server.Handler()
	a.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/events" {
			w = &flushes{ResponseWriter: w, first: a.watched}
		}
		inner.ServeHTTP(w, r)
	})
	return a, nil
}

// flushes puts a token into a channel at the first flush.
type flushes struct {
	http.ResponseWriter
	first chan<- struct{}
	once  sync.Once
}

func (f *flushes) Flush() {
	f.ResponseWriter.(http.Flusher).Flush()
	f.once.Do(func() { f.first <- struct{}{} })
}

func (f *flushes) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// set changes the fake as "down n1" and "up n1" say.
func (f *fakeController) set(what, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains([]string{"up", "down"}, what) {
		return errors.New("want up or down, not " + strings.TrimSpace(what))
	}
	f.down[name] = what == "down"
	return nil
}
