package mrc

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/hostapi"
)

// Cell is what probes of an EV have shown.
type Cell struct {
	Profile     string
	Source      string // the host that probed last, and whom
	Destination string
	EV          hostapi.EV
	At          time.Duration
	// Sent and Received count the probes. Loss is the part of them that was lost, of 1: an
	// average in which a probe weighs less the older it is.
	Sent, Received uint64
	Loss           float64
	// RTTs are of the last probes that were answered.
	RTTMin, RTTMean, RTTMax time.Duration
}

// lossWeight is the weight of a probe in the moving average of many.
const lossWeight = 1.0 / 16

// lossAges is what the weight of a probe has become after n later ones.
func lossAges(n uint64) float64 { return math.Pow(1-lossWeight, float64(n)) }

// note notes the result of a probe in the matrix.
func (p *probe) note(now time.Duration, r *hostapi.ProbeResult) {
	if p.profile.cells == nil {
		p.profile.cells = make(map[hostapi.EV]*Cell)
	}
	cell := p.profile.cells[p.ev]
	loss := float64(r.Sent-r.Received) / float64(r.Sent)
	if cell == nil {
		cell = &Cell{Profile: p.profile.name, EV: p.ev}
		p.profile.cells[p.ev] = cell
	}
	cell.Source, cell.Destination, cell.At = p.host.Name, p.peer, now
	// The sum of all weights is 1 only after many probes: without the division, the first ones
	// would count for the many that never were.
	keep, weights := lossAges(uint64(r.Sent)), 1-lossAges(cell.Sent)
	cell.Sent += uint64(r.Sent)
	cell.Received += uint64(r.Received)
	cell.Loss = (keep*cell.Loss*weights + (1-keep)*loss) / (1 - lossAges(cell.Sent))
	if r.Received > 0 {
		cell.RTTMin, cell.RTTMean, cell.RTTMax = r.RTTMin, r.RTTMean, r.RTTMax
	}
}

// Matrix returns what probes have shown, by profile and EV.
func (c *Core) Matrix() []Cell {
	var out []Cell
	for _, p := range c.profiles.all {
		from := len(out)
		for _, cell := range p.cells {
			out = append(out, *cell)
		}
		slices.SortFunc(out[from:], func(a, b Cell) int { return cmp.Or(cmp.Compare(a.Profile, b.Profile), a.EV.Compare(b.EV)) })
	}
	return out
}

// CellFilter says which cells of the matrix are meant; the zero value is all.
type CellFilter struct {
	Profile string
	// Source and Destination are the names of hosts.
	Source, Destination string
}

// Key is what cells are ordered and continued by.
func (c *Cell) Key() string { return c.Profile + " " + c.EV.String() }

// CellPage returns cells of the matrix by profile and EV, and whether there are
// more. A key of a cell that is gone is the place where it was.
func (c *Core) CellPage(f CellFilter, page Page) (out []Cell, more bool) {
	out = []Cell{}
	name, text, _ := strings.Cut(page.After, " ")
	after, err := hostapi.ParseEV(text)
	resumed := err == nil
	from := c.profiles.after(name)
	if from > 0 && c.profiles.all[from-1].name == name {
		from-- // the rest of its cells
	}
	for _, p := range c.profiles.all[from:] {
		if f.Profile != "" && p.name != f.Profile {
			continue
		}
		var cells []*Cell
		for _, cell := range p.cells {
			if (f.Source == "" || cell.Source == f.Source) && (f.Destination == "" || cell.Destination == f.Destination) &&
				!(resumed && p.name == name && cell.EV.Compare(after) <= 0) {
				cells = append(cells, cell)
			}
		}
		slices.SortFunc(cells, func(a, b *Cell) int { return a.EV.Compare(b.EV) })
		for _, cell := range cells {
			if page.full(len(out)) {
				return out, true
			}
			out = append(out, *cell)
		}
	}
	return out, false
}
