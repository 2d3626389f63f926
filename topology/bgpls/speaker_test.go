package bgpls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/bgplstest"
	"github.com/weft-sdn/weft/topology/topologytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, bgplstest.LeftByGoBGP()) }

const testASN = 64512

// deadline is for what takes a connection or two.
const deadline = 20 * time.Second

// start starts a speaker. What a peer does not say again counts for a moment, unless the test
// says otherwise.
func start(t *testing.T, c Config) *Speaker {
	t.Helper()
	if c.StalePathTime == 0 {
		c.StalePathTime, c.LossTime = time.Millisecond, time.Millisecond
	}
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func addPeer(t *testing.T, s *Speaker, p Peer) {
	t.Helper()
	if err := s.AddPeer(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// await returns the first snapshot that is as wanted.
func await(t *testing.T, s *Speaker, what string,
	ok func(*topology.Snapshot) bool) *topology.Snapshot {
	t.Helper()
	timeout := time.NewTimer(deadline)
	defer timeout.Stop()
	for {
		snapshot, changed := s.Topology().Current()
		if ok(snapshot) {
			return snapshot
		}
		select {
		case <-changed:
		case <-s.Done():
			t.Fatalf("waiting for %s: the speaker stopped: %v", what, s.Err())
		case <-timeout.C:
			b, _ := json.MarshalIndent(snapshot, "", " ")
			t.Fatalf("waiting for %s; sessions %+v, topology\n%s", what, s.Peers(), b)
		}
	}
}

func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}) }

var collectorAddress = netip.MustParseAddr("127.0.0.1")

// device returns node i of a test network, with every possible attribute.
func device(i int, neighbours ...int) *Objects {
	id := func(i int) topology.NodeID {
		return NodeID(testASN, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
	}
	sid := func(function uint16) netip.Addr {
		return netip.AddrFrom16([16]byte{0xfc, 0xbb, 0xbb, 0, 0, byte(i), byte(function >> 8),
			byte(function)})
	}
	structure := topology.SIDStructure{LocatorBlock: 32, LocatorNode: 16, Function: 16}
	o := &Objects{Node: topology.Node{
		ID: id(i), Name: fmt.Sprintf("n%d", i), ASN: testASN, Protocol: "direct",
		Loopback:   netip.AddrFrom16([16]byte{0xfd, 15: byte(i)}),
		RouterID4:  netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}),
		SRv6:       &topology.SRv6Capabilities{},
		Algorithms: []int{0},
		MSDs: []topology.MSD{{Type: topology.MSDMaxSegmentsLeft, Value: 4},
			{Type: topology.MSDMaxHEncaps, Value: 3}},
		Locators: []topology.Locator{{Prefix: netip.PrefixFrom(sid(0), 48), Metric: 1}},
		SIDs: []topology.SID{
			{Address: sid(1), Behavior: topology.BehaviorEnd, Structure: structure},
			{Address: sid(2), Behavior: topology.BehaviorEndReplicate, Structure: structure},
			{Address: sid(3), Behavior: 0x8001, Structure: structure},
		},
	}}
	o.Prefixes = append(o.Prefixes,
		topology.Prefix{PrefixKey: topology.PrefixKey{Node: id(i),
			Prefix: netip.PrefixFrom(o.Node.Loopback, 128)}},
		topology.Prefix{PrefixKey: topology.PrefixKey{Node: id(i), Prefix: netip.PrefixFrom(sid(0), 48)},
			Metric: 1})
	for _, n := range neighbours {
		o.Links = append(o.Links, topology.Link{
			Local: id(i), Remote: id(n), LocalID: uint32(n), RemoteID: uint32(i), LocalPort: uint32(n),
			RemotePort: uint32(i),
			IGPMetric:  10, TEMetric: 100, AdminGroup: 1, MaxBandwidth: 100e9,
			Delay: topology.Delay{Known: true, Min: 5, Max: 9, Average: 7},
			EndX: []topology.EndX{{SID: topology.SID{Address: sid(0xe000 + uint16(n)),
				Behavior: topology.BehaviorEndX, Structure: structure}},
				{SID: topology.SID{Address: sid(0xd000 + uint16(n)), Behavior: 6, Structure: structure},
					Weight: 1, Neighbor: "10.0.0.9"}},
		})
	}
	return o
}

// figure1 is who is whose neighbour in the draft's reference network.
var figure1 = map[int][]int{1: {4}, 2: {4, 5}, 3: {5}, 4: {6, 1, 2}, 5: {6, 2, 3}, 6: {4, 5}}

// built is the topology that devices make up.
func built(devices ...*Objects) *topology.Snapshot {
	b := topology.NewBuilder()
	for _, o := range devices {
		b.SetNode(o.Node)
		for _, l := range o.Links {
			b.SetLink(l)
		}
		for _, p := range o.Prefixes {
			b.SetPrefix(p)
		}
	}
	return b.Build()
}

// like returns a check: a snapshot equals the wanted snapshot and is not stale.
func like(want *topology.Snapshot) func(*topology.Snapshot) bool {
	return func(got *topology.Snapshot) bool {
		return got.Stale == nil && len(topologytest.Differences(want, got)) == 0
	}
}

// switches starts an originator for each device, which waits for the
// collector to connect, and makes the collector connect.
func switches(t *testing.T, collector *Speaker, devices map[int]*Objects) map[int]*Speaker {
	t.Helper()
	speakers := make(map[int]*Speaker)
	for i, o := range devices {
		s := start(t, Config{ASN: testASN, RouterID: o.Node.RouterID4,
			Listen: netip.AddrPortFrom(address(i), 0)})
		if err := s.Originate(o); err != nil {
			t.Fatal(err)
		}
		addPeer(t, s, Peer{Address: collectorAddress, ASN: 64999, LocalAddress: address(i),
			Passive: true})
		speakers[i] = s
	}
	for i, s := range speakers {
		addPeer(t, collector, Peer{Address: address(i), Port: s.ListenAddr().Port(), ASN: testASN,
			LocalAddress: collectorAddress})
	}
	return speakers
}

func TestFigure1Learned(t *testing.T) {
	t.Parallel()
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true})
	devices := make(map[int]*Objects)
	var all []*Objects
	for i, neighbours := range figure1 {
		devices[i] = device(i, neighbours...)
		all = append(all, devices[i])
	}
	begun := time.Now()
	speakers := switches(t, collector, devices)
	await(t, collector, "the whole network", like(built(all...)))
	t.Logf("learned after %v", time.Since(begun))
	if stats := collector.Stats(); stats.Updates == 0 || stats.UnknownTLVs+stats.UnknownNLRIs+
		stats.MalformedNLRIs+stats.DiscardedAttributes+stats.MalformedUpdates != 0 {
		t.Errorf("counters: %+v", stats)
	}
	for _, p := range collector.Peers() {
		if p.State != topology.PeerEstablished || !p.Synced || p.ASN != testASN {
			t.Errorf("session: %+v", p)
		}
	}

	// A link fails, its metric changes, a SID and a locator come and go.
	without := func(o *Objects, neighbour int) {
		o.Links = slices.DeleteFunc(slices.Clone(o.Links), func(l topology.Link) bool {
			return l.LocalID == uint32(neighbour)
		})
	}
	without(devices[6], 4)
	without(devices[4], 6)
	devices[2].Links = slices.Clone(devices[2].Links)
	devices[2].Links[0].IGPMetric = 77
	devices[3].Node.SIDs = devices[3].Node.SIDs[1:]
	devices[3].Node.Locators = append(devices[3].Node.Locators,
		topology.Locator{Prefix: netip.MustParsePrefix("fcbb:bb01:3::/48"), Algorithm: 128})
	devices[3].Prefixes = append(devices[3].Prefixes,
		topology.Prefix{PrefixKey: topology.PrefixKey{Node: devices[3].Node.ID,
			Prefix: netip.MustParsePrefix("fcbb:bb01:3::/48")}})
	for _, i := range []int{2, 3, 4, 6} {
		if err := speakers[i].Originate(devices[i]); err != nil {
			t.Fatal(err)
		}
	}
	await(t, collector, "the changes", like(built(all...)))

	// Withdrawing everything leaves nothing.
	for _, s := range speakers {
		if err := s.Originate(nil); err != nil {
			t.Fatal(err)
		}
	}
	await(t, collector, "nothing", like(topology.Empty()))
}

// A switch that goes, and comes back with less, leaves no gap.
func TestSessionLoss(t *testing.T) {
	t.Parallel()
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true})
	devices := map[int]*Objects{11: device(11, 14), 14: device(14, 11)}
	speakers := switches(t, collector, devices)
	whole := built(devices[11], devices[14])
	await(t, collector, "both", like(whole))

	gone := speakers[14]
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	lost := await(t, collector, "the loss", func(s *topology.Snapshot) bool { return s.Stale != nil })
	if d := topologytest.Differences(whole, lost); len(d) > 0 {
		t.Errorf("the loss changed %q", d)
	}
	if lost.Stale.Since.IsZero() ||
		!slices.Equal(lost.Stale.Sources, []string{gone.ListenAddr().String()}) {
		t.Errorf("stale: %+v", lost.Stale)
	}

	devices[14].Node.SIDs = devices[14].Node.SIDs[:1]
	devices[14].Links = nil
	again := start(t, Config{ASN: testASN, RouterID: devices[14].Node.RouterID4,
		Listen: gone.ListenAddr()})
	if err := again.Originate(devices[14]); err != nil {
		t.Fatal(err)
	}
	addPeer(t, again, Peer{Address: collectorAddress, ASN: 64999, LocalAddress: address(14),
		Passive: true})
	less := built(devices[11], devices[14])
	await(t, collector, "the return", func(s *topology.Snapshot) bool {
		if like(less)(s) {
			return true
		}
		if s.Stale == nil || s.Node(devices[14].Node.ID) == nil || len(s.Links) < 1 {
			t.Errorf("a gap: version %d has %d nodes, %d links, stale %+v", s.Version, len(s.Nodes),
				len(s.Links), s.Stale)
		}
		return false
	})

	// The removal of a peer also removes its objects.
	if err := collector.RemovePeer(t.Context(), address(14), gone.ListenAddr().Port()); err != nil {
		t.Fatal(err)
	}
	await(t, collector, "the removal", like(built(devices[11])))
	if err := collector.RemovePeer(t.Context(), address(14), gone.ListenAddr().Port()); err != nil {
		t.Errorf("removing nobody: %v", err)
	}
}

// The collector may listen, in the same autonomous system; and advertisements of one peer do not
// reach other peers.
func TestPassiveCollector(t *testing.T) {
	t.Parallel()
	hub := netip.MustParseAddr("127.0.1.100")
	collector := start(t, Config{ASN: testASN, RouterID: netip.MustParseAddr("10.255.0.1"),
		Listen: netip.AddrPortFrom(hub, 0), Collect: true})
	devices := []*Objects{device(21, 22), device(22, 21)}
	var others []*Speaker
	for i, o := range devices {
		a := address(21 + i)
		s := start(t, Config{ASN: testASN, RouterID: o.Node.RouterID4, Collect: true})
		others = append(others, s)
		if err := s.Originate(o); err != nil {
			t.Fatal(err)
		}
		addPeer(t, collector, Peer{Address: a, ASN: testASN, Passive: true})
		addPeer(t, s, Peer{Address: hub, Port: collector.ListenAddr().Port(), ASN: testASN,
			LocalAddress: a})
	}
	await(t, collector, "both", like(built(devices...)))
	for _, s := range others {
		if snapshot := await(t, s, "the end of RIB", func(s *topology.Snapshot) bool {
			return s.Version > 0 && s.Stale == nil
		}); len(snapshot.Nodes) != 0 {
			t.Errorf("a peer learned %d nodes", len(snapshot.Nodes))
		}
	}
}

// Both may connect, and all may share an address.
func TestActiveOnBothSides(t *testing.T) {
	t.Parallel()
	local := netip.MustParseAddrPort("127.0.0.1:0")
	a := start(t, Config{ASN: testASN, RouterID: netip.MustParseAddr("10.0.0.41"), Listen: local,
		Collect: true})
	b := start(t, Config{ASN: testASN, RouterID: netip.MustParseAddr("10.0.0.42"), Listen: local,
		Collect: true})
	says := map[*Speaker]*Objects{a: device(41, 42), b: device(42, 41)}
	for s, o := range says {
		if err := s.Originate(o); err != nil {
			t.Fatal(err)
		}
	}
	addPeer(t, a, Peer{Address: local.Addr(), Port: b.ListenAddr().Port(), ASN: testASN})
	addPeer(t, b, Peer{Address: local.Addr(), Port: a.ListenAddr().Port(), ASN: testASN})
	await(t, a, "b's objects", like(built(says[b])))
	await(t, b, "a's objects", like(built(says[a])))
}

func TestPassword(t *testing.T) {
	t.Parallel()
	hub := netip.MustParseAddr("127.0.1.50")
	for _, c := range []struct {
		password string
		ok       bool
	}{{"right", true}, {"wrong", false}, {"", false}} {
		collector := start(t, Config{ASN: testASN, RouterID: netip.MustParseAddr("10.255.0.1"),
			Listen: netip.AddrPortFrom(hub, 0), Collect: true})
		o := device(51)
		s := start(t, Config{ASN: testASN, RouterID: o.Node.RouterID4})
		if err := s.Originate(o); err != nil {
			t.Fatal(err)
		}
		err := collector.AddPeer(t.Context(), Peer{Address: address(51), ASN: testASN, Passive: true,
			Password: "right"})
		if errors.Is(err, syscall.ENOPROTOOPT) || errors.Is(err, ErrConfig) {
			t.Skipf("no TCP MD5 here: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		addPeer(t, s, Peer{Address: hub, Port: collector.ListenAddr().Port(), ASN: testASN,
			LocalAddress: address(51), Password: c.password})
		if c.ok {
			await(t, collector, "the switch", like(built(o)))
			continue
		}
		select {
		case <-time.After(time.Second):
		case <-collector.Done():
		}
		if p := collector.Peers(); p[0].State != topology.PeerConnecting {
			t.Errorf("a session with a wrong password: %+v", p)
		}
	}
	if err := start(t, Config{ASN: 1, RouterID: netip.MustParseAddr("10.0.0.1"),
		Listen: netip.AddrPortFrom(hub, 0)}).AddPeer(t.Context(),
		Peer{Address: hub, ASN: 1, Password: strings.Repeat("x", 81)}); !errors.Is(err, ErrConfig) {
		t.Errorf("a password of 81 octets: %v", err)
	}
}

func TestPortMapOfCollector(t *testing.T) {
	t.Parallel()
	o := device(31, 32)
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true,
		Ports:   topology.PortMap{o.Node.ID: {ByLinkID: map[uint32]uint32{32: 5}}}})
	switches(t, collector, map[int]*Objects{31: o})
	s := await(t, collector, "the switch", func(s *topology.Snapshot) bool {
		return len(s.Links) == 1
	})
	if l := s.Links[0]; l.LocalPort != 5 || l.RemotePort != 31 || l.LocalID != 32 {
		t.Errorf("the link is %+v", l)
	}
}

func TestSpeakerRefuses(t *testing.T) {
	id := netip.MustParseAddr("10.0.0.1")
	for name, c := range map[string]Config{
		"AS number":     {RouterID: id},
		"no router-id":  {ASN: 1},
		"IPv6":          {ASN: 1, RouterID: netip.MustParseAddr("fd00::1")},
		"hold time":     {ASN: 1, RouterID: id, HoldTime: time.Second},
		"negative time": {ASN: 1, RouterID: id, SyncTimeout: -1},
	} {
		if s, err := Start(t.Context(), c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	s := start(t, Config{ASN: 1, RouterID: id, Listen: netip.MustParseAddrPort("127.0.1.200:0")})
	if _, err := Start(t.Context(),
		Config{ASN: 1, RouterID: id, Listen: s.ListenAddr()}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listening twice: %v", err)
	}
	peer := netip.MustParseAddr("127.0.1.201")
	for name, p := range map[string]Peer{
		"no address":            {ASN: 1},
		"unspecified address":   {ASN: 1, Address: netip.IPv4Unspecified()},
		"AS number":             {Address: peer},
		"other kind of address": {ASN: 1, Address: peer, LocalAddress: netip.IPv6Loopback()},
	} {
		if err := s.AddPeer(t.Context(), p); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.AddPeer(t.Context(), Peer{Address: peer, ASN: 2, Passive: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddPeer(t.Context(), Peer{Address: peer, ASN: 2, Passive: true}); !errors.Is(err,
		ErrConfig) {
		t.Errorf("the same peer twice: %v", err)
	}
	if err := s.Originate(&Objects{Node: topology.Node{ID: "n1"}}); !errors.Is(err, ErrObject) {
		t.Errorf("a bad node: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.AddPeer(t.Context(), Peer{Address: netip.MustParseAddr("127.0.1.202"),
		ASN: 2}); !errors.Is(err, ErrClosed) {
		t.Errorf("a peer of a closed speaker: %v", err)
	}
}

// A speaker stops with its context.
func TestSpeakerStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Config{ASN: 1, RouterID: netip.MustParseAddr("10.0.0.1"), Collect: true})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-s.Done():
	case <-time.After(deadline):
		t.Fatal("still running")
	}
	if err := errors.Join(s.Err(), s.Close()); err != nil {
		t.Error(err)
	}
}
