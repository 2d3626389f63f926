package spray

import (
	"math/bits"
	"math/rand/v2"

	"github.com/weft-sdn/weft/internal/ring"
)

// A rotation is the indexes of all values in the order in which their turns come. One whose turn it
// was is last; one that is passed over, as its port has no room, keeps its place. So whatever ports
// have room when, each value of a port has its turn before one of them has another.
type rotation struct {
	ring  []uint16 // permutation of the indexes
	front int      // in ring, of the one whose turn it is
	turns int      // since the order was drawn
}

func newRotation(n int) rotation {
	r := rotation{ring: make([]uint16, n)}
	for i := range r.ring {
		r.ring[i] = uint16(i)
	}
	return r
}

// place is where in ring the one is that is k behind the first.
func (r *rotation) place(k int) int { return ring.Place(len(r.ring), r.front, k) }

// at is the index that is k behind the first, 0 to the number of values less 1.
func (r *rotation) at(k int) int { return int(r.ring[r.place(k)]) }

// turn puts the one that is k behind the first last.
func (r *rotation) turn(k int) {
	r.front = ring.Turn(r.ring, r.front, k)
	r.turns++
}

// shuffle draws the order.
func (r *rotation) shuffle(rng *rand.PCG) {
	for i := len(r.ring) - 1; i > 0; i-- {
		j, _ := bits.Mul64(rng.Uint64(), uint64(i+1))
		r.ring[i], r.ring[j] = r.ring[j], r.ring[i]
	}
	r.turns = 0
}
