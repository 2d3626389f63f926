package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// deparser is the compiled deparser: checksums are updated, then its
// statements run, then the headers leave.
type deparser struct {
	updates []checksum
	prims   []func(*Context)
	told    []primTrace // as prims
	// order is the headers to emit where layout.headers does not say it: a
	// header is emitted more than once.
	order []*ir.Header
}

func (l *loader) loadDeparser() {
	d := l.deparser()
	if d == nil {
		return
	}
	l.fn = "deparser " + d.Name
	for i := range d.Primitives {
		p := &d.Primitives[i]
		n := l.noteOf(p)
		run := l.primitive(n)
		l.prog.deparser.prims = append(l.prog.deparser.prims, run)
		l.prog.deparser.told = append(l.prog.deparser.told, primTrace{at: sourceOf(p.Source),
			run: l.tracedPrimitive(n, run)})
	}
	l.fn = ""
	if len(d.Order) != l.prog.layout.Deparsed {
		for _, name := range d.Order {
			l.prog.deparser.order = append(l.prog.deparser.order, l.headersByName[name])
		}
	}
}

// Deparse appends the packet as it leaves: valid headers in the deparser's
// order, then the payload. After a failed assertion Aborted is true.
func (c *Context) Deparse(b []byte) []byte {
	d, lay := &c.st.prog.deparser, &c.st.prog.layout
	if c.ID != 0 {
		c.traceStage("deparser")
	}
	for i := range d.updates {
		d.updates[i].update(c)
	}
	if c.ID != 0 {
		c.deparseTraced(d)
	} else {
		for _, f := range d.prims {
			f(c)
		}
	}
	if d.order != nil {
		for _, h := range d.order {
			if c.isValid(h) {
				b = c.appendHeader(b, h)
			}
		}
		return append(b, c.bytes(c.payload)...)
	}
	for w, v := range c.valid {
		for v != 0 {
			var i int
			i, v = bitfield.Next(v)
			if w*64+i >= lay.Deparsed {
				return append(b, c.bytes(c.payload)...)
			}
			b = c.appendHeader(b, lay.Headers[w*64+i])
		}
	}
	return append(b, c.bytes(c.payload)...)
}
