package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// Values of standard_metadata.instance_type, as in BMv2.
const (
	instanceNormal = iota
	instanceIngressClone
	instanceEgressClone
	instanceCoalesced // never used
	instanceRecirc
	instanceReplication
	instanceResubmit
)

// Receive makes a frame the packet in hand, as it arrived on a port at a time in microseconds. ID
// says already whether it is traced.
func (c *Context) Receive(f *Frame, port uint32, arrived uint64) {
	std, lay := &c.st.prog.std, &c.st.prog.layout
	c.fresh = true
	c.clearHeaders(lay)
	if c.armed() {
		c.clearMeta(lay)
	} else {
		c.clearNeeded(&c.PHV)
	}
	c.frame, c.Port, c.Arrived = f, port, arrived
	c.Length, c.IngressLen, c.Trunc = len(f.b), len(f.b), Whole
	c.setStd(&std.ingressPort, uint64(port))
	c.setStd(&std.packetLength, uint64(c.Length))
	c.setStd(&std.ingressTime, arrived)
}

// clearNeeded zeroes the metadata that must be zero for the packet in hand, or for a packet made
// from it.
func (c *Context) clearNeeded(p *PHV) {
	if t := c.code(); t != nil {
		t.Clear(p.data)
		return
	}
	p.clearMeta(&c.st.prog.layout)
}

// Resume makes a recirculated or resubmitted packet the one in hand, with its metadata.
func (c *Context) Resume(p *PHV) {
	c.fresh = false
	if p.path != nil {
		c.make(p)
		return
	}
	c.swap(p)
	c.freePHV(p)
}

// Ingress runs parser, checksum verification and ingress on the packet in hand.
func (c *Context) Ingress() {
	prog := c.st.prog
	std := &prog.std
	c.resetActs()
	if c.armed() {
		c.paths.rec.ingress()
		return
	}
	c.parse(&prog.parser)
	c.setStd(&std.parserError, c.perr)
	if c.checksumBad {
		c.setStd(&std.checksumError, 1)
	} else {
		c.setStd(&std.checksumError, 0)
	}
	c.run(&prog.ingress, c.fresh)
}

// Egress is how a packet leaves its queue.
type Egress struct {
	Port               uint32
	Priority           int
	Instance           uint16 // egress_rid
	Copied             bool   // Instance is to be set
	Trunc              int
	Enqueued           uint64 // microseconds
	EnqDepth, DeqDepth int    // packets in the queue
}

// EnterEgress sets the metadata of the packet in hand for egress.
func (c *Context) EnterEgress(e *Egress) {
	std := &c.st.prog.std
	c.Trunc = e.Trunc
	if e.Copied {
		c.setStd(&std.egressRid, uint64(e.Instance))
	}
	now := c.Micros()
	c.setStd(&std.egressTime, now)
	c.setStd(&std.enqTime, e.Enqueued)
	c.setStd(&std.enqDepth, uint64(e.EnqDepth))
	c.setStd(&std.deqDelta, now-e.Enqueued)
	c.setStd(&std.deqDepth, uint64(e.DeqDepth))
	c.setStd(&std.qid, uint64(e.Priority))
	c.setStd(&std.egressPort, uint64(e.Port))
	c.setStd(&std.egressSpec, c.st.dropPort+1)
	c.setStd(&std.packetLength, uint64(c.Length))
	c.resetActs()
}

// Egress runs egress on the packet in hand, after EnterEgress.
func (c *Context) Egress() {
	if c.armed() {
		c.paths.rec.egress()
		return
	}
	c.run(&c.st.prog.egress, false)
}

func (c *Context) resetActs() {
	c.aborted = false
	c.clone, c.cloneList, c.digest = -1, nil, -1
	c.resubmit, c.recirculate = nil, nil
}

// Aborted reports whether an assertion of the program failed.
func (c *Context) Aborted() bool { return c.aborted }

// Clone returns the session that the program clones the packet to, -1 for none.
func (c *Context) Clone() int { return int(c.clone) }

// Digest returns the digest that the program sends, -1 for none.
func (c *Context) Digest() int { return int(c.digest) }

// Resubmits reports whether the program resubmits the packet.
func (c *Context) Resubmits() bool { return c.resubmit != nil }

// Recirculates reports whether the program recirculates the packet.
func (c *Context) Recirculates() bool { return c.recirculate != nil }

// MulticastGroup returns the packet's multicast group, 0 for none.
func (c *Context) MulticastGroup() uint16 { return uint16(c.std(&c.st.prog.std.mcastGroup)) }

// EgressSpec returns the port that the program chose.
func (c *Context) EgressSpec() uint32 { return uint32(c.std(&c.st.prog.std.egressSpec)) }

// Drops reports whether the program chose the drop port.
func (c *Context) Drops() bool { return c.std(&c.st.prog.std.egressSpec) == c.st.dropPort }

// Priority returns the queue that the program chose for a packet.
func (c *Context) Priority(p *PHV) int {
	if p.path != nil {
		return p.path.priority
	}
	return int(p.std(&c.st.prog.std.priority))
}

// SetUnicast makes instance_type in egress that of a packet for one port.
func (c *Context) SetUnicast() { c.setStd(&c.st.prog.std.instanceType, instanceNormal) }

// SetReplicated makes instance_type in egress that of a copy of a multicast group.
func (c *Context) SetReplicated() { c.setStd(&c.st.prog.std.instanceType, instanceReplication) }

// keep copies the fields of a list, as clone, resubmit and recirculate do.
func (fl *fieldList) keep(to, from *PHV) {
	for _, f := range fl.fields {
		if f.Header.Meta && f.Width <= 64 {
			to.setMeta64(f, from.meta64(f))
			continue
		}
		for at := 0; at < f.Width; {
			n := min(64, f.Width-at)
			bitfield.Store64(to.data, f.Bit+at, n, bitfield.Load64(from.data, f.Bit+at, n))
			at += n
		}
	}
}

// CloneReceived returns the copy for a clone session of the packet as it was received, with a
// length of received octets. It is parsed again; its metadata is empty but for the preserved
// fields. The caller holds it.
func (c *Context) CloneReceived(received int) *PHV {
	std, lay := &c.st.prog.std, &c.st.prog.layout
	list, id := c.cloneList, c.ID
	orig := c.newPHV()
	c.swap(orig) // orig is the packet, the context is empty
	c.frame, c.Port, c.Arrived = orig.frame, orig.Port, orig.Arrived
	c.frame.refs++
	c.Length, c.IngressLen, c.Trunc = received, orig.IngressLen, Whole
	perr, bad := c.perr, c.checksumBad
	c.setStd(&std.ingressPort, uint64(orig.Port))
	c.ID = 0
	c.parse(&c.st.prog.parser)
	c.ID = id
	c.perr, c.checksumBad = perr, bad
	c.clearMeta(lay)
	list.keep(&c.PHV, orig)
	c.setStd(&std.instanceType, instanceIngressClone)
	c.swap(orig) // and back: orig is the copy
	orig.refs = 1
	return orig
}

// CloneProcessed returns a copy of the packet in its current state, for a clone session. The caller
// holds the copy.
func (c *Context) CloneProcessed() *PHV {
	lay := &c.st.prog.layout
	p := c.barePHV()
	p.copyFrom(&c.PHV, lay, nil)
	p.frame.refs++
	p.clearMeta(lay)
	p.Trunc = Whole
	c.cloneList.keep(p, &c.PHV)
	p.setStd(&c.st.prog.std.instanceType, instanceEgressClone)
	p.refs = 1
	return p
}

// Resubmitted returns the packet as it was received, for ingress once more, with a length of
// received octets. The caller holds it.
func (c *Context) Resubmitted(received int) *PHV {
	c.frame.refs++
	return c.again(c.frame, c.resubmit, instanceResubmit, received)
}

// Recirculated returns the packet as it leaves, for ingress once more, or nil when an assertion of
// the deparser failed. The caller holds it.
func (c *Context) Recirculated() *PHV {
	f := c.newFrame()
	f.b = c.Deparse(f.b)
	if c.aborted {
		c.freeFrame(f)
		return nil
	}
	c.IngressLen = len(f.b)
	return c.again(f, c.recirculate, instanceRecirc, len(f.b))
}

// again returns a frame for ingress once more, with metadata empty but for the preserved fields. It
// takes over one reference to the frame.
func (c *Context) again(f *Frame, list *fieldList, instance uint64, length int) *PHV {
	std := &c.st.prog.std
	p := c.newPHV()
	p.frame, p.Port, p.Arrived = f, c.Port, c.Arrived
	p.Length, p.IngressLen, p.Trunc = length, c.IngressLen, Whole
	list.keep(p, &c.PHV)
	p.setStd(&std.instanceType, instance)
	p.setStd(&std.packetLength, uint64(length))
	p.refs = 1
	return p
}

// DigestValues returns the values of the fields in the digest that the program sends, in the form
// for dataplane.Output. They are valid until the next packet.
func (c *Context) DigestValues() [][]byte {
	i := int(c.digest)
	d := &c.st.prog.digests[i]
	total := 0
	for _, w := range d.widths {
		total += (w + 7) / 8
	}
	b := c.calcBuf(total)
	c.values = c.values[:0]
	for k, w := range d.widths {
		n := (w + 7) / 8
		t := c.push(bitfield.Words(w))
		d.fields[k](c, t)
		clear(b[:n])
		bitfield.Store(b[:n], 8*n-w, w, t)
		c.pop(bitfield.Words(w))
		c.values = append(c.values, b[:n:n])
		b = b[n:]
	}
	if c.ID != 0 {
		c.traceDigest(i)
	}
	return c.values
}

// digest is a compiled digest: its fields and their widths.
type digest struct {
	fields []wideFn
	widths []int
}

func (c *Context) assertFailed(op, where string) {
	c.aborted, c.exit = true, true
	if c.ID != 0 {
		c.told.failed = op + " failed at " + where
	}
}
