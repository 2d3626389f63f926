package maxmin

import "context"

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
func Fill(ctx context.Context, capacities []float64, demands []Parted) (Filled, error) {
	out := Filled{Rates: make([]float64, len(demands)), Loads: make([]float64, len(capacities)),
		Bound: make([]int32, len(demands))}
	growth := make([]float64, len(capacities))
	closed := make([]bool, len(capacities))
	live := make([]int32, 0, len(demands)) // demands
	shares := make([]float64, len(demands))
	open := make([][]bool, len(demands)) // paths
	for i := range demands {
		out.Bound[i] = -1
		open[i] = make([]bool, len(demands[i].Paths))
		for w := range demands[i].Paths {
			open[i][w] = true
			shares[i] += demands[i].Paths[w].Share
		}
		if shares[i] > 0 {
			live = append(live, int32(i))
		}
	}
	for len(live) > 0 {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		clear(growth)
		for _, i := range live {
			d := &demands[i]
			for w := range d.Paths {
				if !open[i][w] {
					continue
				}
				each := d.Flows * d.Paths[w].Share / shares[i]
				for _, uses := range d.Paths[w].All() {
					for _, u := range uses {
						growth[u.Link] += each * u.Part
					}
				}
			}
		}
		step := -1.0
		for l, g := range growth {
			if t := (capacities[l] - out.Loads[l]) / g; g > 0 && (step < 0 || t < step) {
				step = max(0, t)
			}
		}
		for _, i := range live {
			if most := demands[i].Most; most > 0 && (step < 0 || most-out.Rates[i] < step) {
				step = max(0, most-out.Rates[i])
			}
		}
		if step < 0 {
			break // nothing bounds what is left
		}
		for l, g := range growth {
			if out.Loads[l] += g * step; g > 0 && out.Loads[l] >= capacities[l]*(1-full) {
				closed[l] = true
			}
		}
		left := live[:0]
		for _, i := range live {
			d := &demands[i]
			out.Rates[i] += step
			shares[i] = 0
			for w := range d.Paths {
				for _, uses := range d.Paths[w].All() {
					for _, u := range uses {
						if open[i][w] && u.Part > 0 && closed[u.Link] {
							open[i][w], out.Bound[i] = false, u.Link
						}
					}
				}
				if open[i][w] {
					shares[i] += d.Paths[w].Share
				}
			}
			if shares[i] > 0 && (d.Most == 0 || out.Rates[i] < d.Most*(1-full)) {
				out.Bound[i] = -1
				left = append(left, i)
			}
		}
		live = left
	}
	return out, nil
}
