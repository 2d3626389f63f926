package table

// trie finds the longest prefix of a key. A node tests four bits of the key, or up to 16 where
// entries are dense; nodes with a single successor are left out. The words of the key hold the
// exact fields first and then the prefix field, its first bit uppermost, so all prefixes contain
// the exact fields.
type trie[T any] struct {
	top trieSlot[T]
	all *Entry[T] // of the prefix of no bits
}

// trieSlot is the subtree below one value of a node's bits: a node, or the only entry.
type trieSlot[T any] struct {
	// best is the longest prefix that ends in the node and holds for the value; Entry.chain leads
	// to shorter ones.
	best  *Entry[T]
	child *trieNode[T]
	leaf  *Entry[T]
}

type trieNode[T any] struct {
	// What a lookup needs is together.
	slots []trieSlot[T] // by the node's bits
	want  uint64        // the bits of the word between those of the node above and its own
	mask  uint64        // where they are
	last  uint64        // of slots
	word  uint8         // of the key, in which its bits are
	shift uint8         // of its bits in the word
	far   bool          // words before have bits to compare, too

	key    []uint64 // whose first depth quarters all that is below shares
	depth  int      // quarters of 16 bits before the node's own
	from   int      // of these, those that the nodes above compare
	stride int      // quarters of its own, in one word

	own   int // entries that end here
	count int // entries here and below
	grow  int // count at which the stride is chosen again; a fourth of it is too few for a wide one
}

const (
	// quarters is how many there are in a word.
	quarters = 16
	// A node is made wide when on average an entry is there for every sparseSlots slots.
	sparseSlots = 16
	maxStride   = 4
	firstGrow   = 16
)

// quarter returns the i-th four bits of a key.
func quarter(key []uint64, i int) uint64 { return key[i/quarters] >> (60 - i%quarters*4) & 15 }

// ends returns the quarter in which the prefix ends, which must not be empty.
func (e *Entry[T]) ends() int { return (int(e.prefix) - 1) / 4 }

// shares reports whether two keys have equal quarters from..to-1, provided that the quarters before
// from are equal.
func shares(a, b []uint64, from, to int) bool {
	for w := from / quarters; quarters*w < to; w++ {
		x := a[w] ^ b[w]
		if n := to - quarters*w; n < quarters {
			x >>= 64 - 4*n
		}
		if x != 0 {
			return false
		}
	}
	return true
}

// common4 returns how many quarters, at most n, two keys share.
func common4(a, b []uint64, n int) int {
	for i := range n {
		if quarter(a, i) != quarter(b, i) {
			return i
		}
	}
	return n
}

// holds reports whether a key begins with the prefix, which must not be empty.
func (e *Entry[T]) holds(key []uint64) bool {
	n := int(e.prefix)
	if n <= 64 {
		return (e.first[0]^key[0])>>((64-n)&63) == 0
	}
	w := 0
	for ; n >= 64; n -= 64 {
		if e.key[w] != key[w] {
			return false
		}
		w++
	}
	return n == 0 || (e.key[w]^key[w])>>(64-n) == 0
}

func (t *trie[T]) lookup(key []uint64) *Entry[T] {
	best := t.all
	s := &t.top
	for n := s.child; n != nil; n = s.child {
		w := key[n.word]
		if (w^n.want)&n.mask != 0 || n.far && !shares(key, n.key, n.from, n.depth) {
			return best
		}
		if s = &n.slots[w>>(n.shift&63)&n.last]; s.best != nil {
			best = s.best
		}
	}
	if s.leaf != nil && s.leaf.holds(key) {
		best = s.leaf
	}
	return best
}

// newTrieNode returns a node without entries.
func newTrieNode[T any](key []uint64, depth, stride int) *trieNode[T] {
	n := &trieNode[T]{key: key, depth: depth, stride: stride,
		slots: make([]trieSlot[T], 1<<(4*stride)), grow: firstGrow}
	n.last = uint64(len(n.slots) - 1)
	n.word, n.shift = uint8(depth/quarters), uint8(4*(quarters-depth%quarters-stride))
	return n
}

// below makes a node the child of one that ends before quarter from.
func (n *trieNode[T]) below(from int) *trieNode[T] {
	n.from = from
	n.far = from/quarters < n.depth/quarters
	n.want, n.mask = 0, 0
	if d := n.depth % quarters; d > 0 {
		n.want, n.mask = n.key[n.word], ^uint64(0)<<(64-4*d)
		if !n.far {
			n.mask &= ^uint64(0) >> (4 * (from % quarters))
		}
	}
	return n
}

// end returns the quarter after the node's own.
func (n *trieNode[T]) end() int { return n.depth + n.stride }

// slot returns the slot of a key.
func (n *trieNode[T]) slot(key []uint64) *trieSlot[T] {
	return &n.slots[key[n.word]>>n.shift&n.last]
}

// values returns the values of a node's bits for which an entry holds that ends in the node.
func (n *trieNode[T]) values(e *Entry[T]) (first, count int) {
	return int(e.key[n.word] >> n.shift & n.last), 1 << (4*n.end() - int(e.prefix))
}

func (t *trie[T]) insert(e *Entry[T]) {
	if e.prefix == 0 {
		t.all = e
		return
	}
	t.top.insert(e, 0)
}

// insert adds an entry below a slot of a node that ends before quarter from.
func (s *trieSlot[T]) insert(e *Entry[T], from int) {
	switch n := s.child; {
	case s.leaf != nil:
		o := s.leaf
		s.leaf = nil
		s.child = newTrieNode[T](e.key, common4(o.key, e.key, min(o.ends(), e.ends())), 1).below(from)
		s.child.insert(o)
	case n == nil:
		s.leaf, e.chain = e, nil
		return
	default:
		if d := common4(n.key, e.key, min(n.depth, e.ends())); d < n.depth {
			s.child = newTrieNode[T](e.key, d, 1).below(from)
			s.child.count = n.count
			s.child.slot(n.key).child = n.below(d + 1)
		}
	}
	s.child.insert(e)
	if s.child.count >= s.child.grow {
		s.restride()
	}
}

func (n *trieNode[T]) insert(e *Entry[T]) {
	n.count++
	if e.ends() >= n.end() {
		n.slot(e.key).insert(e, n.end())
		return
	}
	n.own++
	for first, count := n.values(e); count > 0; count-- {
		at := &n.slots[first+count-1].best
		for *at != nil && (*at).prefix > e.prefix {
			at = &(*at).chain
		}
		if *at != e { // another value's chain may have led here
			e.chain, *at = *at, e
		}
	}
}

func (t *trie[T]) remove(e *Entry[T]) {
	if e.prefix == 0 {
		t.all = nil
		return
	}
	t.top.remove(e)
}

func (s *trieSlot[T]) remove(e *Entry[T]) {
	n := s.child
	if n == nil {
		s.leaf = nil
		return
	}
	n.count--
	if e.ends() >= n.end() {
		n.slot(e.key).remove(e)
	} else {
		n.own--
		for first, count := n.values(e); count > 0; count-- {
			at := &n.slots[first+count-1].best
			for *at != nil && (*at).prefix > e.prefix {
				at = &(*at).chain
			}
			if *at == e {
				*at = e.chain
			}
		}
		e.chain = nil
	}
	switch {
	case n.stride == 1:
		s.shrink()
	case n.count < n.grow/4:
		s.restride()
	}
}

// shrink drops a node of one quarter that is no longer needed.
func (s *trieSlot[T]) shrink() {
	n := s.child
	if n.own > 1 {
		return
	}
	var only *trieSlot[T]
	var own *Entry[T]
	for i := range n.slots {
		b := &n.slots[i]
		if b.best != nil {
			own = b.best
		}
		if b.child != nil || b.leaf != nil {
			if only != nil {
				return
			}
			only = b
		}
	}
	switch {
	case own == nil && only == nil:
		s.child = nil
	case own == nil:
		if s.child, s.leaf = only.child, only.leaf; s.child != nil {
			s.child.below(n.from)
		}
	case only == nil:
		s.child, s.leaf = nil, own
	}
}

// restride gives the node of a slot the right stride for the number of its entries.
func (s *trieSlot[T]) restride() {
	n := s.child
	es := n.entries(make([]*Entry[T], 0, n.count))
	stride := 1
	for wide := maxStride; wide > 1; wide-- {
		if n.depth%quarters+wide <= quarters && n.distinct(es, wide)*sparseSlots >= 1<<(4*wide) {
			stride = wide
			break
		}
	}
	if stride != n.stride {
		n = newTrieNode[T](n.key, n.depth, stride).below(n.from)
		n.grow = 2 * len(es) // not again for these
		for _, e := range es {
			n.insert(e)
		}
		s.child = n
	}
	n.grow = max(firstGrow, 2*n.count)
	if n.stride == 1 {
		s.shrink()
	}
}

// distinct returns how many values the entries have in the node's first stride quarters.
func (n *trieNode[T]) distinct(es []*Entry[T], stride int) int {
	seen, count := make([]bool, 1<<(4*stride)), 0
	shift := 4 * (quarters - n.depth%quarters - stride)
	for _, e := range es {
		if v := e.key[n.word] >> shift & uint64(len(seen)-1); !seen[v] {
			seen[v] = true
			count++
		}
	}
	return count
}

// entries appends the entries of a node and of those below.
func (n *trieNode[T]) entries(es []*Entry[T]) []*Entry[T] {
	for i := range n.slots {
		s := &n.slots[i]
		switch {
		case s.child != nil:
			es = s.child.entries(es)
		case s.leaf != nil:
			es = append(es, s.leaf)
		}
	}
	for i := range n.slots {
		for e := n.slots[i].best; e != nil; e = e.chain {
			if first, _ := n.values(e); first == i { // once, where it begins
				es = append(es, e)
			}
		}
	}
	return es
}
