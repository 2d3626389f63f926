package wire

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

// slab hands out zeroed values from large arrays: table entries come by the million, and each entry
// consists of a dozen small messages. An array lives as long as any of its values, or until reset
// hands its values out again.
type slab[T any] struct {
	arrays [][]T
	array  int // the one that values come from
	used   int // of it
}

// The number of values of an array: of the first one, and at most.
const (
	slabFirst = 4
	slabSize  = 512
)

// take returns n values next to one another.
func (s *slab[T]) take(n int) []T {
	if n > slabSize/8 {
		return make([]T, n)
	}
	for s.array < len(s.arrays) && s.used+n > len(s.arrays[s.array]) {
		s.array, s.used = s.array+1, 0
	}
	if s.array == len(s.arrays) {
		s.arrays = append(s.arrays, make([]T, max(n, min(slabSize, slabFirst<<min(8, 2*len(s.arrays))))))
	}
	v := s.arrays[s.array][s.used : s.used+n : s.used+n]
	s.used += n
	return v
}

// reset takes all values back.
func (s *slab[T]) reset() {
	for i := range s.arrays[:min(s.array+1, len(s.arrays))] {
		if i < s.array {
			clear(s.arrays[i])
		} else {
			clear(s.arrays[i][:s.used])
		}
	}
	s.array, s.used = 0, 0
}

// Slab allocates the messages of table entries in blocks. The zero Slab is empty.
type Slab struct {
	entries slab[Entry]
	exacts  slab[exactMessages]
	matches slab[*p4v1.FieldMatch]
	params  slab[p4v1.Action_Param]
	refs    slab[*p4v1.Action_Param]
}

// Entry is the messages of a table entry with a direct action: Table is in Entity, and that in
// Update.
type Entry struct {
	Update  p4v1.Update
	Entity  p4v1.Entity
	Table   p4v1.TableEntry
	is      p4v1.Entity_TableEntry
	action  p4v1.TableAction
	direct  p4v1.TableAction_Action
	applies p4v1.Action
}

// exactMessages are the messages of an exact match field.
type exactMessages struct {
	field p4v1.FieldMatch
	is    p4v1.FieldMatch_Exact_
	value p4v1.FieldMatch_Exact
}

// NewEntry returns an entity that is an empty table entry. The action is not
// set.
func (s *Slab) NewEntry() *Entry {
	m := &s.entries.take(1)[0]
	m.is.TableEntry = &m.Table
	m.Entity.Entity = &m.is
	m.Update.Entity = &m.Entity
	return m
}

// SetAction gives an entry a direct action with n parameters and returns it.
func (s *Slab) SetAction(m *Entry, n int) *p4v1.Action {
	m.Table.Action = &m.action
	m.action.Type = &m.direct
	m.direct.Action = &m.applies
	m.applies.Params = s.newParams(n)
	return &m.applies
}

// newParams returns n empty parameters.
func (s *Slab) newParams(n int) []*p4v1.Action_Param {
	if n == 0 {
		return nil
	}
	params, refs := s.params.take(n), s.refs.take(n)
	for i := range params {
		refs[i] = &params[i]
	}
	return refs
}

// NewExact returns an exact match field.
func (s *Slab) NewExact(id uint32, value []byte) *p4v1.FieldMatch {
	m := &s.exacts.take(1)[0]
	m.value.Value = value
	m.is.Exact = &m.value
	m.field.FieldId, m.field.FieldMatchType = id, &m.is
	return &m.field
}

// Matches returns room for n match fields, without any.
func (s *Slab) Matches(n int) []*p4v1.FieldMatch { return s.matches.take(n)[:0] }

// Reset takes all messages back: they are handed out again.
func (s *Slab) Reset() {
	s.entries.reset()
	s.exacts.reset()
	s.matches.reset()
	s.params.reset()
	s.refs.reset()
}
