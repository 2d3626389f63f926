package maxmin

import (
	"math"
	"slices"
)

// A tableau is a linear program in the form of the simplex method: equations, each with a variable
// of its own (the basis), and below them two costs to minimize (G. Dantzig, Linear Programming and
// Extensions, chapter 5). The last column has the right sides. Variables of the basis from the
// number of columns on are artificial: they are how far an equation is from holding, and have no
// column, because none comes back.
type tableau struct {
	a     [][]float64
	basis []int
}

// solve returns how far the equations are from holding at best, and the least second cost. The
// first cost is the sum of the artificial variables.
func (t *tableau) solve() (off, least float64) {
	first, right := len(t.basis), len(t.a[0])-1
	t.minimize(first)
	if off = -t.a[first][right]; off > tolerance {
		return off, 0
	}
	for r, of := range t.basis {
		if of >= right { // it is 0
			row := t.a[r][:right]
			t.pivot(r, slices.IndexFunc(row, func(v float64) bool { return math.Abs(v) > solverTolerance }))
		}
	}
	t.minimize(first + 1)
	return off, -t.a[first+1][right]
}

// minimize minimizes the cost in a row. minimize takes the first variables that serve, which ends
// for exact numbers (R. Bland, New Finite Pivoting Rules for the Simplex Method, 1977).
func (t *tableau) minimize(cost int) {
	right := len(t.a[cost]) - 1
	for {
		c := slices.IndexFunc(t.a[cost][:right], func(v float64) bool { return v < -solverTolerance })
		if c < 0 {
			return
		}
		r, least := -1, math.Inf(1)
		for i, of := range t.basis {
			if t.a[i][c] <= solverTolerance {
				continue
			}
			most := t.a[i][right] / t.a[i][c]
			if most < least || most == least && of < t.basis[r] {
				r, least = i, most
			}
		}
		if r < 0 { // nothing bounds it
			t.a[cost][right] = math.Inf(1)
			return
		}
		t.pivot(r, c)
	}
}

// pivot makes the variable of a column the variable of an equation.
func (t *tableau) pivot(r, c int) {
	row := t.a[r]
	by := row[c]
	for j := range row {
		row[j] /= by
	}
	for i, other := range t.a {
		if times := other[c]; i != r && times != 0 {
			for j, v := range row {
				other[j] -= times * v
			}
		}
	}
	t.basis[r] = c
}
