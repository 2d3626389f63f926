package northbound

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
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
	syncing  bool
	fail     error  // what Groups returns
	inUpdate func() // called by UpdateGroup before it looks
	panics   bool
	wait     chan struct{} // GroupState waits for it or the context
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

func (f *fakeController) Hosts() []Host {
	addr := netip.MustParseAddr
	return []Host{
		{Name: "r1", Address: addr("2001:db8:1::1"), Switch: "n1", Port: 11},
		{Name: "r2", Address: addr("2001:db8:1::2"), Switch: "n1", Port: 12},
		{Name: "s1", Address: addr("2001:db8:5::1"), Switch: "n6", Port: 11},
	}
}

func (f *fakeController) env(except string) intent.Env {
	return intent.Env{
		Limits: intent.StandardLimits(),
		Host: func(a netip.Addr) (string, bool) {
			for _, h := range f.Hosts() {
				if h.Address == a {
					return h.Name, true
				}
			}
			return "", false
		},
		Taken: func(a netip.Addr) (string, bool) {
			for _, h := range f.Hosts() {
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

func (f *fakeController) CreateGroup(_ context.Context, name string, spec intent.Spec) (intent.MulticastGroup, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := intent.ValidateName(name); err != nil {
		return intent.MulticastGroup{}, err
	}
	if _, ok := f.groups[name]; ok {
		return intent.MulticastGroup{}, &intent.Error{Code: intent.CodeExists, Message: fmt.Sprintf("group %q exists", name)}
	}
	spec = intent.StandardDefaults().Complete(spec)
	if err := intent.Validate(&spec, f.env(name)); err != nil {
		return intent.MulticastGroup{}, err
	}
	f.version++
	g := intent.MulticastGroup{Name: name, Version: f.version, Created: epochStart, Spec: spec}
	g.Status = intent.Status{ObservedVersion: g.Version, Index: 1, Epoch: 7, Limits: intent.StandardLimits()}
	g.Status.Set(intent.Accepted, true, intent.ReasonPlanned, "", epochStart)
	g.Status.Set(intent.Programmed, false, intent.ReasonInstalling, "waiting for n1", epochStart)
	f.groups[name] = g
	return g, nil
}

func (f *fakeController) UpdateGroup(_ context.Context, name string, spec intent.Spec, expect uint64) (intent.MulticastGroup, error) {
	if f.inUpdate != nil {
		f.inUpdate()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.groups[name]
	if !ok {
		return g, notFound(name)
	}
	if expect != AnyVersion && expect != g.Version {
		return g, &intent.Error{Code: intent.CodeVersion, Message: fmt.Sprintf("group %q has version %d, not %d", name, g.Version, expect)}
	}
	spec = intent.StandardDefaults().Complete(spec)
	if err := intent.Validate(&spec, f.env(name)); err != nil {
		return g, err
	}
	if spec.Equal(&g.Spec) {
		return g, nil
	}
	f.version++
	g.Spec, g.Version = spec, f.version
	f.groups[name] = g
	return g, nil
}

func (f *fakeController) DeleteGroup(_ context.Context, name string, expect uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.groups[name]
	if !ok {
		return notFound(name)
	}
	if expect != AnyVersion && expect != g.Version {
		return &intent.Error{Code: intent.CodeVersion, Message: fmt.Sprintf("group %q has version %d, not %d", name, g.Version, expect)}
	}
	delete(f.groups, name)
	return nil
}

func (f *fakeController) ResetGroup(_ context.Context, name string, psn *uint32, expect uint64) (intent.MulticastGroup, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, ok := f.groups[name]
	if !ok {
		return g, notFound(name)
	}
	if expect != AnyVersion && expect != g.Version {
		return g, &intent.Error{Code: intent.CodeVersion, Message: fmt.Sprintf("group %q has version %d, not %d", name, g.Version, expect)}
	}
	if psn != nil {
		f.version++
		g.Spec.InitialPSN, g.Version = *psn, f.version
	}
	g.Status.Epoch++
	f.groups[name] = g
	return g, nil
}

// plan gives a group a tree.
func (f *fakeController) plan(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groups[name]
	addr := netip.MustParseAddr
	g.Status.Tree = &intent.Tree{Root: "n6", SID: addr("2001:db8:f6:8004::"), Cost: 10, Nodes: []intent.TreeNode{
		{Switch: "n6", Address: addr("2001:db8:ff::6"), SID: addr("2001:db8:f6:8004::"), Behavior: "End.Replicate", Upstream: 11,
			Branches: []intent.TreeBranch{{Index: 0, Child: "n1", Port: 2}}},
		{Switch: "n1", Address: addr("2001:db8:ff::1"), SID: addr("2001:db8:f1:8004::"), Behavior: "End.MT", Parent: "n6", Upstream: 1,
			Branches: []intent.TreeBranch{{Index: 0, Receiver: addr("2001:db8:1::1"), QPN: 17, Port: 11}}},
	}}
	f.groups[name] = g
}

func (f *fakeController) GroupState(ctx context.Context, name string) ([]NodeState, error) {
	f.mu.Lock()
	wait, down := f.wait, f.down["n1"]
	f.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	last := uint32(100)
	edge := NodeState{Switch: "n1", Index: 1, Branches: []BranchState{}}
	if down {
		edge.Error = "n1 is not connected"
	} else {
		edge.Branches = append(edge.Branches, BranchState{
			Index: 0, Receiver: netip.MustParseAddr("2001:db8:1::1"), AckPSN: 99, EPSN: 100, NAKPending: true, MSN: 3, CNPCount: 2, Valid: true, Epoch: 7,
		})
	}
	return []NodeState{
		{Switch: "n6", Index: 1, LastPSN: &last, CNPTotal: 1, Branches: []BranchState{{Index: 0, Child: "n1", AckPSN: 99, EPSN: 100, MSN: 3, Valid: true, Epoch: 7}}},
		edge,
	}, nil
}

func (f *fakeController) Topology() *topology.Snapshot { return f.snapshot }

func (f *fakeController) Switches() []Switch {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []Switch{
		{ID: "n1", Node: "64512:10.0.0.1", Loopback: netip.MustParseAddr("2001:db8:ff::1"), Address: "127.0.0.1:9551", DeviceID: 1,
			State: SwitchReady, Since: epochStart, Pipeline: "0x123", Wanted: 42},
		{ID: "n6", Node: "64512:10.0.0.6", Loopback: netip.MustParseAddr("2001:db8:ff::6"), Address: "127.0.0.1:9556", DeviceID: 6,
			State: SwitchReady, Since: epochStart, Pipeline: "0x123", Wanted: 40, Failed: 1},
	}
	for i := range out {
		if f.down[out[i].ID] {
			out[i].State, out[i].Reason = SwitchDown, "connection refused"
		}
	}
	return out
}

func (f *fakeController) reach(sw string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case sw != "n1" && sw != "n6":
		return &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("there is no switch %q", sw)}
	case f.down[sw]:
		return &intent.Error{Code: CodeUnavailable, Message: sw + " is not connected"}
	}
	return nil
}

func (f *fakeController) Tables(_ context.Context, sw string) ([]Table, error) {
	return []Table{{
		Name: "ipv6_route", Size: 4096, Entries: 3,
		Key:     []TableKey{{Name: "vrf", Match: "exact", Width: 16}, {Name: "dst_addr", Match: "lpm", Width: 128}},
		Actions: []TableAction{{Name: "forward", Params: []TableParam{{Name: "port", Width: 9}, {Name: "neighbor", Width: 16}}}},
	}}, f.reach(sw)
}

func (f *fakeController) Entries(_ context.Context, sw, table string) ([]Entry, error) {
	if err := f.reach(sw); err != nil {
		return nil, err
	}
	if table != "ipv6_route" {
		return nil, &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf("%s has no table %q", sw, table)}
	}
	var out []Entry
	for i := range 3 {
		prefix := fmt.Sprintf("2001:db8:%d::/48", i+1)
		out = append(out, Entry{
			ID: "ipv6_route/dst_addr=" + prefix + "/vrf=0", Match: map[string]any{"vrf": uint64(0), "dst_addr": prefix},
			Action: "forward", Params: map[string]any{"port": uint64(i + 1), "neighbor": uint64(i + 100)},
		})
	}
	return out, nil
}

func (f *fakeController) Counters(_ context.Context, sw string) ([]Counter, error) {
	octets, none := int64(6400), int64(0)
	return []Counter{
		{Name: "ingress_drops", Index: 1, Label: "NO_ROUTE", Packets: 5},
		{Name: "ingress_drops", Index: 2, Label: "BAD_ICRC"},
		{Name: "port_rx", Index: 1, Packets: 100, Bytes: &octets},
		{Name: "port_rx", Index: 2, Bytes: &none},
	}, f.reach(sw)
}

func (f *fakeController) Readiness() []Check {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.syncing {
		return []Check{{Name: "bgp-ls", Message: "no End-of-RIB from 127.0.0.1 yet"}, {Name: "switch/n1", OK: true}}
	}
	return []Check{{Name: "bgp-ls", OK: true}, {Name: "switch/n1", OK: true}, {Name: "switch/n6", OK: true}}
}

// newTestServer returns a server over a fake controller.
func newTestServer(t *testing.T, change ...func(*Config)) (*Server, *fakeController, *Events) {
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
