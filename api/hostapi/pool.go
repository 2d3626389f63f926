package hostapi

import (
	"hash/maphash"
	"sync"
	"weak"
)

// A Pool stores equal states and their profiles in memory only once, because most hosts of a fabric
// hold equal states. A Pool does not keep unused states alive. Make a Pool with NewPool; the zero
// value is unusable. Any goroutine may call its methods.
type Pool struct {
	seed maphash.Seed

	mu       sync.Mutex
	profiles shelf[Profile]
	states   shelf[State]
}

// NewPool returns an empty pool.
func NewPool() *Pool {
	return &Pool{seed: maphash.MakeSeed(), profiles: newShelf[Profile](), states: newShelf[State]()}
}

// Share returns the state in the pool equal to s; without an equal state, Share stores and returns
// s. The caller must not change s afterwards.
func (p *Pool) Share(s *State) *State {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := *s
	own.Profiles = make([]*Profile, len(s.Profiles))
	var of maphash.Hash
	of.SetSeed(p.seed)
	for i, x := range s.Profiles {
		own.Profiles[i] = p.profiles.find(p.hash(x), x, (*Profile).Equal)
		maphash.WriteComparable(&of, own.Profiles[i])
	}
	maphash.WriteComparable(&of, len(s.Peers))
	for _, x := range s.Peers {
		maphash.WriteComparable(&of, x)
	}
	maphash.WriteComparable(&of, s.DeniedPorts)
	maphash.WriteComparable(&of, s.Wire)
	maphash.WriteComparable(&of, s.Hints)
	return p.states.find(of.Sum64(), &own, (*State).Equal)
}

// hash returns the same number for equal profiles.
func (p *Pool) hash(x *Profile) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	maphash.WriteComparable(&h, x.Name)
	for _, list := range [][]EV{x.EVs, x.Denied} {
		maphash.WriteComparable(&h, len(list))
		for i := range list {
			_, _ = h.Write(list[i].Value[:])
			_ = h.WriteByte(list[i].Port)
		}
	}
	return h.Sum64()
}

// A shelf stores values by hash, as long as any code uses the values.
type shelf[T any] struct {
	byHash map[uint64][]weak.Pointer[T]
	sweep  int // the number of hashes at which unused values are looked for
}

// firstSweep is the number of hashes at which a shelf first looks for unused values.
const firstSweep = 1024

func newShelf[T any]() shelf[T] {
	return shelf[T]{byHash: make(map[uint64][]weak.Pointer[T]), sweep: firstSweep}
}

// find returns the stored value equal to x; without an equal value, find stores and returns x.
func (s *shelf[T]) find(hash uint64, x *T, equal func(a, b *T) bool) *T {
	for _, w := range s.byHash[hash] {
		if y := w.Value(); y != nil && (y == x || equal(y, x)) {
			return y
		}
	}
	if len(s.byHash) >= s.sweep {
		s.clean()
		s.sweep = max(firstSweep, 2*len(s.byHash))
	}
	s.byHash[hash] = append(s.byHash[hash], weak.Make(x))
	return x
}

// clean drops unused values.
func (s *shelf[T]) clean() {
	for hash, list := range s.byHash {
		kept := list[:0]
		for _, w := range list {
			if w.Value() != nil {
				kept = append(kept, w)
			}
		}
		if len(kept) == 0 {
			delete(s.byHash, hash)
		} else {
			s.byHash[hash] = kept
		}
	}
}
