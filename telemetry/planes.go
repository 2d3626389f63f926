package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
)

// Uplink is a link from a tier 0 switch up to a tier 1 switch.
type Uplink struct {
	Plane int
	// From and To are the names of the switches; Port is the port of From.
	From, To string
	Port     uint32
}

// PlanesConfig configures Planes.
type PlanesConfig struct {
	Store *Store
	Now   func() time.Time
	Log   *slog.Logger
	// Uplinks returns the uplinks, and the key that they are known by: nil for the links while
	// known is their key.
	Uplinks func(ctx context.Context, known any) (links []Uplink, key any, err error)
}

// Planes judges how the leaves of a fabric use its planes. Its methods may be called from any
// goroutine. Their errors are those of Uplinks.
type Planes struct {
	cfg      PlanesConfig
	verdicts planeVerdicts

	// mu guards the fields below it.
	mu   sync.Mutex
	key  any
	last map[int]*planeLinks // of the key; nil: there is none yet
}

// planeLinks are the uplinks of a plane.
type planeLinks struct {
	rows, columns []string
	links         []Row // by row
}

// NewPlanes returns the judge of the planes of a fabric.
func NewPlanes(cfg PlanesConfig) *Planes { return &Planes{cfg: cfg} }

// layout returns the present uplinks by plane, as matrices know them.
func (p *Planes) layout(ctx context.Context) (map[int]*planeLinks, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, key, err := p.cfg.Uplinks(ctx, p.key)
	if err != nil {
		return nil, err
	}
	if p.last != nil && key == p.key {
		return p.last, nil
	}
	found := make(map[int][]Uplink)
	for _, l := range all {
		found[l.Plane] = append(found[l.Plane], l)
	}
	out := make(map[int]*planeLinks, len(found))
	for plane, links := range found {
		out[plane] = layoutOf(links)
	}
	p.last, p.key = out, key
	return out, nil
}

func layoutOf(all []Uplink) *planeLinks {
	p := &planeLinks{}
	for _, l := range all {
		p.rows, p.columns = append(p.rows, l.From), append(p.columns, l.To)
	}
	for _, list := range []*[]string{&p.rows, &p.columns} {
		slices.SortFunc(*list, natural.Compare)
		*list = slices.Compact(*list)
	}
	p.links = make([]Row, len(p.rows))
	for r, name := range p.rows {
		p.links[r] = Row{Switch: name, Columns: make(map[uint32]int)}
	}
	for _, l := range all {
		r, _ := slices.BinarySearchFunc(p.rows, l.From, natural.Compare)
		c, _ := slices.BinarySearchFunc(p.columns, l.To, natural.Compare)
		p.links[r].Columns[l.Port] = c
	}
	return p
}

// Matrix returns the utilization of a plane, T0 by T1, in the time over that ends at until. The
// error is an *[api.Error] when the plane has no such links.
func (p *Planes) Matrix(ctx context.Context, plane int, over time.Duration,
	until time.Time) (api.Matrix, error) {
	all, err := p.layout(ctx)
	if err != nil {
		return api.Matrix{}, err
	}
	links := all[plane]
	if links == nil {
		return api.Matrix{}, &api.Error{
			Code:    api.CodeNotFound,
			Message: fmt.Sprintf("plane %d has no links from tier 0 to tier 1", plane),
		}
	}
	m := api.Matrix{
		Plane: plane, Over: int(over / time.Second), Time: until.UTC(),
		Rows: links.rows, Columns: links.columns,
	}
	m.Up, m.Down = p.cfg.Store.Matrix(links.links, len(links.columns), over, until)
	return m, nil
}
