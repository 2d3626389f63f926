package northbound

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/topology"
)

// suspectView is a link, in one direction, that loses packets.
type suspectView struct {
	Links      []topology.LinkID `json:"links" nullable:"false" doc:"One direction of a link; several that the evidence does not tell apart."`
	From       topology.NodeID   `json:"from,omitempty" doc:"Where the one link starts, of links of the fabric."`
	FromName   string            `json:"fromName,omitempty"`
	To         topology.NodeID   `json:"to,omitempty" doc:"Where the one link ends."`
	ToName     string            `json:"toName,omitempty"`
	Confidence float64           `json:"confidence" doc:"Probability, of 1, that it is this link and no other, nor none."`
	Loss       float64           `json:"loss" doc:"Share, of 1, of the packets across it that are lost beyond what is lost elsewhere."`
	Evidence   suspectEvidence   `json:"evidence"`
	Since      time.Time         `json:"since" doc:"When it was first named."`
	Denied     bool              `json:"denied" doc:"EVs over it are denied."`
	Why        string            `json:"why,omitempty" doc:"Why they are not."`
}

type suspectEvidence struct {
	Sent  uint64 `json:"sent" doc:"Packets across it that say so."`
	Lost  uint64 `json:"lost" doc:"Of those, lost ones."`
	Paths int    `json:"paths" doc:"Paths that they took."`
}

type suspectList struct {
	Items []suspectView `json:"items" nullable:"false" doc:"The surest first, and after them those that are denied for it."`
}

func (s *Server) registerSuspects() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-suspects", Method: http.MethodGet, Path: "/v1/suspects", Tags: []string{fabricTag},
		Summary: "List the links that lose packets", Description: "From what hosts report of EVs, from probes and from the switches' counters.", Errors: []int{501},
	}), s.listSuspects)
}

func (s *Server) listSuspects(ctx context.Context, _ *struct{}) (*struct{ Body suspectList }, error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	all, err := m.Suspects(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	out, snap := suspectList{Items: make([]suspectView, 0, len(all))}, s.controller.Topology()
	for i := range all {
		out.Items = append(out.Items, s.viewSuspect(snap, &all[i]))
	}
	return &struct{ Body suspectList }{out}, nil
}

func (s *Server) viewSuspect(snap *topology.Snapshot, p *mrc.Suspect) suspectView {
	v := suspectView{
		Links: append([]topology.LinkID{}, p.Links...), From: p.From, To: p.To, Confidence: rounded(p.Confidence), Loss: rounded(p.Loss),
		Evidence: suspectEvidence{Sent: p.Sent, Lost: p.Lost, Paths: p.Paths}, Since: s.at(p.Since), Denied: p.Denied, Why: p.Why,
	}
	if p.From != "" {
		v.FromName, v.ToName = nodeName(snap, p.From), nodeName(snap, p.To)
	}
	return v
}

// rounded is a share to a millionth: what is behind that is noise.
func rounded(share float64) float64 { return math.Round(share*1e6) / 1e6 }

func hexadecimal(n uint64) string { return fmt.Sprintf("0x%x", n) }
