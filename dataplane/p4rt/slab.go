package p4rt

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

// slab hands out zeroed values from arrays of many: table entries come by the
// million, and each consists of a dozen small messages. An array lives as long
// as any of its values, or until reset hands them out again.
type slab[T any] struct {
	arrays [][]T
	array  int // the one that values come from
	used   int // of it
}

// slabSize is the number of values of an array.
const slabSize = 512

// take returns n values next to one another.
func (s *slab[T]) take(n int) []T {
	if n > slabSize/8 {
		return make([]T, n)
	}
	if s.array < len(s.arrays) && s.used+n > slabSize {
		s.array, s.used = s.array+1, 0
	}
	if s.array == len(s.arrays) {
		s.arrays = append(s.arrays, make([]T, slabSize))
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

// entrySlab allocates table entries in blocks.
type entrySlab struct {
	entries slab[entryMessages]
	exacts  slab[exactMessages]
	matches slab[*p4v1.FieldMatch]
	params  slab[p4v1.Action_Param]
	refs    slab[*p4v1.Action_Param]
}

// entryMessages are the messages of a table entry with a direct action.
type entryMessages struct {
	update  p4v1.Update
	entity  p4v1.Entity
	is      p4v1.Entity_TableEntry
	entry   p4v1.TableEntry
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

// newEntry returns an entity that is an empty table entry. The action is not
// set.
func (s *entrySlab) newEntry() *entryMessages {
	m := &s.entries.take(1)[0]
	m.is.TableEntry = &m.entry
	m.entity.Entity = &m.is
	m.update.Entity = &m.entity
	return m
}

// setAction gives an entry a direct action with n parameters and returns it.
func (s *entrySlab) setAction(m *entryMessages, n int) *p4v1.Action {
	m.entry.Action = &m.action
	m.action.Type = &m.direct
	m.direct.Action = &m.applies
	m.applies.Params = s.newParams(n)
	return &m.applies
}

// newParams returns n empty parameters.
func (s *entrySlab) newParams(n int) []*p4v1.Action_Param {
	if n == 0 {
		return nil
	}
	params, refs := s.params.take(n), s.refs.take(n)
	for i := range params {
		refs[i] = &params[i]
	}
	return refs
}

// newExact returns an exact match field.
func (s *entrySlab) newExact(id uint32, value []byte) *p4v1.FieldMatch {
	m := &s.exacts.take(1)[0]
	m.value.Value = value
	m.is.Exact = &m.value
	m.field.FieldId, m.field.FieldMatchType = id, &m.is
	return &m.field
}

// reset takes all messages back.
func (s *entrySlab) reset() {
	s.entries.reset()
	s.exacts.reset()
	s.matches.reset()
	s.params.reset()
	s.refs.reset()
}
