package dataplane

// trie finds the longest prefix of a key: nodes of four bits each, without
// those that have a single way on. The words of the key of such a table are
// the exact fields and then the prefix's field, its first bit uppermost, so
// that the exact fields are but a part all prefixes have.
type trie struct {
	top trieSlot
	all *entry // of the prefix of no bits
}

// trieSlot is what is below a value of a node's four bits: a node, or the one
// entry there.
type trieSlot struct {
	best  *entry // the longest prefix that ends in the node and holds for the value
	child *trieNode
	leaf  *entry
}

type trieNode struct {
	key   []uint64 // whose first depth quarters all that is below shares
	depth int      // quarters of 16 bits before the node's own
	slots [16]trieSlot
	own   *entry // those that end here, by entry.chain
}

// quarter is the i-th four bits of a key.
func quarter(key []uint64, i int) uint64 { return key[i/16] >> (60 - i%16*4) & 15 }

// ends is the quarter in which a prefix, not an empty one, ends.
func (e *entry) ends() int { return (int(e.prefix) - 1) / 4 }

// shares tells that keys have the same quarters from..to-1, those before from
// being the same.
func shares(a, b []uint64, from, to int) bool {
	for w := from / 16; 16*w < to; w++ {
		x := a[w] ^ b[w]
		if n := to - 16*w; n < 16 {
			x >>= 64 - 4*n
		}
		if x != 0 {
			return false
		}
	}
	return true
}

// common is how many quarters, at most n, two keys share.
func common4(a, b []uint64, n int) int {
	for i := range n {
		if quarter(a, i) != quarter(b, i) {
			return i
		}
	}
	return n
}

// holds tells that a key begins with the prefix.
func (e *entry) holds(key []uint64) bool {
	w, n := 0, int(e.prefix)
	for ; n >= 64; n -= 64 {
		if e.key[w] != key[w] {
			return false
		}
		w++
	}
	return n == 0 || (e.key[w]^key[w])>>(64-n) == 0
}

func (t *trie) lookup(key []uint64) *entry {
	best, from := t.all, 0
	s := &t.top
	for {
		if n := s.child; n != nil {
			if n.depth > from && !shares(key, n.key, from, n.depth) {
				return best
			}
			from = n.depth + 1
			if s = &n.slots[quarter(key, n.depth)]; s.best != nil {
				best = s.best
			}
			continue
		}
		if s.leaf != nil && s.leaf.holds(key) {
			best = s.leaf
		}
		return best
	}
}

func (t *trie) insert(e *entry) {
	if e.prefix == 0 {
		t.all = e
		return
	}
	t.top.insert(e)
}

func (s *trieSlot) insert(e *entry) {
	switch n := s.child; {
	case s.leaf != nil:
		o := s.leaf
		s.leaf = nil
		s.child = &trieNode{key: e.key, depth: common4(o.key, e.key, min(o.ends(), e.ends()))}
		s.child.insert(o)
	case n == nil:
		s.leaf = e
		return
	default:
		if d := common4(n.key, e.key, min(n.depth, e.ends())); d < n.depth {
			s.child = &trieNode{key: e.key, depth: d}
			s.child.slots[quarter(n.key, d)].child = n
		}
	}
	s.child.insert(e)
}

func (n *trieNode) insert(e *entry) {
	if e.ends() > n.depth {
		n.slots[quarter(e.key, n.depth)].insert(e)
		return
	}
	e.chain, n.own = n.own, e
	n.spread(e)
}

// spread makes an entry that ends here the best of its values.
func (n *trieNode) spread(e *entry) {
	first, count := e.values(n)
	for v := first; v < first+count; v++ {
		if b := n.slots[v].best; b == nil || b.prefix < e.prefix {
			n.slots[v].best = e
		}
	}
}

// values are those of a node that an entry that ends there holds for.
func (e *entry) values(n *trieNode) (first, count int) {
	return int(quarter(e.key, n.depth)), 16 >> (int(e.prefix) - 4*n.depth)
}

func (t *trie) remove(e *entry) {
	if e.prefix == 0 {
		t.all = nil
		return
	}
	t.top.remove(e)
}

func (s *trieSlot) remove(e *entry) {
	n := s.child
	if n == nil {
		s.leaf = nil
		return
	}
	if e.ends() > n.depth {
		n.slots[quarter(e.key, n.depth)].remove(e)
	} else {
		at := &n.own
		for *at != e {
			at = &(*at).chain
		}
		*at, e.chain = e.chain, nil
		for first, count := e.values(n); count > 0; count-- {
			n.slots[first+count-1].best = nil
		}
		for o := n.own; o != nil; o = o.chain {
			n.spread(o)
		}
	}
	s.shrink()
}

// shrink drops a node that is not needed any more.
func (s *trieSlot) shrink() {
	n := s.child
	var only *trieSlot
	for i := range n.slots {
		if b := &n.slots[i]; b.child != nil || b.leaf != nil {
			if only != nil {
				return
			}
			only = b
		}
	}
	switch {
	case n.own == nil && only == nil:
		s.child = nil
	case n.own == nil:
		s.child, s.leaf = only.child, only.leaf
	case only == nil && n.own.chain == nil:
		s.child, s.leaf = nil, n.own
	}
}
