package southbound

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of entity a switch holds.
type Kind uint8

// The kinds of entity. Their order is the order of reference: an entity refers
// only to entities of kinds before its own.
const (
	KindCloneSession Kind = iota
	KindMulticastGroup
	KindActionMember
	KindActionGroup
	KindTableEntry
	KindDefaultAction
	KindCounter
	KindDigest
	kinds // number of kinds
)

var kindNames = [kinds]string{
	"clone session", "multicast group", "action profile member", "action profile group",
	"table entry", "default action", "counter", "digest",
}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Kinds returns every kind that a controller programs and can read back, in
// order of reference; counters are not among them.
func Kinds() []Kind {
	return []Kind{KindCloneSession, KindMulticastGroup, KindActionMember, KindActionGroup, KindTableEntry, KindDefaultAction, KindDigest}
}

// Entity is one thing a switch holds: a [TableEntry], [ActionMember],
// [ActionGroup], [MulticastGroup], [CloneSession], [CounterCell] or
// [DigestConfig].
// Entities are values; nobody changes one, nor the slices in it, once it has
// been handed over.
type Entity interface {
	Kind() Kind
	// Key identifies the entity on its switch. Two entities of the same key
	// cannot both exist. Keys are opaque, comparable and sort in a fixed order.
	Key() string
	// body is everything but the key, in canonical form.
	body() string
}

// Equal reports whether a and b are the same entity with the same content,
// whatever order their matches, parameters, members or replicas are in.
func Equal(a, b Entity) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Key() == b.Key() && a.body() == b.body()
}

// MatchKind says how a key field is compared.
type MatchKind uint8

// The match kinds of P4Runtime.
const (
	Exact MatchKind = iota + 1
	LPM
	Ternary
	Range
	Optional
)

// Match is the match on one key field. A field that matches anything is left
// out of an entry.
type Match struct {
	Field uint32 // match field id of the P4Info
	Kind  MatchKind
	Value Value // the low end of a Range
	Mask  Value // Ternary: the mask; Range: the high end; otherwise none
	Bits  int   // LPM: prefix length in bits
}

// Param is an argument of an action.
type Param struct {
	ID    uint32 // parameter id of the P4Info
	Value Value
}

// Action is an action with its arguments.
type Action struct {
	ID     uint32 // action id of the P4Info
	Params []Param
}

// TableEntry is an entry of a table, or, with Default set, the table's default
// action. Exactly one of Action.ID, Member and Group is not 0.
type TableEntry struct {
	Table    uint32
	Match    []Match
	Priority int32 // 0 unless a field is Ternary, Range or Optional; higher wins
	Default  bool
	Action   Action
	Member   uint32 // action profile member
	Group    uint32 // action profile group
	Const    bool   // only from a read: the entry cannot be changed; not compared
}

// Kind is KindDefaultAction or KindTableEntry.
func (e TableEntry) Kind() Kind {
	if e.Default {
		return KindDefaultAction
	}
	return KindTableEntry
}

// Key is made of table, match and priority.
func (e TableEntry) Key() string {
	k := make(keyBuilder, 0, 64)
	k.kind(e.Kind()).u32(e.Table)
	if e.Default {
		return string(k)
	}
	k.u32(uint32(e.Priority))
	for _, m := range sorted(e.Match, func(m Match) uint32 { return m.Field }) {
		k.u32(m.Field).u32(uint32(m.Kind)).u32(uint32(m.Bits)).value(m.Value).value(m.Mask)
	}
	return string(k)
}

func (e TableEntry) body() string {
	k := make(keyBuilder, 0, 64)
	k.u32(e.Member).u32(e.Group).action(e.Action)
	return string(k)
}

// ActionMember is a member of an action profile or selector.
type ActionMember struct {
	Profile uint32
	ID      uint32
	Action  Action
}

// Kind is KindActionMember.
func (ActionMember) Kind() Kind { return KindActionMember }

// Key is made of profile and id.
func (m ActionMember) Key() string {
	k := make(keyBuilder, 0, 16)
	k.kind(KindActionMember).u32(m.Profile).u32(m.ID)
	return string(k)
}

func (m ActionMember) body() string {
	k := make(keyBuilder, 0, 32)
	k.action(m.Action)
	return string(k)
}

// WeightedMember is a member of a group.
type WeightedMember struct {
	ID     uint32
	Weight int32 // at least 1
}

// ActionGroup is a group of an action selector.
type ActionGroup struct {
	Profile uint32
	ID      uint32
	// MaxSize is the greatest sum of weights the group will ever have; 0 is the
	// selector's own limit. It is fixed at creation and not compared, because
	// switches report 0 as they please.
	MaxSize int32
	Members []WeightedMember
}

// Kind is KindActionGroup.
func (ActionGroup) Kind() Kind { return KindActionGroup }

// Key is made of profile and id.
func (g ActionGroup) Key() string {
	k := make(keyBuilder, 0, 16)
	k.kind(KindActionGroup).u32(g.Profile).u32(g.ID)
	return string(k)
}

func (g ActionGroup) body() string {
	k := make(keyBuilder, 0, 8*len(g.Members))
	for _, m := range sorted(g.Members, func(m WeightedMember) uint32 { return m.ID }) {
		k.u32(m.ID).u32(uint32(m.Weight))
	}
	return string(k)
}

// Replica is a copy of a packet made by the replication engine.
type Replica struct {
	Port     uint32
	Instance uint32
}

// MulticastGroup is a list of replicas; (Port, Instance) is unique in it.
type MulticastGroup struct {
	ID       uint32
	Replicas []Replica
}

// Kind is KindMulticastGroup.
func (MulticastGroup) Kind() Kind { return KindMulticastGroup }

// Key is made of the id.
func (g MulticastGroup) Key() string {
	k := make(keyBuilder, 0, 8)
	k.kind(KindMulticastGroup).u32(g.ID)
	return string(k)
}

func (g MulticastGroup) body() string {
	k := make(keyBuilder, 0, 8*len(g.Replicas))
	k.replicas(g.Replicas)
	return string(k)
}

// CloneSession is where clones of a packet go.
type CloneSession struct {
	ID       uint32
	Replicas []Replica
	Class    uint32 // class of service of the clones
	Truncate int32  // octets kept of a clone; 0 keeps all
}

// Kind is KindCloneSession.
func (CloneSession) Kind() Kind { return KindCloneSession }

// Key is made of the id.
func (c CloneSession) Key() string {
	k := make(keyBuilder, 0, 8)
	k.kind(KindCloneSession).u32(c.ID)
	return string(k)
}

func (c CloneSession) body() string {
	k := make(keyBuilder, 0, 8+8*len(c.Replicas))
	k.u32(c.Class).u32(uint32(c.Truncate)).replicas(c.Replicas)
	return string(k)
}

// CounterCell is one cell of an indirect counter.
type CounterCell struct {
	Counter uint32
	Index   int64
	Packets int64
	Bytes   int64
}

// Kind is KindCounter.
func (CounterCell) Kind() Kind { return KindCounter }

// Key is made of counter and index.
func (c CounterCell) Key() string {
	k := make(keyBuilder, 0, 16)
	k.kind(KindCounter).u32(c.Counter).u64(uint64(c.Index))
	return string(k)
}

func (c CounterCell) body() string {
	k := make(keyBuilder, 0, 16)
	k.u64(uint64(c.Packets)).u64(uint64(c.Bytes))
	return string(k)
}

// DigestConfig turns the reports of a digest on. Times are in nanoseconds.
type DigestConfig struct {
	ID         uint32
	MaxTimeout int64 // how long a report may wait for others
	MaxList    int32 // how many reports a list may hold
	AckTimeout int64 // how long the same data is not reported again without an acknowledgement
}

// Kind is KindDigest.
func (DigestConfig) Kind() Kind { return KindDigest }

// Key is made of the id.
func (d DigestConfig) Key() string {
	k := make(keyBuilder, 0, 8)
	k.kind(KindDigest).u32(d.ID)
	return string(k)
}

func (d DigestConfig) body() string {
	k := make(keyBuilder, 0, 24)
	k.u64(uint64(d.MaxTimeout)).u32(uint32(d.MaxList)).u64(uint64(d.AckTimeout))
	return string(k)
}

// keyBuilder encodes numbers at fixed width and values with their length, so
// that different content never has the same encoding.
type keyBuilder []byte

func (k *keyBuilder) kind(v Kind) *keyBuilder { *k = append(*k, byte(v)); return k }

func (k *keyBuilder) u32(v uint32) *keyBuilder {
	*k = append(*k, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	return k
}

func (k *keyBuilder) u64(v uint64) *keyBuilder { return k.u32(uint32(v >> 32)).u32(uint32(v)) }

func (k *keyBuilder) value(v Value) *keyBuilder {
	k.u32(uint32(len(v)))
	*k = append(*k, v...)
	return k
}

func (k *keyBuilder) action(a Action) *keyBuilder {
	k.u32(a.ID)
	for _, p := range sorted(a.Params, func(p Param) uint32 { return p.ID }) {
		k.u32(p.ID).value(p.Value)
	}
	return k
}

func (k *keyBuilder) replicas(rs []Replica) *keyBuilder {
	byPort := slices.SortedFunc(slices.Values(rs), compareReplicas)
	for _, r := range byPort {
		k.u32(r.Port).u32(r.Instance)
	}
	return k
}

func compareReplicas(a, b Replica) int {
	if a.Port != b.Port {
		return compareU32(a.Port, b.Port)
	}
	return compareU32(a.Instance, b.Instance)
}

func compareU32(a, b uint32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// sorted returns s ordered by id, without a copy when it already is.
func sorted[T any](s []T, id func(T) uint32) []T {
	less := func(a, b T) int { return compareU32(id(a), id(b)) }
	if slices.IsSortedFunc(s, less) {
		return s
	}
	return slices.SortedFunc(slices.Values(s), less)
}

// UpdateType is what an Update does.
type UpdateType uint8

// The update types. For entities that always exist (default actions, counter
// cells) Insert means Modify, and Delete of a default action restores the one
// of the program.
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

func (u Update) String() string { return fmt.Sprintf("%s %s", u.Type, describe(u.Entity)) }

// describe names an entity by kind and ids, for messages.
func describe(e Entity) string {
	var b strings.Builder
	if e == nil {
		return "nothing"
	}
	b.WriteString(e.Kind().String())
	switch e := e.(type) {
	case TableEntry:
		fmt.Fprintf(&b, " of table %#x", e.Table)
		for _, m := range e.Match {
			fmt.Fprintf(&b, " %d=%s", m.Field, m.Value)
		}
	case ActionMember:
		fmt.Fprintf(&b, " %d of profile %#x", e.ID, e.Profile)
	case ActionGroup:
		fmt.Fprintf(&b, " %d of profile %#x", e.ID, e.Profile)
	case MulticastGroup:
		fmt.Fprintf(&b, " %d", e.ID)
	case CloneSession:
		fmt.Fprintf(&b, " %d", e.ID)
	case CounterCell:
		fmt.Fprintf(&b, " %#x[%d]", e.Counter, e.Index)
	case DigestConfig:
		fmt.Fprintf(&b, " %#x", e.ID)
	}
	return b.String()
}
