package northbound

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/topology"
)

var epochStart = northboundtest.Began

// fakeController extends the controller of northboundtest for these tests.
type fakeController struct {
	*northboundtest.Controller
	panics  bool
	wait    chan struct{} // GroupState waits for it or the context
	entered chan struct{} // GroupState says that it does
}

func newFakeController() *fakeController {
	b := topology.NewBuilder()
	addr := netip.MustParseAddr
	b.SetNode(topology.Node{
		ID: "64512:10.0.0.1", Name: "n1", Loopback: addr("2001:db8:ff::1"), ASN: 64512,
		Protocol: "isis-l2", SRv6: &topology.SRv6Capabilities{},
		Locators: []topology.Locator{{Prefix: netip.MustParsePrefix("2001:db8:f1::/48")}},
		SIDs: []topology.SID{{Address: addr("2001:db8:f1:1::"), Behavior: topology.BehaviorEnd,
			Structure: topology.SIDStructure{LocatorBlock: 32, LocatorNode: 16, Function: 16}}},
	})
	b.SetNode(topology.Node{ID: "64512:10.0.0.6", Name: "n6", Loopback: addr("2001:db8:ff::6"),
		ASN: 64512, Protocol: "isis-l2"})
	b.SetLink(topology.Link{Local: "64512:10.0.0.1", Remote: "64512:10.0.0.6", LocalID: 1, RemoteID: 2,
		IGPMetric: 10,
		Delay:     topology.Delay{Known: true, Min: 5, Max: 7},
		EndX: []topology.EndX{{SID: topology.SID{Address: addr("2001:db8:f1:2::"),
			Behavior: topology.BehaviorEndX}}}})
	b.SetLink(topology.Link{Local: "64512:10.0.0.6", Remote: "64512:10.0.0.1", LocalID: 2, RemoteID: 1,
		IGPMetric: 10})
	b.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: "64512:10.0.0.1",
		Prefix: netip.MustParsePrefix("2001:db8:1::/64")}, Metric: 1})
	f := &fakeController{Controller: northboundtest.NewController(b.Build())}
	f.Groups.Show = func(g *api.MulticastGroup, created bool) {
		northboundtest.ShowGroup(g, created)
		if created {
			g.Status.Set(api.Accepted, true, api.ReasonPlanned, "", epochStart)
			g.Status.Set(api.Programmed, false, api.ReasonInstalling, "waiting for n1", epochStart)
		}
	}
	f.Groups.Look = func(string) {
		if f.panics {
			panic("the fake's doing")
		}
	}
	reset := f.Groups.Asked
	f.Groups.Asked = func(ctx context.Context, name string, question any,
		pre resource.Precondition) (any, error) {
		if _, ok := question.(api.ReadGroupState); ok {
			return f.state(ctx, name)
		}
		return reset(ctx, name, question, pre)
	}
	f.Entries = entries
	return f
}

// plan gives a group a tree.
func (f *fakeController) plan(name string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	g := f.Groups.Items[name]
	addr := netip.MustParseAddr
	g.Status.Tree = &api.GroupTree{Root: "n6", SID: addr("2001:db8:f6:8004::"), Cost: 10,
		Nodes: []api.TreeNode{
			{Switch: "n6", Address: addr("2001:db8:ff::6"), SID: addr("2001:db8:f6:8004::"),
				Behavior: "End.Replicate", BehaviorCode: 75, Upstream: 11,
				Branches: []api.TreeBranch{{Index: 0, Child: "n1", Port: 2}}},
			{Switch: "n1", Address: addr("2001:db8:ff::1"), SID: addr("2001:db8:f1:8004::"),
				Behavior: "End.MT", BehaviorCode: 0x8000, Parent: "n6", Upstream: 1,
				Branches: []api.TreeBranch{{Index: 0, Receiver: addr("2001:db8:1::1"), QPN: 17, Port: 11}}},
		}}
	f.Groups.Items[name] = g
}

func (f *fakeController) state(ctx context.Context, name string) (api.GroupState, error) {
	got, err := f.Groups.Get(ctx, name)
	f.Mu.Lock()
	wait, down := f.wait, f.Down["n1"]
	f.Mu.Unlock()
	if err != nil {
		return api.GroupState{}, err
	}
	g := got.(api.MulticastGroup)
	if wait != nil {
		select {
		case f.entered <- struct{}{}:
		default:
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return api.GroupState{}, ctx.Err()
		}
	}
	edge := api.GroupNodeState{Switch: "n1", LastPSN: -1, Branches: []api.GroupBranchState{}}
	if !down {
		edge.Answered, edge.LastPSN = true, 100
		edge.Branches = append(edge.Branches, api.GroupBranchState{
			Receiver: netip.MustParseAddr("2001:db8:1::1"), Answered: true, AckPSN: 99, EPSN: 100,
			NAKPending: true, MSN: 3, CNPCount: 2, Valid: true, Epoch: 7,
		})
	}
	root := api.GroupNodeState{Switch: "n6", Answered: true, LastPSN: 100, CNPTotal: 1,
		Branches: []api.GroupBranchState{
			{Child: "n1", Answered: true, AckPSN: 99, EPSN: 100, MSN: 3, Valid: true, Epoch: 7},
		}}
	return api.GroupState{Group: name, Epoch: g.Status.Epoch, Nodes: []api.GroupNodeState{root, edge},
		Complete: !down}, nil
}

// entries returns those of a table.
func entries(table string) []api.TableEntry {
	if table != "ipv6_route" {
		return nil
	}
	out := []api.TableEntry{{Table: table, Default: true, Action: "drop_no_route"}}
	for _, vrf := range []uint64{10, 9, 0} {
		out = append(out, api.TableEntry{
			Table:  table,
			Match:  []api.Field{{Name: "vrf", Value: vrf}, {Name: "dst_addr", Value: "2001:db8:1::/48"}},
			Action: "forward", Params: []api.Field{{Name: "port", Value: uint64(1)},
				{Name: "neighbor", Value: uint64(100)}},
		})
	}
	return out
}

func topologyEmpty() *topology.Snapshot { return topology.Empty() }

func staleness(reason string) *topology.Staleness {
	return &topology.Staleness{Reason: reason, Since: epochStart}
}

// newTestServer returns a server over a fake controller.
func newTestServer(t testing.TB, change ...func(*Config)) (*Server, *fakeController, *Events) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Version = "test"
	cfg.Hosts = []string{"example.com"} // which httptest calls every server
	cfg.Now = func() time.Time { return epochStart }
	for _, c := range change {
		c(&cfg)
	}
	f, events := newFakeController(), NewEvents(4, epochStart)
	s, err := New(cfg, f, events)
	if err != nil {
		t.Fatal(err)
	}
	s.watch()
	return s, f, events
}

// projectsOf reaches the projects of a server.
func projectsOf(s *Server) kind.Handle[api.ProjectSpec, api.Project] {
	return kind.Of[api.ProjectSpec, api.Project](s.controller.Kinds())
}
