package bgpls

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
	"github.com/weft-sdn/weft/topology/topologytest"
)

var (
	peerA, peerB = netip.MustParseAddrPort("127.0.2.1:0"), netip.MustParseAddrPort("127.0.2.2:179")
	epoch        = time.Unix(1_700_000_000, 0)
)

func received(t failer, nlri []byte) wire.Received {
	all, _, err := wire.ParseNLRIs(nlri)
	if err != nil || len(all) != 1 {
		t.Fatalf("%x: %d NLRIs, %v", nlri, len(all), err)
	}
	return all[0]
}

type failer interface {
	Fatalf(format string, args ...any)
}

func announce(t failer, nlri wire.NLRI, a *wire.Attributes) *wire.Update {
	u := &wire.Update{Reachable: []wire.Received{received(t, nlri.Append(nil))}}
	if a != nil {
		u.Attribute = a.Append([]byte{})
	}
	return u
}

func withdraw(t failer, nlri wire.NLRI) *wire.Update {
	return &wire.Update{Unreachable: []wire.Received{received(t, nlri.Append(nil))}}
}

// tell makes a peer say all of some devices.
func tell(t *testing.T, r *rib, peer peerKey, devices ...*Objects) {
	t.Helper()
	for _, o := range devices {
		all, err := o.advertisements()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			r.update(peer, &wire.Update{Reachable: []wire.Received{received(t, a.nlri)},
				Attribute: a.attribute})
		}
	}
}

func newTestRIB(peers ...peerKey) *rib {
	r := newRIB(time.Minute, nil)
	for _, p := range peers {
		r.addPeer(p, topology.Scope{}, DefaultLimits(), epoch)
		r.peerUp(p, epoch)
	}
	return r
}

func expect(t *testing.T, r *rib, what string, want *topology.Snapshot) *topology.Snapshot {
	t.Helper()
	got := r.snapshot()
	if d := topologytest.Differences(want, got); len(d) > 0 {
		t.Errorf("%s: the snapshot differs: %q", what, d)
	}
	return got
}

// TestObjectsSurviveTheWire: the receiver decodes exactly the objects that a device advertises.
func TestObjectsSurviveTheWire(t *testing.T) {
	devices := []*Objects{device(1, 4), device(4, 1, 6), device(6, 4)}
	devices[1].Node.Overload = true
	devices[1].Node.SRv6.OAM = true
	devices[1].Links[0].LocalAddresses = []netip.Addr{netip.MustParseAddr("10.1.0.1"),
		netip.MustParseAddr("fe80::1")}
	devices[1].Links[0].RemoteAddresses = []netip.Addr{netip.MustParseAddr("10.1.0.2"),
		netip.MustParseAddr("fe80::2")}
	devices[2].Links = append(devices[2].Links, topology.Link{Local: devices[2].Node.ID,
		Remote:  devices[1].Node.ID,
		LocalID: 99, IGPMetric: 3, Delay: topology.Delay{Known: true}})
	r := newTestRIB(peerA)
	tell(t, r, peerA, devices...)
	s := expect(t, r, "three devices", built(devices...))
	if len(s.Links) != 5 {
		t.Errorf("%d links", len(s.Links))
	}
	if r.stats != (Stats{Updates: r.stats.Updates}) {
		t.Errorf("counters: %+v", r.stats)
	}
}

func TestObjectsRefused(t *testing.T) {
	for name, change := range map[string]func(*Objects){
		"node id":          func(o *Objects) { o.Node.ID = "n6" },
		"protocol":         func(o *Objects) { o.Node.Protocol = "rip" },
		"SID":              func(o *Objects) { o.Node.SIDs[0].Address = netip.MustParseAddr("10.0.0.1") },
		"adjacency SID":    func(o *Objects) { o.Links[0].EndX[0].Address = netip.Addr{} },
		"neighbour":        func(o *Objects) { o.Links[0].EndX[0].Neighbor = "n4" },
		"link's node":      func(o *Objects) { o.Links[0].Local = "64512:10.0.0.9" },
		"link's remote":    func(o *Objects) { o.Links[0].Remote = "n4" },
		"prefix' node":     func(o *Objects) { o.Prefixes[0].Node = "64512:10.0.0.9" },
		"prefix":           func(o *Objects) { o.Prefixes[0].Prefix = netip.Prefix{} },
		"locator's prefix": func(o *Objects) { o.Node.Locators[0].Prefix = netip.Prefix{} },
	} {
		o := device(1, 4)
		change(o)
		if _, err := o.advertisements(); err == nil {
			t.Errorf("%s: advertised", name)
		}
	}
}

func TestRIBSessionLoss(t *testing.T) {
	n1, n4 := device(1, 4), device(4, 1)
	r := newTestRIB(peerA)
	tell(t, r, peerA, n1, n4)
	r.endOfRIB(peerA)
	if s := expect(t, r, "in sync", built(n1, n4)); s.Stale != nil {
		t.Errorf("stale in sync: %+v", s.Stale)
	}
	lost := epoch.Add(time.Hour)
	r.peerDown(peerA, "connection lost", lost)
	s := expect(t, r, "after the loss", built(n1, n4))
	want := &topology.Staleness{Reason: "127.0.2.1: connection lost", Since: lost,
		Sources: []string{"127.0.2.1"}}
	if !s.Stale.Equal(want) {
		t.Errorf("stale: %+v", s.Stale)
	}

	// Back, with less to say: what is not said again lives until End-of-RIB.
	r.peerUp(peerA, lost.Add(time.Second))
	if s := expect(t, r, "back", built(n1, n4)); s.Stale == nil {
		t.Error("not stale before the end of RIB")
	}
	n4.Links, n4.Node.SIDs = nil, n4.Node.SIDs[:1]
	tell(t, r, peerA, n4)
	r.update(peerA, withdraw(t, wire.NLRI{Type: wire.NLRISRv6SID, Protocol: wire.ProtocolDirect,
		Local: wire.NodeDescriptor{ASN: testASN, IGPRouterID: "\x0a\x00\x00\x01"},
		SID:   n1.Node.SIDs[2].Address}))
	n1.Node.SIDs = n1.Node.SIDs[:2]
	full4 := device(4, 1)
	if s := expect(t, r, "half said", built(n1, full4)); s.Stale == nil {
		t.Error("not stale before the end of RIB")
	}
	r.endOfRIB(peerA)
	r.tick(lost.Add(time.Second))
	if s := expect(t, r, "said", built(n4)); s.Stale != nil {
		t.Errorf("stale after the end of RIB: %+v", s.Stale)
	}
}

func TestRIBSeveralPeers(t *testing.T) {
	n1, n4 := device(1, 4), device(4, 1)
	both := built(n1, n4)
	r := newTestRIB(peerA, peerB)
	tell(t, r, peerA, n1, n4)
	tell(t, r, peerB, n1)
	r.endOfRIB(peerA)
	r.endOfRIB(peerB)
	expect(t, r, "both", both)

	// What both say is not stale when one goes; what one says is.
	r.peerDown(peerB, "connection lost", epoch)
	if s := expect(t, r, "without B", both); s.Stale != nil {
		t.Errorf("stale: %+v", s.Stale)
	}
	r.peerUp(peerB, epoch)
	r.endOfRIB(peerB)
	r.tick(epoch)
	expect(t, r, "B with nothing", both)
	r.peerDown(peerA, "connection lost", epoch)
	tell(t, r, peerB, n4)
	if s := expect(t, r, "without A", both); s.Stale == nil ||
		!slices.Equal(s.Stale.Sources, []string{topology.PeerName(peerA)}) {
		t.Errorf("stale: %+v", s.Stale)
	}
	r.removePeer(peerA)
	if s := expect(t, r, "A removed", built(n4)); s.Stale != nil {
		t.Errorf("stale: %+v", s.Stale)
	}
}

// TestRIBBelieves: the peer with the lower address counts, but not before a peer that has confirmed
// its objects.
func TestRIBBelieves(t *testing.T) {
	named := func(name string) *Objects { o := device(1); o.Node.Name = name; return o }
	r := newTestRIB(peerB, peerA)
	tell(t, r, peerB, named("b"))
	expect(t, r, "only B", built(named("b")))
	tell(t, r, peerA, named("a"))
	expect(t, r, "both", built(named("a")))
	r.peerDown(peerA, "connection lost", epoch)
	expect(t, r, "without A", built(named("b")))
	r.peerDown(peerB, "connection lost", epoch)
	expect(t, r, "without both", built(named("a")))
	r.peerUp(peerB, epoch)
	expect(t, r, "B back, silent", built(named("a")))
	tell(t, r, peerB, named("c"))
	expect(t, r, "B back", built(named("c")))
}

func TestRIBStartup(t *testing.T) {
	r := newRIB(time.Minute, nil)
	r.addPeer(peerA, topology.Scope{}, DefaultLimits(), epoch)
	r.addPeer(peerB, topology.Scope{}, DefaultLimits(), epoch)
	if s := r.snapshot(); !s.Incomplete() || len(s.Stale.Sources) != 2 || s.Stale.Reason == "" {
		t.Errorf("stale: %+v", s.Stale)
	}
	r.peerUp(peerA, epoch)
	tell(t, r, peerA, device(1))
	if s := r.snapshot(); !s.Incomplete() || len(s.Stale.Sources) != 2 {
		t.Errorf("stale: %+v", s.Stale)
	}
	r.endOfRIB(peerA)
	if s := r.snapshot(); !s.Incomplete() ||
		!slices.Equal(s.Stale.Sources, []string{topology.PeerName(peerB)}) {
		t.Errorf("stale: %+v", s.Stale)
	}
	// B is not waited for longer than the grace.
	if next, ok := r.tick(epoch.Add(time.Second)); !ok || !next.Equal(epoch.Add(time.Minute)) ||
		r.touched {
		t.Errorf("called again at %v, %v", next, ok)
	}
	if _, ok := r.tick(epoch.Add(time.Minute)); ok || !r.touched {
		t.Errorf("the grace is not over")
	}
	// What B would say is not known all the same.
	late := &topology.Staleness{Reason: "127.0.2.2:179: no session yet", Since: epoch,
		Sources: []string{topology.PeerName(peerB)}}
	if s := r.snapshot(); !s.Stale.Equal(late) {
		t.Errorf("stale: %+v, want %+v", s.Stale, late)
	}
	r.peerFailed(peerB, "connection refused")
	if s := r.snapshot(); s.Stale == nil || s.Stale.Reason != "127.0.2.2:179: connection refused" {
		t.Errorf("stale: %+v", s.Stale)
	}
	if r.peerFailed(peerB, "connection refused"); r.touched {
		t.Error("the same reason makes a snapshot")
	}
	// Updates of strangers, and of peers without a session, are not heard.
	tell(t, r, peerB, device(2))
	tell(t, r, netip.MustParseAddrPort("127.0.2.9:179"), device(3))
	expect(t, r, "strangers", built(device(1)))
}

// A node name has at most 255 octets (RFC 9552 section 5.3.1.3), and the collector escapes
// unprintable characters.
func TestRIBNodeName(t *testing.T) {
	n1 := device(1)
	all, err := n1.advertisements()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		discarded  uint64
	}{
		{strings.Repeat("a", 254), strings.Repeat("a", 254), 0},
		{strings.Repeat("a", 255), strings.Repeat("a", 255), 0},
		{strings.Repeat("a", 256), "", 1},
		{"\xff\xfe\x1b[31m", `\xff\xfe\u001b[31m`, 0},
		{"n1\u202e", `n1\u202e`, 0},
	} {
		r := newTestRIB(peerA)
		attribute := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, 1026),
			uint16(len(c.name)))
		r.update(peerA, &wire.Update{Reachable: []wire.Received{received(t, all[0].nlri)},
			Attribute: append(attribute, c.name...)})
		if n := r.snapshot().Node(n1.Node.ID); n == nil || n.Name != c.want ||
			r.stats.DiscardedAttributes != c.discarded {
			t.Errorf("%q: %+v, %d attributes discarded", c.name, n, r.stats.DiscardedAttributes)
		}
	}
}

// TestRIBDiscardedAttribute: a malformed attribute is discarded, and its NLRI stays.
func TestRIBDiscardedAttribute(t *testing.T) {
	n1, n4 := device(1, 4), device(4, 1)
	all, err := n4.advertisements()
	if err != nil {
		t.Fatal(err)
	}
	r := newTestRIB(peerA)
	tell(t, r, peerA, n1, n4)
	for _, a := range all {
		r.update(peerA, &wire.Update{Reachable: []wire.Received{received(t, a.nlri)},
			Attribute: append(slices.Clone(a.attribute), 0xff)})
	}
	if r.stats.DiscardedAttributes != uint64(len(all)) {
		t.Errorf("%d of %d attributes discarded", r.stats.DiscardedAttributes, len(all))
	}
	s := r.snapshot()
	n := s.Node(n4.Node.ID)
	if n == nil || n.Name != "" || len(n.Locators) != 0 || len(n.SIDs) != len(n4.Node.SIDs) ||
		n.SIDs[0].Behavior != 0 {
		t.Errorf("the node is %+v", n)
	}
	links := s.LinksFrom(n4.Node.ID)
	if len(links) != 1 || links[0].IGPMetric != metricOfLastResort || len(links[0].EndX) != 0 {
		t.Errorf("its links are %+v", links)
	}
	if p, ok := s.Graph().From(n1.Node.ID, topology.MetricIGP); !ok || len(p.Links(n4.Node.ID)) != 1 {
		t.Error("its link cannot be used")
	}
	r.update(peerA, &wire.Update{Skipped: wire.Skipped{UnknownNLRIs: 1, MalformedNLRIs: 2,
		UnknownTLVs: 3}})
	if r.stats.UnknownNLRIs != 1 || r.stats.MalformedNLRIs != 2 || r.stats.UnknownTLVs != 3 {
		t.Errorf("counters: %+v", r.stats)
	}
}

// The same router and link seen in two levels and two topologies are one.
func TestRIBMergesLevelsAndTopologies(t *testing.T) {
	local := wire.NodeDescriptor{ASN: 1, IGPRouterID: "\x00\x00\x00\x00\x00\x01"}
	remote := wire.NodeDescriptor{ASN: 1, IGPRouterID: "\x00\x00\x00\x00\x00\x02"}
	lan := wire.NodeDescriptor{ASN: 1, IGPRouterID: "\x00\x00\x00\x00\x00\x02\x05"}
	metric := func(m uint32) *wire.Attributes {
		return &wire.Attributes{Link: wire.LinkAttributes{IGPMetric: &m}}
	}
	link := wire.NLRI{Type: wire.NLRILink, Protocol: wire.ProtocolISISLevel2, Local: local,
		Remote: remote,
		Link:   wire.LinkDescriptor{IDs: wire.LinkIDs{Present: true, Local: 1, Remote: 2}}}
	link6 := link
	link6.Topology = wire.MultiTopology{Present: true, ID: 2}
	level := func(p wire.ProtocolID, d wire.NodeDescriptor) wire.NLRI {
		return wire.NLRI{Type: wire.NLRINode, Protocol: p, Local: d}
	}

	r := newTestRIB(peerA)
	r.update(peerA, announce(t, level(wire.ProtocolISISLevel1, local),
		&wire.Attributes{Node: wire.NodeAttributes{Name: "one"}}))
	r.update(peerA, announce(t, level(wire.ProtocolISISLevel2, local),
		&wire.Attributes{Node: wire.NodeAttributes{
			Name: "two", RouterID6: netip.MustParseAddr("fd00::1"), Flags: wire.NodeFlagOverload}}))
	r.update(peerA, announce(t, level(wire.ProtocolISISLevel2, lan), nil))
	r.update(peerA, announce(t, link6, metric(20)))
	r.update(peerA, announce(t, link, metric(10)))
	s := r.snapshot()
	want := &topology.Node{ID: "1:0000.0000.0001", Name: "one",
		Loopback: netip.MustParseAddr("fd00::1"), ASN: 1, Protocol: "isis-l1", Overload: true}
	if n := s.Node(want.ID); n == nil || !reflect.DeepEqual(n, want) {
		t.Errorf("the node is %+v", n)
	}
	if n := s.Node("1:0000.0000.0002.05"); n == nil || !n.Pseudonode {
		t.Errorf("the LAN is %+v", n)
	}
	if len(s.Links) != 1 || s.Links[0].IGPMetric != 20 ||
		s.Links[0].ID != "1:0000.0000.0001,1~1:0000.0000.0002,2" {
		t.Errorf("links: %+v", s.Links)
	}
	r.update(peerA, withdraw(t, link6))
	r.update(peerA, withdraw(t, level(wire.ProtocolISISLevel1, local)))
	s = r.snapshot()
	if len(s.Links) != 1 || s.Links[0].IGPMetric != 10 {
		t.Errorf("links: %+v", s.Links)
	}
	if n := s.Node(want.ID); n == nil || n.Name != "two" || n.Protocol != "isis-l2" {
		t.Errorf("the node is %+v", n)
	}
}

func TestRIBLoopbackOfPrefix(t *testing.T) {
	local := wire.NodeDescriptor{ASN: 1, IGPRouterID: "\x00\x00\x00\x00\x00\x01"}
	prefix := func(s string) wire.NLRI {
		return wire.NLRI{Type: wire.NLRIPrefix6, Local: local,
			Prefix: wire.PrefixDescriptor{Prefix: netip.MustParsePrefix(s)}}
	}
	ownFlag := &wire.Attributes{Prefix: wire.PrefixAttributes{AttributeFlags: []byte{prefixFlagNode}}}
	r := newTestRIB(peerA)
	r.update(peerA, announce(t, wire.NLRI{Type: wire.NLRINode, Local: local}, nil))
	r.update(peerA, announce(t, prefix("fd00::1/128"), nil))
	r.update(peerA, announce(t, prefix("fd00::3/128"), ownFlag))
	r.update(peerA, announce(t, prefix("fd00::2/128"), ownFlag))
	r.update(peerA, announce(t, prefix("fd00::/64"), ownFlag))
	if n := r.snapshot().Node("1:0000.0000.0001"); n.Loopback != netip.MustParseAddr("fd00::2") {
		t.Errorf("loopback is %s", n.Loopback)
	}
}

func TestLinkWithoutMetric(t *testing.T) {
	n := &wire.NLRI{Type: wire.NLRILink}
	te := uint32(7)
	for _, c := range []struct {
		attributes *wire.Attributes
		want       uint32
	}{
		{nil, metricOfLastResort},
		{&wire.Attributes{}, metricUnsaid},
		{&wire.Attributes{Link: wire.LinkAttributes{TEMetric: &te}}, 7},
	} {
		if l := makeLink([]part{{n, c.attributes}}); l.IGPMetric != c.want {
			t.Errorf("%+v: metric is %d, want %d", c.attributes, l.IGPMetric, c.want)
		}
	}
}

func TestBitsPerSecond(t *testing.T) {
	for _, c := range []struct {
		octets float32
		want   uint64
	}{
		{12.5e9, 100e9}, {50e9, 400e9}, {1.25e8, 1e9}, {0, 0}, {-1, 0}, {float32(math.Inf(1)), 0},
		{float32(math.NaN()), 0}, {math.MaxFloat32, 0},
	} {
		if got := bitsPerSecond(c.octets); got != c.want {
			t.Errorf("%g octets per second are %d bits per second, want %d", c.octets, got, c.want)
		}
	}
}

// model is the dumb twin of rib: it keeps what each peer said in a list, and
// makes the topology anew each time.
type model struct {
	peers map[peerKey]*modelPeer
}

type modelPeer struct {
	up, ever bool // ever: has said everything once
	says     map[string]modelStatement
}

type modelStatement struct {
	nlri      wire.NLRI
	attribute *wire.Attributes
	fresh     bool
}

func (m *model) snapshot() *topology.Snapshot {
	best := map[string]modelStatement{}
	for _, wantFresh := range []bool{true, false} {
		for _, a := range slices.SortedFunc(maps.Keys(m.peers), peerKey.Compare) {
			for raw, s := range m.peers[a].says {
				if _, ok := best[raw]; !ok && (s.fresh && m.peers[a].up) == wantFresh {
					best[raw] = s
				}
			}
		}
	}
	nodes := map[topology.NodeID][]part{}
	links := map[topology.LinkID][]part{}
	prefixes := map[topology.PrefixKey][]part{}
	for _, raw := range slices.Sorted(maps.Keys(best)) {
		s := best[raw]
		p := part{&s.nlri, s.attribute}
		id := nodeID(s.nlri.Identifier, &s.nlri.Local)
		switch s.nlri.Type {
		case wire.NLRILink:
			l := namedLink(&s.nlri).ID
			links[l] = append(links[l], p)
			continue
		case wire.NLRIPrefix6:
			k := topology.PrefixKey{Node: id, Prefix: s.nlri.Prefix.Prefix}
			prefixes[k] = append(prefixes[k], p)
		}
		nodes[id] = append(nodes[id], p)
	}
	b := topology.NewBuilder()
	for id, parts := range nodes {
		if n, ok := makeNode(id, parts); ok {
			b.SetNode(n)
		}
	}
	for _, parts := range links {
		b.SetLink(makeLink(parts))
	}
	for k, parts := range prefixes {
		b.SetPrefix(makePrefix(k, parts))
	}
	return b.Build()
}

// stale reports whether a peer is waited for, or something is unconfirmed.
func (m *model) stale() bool {
	for _, p := range m.peers {
		if !p.ever {
			return true
		}
		for raw := range p.says {
			confirmed := false
			for _, q := range m.peers {
				confirmed = confirmed || q.up && q.says[raw].fresh
			}
			if !confirmed {
				return true
			}
		}
	}
	return false
}

func TestRIBAgainstModel(t *testing.T) {
	peers := []peerKey{peerA, peerB, netip.MustParseAddrPort("127.0.2.2:180")}
	rapid.Check(t, func(t *rapid.T) {
		r := newRIB(time.Minute, nil)
		// Any loss is plausible: see [TestImplausibleLoss] for others.
		r.dead = func() map[topology.NodeID]bool {
			return map[topology.NodeID]bool{"1:10.0.0.1": true, "1:10.0.0.2": true, "1:10.0.0.3": true}
		}
		m := &model{peers: map[peerKey]*modelPeer{}}
		for _, a := range peers {
			r.addPeer(a, topology.Scope{}, DefaultLimits(), epoch)
			m.peers[a] = &modelPeer{says: map[string]modelStatement{}}
		}
		descriptor := func(i int) wire.NodeDescriptor {
			return wire.NodeDescriptor{ASN: 1, IGPRouterID: fmt.Sprintf("\x0a\x00\x00%c", rune(i))}
		}
		nlri := func() wire.NLRI {
			n := wire.NLRI{Local: descriptor(rapid.IntRange(1, 3).Draw(t, "node"))}
			n.Protocol = rapid.SampledFrom([]wire.ProtocolID{wire.ProtocolISISLevel1,
				wire.ProtocolISISLevel2}).Draw(t, "protocol")
			n.Type = rapid.SampledFrom([]wire.NLRIType{wire.NLRINode, wire.NLRILink, wire.NLRIPrefix6,
				wire.NLRISRv6SID}).Draw(t, "type")
			switch n.Type {
			case wire.NLRILink:
				n.Remote = descriptor(rapid.IntRange(1, 3).Draw(t, "remote"))
				n.Topology.Present = rapid.Bool().Draw(t, "mt")
				if n.Topology.Present {
					n.Topology.ID = 2
				}
			case wire.NLRIPrefix6:
				n.Prefix.Prefix = netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfc,
					byte(rapid.IntRange(0, 2).Draw(t, "prefix"))}), 16)
			case wire.NLRISRv6SID:
				n.SID = netip.AddrFrom16([16]byte{0xfc, 15: byte(rapid.IntRange(0, 2).Draw(t, "sid"))})
			}
			return n
		}
		attributes := func() *wire.Attributes {
			metric := rapid.Uint32Range(1, 3).Draw(t, "metric")
			a := &wire.Attributes{Node: wire.NodeAttributes{Name: fmt.Sprint(metric)},
				Link: wire.LinkAttributes{IGPMetric: &metric},
				SID:  wire.SIDAttributes{Behavior: &wire.EndpointBehavior{Behavior: uint16(metric)}}}
			if rapid.Bool().Draw(t, "locator") {
				a.Prefix.Locator = &wire.Locator{Metric: metric}
			}
			return a
		}
		check := func() {
			if !r.touched {
				return
			}
			got, want := r.snapshot(), m.snapshot()
			if d := topologytest.Differences(want, got); len(d) > 0 {
				t.Fatalf("snapshots differ: %q", d)
			}
			if stale := m.stale(); (got.Stale != nil) != stale {
				t.Fatalf("stale is %+v, and should be: %v", got.Stale, stale)
			}
			awaited := slices.ContainsFunc(slices.Collect(maps.Values(m.peers)), func(p *modelPeer) bool {
				return !p.ever
			})
			if got.Incomplete() != awaited {
				t.Fatalf("incomplete is %v, and should be: %v", got.Incomplete(), awaited)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			a := rapid.SampledFrom(peers).Draw(t, "peer")
			p := m.peers[a]
			switch rapid.SampledFrom([]string{"up", "down", "end", "say", "say", "say", "say", "unsay",
				"expire", "look"}).Draw(t, "step") {
			case "up":
				r.peerUp(a, epoch)
				p.up = true
				for raw, s := range p.says {
					s.fresh = false
					p.says[raw] = s
				}
			case "down":
				r.peerDown(a, "lost", epoch)
				p.up = false
			case "end":
				// A later End-of-RIB of the same session changes nothing.
				p.ever = p.ever || p.up
				r.endOfRIB(a)
			case "expire":
				for b, p := range m.peers {
					if r.peers[b].synced {
						maps.DeleteFunc(p.says, func(_ string, s modelStatement) bool { return !s.fresh })
					}
				}
				r.tickLosses(epoch)
			case "say":
				n, attr := nlri(), attributes()
				r.update(a, announce(t, n, attr))
				if p.up {
					p.says[string(n.Append(nil))] = modelStatement{n, attr, true}
				}
			case "unsay":
				n := nlri()
				r.update(a, withdraw(t, n))
				if p.up {
					delete(p.says, string(n.Append(nil)))
				}
			case "look":
				check()
			}
		}
		check()
		for _, a := range peers {
			r.removePeer(a)
		}
		if s := r.snapshot(); len(s.Nodes)+len(s.Links)+len(s.Prefixes) != 0 ||
			len(r.objects)+len(r.nodes)+len(r.links)+len(r.pfxs) != 0 {
			t.Fatalf("something is left without peers: %+v", r)
		}
	})
}
