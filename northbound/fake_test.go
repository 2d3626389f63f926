package northbound

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

var epochStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeController keeps groups in a map and programs no switch. Its hosts are
// 2001:db8:5::1 (s1) and 2001:db8:1::1, 2001:db8:1::2 (r1, r2).
type fakeController struct {
	mu       sync.Mutex
	groups   map[string]intent.MulticastGroup
	version  uint64
	snapshot *topology.Snapshot
	down     map[string]bool // switches that do not answer
	fail     error           // what Groups and Switches return
	inPut    func()          // called by PutGroup before it looks
	panics   bool
	wait     chan struct{} // GroupState waits for it or the context
	entered  chan struct{} // GroupState says that it does
}

func newFakeController() *fakeController {
	b := topology.NewBuilder()
	addr := netip.MustParseAddr
	b.SetNode(topology.Node{
		ID: "64512:10.0.0.1", Name: "n1", Loopback: addr("2001:db8:ff::1"), ASN: 64512, Protocol: "isis-l2", SRv6: &topology.SRv6Capabilities{},
		Locators: []topology.Locator{{Prefix: netip.MustParsePrefix("2001:db8:f1::/48")}},
		SIDs: []topology.SID{{Address: addr("2001:db8:f1:1::"), Behavior: topology.BehaviorEnd,
			Structure: topology.SIDStructure{LocatorBlock: 32, LocatorNode: 16, Function: 16}}},
	})
	b.SetNode(topology.Node{ID: "64512:10.0.0.6", Name: "n6", Loopback: addr("2001:db8:ff::6"), ASN: 64512, Protocol: "isis-l2"})
	b.SetLink(topology.Link{Local: "64512:10.0.0.1", Remote: "64512:10.0.0.6", LocalID: 1, RemoteID: 2, IGPMetric: 10,
		Delay: topology.Delay{Known: true, Min: 5, Max: 7},
		EndX:  []topology.EndX{{SID: topology.SID{Address: addr("2001:db8:f1:2::"), Behavior: topology.BehaviorEndX}}}})
	b.SetLink(topology.Link{Local: "64512:10.0.0.6", Remote: "64512:10.0.0.1", LocalID: 2, RemoteID: 1, IGPMetric: 10})
	b.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: "64512:10.0.0.1", Prefix: netip.MustParsePrefix("2001:db8:1::/64")}, Metric: 1})
	return &fakeController{groups: make(map[string]intent.MulticastGroup), snapshot: b.Build(), down: make(map[string]bool)}
}

func (f *fakeController) Inventory() *inventory.Inventory {
	inv, addr := inventory.Default(), netip.MustParseAddr
	inv.Switches = []inventory.Switch{{Name: "n6", Ports: map[uint32]uint32{2: 7}}, {Name: "n1"}, {Name: "n9"}}
	inv.Hosts = []inventory.Host{
		{Name: "r1", Address: addr("2001:db8:1::1"), Switch: "n1", Port: 11},
		{Name: "r2", Address: addr("2001:db8:1::2"), Switch: "n1", Ports: []uint32{12, 13}},
		{Name: "s1", Address: addr("2001:db8:5::1"), Switch: "n6", Port: 11},
	}
	return &inv
}

func (f *fakeController) env(except string) intent.Env {
	return intent.Env{
		Limits: intent.StandardLimits(),
		Host: func(a netip.Addr) (string, bool) {
			for _, h := range f.Inventory().Hosts {
				if h.Address == a {
					return h.Name, true
				}
			}
			return "", false
		},
		Taken: func(a netip.Addr) (string, bool) {
			for _, h := range f.Inventory().Hosts {
				if h.Address == a {
					return "the address of host " + h.Name, true
				}
			}
			return "", false
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

func notFound(name string) error {
	return &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("there is no group %q", name)}
}

func (f *fakeController) Groups(context.Context) ([]intent.MulticastGroup, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	return slices.SortedFunc(maps.Values(f.groups), func(a, b intent.MulticastGroup) int {
		return strings.Compare(a.Name, b.Name)
	}), nil
}

func (f *fakeController) Group(_ context.Context, name string) (intent.MulticastGroup, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panics {
		panic("the fake's doing")
	}
	g, ok := f.groups[name]
	if !ok {
		return g, notFound(name)
	}
	return g, nil
}

// find returns a group that meets a precondition. f.mu is held.
func (f *fakeController) find(name string, pre controller.Precondition) (intent.MulticastGroup, error) {
	g, ok := f.groups[name]
	switch {
	case !ok:
		return g, notFound(name)
	case pre.Absent:
		return g, &intent.Error{Code: intent.CodeExists, Message: fmt.Sprintf("group %q exists", name)}
	case pre.Version != 0 && pre.Version != g.Version:
		return g, &intent.Error{Code: intent.CodeVersion, Message: fmt.Sprintf("group %q has version %d, not %d", name, g.Version, pre.Version)}
	}
	return g, nil
}

func (f *fakeController) PutGroup(_ context.Context, name string, spec intent.Spec, pre controller.Precondition) (intent.MulticastGroup, bool, error) {
	if f.inPut != nil {
		f.inPut()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
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
		g = intent.MulticastGroup{Name: name, Created: epochStart}
		g.Status = intent.Status{Index: 1, Epoch: 7, Limits: intent.StandardLimits()}
		g.Status.Set(intent.Accepted, true, intent.ReasonPlanned, "", epochStart)
		g.Status.Set(intent.Programmed, false, intent.ReasonInstalling, "waiting for n1", epochStart)
	}
	g.Spec, g.Version, g.Status.ObservedVersion = spec, f.version, f.version
	f.groups[name] = g
	return g, created, nil
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

// plan gives a group a tree.
func (f *fakeController) plan(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groups[name]
	addr := netip.MustParseAddr
	g.Status.Tree = &intent.Tree{Root: "n6", SID: addr("2001:db8:f6:8004::"), Cost: 10, Nodes: []intent.TreeNode{
		{Switch: "n6", Address: addr("2001:db8:ff::6"), SID: addr("2001:db8:f6:8004::"), Behavior: "End.Replicate", BehaviorCode: 75, Upstream: 11,
			Branches: []intent.TreeBranch{{Index: 0, Child: "n1", Port: 2}}},
		{Switch: "n1", Address: addr("2001:db8:ff::1"), SID: addr("2001:db8:f1:8004::"), Behavior: "End.MT", BehaviorCode: 0x8000, Parent: "n6", Upstream: 1,
			Branches: []intent.TreeBranch{{Index: 0, Receiver: addr("2001:db8:1::1"), QPN: 17, Port: 11}}},
	}}
	f.groups[name] = g
}

func (f *fakeController) GroupState(ctx context.Context, name string) (controller.StateReport, error) {
	f.mu.Lock()
	wait, down := f.wait, f.down["n1"]
	g, err := f.find(name, controller.Precondition{})
	f.mu.Unlock()
	if err != nil {
		return controller.StateReport{}, err
	}
	if wait != nil {
		select {
		case f.entered <- struct{}{}:
		default:
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return controller.StateReport{}, ctx.Err()
		}
	}
	edge := controller.NodeState{Switch: "n1", LastPSN: -1, Branches: []controller.BranchState{}}
	if !down {
		edge.Answered, edge.LastPSN = true, 100
		edge.Branches = append(edge.Branches, controller.BranchState{
			Receiver: netip.MustParseAddr("2001:db8:1::1"), Answered: true, AckPSN: 99, EPSN: 100, NAKPending: true, MSN: 3, CNPCount: 2, Valid: true, Epoch: 7,
		})
	}
	root := controller.NodeState{Switch: "n6", Answered: true, LastPSN: 100, CNPTotal: 1, Branches: []controller.BranchState{
		{Child: "n1", Answered: true, AckPSN: 99, EPSN: 100, MSN: 3, Valid: true, Epoch: 7},
	}}
	return controller.StateReport{Group: name, Epoch: g.Status.Epoch, Nodes: []controller.NodeState{root, edge}, Complete: !down}, nil
}

func (f *fakeController) Topology() *topology.Snapshot { return f.snapshot }

func (f *fakeController) Switches(context.Context) ([]controller.SwitchStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []controller.SwitchStatus{
		{Name: "n6", Node: "64512:10.0.0.6", Address: "127.0.0.1:9556", DeviceID: 6, Managed: true, Connected: true, Since: epochStart, Entries: 40, Synced: true},
		{Name: "n1", Node: "64512:10.0.0.1", Address: "127.0.0.1:9551", DeviceID: 1, Managed: true, Connected: true, Since: epochStart, Entries: 42, Synced: true},
		{Name: "n9"},
	}
	for i := range out {
		if f.down[out[i].Name] {
			out[i].Connected, out[i].Synced, out[i].Reason, out[i].Pending = false, false, "connection refused", 3
			out[i].Errors = []string{"insert ecmp/group=1: table is full"}
		}
	}
	return out, f.fail
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
		{Name: "node", Size: 1, Fields: []string{}, Actions: []string{"set_node"}},
		{Name: "ipv6_route", Size: 4096, Fields: []string{"vrf", "dst_addr"}, Actions: []string{"forward", "drop_no_route"}},
	}, f.reach(sw)
}

func (f *fakeController) Entries(_ context.Context, sw, table string) ([]controller.EntryView, error) {
	if err := f.reach(sw); err != nil {
		return nil, err
	}
	if table != "ipv6_route" {
		return nil, &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("%s has no table %q", sw, table)}
	}
	out := []controller.EntryView{{Table: table, Default: true, Action: "drop_no_route"}}
	for _, vrf := range []uint64{10, 9, 0} {
		out = append(out, controller.EntryView{
			Table:  table,
			Match:  []controller.FieldView{{Name: "vrf", Value: vrf}, {Name: "dst_addr", Value: "2001:db8:1::/48"}},
			Action: "forward", Params: []controller.FieldView{{Name: "port", Value: uint64(1)}, {Name: "neighbor", Value: uint64(100)}},
		})
	}
	return out, nil
}

func (f *fakeController) Counters(_ context.Context, sw string) ([]controller.CounterView, error) {
	return []controller.CounterView{
		{Counter: "port_rx", Index: 1, Name: "1", Packets: 100, Octets: 6400},
		{Counter: "ingress_drops", Index: 2, Name: "BAD_ICRC", Packets: 1},
		{Counter: "ingress_drops", Index: 1, Name: "NO_ROUTE", Packets: 5},
	}, f.reach(sw)
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
	cfg.Now = func() time.Time { return epochStart }
	for _, c := range change {
		c(&cfg)
	}
	f, events := newFakeController(), NewEvents(4, epochStart)
	s, err := New(cfg, f, events)
	if err != nil {
		t.Fatal(err)
	}
	return s, f, events
}
