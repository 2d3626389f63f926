package northboundtest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/discovery"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// Began is when everything happened in the fake network.
var Began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Controller keeps groups under the rules of package api, and programs
// nothing. Its switches are n6 and n1, and n9, which is not programmed; its
// hosts 2001:db8:5::1 (s1, at n6) and 2001:db8:1::1 and ::2 (r1 and r2, at n1).
// Whoever embeds it says what the state of groups and the entries of tables are.
type Controller struct {
	*lossless
	*ports
	// Snapshot is the topology.
	Snapshot *topology.Snapshot
	// Planned, when not nil, gives the status to a group that has been put.
	Planned func(g *api.MulticastGroup, created bool)
	// BeforePut, when not nil, is called before a group is put.
	BeforePut func()
	// Fail is what Groups and Switches return, nil for no error.
	Fail error

	// Mu guards the fields below it while a server runs.
	Mu      sync.Mutex
	Kept    map[string]api.MulticastGroup
	Version uint64
	Down    map[string]bool // switches that do not answer
	Strays  []api.Orphan
}

// NewController returns a controller that has no groups.
func NewController(s *topology.Snapshot) *Controller {
	return &Controller{lossless: newLossless(), ports: newPorts(), Snapshot: s, Kept: make(map[string]api.MulticastGroup), Down: make(map[string]bool)}
}

// Groups returns the multicast groups.
func (f *Controller) Groups() resource.Handle[api.MulticastGroupSpec, api.MulticastGroup] {
	return f.GroupKind()
}

// GroupKind is Groups, to replace functions of.
func (f *Controller) GroupKind() *Kind[api.MulticastGroupSpec, api.MulticastGroup] {
	return &Kind[api.MulticastGroupSpec, api.MulticastGroup]{All: f.listGroups, One: f.group, Write: f.putGroup, Remove: f.deleteGroup}
}

// Topology returns Snapshot.
func (f *Controller) Topology() *topology.Snapshot { return f.Snapshot }

// Inventory returns the hosts, and that link 2 of n6 is at its port 7.
func (f *Controller) Inventory() *inventory.Inventory {
	inv, addr := inventory.Default(), netip.MustParseAddr
	inv.Switches = []inventory.Switch{{Name: "n6", Ports: map[uint32]uint32{2: 7}}, {Name: "n1"}, {Name: "n9"}}
	inv.Hosts = []inventory.Host{
		{Name: "r1", Address: addr("2001:db8:1::1"), Switch: "n1", Port: 11},
		{Name: "r2", Address: addr("2001:db8:1::2"), Switch: "n1", Ports: []uint32{12, 13}},
		{Name: "s1", Address: addr("2001:db8:5::1"), Switch: "n6", Port: 11},
	}
	return &inv
}

func (f *Controller) env(except string) api.GroupEnv {
	host := func(a netip.Addr) (string, bool) {
		h := f.Inventory().Host(a)
		if h == nil {
			return "", false
		}
		return h.Name, true
	}
	return api.GroupEnv{
		Limits: api.StandardGroupLimits(), Host: host,
		Taken: func(a netip.Addr) (string, bool) {
			name, ok := host(a)
			return "the address of host " + name, ok
		},
		OtherGroup: func(a netip.Addr) (string, bool) {
			for _, g := range f.Kept {
				if g.Name != except && g.Spec.ProxyAddress == a {
					return g.Name, true
				}
			}
			return "", false
		},
		OtherPair: func(api.QueuePair) (string, bool) { return "", false },
	}
}

func (f *Controller) listGroups(context.Context) ([]api.MulticastGroup, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Fail != nil {
		return nil, f.Fail
	}
	return slices.SortedFunc(maps.Values(f.Kept), func(a, b api.MulticastGroup) int {
		return natural.Compare(a.Name, b.Name)
	}), nil
}

func (f *Controller) group(_ context.Context, name string) (api.MulticastGroup, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.find(name, resource.Precondition{})
}

// find returns a group that exists and meets a precondition. f.Mu is held.
func (f *Controller) find(name string, pre resource.Precondition) (api.MulticastGroup, error) {
	g := f.Kept[name]
	return g, pre.CheckExisting(fmt.Sprintf("multicast group %q", name), g.Version)
}

func (f *Controller) putGroup(_ context.Context, name string, spec api.MulticastGroupSpec, pre resource.Precondition) (api.MulticastGroup, bool, error) {
	if f.BeforePut != nil {
		f.BeforePut()
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	g, known := f.Kept[name]
	created := !known
	err := pre.Check(fmt.Sprintf("multicast group %q", name), g.Version)
	if err == nil && created {
		err = api.ValidateName(name)
	}
	if err != nil {
		return g, false, err
	}
	spec = api.StandardGroupDefaults().Complete(spec)
	if err := api.ValidateGroup(&spec, f.env(name)); err != nil {
		return g, false, err
	}
	if !created && spec.Equal(&g.Spec) {
		return g, false, nil
	}
	f.Version++
	if created {
		g = api.MulticastGroup{Name: name, Created: Began, Status: api.MulticastGroupStatus{Index: 1, Epoch: 7, Limits: api.StandardGroupLimits()}}
	}
	g.Spec, g.Version, g.Status.ObservedVersion = spec, f.Version, f.Version
	if f.Planned != nil {
		f.Planned(&g, created)
	}
	if pre.Trial != nil {
		f.Version--
		pre.Trial.Changes = []api.SwitchChange{{Switch: "n1", Updates: []api.EntityUpdate{
			{Type: "insert", Entity: "mt_group/group=1 -> set_group_state(epoch=7)"}, {Type: "delete", Entity: "multicast/64"},
		}}}
		return g, created, nil
	}
	f.Kept[name] = g
	return g, created, nil
}

func (f *Controller) deleteGroup(_ context.Context, name string, pre resource.Precondition) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	_, err := f.find(name, pre)
	if err == nil && pre.Trial != nil {
		pre.Trial.Changes = []api.SwitchChange{{Switch: "n1", Updates: []api.EntityUpdate{{Type: "delete", Entity: "mt_group/group=1"}}}}
	} else if err == nil {
		delete(f.Kept, name)
	}
	return err
}

// ResetGroup gives a group the next epoch.
func (f *Controller) ResetGroup(_ context.Context, name string, pre resource.Precondition) (api.MulticastGroup, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	g, err := f.find(name, pre)
	if err == nil {
		g.Status.Epoch++
		f.Kept[name] = g
	}
	return g, err
}

// Switches returns the switches.
func (f *Controller) Switches(context.Context) ([]api.SwitchStatus, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	out := []api.SwitchStatus{
		{Name: "n6", Node: "64512:10.0.0.6", Address: "127.0.0.1:9556", DeviceID: 6, Managed: true, Connected: true, Since: Began, Entries: 40, Synced: true,
			Ports: &api.SwitchPorts{Up: 3, Down: []uint32{4}}},
		{Name: "n1", Node: "64512:10.0.0.1", Address: "127.0.0.1:9551", DeviceID: 1, Managed: true, Connected: true, Since: Began, Entries: 42, Synced: true,
			Ports: &api.SwitchPorts{Error: "gNMI: rpc error: code = Unimplemented desc = unknown service gnmi.gNMI"}},
		{Name: "n9"},
	}
	for i := range out {
		if f.Down[out[i].Name] {
			out[i].Connected, out[i].Synced, out[i].Reason, out[i].Pending = false, false, "connection refused", 3
			out[i].Errors = []string{"insert ecmp/group=1: table is full"}
		}
	}
	return out, f.Fail
}

// Reach returns the error of asking a switch something, if there is one.
func (f *Controller) Reach(sw string) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	switch {
	case sw != "n1" && sw != "n6":
		return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("there is no switch %q", sw)}
	case f.Down[sw]:
		return &api.Error{Code: api.CodeUnavailable, Message: sw + " is not connected"}
	}
	return nil
}

// NoTable is the error of asking for a table that there is not.
func NoTable(sw, table string) error {
	return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("%s has no table %q", sw, table)}
}

// Tables returns two tables.
func (f *Controller) Tables(_ context.Context, sw string) ([]api.Table, error) {
	return []api.Table{
		{Name: "node", Size: 1, Fields: []string{}, Actions: []string{"set_node"}},
		{Name: "ipv6_route", Size: 4096, Fields: []string{"vrf", "dst_addr"}, Actions: []string{"forward", "drop_no_route"}},
	}, f.Reach(sw)
}

// CounterNames returns the names of three counters.
func (f *Controller) CounterNames(_ context.Context, sw string) ([]string, error) {
	return []string{"ingress_drops", "port_rx", "port_tx"}, f.Reach(sw)
}

// DiscoveryCounts returns some frames of each kind.
func (f *Controller) DiscoveryCounts(context.Context) (n discovery.Counts, ok bool, err error) {
	return discovery.Counts{Sent: 50, Accepted: 40, Foreign: 3, Forged: 2, Repeated: 1}, true, nil
}

// Counters returns three cells.
func (f *Controller) Counters(_ context.Context, sw string) ([]api.Counter, error) {
	return []api.Counter{
		{Counter: "port_rx", Index: 1, Name: "1", Packets: 100, Octets: 6400},
		{Counter: "ingress_drops", Index: 2, Name: "BAD_ICRC", Packets: 1},
		{Counter: "ingress_drops", Index: 1, Name: "NO_ROUTE", Packets: 5},
	}, f.Reach(sw)
}
