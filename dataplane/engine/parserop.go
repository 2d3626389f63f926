package engine

import "github.com/weft-sdn/weft/dataplane/bmv2json"

// parserOperation is all that the engine knows of an operation of BMv2's parser states: how the
// operation runs, what a trace says of it, and how it becomes Go code and part of a path.
type parserOperation struct {
	args int // the number of parameters
	// note completes the note; nil: every parameter is an expression.
	note func(*loader, *bmv2json.ParserOp, *note)
	// compile returns what runs, and reports whether the parser goes on.
	compile func(*loader, *note) func(*Context) bool
	// plain returns what takes no call: an extraction or instructions. The zero value, or nil: a call.
	plain func(*loader, *note) parseOp
	// traced returns run with its trace step.
	traced func(l *loader, n *note, run func(*Context) bool) func(*Context) bool
	// translate writes Go code for what takes a call. False, or nil: the operation needs a closure.
	translate func(*translator, *note) bool
	// record runs the operation for a path.
	record func(r *recorder, n *note, run func(*Context) bool) bool
}

// parserOperations has the operations by their names in BMv2's JSON.
var parserOperations map[string]*parserOperation

func init() {
	parserOperations = map[string]*parserOperation{
		"extract": {args: 1, note: (*loader).extracted, compile: (*loader).extract,
			plain: (*loader).plainExtract, traced: (*loader).tracedExtract,
			record: (*recorder).extract},
		"extract_VL": {args: 2, note: (*loader).extracted, compile: (*loader).extract,
			traced: (*loader).tracedExtract, record: (*recorder).extract},
		"set": {args: 2, compile: (*loader).set, plain: (*loader).plainSet,
			traced: (*loader).tracedParserAssign, record: (*recorder).parserAssign},
		"verify": {args: 2, compile: (*loader).verify, traced: (*loader).tracedVerify,
			translate: (*translator).verify, record: (*recorder).knowing},
		"shift": {args: 1, note: shiftBy, compile: (*loader).shift, traced: (*loader).tracedAdvance,
			record: (*recorder).knowing},
		"advance": {args: 1, compile: (*loader).advance, traced: (*loader).tracedAdvance,
			translate: (*translator).advance, record: (*recorder).knowing},
		"primitive": {args: 1, note: primitiveOf, compile: (*loader).parserPrimitive,
			traced: (*loader).tracedParserPrimitive, record: (*recorder).parserPrimitive},
	}
}

// noteOfParser notes the parts of a parser operation, and checks the number of parameters.
func (l *loader) noteOfParser(op *bmv2json.ParserOp) *note {
	is := parserOperations[op.Op]
	if is == nil {
		l.unsupported(op.Source, "parser operation %q", op.Op)
	}
	if len(op.Parameters) != is.args {
		l.bad(op.Source, "%s with %d parameters: want %d", op.Op, len(op.Parameters), is.args)
	}
	n := &note{source: op.Source}
	if is.note != nil {
		is.note(l, op, n)
	} else {
		for _, p := range op.Parameters {
			n.args = append(n.args, l.raw(op.Source, p))
		}
	}
	n.parser = is
	return n
}

func shiftBy(l *loader, op *bmv2json.ParserOp, n *note) {
	l.decode(op.Source, op.Parameters[0], &n.octets, op.Op)
}

func primitiveOf(l *loader, op *bmv2json.ParserOp, n *note) {
	var p bmv2json.Primitive
	l.decode(op.Source, op.Parameters[0], &p, op.Op)
	*n = *l.noteOf(&p)
}
