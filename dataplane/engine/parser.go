package engine

import (
	"math"
	"math/big"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// parser is the compiled parser.
type parser struct {
	states []parseState
	start  int // -1: nothing to parse
	verify []checksum
}

// parseState does its operations and picks the next state.
type parseState struct {
	name string
	ops  []func(*Context) bool // false: c.perr is set, parsing ends
	does []parseOp             // what ops do
	// The key is the fields one after another, each padded to whole octets:
	// in one word when it fits, in octets otherwise.
	key     []term
	ids     []uint32 // of the terms
	keys    []*ir.Expr
	keyBits []int // padded
	keyLen  int   // octets
	wideKey []parseKey
	cases   []parseCase
	next    int // default; -1 ends
	told    *stateTrace
	notes   []*note // of ops
}

type parseKey struct {
	get  wideFn
	n    int // words
	size int // octets
}

type parseCase struct {
	value, mask   uint64
	wvalue, wmask []byte
	set           int // value set, or -1
	fields        []int
	next          int
}

// errorCodes are the core parser errors as the program numbers them.
type errorCodes struct {
	none, tooShort, stack, headerTooShort, timeout, argument uint64
}

// maxParserSteps bounds the states one packet goes through.
const maxParserSteps = 1 << 14

func (l *loader) loadParser() {
	p := &l.prog.parser
	p.start = -1
	if len(l.in.Parsers) == 0 {
		return
	}
	if len(l.in.Parsers) > 1 {
		l.unsupported(nil, "more than one parser")
	}
	jp := &l.in.Parsers[0]
	index := map[string]int{}
	for i, s := range jp.States {
		if _, dup := index[s.Name]; dup {
			l.bad(s.Source, "two parser states %q", s.Name)
		}
		index[s.Name] = i
	}
	state := func(name *string) int {
		if name == nil {
			return -1
		}
		i, ok := index[*name]
		if !ok {
			l.bad(nil, "unknown parser state %q", *name)
		}
		return i
	}
	for i := range jp.States {
		p.states = append(p.states, l.parseState(&jp.States[i], state))
	}
	p.start = state(&jp.InitState)
}

func (l *loader) parseState(js *bmv2json.ParseState, state func(*string) int) parseState {
	l.fn, l.at = "parser state "+js.Name, js.Source
	defer func() { l.fn, l.at = "", nil }()
	s := parseState{name: js.Name, next: -1, told: &stateTrace{}}
	for i := range js.Ops {
		n := l.noteOfParser(&js.Ops[i])
		s.ops = append(s.ops, n.parser.compile(l, n))
		s.does = append(s.does, l.parseOp(n, s.ops[i]))
		s.notes = append(s.notes, n)
		s.told.ops = append(s.told.ops, n.parser.traced(l, n, s.ops[i]))
	}
	var widths []int
	for _, k := range js.TransitionKey {
		e := l.dataExpr(js.Source, l.value(js.Source, k))
		w := e.Width()
		if e.Op == ir.OpUnionField {
			w = e.Hi.BitLen()
		}
		if w == 0 {
			l.unsupported(js.Source, "transition key of type %q", k.Type)
		}
		widths, s.keys = append(widths, w), append(s.keys, e)
		s.told.key = append(s.told.key, l.operand(e))
		octets := (w + 7) / 8
		s.keyLen += octets
		s.keyBits = append(s.keyBits, 8*octets)
		n := bitfield.Words(w)
		s.wideKey = append(s.wideKey, parseKey{get: l.unsignedWide(e, w), n: n, size: octets})
		if w <= 64 {
			g, m := l.u64(e), bitfield.Mask(w)
			t := term{kind: termCall, get: func(c *Context) uint64 { return g(c) & m }}
			if e.Nonneg() {
				t = l.term(e)
			}
			s.key, s.ids = append(s.key, t), append(s.ids, l.keep(&note{value: e}, closure{get: t.get}))
		}
	}
	narrow := s.keyLen <= 8
	if narrow {
		s.wideKey = nil
	} else {
		s.key = nil
	}
	for i := range js.Transitions {
		t := &js.Transitions[i]
		next := state(t.NextState)
		if t.Type == "default" || t.Type == "" && (t.Value == "default" || t.Value == nil) {
			s.next = next
			break // nothing after it can match
		}
		s.cases = append(s.cases, l.parseCase(js, t, &s, widths, next))
	}
	return s
}

// unsignedWide reads a leaf of w bits into words, without sign extension.
func (l *loader) unsignedWide(e *ir.Expr, w int) wideFn {
	n := bitfield.Words(w)
	g := l.wide(e, n)
	if e.Nonneg() {
		return g
	}
	m := bitfield.Mask(w - 64*(n-1))
	return func(c *Context, dst []uint64) {
		g(c, dst)
		dst[n-1] &= m
	}
}

func (l *loader) parseCase(js *bmv2json.ParseState, t *bmv2json.Transition, s *parseState,
	widths []int, next int) parseCase {
	pc := parseCase{set: -1, next: next}
	text, _ := t.Value.(string)
	mask := ir.Pow2(8 * s.keyLen)
	mask.Sub(mask, ir.One)
	if t.Mask != nil {
		m, ok := bmv2json.ParseHex(*t.Mask)
		if !ok || m.Sign() < 0 || m.BitLen() > 8*s.keyLen {
			l.bad(js.Source, "transition mask %q", *t.Mask)
		}
		mask = m
	}
	pc.mask = ir.Low64(mask)
	pc.wmask = mask.FillBytes(make([]byte, s.keyLen))
	switch t.Type {
	case "parse_vset":
		set, ok := l.valueSets[text]
		if !ok {
			l.bad(js.Source, "unknown value set %q", text)
		}
		total := 0
		for _, w := range widths {
			total += w
		}
		if total != l.prog.info.valueSets[set].Width {
			l.bad(js.Source, "value set %q of %d bits against a key of %d", text,
				l.prog.info.valueSets[set].Width, total)
		}
		pc.set, pc.fields = set, widths
	case "hexstr", "":
		v, ok := bmv2json.ParseHex(text)
		if ok && v.Sign() < 0 && len(widths) == 1 { // of a signed key
			v.Add(v, ir.Pow2(widths[0]))
		}
		if !ok || v.Sign() < 0 || v.BitLen() > 8*s.keyLen {
			l.bad(js.Source, "transition value %q", text)
		}
		v = new(big.Int).And(v, mask)
		pc.value = ir.Low64(v)
		pc.wvalue = v.FillBytes(make([]byte, s.keyLen))
	default:
		l.unsupported(js.Source, "transition of type %q", t.Type)
	}
	return pc
}

// unlessFailed runs a step, and reports whether the parser goes on.
func unlessFailed(run func(*Context)) func(*Context) bool {
	return func(c *Context) bool {
		run(c)
		return !c.failed
	}
}

func (l *loader) shift(n *note) func(*Context) bool {
	octets := n.octets
	if octets < 0 {
		l.bad(n.source, "shift by %d", octets)
	}
	return func(c *Context) bool { return c.skip(uint64(octets)) }
}

func (l *loader) advance(n *note) func(*Context) bool {
	bits, errs := l.u64(l.dataExpr(n.source, n.args[0])), &l.prog.errors
	return func(c *Context) bool {
		n := bits(c)
		if n%8 != 0 {
			return c.parseError(errs.argument)
		}
		return !c.failed && c.skip(n/8)
	}
}

func (l *loader) verify(n *note) func(*Context) bool {
	ok := l.boolean(l.boolExpr(n.source, n.args[0]))
	code := l.u64(l.dataExpr(n.source, n.args[1]))
	return func(c *Context) bool {
		if ok(c) {
			return !c.failed
		}
		return c.parseError(code(c))
	}
}

func (l *loader) set(n *note) func(*Context) bool {
	l.parserEffects = append(l.parserEffects, unordered(l.storeEffect(n.args[0], nil))...)
	return unlessFailed(l.assign(n.source, n.args[0], n.args[1]))
}

func (l *loader) parserPrimitive(n *note) func(*Context) bool {
	l.parserEffects = append(l.parserEffects, unordered(l.effectsOf(n))...)
	return unlessFailed(l.primitive(n))
}

// extraction is what an operation of the parser extracts into: a header, or the next of headers.
type extraction struct {
	headers []*ir.Header
	stack   int // the stack, or union stack, that counts which header is next; -1: none
}

// next returns the header that is extracted; nil: the stack is full.
func (x *extraction) next(c *Context) *ir.Header {
	i := 0
	if x.stack >= 0 {
		i = int(c.next[x.stack])
	}
	if i < len(x.headers) {
		return x.headers[i]
	}
	return nil
}

// extracted notes what an operation extracts into, and the length of a varbit field.
func (l *loader) extracted(op *bmv2json.ParserOp, n *note) {
	src := op.Source
	for _, length := range op.Parameters[1:] {
		n.args = append(n.args, l.raw(src, length))
	}
	var v bmv2json.Value
	l.decode(src, op.Parameters[0], &v, op.Op)
	switch v.Type {
	case "regular":
		n.into = extraction{[]*ir.Header{l.headerNamed(src, v.Value)}, -1}
	case "stack":
		s := l.stackNamed(src, l.name(src, v.Value))
		n.into = extraction{s.Headers, s.Index}
	case "union_stack":
		var ref []string
		l.decode(src, v.Value, &ref, op.Op)
		if len(ref) != 2 {
			l.bad(src, "extract into %s", v.Value)
		}
		s := l.unionStackNamed(src, ref[0])
		m := l.unionStackMember(src, s, ref[1])
		n.into.stack = s.Index
		for _, u := range s.Unions {
			n.into.headers = append(n.into.headers, u.Headers[m])
		}
	default:
		l.bad(src, "extract into %q", v.Type)
	}
}

func (l *loader) extract(n *note) func(*Context) bool {
	var length *ir.Expr
	if len(n.args) > 0 {
		length = l.dataExpr(n.source, n.args[0])
	}
	var to []func(*Context) bool
	for _, h := range n.into.headers {
		to = append(to, l.extractTo(n.source, h, length))
	}
	if n.into.stack < 0 {
		return to[0]
	}
	return l.extractNext(n.into.stack, to)
}

// extractNext compiles the extraction into the next element of stack i, each
// by its own function.
func (l *loader) extractNext(i int, to []func(*Context) bool) func(*Context) bool {
	errs := &l.prog.errors
	return func(c *Context) bool {
		k := int(c.next[i])
		if k >= len(to) {
			return c.parseError(errs.stack)
		}
		if !to[k](c) {
			return false
		}
		c.next[i]++
		return true
	}
}

func (l *loader) extractTo(src *bmv2json.Source, h *ir.Header, n *ir.Expr) func(*Context) bool {
	lay, errs := &l.prog.layout, &l.prog.errors
	if h.Meta {
		l.bad(src, "extract into metadata %q", h.Name)
	}
	off, size := h.Off, h.Size
	if n == nil {
		if h.VL >= 0 {
			l.unsupported(src, "extract of %q without the length of its varbit field", h.Name)
		}
		w, m := h.Word, h.Mask
		plain := h.Union < 0
		return func(c *Context) bool {
			b := c.frame.b[c.cur:]
			if len(b) < size {
				return c.parseError(errs.tooShort)
			}
			copy(c.data[off:off+size], b)
			if plain {
				c.valid[w] |= m
				c.dirty[w] |= m
			} else {
				c.setValid(h, lay)
			}
			c.cur += size
			return true
		}
	}
	if h.VL < 0 {
		l.bad(src, "extract of %q, which has no varbit field, with a length", h.Name)
	}
	width, cut, vl, maxLen := l.u64(n), h.VLBit/8, h.VL, h.Type.MaxLen
	within := h.VLBit % 8 // the octet it starts in is not all its own
	return func(c *Context) bool {
		bits := width(c)
		switch left := len(c.frame.b) - c.cur; {
		// BMv2 takes the most an int holds, which is not whole octets
		case bits%8 != 0, bits > math.MaxInt32:
			return c.parseError(errs.argument)
		case bits/8 > uint64(left) || int(bits/8)+size > left:
			return c.parseError(errs.tooShort)
		case maxLen != 0 && int(bits/8)+size > maxLen:
			return c.parseError(errs.headerTooShort)
		}
		v := int(bits / 8)
		b := c.frame.b[c.cur:]
		if within == 0 {
			copy(c.data[off:off+cut], b)
			copy(c.data[off+cut:off+size], b[cut+v:])
			c.vl[vl] = span{uint32(c.cur + cut), uint32(c.cur + cut + v)}
		} else {
			at := 8*cut + within
			bitfield.Copy(c.data, 8*off, b, 0, at)
			bitfield.Copy(c.data, 8*off+at, b, at+8*v, 8*size-at)
			c.vl[vl] = c.frame.shift(b[cut:cut+v+1], within)
		}
		c.setValid(h, lay)
		c.cur += size + v
		return true
	}
}

// parseOp is an operation of a parser state: the extraction of a header of a
// fixed length, instructions, or a call.
type parseOp struct {
	off, size, word int
	mask            uint64 // not 0: extraction
	code            []instr
	id              uint32 // number of call
	call            func(*Context) bool
}

// parseOp compiles an operation that call does, too.
func (l *loader) parseOp(n *note, call func(*Context) bool) parseOp {
	if n.parser.plain != nil {
		if o := n.parser.plain(l, n); o.mask != 0 || o.code != nil {
			return o
		}
	}
	return parseOp{call: call, id: l.keep(n, closure{parse: call})}
}

// plainExtract is the extraction of a header of a fixed length.
func (l *loader) plainExtract(n *note) parseOp {
	if h := n.into.headers[0]; n.into.stack < 0 && h.Union < 0 && h.VL < 0 && !h.Meta {
		return parseOp{off: h.Off, size: h.Size, word: h.Word, mask: h.Mask}
	}
	return parseOp{}
}

// plainSet is an assignment as instructions.
func (l *loader) plainSet(n *note) parseOp { return parseOp{code: l.stores(n.args[0], n.args[1])} }
