package maxmin

import (
	"context"
	"slices"
)

// A Parted demand is a number of equal flows, each of which sends over several paths at once. The
// rates of the paths grow in proportion to the shares; a full path stops, and the others go on.
type Parted struct {
	Flows float64 // above 0
	Paths []Path
	// Most is the rate that a flow needs at most; 0: there is no bound.
	Most float64
}

// A Path is links that a share of a flow crosses.
type Path struct {
	Share float64 // above 0; of the sum over the paths
	Uses  []Use   // not changed: paths may share them
	Ends  [2]Use  // the path's own; Part 0: none
}

// All returns all links of the path.
func (p *Path) All() [2][]Use { return [2][]Use{p.Uses, p.Ends[:]} }

// A Use is a link, and the part of the path's rate that crosses the link: less than 1 where a class
// of links stands for each of them.
type Use struct {
	Link int32
	Part float64
}

// Filled is the outcome of Fill.
type Filled struct {
	Rates []float64 // of a flow, by demand
	Loads []float64 // by link
	Bound []int32   // by demand: the link that filled its last path; -1: none did
}

// full bounds the free capacity of a full link, as a part of its capacity.
const full = 1e-9

// Fill raises the rates of all flows alike until a link is full, goes on with the remaining paths,
// and ends when no path remains: progressive filling for flows that spread over their paths as long
// as they find room (D. Bertsekas and R. Gallager, Data Networks, section 6.5.2, for one path a
// flow). Unlike [Rates], Fill never takes capacity back from a path, so that a flow with many paths
// may keep a part of a link that another flow depends on. A demand without paths has rate 0. Fill
// returns early with the error of a ctx that has ended.
//
// A full link costs work for the demands across it alone.
func Fill(ctx context.Context, capacities []float64, demands []Parted) (Filled, error) {
	f := filler{demands: demands, growth: make([]float64, len(capacities)),
		users: make([]int32, len(capacities)), closed: make([]bool, len(capacities)),
		shares: make([]float64, len(demands)), open: make([][]bool, len(demands)),
		Filled: Filled{Rates: make([]float64, len(demands)), Loads: make([]float64, len(capacities)),
			Bound: make([]int32, len(demands))}}
	var bounded []int32 // demands with a most that are live
	live := 0
	for i := range demands {
		f.Bound[i] = -1
		f.open[i] = make([]bool, len(demands[i].Paths))
		for w := range demands[i].Paths {
			f.open[i][w] = true
			f.shares[i] += demands[i].Paths[w].Share
		}
		if f.shares[i] > 0 {
			f.add(int32(i), 1)
			live++
			if demands[i].Most > 0 {
				bounded = append(bounded, int32(i))
			}
		}
	}
	at := f.index()
	var rising, hit []int32
	for l, n := range f.users {
		if n > 0 {
			rising = append(rising, int32(l))
		}
	}
	for level := 0.0; live > 0; {
		if err := ctx.Err(); err != nil {
			return f.Filled, err
		}
		step := -1.0
		left := rising[:0]
		for _, l := range rising {
			if f.users[l] == 0 {
				continue
			}
			left = append(left, l)
			if f.growth[l] <= 0 { // rounded: less than what others that have stopped left behind
				continue
			}
			if room := capacities[l] - f.Loads[l]; step < 0 || room < step*f.growth[l] {
				step = max(0, room/f.growth[l])
			}
		}
		rising = left
		for _, i := range bounded {
			if most := demands[i].Most; step < 0 || most-level < step {
				step = max(0, most-level)
			}
		}
		if step < 0 { // nothing bounds what is left
			for i, share := range f.shares {
				if share > 0 {
					f.Rates[i] = level
				}
			}
			break
		}
		level += step
		hit = hit[:0]
		for _, l := range rising {
			if f.Loads[l] += f.growth[l] * step; f.Loads[l] >= capacities[l]*(1-full) {
				f.closed[l] = true
				hit = append(hit, at.of[at.first[l]:at.first[l+1]]...)
			}
		}
		for _, i := range bounded {
			if level >= demands[i].Most*(1-full) {
				hit = append(hit, i)
			}
		}
		slices.Sort(hit)
		for _, i := range slices.Compact(hit) {
			if f.shares[i] > 0 && !f.close(i, level) {
				live--
			}
		}
		bounded = slices.DeleteFunc(bounded, func(i int32) bool { return f.shares[i] == 0 })
	}
	return f.Filled, nil
}

// filler is the state of Fill.
type filler struct {
	Filled
	demands []Parted
	growth  []float64 // by link: what a unit of all rates adds
	users   []int32   // by link: open paths
	closed  []bool    // by link
	open    [][]bool  // by demand and path
	shares  []float64 // by demand: of open paths; 0: its rate is final
}

// add adds what a demand's open paths do to links, times 1 or -1.
func (f *filler) add(i int32, times float64) {
	d := &f.demands[i]
	for w := range d.Paths {
		if !f.open[i][w] {
			continue
		}
		each := times * d.Flows * d.Paths[w].Share / f.shares[i]
		for _, uses := range d.Paths[w].All() {
			for _, u := range uses {
				if u.Part > 0 {
					f.growth[u.Link] += each * u.Part
					if f.users[u.Link] += int32(times); f.users[u.Link] == 0 {
						f.growth[u.Link] = 0 // and not what rounding leaves
					}
				}
			}
		}
	}
}

// close takes full links from the paths of a demand with a rate, and reports whether its rate may
// rise further.
func (f *filler) close(i int32, rate float64) bool {
	d := &f.demands[i]
	f.add(i, -1)
	f.Rates[i], f.shares[i] = rate, 0
	for w := range d.Paths {
		for _, uses := range d.Paths[w].All() {
			for _, u := range uses {
				if f.open[i][w] && u.Part > 0 && f.closed[u.Link] {
					f.open[i][w], f.Bound[i] = false, u.Link
				}
			}
		}
		if f.open[i][w] {
			f.shares[i] += d.Paths[w].Share
		}
	}
	if d.Most > 0 && rate >= d.Most*(1-full) {
		f.shares[i] = 0
	}
	if f.shares[i] == 0 {
		return false
	}
	f.Bound[i] = -1
	f.add(i, 1)
	return true
}

// crossing is the demands that cross each link.
type crossing struct{ first, of []int32 }

func (f *filler) index() crossing {
	c := crossing{first: make([]int32, len(f.users)+1)}
	for l, n := range f.users {
		c.first[l+1] = c.first[l] + n
	}
	c.of = make([]int32, c.first[len(f.users)])
	next := slices.Clone(c.first)
	for i := range f.demands {
		for w := range f.demands[i].Paths {
			for _, uses := range f.demands[i].Paths[w].All() {
				for _, u := range uses {
					if u.Part > 0 && f.shares[i] > 0 {
						c.of[next[u.Link]] = int32(i)
						next[u.Link]++
					}
				}
			}
		}
	}
	return c
}
