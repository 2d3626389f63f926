package engine

// maxPool bounds the packet states and frames kept for reuse.
const maxPool = 1024

// swap exchanges the packet in hand with another.
func (c *Context) swap(p *PHV) { c.PHV, *p = *p, c.PHV }

// newPHV takes a packet state from the pool, with zero headers, and metadata as clearNeeded has it.
func (c *Context) newPHV() *PHV {
	lay := &c.st.prog.layout
	if n := len(c.phvs); n > 0 {
		p := c.phvs[n-1]
		c.phvs = c.phvs[:n-1]
		p.clearHeaders(lay)
		c.clearNeeded(p)
		return p
	}
	return newPHV(lay)
}

// barePHV is newPHV without clearing: for what is overwritten anyway.
func (c *Context) barePHV() *PHV {
	if n := len(c.phvs); n > 0 {
		p := c.phvs[n-1]
		c.phvs = c.phvs[:n-1]
		return p
	}
	return newPHV(&c.st.prog.layout)
}

func (c *Context) freePHV(p *PHV) {
	if p.frame != nil {
		c.freeFrame(p.frame)
		p.frame = nil
	}
	p.path = nil
	if len(c.phvs) < maxPool {
		c.phvs = append(c.phvs, p)
	}
}

// Hold counts one more holder of a packet state.
func (p *PHV) Hold() { p.refs++ }

// Release counts one holder less. The last one gives the packet state back.
func (c *Context) Release(p *PHV) {
	if p.refs--; p.refs == 0 {
		c.freePHV(p)
	}
}

// Detach takes the packet out of the context, which gets an empty one. The caller holds it.
func (c *Context) Detach() *PHV {
	p := c.barePHV()
	c.swap(p)
	p.refs = 1
	return p
}

// Take makes a packet state the packet in hand and releases it: the last holder's moves, others get
// a copy.
func (c *Context) Take(p *PHV) {
	if p.path != nil {
		c.make(p)
		return
	}
	if p.refs == 1 {
		c.swap(p)
		p.refs = 0
		c.freePHV(p)
		return
	}
	p.refs--
	var carry func(to, from []byte)
	if t := c.code(); t != nil {
		carry = t.Carry
	}
	c.copyFrom(p, &c.st.prog.layout, carry)
	c.frame.refs++
}

// Finish gives the frame of the processed packet back.
func (c *Context) Finish() {
	if c.frame != nil {
		c.freeFrame(c.frame)
		c.frame = nil
	}
}

// NewFrame makes a frame of octets, whose buffer it keeps. It returns another buffer.
func (c *Context) NewFrame(b []byte) (f *Frame, buffer []byte) {
	f = c.newFrame()
	f.b, buffer = b, f.b
	return f, buffer
}

func (c *Context) newFrame() *Frame {
	if n := len(c.frames); n > 0 {
		f := c.frames[n-1]
		c.frames = c.frames[:n-1]
		f.b, f.shifted, f.refs, f.crcFrom, f.crcTo = f.b[:0], f.shifted[:0], 1, 0, 0
		return f
	}
	return &Frame{refs: 1}
}

func (c *Context) freeFrame(f *Frame) {
	if f.refs--; f.refs == 0 && len(c.frames) < maxPool {
		c.frames = append(c.frames, f)
	}
}
