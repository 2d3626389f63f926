package bgpls

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/config/oc"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"
)

func newServer(c *Config, name func(netip.Addr) (peerKey, bool)) *server.BgpServer {
	var options []server.ServerOption
	if c.Logger != nil {
		options = append(options, server.LoggerOption(slog.New(&logHandler{c.Logger.Handler(), name}),
			nil))
	}
	return server.NewBgpServer(options...)
}

func globalOf(c *Config, listen netip.AddrPort) *api.Global {
	return &api.Global{
		Asn:             c.ASN,
		RouterId:        c.RouterID.String(),
		ListenPort:      int32(listen.Port()),
		ListenAddresses: []string{listen.Addr().String()},
		Families:        []uint32{uint32(oc.AfiSafiTypeToIntMap[oc.AFI_SAFI_TYPE_LS])},
	}
}

// neighborOf returns a peer as the server sees it: at an address on the
// loopback interface, and always the one that connects.
func neighborOf(c *Config, p *Peer, inner netip.Addr) *api.Peer {
	family := &api.Family{Afi: api.Family_AFI_LS, Safi: api.Family_SAFI_LS}
	return &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: inner.String(), PeerAsn: p.ASN},
		Transport: &api.Transport{PassiveMode: true},
		Timers: &api.Timers{Config: &api.TimersConfig{
			HoldTime:          uint64(c.HoldTime / time.Second),
			KeepaliveInterval: uint64(c.HoldTime / time.Second / 3),
		}},
		// The capability alone: it makes speakers send the End-of-RIB marker.
		GracefulRestart: &api.GracefulRestart{Enabled: true, HelperOnly: true, RestartTime: 1},
		AfiSafis: []*api.AfiSafi{{
			Config:            &api.AfiSafiConfig{Family: family, Enabled: true},
			MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: true}},
		}},
	}
}

// watchActive calls active with the address of every neighbor that begins to
// accept a connection.
func watchActive(ctx context.Context, s *server.BgpServer, active func(netip.Addr)) error {
	callbacks := server.WatchEventMessageCallbacks{
		OnPeerUpdate: func(e *apiutil.WatchEventMessage_PeerEvent, _ time.Time) {
			if e.Type == apiutil.PEER_EVENT_STATE && e.Peer.State.SessionState == bgp.BGP_FSM_ACTIVE {
				active(e.Peer.State.NeighborAddress)
			}
		},
	}
	if err := s.WatchEvent(ctx, callbacks, server.WatchPeer()); err != nil {
		return fmt.Errorf("bgpls: watch: %w", err)
	}
	return nil
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
