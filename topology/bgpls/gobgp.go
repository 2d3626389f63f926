package bgpls

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/config/oc"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"
)

// connectRetry is GoBGP's smallest.
const connectRetry = 2 // seconds

// maxTTL is the TTL of sessions between autonomous systems: a controller is
// seldom next to its routers.
const maxTTL = 255

func newServer(c *Config) *server.BgpServer {
	var options []server.ServerOption
	if c.Logger != nil {
		options = append(options, server.LoggerOption(c.Logger, nil))
	}
	return server.NewBgpServer(options...)
}

func globalOf(c *Config, listen netip.AddrPort) *api.Global {
	g := &api.Global{
		Asn:        c.ASN,
		RouterId:   c.RouterID.String(),
		ListenPort: -1,
		Families:   []uint32{uint32(oc.AfiSafiTypeToIntMap[oc.AFI_SAFI_TYPE_LS])},
	}
	if listen.IsValid() {
		g.ListenPort = int32(listen.Port())
		g.ListenAddresses = []string{listen.Addr().String()}
	}
	return g
}

func peerOf(c *Config, p *Peer) *api.Peer {
	family := &api.Family{Afi: api.Family_AFI_LS, Safi: api.Family_SAFI_LS}
	peer := &api.Peer{
		Conf: &api.PeerConf{NeighborAddress: p.Address.String(), PeerAsn: p.ASN, AuthPassword: p.Password},
		Transport: &api.Transport{
			PassiveMode: p.Passive,
			RemotePort:  uint32(p.Port),
		},
		Timers: &api.Timers{Config: &api.TimersConfig{
			ConnectRetry:           connectRetry,
			HoldTime:               uint64(c.HoldTime / time.Second),
			KeepaliveInterval:      uint64(c.HoldTime / time.Second / 3),
			IdleHoldTimeAfterReset: 1,
		}},
		// The capability alone: it makes speakers send the End-of-RIB marker.
		GracefulRestart: &api.GracefulRestart{Enabled: true, HelperOnly: true, RestartTime: 1},
		AfiSafis: []*api.AfiSafi{{
			Config:            &api.AfiSafiConfig{Family: family, Enabled: true},
			MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: true}},
		}},
	}
	if p.LocalAddress.IsValid() {
		peer.Transport.LocalAddress = p.LocalAddress.String()
	}
	if p.ASN != c.ASN {
		peer.EbgpMultihop = &api.EbgpMultihop{Enabled: true, MultihopTtl: maxTTL}
	}
	return peer
}

// ownOnly is an export policy that lets out what the speaker originates: what
// one peer says is not for the others.
func ownOnly() (*api.AddPolicyRequest, *api.SetPolicyAssignmentRequest) {
	policy := &api.Policy{Name: "own", Statements: []*api.Statement{{
		Name:       "own",
		Conditions: &api.Conditions{RouteType: api.Conditions_ROUTE_TYPE_LOCAL},
		Actions:    &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_ACCEPT},
	}}}
	return &api.AddPolicyRequest{Policy: policy}, &api.SetPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
		Name:          "global",
		Direction:     api.PolicyDirection_POLICY_DIRECTION_EXPORT,
		Policies:      []*api.Policy{policy},
		DefaultAction: api.RouteAction_ROUTE_ACTION_REJECT,
	}}
}

// pathOf returns a route of our own. The attribute is passed as octets, since
// GoBGP would drop the TLVs it does not know.
func pathOf(a advertisement) (*apiutil.Path, error) {
	nlri, err := bgp.NLRIFromSlice(bgp.RF_LS, a.nlri)
	if err != nil {
		return nil, fmt.Errorf("bgpls: NLRI %x: %w", a.nlri, err)
	}
	nextHop, err := bgp.NewPathAttributeNextHop(netip.IPv4Unspecified()) // the session's local address
	if err != nil {
		return nil, err
	}
	return &apiutil.Path{
		Family: bgp.RF_LS,
		Nlri:   nlri,
		Age:    time.Now().Unix(),
		Attrs: []bgp.PathAttributeInterface{
			bgp.NewPathAttributeOrigin(bgp.BGP_ORIGIN_ATTR_TYPE_IGP),
			nextHop,
			bgp.NewPathAttributeUnknown(bgp.BGP_ATTR_FLAG_OPTIONAL, bgp.BGP_ATTR_TYPE_LS, a.attribute),
		},
	}, nil
}

func isEstablished(s bgp.FSMState) bool { return s == bgp.BGP_FSM_ESTABLISHED }

func stateName(s bgp.FSMState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "BGP_FSM_"))
}

// freePort returns an address with a port that was free just now. GoBGP cannot
// listen on a port it is not told.
func freePort(listen netip.AddrPort) (netip.AddrPort, error) {
	if listen.Port() != 0 {
		return listen, nil
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(listen))
	if err != nil {
		return listen, fmt.Errorf("bgpls: listen: %w", err)
	}
	defer l.Close()
	return netip.AddrPortFrom(listen.Addr(), l.Addr().(*net.TCPAddr).AddrPort().Port()), nil
}
