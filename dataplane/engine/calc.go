package engine

import (
	"encoding/binary"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/packet"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2hash"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// calculation is a named hash over a list of inputs. Inputs from headers that
// are not valid are left out, as in BMv2; the bits of the rest follow each
// other without padding.
type calculation struct {
	name  string
	fn    bmv2hash.Func
	items []calcItem
	// When all headers involved are valid, the input is what fast describes.
	// need are the validity bits to check first.
	need []uint64
	fast []calcRun
	size int // octets fast writes to the buffer
	last fieldRun
	// slow inputs have a length that no octet boundary can be given for.
	slow bool
	// sum reports whether fast copies octets only, an Internet checksum of which needs
	// no copy.
	sum   bool
	crc32 bool // it is the CRC-32 of Ethernet
}

// calcItem is one input.
type calcItem struct {
	hdr     *ir.Header // nil for constants and the payload
	whole   bool       // the whole header
	f       *ir.Field
	e       *ir.Expr // a value that was folded into this place
	get     wideFn
	words   int
	k       []byte // constant: bits, right-aligned
	bits    int
	payload bool
}

// calcRun is a step that builds the input when all its headers are valid.
type calcRun struct {
	kind runKind
	off  int // octets of PHV.data, or bits for runBits
	n    int // octets; bits for runBits
	k    []byte
	vl   int
	at   int  // octet in the buffer
	bit  int  // runBits, runWide: bit in the buffer
	t    term // runBits

	wide  wideFn
	words int
}

type runKind uint8

const (
	runCopy    runKind = iota // octets of the packet state
	runConst                  // constant octets
	runBits                   // up to 64 bits at any offset
	runWide                   // more bits at any offset
	runSpan                   // a variable-length field, not copied
	runPayload                // the payload, not copied
)

func (l *loader) loadCalculations() {
	l.calcs = map[string]*calculation{}
	l.calcByName = map[string]*bmv2json.Calculation{}
	for i := range l.in.Calculations {
		jc := &l.in.Calculations[i]
		if l.calcByName[jc.Name] != nil {
			l.bad(jc.Source, "calculation %q is declared twice", jc.Name)
		}
		l.calcByName[jc.Name] = jc
	}
}

// calcNamed compiles a calculation where it is used; nil when there is none.
// One used once may take its inputs from assignments folded into that place.
func (l *loader) calcNamed(name string) *calculation {
	if k := l.calcs[name]; k != nil {
		return k
	}
	jc := l.calcByName[name]
	if jc == nil {
		return nil
	}
	l.calcs[name] = l.calculation(jc.Source, jc.Name, jc.Algo, jc.Input)
	return l.calcs[name]
}

func (l *loader) calculation(src *bmv2json.Source, name, algo string,
	input []bmv2json.Value) *calculation {
	k := &calculation{name: name, fn: bmv2hash.Algorithms[algo],
		crc32: algo == "crc32" || algo == "crc32_custom"}
	if k.fn == nil {
		l.unsupported(src, "hash algorithm %q: want one of %s", algo,
			strings.Join(slices.Sorted(maps.Keys(bmv2hash.Algorithms)), ", "))
	}
	for _, in := range input {
		switch in.Type {
		case "payload":
			k.items = append(k.items, calcItem{payload: true})
			continue
		case "header":
			h := l.headerNamed(src, in.Value)
			k.items = append(k.items, calcItem{hdr: h, whole: true})
			continue
		}
		if in.Type == "field" {
			f := l.fieldValue(src, in.Value)
			k.items = append(k.items, l.calcField(f))
			continue
		}
		e := l.value(src, in)
		switch {
		case e.Op == ir.OpConst && e.Bits > 0 && e.N.Sign() >= 0 && e.N.BitLen() <= e.Bits &&
			e.Bits <= ir.MaxFieldBits:
			k.items = append(k.items, calcItem{k: e.N.FillBytes(make([]byte, (e.Bits+7)/8)), bits: e.Bits})
		default:
			l.unsupported(src, "hash %q over a value of type %q", name, in.Type)
		}
	}
	l.planCalculation(k)
	k.sum = !k.slow && (algo == "csum16" || algo == "cksum16") &&
		!slices.ContainsFunc(k.fast, func(r calcRun) bool { return r.kind != runCopy || r.at%2 != 0 })
	return k
}

// calcField returns the input from a field, or from the value folded into the field. A folded value
// counts whether or not the header of the value is valid, just as the field would have.
func (l *loader) calcField(f *ir.Field) calcItem {
	e := l.subst[f]
	switch {
	case e == nil:
		return calcItem{hdr: f.Header, f: f, bits: f.Width}
	case e.Op == ir.OpConst:
		k := new(big.Int).And(e.N, new(big.Int).Sub(ir.Pow2(f.Width), ir.One))
		return calcItem{k: k.FillBytes(make([]byte, (f.Width+7)/8)), bits: f.Width}
	case e.Varbit():
		return calcItem{f: e.Field}
	case e.Op == ir.OpField && !e.Field.Valid && e.Field.Width == f.Width:
		return calcItem{f: e.Field, bits: f.Width}
	}
	it := calcItem{e: e, bits: f.Width}
	it.get, it.words = l.wide(e, bitfield.Words(f.Width)), bitfield.Words(f.Width)
	return it
}

// planCalculation lays the input out for the case that every header is valid.
func (l *loader) planCalculation(k *calculation) {
	k.need = make([]uint64, l.prog.layout.ValidWords)
	bit := 0 // in the buffer
	for _, it := range k.items {
		if it.hdr != nil && !it.hdr.Meta {
			k.need[it.hdr.Word] |= it.hdr.Mask
		}
		switch {
		case it.payload:
			if bit%8 != 0 {
				k.slow = true
				return
			}
			k.fast = append(k.fast, calcRun{kind: runPayload, at: bit / 8})
		case it.whole && (it.hdr.Meta || bit%8 != 0 || it.hdr.VLBit%8 != 0), it.f != nil && it.f.VL &&
			bit%8 != 0:
			k.slow = true
			return
		case it.whole:
			h := it.hdr
			cut := h.Size
			if h.VL >= 0 {
				cut = h.VLBit / 8
			}
			bit = k.add(calcRun{kind: runCopy, off: h.Off, n: cut, at: bit / 8}, bit, 8*cut)
			if h.VL >= 0 {
				k.fast = append(k.fast, calcRun{kind: runSpan, vl: h.VL, at: bit / 8})
				bit = k.add(calcRun{kind: runCopy, off: h.Off + cut, n: h.Size - cut, at: bit / 8}, bit,
					8*(h.Size-cut))
			}
		case it.e != nil:
			bit = k.addValue(l, it, bit)
		case it.f == nil:
			bit = k.addConst(it, bit)
		case it.f.VL:
			k.fast = append(k.fast, calcRun{kind: runSpan, vl: it.f.Header.VL, at: bit / 8})
		case it.f.Valid:
			bit = k.add(calcRun{kind: runBits, n: 1, bit: bit,
				t: term{kind: termCall, get: fieldGetter(it.f)}}, bit, 1)
		default:
			bit = k.addField(it.f, bit)
		}
	}
	k.size = (bit + 7) / 8
}

// add appends a run of n bits and returns the bit after it.
func (k *calculation) add(r calcRun, bit, n int) int {
	if n > 0 {
		k.fast = append(k.fast, r)
	}
	return bit + n
}

// addField appends a field. Fields in the same sequence in the packet and in the input are copied
// together, as soon as they make whole octets.
func (k *calculation) addField(f *ir.Field, bit int) int {
	r := &k.last
	if r.from+r.n != f.Bit || r.at+r.n != bit || r.end != len(k.fast) {
		*r = fieldRun{from: f.Bit, at: bit, first: len(k.fast)}
	}
	for at := 0; at < f.Width; {
		n := min(64, f.Width-at)
		bit = k.add(calcRun{kind: runBits, n: n, bit: bit, t: bitsTerm(f.Bit+at, n)}, bit, n)
		at += n
	}
	r.n += f.Width
	if r.n > 0 && (r.from|r.at|r.n)%8 == 0 {
		k.fast = append(k.fast[:r.first], calcRun{kind: runCopy, off: r.from / 8, n: r.n / 8,
			at: r.at / 8})
	}
	r.end = len(k.fast)
	return bit
}

// fieldRun is a run of consecutive fields, in bits of packet state and input, copied by the steps
// first..end-1.
type fieldRun struct{ from, at, n, first, end int }

func (k *calculation) addConst(it calcItem, bit int) int {
	if bit%8 == 0 && it.bits%8 == 0 {
		return k.add(calcRun{kind: runConst, k: it.k, at: bit / 8}, bit, it.bits)
	}
	pad := 8*len(it.k) - it.bits
	for at := 0; at < it.bits; {
		n := min(64, it.bits-at)
		v := bitfield.Load64(it.k, pad+at, n)
		bit = k.add(calcRun{kind: runBits, n: n, bit: bit, t: term{n: v}}, bit, n)
		at += n
	}
	return bit
}

// addValue appends a computed value.
func (k *calculation) addValue(l *loader, it calcItem, bit int) int {
	if it.bits <= 64 {
		return k.add(calcRun{kind: runBits, n: it.bits, bit: bit,
			t: l.term(ir.Simplify(cutBits(it.e, it.bits)))}, bit, it.bits)
	}
	return k.add(calcRun{kind: runWide, n: it.bits, bit: bit, wide: it.get, words: it.words}, bit,
		it.bits)
}

// cutBits is the unsigned value of the n low bits of e.
func cutBits(e *ir.Expr, n int) *ir.Expr {
	return ir.WithInterval(&ir.Expr{Op: ir.OpAnd, A: e,
		B: ir.Constant(new(big.Int).Sub(ir.Pow2(n), ir.One))})
}

// compute evaluates the calculation.
func (k *calculation) compute(c *Context) uint64 {
	if !k.slow {
		ok := true
		for w, n := range k.need {
			if c.valid[w]&n != n {
				ok = false
			}
		}
		switch {
		case ok && k.sum:
			return k.sumInPlace(c)
		case ok:
			return k.computeFast(c)
		}
	}
	return k.computeSlow(c)
}

func (k *calculation) computeFast(c *Context) uint64 {
	buf := c.calcBuf(k.size + 8)
	segs := c.segs[:0]
	from := 0
	for i := range k.fast {
		switch r := &k.fast[i]; r.kind {
		case runCopy:
			copy(buf[r.at:r.at+r.n], c.data[r.off:])
		case runConst:
			copy(buf[r.at:], r.k)
		case runBits:
			putBits(buf, r.bit, r.n, c.eval(&r.t))
		case runWide:
			t := c.push(r.words)
			r.wide(c, t)
			bitfield.Store(buf, r.bit, r.n, t)
			if end := r.bit + r.n; end%8 != 0 {
				buf[end/8] &= 0xff << (8 - end%8)
			}
			c.pop(r.words)
		case runSpan, runPayload:
			if from < r.at {
				segs = append(segs, buf[from:r.at])
				from = r.at
			}
			if r.kind == runSpan {
				segs = append(segs, c.bytes(c.vl[r.vl]))
			} else {
				segs = append(segs, c.payloadBytes())
			}
		}
	}
	if from < k.size {
		segs = append(segs, buf[from:k.size])
	}
	c.segs = segs
	return k.fn(segs)
}

// sumInPlace is the Internet checksum of octets of the packet state.
func (k *calculation) sumInPlace(c *Context) uint64 {
	var sum uint64
	for i := range k.fast {
		r := &k.fast[i]
		sum = packet.ChecksumAdd(sum, c.data[r.off:r.off+r.n])
	}
	return uint64(packet.Checksum(sum))
}

// putBits writes the n low bits of v, at most 64, at a bit offset; bits are
// written in order, so what follows in the octet is cleared.
func putBits(b []byte, bit, n int, v uint64) {
	off, sh := bit/8, bit%8
	if sh == 0 {
		b[off] = 0
	}
	if sh+n <= 64 {
		head := uint64(b[off]) << 56
		binary.BigEndian.PutUint64(b[off:], head|v<<(64-sh-n))
		return
	}
	bitfield.Store64(b, bit, n, v)
	if end := bit + n; end%8 != 0 {
		b[end/8] &= 0xff << (8 - end%8)
	}
}

// computeSlow puts the input together bit by bit.
func (k *calculation) computeSlow(c *Context) uint64 {
	total := 0
	for _, it := range k.items {
		total += it.size(c)
	}
	n := (total + 7) / 8
	buf := c.calcBuf(n + 8)[:n]
	clear(buf)
	bit := 0
	put := func(b []byte, from, n int) {
		for n > 0 {
			t := min(64, n)
			bitfield.Store64(buf, bit, t, bitfield.Load64(b, from, t))
			bit, from, n = bit+t, from+t, n-t
		}
	}
	for _, it := range k.items {
		if it.size(c) == 0 {
			continue
		}
		switch {
		case it.payload:
			p := c.payloadBytes()
			put(p, 0, 8*len(p))
		case it.whole:
			h := it.hdr
			cut := 8 * h.Size
			if h.VL >= 0 {
				cut = h.VLBit
			}
			put(c.data, 8*h.Off, cut)
			if h.VL >= 0 {
				p := c.bytes(c.vl[h.VL])
				put(p, 0, 8*len(p))
				put(c.data, 8*h.Off+cut, 8*h.Size-cut)
			}
		case it.e != nil:
			t := c.push(it.words)
			it.get(c, t)
			bitfield.Store(buf, bit, it.bits, t)
			bit += it.bits
			c.pop(it.words)
		case it.f == nil:
			put(it.k, 8*len(it.k)-it.bits, it.bits)
		case it.f.VL:
			p := c.bytes(c.vl[it.f.Header.VL])
			put(p, 0, 8*len(p))
		case it.f.Valid:
			bitfield.Store64(buf, bit, 1, 1)
			bit++
		default:
			put(c.data, it.f.Bit, it.f.Width)
		}
	}
	segs := append(c.segs[:0], buf)
	c.segs = segs
	return k.fn(segs)
}

// size is how many bits an input contributes.
func (it *calcItem) size(c *Context) int {
	switch {
	case it.payload:
		return 8 * len(c.payloadBytes())
	case it.hdr != nil && !it.hdr.Meta && !c.isValid(it.hdr):
		return 0
	case it.whole:
		return 8 * c.headerLen(it.hdr)
	case it.f != nil && it.f.VL:
		return 8 * c.vl[it.f.Header.VL].len()
	}
	return it.bits
}
