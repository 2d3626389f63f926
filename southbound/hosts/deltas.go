package hosts

import (
	"sync"

	"github.com/weft-sdn/weft/api/hostapi"
)

// keptDeltas is how many deltas are kept: one for each rack of a large fabric.
const keptDeltas = 512

// deltas caches the last deltas between two states. The hosts of a rack share their states, so a
// change of the network causes the same delta for each host. A deltas and its results are safe for
// concurrent use; the zero value is ready.
type deltas struct {
	mu   sync.Mutex
	of   map[transition]*delta
	last [keptDeltas]transition // the keys of `of`, as a ring
	next int                    // the place of the next one in last
}

// transition is a pair of states with the delta between them.
type transition struct {
	from, to *hostapi.State
	replace  bool
}

// delta is a delta that hosts share. Nothing changes it.
type delta struct {
	hostapi.Delta
	// encoded is made when it is asked for
	encoded func() (*hostapi.EncodedDelta, error)
}

// diff is [hostapi.Diff].
func (d *deltas) diff(from, to *hostapi.State, replace bool) *delta {
	key := transition{from, to, replace}
	d.mu.Lock()
	out := d.of[key]
	d.mu.Unlock()
	if out != nil {
		return out
	}
	out = &delta{Delta: hostapi.Diff(from, to, replace)}
	out.encoded = sync.OnceValues(func() (*hostapi.EncodedDelta, error) {
		return hostapi.EncodeDelta(&out.Delta)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if other := d.of[key]; other != nil { // of a stream that was faster
		return other
	}
	if d.of == nil {
		d.of = make(map[transition]*delta, keptDeltas)
	}
	delete(d.of, d.last[d.next])
	d.of[key], d.last[d.next] = out, key
	d.next = (d.next + 1) % keptDeltas
	return out
}
