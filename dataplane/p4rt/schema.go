package p4rt

import (
	"cmp"
	"fmt"
	"slices"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// schema indexes a P4Info message by id. A built schema is immutable and shared by all devices with
// the same configuration.
type schema struct {
	info *configv1.P4Info

	tables    map[uint32]*tableSchema
	actions   map[uint32]*actionSchema
	profiles  map[uint32]*profileSchema
	counters  map[uint32]*arraySchema
	meters    map[uint32]*arraySchema
	registers map[uint32]*registerSchema
	valueSets map[uint32]*valueSetSchema
	digests   map[uint32]*digestSchema

	// In the order of their ids, for wildcard reads with a stable order.
	tableList    []*tableSchema
	profileList  []*profileSchema
	counterList  []*arraySchema
	meterList    []*arraySchema
	registerList []*registerSchema
	valueSetList []*valueSetSchema
	digestList   []*digestSchema

	packetIn, packetOut *packetSchema

	types *typeInfo
	names map[uint32]objectName
}

// objectName is the name and the alias of an object.
type objectName struct{ name, alias string }

// matchKind is the kind of match of one key field.
type matchKind uint8

const (
	exactMatch matchKind = iota
	lpmMatch
	ternaryMatch
	rangeMatch
	optionalMatch
)

func (k matchKind) String() string {
	return [...]string{"exact", "lpm", "ternary", "range", "optional"}[k]
}

// fieldSchema is one field of a match key.
type fieldSchema struct {
	valueType
	id   uint32
	name string
	kind matchKind
	ones []byte // 2^device-1, the mask of a ternary or optional match of one value
}

// keySchema is the match key of a table or of a value set.
type keySchema struct {
	fields   []fieldSchema
	byID     map[uint32]int
	priority bool // has a ternary, range or optional field
}

type actionSchema struct {
	id     uint32
	name   string
	params []paramSchema
	byID   map[uint32]int
}

type paramSchema struct {
	valueType
	id   uint32
	name string
}

// actionUse describes how one table, or the tables of one profile, use an action.
type actionUse struct {
	*actionSchema
	scope  configv1.ActionRef_Scope
	engine int // index in Program.Actions
}

type tableSchema struct {
	id   uint32
	name string
	key  keySchema

	actions  map[uint32]*actionUse
	byEngine map[int]*actionUse

	size         int64
	constEntries bool
	// initialEntries reports that the program brings entries along.
	initialEntries bool
	idleTimeout    bool
	constDefault   uint32 // id of the constant default action, 0 if it may be changed

	profile *profileSchema
	counter *directSchema
	meter   *directSchema

	engine int
}

type profileSchema struct {
	id           uint32
	name         string
	selector     bool
	size         int64
	maxGroupSize int32
	noWeights    bool
	sumOfMembers bool
	maxWeight    int32
	tables       []*tableSchema

	engine int
}

// directSchema is a direct counter or a direct meter.
type directSchema struct {
	id    uint32
	name  string
	table *tableSchema
	meter configv1.MeterSpec_Type
}

// arraySchema is an indexed counter or meter.
type arraySchema struct {
	id    uint32
	name  string
	size  int64
	meter configv1.MeterSpec_Type

	engine int
}

type registerSchema struct {
	id   uint32
	name string
	size int64
	spec *configv1.P4DataTypeSpec
	// strings reports that it holds values of a type translated to strings.
	strings bool

	engine int
}

type valueSetSchema struct {
	id   uint32
	name string
	key  keySchema
	size int
	// width is the width of a member in the program.
	width int

	engine int
}

type digestSchema struct {
	id   uint32
	name string
	spec *configv1.P4DataTypeSpec

	engine int
}

// packetSchema is the controller header of packet-in or packet-out.
type packetSchema struct {
	name   string
	fields []paramSchema
	byID   map[uint32]int
	bits   int // of the header, in the program
}

// newSchema indexes a P4Info message. It returns INVALID_ARGUMENT for ids that are zero or used
// twice, and for references to missing objects.
func newSchema(info *configv1.P4Info) (*schema, *Error) {
	s := &schema{
		info:      info,
		tables:    make(map[uint32]*tableSchema, len(info.GetTables())),
		actions:   make(map[uint32]*actionSchema, len(info.GetActions())),
		profiles:  make(map[uint32]*profileSchema),
		counters:  make(map[uint32]*arraySchema),
		meters:    make(map[uint32]*arraySchema),
		registers: make(map[uint32]*registerSchema),
		valueSets: make(map[uint32]*valueSetSchema),
		digests:   make(map[uint32]*digestSchema),
		types:     newTypeInfo(info.GetTypeInfo()),
		names:     make(map[uint32]objectName),
	}
	seen := make(map[uint32]string)
	claim := func(kind string, p *configv1.Preamble) *Error {
		if p.GetId() == 0 {
			return invalid("P4Info: %s %q has id 0; ids must not be 0", kind, p.GetName())
		}
		if p.GetName() == "" {
			return invalid("P4Info: %s 0x%08x has no name", kind, p.GetId())
		}
		if other, dup := seen[p.GetId()]; dup {
			return invalid("P4Info: %s %q and %s have the same id 0x%08x", kind, p.GetName(), other,
				p.GetId())
		}
		seen[p.GetId()] = fmt.Sprintf("%s %q", kind, p.GetName())
		s.names[p.GetId()] = objectName{p.GetName(), p.GetAlias()}
		return nil
	}

	for _, a := range info.GetActions() {
		if err := claim("action", a.GetPreamble()); err != nil {
			return nil, err
		}
		as := &actionSchema{id: a.GetPreamble().GetId(), name: a.GetPreamble().GetName(),
			byID: make(map[uint32]int)}
		for _, p := range a.GetParams() {
			ps := paramSchema{id: p.GetId(), name: p.GetName()}
			var err *Error
			if ps.valueType, err = s.types.newValueType(int(p.GetBitwidth()), p.GetTypeName(),
				fmt.Sprintf("parameter %q of action %q", ps.name, as.name)); err != nil {
				return nil, err
			}
			if _, dup := as.byID[ps.id]; dup || ps.id == 0 {
				return nil, invalid("P4Info: parameter %q of action %q has id %d, which is 0 or used twice",
					ps.name, as.name, ps.id)
			}
			as.byID[ps.id] = len(as.params)
			as.params = append(as.params, ps)
		}
		s.actions[as.id] = as
	}

	for _, p := range info.GetActionProfiles() {
		if err := claim("action profile", p.GetPreamble()); err != nil {
			return nil, err
		}
		ps := &profileSchema{
			id: p.GetPreamble().GetId(), name: p.GetPreamble().GetName(),
			selector: p.GetWithSelector(), size: p.GetSize(), maxGroupSize: p.GetMaxGroupSize(),
			noWeights: p.GetWeightsDisallowed(),
		}
		if m := p.GetSumOfMembers(); m != nil {
			ps.sumOfMembers, ps.maxWeight = true, m.GetMaxMemberWeight()
		}
		s.profiles[ps.id] = ps
		s.profileList = append(s.profileList, ps)
	}

	for _, t := range info.GetTables() {
		if err := claim("table", t.GetPreamble()); err != nil {
			return nil, err
		}
		ts, err := s.newTable(t)
		if err != nil {
			return nil, err
		}
		s.tables[ts.id] = ts
		s.tableList = append(s.tableList, ts)
	}
	for _, p := range info.GetActionProfiles() {
		for _, id := range p.GetTableIds() {
			if t := s.tables[id]; t == nil || t.profile == nil || t.profile.id != p.GetPreamble().GetId() {
				return nil, invalid("P4Info: action profile %q lists table 0x%08x, which does not use it",
					p.GetPreamble().GetName(), id)
			}
		}
	}

	if err := s.addArrays(info, claim); err != nil {
		return nil, err
	}
	if err := s.addValueSets(info, claim); err != nil {
		return nil, err
	}
	if err := s.addPacketHeaders(info); err != nil {
		return nil, err
	}
	if n := len(info.GetExterns()); n > 0 {
		return nil, invalid("P4Info: extern type %q is not part of v1model and cannot be realized",
			info.GetExterns()[0].GetExternTypeName())
	}

	sortByID(s.tableList, func(x *tableSchema) uint32 { return x.id })
	sortByID(s.profileList, func(x *profileSchema) uint32 { return x.id })
	sortByID(s.counterList, func(x *arraySchema) uint32 { return x.id })
	sortByID(s.meterList, func(x *arraySchema) uint32 { return x.id })
	sortByID(s.registerList, func(x *registerSchema) uint32 { return x.id })
	sortByID(s.valueSetList, func(x *valueSetSchema) uint32 { return x.id })
	sortByID(s.digestList, func(x *digestSchema) uint32 { return x.id })
	return s, nil
}

func sortByID[T any](list []T, id func(T) uint32) {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
}

// maxWidth bounds the width of one value, so that a hostile P4Info cannot make
// the server allocate without limit.
const maxWidth = 1 << 16

func (s *schema) newKey(fields []*configv1.MatchField, what string) (keySchema, *Error) {
	k := keySchema{byID: make(map[uint32]int, len(fields))}
	for _, f := range fields {
		fs := fieldSchema{id: f.GetId(), name: f.GetName()}
		var err *Error
		if fs.valueType, err = s.types.newValueType(int(f.GetBitwidth()), f.GetTypeName(),
			fmt.Sprintf("match field %q of %s", fs.name, what)); err != nil {
			return k, err
		}
		switch f.GetMatchType() {
		case configv1.MatchField_EXACT:
			fs.kind = exactMatch
		case configv1.MatchField_LPM:
			fs.kind = lpmMatch
		case configv1.MatchField_TERNARY:
			fs.kind = ternaryMatch
		case configv1.MatchField_RANGE:
			fs.kind = rangeMatch
		case configv1.MatchField_OPTIONAL:
			fs.kind = optionalMatch
		default:
			return k, invalid("P4Info: match field %q of %s has match type %s; want EXACT, LPM, TERNARY, "+
				"RANGE or OPTIONAL",
				fs.name, what, matchTypeName(f))
		}
		if fs.tr.strings() && fs.kind != exactMatch && fs.kind != optionalMatch {
			return k, invalid("P4Info: match field %q of %s is %s and has type %q, translated to strings; "+
				"want exact or optional", fs.name, what, fs.kind, fs.tr.name)
		}
		if _, dup := k.byID[fs.id]; dup || fs.id == 0 {
			return k, invalid("P4Info: match field %q of %s has id %d, which is 0 or used twice", fs.name,
				what, fs.id)
		}
		if fs.kind >= ternaryMatch {
			k.priority = true
		}
		k.byID[fs.id] = len(k.fields)
		k.fields = append(k.fields, fs)
	}
	return k, nil
}

func matchTypeName(f *configv1.MatchField) string {
	if o := f.GetOtherMatchType(); o != "" {
		return fmt.Sprintf("%q", o)
	}
	return f.GetMatchType().String()
}

func (s *schema) newTable(t *configv1.Table) (*tableSchema, *Error) {
	ts := &tableSchema{
		id: t.GetPreamble().GetId(), name: t.GetPreamble().GetName(),
		actions:        make(map[uint32]*actionUse, len(t.GetActionRefs())),
		byEngine:       make(map[int]*actionUse, len(t.GetActionRefs())),
		size:           t.GetSize(),
		constEntries:   t.GetIsConstTable(),
		initialEntries: t.GetHasInitialEntries(),
		idleTimeout:    t.GetIdleTimeoutBehavior() == configv1.Table_NOTIFY_CONTROL,
		constDefault:   t.GetConstDefaultActionId(),
	}
	var err *Error
	if ts.key, err = s.newKey(t.GetMatchFields(), fmt.Sprintf("table %q", ts.name)); err != nil {
		return nil, err
	}
	for _, ref := range t.GetActionRefs() {
		a := s.actions[ref.GetId()]
		if a == nil {
			return nil, invalid("P4Info: table %q refers to action 0x%08x, which is not in the P4Info",
				ts.name, ref.GetId())
		}
		ts.actions[ref.GetId()] = &actionUse{actionSchema: a, scope: ref.GetScope()}
	}
	if id := ts.constDefault; id != 0 && s.actions[id] == nil {
		return nil, invalid("P4Info: the default action 0x%08x of table %q is not in the P4Info", id,
			ts.name)
	}
	if id := t.GetImplementationId(); id != 0 {
		p := s.profiles[id]
		if p == nil {
			return nil, invalid("P4Info: the implementation 0x%08x of table %q is not an action profile "+
				"of the P4Info", id, ts.name)
		}
		ts.profile = p
		p.tables = append(p.tables, ts)
	}
	return ts, nil
}

func (s *schema) addArrays(info *configv1.P4Info,
	claim func(string, *configv1.Preamble) *Error) *Error {
	for _, c := range info.GetCounters() {
		if err := claim("counter", c.GetPreamble()); err != nil {
			return err
		}
		a := &arraySchema{id: c.GetPreamble().GetId(), name: c.GetPreamble().GetName(), size: c.GetSize()}
		s.counters[a.id] = a
		s.counterList = append(s.counterList, a)
	}
	for _, m := range info.GetMeters() {
		if err := claim("meter", m.GetPreamble()); err != nil {
			return err
		}
		a := &arraySchema{id: m.GetPreamble().GetId(), name: m.GetPreamble().GetName(), size: m.GetSize(),
			meter: m.GetSpec().GetType()}
		s.meters[a.id] = a
		s.meterList = append(s.meterList, a)
	}
	for _, c := range info.GetDirectCounters() {
		if err := claim("direct counter", c.GetPreamble()); err != nil {
			return err
		}
		t := s.tables[c.GetDirectTableId()]
		if t == nil {
			return invalid("P4Info: direct counter %q belongs to table 0x%08x, which is not in the P4Info",
				c.GetPreamble().GetName(), c.GetDirectTableId())
		}
		t.counter = &directSchema{id: c.GetPreamble().GetId(), name: c.GetPreamble().GetName(), table: t}
	}
	for _, m := range info.GetDirectMeters() {
		if err := claim("direct meter", m.GetPreamble()); err != nil {
			return err
		}
		t := s.tables[m.GetDirectTableId()]
		if t == nil {
			return invalid("P4Info: direct meter %q belongs to table 0x%08x, which is not in the P4Info",
				m.GetPreamble().GetName(), m.GetDirectTableId())
		}
		t.meter = &directSchema{id: m.GetPreamble().GetId(), name: m.GetPreamble().GetName(), table: t,
			meter: m.GetSpec().GetType()}
	}
	for _, r := range info.GetRegisters() {
		if err := claim("register", r.GetPreamble()); err != nil {
			return err
		}
		rs := &registerSchema{id: r.GetPreamble().GetId(), name: r.GetPreamble().GetName(),
			size: int64(r.GetSize()), spec: r.GetTypeSpec()}
		if err := s.types.check(rs.spec, fmt.Sprintf("register %q", rs.name)); err != nil {
			return err
		}
		s.registers[rs.id] = rs
		s.registerList = append(s.registerList, rs)
	}
	for _, d := range info.GetDigests() {
		if err := claim("digest", d.GetPreamble()); err != nil {
			return err
		}
		ds := &digestSchema{id: d.GetPreamble().GetId(), name: d.GetPreamble().GetName(),
			spec: d.GetTypeSpec()}
		if err := s.types.check(ds.spec, fmt.Sprintf("digest %q", ds.name)); err != nil {
			return err
		}
		s.digests[ds.id] = ds
		s.digestList = append(s.digestList, ds)
	}
	return nil
}

func (s *schema) addValueSets(info *configv1.P4Info,
	claim func(string, *configv1.Preamble) *Error) *Error {
	for _, v := range info.GetValueSets() {
		if err := claim("value set", v.GetPreamble()); err != nil {
			return err
		}
		vs := &valueSetSchema{id: v.GetPreamble().GetId(), name: v.GetPreamble().GetName(),
			size: int(v.GetSize())}
		var err *Error
		if vs.key, err = s.newKey(v.GetMatch(), fmt.Sprintf("value set %q", vs.name)); err != nil {
			return err
		}
		s.valueSets[vs.id] = vs
		s.valueSetList = append(s.valueSetList, vs)
	}
	return nil
}

func (s *schema) addPacketHeaders(info *configv1.P4Info) *Error {
	for _, c := range info.GetControllerPacketMetadata() {
		name := c.GetPreamble().GetName()
		p := &packetSchema{name: name, byID: make(map[uint32]int)}
		for _, m := range c.GetMetadata() {
			f := paramSchema{id: m.GetId(), name: m.GetName()}
			var err *Error
			if f.valueType, err = s.types.newValueType(int(m.GetBitwidth()), m.GetTypeName(),
				fmt.Sprintf("metadata %q of %q", f.name, name)); err != nil {
				return err
			}
			if _, dup := p.byID[f.id]; dup || f.id == 0 {
				return invalid("P4Info: metadata %q of %q has id %d, which is 0 or used twice", f.name, name,
					f.id)
			}
			p.byID[f.id] = len(p.fields)
			p.fields = append(p.fields, f)
		}
		switch name {
		case "packet_in":
			s.packetIn = p
		case "packet_out":
			s.packetOut = p
		default:
			return invalid("P4Info: controller packet metadata %q; want \"packet_in\" or \"packet_out\"",
				name)
		}
	}
	return nil
}
