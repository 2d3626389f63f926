package telemetry

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Row is a row of a matrix: ports of a switch, each with the column that it leads to.
type Row struct {
	Switch  string
	Columns map[uint32]int // by port
}

// Matrix returns the use of the links of a matrix, as means over the last time: by row and column,
// the bits that the ports of the row send (out) and receive (in), in thousandths of the sum of
// their speeds. A value is -1 without a port, or without a port with a speed and a rate in that
// direction.
func (st *Store) Matrix(rows []Row, columns int, over time.Duration, now time.Time) (out,
	in [][]int) {
	out, in = make([][]int, len(rows)), make([][]int, len(rows))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(rows)) {
		workers.Go(func() {
			sums := make([]column, columns)
			for i := int(next.Add(1)) - 1; i < len(rows); i = int(next.Add(1)) - 1 {
				both := make([]int, 2*columns)
				out[i], in[i] = both[:columns:columns], both[columns:]
				st.row(&rows[i], sums, over, now)
				for c := range sums {
					out[i][c], in[i][c] = sums[c].out.thousandths(), sums[c].in.thousandths()
				}
			}
		})
	}
	workers.Wait()
	return out, in
}

// row sets sums, by column, to what the ports of a row do.
func (st *Store) row(r *Row, sums []column, over time.Duration, now time.Time) {
	clear(sums)
	st.Ports(r.Switch, over, now, func(port uint32, in, out float64, speed uint64) {
		if c, ok := r.Columns[port]; ok && speed > 0 {
			sums[c].in.add(in, speed)
			sums[c].out.add(out, speed)
		}
	})
}

type column struct{ out, in direction }

// direction is what links do together in a direction, and their speeds, in bit/s.
type direction struct{ rate, speed float64 }

// add adds a port, unless its rate is not known.
func (d *direction) add(rate float64, speed uint64) {
	if !math.IsNaN(rate) {
		d.rate, d.speed = d.rate+rate, d.speed+float64(speed)
	}
}

func (d *direction) thousandths() int {
	if d.speed == 0 {
		return -1
	}
	return int(math.Round(1000 * d.rate / d.speed))
}
