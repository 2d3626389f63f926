package engine

import "github.com/weft-sdn/weft/dataplane/ir"

// operation is all that the engine knows of a primitive of BMv2: how the primitive runs, how a
// trace shows the primitive, what the primitive changes, and how Go code and a path carry it out.
type operation struct {
	name string
	// args is the number of parameters; the last optional ones may be missing.
	args, optional int
	// into is the parameter that the primitive stores a value in, counted from 1, 0 for none. An
	// operation that updates reads that parameter, too.
	into    int
	updates bool
	assigns bool // it stores its second parameter in its first one
	plain   bool // it changes nothing but what it stores
	folds   bool // compile takes the parameters as expressions, which may have temporaries in them
	exits   bool // it may end the pipeline
	jumps   jumpKind
	// compile returns what runs, and completes the note.
	compile func(*loader, *note) func(*Context)
	// traced returns run with its trace step; nil: the step has the name and nothing else.
	traced func(l *loader, n *note, run func(*Context)) func(*Context)
	// effects lists the effects on conditions; nil: the store of any value, or all effects.
	effects func(*loader, *note) []effect
	// translate writes Go code. False, or nil: the primitive needs a closure.
	translate func(*translator, *note) bool
	// record runs the primitive for a path. nil: packets that run it have no path.
	record func(r *recorder, n *note, run func())
}

type jumpKind uint8

const (
	jumpNever jumpKind = iota
	jumpAlways
	jumpIfZero
)

// stores reports whether an operation writes parameter i and does not read it.
func (o *operation) stores(i int) bool { return o.into == i+1 && !o.updates }

// operations has the primitives by their names in BMv2's JSON.
var operations map[string]*operation

func init() {
	assign := operation{args: 2, into: 1, assigns: true, plain: true, folds: true,
		compile: func(l *loader, n *note) func(*Context) {
			return l.assign(n.source, n.args[0], n.args[1])
		},
		traced: (*loader).tracedAssign, effects: assignEffects, translate: (*translator).assign,
		record: func(r *recorder, n *note, run func()) { r.assign(n.args[0], n.args[1], run) }}
	// With three parameters, or with two and the first parameter also the first operand.
	binary := func(op ir.Op) *operation {
		return &operation{args: 3, into: 1, compile: calculate(op), traced: (*loader).tracedAssign}
	}
	update := func(op ir.Op) *operation {
		return &operation{args: 2, into: 1, updates: true, compile: calculate(op),
			traced: (*loader).tracedAssign}
	}
	header := operation{args: 2, compile: (*loader).assignHeader, traced: (*loader).tracedHeader,
		translate: (*translator).copyHeader, record: (*recorder).assignHeader}
	composite := func(of ir.Op) *operation {
		return &operation{args: 2, compile: func(l *loader, n *note) func(*Context) {
			return l.assignComposite(n, of)
		}}
	}
	drop := operation{compile: (*loader).markToDrop, traced: tracedRequest("drop"),
		effects: dropEffects, record: (*recorder).drop}
	assertion := operation{args: 1, exits: true, compile: (*loader).assertion,
		traced: (*loader).tracedAssertion, effects: noEffects}
	clone := operation{args: 2, compile: (*loader).clone, traced: (*loader).tracedClone,
		effects: noEffects}

	operations = map[string]*operation{
		"no_op": {compile: func(*loader, *note) func(*Context) { return func(*Context) {} },
			traced: (*loader).tracedItself, effects: noEffects, translate: (*translator).nothing,
			record: (*recorder).runs},
		"assign": &assign, "modify_field": with(assign),
		"assign_VL": {args: 2, into: 1, assigns: true,
			compile: func(l *loader, n *note) func(*Context) {
				return l.assignVL(n.source, n.args[0], n.args[1])
			},
			traced: (*loader).tracedAssign, record: (*recorder).runs},
		"add": binary(ir.OpAdd), "subtract": binary(ir.OpSub), "bit_xor": binary(ir.OpXor),
		"bit_or": binary(ir.OpOr), "bit_and": binary(ir.OpAnd), "shift_left": binary(ir.OpShl),
		"shift_right": binary(ir.OpShr), "add_to_field": update(ir.OpAdd),
		"subtract_from_field": update(ir.OpSub),
		"modify_field_rng_uniform": {args: 3, into: 1, compile: (*loader).random,
			traced: (*loader).tracedAssign},
		"modify_field_with_hash_based_offset": {args: 4, into: 1, folds: true, compile: (*loader).hash,
			traced: (*loader).tracedHash, record: (*recorder).hash},

		"assign_header": &header, "copy_header": with(header),
		"assign_header_stack": composite(ir.OpStack), "assign_union": composite(ir.OpUnion),
		"assign_union_stack": composite(ir.OpUnionStack),
		"add_header": {args: 1, compile: validityChange((*Context).add),
			traced: (*loader).tracedHeader, effects: validityEffects(setValid),
			translate: validity((*translator).addHeader), record: (*recorder).addHeader},
		"remove_header": {args: 1, compile: validityChange((*Context).remove),
			traced: (*loader).tracedHeader, effects: validityEffects(setInvalid),
			translate: validity((*translator).removeHeader), record: (*recorder).removeHeader},
		"push": {args: 2, compile: func(l *loader, n *note) func(*Context) { return l.pushPop(n, true) },
			traced: (*loader).tracedStack, effects: losesValidity},
		"pop": {args: 2, compile: func(l *loader, n *note) func(*Context) { return l.pushPop(n, false) },
			traced: (*loader).tracedStack, effects: losesValidity, record: (*recorder).pop},

		"register_read": {args: 3, into: 1, plain: true, folds: true, compile: (*loader).registerRead,
			traced: (*loader).tracedRead, translate: (*translator).registerRead,
			record: (*recorder).readRegister},
		"register_write": {args: 3, folds: true, compile: (*loader).registerWrite,
			traced: (*loader).tracedWrite, effects: noEffects, translate: (*translator).registerWrite,
			record: (*recorder).writeRegister},
		"count": {args: 2, folds: true, compile: (*loader).count, traced: (*loader).tracedCount,
			effects: noEffects, translate: (*translator).count, record: (*recorder).countIn},
		"execute_meter": {args: 3, into: 3, compile: (*loader).meter, traced: (*loader).tracedMeter},

		"mark_to_drop": &drop, "drop": with(drop),
		"exit": {exits: true, compile: (*loader).exit, traced: tracedRequest("exit"),
			effects: noEffects},
		"assert": &assertion, "assume": with(assertion),
		"log_msg": {args: 2, optional: 1, compile: (*loader).logMessage,
			traced: (*loader).tracedItself, effects: noEffects, record: (*recorder).runs},
		"truncate": {args: 1, compile: (*loader).truncate, traced: (*loader).tracedTruncate,
			effects: noEffects},
		"generate_digest": {args: 2, compile: (*loader).sendDigest, traced: tracedRequest("digest"),
			effects: noEffects},
		"clone_ingress_pkt_to_egress": &clone, "clone_egress_pkt_to_egress": with(clone),
		"resubmit": {args: 1, compile: func(l *loader, n *note) func(*Context) {
			fl := l.fieldListOf(n, 0)
			return func(c *Context) { c.resubmit = fl }
		}, traced: (*loader).tracedAgain, effects: noEffects},
		"recirculate": {args: 1, compile: func(l *loader, n *note) func(*Context) {
			fl := l.fieldListOf(n, 0)
			return func(c *Context) { c.recirculate = fl }
		}, traced: (*loader).tracedAgain, effects: noEffects, record: (*recorder).runs},

		"_jump":         {args: 1, jumps: jumpAlways, compile: noJump, effects: noEffects},
		"_jump_if_zero": {args: 2, jumps: jumpIfZero, compile: noJump, effects: noEffects},
	}
	operations["mark_to_drop"].args = 1
	for name, o := range operations {
		o.name = name
	}
}

// with returns another operation that does the same.
func with(o operation) *operation { return &o }

// noJump refuses a jump outside of actions.
func noJump(l *loader, n *note) func(*Context) {
	l.unsupported(n.source, "primitive %q", n.op.name)
	return nil
}
