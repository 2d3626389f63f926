// Package maxmin computes the rates that flows would get from a network if they were fluids: the
// max-min fair rates of flows, each divided over several paths in any proportion. The rates are a
// yardstick for packets in a network; the package knows neither packets nor time.
package maxmin

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrDemand: a demand cannot be met at any rate, or contains an unusable number.
var ErrDemand = errors.New("invalid demand")

// A Demand is a set of flows with the same paths. By symmetry all its flows get the same rate.
type Demand struct {
	Flows int // 1 or more
	// links of each path, as indexes of capacities; a path without links is not limited by any
	Paths [][]int
}

// Two rates count as equal below this difference, in parts of the greatest capacity. The solver's
// own tolerance is far below.
const (
	solverTolerance = 1e-10
	tolerance       = 1e-6
)

// Rates returns the max-min fair rate of a flow of each demand, in the unit of the capacities: no
// flow can get more unless a flow with an equal or lower rate gets less. These rates are unique.
// Rates raises all demands alike until some demands cannot rise, fixes their rates, and goes on
// with the rest (progressive filling; D. Bertsekas and R. Gallager, Data Networks, section 6.5.2,
// for one path a flow). The error wraps ErrDemand.
func Rates(capacities []float64, demands []Demand) ([]float64, error) {
	largest := 0.0
	for i, c := range capacities {
		if c < 0 {
			return nil, fmt.Errorf("capacity of link %d: %v: want 0 or more: %w", i, c, ErrDemand)
		}
		largest = max(largest, c)
	}
	for i, d := range demands {
		switch {
		case d.Flows < 1:
			return nil, fmt.Errorf("demand %d: %d flows: want 1 or more: %w", i, d.Flows, ErrDemand)
		case slices.ContainsFunc(d.Paths, func(p []int) bool { return len(p) == 0 }):
			return nil, fmt.Errorf("demand %d: a path without links: %w", i, ErrDemand)
		}
		for _, p := range d.Paths {
			for _, l := range p {
				if l < 0 || l >= len(capacities) {
					return nil, fmt.Errorf("demand %d: link %d: want 0 to %d: %w", i, l, len(capacities)-1,
						ErrDemand)
				}
			}
		}
	}
	f := filling{demands: demands, capacities: make([]float64, len(capacities)),
		rates: make([]float64, len(demands)), fixed: make([]bool, len(demands))}
	for i, c := range capacities {
		f.capacities[i] = c / max(largest, 1)
		if largest > 0 {
			f.capacities[i] = c / largest
		}
	}
	for i, d := range demands {
		f.fixed[i] = len(d.Paths) == 0 // at 0
	}
	for slices.Contains(f.fixed, false) {
		if err := f.raise(); err != nil {
			return nil, err
		}
	}
	for i := range f.rates {
		f.rates[i] *= largest
	}
	return f.rates, nil
}

// A filling is the state of progressive filling. Capacities are parts of the greatest.
type filling struct {
	capacities []float64
	demands    []Demand
	rates      []float64 // of a flow; of demands that are not fixed, the rate that all of these have
	fixed      []bool
}

// raise raises all rates that are not fixed together, as far as possible, and then fixes every rate
// that cannot rise alone.
func (f *filling) raise() error {
	together := make([]float64, len(f.demands))
	for i := range f.demands {
		if !f.fixed[i] {
			together[i] = 1
		}
	}
	level, err := f.most(together, f.rates)
	if err != nil {
		return err
	}
	var rising []int
	for i := range f.demands {
		if !f.fixed[i] {
			rising = append(rising, i)
			f.rates[i] += level
		}
	}
	stuck := 0
	for _, i := range rising {
		alone := make([]float64, len(f.demands))
		alone[i] = 1
		// A rounding error may make an exactly full link look over-full.
		base := slices.Clone(f.rates)
		for j := range base {
			base[j] *= 1 - tolerance/10
		}
		more, err := f.most(alone, base)
		if err != nil {
			return err
		}
		if more < tolerance {
			f.fixed[i] = true
			stuck++
		}
	}
	if stuck == 0 {
		return fmt.Errorf("fluid: no demand of %d is limited at a level of %v: %w", len(rising), level,
			ErrDemand)
	}
	return nil
}

// most returns the greatest t for which every flow of each demand gets base + t x grow.
func (f *filling) most(grow, base []float64) (float64, error) {
	paths := 0
	for _, d := range f.demands {
		paths += len(d.Paths)
	}
	// Columns: the rate of each path, the slack of each link, t. Rows: links, demands.
	var used []int // links on paths
	row := make([]int, len(f.capacities))
	for i := range row {
		row[i] = -1
	}
	for _, d := range f.demands {
		for _, p := range d.Paths {
			for _, l := range p {
				if row[l] < 0 {
					row[l] = len(used)
					used = append(used, l)
				}
			}
		}
	}
	var carried []int // demands with paths
	for i, d := range f.demands {
		if len(d.Paths) > 0 {
			carried = append(carried, i)
		}
	}
	rows, columns := len(used)+len(carried), paths+len(used)+1
	t := columns - 1
	p := tableau{a: make([][]float64, rows+2), basis: make([]int, rows)}
	for r := range p.a {
		p.a[r] = make([]float64, columns+1)
	}
	for r, l := range used {
		p.a[r][paths+r], p.a[r][columns], p.basis[r] = 1, f.capacities[l], paths+r
	}
	column := 0
	for k, i := range carried {
		r := len(used) + k
		for _, path := range f.demands[i].Paths {
			p.a[r][column] = 1 / float64(f.demands[i].Flows)
			for _, l := range path {
				p.a[row[l]][column]++
			}
			column++
		}
		p.a[r][t], p.a[r][columns], p.basis[r] = -grow[i], base[i], columns+k
		for j, v := range p.a[r] {
			p.a[rows][j] -= v
		}
	}
	p.a[rows+1][t] = -1
	off, least := p.solve()
	if off > tolerance || math.IsInf(least, 0) {
		return 0, fmt.Errorf("fluid: %d links, %d demands: no rates by %v: %w", len(used), len(carried),
			off, ErrDemand)
	}
	return -least, nil
}
