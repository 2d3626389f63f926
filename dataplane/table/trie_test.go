package table

import (
	"math/rand/v2"
	"testing"
)

// prefixTwin finds the longest prefix by trying every length.
type prefixTwin map[int]map[[2]uint64]*Entry[int]

func firstBits(key [2]uint64, n int) [2]uint64 {
	if n <= 64 {
		return [2]uint64{key[0] &^ (^uint64(0) >> n), 0}
	}
	return [2]uint64{key[0], key[1] &^ (^uint64(0) >> (n - 64))}
}

func (w prefixTwin) lookup(key [2]uint64) *Entry[int] {
	for n := 128; n >= 0; n-- {
		if e := w[n][firstBits(key, n)]; e != nil {
			return e
		}
	}
	return nil
}

// TestTrie adds and removes prefixes, many of them close together, and compares every lookup with a
// twin's.
func TestTrie(t *testing.T) {
	for _, shape := range []struct {
		name    string
		choices [4]int // values of the four 16-bit parts of the first word, 0: all
		shortest,
		longest int
	}{
		{"routes of the internet", [4]int{3000, 0, 1, 1}, 8, 32},
		{"many in few /16", [4]int{3, 0, 0, 1}, 16, 48},
		{"hosts of a subnet", [4]int{1, 1, 1, 20}, 50, 128},
		{"anything", [4]int{0, 0, 0, 0}, 0, 128},
	} {
		t.Run(shape.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %#x", seed)
			rng := rand.New(rand.NewPCG(seed, 0))
			key := func() (k [2]uint64) {
				for _, c := range shape.choices {
					part := rng.Uint64N(1 << 16)
					if c > 0 {
						part %= uint64(c)
					}
					k[0] = k[0]<<16 | part
				}
				k[1] = rng.Uint64() & rng.Uint64() & rng.Uint64() & rng.Uint64()
				return k
			}
			var tr trie[int]
			twin, all, widest := prefixTwin{}, []*Entry[int](nil), 0
			const steps = 12_000
			for step := range steps {
				if rng.IntN(steps) < step && len(all) > 0 {
					i := rng.IntN(len(all))
					e := all[i]
					all[i] = all[len(all)-1]
					all = all[:len(all)-1]
					delete(twin[int(e.prefix)], [2]uint64(e.key))
					tr.remove(e)
				} else {
					n := shape.shortest + rng.IntN(shape.longest-shape.shortest+1)
					k := firstBits(key(), n)
					if twin[n] == nil {
						twin[n] = map[[2]uint64]*Entry[int]{}
					}
					if twin[n][k] != nil {
						continue
					}
					e := &Entry[int]{key: k[:], prefix: int32(n)}
					e.hold(k[:], k[:])
					twin[n][k] = e
					all = append(all, e)
					tr.insert(e)
				}
				if step%997 == 0 {
					widest = max(widest, checkTrie(t, &tr, len(all)))
				}
				for range 4 {
					k := key()
					if len(all) > 0 && rng.IntN(2) == 0 {
						copy(k[:], all[rng.IntN(len(all))].key)
						b := rng.IntN(128)
						k[b/64] ^= 1 << (b % 64)
					}
					if got, want := tr.lookup(k[:]), twin.lookup(k); got != want {
						t.Fatalf("step %d: %x finds %v, want %v", step, k, got, want)
					}
				}
			}
			for _, e := range all {
				tr.remove(e)
			}
			if tr.top.child != nil || tr.top.leaf != nil || tr.all != nil {
				t.Error("nodes are left when all entries are gone")
			}
			if shape.name != "anything" && widest < 2 {
				t.Error("no node was made wide")
			}
		})
	}
}

// checkTrie counts the entries below every node, and returns the widest stride.
func checkTrie(t *testing.T, tr *trie[int], entries int) (widest int) {
	slots := 0
	var walk func(s *trieSlot[int]) int
	walk = func(s *trieSlot[int]) int {
		if s.child == nil {
			return count(s.leaf)
		}
		n := s.child
		if s.leaf != nil || n.count == 0 || len(n.slots) != 1<<(4*n.stride) {
			t.Fatalf("a node of %d slots and %d entries, leaf %v", len(n.slots), n.count, s.leaf)
		}
		widest, slots = max(widest, n.stride), slots+len(n.slots)
		below := n.own
		for i := range n.slots {
			below += walk(&n.slots[i])
		}
		if below != n.count || below != len(n.entries(nil)) {
			t.Fatalf("a node with %d entries counts %d, collects %d", below, n.count, len(n.entries(nil)))
		}
		return below
	}
	if n := walk(&tr.top) + count(tr.all); n != entries {
		t.Fatalf("%d entries, want %d", n, entries)
	}
	if slots > 16*3*sparseSlots+3*sparseSlots*16*entries {
		t.Fatalf("%d slots for %d entries", slots, entries)
	}
	return widest
}

func count(e *Entry[int]) int {
	if e != nil {
		return 1
	}
	return 0
}
