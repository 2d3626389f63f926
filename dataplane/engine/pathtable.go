package engine

import (
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// lookup is a table in a path. A packet looks its own key up, and goes on where it finds the action
// that the recorded packet found. The arguments of that action go into slots: a path serves all
// entries with its actions, and a change of entries ends no path.
type lookup struct {
	table  *matchTable
	key    []keyWord
	hit    bool
	action *action // nil: none
	octets uint64  // what a counter counts
}

// keyWord is a word of a key: what it takes of a slot, or a constant.
type keyWord struct {
	takes
	k uint64
}

// maxLookups bounds the tables that a path looks up.
const maxLookups = 64

// look finds what a table has for the packet of a path.
func (c *Context) look(l *lookup) (e *entry, g *target) {
	ts := &c.st.tables[l.table.idx]
	key := c.key[:len(l.key)]
	for i := range l.key {
		w := &l.key[i]
		key[i] = w.of(c.paths.slots) | w.k
	}
	if e = ts.entries.Lookup(key, c.key2[:len(l.key)]); e == nil {
		return nil, &ts.def
	}
	return e, &e.Value.target
}

// is reports whether a packet that has found an entry, or none, stays on the path.
func (l *lookup) is(e *entry, g *target) bool { return l.hit == (e != nil) && l.action == g.action }

// asks reports whether two lookups are of one key in one table.
func (l *lookup) asks(o *lookup) bool {
	return l.table == o.table && slices.Equal(l.key, o.key)
}

// tally counts what a packet has found.
func (l *lookup) tally(s *State, e *entry) tally {
	n := tally{octets: l.octets}
	if l.table.counter {
		n.counter = &s.tables[l.table.idx].missCounter
		if e != nil {
			n.counter = &e.Value.counter
		}
	}
	if l.table.timeout && e != nil {
		n.touched = e.Value.more
	}
	return n
}

// lookup returns the lookup of a table by the packet in hand, nil where the path has to depend on
// the entries as they are.
func (r *recorder) lookup(t *matchTable) *lookup {
	if !r.on || r.apart > 0 || t.profile >= 0 || t.meter >= 0 || t.key.Words == 0 ||
		r.c.st.tables[t.idx].entries.Len() == 0 || len(r.path.lookups) == maxLookups {
		return nil
	}
	words := make([]val, t.key.Words)
	for i := range t.loads {
		k := &t.loads[i]
		v, ok := r.load(k)
		if !ok {
			return nil
		}
		v = r.join(opShl, r.join(opAnd, v, val{now: k.mask}), val{now: uint64(k.shift)})
		words[k.word] = r.join(opOr, words[k.word], v)
	}
	l := &lookup{table: t, octets: uint64(r.c.IngressLen)}
	for _, v := range words {
		w := keyWord{takes: v.takes}
		if v.constant() {
			w = keyWord{k: v.now}
		}
		l.key = append(l.key, w)
	}
	return l
}

// load is Context.load, but for the mask; false: there is no such value.
func (r *recorder) load(k *keyLoad) (val, bool) {
	c := r.c
	switch {
	case k.valid != 0 && c.valid[k.validWord]&k.valid == 0:
		return val{}, true
	case k.validity:
		return val{now: k.get(c)}, true
	}
	from := 8*int(k.off) + int(k.l)
	to := from + 64 - int(k.r)
	at, end := from/8, (to+7)/8
	if end-at > 8 {
		return val{}, false
	}
	v, ok := r.gather(r.src[at:end], c.data[at:end])
	return r.cut(r.down(v, uint64(8*end-to)), to-from), ok
}

// follow has the path look a table up in which the packet in hand has found e and g, and returns
// the arguments that the action gets.
func (r *recorder) follow(l *lookup, e *entry, g *target) []val {
	l.hit, l.action = e != nil, g.action
	for i := range l.key {
		r.compute(l.key[i].takes)
	}
	s := &r.computed
	o := pathOp{code: opTable, to: uint16(len(s.defs)), k: uint64(len(r.path.lookups))}
	var args []val
	if a := g.action; a != nil {
		if len(s.defs)+a.words > maxSlots {
			r.lose()
			return nil
		}
		args = make([]val, a.words)
		for i := range a.params {
			p := &a.params[i]
			for w := range max(1, bitfield.Words(p.Width)) {
				n, mask := len(s.defs), ^uint64(0)
				if !p.Signed {
					mask = bitfield.Mask(min(64, p.Width-64*w))
				}
				s.define(pathOp{code: opArg, a: takes{mask: mask}}, true, false)
				s.now[n] = g.args[p.Off+w]
				args[p.Off+w] = val{takes{uint16(n), 0, mask}, g.args[p.Off+w]}
			}
		}
	}
	r.path.lookups = append(r.path.lookups, l)
	r.add(o)
	return args
}

// arg is a word of the arguments of the running action.
func (r *recorder) arg(i int) val {
	if r.args == nil {
		return val{now: r.c.args[i]}
	}
	return r.args[i]
}

// argWords is the words of an argument.
func (r *recorder) argWords(e *ir.Expr) (first, n int) {
	return e.Index, max(1, bitfield.Words(e.Bits))
}
