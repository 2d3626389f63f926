package spray

import (
	"math/bits"
	"math/rand/v2"

	"github.com/weft-sdn/weft/internal/ring"
)

// A rotation holds the indexes of all values in the order of their turns. A used value moves to the
// end. A value passed over because its port has no room keeps its place. So every value of a port
// gets a turn before any value of the port gets a second turn, whichever ports have room.
type rotation struct {
	ring  []uint16 // permutation of the indexes
	front int      // position in ring of the next value
	turns int      // since the order was drawn
}

func newRotation(n int) rotation {
	r := rotation{ring: make([]uint16, n)}
	for i := range r.ring {
		r.ring[i] = uint16(i)
	}
	return r
}

// place returns the position in ring of the index k behind the first.
func (r *rotation) place(k int) int { return ring.Place(len(r.ring), r.front, k) }

// at returns the index k behind the first; k is 0 to the number of values less 1.
func (r *rotation) at(k int) int { return int(r.ring[r.place(k)]) }

// turn moves the index k behind the first to the end.
func (r *rotation) turn(k int) {
	r.front = ring.Turn(r.ring, r.front, k)
	r.turns++
}

// shuffle draws a new order.
func (r *rotation) shuffle(rng *rand.PCG) {
	for i := len(r.ring) - 1; i > 0; i-- {
		j, _ := bits.Mul64(rng.Uint64(), uint64(i+1))
		r.ring[i], r.ring[j] = r.ring[j], r.ring[i]
	}
	r.turns = 0
}
