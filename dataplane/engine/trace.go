package engine

import (
	"github.com/weft-sdn/weft/dataplane/trace"
)

// A step that can be traced compares the id of the packet in hand with 0, once. Where that would be
// many comparisons (parser, controls, actions), a traced packet takes another way over the same
// compiled steps. Entries and programs are the same for both.

// Tell adds a step to the packet in hand, which is traced.
func (c *Context) Tell(s trace.Step) { c.Tracer.Step(c.ID, s) }

// told is what the trace remembers of the packet in hand.
type told struct {
	made bool          // the compiler made the action being executed
	at   *trace.Source // of the statement being executed
	// egress_spec, and the action and statement that set egress_spec.
	spec       uint64
	specAction string
	specAt     *trace.Source
	failed     string // the assertion that failed
}

// StartTrace forgets everything that the trace remembered of packets other than the packet in hand.
func (c *Context) StartTrace() { c.told = told{spec: c.std(&c.st.prog.std.egressSpec)} }

// Failure returns the assertion that failed, if the packet is traced.
func (c *Context) Failure() string { return c.told.failed }

// SpecSource returns the action and the statement that set egress_spec last, if the packet is
// traced.
func (c *Context) SpecSource() (action string, at *trace.Source) {
	return c.told.specAction, c.told.specAt
}

// traceStage enters a part of the switch.
func (c *Context) traceStage(name string) { c.Tell(trace.Step{Stage: &trace.Stage{Name: name}}) }

// traceDigest adds the step of a digest.
func (c *Context) traceDigest(i int) {
	info := &c.st.prog.info.digests[i]
	d := &trace.Digest{Name: info.Name}
	for k, v := range c.values {
		d.Fields = append(d.Fields, trace.Field{Name: info.Fields[k].Name,
			Value: trace.NewValue(v, info.Fields[k].Width)})
	}
	c.Tell(trace.Step{Digest: d})
}

// deparseTraced executes the statements of a deparser for a traced packet, and reports the parts
// that make up the packet.
func (c *Context) deparseTraced(d *deparser) {
	for i := range d.told {
		c.told.at = d.told[i].at
		d.told[i].run(c)
	}
	if c.aborted {
		return
	}
	t := &trace.Deparse{Headers: []trace.Emitted{}, Payload: c.payload.len()}
	t.Length = t.Payload
	order := d.order
	if order == nil {
		lay := &c.st.prog.layout
		order = lay.Headers[:lay.Deparsed]
	}
	for _, h := range order {
		if c.isValid(h) {
			n := c.headerLen(h)
			t.Headers = append(t.Headers, trace.Emitted{Name: h.Name, Octets: n})
			t.Length += n
		}
	}
	c.Tell(trace.Step{Deparse: t})
}
