package bgpls

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testASN = 64512

// deadline is for what takes a connection: GoBGP waits up to two seconds before
// it makes one.
const deadline = 20 * time.Second

func start(t *testing.T, c Config) *Speaker {
	t.Helper()
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
func await(t *testing.T, s *Speaker, what string, ok func(*topology.Snapshot) bool) *topology.Snapshot {
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

// device is node i of a test network, with all that can be said of one.
func device(i int, neighbours ...int) *Objects {
	id := func(i int) topology.NodeID { return NodeID(testASN, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})) }
	sid := func(function uint16) netip.Addr {
		return netip.AddrFrom16([16]byte{0xfc, 0xbb, 0xbb, 0, 0, byte(i), byte(function >> 8), byte(function)})
	}
	structure := topology.SIDStructure{LocatorBlock: 32, LocatorNode: 16, Function: 16}
	o := &Objects{Node: topology.Node{
		ID: id(i), Name: fmt.Sprintf("n%d", i), ASN: testASN, Protocol: "direct",
		Loopback:   netip.AddrFrom16([16]byte{0xfd, 15: byte(i)}),
		RouterID4:  netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}),
		SRv6:       &topology.SRv6Capabilities{},
		Algorithms: []int{0},
		MSDs:       []topology.MSD{{Type: topology.MSDMaxSegmentsLeft, Value: 4}, {Type: topology.MSDMaxHEncaps, Value: 3}},
		Locators:   []topology.Locator{{Prefix: netip.PrefixFrom(sid(0), 48), Metric: 1}},
		SIDs: []topology.SID{
			{Address: sid(1), Behavior: topology.BehaviorEnd, Structure: structure},
			{Address: sid(2), Behavior: topology.BehaviorEndReplicate, Structure: structure},
			{Address: sid(3), Behavior: 0x8001, Structure: structure},
		},
	}}
	o.Prefixes = append(o.Prefixes,
		topology.Prefix{PrefixKey: topology.PrefixKey{Node: id(i), Prefix: netip.PrefixFrom(o.Node.Loopback, 128)}},
		topology.Prefix{PrefixKey: topology.PrefixKey{Node: id(i), Prefix: netip.PrefixFrom(sid(0), 48)}, Metric: 1})
	for _, n := range neighbours {
		o.Links = append(o.Links, topology.Link{
			Local: id(i), Remote: id(n), LocalID: uint32(n), RemoteID: uint32(i), LocalPort: uint32(n), RemotePort: uint32(i),
			IGPMetric: 10, TEMetric: 100, AdminGroup: 1, MaxBandwidth: 100e9,
			Delay: topology.Delay{Known: true, Min: 5, Max: 9, Average: 7},
			EndX: []topology.EndX{{SID: topology.SID{Address: sid(0xe000 + uint16(n)), Behavior: topology.BehaviorEndX, Structure: structure}},
				{SID: topology.SID{Address: sid(0xd000 + uint16(n)), Behavior: 6, Structure: structure}, Weight: 1, Neighbor: "10.0.0.9"}},
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

// like reports whether a snapshot has the content of another and is not stale.
func like(want *topology.Snapshot) func(*topology.Snapshot) bool {
	return func(got *topology.Snapshot) bool {
		d := topology.Compare(want, got)
		return d.IsZero()
	}
}

// switches starts an originator for each device, which waits for the
// collector to connect, and makes the collector connect.
func switches(t *testing.T, collector *Speaker, devices map[int]*Objects) map[int]*Speaker {
	t.Helper()
	speakers := make(map[int]*Speaker)
	for i, o := range devices {
		s := start(t, Config{ASN: testASN, RouterID: o.Node.RouterID4, Listen: netip.AddrPortFrom(address(i), 0)})
		if err := s.Originate(o); err != nil {
			t.Fatal(err)
		}
		addPeer(t, s, Peer{Address: collectorAddress, ASN: 64999, LocalAddress: address(i), Passive: true})
		speakers[i] = s
	}
	for i, s := range speakers {
		addPeer(t, collector, Peer{Address: address(i), Port: s.ListenAddr().Port(), ASN: testASN, LocalAddress: collectorAddress})
	}
	return speakers
}

func TestFigure1(t *testing.T) {
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"), Collect: true})
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
	if stats := collector.Stats(); stats.Updates == 0 || stats.UnknownTLVs+stats.UnknownNLRIs+stats.MalformedNLRIs+stats.DiscardedAttributes+stats.MalformedUpdates != 0 {
		t.Errorf("counters: %+v", stats)
	}
	for _, p := range collector.Peers() {
		if p.State != "established" || !p.Synced || p.ASN != testASN {
			t.Errorf("session: %+v", p)
		}
	}

	// A link fails, its metric changes, a SID and a locator come and go.
	without := func(o *Objects, neighbour int) {
		o.Links = slices.DeleteFunc(slices.Clone(o.Links), func(l topology.Link) bool { return l.LocalID == uint32(neighbour) })
	}
	without(devices[6], 4)
	without(devices[4], 6)
	devices[2].Links = slices.Clone(devices[2].Links)
	devices[2].Links[0].IGPMetric = 77
	devices[3].Node.SIDs = devices[3].Node.SIDs[1:]
	devices[3].Node.Locators = append(devices[3].Node.Locators, topology.Locator{Prefix: netip.MustParsePrefix("fcbb:bb01:3::/48"), Algorithm: 128})
	devices[3].Prefixes = append(devices[3].Prefixes, topology.Prefix{PrefixKey: topology.PrefixKey{Node: devices[3].Node.ID, Prefix: netip.MustParsePrefix("fcbb:bb01:3::/48")}})
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
