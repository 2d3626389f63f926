package engine

// pathState is a packet between two passes, but for what comes from the received frame.
type pathState struct {
	phv   PHV
	frame []patch // of its data
	slots []slotPatch
	// instance is the instance_type in egress.
	instance uint64
}

// Follows reports whether packets may follow the paths of others.
func (c *Context) Follows() bool { return c.paths != nil }

// Recall looks for the path of an untraced received frame, and counts what the path does. The
// returned packet is in the state after ingress, held once. Recall returns nil if the frame has to
// run the program.
func (c *Context) Recall(f *Frame, port uint32, arrived uint64) *PHV {
	x := c.paths
	if x == nil || len(f.b) < minPath || len(f.b) >= int(slotSource) {
		return nil
	}
	x.current(c.st.gen)
	if !x.asks(port) {
		return nil
	}
	key := pathKey{length: len(f.b)}
	c.recalled = f
	x.given[givenTime], x.given[givenPort] = arrived, uint64(port)
	path := c.find(f, &key)
	if path == nil {
		x.arm(nil, &key, f.b)
		return nil
	}
	if path.outcome == pathPlain {
		return nil
	}
	x.found(port)
	p := c.barePHV()
	p.frame, p.Port, p.Arrived, p.refs = f, port, arrived, 1
	c.commit(path)
	path.enter(c, p)
	return p
}

// RecallAgain is Recall for a packet that comes once more: it reports whether the packet is now as
// after ingress, held once.
func (c *Context) RecallAgain(p *PHV) bool {
	x := c.paths
	if p.path == nil || p.path.gen != c.st.gen || x == nil {
		return false
	}
	x.current(c.st.gen)
	key := pathKey{}
	c.recalled = p.frame
	path := c.follow(p, &key)
	if path == nil {
		x.arm(p.path, &key, p.frame.b)
		return false
	}
	if path.outcome == pathPlain {
		return false
	}
	c.commit(path)
	path.enter(c, p)
	return true
}

// RecallEgress looks for the path of a packet that waits as a path, and counts what the path does.
// It returns nil if the packet has to run the program.
func (c *Context) RecallEgress(p *PHV, e *Egress) *Path {
	x := c.paths
	if p.path.gen != c.st.gen || x == nil || e.Trunc != Whole {
		return nil
	}
	x.current(c.st.gen)
	key := pathKey{egress: true, copied: e.Copied, priority: e.Priority}
	x.given[givenPort], x.given[givenInstance] = uint64(e.Port), uint64(e.Instance)
	c.recalled = p.frame
	path := c.follow(p, &key)
	if path == nil {
		x.arm(p.path, &key, p.frame.b)
		return nil
	}
	if path.outcome == pathPlain {
		return nil
	}
	c.commit(path)
	return path
}

// enter puts a packet at the end of a path, with the state for its next pass.
func (p *Path) enter(c *Context, to *PHV) {
	to.path, to.Length, to.IngressLen, to.Trunc = p, p.length, p.octets, Whole
	to.dest = p.to.of(c.paths.slots) | p.dest
	to.kept = to.kept[:0]
	for _, n := range p.keeps {
		to.kept = append(to.kept, c.paths.slots[n])
	}
}

// Waits reports whether the packet is not made yet: it is a received frame and its path.
func (p *PHV) Waits() bool { return p.path != nil }

// Group returns the multicast group that a packet that waits goes to, 0 for none.
func (p *PHV) Group() uint16 {
	if p.path.outcome != pathGroup {
		return 0
	}
	return uint16(p.dest)
}

// Spec returns the port that a packet that waits goes to.
func (p *PHV) Spec() uint32 { return uint32(p.dest) }

// Dropped reports whether a packet that waits is one that the program drops.
func (p *PHV) Dropped() bool { return p.path.outcome == pathDrop }

// Again reports whether the frame at the end of the path goes through ingress once more.
func (p *Path) Again() bool { return p.outcome == pathAgain }

// Leave returns the outgoing frame of a waiting packet at the end of its path. The frame is in b,
// or, where only the first octets of the received frame change, in the buffer of that frame, which
// gets b instead.
func (c *Context) Leave(b []byte, path *Path, p *PHV) []byte {
	o, f := path.out, p.frame
	if p.refs > 1 || f.refs > 1 || !o.keepsPlace() {
		return o.append(b[:0], f, c.paths.slots[:])
	}
	k := &o.pieces[0]
	b = append(b[:0], k.fixed...)
	fill(b, k.frame, k.slots, f, c.paths.slots[:])
	copy(f.b, b)
	b, f.b = f.b[:k.to], b
	return b
}

// Return returns the packet at the end of a path as one for ingress once more. The caller holds it.
func (c *Context) Return(path *Path, p *PHV) *PHV {
	to := c.barePHV()
	to.frame, to.Port, to.Arrived, to.refs = p.frame, p.Port, p.Arrived, 1
	to.frame.refs++
	path.enter(c, to)
	return to
}

// make makes a packet that waits the packet in hand, and releases it.
func (c *Context) make(p *PHV) {
	path := p.path
	s := path.state
	c.recalled = p.frame
	kept := c.keepsOf(p)
	var carry func(to, from []byte)
	if t := c.code(); t != nil && path.outcome != pathAgain && !c.armed() {
		carry = t.Carry
	}
	c.copyFrom(&s.phv, &c.st.prog.layout, carry)
	fill(c.data, s.frame, s.slots, p.frame, kept[:])
	c.Length, c.IngressLen, c.Trunc = p.Length, p.IngressLen, Whole
	c.Port, c.Arrived = p.Port, p.Arrived
	if path.outcome == pathAgain {
		f := c.newFrame()
		f.b = path.out.append(f.b, p.frame, kept[:])
		c.frame = f
	} else {
		c.setStd(&c.st.prog.std.instanceType, s.instance)
		c.frame = p.frame
		c.frame.refs++
	}
	c.Release(p)
}

// keepsOf returns all slots that the pass before has left to a packet that waits.
func (c *Context) keepsOf(p *PHV) *slots {
	if c.kept == nil {
		c.kept = new(slots)
	}
	copy(c.kept[:], p.kept)
	for i := range p.path.late {
		p.path.late[i].run(c.kept, p.frame)
	}
	return c.kept
}

// SetPaths has packets follow the paths of others, or not: a switch of a program begins with them.
func (c *Context) SetPaths(mode PathMode) {
	c.paths = nil
	if mode != PathsOff && c.st.prog != nil && c.st.prog.paths {
		c.paths = &paths{credit: creditFirst, mode: mode}
		c.paths.rec.c = c
	}
}

// Recalled returns how many received frames have followed the path of another through ingress.
func (c *Context) Recalled() uint64 {
	if c.paths == nil {
		return 0
	}
	return c.paths.recalled
}

// armed reports whether the pass that begins is recorded.
func (c *Context) armed() bool { return c.paths != nil && c.paths.armed && c.ID == 0 }
