package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan/plantest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// edgeOf is what a switch holds for the edge of the domain.
type edgeOf struct {
	facing  map[uint64]bool // ports, true for those to hosts
	space   map[netip.Prefix]string
	allowed []usidRule
}

type usidRule struct {
	port uint64
	src  netip.Addr
	dst  netip.Prefix
}

func lpm(t *testing.T, e entry.Table) netip.Prefix {
	t.Helper()
	m, ok := e.Field("dst_addr")
	a, isAddr := m.Value.Addr6()
	if !ok || !isAddr {
		t.Fatalf("no dst_addr in %v", e)
	}
	return netip.PrefixFrom(a, m.Bits)
}

// edge reads the entries of a switch. The pipeline must take each entry, and no entry may appear
// twice.
func edge(t *testing.T, entities []entry.Entity) edgeOf {
	t.Helper()
	out := edgeOf{facing: map[uint64]bool{}, space: map[netip.Prefix]string{}}
	c, seen := plantest.Schema(t), map[string]bool{}
	for _, e := range entities {
		if _, err := c.Encode(e); err != nil {
			t.Errorf("%v: %v", e, err)
		}
		if k := string(e.Key()); seen[k] {
			t.Errorf("twice: %v", e)
		} else {
			seen[k] = true
		}
		table, ok := e.(entry.Table)
		if !ok {
			continue
		}
		port := func() uint64 {
			m, _ := table.Field("port")
			n, _ := m.Value.Uint64()
			return n
		}
		switch table.Name {
		case p4.TablePort:
			n, _ := table.Action.Arg("host_facing").Uint64()
			out.facing[port()] = n == 1
		case p4.TableSidSpace:
			out.space[lpm(t, table)] = table.Action.Name
		case p4.TableSidAllowed:
			src, _ := table.Field("src_addr")
			a, _ := src.Value.Addr6()
			out.allowed = append(out.allowed, usidRule{port(), a, lpm(t, table)})
		}
	}
	return out
}

// isSID is the switch's lookup in sid_space.
func (e edgeOf) isSID(a netip.Addr) bool {
	best, action := -1, ""
	for p, what := range e.space {
		if p.Contains(a) && p.Bits() > best {
			best, action = p.Bits(), what
		}
	}
	return action == p4.ActionSidOfDomain
}

func (e edgeOf) mayUse(port uint64, src, dst netip.Addr) bool {
	for _, r := range e.allowed {
		if r.port == port && r.src == src && r.dst.Contains(dst) {
			return true
		}
	}
	return false
}

// TestHostsReachNoSID: every switch knows all SIDs of the domain, also where there are no tenants:
// those of nodes and links, whether in a locator or not, with the structure of SIDs and without, of
// groups and of tenants. Hosts are no SIDs, even those in a locator.
func TestHostsReachNoSID(t *testing.T) {
	net := sample.Figure1()
	inLocator := net.Locator("n4").Addr().Next()
	net.Inventory.Hosts = append(net.Inventory.Hosts, inventory.Host{
		Name: "inside", Address: inLocator, MAC: inventory.MAC{2, 1, 1, 1, 1, 1}, Switch: "n4", Port: 300,
		Prefixes: []netip.Prefix{netip.MustParsePrefix("fc00:0:4:ff00::/64")},
	})
	net.Inventory.Switch("n5").HostPorts = []uint32{1} // where a link is advertised, too
	lone, plain := netip.MustParseAddr("2001:db8:5::1"), netip.MustParsePrefix("fc01:2::/48")
	net.Topology.SetNode(topology.Node{
		ID: "lone", Locators: []topology.Locator{{Prefix: plain}},
		SIDs: []topology.SID{{Address: lone, Behavior: topology.BehaviorEnd}},
	})
	n := network(net)
	sids := []netip.Addr{lone, plain.Addr()}
	for _, node := range n.Snapshot.Nodes {
		for turn := range uint32(3) {
			if s, err := TreeSID(node, n.Inventory.SIDs.FunctionBase, 1, turn); err == nil {
				sids = append(sids, s)
			}
		}
		for _, s := range node.SIDs {
			sids = append(sids, s.Address)
		}
		if s, err := n.ServiceSID(node, 7); err == nil {
			sids = append(sids, s)
		}
	}
	for _, l := range n.Snapshot.Links {
		for _, s := range l.EndX {
			sids = append(sids, s.Address)
		}
	}
	for i := range n.Inventory.Switches {
		sw := &n.Inventory.Switches[i]
		e := edge(t, n.Base(sw))
		for _, a := range sids {
			if !e.isSID(a) {
				t.Errorf("%s: hosts may send to SID %v", sw.Name, a)
			}
		}
		for _, h := range n.Inventory.Hosts {
			if e.isSID(h.Address) || len(h.Prefixes) > 0 && e.isSID(h.Prefixes[0].Addr().Next()) {
				t.Errorf("%s: host %s counts as a SID", sw.Name, h.Name)
			}
		}
		for port, facing := range e.facing {
			if want := port > 100 || sw.Name == "n5" && port == 1; facing != want {
				t.Errorf("%s: port %d faces a host: %v, want %v", sw.Name, port, facing, want)
			}
		}
		if len(e.allowed) > 0 {
			t.Errorf("%s: without MRC hosts may use %v", sw.Name, e.allowed)
		}
	}
	for _, a := range []netip.Addr{lone, plain.Addr().Next(), netip.MustParseAddr("fc00:0:eeee::1")} {
		if use, taken := n.Taken(a); !taken {
			t.Errorf("%v could be a proxy address (%q)", a, use)
		}
	}
}

// TestTunnelledAnswersComeFromSwitches: a non-adjacent child may answer on every port that does not
// face hosts.
func TestTunnelledAnswersComeFromSwitches(t *testing.T) {
	net := sample.New().Switches("a", "c").Router("x").Links([2]string{"a", "x"}, [2]string{"x", "c"},
		[2]string{"a", "c"}).Hosts("a", "s").Hosts("c", "rc")
	net.Inventory.Switch("a").HostPorts = []uint32{2}
	n := network(net)
	if got := n.FabricPorts(n.switches["a"]); len(got) != 1 || got[0] != 1 {
		t.Errorf("ports to switches are %v, want port 1 alone: port 2 is given to hosts", got)
	}
}

// TestOwnUSIDs: in every mode of SRv6 each MRC host may start with the first uSID of all of its own
// leaf's paths, from its own port and address, and with no other leaf's.
func TestOwnUSIDs(t *testing.T) {
	for _, f := range []ev.Format{
		{Mode: ev.ModeF3216}, {Mode: ev.ModeF1616}, {Mode: ev.ModeSRH},
		{Mode: ev.ModeF3216, Hops: ev.HopNodes}, {Mode: ev.ModeSRH, Hops: ev.HopNodes},
		{Mode: ev.ModeUSIDStructured},
		{Mode: ev.ModeF3216, Block: netip.MustParsePrefix("5f00:9::/32")}, {Mode: ev.ModeStructured},
	} {
		net := sample.Clos(3, 2, 2)
		n := network(net)
		clos, leaves := closOf(t, n)
		a, err := ev.Assign(clos, f, ev.Numbers{})
		if err != nil {
			t.Fatal(err)
		}
		first := func(leaf topology.NodeID) (out []netip.Addr) {
			if !f.Mode.SRv6() {
				return nil
			}
			paths := [][]*topology.Link{nil}
			for _, up := range clos.Up(leaf) {
				for _, down := range clos.Down(up.Remote) {
					paths = append(paths, []*topology.Link{up, down})
				}
			}
			for _, links := range paths {
				v, err := a.Encode(leaf, links, ev.TableUSID)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, netip.AddrFrom16([16]byte(v[:16])))
			}
			return out
		}
		for i := range n.Inventory.Switches {
			sw := &n.Inventory.Switches[i]
			e := edge(t, append(n.Links(sw), n.EVs(sw, a)...))
			leaf := strings.HasPrefix(sw.Name, "leaf")
			if !leaf || !f.Mode.SRv6() {
				if len(e.allowed) > 0 {
					t.Errorf("%+v: %s: hosts may use %v", f, sw.Name, e.allowed)
				}
				continue
			}
			if len(e.allowed) == 0 || len(e.allowed) > 2*2 {
				t.Errorf("%+v: %s: %d rules for 2 hosts", f, sw.Name, len(e.allowed))
			}
			if !e.isSID(a.Format().Block.Addr().Next()) {
				t.Errorf("%+v: %s: hosts may send to the block", f, sw.Name)
			}
			for _, other := range leaves {
				for _, dst := range first(other) {
					own := other == n.nodes[sw.Name].ID
					for _, h := range n.hostsOf[sw.Name] {
						port := uint64(h.Ports[0])
						// Links of all leaves have the same local uSIDs; leaves have a uSID each.
						if allowed := e.mayUse(port, h.Address, dst); own && !allowed || !own && allowed &&
							f.Hops == ev.HopNodes {
							t.Errorf("%+v: %s: %s may use %v of %s: %v", f, sw.Name, h.Name, dst, n.at[other].Name,
								allowed)
						}
						if e.mayUse(port+1, h.Address, dst) || e.mayUse(port, h.Address.Next().Next().Next(), dst) {
							t.Errorf("%+v: %s: %v is allowed on another port or from another address", f, sw.Name, dst)
						}
					}
				}
			}
		}
	}
}

// closOf returns the Clos of a network and its leaves: the switches named "leaf…".
func closOf(t *testing.T, n *Network) (clos *topology.Clos, leaves []topology.NodeID) {
	t.Helper()
	for _, node := range n.Snapshot.Nodes {
		if strings.HasPrefix(n.at[node.ID].Name, "leaf") {
			leaves = append(leaves, node.ID)
		}
	}
	clos, err := n.Snapshot.Graph().Clos(topology.ClosRequest{Leaves: leaves})
	if err != nil {
		t.Fatal(err)
	}
	return clos, leaves
}
