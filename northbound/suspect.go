package northbound

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/topology"
)

func (s *Server) registerSuspects() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-suspects", Method: http.MethodGet, Security: asks(access.Read), Path: "/v1/suspects", Tags: []string{fabricTag},
		Summary: "List the links that lose packets", Description: "From what hosts report of EVs, from probes and from the switches' counters. The surest first, and after them those that are denied for it.", Errors: []int{501},
	}), s.listSuspects)
}

func (s *Server) listSuspects(ctx context.Context, _ *struct{}) (*struct{ Body api.List[api.Suspect] }, error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	all, err := m.Suspects(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	out, snap := api.List[api.Suspect]{Items: make([]api.Suspect, 0, len(all))}, s.controller.Topology()
	for i := range all {
		out.Items = append(out.Items, s.viewSuspect(snap, &all[i]))
	}
	return &struct{ Body api.List[api.Suspect] }{out}, nil
}

func (s *Server) viewSuspect(snap *topology.Snapshot, p *mrc.Suspect) api.Suspect {
	v := api.Suspect{
		Links: append([]topology.LinkID{}, p.Links...), From: p.From, To: p.To, Confidence: rounded(p.Confidence), Loss: rounded(p.Loss),
		Evidence: api.SuspectEvidence{Sent: p.Sent, Lost: p.Lost, Paths: p.Paths}, Since: s.at(p.Since), Denied: p.Denied, Why: p.Why,
	}
	if p.From != "" {
		v.FromName, v.ToName = nodeName(snap, p.From), nodeName(snap, p.To)
	}
	if end := p.End; end != nil {
		v.Host, v.HostPort = end.Host, end.Port
		host := cmp.Or(end.Host, "a host")
		if end.Receiving {
			v.From, v.FromName, v.ToName = end.Leaf, nodeName(snap, end.Leaf), host
		} else {
			v.FromName, v.To, v.ToName = host, end.Leaf, nodeName(snap, end.Leaf)
		}
	}
	return v
}

// rounded is a share to a millionth: what is behind that is noise.
func rounded(share float64) float64 { return math.Round(share*1e6) / 1e6 }

func hexadecimal(n uint64) string { return fmt.Sprintf("0x%x", n) }
