package northbound

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/telemetry"
	"github.com/weft-sdn/weft/topology"
)

func (s *Server) registerMatrices() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-utilization-matrix", Method: http.MethodGet, Security: asks(access.Read), Path: telemetryPath + "/matrices/{plane}", Tags: []string{telemetryTag},
		Summary: "Get the utilization of a plane, T0 by T1", Errors: []int{404, 422, 501},
	}), s.getMatrix)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-plane-balance", Method: http.MethodGet, Security: asks(access.Read), Path: telemetryPath + "/balance", Tags: []string{telemetryTag},
		Summary:     "List how evenly leaves use the planes",
		Description: "By plane and leaf. Packets of MRC are sprayed evenly over all paths, so an uneven use is often the first sign of a fault.",
		Errors:      []int{422, 501},
	}), s.listBalance)
}

// uplinks are the links up from tier 0, as telemetry knows their ports.
type uplinks struct {
	version uint64 // of the topology
	planes  map[int]*planeLinks
}

// planeLinks are those of a plane.
type planeLinks struct {
	rows, columns []string
	links         []telemetry.Row // by row
}

// layout keeps the uplinks of one version of the topology.
type layout struct {
	mu   sync.Mutex
	last *uplinks
}

// uplinks returns the links up of the present topology.
func (s *Server) uplinks(ctx context.Context) (*uplinks, error) {
	if s.cfg.Multipath == nil {
		return nil, newProblem(codeNoSection, "the controller has no MRC fabric: its configuration has no mrc section with a mode")
	}
	s.layout.mu.Lock()
	defer s.layout.mu.Unlock()
	snap := s.controller.Topology()
	if l := s.layout.last; l != nil && l.version == snap.Version {
		return l, nil
	}
	nodes, _, err := s.cfg.Multipath.Nodes(ctx, mrc.Page{})
	if err != nil {
		return nil, problemOf(err)
	}
	switches, err := s.switches(ctx)
	if err != nil {
		return nil, err
	}
	names, tiers := make(map[topology.NodeID]string), make(map[topology.NodeID]int)
	for i := range nodes {
		n := &nodes[i]
		names[n.ID], tiers[n.ID] = nodeName(snap, n.ID), *n.Status.Tier
	}
	for i := range switches {
		if node := topology.NodeID(switches[i].Node); node != "" {
			names[node] = switches[i].Name
		}
	}
	out := &uplinks{version: snap.Version, planes: make(map[int]*planeLinks)}
	type up struct {
		row, column string
		port        uint32
	}
	found := make(map[int][]up)
	inv := s.controller.Inventory()
	page := mrc.Page{Limit: columnsAtOnce}
	for more := true; more; {
		var links []api.Link
		if links, more, err = s.cfg.Multipath.Links(ctx, mrc.LinkFilter{}, page); err != nil {
			return nil, problemOf(err)
		}
		for i := range links {
			st := &links[i].Status
			page.After = string(links[i].ID)
			l := snap.Link(links[i].ID)
			if l == nil || tiers[st.From] != 0 || tiers[st.To] != 1 {
				continue
			}
			port := l.LocalPort
			if sw := inv.Switch(names[st.From]); sw != nil {
				port = sw.Port(l.LocalID, l.LocalPort)
			}
			found[st.Plane] = append(found[st.Plane], up{names[st.From], names[st.To], port})
		}
		more = more && len(links) > 0
	}
	for plane, all := range found {
		p := &planeLinks{}
		for _, l := range all {
			p.rows, p.columns = append(p.rows, l.row), append(p.columns, l.column)
		}
		for _, list := range []*[]string{&p.rows, &p.columns} {
			slices.SortFunc(*list, natural.Compare)
			*list = slices.Compact(*list)
		}
		p.links = make([]telemetry.Row, len(p.rows))
		for r, name := range p.rows {
			p.links[r] = telemetry.Row{Switch: name, Columns: make(map[uint32]int)}
		}
		for _, l := range all {
			r, _ := slices.BinarySearchFunc(p.rows, l.row, natural.Compare)
			c, _ := slices.BinarySearchFunc(p.columns, l.column, natural.Compare)
			p.links[r].Columns[l.port] = c
		}
		out.planes[plane] = p
	}
	s.layout.last = out
	return out, nil
}

func (s *Server) getMatrix(ctx context.Context, in *struct {
	Plane int    `path:"plane" minimum:"1" doc:"Number of the plane."`
	Over  string `query:"over" maxLength:"10" doc:"The time up to now that values are means of, 1s to 15m. Default 10s."`
}) (*struct{ Body api.Matrix }, error) {
	over, err := lately(in.Over)
	if err != nil {
		return nil, err
	}
	all, err := s.uplinks(ctx)
	if err != nil {
		return nil, err
	}
	p := all.planes[in.Plane]
	if p == nil {
		return nil, newProblem(string(api.CodeNotFound), fmt.Sprintf("plane %d has no links from tier 0 to tier 1", in.Plane))
	}
	now := s.cfg.Now()
	m := api.Matrix{Plane: in.Plane, Over: int(over / time.Second), Time: now.UTC(), Rows: p.rows, Columns: p.columns}
	m.Up, m.Down = s.cfg.Telemetry.Matrix(p.links, len(p.columns), over, now)
	return &struct{ Body api.Matrix }{m}, nil
}
