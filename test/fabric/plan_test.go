package fabric

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/packet"
	planned "github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// planHostPort is where the host of a leaf is.
const planHostPort = 60

// plannedNet is a three-tier Clos whose switches hold the controller's plan: two pods with two
// leaves and two upper switches each, and two links to each core.
type plannedNet struct {
	net      *plan.Network
	clos     *topology.Clos
	leaves   []topology.NodeID
	switches map[topology.NodeID]*embedded
	linkAt   map[topology.NodeID]map[uint32]*topology.Link // by port
}

func newPlanned(t *testing.T) *plannedNet {
	t.Helper()
	b, inv := topology.NewBuilder(), inventory.Default()
	p := &plannedNet{switches: map[topology.NodeID]*embedded{},
		linkAt: map[topology.NodeID]map[uint32]*topology.Link{}}
	used := map[topology.NodeID]uint32{}
	add := func(format string, args ...any) topology.NodeID {
		id := topology.NodeID(fmt.Sprintf(format, args...))
		n := len(inv.Switches) + 1
		b.SetNode(topology.Node{ID: id, Name: string(id), Loopback: addr(fmt.Sprintf("2001:db8::%x", n))})
		inv.Switches = append(inv.Switches, inventory.Switch{Name: string(id), Address: "192.0.2.1:9559",
			MAC: inventory.MAC{2, 0, 0, 0, 1, byte(n)}})
		return id
	}
	join := func(x, y topology.NodeID) {
		used[x]++
		used[y]++
		b.SetLink(topology.Link{Local: x, Remote: y, LocalID: used[x], RemoteID: used[y],
			LocalPort: used[x], RemotePort: used[y], IGPMetric: 10})
		b.SetLink(topology.Link{Local: y, Remote: x, LocalID: used[y], RemoteID: used[x],
			LocalPort: used[y], RemotePort: used[x], IGPMetric: 10})
	}
	var middle []topology.NodeID
	for pod := range 2 {
		first := len(middle)
		for i := range 2 {
			middle = append(middle, add("t1-%d-%d", pod, i))
		}
		for i := range 2 {
			leaf := add("t0-%d-%d", pod, i)
			p.leaves = append(p.leaves, leaf)
			for _, m := range middle[first:] {
				join(leaf, m)
			}
			inv.Hosts = append(inv.Hosts, inventory.Host{
				Name: "h" + string(leaf), Address: host(uint32(len(p.leaves))), MAC: inventory.MAC{2, 0, 0, 0,
					2, byte(len(p.leaves))}, Switch: string(leaf), Port: planHostPort,
			})
		}
	}
	for i := range 2 {
		core := add("t2-%d", i)
		for _, m := range middle {
			join(m, core)
		}
	}
	snap := b.Build()
	for _, n := range snap.Nodes {
		p.linkAt[n.ID] = map[uint32]*topology.Link{}
		for _, l := range snap.LinksFrom(n.ID) {
			p.linkAt[n.ID][l.LocalPort] = l
		}
	}
	clos, err := snap.Graph().Clos(topology.ClosRequest{Leaves: p.leaves, MaxTiers: 3})
	if err != nil {
		t.Fatal(err)
	}
	p.net, p.clos = plan.NewNetwork(snap, &inv), clos
	return p
}

// program gives every switch what the plan for an assignment has.
func (p *plannedNet) program(t *testing.T, a *ev.Assignment) {
	t.Helper()
	for i := range p.net.Inventory.Switches {
		sw := &p.net.Inventory.Switches[i]
		e := p.switches[topology.NodeID(sw.Name)]
		if e == nil {
			e = newEmbedded()
			p.switches[topology.NodeID(sw.Name)] = e
		}
		e.reset(t)
		seen := map[string]bool{}
		for _, entities := range [][]planned.Entity{
			p.net.Links(sw), p.net.EVRoutes(sw, a), p.net.EVs(sw, a),
			p.net.Classes(sw, inventory.DefaultClasses()),
		} {
			for _, x := range entities {
				name := fmt.Sprint(x.Kind(), x.Key())
				if seen[name] {
					t.Errorf("%s: planned twice: %v", sw.Name, x)
				}
				seen[name] = true
				if u := fromPlan(x); u != nil {
					e.write(t, []*p4v1.Update{u})
				}
			}
		}
	}
}

// fromPlan is a planned entity as P4Runtime writes it; multicast groups and clone sessions are left
// out.
func fromPlan(x planned.Entity) *p4v1.Update {
	octets := func(v planned.Value) []byte { return canonical([]byte(v)) }
	do := func(a planned.Action) *p4v1.Action {
		c := &p4v1.Action{}
		for _, action := range info.GetActions() {
			if action.GetPreamble().GetAlias() != a.Name {
				continue
			}
			c.ActionId = action.GetPreamble().GetId()
			for _, p := range action.GetParams() {
				i := slices.IndexFunc(a.Params, func(q planned.Param) bool { return q.Name == p.GetName() })
				c.Params = append(c.Params, &p4v1.Action_Param{ParamId: p.GetId(),
					Value: octets(a.Params[i].Value)})
			}
		}
		return c
	}
	u := &p4v1.Update{Type: p4v1.Update_INSERT}
	switch x := x.(type) {
	case planned.Table:
		t := tableNamed(x.Name)
		e := &p4v1.TableEntry{TableId: t.GetPreamble().GetId(), IsDefaultAction: x.Default}
		for _, f := range t.GetMatchFields() {
			for _, m := range x.Match {
				switch {
				case m.Field != f.GetName():
				case m.Bits != 0:
					e.Match = append(e.Match, &p4v1.FieldMatch{FieldId: f.GetId(),
						FieldMatchType: &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: octets(m.Value),
							PrefixLen: int32(m.Bits)}}})
				default:
					e.Match = append(e.Match, &p4v1.FieldMatch{FieldId: f.GetId(),
						FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: octets(
							m.Value)}}})
				}
			}
		}
		e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: do(x.Action)}}
		if x.Group != 0 {
			e.Action = &p4v1.TableAction{
				Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: x.Group}}
		}
		if x.Default {
			u.Type = p4v1.Update_MODIFY
		}
		u.Entity = &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}}
	case planned.Member:
		u.Entity = &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: &p4v1.ActionProfileMember{ActionProfileId: profileID(x.Profile), MemberId: x.ID, Action: do(x.Action)}}}
	case planned.Group:
		g := &p4v1.ActionProfileGroup{ActionProfileId: profileID(x.Profile), GroupId: x.ID}
		for _, m := range x.Members {
			g.Members = append(g.Members, &p4v1.ActionProfileGroup_Member{MemberId: m, Weight: 1})
		}
		u.Entity = &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: g}}
	default:
		return nil
	}
	return u
}

func profileID(name string) uint32 {
	for _, p := range info.GetActionProfiles() {
		if p.GetPreamble().GetAlias() == name {
			return p.GetPreamble().GetId()
		}
	}
	panic("no action profile " + name)
}

// walk sends a frame from the host of a leaf and returns the links it took and what reached a host.
func (p *plannedNet) walk(t *testing.T, leaf topology.NodeID,
	frame []byte) (links []topology.LinkID, at topology.NodeID, got []byte) {
	t.Helper()
	port := uint32(planHostPort)
	for range 10 {
		mac := p.net.Inventory.Switch(string(leaf)).MAC
		copy(frame, mac[:])
		out := p.switches[leaf].inject(t, wire{port, frame})
		if len(out) != 1 {
			t.Fatalf("%s: %d packets out of\n%s\n%v", leaf, len(out), dissect(wire{port, frame}),
				p.switches[leaf].device.Switch().Stats())
		}
		if out[0].port == planHostPort {
			return links, leaf, out[0].frame
		}
		l := p.linkAt[leaf][out[0].port]
		links = append(links, l.ID)
		leaf, port, frame = l.Remote, l.RemotePort, slices.Clone(out[0].frame)
	}
	t.Fatalf("loop: %v", links)
	return nil, "", nil
}

// TestPlannedEVs: in every mode, each EV for each pair of leaves takes the links named by its
// decoding, through switches programmed according to the plan, and the packet reaches the host.
func TestPlannedEVs(t *testing.T) {
	p := newPlanned(t)
	for _, f := range []ev.Format{
		{Mode: ev.ModeECMP}, {Mode: ev.ModeStructured}, {Mode: ev.ModeF3216},
		{Mode: ev.ModeF3216, Hops: ev.HopNodes}, {Mode: ev.ModeF1616}, {Mode: ev.ModeSRH},
		{Mode: ev.ModeSRH, Hops: ev.HopNodes}, {Mode: ev.ModeUSIDStructured},
	} {
		t.Run(fmt.Sprintf("%v %d", f.Mode, f.Hops), func(t *testing.T) {
			a, err := ev.Assign(p.clos, f, ev.Numbers{})
			if err != nil {
				t.Fatal(err)
			}
			p.program(t, a)
			for s, src := range p.leaves {
				for d, dst := range p.leaves {
					if s == d {
						continue
					}
					send := func(value ev.Value) ([]topology.LinkID, topology.NodeID, []byte) {
						q := mrcPacket(2, dscps.Trimmable, 16)
						q.IPv6.Src, q.IPv6.Dst = host(uint32(s+1)), host(uint32(d+1))
						switch {
						case f.Mode == ev.ModeStructured:
							q.SetEV(value.Structured())
						case f.Mode.SRv6():
							q.Encapsulated, q.Outer = true, packet.IPv6{TrafficClass: q.IPv6.TrafficClass, HopLimit: 64,
								Src: q.IPv6.Src, Dst: value.Container()}
							if segment, ok := value.Segment(); ok {
								if q.SRH, err = packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{segment},
									nil); err != nil {
									t.Fatal(err)
								}
								q.SRH.SegmentsLeft, q.Routed = 1, true
							}
						}
						return p.walk(t, src, octets(q))
					}
					if f.Mode == ev.ModeECMP {
						if _, at, _ := send(ev.Value{}); at != dst {
							t.Errorf("%s to %s: reached %s", src, dst, at)
						}
						continue
					}
					built, err := a.Build(ev.Request{Name: "p", Pair: ev.Pair{Source: ev.Attachment{src},
						Destination: ev.Attachment{dst}}, Explicit: true})
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range built.Profile.EVs {
						route, err := built.Route(e)
						if err != nil {
							t.Fatal(err)
						}
						onWire, err := built.Profile.Expand(e)
						if err != nil {
							t.Fatal(err)
						}
						links, at, frame := send(onWire.Value)
						if at != dst || len(links) != len(route.Hops) {
							t.Fatalf("%s to %s, EV %v: %v to %s, want %d hops", src, dst, e, links, at, len(route.Hops))
						}
						for i, hop := range route.Hops {
							if !slices.ContainsFunc(hop.Links, func(l *topology.Link) bool { return l.ID == links[i] }) {
								t.Errorf("%s to %s, EV %v: hop %d is %v, want one of %v", src, dst, e, i, links[i],
									hop.Links)
							}
						}
						got, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
						if err != nil || got.IPv6.Dst != host(uint32(d+1)) || got.Encapsulated {
							t.Fatalf("%s to %s, EV %v: %+v, %v", src, dst, e, got, err)
						}
						if err := packet.CheckICRC(got.Datagram); err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
}

// TestPlannedHostUSIDs: the last uSID may name the host's port, with the tunnel or without it (OCP
// MRC 1.0, section 9.3.5.1).
func TestPlannedHostUSIDs(t *testing.T) {
	p := newPlanned(t)
	for _, hops := range []ev.HopKind{ev.HopLinks, ev.HopNodes} {
		a, err := ev.Assign(p.clos, ev.Format{Mode: ev.ModeF3216, Hops: hops}, ev.Numbers{})
		if err != nil {
			t.Fatal(err)
		}
		p.program(t, a)
		src, dst := p.leaves[0], p.leaves[1]
		up := p.clos.Up(src)[0]
		down := p.linkAt[up.Remote]
		var path []*topology.Link
		for _, l := range down {
			if l.Remote == dst {
				path = []*topology.Link{up, l}
			}
		}
		for last, keeps := range map[uint16]bool{ev.KeepUSID(planHostPort): true,
			ev.DecapUSID(planHostPort): false, ev.TableUSID: false} {
			value, err := a.Encode(src, path, last)
			if err != nil {
				t.Fatal(err)
			}
			q := mrcPacket(2, dscps.Trimmable, 16)
			q.Encapsulated, q.Outer = true, packet.IPv6{TrafficClass: q.IPv6.TrafficClass, HopLimit: 64,
				Src: q.IPv6.Src, Dst: value.Container()}
			_, at, frame := p.walk(t, src, octets(q))
			got, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
			if err != nil || at != dst || got.Encapsulated != keeps {
				t.Errorf("hops %d, last uSID %#04x: reached %s, encapsulated %v, want %v (%v)", hops, last, at,
					got.Encapsulated, keeps, err)
			}
		}
	}
}
