package engine

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

func (c *Context) skip(n uint64) bool {
	if n > uint64(len(c.frame.b)-c.cur) {
		return c.parseError(c.st.prog.errors.tooShort)
	}
	c.cur += int(n)
	return true
}

// shift keeps the octets that start n bits within the first of b.
func (f *Frame) shift(b []byte, n int) span {
	at := uint32(len(f.shifted))
	for i := range len(b) - 1 {
		f.shifted = append(f.shifted, b[i]<<n|b[i+1]>>(8-n))
	}
	return span{at | shifted, uint32(len(f.shifted)) | shifted}
}

// parseError ends parsing with a code.
func (c *Context) parseError(code uint64) bool {
	c.failed = true
	c.perr = code
	return false
}

// lookahead reads n bits, at most 64, off bits ahead of the cursor.
func (c *Context) lookahead(off, n int) uint64 {
	if 8*c.cur+off+n > 8*len(c.frame.b) {
		c.parseError(c.st.prog.errors.tooShort)
		return 0
	}
	return bitfield.Load64(c.frame.b, 8*c.cur+off, n)
}

func (c *Context) lookaheadWide(off, n int, dst []uint64) {
	if 8*c.cur+off+n > 8*len(c.frame.b) {
		c.parseError(c.st.prog.errors.tooShort)
		clear(dst)
		return
	}
	w := min(n, 64*len(dst))
	bitfield.Load(c.frame.b, 8*c.cur+off+n-w, w, dst)
}

// parse runs the parser over the frame and leaves the rest as payload.
func (c *Context) parse(p *parser) {
	errs := &c.st.prog.errors
	c.cur, c.failed, c.perr = 0, false, errs.none
	c.checksumBad = false
	if c.ID != 0 {
		c.parseTraced(p)
		return
	}
	if t := c.code(); t != nil {
		t.Parse(c)
	} else {
		c.runParser(p)
	}
	c.payload = span{uint32(c.cur), uint32(len(c.frame.b))}
	for i := range p.verify {
		if !p.verify[i].check(c) {
			c.checksumBad = true
		}
	}
}

// runParser runs the states of the parser.
func (c *Context) runParser(p *parser) {
	s := p.start
	for steps := 0; s >= 0; steps++ {
		st := &p.states[s]
		if steps == maxParserSteps {
			c.parseError(c.st.prog.errors.timeout)
			return
		}
		c.parseOps(st.does)
		if c.failed {
			return
		}
		if s = st.pick(c); c.failed {
			return
		}
	}
}

// parseOps executes operations until one fails.
func (c *Context) parseOps(ops []parseOp) {
	for i := range ops {
		o := &ops[i]
		switch {
		case o.mask != 0:
			b := c.frame.b[c.cur:]
			if len(b) < o.size {
				c.parseError(c.st.prog.errors.tooShort)
				return
			}
			copy(c.data[o.off:o.off+o.size], b)
			c.valid[o.word] |= o.mask
			c.dirty[o.word] |= o.mask
			c.cur += o.size
		case o.call == nil:
			if c.exec(o.code); c.failed {
				return
			}
		case !o.call(c):
			return
		}
	}
}

// pick evaluates the transition.
func (st *parseState) pick(c *Context) int {
	if len(st.cases) == 0 {
		return st.next
	}
	if st.wideKey != nil || len(st.key) == 0 {
		return st.pickWide(c)
	}
	k := c.eval(&st.key[0])
	for i := 1; i < len(st.key); i++ {
		k = k<<(st.keyBits[i]&63) | c.eval(&st.key[i])
	}
	for i := range st.cases {
		pc := &st.cases[i]
		if pc.set < 0 {
			if k&pc.mask == pc.value {
				return pc.next
			}
			continue
		}
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], k)
		if c.inValueSet(pc, b[8-st.keyLen:]) {
			return pc.next
		}
	}
	return st.next
}

func (st *parseState) pickWide(c *Context) int {
	key := c.calcBuf(st.keyLen)[:0]
	for _, k := range st.wideKey {
		t := c.push(k.n)
		k.get(c, t)
		for i := k.size - 1; i >= 0; i-- {
			key = append(key, byte(t[i/8]>>(8*(i%8))))
		}
		c.pop(k.n)
	}
	for i := range st.cases {
		if pc := &st.cases[i]; pc.fits(c, key) {
			return pc.next
		}
	}
	return st.next
}

// fits reports whether a padded key is of a case.
func (pc *parseCase) fits(c *Context, key []byte) bool {
	if pc.set >= 0 {
		return c.inValueSet(pc, key)
	}
	for j, m := range pc.wmask {
		if key[j]&m != pc.wvalue[j] {
			return false
		}
	}
	return true
}

// inValueSet looks a padded key up in a value set.
func (c *Context) inValueSet(pc *parseCase, key []byte) bool {
	for _, v := range c.st.valueSets[pc.set] {
		// v is compressed: the fields right-aligned without padding.
		total, hit := 0, true
		for _, w := range pc.fields {
			total += w
		}
		from := 8*len(v) - total
		at := 0
		for _, w := range pc.fields {
			pad := (8 - w%8) % 8
			at += pad
			for i := 0; i < w && hit; {
				n := min(64, w-i)
				m := bitfield.Load64(pc.wmask, at+i, n)
				hit = bitfield.Load64(v, from+i, n)&m == bitfield.Load64(key, at+i, n)&m
				i += n
			}
			from += w
			at += w
		}
		if hit {
			return true
		}
	}
	return false
}
