package engine

import (
	"encoding/json"
	"fmt"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// Load decodes and compiles a program in BMv2 JSON form. It fails with
// ErrBadProgram when the input is not such a program, and with ErrUnsupported
// when the program needs something the switch cannot do; both name the
// construct and, where known, its P4 source line. If translations contains a translation of this
// program, the program runs as that Go code.
func Load(data []byte, translations ...*Translation) (prog *Program, err error) {
	l := &loader{prog: &Program{}, copies: maxCopies}
	if len(translations) > 0 {
		sum := sumOf(data)
		for _, t := range translations {
			if t.Sum == sum {
				l.translated = t
			}
		}
	}
	return l.run(data)
}

// run decodes and compiles a program.
func (l *loader) run(data []byte) (prog *Program, err error) {
	if err := json.Unmarshal(data, &l.in); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrBadProgram, bmv2json.Describe(err, data))
	}
	// The loader's functions give up by panicking with a loadError, as those
	// of encoding/json do; nothing else is caught.
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(loadError)
			if !ok {
				panic(r)
			}
			prog, err = nil, e.err
		}
	}()
	l.load(data)
	return l.prog, nil
}

// loader holds what is needed only while a program is loaded.
type loader struct {
	in   bmv2json.Program
	prog *Program

	headerTypes       map[string]*ir.HeaderType
	headersByName     map[string]*ir.Header
	stacksByName      map[string]*ir.Stack
	unionsByName      map[string]*ir.Union
	unionStacksByName map[string]*ir.UnionStack
	aliases           map[string][2]string
	errorCodes        map[string]uint64

	registers  map[string]int
	counters   map[string]int
	meters     map[string]int
	calcs      map[string]*calculation
	calcByName map[string]*bmv2json.Calculation
	valueSets  map[string]int
	fieldLists map[int]*fieldList
	digests    map[int]int
	actionByID map[int]int

	folded   map[*bmv2json.Primitive]bool // assignments to temporaries that go
	dropped  map[fieldName]bool           // fields without room of their own
	calcUses map[string]int
	subst    map[*ir.Field]*ir.Expr // what folded assignments would have stored

	// named are the fields and whole headers that the program names.
	named        map[*ir.Field]bool
	namedHeaders map[*ir.Header]bool

	// standard are the fields of the program's std.
	standard []*stdField
	// parserEffects are the effects of all parser states.
	parserEffects []effect
	// rt is the runtime data of the action being compiled.
	rt []ir.Param
	// fn names the object being compiled, and at its place in the source, for errors.
	fn string
	at *bmv2json.Source

	// notes describe the numbered closures of prog.
	notes []*note
	// translated is the program as Go code, or nil; copies bounds the copies of a branch.
	translated *Translation
	copies     int
	// translating keeps what Translate asks for.
	translating bool

	depth int // of the expression being decoded
}

type loadError struct{ err error }

func (l *loader) fail(kind error, src *bmv2json.Source, format string, args ...any) {
	if src == nil {
		src = l.at
	}
	msg := fmt.Sprintf(format, args...)
	if l.fn != "" {
		msg = l.fn + ": " + msg
	}
	if at := src.String(); at != "" {
		msg = at + ": " + msg
	}
	panic(loadError{fmt.Errorf("%w: %s", kind, msg)})
}

// bad gives up on an input that contradicts the format or itself.
func (l *loader) bad(src *bmv2json.Source, format string, args ...any) {
	l.fail(ErrBadProgram, src, format, args...)
}

// unsupported gives up on a program that needs what this switch cannot do.
func (l *loader) unsupported(src *bmv2json.Source, format string, args ...any) {
	l.fail(ErrUnsupported, src, format, args...)
}

// decode unmarshals a raw part of the input.
func (l *loader) decode(src *bmv2json.Source, raw json.RawMessage, into any, what string) {
	if err := json.Unmarshal(raw, into); err != nil {
		l.bad(src, "%s: %s", what, bmv2json.Describe(err, nil))
	}
}

func (l *loader) load(data []byte) {
	// BMv2 takes JSON without a version too.
	switch v := l.in.Meta.Version; {
	case v == nil && len(l.in.HeaderTypes) == 0 && len(l.in.Parsers) == 0:
		l.bad(nil, "neither __meta__.version nor header_types nor parsers: not BMv2 JSON")
	case v == nil:
	case len(v) != 2:
		l.bad(nil, "__meta__.version has %d numbers: want [major, minor]", len(v))
	case v[0] != 2:
		l.unsupported(nil, "JSON version %d.%d: want 2.x", v[0], v[1])
	}
	if len(l.in.ExternInstances) > 0 {
		e := l.in.ExternInstances[0]
		l.unsupported(e.Source, "extern instance %q of type %q", e.Name, e.Type)
	}
	l.loadAliases()
	l.loadErrors()
	l.findTemporaries(data)
	l.subst = map[*ir.Field]*ir.Expr{}
	l.named, l.namedHeaders = map[*ir.Field]bool{}, map[*ir.Header]bool{}
	l.loadHeaders()
	l.loadStd()
	l.loadState()
	l.loadFieldLists()
	l.loadCalculations()
	l.loadActions()
	l.loadParser()
	l.loadPipelines()
	l.loadChecksums()
	l.loadDeparser()
	l.dropUnread()
	d := &l.prog.deparser
	l.prog.paths = len(d.prims)+len(d.updates)+len(l.prog.parser.verify) == 0 && d.order == nil
}

func (l *loader) loadAliases() {
	l.aliases = map[string][2]string{}
	for _, a := range l.in.FieldAliases {
		from, ok1 := a[0].(string)
		to, ok2 := a[1].([]any)
		if !ok1 || !ok2 || len(to) != 2 {
			l.bad(nil, "field alias %v: want [name, [header, field]]", a)
		}
		h, ok1 := to[0].(string)
		f, ok2 := to[1].(string)
		if !ok1 || !ok2 {
			l.bad(nil, "field alias %v: want [name, [header, field]]", a)
		}
		l.aliases[from] = [2]string{h, f}
	}
}

// Core errors of P4_16, in the order BMv2 numbers those the JSON leaves out.
var coreErrors = []string{"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds",
	"HeaderTooShort", "ParserTimeout", "ParserInvalidArgument"}

func (l *loader) loadErrors() {
	l.errorCodes = map[string]uint64{}
	used := map[uint64]bool{}
	for _, e := range l.in.Errors {
		name, ok1 := e[0].(string)
		v, ok2 := e[1].(float64)
		if !ok1 || !ok2 || v < 0 || v != float64(uint32(v)) {
			l.bad(nil, "error %v: want [name, number]", e)
		}
		l.errorCodes[name] = uint64(v)
		used[uint64(v)] = true
	}
	next := uint64(0)
	for _, name := range coreErrors {
		if _, ok := l.errorCodes[name]; ok {
			continue
		}
		for used[next] {
			next++
		}
		l.errorCodes[name] = next
		used[next] = true
	}
	l.prog.told.errors = map[uint64]string{}
	for name, code := range l.errorCodes {
		l.prog.told.errors[code] = name
	}
	p := &l.prog.errors
	p.none = l.errorCodes["NoError"]
	p.tooShort = l.errorCodes["PacketTooShort"]
	p.stack = l.errorCodes["StackOutOfBounds"]
	p.headerTooShort = l.errorCodes["HeaderTooShort"]
	p.timeout = l.errorCodes["ParserTimeout"]
	p.argument = l.errorCodes["ParserInvalidArgument"]
}

// stdFields are the metadata fields the switch itself reads and writes.
type stdFields struct {
	ingressPort, egressSpec, egressPort        stdField
	instanceType, packetLength                 stdField
	parserError, checksumError, priority       stdField
	ingressTime, egressTime                    stdField
	mcastGroup, egressRid                      stdField
	enqTime, enqDepth, deqDelta, deqDepth, qid stdField
}

// stdField is where such a field is.
type stdField struct {
	// octets into PHV.data; -1: the program lacks the field, or nothing would read what is written
	// there
	off   int32
	cut   uint8 // bits above the value
	field *ir.Field
}

func (l *loader) loadStd() {
	s := &l.prog.std
	for _, f := range []struct {
		dst       *stdField
		hdr, name string
		need      bool
	}{
		{&s.ingressPort, "standard_metadata", "ingress_port", true},
		{&s.egressSpec, "standard_metadata", "egress_spec", true},
		{&s.egressPort, "standard_metadata", "egress_port", true},
		{&s.instanceType, "standard_metadata", "instance_type", true},
		{&s.packetLength, "standard_metadata", "packet_length", true},
		{&s.parserError, "standard_metadata", "parser_error", false},
		{&s.checksumError, "standard_metadata", "checksum_error", false},
		{&s.priority, "intrinsic_metadata", "priority", false},
		{&s.ingressTime, "intrinsic_metadata", "ingress_global_timestamp", false},
		{&s.egressTime, "intrinsic_metadata", "egress_global_timestamp", false},
		{&s.mcastGroup, "intrinsic_metadata", "mcast_grp", false},
		{&s.egressRid, "intrinsic_metadata", "egress_rid", false},
		{&s.enqTime, "queueing_metadata", "enq_timestamp", false},
		{&s.enqDepth, "queueing_metadata", "enq_qdepth", false},
		{&s.deqDelta, "queueing_metadata", "deq_timedelta", false},
		{&s.deqDepth, "queueing_metadata", "deq_qdepth", false},
		{&s.qid, "queueing_metadata", "qid", false},
	} {
		*f.dst = l.std(f.hdr, f.name)
		l.standard = append(l.standard, f.dst)
		if f.dst.field == nil && f.need {
			l.bad(nil, "no field %s.%s: not a v1model program", f.hdr, f.name)
		}
	}
}

// dropUnread forgets the fields that only the switch would write: the program
// names them nowhere, nor the header they are in.
func (l *loader) dropUnread() {
	s := &l.prog.std
	for _, f := range []*stdField{&s.parserError, &s.checksumError, &s.ingressTime, &s.egressTime,
		&s.egressRid,
		&s.enqTime, &s.enqDepth, &s.deqDelta, &s.deqDepth, &s.qid} {
		if f.field != nil && !l.named[f.field] && !l.namedHeaders[f.field.Header] {
			f.off = -1
		}
	}
}

// loadState declares registers, counters, meters and value sets.
func (l *loader) loadState() {
	info := &l.prog.info
	l.registers, l.counters = map[string]int{}, map[string]int{}
	l.meters, l.valueSets = map[string]int{}, map[string]int{}
	for _, r := range l.in.RegisterArrays {
		l.declare(r.Source, l.registers, "register", r.Name, r.Size, len(info.registers))
		if r.Bitwidth < 1 {
			l.bad(r.Source, "register %q of %d bits", r.Name, r.Bitwidth)
		}
		if r.Bitwidth > ir.MaxFieldBits {
			l.unsupported(r.Source, "register %q of more than %d bits", r.Name, ir.MaxFieldBits)
		}
		info.registers = append(info.registers, RegisterInfo{Name: r.Name, Size: r.Size,
			Width: r.Bitwidth})
	}
	for _, c := range l.in.CounterArrays {
		l.declare(c.Source, l.counters, "counter", c.Name, c.Size, len(info.counters))
		ci := CounterInfo{Name: c.Name, Size: c.Size, Table: -1}
		if c.IsDirect {
			ci.Size = 0
		}
		info.counters = append(info.counters, ci)
	}
	for _, m := range l.in.MeterArrays {
		l.declare(m.Source, l.meters, "meter", m.Name, m.Size, len(info.meters))
		mi := MeterInfo{Name: m.Name, Size: m.Size, Table: -1}
		if m.RateCount != 2 {
			l.unsupported(m.Source, "meter %q with %d rates: want 2", m.Name, m.RateCount)
		}
		switch m.Type {
		case "packets":
			mi.Unit = MeterPackets
		case "bytes":
			mi.Unit = MeterBytes
		default:
			l.bad(m.Source, "meter %q of type %q: want packets or bytes", m.Name, m.Type)
		}
		if m.IsDirect {
			mi.Size = 0
		}
		info.meters = append(info.meters, mi)
	}
	for _, v := range l.in.ParseVSets {
		l.declare(nil, l.valueSets, "value set", v.Name, 0, len(info.valueSets))
		if v.Bitwidth < 1 || v.Bitwidth > ir.MaxFieldBits {
			l.bad(nil, "value set %q of %d bits", v.Name, v.Bitwidth)
		}
		info.valueSets = append(info.valueSets, ValueSetInfo{Name: v.Name, Width: v.Bitwidth})
	}
}

// declare notes the index of an array under its name.
func (l *loader) declare(src *bmv2json.Source, names map[string]int, what, name string, size,
	index int) {
	if _, dup := names[name]; dup {
		l.bad(src, "%s %q is declared twice", what, name)
	}
	if size < 0 {
		l.bad(src, "%s %q of size %d", what, name, size)
	}
	if size > maxArray {
		l.unsupported(src, "%s %q of size %d: more than %d", what, name, size, maxArray)
	}
	names[name] = index
}

// maxArray bounds the size of a register, counter or meter array.
const maxArray = 1 << 27

func (l *loader) deparser() *bmv2json.Deparser {
	if len(l.in.Deparsers) == 0 {
		return nil
	}
	return &l.in.Deparsers[0]
}

// fieldList is a list of metadata fields kept across clone, resubmit and
// recirculate.
type fieldList struct {
	fields []*ir.Field
}

func (l *loader) loadFieldLists() {
	l.fieldLists, l.digests = map[int]*fieldList{}, map[int]int{}
	for _, jl := range l.in.FieldLists {
		fl := &fieldList{}
		for _, e := range jl.Elements {
			if e.Type == "hexstr" {
				continue // a constant: nothing to keep
			}
			if e.Type != "field" {
				l.unsupported(jl.Source, "field list %q with an element of type %q", jl.Name, e.Type)
			}
			f := l.fieldValue(jl.Source, e.Value)
			if f.VL || f.Valid {
				l.unsupported(jl.Source, "field list %q with %s", jl.Name, f.Name())
			}
			fl.fields = append(fl.fields, f)
		}
		if l.fieldLists[jl.ID] != nil {
			l.bad(jl.Source, "two field lists with id %d", jl.ID)
		}
		l.fieldLists[jl.ID] = fl
	}
	for _, jl := range l.in.LearnLists {
		d := digest{}
		info := DigestInfo{Name: jl.Name}
		for i, e := range jl.Elements {
			x := l.value(jl.Source, e)
			if x.Kind != ir.KindData {
				l.unsupported(jl.Source, "digest %q with an element of type %q", jl.Name, e.Type)
			}
			w, name := x.Width(), fmt.Sprintf("field_%d", i)
			if x.Op == ir.OpField {
				name = x.Field.Name()
			}
			if w == 0 || x.Varbit() {
				l.unsupported(jl.Source, "digest %q with an element of unknown width", jl.Name)
			}
			d.widths = append(d.widths, w)
			d.fields = append(d.fields, l.wide(x, bitfield.Words(w)))
			info.Fields = append(info.Fields, ParamInfo{Name: name, Width: w})
		}
		if _, dup := l.digests[jl.ID]; dup {
			l.bad(jl.Source, "two digests with id %d", jl.ID)
		}
		l.digests[jl.ID] = len(l.prog.digests)
		l.prog.digests = append(l.prog.digests, d)
		l.prog.info.digests = append(l.prog.info.digests, info)
	}
}

// fieldValue decodes the value of a "field" reference.
func (l *loader) fieldValue(src *bmv2json.Source, raw json.RawMessage) *ir.Field {
	var ref []string
	l.decode(src, raw, &ref, "field reference")
	if len(ref) != 2 {
		l.bad(src, "field reference %s: want [header, field]", raw)
	}
	return l.lookupField(src, ref[0], ref[1])
}
