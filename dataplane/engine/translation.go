package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
	"github.com/weft-sdn/weft/dataplane/ir"

	"crypto/sha256"
	"encoding/hex"
)

// Translation is a program as Go code, written by Translate. When Load loads the same program,
// untraced packets run this code. The code does what the graphs of the interpreted program do;
// traced packets always run the nodes of the graphs.
type Translation struct {
	// Sum is the SHA-256 of the program in BMv2's JSON form, in hex.
	Sum string
	// Clear zeroes the metadata that a packet may read before the program has written it. Carry copies
	// the metadata of a packet that egress needs.
	Clear func(to []byte)
	Carry func(to, from []byte)
	// Parse runs the parser, over Frame, and sets the cursor.
	Parse func(c *Context)
	// Ingress and Egress run a control; fresh reports that only the parser has touched the packet's
	// metadata.
	Ingress, Egress func(c *Context, fresh bool)
}

// code returns the code for the packet in hand, or nil if the packet is traced or the program has
// no translation.
func (c *Context) code() *Translation {
	if c.ID != 0 {
		return nil
	}
	return c.st.prog.translated
}

// sumOf returns the name that a translation knows its program by.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// note is what a closure does, for Translate and for a recorder.
type note struct {
	op     *operation       // a primitive; nil: something else
	parser *parserOperation // nil: something else
	source *bmv2json.Source
	args   []*ir.Expr
	value  *ir.Expr // a value or a condition
	action *action  // that runs

	into   extraction // of an operation of the parser
	octets int        // that an operation of the parser skips

	// What follows is for a recorder.
	index term         // of what is counted, read or written
	calc  *calculation // that is computed
}

// noteOf notes the parts of a primitive, and checks the number of parameters.
func (l *loader) noteOf(p *bmv2json.Primitive) *note {
	n := &note{op: operations[p.Op], source: p.Source}
	if n.op == nil {
		l.unsupported(p.Source, "primitive %q", p.Op)
	}
	if k := len(p.Parameters); k > n.op.args || k < n.op.args-n.op.optional {
		l.bad(p.Source, "%s with %d parameters: want %d", p.Op, k, n.op.args)
	}
	for _, v := range p.Parameters {
		n.args = append(n.args, l.value(p.Source, v))
	}
	return n
}

// closure holds the function that a translation calls where it lacks code of its own.
type closure struct {
	call  func(*Context)
	get   u64Fn
	test  boolFn
	parse func(*Context) bool
}

// keep numbers a closure, for a program that runs as code or is translated.
func (l *loader) keep(n *note, f closure) uint32 {
	if !l.translating && l.translated == nil {
		return 0
	}
	if l.translating {
		l.notes = append(l.notes, n)
	}
	l.prog.closures = append(l.prog.closures, f)
	return uint32(len(l.prog.closures) - 1)
}

// What follows is for translations alone. Their code addresses the packet state and its validity
// words by constants, as the interpreted program does.

// Octets returns the state of the packet in hand (ir.Layout).
func (c *Context) Octets() []byte { return c.data }

// Validity returns the validity bits of its headers.
func (c *Context) Validity() []uint64 { return c.valid }

// Mark notes that headers, given by their bits of a word, may have nonzero octets.
func (c *Context) Mark(word int, headers uint64) { c.dirty[word] |= headers }

// Grow adds n octets, or takes them, from the packet length register.
func (c *Context) Grow(n int) { c.Length += n }

// Args returns the arguments of the action that Match found.
func (c *Context) Args() []uint64 { return c.args }

// Call runs a primitive that has a number.
func (c *Context) Call(id int) { c.st.prog.closures[id].call(c) }

// Get computes a value that has a number.
func (c *Context) Get(id int) uint64 { return c.st.prog.closures[id].get(c) }

// Test evaluates a condition that has a number.
func (c *Context) Test(id int) bool { return c.st.prog.closures[id].test(c) }

// Exited reports whether the packet has left the control.
func (c *Context) Exited() bool { return c.exit }

// Apply matches the packet against a table, runs what it finds, and returns whether an entry
// matched and the place of the action, -1 for none.
func (c *Context) Apply(table int) (hit bool, place int) { return c.apply(c.st.prog.tables[table]) }

// Match is Apply for a table without an action profile, whose action the caller runs, with Args.
func (c *Context) Match(table int) (hit bool, place int) {
	t := c.st.prog.tables[table]
	g, hit := c.match(t)
	return c.chosen(t, g, hit)
}

// chosen keeps the arguments of what a lookup has found, for Args.
func (c *Context) chosen(t *matchTable, g *target, hit bool) (bool, int) {
	c.args = g.args
	if g.action == nil {
		return hit, -1
	}
	return hit, int(t.place[g.action.index])
}

// Filled reports whether a table has entries.
func (c *Context) Filled(table int) bool { return c.st.tables[table].entries.Len() > 0 }

// Key returns the words of a key, for Find.
func (c *Context) Key() []uint64 { return c.key }

// Find is Match with a key that is made.
func (c *Context) Find(table int) (hit bool, place int) {
	t, ts := c.st.prog.tables[table], &c.st.tables[table]
	n := t.key.Words
	e := ts.entries.Lookup(c.key[:n], c.key2[:n])
	if e != nil && !t.counter && !t.timeout && t.meter < 0 {
		c.args = e.Value.target.args
		return true, int(t.place[e.Value.target.action.index])
	}
	g, hit := c.found(t, ts, e)
	return c.chosen(t, g, hit)
}

// Do runs an action that has no code in the translation, with Args.
func (c *Context) Do(action int) { c.st.prog.actions[action].run(c, c.args) }

// Count counts the packet at an index of a counter.
func (c *Context) Count(counter int, index uint64) {
	if n := &c.st.counters[counter]; c.st.within(index, n.Size) {
		n.Add(index, c.IngressLen)
	}
}

// Register reads an element of a register of at most 64 bits.
func (c *Context) Register(register int, index uint64) (uint64, bool) {
	reg := &c.st.regs[register]
	if !c.st.within(index, reg.Size) {
		return 0, false
	}
	return reg.Get(index), true
}

// SetRegister writes it.
func (c *Context) SetRegister(register int, index, value uint64) {
	if reg := &c.st.regs[register]; c.st.within(index, reg.Size) {
		reg.Set(index, value)
	}
}

// Either returns a where a condition holds, else b.
func Either(q bool, a, b uint64) uint64 {
	if q {
		return a
	}
	return b
}

// Frame returns the octets that the packet in hand was received as.
func (c *Context) Frame() []byte { return c.frame.b }

// Cursor returns how many octets of the frame the parser has taken.
func (c *Context) Cursor() int { return c.cur }

// SetCursor sets that.
func (c *Context) SetCursor(n int) { c.cur = n }

// Failed reports whether parsing has ended with an error.
func (c *Context) Failed() bool { return c.failed }

// ParserError ends parsing with an error, where the cursor is.
func (c *Context) ParserError(cursor int, code uint64) {
	c.cur = cursor
	c.parseError(code)
}

// ParserCall runs an operation of the parser that has a number; false: parsing has ended.
func (c *Context) ParserCall(id int) bool { return c.st.prog.closures[id].parse(c) }

// NextState evaluates the transition of a state of the parser; -2: parsing has ended with an error.
func (c *Context) NextState(state int) int {
	next := c.st.prog.parser.states[state].pick(c)
	if c.failed {
		return -2
	}
	return next
}

// Ahead returns n bits, at most 64, of a frame, off bits after an octet; 0 if the frame is too
// short.
func Ahead(frame []byte, at, off, n int) uint64 {
	if 8*(len(frame)-at) < off+n {
		return 0
	}
	return bitfield.Load64(frame, 8*at+off, n)
}
