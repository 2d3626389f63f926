package northbound

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/topology"
)

// BGP is the part of the BGP-LS speaker that the API needs.
type BGP interface {
	// Peers returns the configured peers and their sessions, by address and port.
	Peers() []topology.Peer
}

// BGPPeerParam is exported because huma passes over other embedded types.
type BGPPeerParam struct {
	Name string `path:"name" maxLength:"64" doc:"Name of the peer."`
}

func (s *Server) registerBGPPeers() {
	const path = "/v1/bgp-peers"
	register(s, huma.Operation{
		OperationID: "list-bgp-peers", Method: http.MethodGet, Security: asks(access.Read), Path: path,
		Tags:    []string{"network"},
		Summary: "List the BGP-LS peers",
		Description: "The speakers that the topology is learned from, as configured, and their " +
			"sessions, in the order of address and port.",
	}, func(context.Context, *struct{}) (*api.List[api.BGPPeer], error) {
		return &api.List[api.BGPPeer]{Items: bgpPeers(&s.cfg)}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-bgp-peer", Method: http.MethodGet, Security: asks(access.Read),
		Path: path + "/{name}", Tags: []string{"network"},
		Summary: "Get a BGP-LS peer", Errors: []int{404},
	}, func(_ context.Context, in *BGPPeerParam) (*api.BGPPeer, error) {
		all := bgpPeers(&s.cfg)
		i := slices.IndexFunc(all, func(p api.BGPPeer) bool { return p.Name == in.Name })
		if i < 0 {
			return nil, newProblem(string(api.CodeNotFound), fmt.Sprintf("there is no BGP-LS peer %q",
				in.Name))
		}
		return &all[i], nil
	})
}

func bgpPeers(cfg *Config) []api.BGPPeer {
	out := []api.BGPPeer{}
	if cfg.BGP == nil {
		return out
	}
	for _, p := range cfg.BGP.Peers() {
		if p.LastFault != nil {
			fault := *p.LastFault
			fault.Reason, p.LastFault = plain.Text(fault.Reason), &fault
		}
		out = append(out, api.BGPPeer{
			Name: p.Name(), Address: p.Address, Port: p.Port, ASN: p.ASN, State: p.State, Since: p.Since,
			LastError: plain.Text(p.LastError),
			Synced:    p.Synced, Sessions: p.Sessions, Updates: p.Updates, NLRIs: p.NLRIs,
			MalformedNLRIs: p.MalformedNLRIs, DiscardedAttributes: p.DiscardedAttributes,
			LastFault: p.LastFault, Kept: p.Kept, Unplaced: p.UnplacedSIDs,
			Refused: p.Refused, Notifications: p.Notifications,
		})
	}
	return out
}

// bgpCollector reads the peers for one scrape.
type bgpCollector struct{ bgp BGP }

var (
	peerLabels          = []string{"peer"}
	peerEstablishedDesc = prometheus.NewDesc("weft_bgp_peer_established",
		"1 while there is a session with the BGP-LS peer.", peerLabels, nil)
	peerSyncedDesc = prometheus.NewDesc("weft_bgp_peer_synced",
		"1 when the BGP-LS peer has sent all that it has in this session.", peerLabels, nil)
	peerSessionsDesc = prometheus.NewDesc("weft_bgp_peer_sessions_total",
		"Sessions established with the BGP-LS peer.", peerLabels, nil)
	peerUpdatesDesc = prometheus.NewDesc("weft_bgp_peer_updates_total",
		"UPDATE messages received from the BGP-LS peer.", peerLabels, nil)
	peerRefusedDesc = prometheus.NewDesc("weft_bgp_peer_refused_nlris_total",
		"NLRIs of nodes that the BGP-LS peer may not describe.", peerLabels, nil)
	peerMalformedDesc = prometheus.NewDesc("weft_bgp_peer_malformed_total",
		"NLRIs and BGP-LS attributes of the peer that were malformed and left out.",
		[]string{"peer", "object"}, nil)
	peerNotifiedDesc = prometheus.NewDesc("weft_bgp_peer_notifications_total",
		"NOTIFICATION messages that ended sessions with the BGP-LS peer.",
		[]string{"peer", "direction", "code", "subcode"}, nil)
	peerNLRIsDesc = prometheus.NewDesc("weft_bgp_peer_nlris",
		"NLRIs of the BGP-LS peer that are in the topology.", []string{"peer", "type"}, nil)
)

// Describe implements [prometheus.Collector].
func (c *bgpCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{peerEstablishedDesc, peerSyncedDesc, peerSessionsDesc,
		peerUpdatesDesc, peerNLRIsDesc, peerRefusedDesc, peerMalformedDesc, peerNotifiedDesc} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *bgpCollector) Collect(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for _, p := range c.bgp.Peers() {
		name := p.Name()
		send(peerEstablishedDesc, prometheus.GaugeValue, number(p.State == topology.PeerEstablished),
			name)
		send(peerSyncedDesc, prometheus.GaugeValue, number(p.Synced), name)
		send(peerSessionsDesc, prometheus.CounterValue, float64(p.Sessions), name)
		send(peerUpdatesDesc, prometheus.CounterValue, float64(p.Updates), name)
		send(peerRefusedDesc, prometheus.CounterValue, float64(p.Refused), name)
		send(peerMalformedDesc, prometheus.CounterValue, float64(p.MalformedNLRIs), name,
			string(topology.FaultNLRI))
		send(peerMalformedDesc, prometheus.CounterValue, float64(p.DiscardedAttributes), name,
			string(topology.FaultAttribute))
		for _, n := range p.Notifications {
			direction := "received"
			if n.Sent {
				direction = "sent"
			}
			send(peerNotifiedDesc, prometheus.CounterValue, float64(n.Count), name, direction,
				strconv.Itoa(int(n.Code)), strconv.Itoa(int(n.Subcode)))
		}
		send(peerNLRIsDesc, prometheus.GaugeValue, float64(p.NLRIs.Nodes), name, "node")
		send(peerNLRIsDesc, prometheus.GaugeValue, float64(p.NLRIs.Links), name, "link")
		send(peerNLRIsDesc, prometheus.GaugeValue, float64(p.NLRIs.Prefixes), name, "prefix")
		send(peerNLRIsDesc, prometheus.GaugeValue, float64(p.NLRIs.SIDs), name, "sid")
	}
}
