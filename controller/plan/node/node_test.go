package node

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/plan/plantest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// fabric sees a fabric in a network.
func fabric(t testing.TB, n *sample.Net, f ev.Format) Fabric {
	t.Helper()
	n.Inventory.MRC = inventory.DefaultMRC(f.Mode.String())
	if f.Hops == ev.HopNodes {
		n.Inventory.MRC.Hops = "nodes"
	}
	net := plan.NewNetwork(n.Topology.Build(), &n.Inventory)
	var leaves []topology.NodeID
	for i := range n.Inventory.Hosts {
		leaves = append(leaves, net.Node(n.Inventory.Hosts[i].Switch).ID)
	}
	clos, err := net.Graph().Clos(topology.ClosRequest{Leaves: leaves})
	if err != nil {
		t.Fatal(err)
	}
	a, err := ev.Assign(clos, f, ev.Numbers{})
	if err != nil {
		t.Fatal(err)
	}
	return Fabric{Network: net, Assignment: a}
}

func models(f Fabric) map[string]api.SwitchModel {
	out := make(map[string]api.SwitchModel)
	for i := range f.Network.Inventory.Switches {
		m := Of(f, &f.Network.Inventory.Switches[i], nil)
		out[m.Name] = m
	}
	return out
}

var formats = []ev.Format{
	{Mode: ev.ModeF3216}, {Mode: ev.ModeF3216, Hops: ev.HopNodes},
	{Mode: ev.ModeF1616}, {Mode: ev.ModeF1616, Hops: ev.HopNodes}, {Mode: ev.ModeUSIDStructured},
}

// TestModels: what a leaf and a spine are, in fabrics of all kinds. The files are what the tests of
// package target make configurations of.
func TestModels(t *testing.T) {
	mtu, off, description := uint32(9216), false, `rack 7, "left"`
	settings := func(port uint32) api.PortSpec {
		switch port {
		case 1:
			return api.PortSpec{MTU: &mtu, Description: &description}
		case 2:
			return api.PortSpec{Enabled: &off}
		}
		return api.PortSpec{}
	}
	for name, f := range map[string]ev.Format{
		"links": {Mode: ev.ModeF3216}, "nodes": {Mode: ev.ModeF3216, Hops: ev.HopNodes},
		"ecmp": {Mode: ev.ModeECMP}, "stev": {Mode: ev.ModeStructured}, "srh": {Mode: ev.ModeSRH},
		"structured": {Mode: ev.ModeUSIDStructured},
	} {
		n := sample.Clos(2, 2, 1)
		n.Inventory.Hosts[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("2001:db8:7::/64")}
		n.LinkPorts("leaf1", 9, "spine2", 9, 1) // a parallel link
		of := fabric(t, n, f)
		for _, sw := range []string{"leaf1", "spine2"} {
			m := Of(of, n.Inventory.Switch(sw), settings)
			text, err := json.MarshalIndent(m, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			plantest.Golden(t, name+"-"+sw+".json", string(text)+"\n")
		}
	}
}

// TestModelsForward: by models alone, without any table of the P4 program, every EV of every pair
// of leaves leads over the links that it names, and ends at the leaf where it should.
func TestModelsForward(t *testing.T) {
	nets := map[string]func() *sample.Net{
		"clos": func() *sample.Net {
			n := sample.Clos(3, 2, 1)
			n.LinkPorts("leaf2", 9, "spine1", 9, 1)
			return n
		},
		"fat tree": func() *sample.Net { return sample.FatTree(2, 2, 2, 4, 1) },
	}
	for name, net := range nets {
		for _, format := range formats {
			f := fabric(t, net(), format)
			all := models(f)
			walked := 0
			for set := range f.Assignment.Clos().Pairs() {
				enc, err := f.Assignment.Encoder(set)
				if err != nil {
					t.Fatal(err)
				}
				for ref := range set.All() {
					walked++
					w := walk{f: f, models: all, address: enc.Value(ref).Container()}
					end, links, err := w.from(nameOf(f, set.Source().ID))
					if err != nil || end != nameOf(f, set.Destination().ID) {
						t.Fatalf("%s, %v: %s to %s by %v: at %s, %v", name, format, set.Source().ID,
							set.Destination().ID, w.address, end, err)
					}
					want := set.Links(ref)
					if f.Assignment.Format().Hops == ev.HopLinks && !slices.Equal(links, ports(want)) {
						t.Fatalf("%s, %v: by ports %v, want %v", name, format, links, ports(want))
					}
					if len(links) != len(want) {
						t.Fatalf("%s, %v: %d links, want %d", name, format, len(links), len(want))
					}
				}
			}
			if walked < 6 {
				t.Errorf("%s, %v: %d paths", name, format, walked)
			}
		}
	}
}

func nameOf(f Fabric, id topology.NodeID) string { name, _ := f.Network.SwitchOf(id); return name }

func ports(links []*topology.Link) (out []uint32) {
	for _, l := range links {
		out = append(out, l.LocalPort)
	}
	return out
}

// walk takes a packet through models.
type walk struct {
	f       Fabric
	models  map[string]api.SwitchModel
	address netip.Addr
}

// from returns the switch that ends the tunnel, and the ports that the packet left switches by.
func (w *walk) from(sw string) (end string, out []uint32, err error) {
	for range 20 {
		m := w.models[sw]
		sid := longest(m.SIDs, func(s *api.ModelSID) netip.Prefix { return s.Prefix }, w.address)
		if sid != nil && sid.Behavior == api.BehaviorUDT6 {
			return sw, out, nil
		}
		var hop api.ModelHop
		switch {
		case sid != nil && sid.Behavior == api.BehaviorUA:
			w.shift(m.Locator.BlockBits)
			hop = *sid.Hop
		default:
			if sid != nil {
				w.shift(m.Locator.BlockBits)
			}
			r := longest(m.Routes, func(r *api.ModelRoute) netip.Prefix { return r.Prefix }, w.address)
			if r == nil {
				return sw, out, fmt.Errorf("%s has no route to %v", sw, w.address)
			}
			hop = r.Hops[0]
		}
		out = append(out, hop.Port)
		i := slices.IndexFunc(m.Ports, func(p api.ModelPort) bool { return p.Port == hop.Port })
		peer := m.Ports[i].Peers[0]
		remote := w.f.Network.Switch(peer)
		want := fmt.Sprintf("fe80::ff:fe00:%x", uint16(remote.MAC[4])<<8|uint16(remote.MAC[5]))
		if hop.Address.String() != want {
			return sw, out, fmt.Errorf("%s: next hop %v, want %s", sw, hop.Address, want)
		}
		sw = peer
	}
	return sw, out, fmt.Errorf("a loop")
}

// shift takes the active uSID away (RFC 9800, section 4.1.1).
func (w *walk) shift(block int) {
	a := w.address.As16()
	copy(a[block/8:], a[block/8+2:])
	binary.BigEndian.PutUint16(a[14:], 0)
	w.address = netip.AddrFrom16(a)
}

func longest[T any](all []T, of func(*T) netip.Prefix, a netip.Addr) (best *T) {
	for i := range all {
		if p := of(&all[i]); p.Contains(a) && (best == nil || p.Bits() > of(best).Bits()) {
			best = &all[i]
		}
	}
	return best
}

// TestModelsAgreeWithTables: a model's local SID is among the P4 program's SIDs, with equal
// behavior and port.
func TestModelsAgreeWithTables(t *testing.T) {
	actions := map[string]string{api.BehaviorUN: p4.ActionUn, api.BehaviorUA: p4.ActionUa,
		api.BehaviorUDT6: p4.ActionEndDt6}
	for _, format := range append(slices.Clone(formats), ev.Format{Mode: ev.ModeSRH}) {
		f := fabric(t, sample.FatTree(2, 2, 2, 2, 1), format)
		for name, m := range models(f) {
			held := make(map[netip.Prefix]entry.Table)
			for _, e := range f.Network.EVs(f.Network.Switch(name), f.Assignment) {
				if e, ok := e.(entry.Table); ok && e.Name == p4.TableLocalSid {
					dst, _ := e.Field("dst_addr")
					p, _ := dst.Value.Addr6()
					held[netip.PrefixFrom(p, dst.Bits)] = e
				}
			}
			for _, s := range m.SIDs {
				e, ok := held[s.Prefix]
				if !ok || e.Action.Name != actions[s.Behavior] {
					t.Errorf("%v: %s has %v, and the tables %v", format, name, s, e)
					continue
				}
				if s.Hop != nil {
					if port, _ := e.Action.Arg("port").Uint64(); port != uint64(s.Hop.Port) {
						t.Errorf("%v: %s: %v by port %d, tables by %d", format, name, s.Prefix, s.Hop.Port, port)
					}
				}
			}
		}
	}
}

// TestRoutesReachEverything: in mode ecmp a model has a route to every loopback but its own, with
// all shortest ways.
func TestRoutesReachEverything(t *testing.T) {
	f := fabric(t, sample.Clos(3, 4, 2), ev.Format{Mode: ev.ModeECMP})
	for name, m := range models(f) {
		for _, n := range f.Network.Snapshot.Nodes {
			own := n.ID == f.Network.Node(name).ID
			i := slices.IndexFunc(m.Routes, func(r api.ModelRoute) bool {
				return r.Prefix == netip.PrefixFrom(n.Loopback, 128)
			})
			switch {
			case own != (i < 0):
				t.Errorf("%s to %s: route %d", name, n.Name, i)
			case own:
			case m.Tier == 0 && n.Name[:4] == "leaf" && len(m.Routes[i].Hops) != 4:
				t.Errorf("%s to %s: %v, want four ways", name, n.Name, m.Routes[i].Hops)
			}
		}
	}
}

// TestLostLinksStay: what a switch is does not change when a link is lost.
func TestLostLinksStay(t *testing.T) {
	n := sample.Clos(2, 2, 1)
	before := fabric(t, n, ev.Format{Mode: ev.ModeF3216, Hops: ev.HopNodes})
	want := models(before)
	links := n.Topology.Build().Links
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	n.Topology.RemoveLink(links[rand.New(rand.NewPCG(seed, 0)).IntN(len(links))].ID)
	after := Fabric{Network: plan.NewNetwork(n.Topology.Build(), &n.Inventory),
		Assignment: before.Assignment}
	got := models(after)
	for name := range want {
		a, _ := json.Marshal(want[name])
		b, _ := json.Marshal(got[name])
		if string(a) != string(b) {
			t.Errorf("%s was\n%s\nand is\n%s", name, a, b)
		}
	}
}
