package ev

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// A model of a fabric: every switch forwards by the entries it was given and
// nothing else.
type model struct {
	switches map[topology.NodeID]*modelSwitch
	// choose stands for the hash of a switch: one of n equal hops.
	choose func(n int) int
}

type modelSwitch struct {
	Switch
	// down are the switch's routes to the leaves below it.
	down map[topology.NodeID][]*topology.Link
	// adjacent has the switch's routes to the uNs of its neighbours.
	adjacent map[uint16][]*topology.Link
}

// newModel programs the switches of an assignment's fabric.
func newModel(a *Assignment, choose func(int) int) *model {
	m := &model{switches: map[topology.NodeID]*modelSwitch{}, choose: choose}
	for _, n := range a.Clos().Nodes() {
		sw, _ := a.Switch(n.ID)
		s := &modelSwitch{Switch: sw, down: map[topology.NodeID][]*topology.Link{},
			adjacent: map[uint16][]*topology.Link{}}
		for _, l := range append(a.Clos().Up(n.ID), a.Clos().Down(n.ID)...) {
			if usid, ok := a.Node(l.Remote); ok {
				s.adjacent[usid] = append(s.adjacent[usid], l)
			}
		}
		m.switches[n.ID] = s
	}
	// Routes to the leaves below, by relaxing distances.
	for _, leaf := range a.Clos().Leaves() {
		distance := map[topology.NodeID]int{leaf.ID: 0}
		for range a.Clos().Tiers() {
			for id := range m.switches {
				for _, l := range a.Clos().Down(id) {
					if d, ok := distance[l.Remote]; ok {
						if old, known := distance[id]; !known || d+1 < old {
							distance[id] = d + 1
						}
					}
				}
			}
		}
		for id, d := range distance {
			for _, l := range a.Clos().Down(id) {
				if r, ok := distance[l.Remote]; ok && r == d-1 {
					m.switches[id].down[leaf.ID] = append(m.switches[id].down[leaf.ID], l)
				}
			}
		}
	}
	return m
}

// sendStructured takes a packet to a leaf: down by route where the leaf is
// below, up by the switch's own field elsewhere.
func (m *model) sendStructured(src, dst topology.NodeID, v packet.EV) ([]*topology.Link, error) {
	var ascent []*topology.Link
	for at := src; at != dst; {
		s := m.switches[at]
		var next *topology.Link
		if down := s.down[dst]; len(down) > 0 {
			next = down[m.choose(len(down))]
		} else if s.HasField {
			for _, f := range s.Up {
				if f.Value == v.Field(s.Field) {
					next = f.Link
				}
			}
		}
		if next == nil {
			return nil, fmt.Errorf("%s drops EV %#08x to %s", at, uint32(v), dst)
		}
		ascent = append(ascent, next)
		at = next.Remote
	}
	return ascent, nil
}

// sendUSID takes a packet by its containers, until a uSID takes off its outer
// headers, or a leaf's port to a host is reached; last is that uSID.
func (m *model) sendUSID(
	src topology.NodeID, f packet.USIDFormat, v Value,
) (ascent []*topology.Link, at topology.NodeID, last uint16, err error) {
	ip := &packet.IPv6{Dst: v.Container(), HopLimit: 64, NextHeader: packet.NextHeaderIPv6}
	var srh *packet.SRH
	if segment, ok := v.Segment(); ok {
		ip.NextHeader = packet.NextHeaderRouting
		h, err := packet.NewReducedSRH(packet.NextHeaderIPv6, []netip.Addr{v.Container(), segment}, nil)
		if err != nil {
			return nil, "", 0, err
		}
		srh = &h
		if srh.LastEntry != 0 || srh.SegmentsLeft != 1 {
			return nil, "", 0, fmt.Errorf("reduced SRH: Last Entry %d, SL %d, want 0, 1", srh.LastEntry,
				srh.SegmentsLeft)
		}
	}
	for at = src; ; {
		s := m.switches[at]
		active := f.Active(ip.Dst)
		var own *LocalUSID
		for i := range s.USIDs {
			if s.USIDs[i].USID == active && s.USIDs[i].SID.Contains(ip.Dst) {
				own = &s.USIDs[i]
			}
		}
		if own == nil {
			if next := s.adjacent[active]; len(next) > 0 {
				l := next[m.choose(len(next))]
				ascent, at = append(ascent, l), l.Remote
				continue
			}
			return ascent, at, active, nil
		}
		switch outcome := f.Process(own.Behavior, ip, srh); {
		case outcome == packet.SIDDecapsulate:
			return ascent, at, active, nil
		case outcome != packet.SIDForward:
			return ascent, at, active, fmt.Errorf("%s: %v of uSID %#04x: outcome %d", at, own.Behavior,
				active, outcome)
		case own.Behavior == packet.UA:
			ascent, at = append(ascent, own.Link), own.Link.Remote
		}
	}
}

// checkWalk sends an EV through the model and compares its path with Decode's.
func checkWalk(
	t *testing.T, a *Assignment, m *model, p topology.PathSet, ref topology.PathRef, v Value,
) {
	t.Helper()
	src, dst := p.Source().ID, p.Destination().ID
	var ascent []*topology.Link
	var err error
	if a.Format().Mode == ModeStructured {
		ascent, err = m.sendStructured(src, dst, v.Structured())
	} else {
		var at topology.NodeID
		var last uint16
		ascent, at, last, err = m.sendUSID(src, a.Format().Mode.USID(), v)
		if err == nil && (at != dst || last != TableUSID) {
			err = fmt.Errorf("at %s with uSID %#04x", at, last)
		}
	}
	if err != nil {
		t.Fatalf("%v from %s to %s: %v", v, src, dst, err)
	}
	route, err := a.Decode(src, dst, v)
	if err != nil {
		t.Fatal(err)
	}
	path := p.Links(ref)
	if len(ascent) != len(path) || len(route.Hops) != len(path) {
		t.Fatalf("%v from %s to %s: %d links, Decode says %d, the path has %d", v, src, dst, len(ascent),
			len(route.Hops), len(path))
	}
	for i, hop := range route.Hops {
		if !slices.Contains(hop.Links, ascent[i]) {
			t.Fatalf("%v from %s to %s: link %d is %s, Decode says %v", v, src, dst, i, ascent[i].ID,
				linkIDs(hop.Links))
		}
		if !slices.Contains(hop.Links, path[i]) {
			t.Fatalf("%v from %s to %s: link %d of the path is %s, Decode says %v", v, src, dst, i,
				path[i].ID, linkIDs(hop.Links))
		}
		exact := hop.By == ByField || hop.By == ByAdjacent
		if exact && len(hop.Links) != 1 {
			t.Fatalf("%v from %s to %s: %v %d leads over %v", v, src, dst, hop.By, hop.Value,
				linkIDs(hop.Links))
		}
	}
}

var allFormats = []Format{
	{Mode: ModeStructured},
	{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 22, Width: 10}, {Offset: 3, Width: 8}}},
	{Mode: ModeF3216}, {Mode: ModeF1616}, {Mode: ModeSRH},
	{Mode: ModeF3216, Hops: HopNodes, Block: block32}, {Mode: ModeF1616, Hops: HopNodes},
	{Mode: ModeSRH, Hops: HopNodes},
	{Mode: ModeUSIDStructured},
}

// Every path of random fabrics, in every mode: the value of the path takes a
// packet through switches that know their own entries only, by the links that
// Decode names, to the leaf.
func TestWalkRandomFabrics(t *testing.T) {
	paths := 0
	for _, seed := range seeds(t, 60) {
		r := rand.New(rand.NewPCG(seed, 0))
		f := randomFabric(r)
		c := f.clos(t)
		for _, format := range allFormats {
			rule := NumberRule(r.IntN(2))
			a, err := Assign(c, format, Numbers{Rule: rule})
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, format, err)
			}
			m := newModel(a, r.IntN)
			for p := range c.Pairs() {
				enc, err := a.Encoder(p)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for ref := range p.All() {
					v := enc.Value(ref)
					slow, err := a.Encode(p.Source().ID, p.Links(ref), TableUSID)
					if err != nil || slow != v {
						t.Fatalf("seed %d, %+v: Encode %v, %v; Encoder %v", seed, format, slow, err, v)
					}
					checkWalk(t, a, m, p, ref, v)
					paths++
				}
			}
			for _, leaf := range c.Leaves() {
				p, err := c.Paths(leaf.ID, leaf.ID, c.Plane(leaf.ID))
				if err != nil {
					t.Fatal(err)
				}
				enc, err := a.Encoder(p)
				if err != nil {
					t.Fatal(err)
				}
				checkWalk(t, a, m, p, topology.ToItself, enc.Value(topology.ToItself))
			}
		}
	}
	if paths < 1000 {
		t.Errorf("%d paths only", paths)
	}
}

// TestUnevenPaths: a path that goes down by fewer links than up, since a leaf hangs off a switch of
// tier 2, has the value that its links encode, and leads to the leaf.
func TestUnevenPaths(t *testing.T) {
	f := newFabric()
	high, low, spine, core := f.leaf("high"), f.leaf("low"), f.add("spine"), f.add("core")
	f.connect(low, spine)
	f.connect(spine, core)
	f.connect(high, core)
	c, err := f.Build().Graph().Clos(topology.ClosRequest{Leaves: f.leaves, MaxTiers: 3,
		Tiers: map[topology.NodeID]int{spine: 1, core: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range allFormats {
		a := assign(t, c, format)
		m := newModel(a, func(int) int { return 0 })
		paths := 0
		for p := range c.Pairs() {
			enc, err := a.Encoder(p)
			if err != nil {
				t.Fatalf("%+v: %v", format, err)
			}
			for ref := range p.All() {
				v := enc.Value(ref)
				want, err := a.Encode(p.Source().ID, p.Links(ref), TableUSID)
				if err != nil || v != want || p.Even() || p.Hops() != 3 {
					t.Errorf("%+v: %v, want %v, %v; even %v, %d hops", format, v, want, err, p.Even(), p.Hops())
				}
				checkWalk(t, a, m, p, ref, v)
				paths++
			}
		}
		if paths != 2 {
			t.Errorf("%+v: %d paths, want one each way", format, paths)
		}
	}
}
