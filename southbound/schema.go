package southbound

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Format defines how a value is best shown to people.
type Format uint8

// The formats.
const (
	FormatNumber Format = iota
	FormatIPv6
	FormatMAC
)

// FieldInfo describes a match field, an action parameter or a packet metadata
// field.
type FieldInfo struct {
	ID     uint32
	Name   string
	Width  int             // bits
	Match  entry.MatchKind // match fields only
	Format Format
}

// TableInfo describes a table.
type TableInfo struct {
	ID      uint32
	Name    string // the alias: the shortest unique suffix of the full name
	Size    int64  // entries
	Fields  []FieldInfo
	Actions []uint32
	// Profile is the action profile or selector behind the table, 0 when none.
	Profile uint32
	// Const: the entries come with the program. ConstDefault: so does the
	// default action.
	Const, ConstDefault bool
}

// ActionInfo describes an action.
type ActionInfo struct {
	ID     uint32
	Name   string
	Params []FieldInfo
}

// CounterInfo describes an indirect counter.
type CounterInfo struct {
	ID      uint32
	Name    string
	Size    int64
	Packets bool // counts packets
	Bytes   bool // counts octets
	// IndexNames names the cells when the P4 program indexes by a serializable
	// enum; otherwise it is nil.
	IndexNames map[int64]string
}

// ProfileInfo describes an action profile or selector.
type ProfileInfo struct {
	ID       uint32
	Name     string
	Selector bool
	Size     int64
	MaxGroup int32 // greatest size of a group, 0 when unlimited
}

// Schema holds the names behind the ids of a pipeline. It does not change.
type Schema struct {
	Tables   []TableInfo   // by id
	Actions  []ActionInfo  // by id
	Counters []CounterInfo // by id
	Profiles []ProfileInfo // by id
	// Enums are the serializable enums of the program: value to name, by name of
	// the enum.
	Enums map[string]map[int64]string
	// Digests maps ids to names.
	Digests map[uint32]string
	// PacketIn and PacketOut are the fields of the controller headers.
	PacketIn, PacketOut []FieldInfo

	tables      map[uint32]*TableInfo
	tableNames  map[string]*TableInfo
	actions     map[uint32]*ActionInfo
	actionNames map[string]*ActionInfo
	counters    map[uint32]*CounterInfo
	digestIDs   map[string]uint32
}

// fieldByName returns the field with a name; nil: no such field.
func fieldByName(fields []FieldInfo, name string) *FieldInfo {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// fieldByID returns the field with an id; nil: no such field.
func fieldByID(fields []FieldInfo, id uint32) *FieldInfo {
	for i := range fields {
		if fields[i].ID == id {
			return &fields[i]
		}
	}
	return nil
}

func newSchema(info *p4config.P4Info) (*Schema, error) {
	s := &Schema{
		Digests: make(map[uint32]string), Enums: make(map[string]map[int64]string),
		tables: make(map[uint32]*TableInfo), tableNames: make(map[string]*TableInfo),
		actions: make(map[uint32]*ActionInfo), actionNames: make(map[string]*ActionInfo),
		counters: make(map[uint32]*CounterInfo), digestIDs: make(map[string]uint32),
	}
	for name := range info.GetTypeInfo().GetSerializableEnums() {
		s.Enums[name] = enumNames(info, name)
	}
	for _, t := range info.GetTables() {
		out := TableInfo{
			ID: t.GetPreamble().GetId(), Name: name(t.GetPreamble()), Size: t.GetSize(),
			Profile: t.GetImplementationId(),
			Const:   t.GetIsConstTable(), ConstDefault: t.GetConstDefaultActionId() != 0,
		}
		for _, f := range t.GetMatchFields() {
			out.Fields = append(out.Fields, FieldInfo{
				ID: f.GetId(), Name: f.GetName(), Width: int(f.GetBitwidth()),
				Match:  matchKinds[f.GetMatchType()],
				Format: format(f.GetName(), int(f.GetBitwidth()), f.GetAnnotations()),
			})
		}
		for _, a := range t.GetActionRefs() {
			out.Actions = append(out.Actions, a.GetId())
		}
		s.Tables = append(s.Tables, out)
	}
	for _, a := range info.GetActions() {
		out := ActionInfo{ID: a.GetPreamble().GetId(), Name: name(a.GetPreamble())}
		for _, p := range a.GetParams() {
			out.Params = append(out.Params, FieldInfo{
				ID: p.GetId(), Name: p.GetName(), Width: int(p.GetBitwidth()),
				Format: format(p.GetName(), int(p.GetBitwidth()), p.GetAnnotations()),
			})
		}
		s.Actions = append(s.Actions, out)
	}
	for _, c := range info.GetCounters() {
		unit := c.GetSpec().GetUnit()
		s.Counters = append(s.Counters, CounterInfo{
			ID: c.GetPreamble().GetId(), Name: name(c.GetPreamble()), Size: c.GetSize(),
			Packets:    unit != p4config.CounterSpec_BYTES,
			Bytes:      unit != p4config.CounterSpec_PACKETS,
			IndexNames: s.Enums[c.GetIndexTypeName().GetName()],
		})
	}
	for _, p := range info.GetActionProfiles() {
		s.Profiles = append(s.Profiles, ProfileInfo{
			ID: p.GetPreamble().GetId(), Name: name(p.GetPreamble()), Selector: p.GetWithSelector(),
			Size: p.GetSize(), MaxGroup: p.GetMaxGroupSize(),
		})
	}
	for _, d := range info.GetDigests() {
		s.Digests[d.GetPreamble().GetId()] = name(d.GetPreamble())
		s.digestIDs[name(d.GetPreamble())] = d.GetPreamble().GetId()
	}
	for _, h := range info.GetControllerPacketMetadata() {
		var fields []FieldInfo
		for _, m := range h.GetMetadata() {
			fields = append(fields, FieldInfo{ID: m.GetId(), Name: m.GetName(), Width: int(m.GetBitwidth())})
		}
		switch h.GetPreamble().GetName() {
		case "packet_in":
			s.PacketIn = fields
		case "packet_out":
			s.PacketOut = fields
		}
	}
	return s, s.index()
}

// index sorts and fills the maps, and refuses ids that are 0 or taken.
func (s *Schema) index() error {
	slices.SortFunc(s.Tables, func(a, b TableInfo) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Actions, func(a, b ActionInfo) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Counters, func(a, b CounterInfo) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Profiles, func(a, b ProfileInfo) int { return cmp.Compare(a.ID, b.ID) })
	for i := range s.Tables {
		s.tables[s.Tables[i].ID], s.tableNames[s.Tables[i].Name] = &s.Tables[i], &s.Tables[i]
	}
	for i := range s.Actions {
		s.actions[s.Actions[i].ID], s.actionNames[s.Actions[i].Name] = &s.Actions[i], &s.Actions[i]
	}
	for i := range s.Counters {
		s.counters[s.Counters[i].ID] = &s.Counters[i]
	}
	if len(s.tables) != len(s.Tables) || len(s.actions) != len(s.Actions) ||
		len(s.counters) != len(s.Counters) || s.tables[0] != nil {
		return fmt.Errorf("%w: P4Info with an id that is 0 or used twice", ErrMalformed)
	}
	return nil
}

var matchKinds = map[p4config.MatchField_MatchType]entry.MatchKind{
	p4config.MatchField_EXACT: entry.MatchExact, p4config.MatchField_LPM: entry.MatchLPM,
	p4config.MatchField_TERNARY: entry.MatchTernary, p4config.MatchField_RANGE: entry.MatchRange,
	p4config.MatchField_OPTIONAL: entry.MatchOptional,
}

func name(p *p4config.Preamble) string {
	if p.GetAlias() != "" {
		return p.GetAlias()
	}
	return p.GetName()
}

// format follows @format annotations where there are any; otherwise 128 bits
// are an IPv6 address, and 48 bits called an address or MAC are one.
func format(name string, width int, annotations []string) Format {
	for _, a := range annotations {
		switch strings.ReplaceAll(a, " ", "") {
		case "@format(IPV6_ADDRESS)":
			return FormatIPv6
		case "@format(MAC_ADDRESS)":
			return FormatMAC
		case "@format(HEX_STRING)", "@format(NUMBER)":
			return FormatNumber
		}
	}
	switch {
	case width == 128:
		return FormatIPv6
	case width == 48 && (strings.Contains(name, "mac") || strings.Contains(name, "addr") ||
		name == "src" || name == "dst"):
		return FormatMAC
	}
	return FormatNumber
}

func enumNames(info *p4config.P4Info, typeName string) map[int64]string {
	out := make(map[int64]string)
	for _, m := range info.GetTypeInfo().GetSerializableEnums()[typeName].GetMembers() {
		if n, ok := entry.ValueOf(m.GetValue()).Uint64(); ok && n < 1<<62 {
			out[int64(n)] = m.GetName()
		}
	}
	return out
}

// Table returns the table of that name.
func (s *Schema) Table(name string) (TableInfo, error) {
	if t := s.tableNames[name]; t != nil {
		return *t, nil
	}
	return TableInfo{}, fmt.Errorf("%w: table %q", ErrUnknownName, name)
}

// Counter returns the counter of that name.
func (s *Schema) Counter(name string) (CounterInfo, error) {
	for _, c := range s.Counters {
		if c.Name == name {
			return c, nil
		}
	}
	return CounterInfo{}, fmt.Errorf("%w: counter %q", ErrUnknownName, name)
}
