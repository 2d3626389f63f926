package bgpls

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/weft-sdn/weft/topology/static"
	"github.com/weft-sdn/weft/topology/topologytest"
)

// described is three nodes in a row; the first handles PFC and has a host.
const described = `
nodes:
- {name: a, routerId: 10.0.0.1, loopback: "2001:db8:0:1::1", locator: "5f00:0:1::/48", pfc: true, prefixes: ["2001:db8:1:1::1/128"]}
- {name: b, routerId: 10.0.0.2, loopback: "2001:db8:0:2::1", locator: "5f00:0:2::/48"}
- {name: c, asn: 64513, routerId: 10.0.0.3, loopback: "2001:db8:0:3::1", locator: "5f00:0:3::/48"}
links:
- {a: a, portA: 2, b: b, portB: 1, delay: 250us, rate: 8000000000}
- {a: b, portA: 2, b: c, portB: 1, metric: 77}
`

// objectsOf returns what the nodes of a text advertise.
func objectsOf(t *testing.T, text string) []*Objects {
	t.Helper()
	described, err := static.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var all []*Objects
	for _, name := range described.Names() {
		a, _ := described.Of(name, nil)
		o := Objects(a)
		all = append(all, &o)
	}
	return all
}

// TestStaticHeard: from the advertisements of a description's nodes a collector makes the
// description's snapshot.
func TestStaticHeard(t *testing.T) {
	want, err := static.Parse([]byte(described))
	if err != nil {
		t.Fatal(err)
	}
	var all []Objects
	for _, o := range objectsOf(t, described) {
		all = append(all, *o)
	}
	got, err := Heard(all...)
	if err != nil {
		t.Fatal(err)
	}
	if d := topologytest.Differences(want.Snapshot(), got); len(d) > 0 || got.Stale != nil {
		t.Errorf("heard and described differ, stale %+v: %q", got.Stale, d)
	}
}

// TestStockReceiver: a stock GoBGP server, without code of this package, accepts and decodes all
// objects of several nodes from one speaker, and drops the withdrawn objects.
func TestStockReceiver(t *testing.T) {
	here, there := netip.MustParseAddr("127.0.5.2"), netip.MustParseAddr("127.0.5.1")
	stock := server.NewBgpServer()
	go stock.Serve()
	t.Cleanup(func() {
		stock.Stop()
		forgetServer(stock)
	})
	listen, err := freePort(there)
	if err == nil {
		err = startServer(t.Context(), stock, &api.Global{Asn: testASN, RouterId: "10.255.0.9",
			ListenPort: int32(listen.Port()), ListenAddresses: []string{there.String()}})
	}
	if err == nil {
		err = stock.AddPeer(t.Context(), &api.AddPeerRequest{Peer: &api.Peer{
			Conf:      &api.PeerConf{NeighborAddress: here.String(), PeerAsn: testASN},
			Transport: &api.Transport{PassiveMode: true},
			// By default a server refuses connections for 30 s after it has lost a session.
			Timers: &api.Timers{Config: &api.TimersConfig{IdleHoldTimeAfterReset: 1}},
			AfiSafis: []*api.AfiSafi{{Config: &api.AfiSafiConfig{Family: &api.Family{Afi: api.Family_AFI_LS,
				Safi: api.Family_SAFI_LS}, Enabled: true}}},
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
	all := objectsOf(t, described)
	speaker := start(t, Config{ASN: testASN, RouterID: all[0].Node.RouterID4})
	addPeer(t, speaker, Peer{Address: there, Port: listen.Port(), ASN: testASN, LocalAddress: here})
	if err := speaker.Originate(all...); err != nil {
		t.Fatal(err)
	}
	const endX = "64512:10.0.0.1 port 2: 5f00:0:1:%x:: behavior %d"
	want := []string{
		"node 64512:10.0.0.1 a", "node 64512:10.0.0.2 b", "node 64513:10.0.0.3 c",
		"link 64512:10.0.0.1 port 2 to 64512:10.0.0.2 port 1, metric 10, 1e+09 octets/s",
		"link 64512:10.0.0.2 port 1 to 64512:10.0.0.1 port 2, metric 10, 1e+09 octets/s",
		"link 64512:10.0.0.2 port 2 to 64513:10.0.0.3 port 1, metric 77, 0 octets/s",
		"link 64513:10.0.0.3 port 1 to 64512:10.0.0.2 port 2, metric 77, 0 octets/s",
		"prefix 64512:10.0.0.1 2001:db8:0:1::1/128", "prefix 64512:10.0.0.1 2001:db8:1:1::1/128",
		"prefix 64512:10.0.0.1 5f00:0:1::/48",
		"prefix 64512:10.0.0.2 2001:db8:0:2::1/128", "prefix 64512:10.0.0.2 5f00:0:2::/48",
		"prefix 64513:10.0.0.3 2001:db8:0:3::1/128", "prefix 64513:10.0.0.3 5f00:0:3::/48",
		"sid 64512:10.0.0.1 5f00:0:1:1:: behavior 1", "sid 64512:10.0.0.1 5f00:0:1:2:: behavior 18",
		"sid 64512:10.0.0.1 5f00:0:1:3:: behavior 32789",
		"sid 64512:10.0.0.2 5f00:0:2:1:: behavior 1", "sid 64512:10.0.0.2 5f00:0:2:2:: behavior 18",
		"sid 64513:10.0.0.3 5f00:0:3:1:: behavior 1", "sid 64513:10.0.0.3 5f00:0:3:2:: behavior 18",
		"end.x 64512:10.0.0.2 port 1: 5f00:0:2:101:: behavior 5",
		"end.x 64512:10.0.0.2 port 2: 5f00:0:2:102:: behavior 5",
		"end.x 64513:10.0.0.3 port 1: 5f00:0:3:101:: behavior 5", "end.x " + fmt.Sprintf(endX, 0x102, 5),
	}
	for i, behavior := range []int{0x8010, 0x8011, 0x8012, 0x8013, 0x8014} {
		want = append(want, "end.x "+fmt.Sprintf(endX, 0x302+0x200*i, behavior))
	}
	slices.Sort(want)
	awaitStock(t, stock, speaker, want)

	if err := speaker.Originate(all[0]); err != nil {
		t.Fatal(err)
	}
	awaitStock(t, stock, speaker, slices.DeleteFunc(want, func(line string) bool {
		_, of, _ := strings.Cut(line, " ")
		return !strings.HasPrefix(of, "64512:10.0.0.1 ")
	}))
}

// awaitStock waits until a server has decoded exactly the wanted objects.
func awaitStock(t *testing.T, s *server.BgpServer, from *Speaker, want []string) {
	t.Helper()
	var got []string
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(deadline); ; <-ticker.C {
		got = nil
		err := s.ListPath(apiutil.ListPathRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL,
			Family: bgp.RF_LS}, func(n bgp.NLRI, paths []*apiutil.Path) {
			for _, p := range paths {
				got = append(got, stockLines(t, n, p)...)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("GoBGP has\n%s\nwant\n%s\nfrom %+v",
				strings.Join(got, "\n"), strings.Join(want, "\n"), from.Peers())
		}
	}
}

// stockLines are what GoBGP's own decoder makes of a route.
func stockLines(t *testing.T, n bgp.NLRI, p *apiutil.Path) (lines []string) {
	var ls *bgp.LsAttribute
	var tlvs []bgp.LsTLVInterface
	for _, a := range p.Attrs {
		if a, ok := a.(*bgp.PathAttributeLs); ok {
			ls, tlvs = a.Extract(), a.TLVs
		}
	}
	outer, ok := n.(*bgp.LsAddrPrefix)
	if !ok || ls == nil {
		t.Fatalf("GoBGP has no attribute for %v", n)
	}
	node := func(d bgp.LsTLVInterface) string {
		x := d.(*bgp.LsTLVNodeDescriptor).Extract()
		return fmt.Sprintf("%d:%s", x.Asn, x.IGPRouterID)
	}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch n := outer.NLRI.(type) {
	case *bgp.LsNodeNLRI:
		say("node %s %s", node(n.LocalNodeDesc), *ls.Node.Name)
	case *bgp.LsLinkNLRI:
		var ids bgp.LsLinkDescriptor
		ids.ParseTLVs(n.LinkDesc)
		var rate float32
		if ls.Link.Bandwidth != nil {
			rate = *ls.Link.Bandwidth
		}
		say("link %s port %d to %s port %d, metric %d, %g octets/s", node(n.LocalNodeDesc),
			*ids.LinkLocalID, node(n.RemoteNodeDesc), *ids.LinkRemoteID, *ls.Link.IGPMetric, rate)
		for _, x := range tlvs {
			if x, ok := x.(*bgp.LsTLVSrv6EndXSID); ok {
				e := x.Extract()
				say("end.x %s port %d: %v behavior %d", node(n.LocalNodeDesc), *ids.LinkLocalID, e.SIDs[0],
					e.EndpointBehavior)
			}
		}
	case *bgp.LsPrefixV6NLRI:
		var prefix bgp.LsPrefixDescriptor
		prefix.ParseTLVs(n.PrefixDesc, true)
		say("prefix %s %v", node(n.LocalNodeDesc), prefix.IPReachability[0].String())
	case *bgp.LsSrv6SIDNLRI:
		say("sid %s %v behavior %d", node(n.LocalNodeDesc), n.Srv6SIDInfo.(*bgp.LsTLVSrv6SIDInfo).SIDs[0],
			ls.Srv6SID.Srv6EndpointBehavior.EndpointBehavior)
	default:
		t.Fatalf("GoBGP makes a %T of a route", n)
	}
	return lines
}
