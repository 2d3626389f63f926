package engine

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// stateTrace is what the trace knows of a parser state.
type stateTrace struct {
	ops []func(*Context) bool // as the state's, and told
	key []operand
}

// parseTraced is parse for a packet that is traced.
func (c *Context) parseTraced(p *parser) {
	errs := &c.st.prog.errors
	c.traceStage("parser")
	s := p.start
	for steps := 0; s >= 0; steps++ {
		st := &p.states[s]
		if steps == maxParserSteps {
			c.parseError(errs.timeout)
			break
		}
		c.Tell(trace.Step{State: &trace.State{Name: st.name, Offset: c.cur}})
		for _, op := range st.told.ops {
			if !op(c) {
				break
			}
		}
		if c.failed {
			break
		}
		sel := &trace.Select{Key: c.read(st.told.key), State: "accept"}
		if len(st.cases) > 0 {
			sel.Case = st.caseTaken(c, sel.Key)
		}
		if s = st.pick(c); c.failed {
			break
		}
		if s >= 0 {
			sel.State = p.states[s].name
		}
		c.Tell(trace.Step{Select: sel})
	}
	if c.failed {
		c.Tell(trace.Step{ParserError: &trace.ParserError{Name: c.st.prog.told.errors[c.perr],
			Code: c.perr}})
	}
	c.payload = span{uint32(c.cur), uint32(len(c.frame.b))}
	for i := range p.verify {
		k := &p.verify[i]
		if ok := k.check(c); !ok {
			c.checksumBad = true
		}
		if k.checks(c) {
			k.traceCheck(c)
		}
	}
}

// caseTaken is the first case of a select that the key fits.
func (st *parseState) caseTaken(c *Context, fields []trace.Field) string {
	var key []byte
	var sizes []int
	for _, f := range fields {
		digits := strings.TrimPrefix(string(f.Value), "0x")
		if len(digits)%2 != 0 {
			digits = "0" + digits
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			return ""
		}
		key, sizes = append(key, b...), append(sizes, len(b))
	}
	if len(key) != st.keyLen {
		return "" // something of it is not there
	}
	for i := range st.cases {
		switch pc := &st.cases[i]; {
		case !pc.fits(c, key):
		case pc.set >= 0:
			return "value set " + c.st.prog.info.valueSets[pc.set].Name
		default:
			return pc.text(sizes)
		}
	}
	return "default"
}

// text returns a case in P4 syntax; sizes holds the octets of each field.
func (pc *parseCase) text(sizes []int) string {
	var parts []string
	at := 0
	for _, n := range sizes {
		v, m := pc.wvalue[at:at+n], pc.wmask[at:at+n]
		at += n
		s := "0x" + hex.EncodeToString(v)
		switch all := bytes.Repeat([]byte{0xff}, n); {
		case bytes.Equal(m, make([]byte, n)):
			s = "_"
		case !bytes.Equal(m, all):
			s += " &&& 0x" + hex.EncodeToString(m)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// traceCheck adds the step of a checksum that is verified.
func (k *checksum) traceCheck(c *Context) {
	old, _ := c.value(k.f)
	want := k.calc.compute(c)
	c.Tell(trace.Step{Checksum: &trace.Checksum{Name: k.name, Field: k.f.Name(), OK: want == k.get(c),
		Value: intValue(want, k.f.Width), Old: old}})
}

func (l *loader) tracedExtract(n *note, run func(*Context) bool) func(*Context) bool {
	at := sourceOf(n.source)
	return func(c *Context) bool {
		h, from := n.into.next(c), c.cur
		if !run(c) {
			return false
		}
		x := &trace.Extract{Header: h.Name, Offset: from, Octets: c.cur - from,
			Fields: make([]trace.Field, 0, len(h.Fields))}
		for i := range h.Fields {
			f := c.field(&h.Fields[i])
			f.Name = h.Type.Fields[i].Name
			x.Fields = append(x.Fields, f)
		}
		c.Tell(trace.Step{Extract: x, At: at})
		return true
	}
}

func (l *loader) tracedParserAssign(n *note, run func(*Context) bool) func(*Context) bool {
	return unlessFailed(l.tracedAssign(n, func(c *Context) { run(c) }))
}

func (l *loader) tracedParserPrimitive(n *note, run func(*Context) bool) func(*Context) bool {
	return unlessFailed(l.tracedPrimitive(n, func(c *Context) { run(c) }))
}

func (l *loader) tracedVerify(n *note, run func(*Context) bool) func(*Context) bool {
	reads, at := l.operands(n.args[0]), sourceOf(n.source)
	return func(c *Context) bool {
		v := &trace.Verify{Reads: c.read(reads)}
		if v.OK = run(c); !v.OK {
			v.Error = c.st.prog.told.errors[c.perr]
		}
		c.Tell(trace.Step{Verify: v, At: at})
		return v.OK
	}
}

func (l *loader) tracedAdvance(n *note, run func(*Context) bool) func(*Context) bool {
	at := sourceOf(n.source)
	return func(c *Context) bool {
		from := c.cur
		ok := run(c)
		if ok {
			c.Tell(trace.Step{Advance: &trace.Advance{Octets: c.cur - from}, At: at})
		}
		return ok
	}
}
