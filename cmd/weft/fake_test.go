package main

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	engine "github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/causes"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/topology"
)

// began is when everything happened in the fake network.
var began = northboundtest.Began

// fakeController is northboundtest's, with trees and more entries than a page.
type fakeController struct {
	*northboundtest.Controller
	looks int // at a group since it was put; it is programmed at the second
}

func newFakeController() *fakeController {
	f := &fakeController{Controller: northboundtest.NewController(network())}
	f.Groups.Show = func(g *api.MulticastGroup, created bool) {
		northboundtest.ShowGroup(g, created)
		f.plan(g)
	}
	f.Groups.Look = f.look
	reset := f.Groups.Asked
	f.Groups.Asked = func(
		ctx context.Context, name string, question any, pre engine.Precondition,
	) (any, error) {
		if _, ok := question.(api.ReadGroupState); ok {
			return f.state(ctx, name)
		}
		return reset(ctx, name, question, pre)
	}
	f.Entries = entries
	return f
}

var addr = netip.MustParseAddr

func network() *topology.Snapshot {
	b := topology.NewBuilder()
	for _, n := range []struct{ id, name, loopback, locator string }{
		{"64512:10.0.0.6", "n6", "2001:db8:ff::6", "5f00:0:6::/48"},
		{"64512:10.0.0.1", "n1", "2001:db8:ff::1", "5f00:0:1::/48"},
	} {
		prefix := netip.MustParsePrefix(n.locator)
		sid := prefix.Addr().As16()
		sid[7] = 1
		b.SetNode(topology.Node{
			ID: topology.NodeID(n.id), Name: n.name, Loopback: addr(n.loopback), ASN: 64512,
			Protocol: "direct", SRv6: &topology.SRv6Capabilities{},
			Locators: []topology.Locator{{Prefix: prefix}},
			SIDs:     []topology.SID{{Address: netip.AddrFrom16(sid), Behavior: topology.BehaviorEnd}},
		})
	}
	b.SetNode(topology.Node{ID: "64512:10.0.0.7", Overload: true})
	b.SetLink(topology.Link{Local: "64512:10.0.0.6", Remote: "64512:10.0.0.1", LocalID: 2, RemoteID: 1,
		IGPMetric: 10,
		Delay:     topology.Delay{Known: true, Min: 5, Max: 7}, MaxBandwidth: 100e9})
	b.SetLink(topology.Link{Local: "64512:10.0.0.1", Remote: "64512:10.0.0.6", LocalID: 1, RemoteID: 2,
		IGPMetric: 10})
	return b.Build()
}

// look counts the looks at a group.
func (f *fakeController) look(name string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	g, ok := f.Groups.Items[name]
	if f.looks++; ok && f.looks == 2 && !f.Down["n1"] {
		g.Status.Set(api.Programmed, true, api.ReasonInstalled, "", began)
		for i := range g.Status.Receivers {
			g.Status.Receivers[i].Programmed = true
		}
		f.Groups.Items[name] = g
	}
}

// plan gives a group the tree n6 → n1 → receivers. f.Mu is held.
func (f *fakeController) plan(g *api.MulticastGroup) {
	f.looks = 0
	s := &g.Status
	s.Set(api.Accepted, true, api.ReasonPlanned, "", began)
	s.Set(api.Programmed, false, api.ReasonInstalling, "3 updates to make in n1", began)
	s.Set(api.Degraded, f.Down["n1"], api.ReasonHealthy, "", began)
	if f.Down["n1"] {
		s.Set(api.Degraded, true, api.ReasonDisconnected, "n1 is not connected", began)
	}
	edge := api.TreeNode{Switch: "n1", Address: addr("2001:db8:ff::1"), SID: addr("5f00:0:1:8000::"),
		Behavior: "End.MT", Parent: "n6", Upstream: 1}
	s.Receivers = nil
	for i, r := range g.Spec.Receivers {
		edge.Branches = append(edge.Branches, api.TreeBranch{Index: uint8(i), Receiver: r.Address,
			QPN: r.QPN, Port: uint32(11 + i)})
		s.Receivers = append(s.Receivers, api.ReceiverStatus{Address: r.Address, Switch: "n1",
			Branch: uint8(i)})
	}
	s.Tree = &api.GroupTree{Root: "n6", SID: addr("5f00:0:6:8000::"), Cost: 10, Nodes: []api.TreeNode{
		{Switch: "n6", Address: addr("2001:db8:ff::6"), SID: addr("5f00:0:6:8000::"),
			Behavior: "End.Replicate", Upstream: 1,
			Branches: []api.TreeBranch{{Index: 0, Child: "n1", Port: 7}}},
		edge,
	}}
}

func (f *fakeController) state(ctx context.Context, name string) (api.GroupState, error) {
	got, err := f.Groups.Get(ctx, name)
	if err != nil {
		return api.GroupState{}, err
	}
	g := got.(api.MulticastGroup)
	f.Mu.Lock()
	defer f.Mu.Unlock()
	timer := uint8(12)
	r := api.GroupState{Group: name, Epoch: g.Status.Epoch, Complete: !f.Down["n1"],
		Nodes: []api.GroupNodeState{
			{Switch: "n6", Answered: true, LastPSN: 100, CNPTotal: 1, Branches: []api.GroupBranchState{
				{Child: "n1", Answered: true, Valid: true, AckPSN: 99, EPSN: 100, MSN: 3, Epoch: 7},
			}},
			{Switch: "n1", Answered: true, LastPSN: 100, Branches: []api.GroupBranchState{
				{Receiver: addr("2001:db8:1::1"), Answered: true, Valid: true, AckPSN: 99, EPSN: 100,
					NAKPending: true, MSN: 3, CNPCount: 2, Epoch: 7},
				{Index: 1, Receiver: addr("2001:db8:1::2"), Answered: true, Valid: true, AckPSN: 120, EPSN: 121,
					NAKPending: true, RNRTimer: &timer, MSN: 4, Epoch: 7},
				{Index: 2, Receiver: addr("2001:db8:1::3"), Answered: true, AckPSN: -1, EPSN: -1, Epoch: 6},
			}},
		}}
	if f.Down["n1"] {
		r.Nodes[1] = api.GroupNodeState{Switch: "n1", LastPSN: -1}
	}
	return r, nil
}

// entries returns the entries of a table; nil for an unknown table.
func entries(table string) []api.TableEntry {
	field := func(name string, value any) api.Field {
		return api.Field{Name: name, Value: value}
	}
	switch table {
	case "ipv6_route":
		out := []api.TableEntry{{Table: table, Default: true, Action: "drop_no_route"}}
		for i := range uint64(150) { // more than a page
			out = append(out, api.TableEntry{
				Table: table, Match: []api.Field{field("vrf", i), field("dst_addr", "2001:db8:1::/48")},
				Action: "forward", Params: []api.Field{field("port", uint64(1)), field("neighbor", 100+i)},
			})
		}
		out[1].Action, out[1].Params, out[1].Group = "", nil, 7
		return out
	case "mt_replica":
		return []api.TableEntry{{
			Table: table, Match: []api.Field{field("group", uint64(1)), field("rid", uint64(1))},
			Action: "to_receiver_reth",
			Params: []api.Field{field("receiver", "2001:db8:1::1"), field("va_offset", uint64(1<<64-4096)),
				field("rkey", uint64(1<<32-1))},
		}}
	}
	return nil
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
	cfg.BGP = northboundtest.Peers{
		{Address: addr("192.0.2.1"), Port: 179, ASN: 64512, State: topology.PeerEstablished, Since: began,
			Synced: true, Heard: true,
			Sessions: 2, Updates: 9, NLRIs: topology.PeerNLRIs{Nodes: 3, Links: 2}},
		{Address: addr("2001:db8::2"), ASN: 64513, State: topology.PeerConnecting,
			LastError: "the peer sent NOTIFICATION OPEN message error, bad peer AS (2/2)"},
	}
	for _, c := range change {
		c(&cfg)
	}
	a := &fakeAPI{fakeController: newFakeController(), events: northbound.NewEvents(16, began),
		watched: make(chan struct{}, 16)}
	facts := cfg
	cfg.Causes = causes.NewWatcher(func(ctx context.Context) (*causes.Known, error) {
		return northbound.Known(ctx, &facts, a.fakeController)
	}, cfg.Now)
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
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if !slices.Contains([]string{"up", "down"}, what) {
		return errors.New("want up or down, not " + strings.TrimSpace(what))
	}
	f.Down[name] = what == "down"
	return nil
}
