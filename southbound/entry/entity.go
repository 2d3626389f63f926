package entry

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
)

// Kind is a kind of entity a switch holds.
type Kind uint8

// The kinds of entity, in the order in which a switch is read back. The order of
// writes follows from the references of the P4 program ([p4.Rank]).
const (
	KindClone Kind = iota
	KindMulticast
	KindMember
	KindGroup
	KindTable
	KindDefault
	KindReports
	kinds // number of kinds that a P4 program has

	// KindRow is a row of a switch that runs no P4 program.
	KindRow = kinds
)

var kindNames = [...]string{
	"clone session", "multicast group", "action profile member", "action profile group",
	"table entry", "default action", "digest", "row",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Kinds returns every kind of a P4 program that a controller programs and can read back.
func Kinds() []Kind {
	out := make([]Kind, kinds)
	for k := range out {
		out[k] = Kind(k)
	}
	return out
}

// Key identifies an entity on its switch; two entities of one key cannot both
// exist there. Keys compare, sort in a fixed order, and can be read.
type Key string

// Entity is a [Table] entry, [Member], [Group], [Multicast], [Clone] or [Reports], or a [Row] of a
// switch that runs no P4 program. Entities are values: neither an entity nor a slice in it changes
// once it has been handed over.
type Entity interface {
	Kind() Kind
	Key() Key
	// String writes the entity on one line, key and content.
	String() string
	// equal compares the content of two entities of the same key.
	equal(Entity) bool
}

// HashKey returns a hash of the key of an entity: equal keys have equal hashes. For a table entry
// it does not make the key.
func HashKey(seed maphash.Seed, e Entity) uint64 {
	t, ok := e.(Table)
	if !ok {
		return maphash.String(seed, string(e.Key()))
	}
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(t.Name)
	if t.Default {
		return h.Sum64()
	}
	for i := range t.Match {
		m := &t.Match[i]
		h.WriteByte(byte(len(m.Value)))
		h.WriteString(m.Field)
		h.WriteString(string(m.Value))
		h.WriteString(string(m.Mask))
		h.WriteByte(byte(m.Bits))
	}
	h.WriteByte(byte(t.Priority))
	h.WriteByte(byte(t.Priority >> 8))
	h.WriteByte(byte(t.Priority >> 16))
	h.WriteByte(byte(t.Priority >> 24))
	return h.Sum64()
}

// Equal reports whether a and b are the same entity with the same content.
func Equal(a, b Entity) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind() == b.Kind() && a.Key() == b.Key() && a.equal(b)
}

// SameContent is [Equal] for two entities with the same key.
func SameContent(a, b Entity) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind() == b.Kind() && a.equal(b)
}

// MatchKind defines how a key field is compared.
type MatchKind uint8

// The match kinds of P4Runtime.
const (
	MatchExact MatchKind = iota + 1
	MatchLPM
	MatchTernary
	MatchRange
	MatchOptional
)

func (k MatchKind) String() string {
	if k >= MatchExact && k <= MatchOptional {
		return [...]string{"exact", "lpm", "ternary", "range", "optional"}[k-1]
	}
	return fmt.Sprintf("match kind %d", uint8(k))
}

// Match is the match on one key field; fields that match anything are left out.
type Match struct {
	Field string
	Kind  MatchKind
	Value Value
	Mask  Value // ternary: the mask; range: the high end
	Bits  int   // lpm: prefix length
}

// Param is an argument of an action.
type Param struct {
	Name  string
	Value Value
}

// Action is an action with its arguments, ordered by name.
type Action struct {
	Name   string
	Params []Param
}

// Do returns the action of a name with its arguments in any order.
func Do(name string, params ...Param) Action {
	sortByName(params, func(p Param) string { return p.Name })
	return Action{Name: name, Params: params}
}

// Arg returns the value of a parameter, "" for a missing parameter.
func (a Action) Arg(name string) Value {
	for _, p := range a.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// With returns a Param, for literals that read well.
func With(name string, v Value) Param { return Param{Name: name, Value: v} }

// Exact returns an exact match.
func Exact(field string, v Value) Match {
	return Match{Field: field, Kind: MatchExact, Value: v}
}

// NoAction is the action that does nothing (P4-16, core.p4). Every default action that a controller
// may change is this one until then.
const NoAction = "NoAction"

// Table is an entry of a table, or, with Default set, its default action. One
// of Action.Name, Member and Group is set.
type Table struct {
	Name     string
	Match    []Match // ordered by field
	Priority int32
	Default  bool
	Const    bool // only from a read: the program made it, and no write changes it; not compared
	Action   Action
	Member   uint32 // member of the table's action profile
	Group    uint32 // group of the table's action selector
}

// In returns an entry of a table with its matches in any order. Matches with
// an empty Field, which stand for fields that match anything, are left out.
func In(table string, action Action, match ...Match) Table {
	match = slices.DeleteFunc(match, func(m Match) bool { return m.Field == "" })
	sortByName(match, func(m Match) string { return m.Field })
	return Table{Name: table, Match: match, Action: action}
}

// sortByName is an insertion sort: there are few elements, mostly in order.
func sortByName[T any](s []T, name func(T) string) {
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && name(s[j]) < name(s[j-1]); j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

// Field returns the match on a field; ok is false when it matches anything.
func (t Table) Field(name string) (m Match, ok bool) {
	for _, m := range t.Match {
		if m.Field == name {
			return m, true
		}
	}
	return Match{}, false
}

// Kind is [KindDefault] or [KindTable].
func (t Table) Kind() Kind {
	if t.Default {
		return KindDefault
	}
	return KindTable
}

// Key is made of table, match and priority.
func (t Table) Key() Key {
	b := make([]byte, 0, 96)
	b = append(b, t.Name...)
	if t.Default {
		return Key(append(b, "/default"...))
	}
	for _, m := range t.Match {
		b = append(b, '/')
		b = m.append(b)
	}
	if t.Priority != 0 {
		b = append(b, "/priority="...)
		b = strconv.AppendInt(b, int64(t.Priority), 10)
	}
	return Key(b)
}

func (m Match) append(b []byte) []byte {
	b = append(b, m.Field...)
	b = append(b, '=')
	b = append(b, text(m.Field, m.Value)...)
	switch m.Kind {
	case MatchLPM:
		b = append(b, '/')
		b = strconv.AppendInt(b, int64(m.Bits), 10)
	case MatchTernary:
		b = append(b, "&&&"...)
		b = append(b, m.Mask.String()...)
	case MatchRange:
		b = append(b, ".."...)
		b = append(b, text(m.Field, m.Mask)...)
	}
	return b
}

func (t Table) String() string {
	var b strings.Builder
	b.WriteString(string(t.Key()))
	b.WriteString(" -> ")
	switch {
	case t.Group != 0:
		b.WriteString("group ")
		b.WriteString(strconv.FormatUint(uint64(t.Group), 10))
	case t.Member != 0:
		b.WriteString("member ")
		b.WriteString(strconv.FormatUint(uint64(t.Member), 10))
	default:
		b.WriteString(t.Action.String())
	}
	return b.String()
}

func (a Action) String() string {
	var b strings.Builder
	b.WriteString(a.Name)
	b.WriteByte('(')
	for i, p := range a.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name)
		b.WriteByte('=')
		b.WriteString(text(p.Name, p.Value))
	}
	b.WriteByte(')')
	return b.String()
}

func (t Table) equal(o Entity) bool {
	u, ok := o.(Table)
	return ok && t.Member == u.Member && t.Group == u.Group && t.Action.equal(u.Action)
}

func (a Action) equal(o Action) bool { return a.Name == o.Name && slices.Equal(a.Params, o.Params) }

// Member is a member of an action profile or selector.
type Member struct {
	Profile string
	ID      uint32
	Action  Action
}

// Kind is [KindMember].
func (Member) Kind() Kind { return KindMember }

// Key is made of profile and id.
func (m Member) Key() Key { return numbered(m.Profile+"/member=", m.ID) }

func (m Member) String() string { return string(m.Key()) + " -> " + m.Action.String() }

func (m Member) equal(o Entity) bool {
	u, ok := o.(Member)
	return ok && m.Action.equal(u.Action)
}

// Group is a group of an action selector.
type Group struct {
	Profile string
	ID      uint32
	Members []uint32 // ascending; a member of weight n stands here n times
}

// Kind is [KindGroup].
func (Group) Kind() Kind { return KindGroup }

// Key is made of profile and id.
func (g Group) Key() Key { return numbered(g.Profile+"/group=", g.ID) }

func (g Group) String() string {
	b := append([]byte(g.Key()), " -> members"...)
	for _, m := range g.Members {
		b = append(b, ' ')
		b = strconv.AppendUint(b, uint64(m), 10)
	}
	return string(b)
}

func (g Group) equal(o Entity) bool {
	u, ok := o.(Group)
	return ok && slices.Equal(g.Members, u.Members)
}

// Replica is a copy of a packet made by the replication engine.
type Replica struct {
	Port     uint32
	Instance uint32
}

// Multicast is a multicast group of the replication engine.
type Multicast struct {
	ID       uint32
	Replicas []Replica // ordered by instance and port
}

// Copies returns a multicast group with its replicas in any order.
func Copies(id uint32, replicas ...Replica) Multicast {
	return Multicast{ID: id, Replicas: sortedReplicas(replicas)}
}

func sortedReplicas(rs []Replica) []Replica {
	slices.SortFunc(rs, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Port, b.Port))
	})
	return rs
}

// Kind is [KindMulticast].
func (Multicast) Kind() Kind { return KindMulticast }

// Key is made of the id.
func (m Multicast) Key() Key { return numbered("multicast/", m.ID) }

func (m Multicast) String() string { return string(m.Key()) + " -> " + replicasText(m.Replicas) }

func (m Multicast) equal(o Entity) bool {
	u, ok := o.(Multicast)
	return ok && slices.Equal(m.Replicas, u.Replicas)
}

// Clone is a clone session of the replication engine.
type Clone struct {
	ID       uint32
	Replicas []Replica
	Class    uint32 // class of service of the clones
	Truncate int32  // octets kept of a clone; 0 keeps all
}

// Kind is [KindClone].
func (Clone) Kind() Kind { return KindClone }

// Key is made of the id.
func (c Clone) Key() Key { return numbered("clone/", c.ID) }

func (c Clone) String() string { return string(c.Key()) + " -> " + replicasText(c.Replicas) }

func (c Clone) equal(o Entity) bool {
	u, ok := o.(Clone)
	return ok && c.Class == u.Class && c.Truncate == u.Truncate && slices.Equal(c.Replicas, u.Replicas)
}

func numbered(prefix string, id uint32) Key {
	b := make([]byte, 0, len(prefix)+10)
	b = append(b, prefix...)
	return Key(strconv.AppendUint(b, uint64(id), 10))
}

func replicasText(rs []Replica) string {
	var b strings.Builder
	for i, r := range rs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatUint(uint64(r.Instance), 10))
		b.WriteByte('@')
		b.WriteString(strconv.FormatUint(uint64(r.Port), 10))
	}
	return b.String()
}

// UpdateType is the kind of an update.
type UpdateType uint8

// The update types. A default action always exists: Insert means Modify there,
// and Delete restores the default action of the program.
const (
	Insert UpdateType = iota + 1
	Modify
	Delete
)

func (t UpdateType) String() string {
	switch t {
	case Insert:
		return "insert"
	case Modify:
		return "modify"
	case Delete:
		return "delete"
	}
	return fmt.Sprintf("update type %d", uint8(t))
}

// Update is one change to a switch.
type Update struct {
	Type   UpdateType
	Entity Entity
}

// Ineffective returns why an update had no effect on a switch that holds an entity, or nil for
// none, under its key; it is empty when it had.
func (u Update) Ineffective(have Entity) string {
	switch {
	case u.Type == Delete && have != nil:
		return "the switch accepted it, and still holds " + have.String()
	case u.Type != Delete && have == nil:
		return "the switch accepted it, and holds nothing there"
	case u.Type != Delete && !SameContent(have, u.Entity):
		return "the switch accepted it, and holds " + have.String()
	}
	return ""
}

func (u Update) String() string {
	if u.Type == Delete {
		return "delete " + string(u.Entity.Key())
	}
	return u.Type.String() + " " + u.Entity.String()
}
