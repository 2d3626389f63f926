package engine

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// tableAt returns a table and its entries in this switch.
func (s *State) tableAt(i int) (*matchTable, *tableState, error) {
	if s.prog == nil {
		return nil, nil, ErrNoProgram
	}
	if i < 0 || i >= len(s.prog.tables) {
		return nil, nil, fmt.Errorf("table %d: %w", i, ErrNotFound)
	}
	return s.prog.tables[i], &s.tables[i], nil
}

// fit checks that a big-endian value has at most width bits.
func fit(v []byte, width int) error {
	if bitfield.Width(v) > width {
		return fmt.Errorf("%#x does not fit %d bits: %w", bytes.TrimLeft(v, "\x00"), width, ErrBadValue)
	}
	return nil
}

// find returns the entry with exactly this match and priority.
func (s *State) find(t *matchTable, match []Match, priority int32) (*entry, error) {
	e, err := s.lookUp(t, match, priority)
	if err == nil && e == nil {
		err = fmt.Errorf("table %s: entry: %w", t.name, ErrNotFound)
	}
	return e, err
}

// lookUp is find without an error for a missing entry. It leaves the match in s.packed.
func (s *State) lookUp(t *matchTable, match []Match, priority int32) (*entry, error) {
	if err := t.key.Pack(match, &s.packed); err != nil {
		return nil, err
	}
	if err := t.key.CheckPriority(priority); err != nil {
		return nil, err
	}
	return s.tables[t.idx].entries.Find(&s.packed, priority), nil
}

// InsertEntry adds an entry; see dataplane.Controls.
func (s *State) InsertEntry(table int, e Entry) error {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return err
	}
	s.changedIn(ts)
	if t.constEntries {
		return fmt.Errorf("table %s: entries: %w", t.name, ErrConst)
	}
	return s.insert(t, e, t.size)
}

// insert adds an entry to a table of at most limit entries.
func (s *State) insert(t *matchTable, e Entry, limit int) error {
	ts := &s.tables[t.idx]
	old, err := s.lookUp(t, e.Match, e.Priority)
	if err != nil {
		return err
	}
	if err := t.checkIdleTimeout(e.IdleTimeout); err != nil {
		return err
	}
	if old != nil {
		return fmt.Errorf("table %s: entry: %w", t.name, ErrExists)
	}
	if ts.entries.Len() >= limit {
		return fmt.Errorf("table %s of %d entries: %w", t.name, limit, ErrFull)
	}
	// One piece of memory holds a key with several words, and arguments beyond the entry's room.
	room := 0
	if t.key.Words > 1 {
		room = t.key.Words
	}
	g, words, err := s.resolve(t, &e.Target, room)
	if err != nil {
		return err
	}
	s.retain(t, &g)
	ts.changes++
	if room > 0 && len(g.args) <= len(hit{}.arg) {
		words = slices.Clone(words)
	}
	n := &ts.entries.Insert(&s.packed, e.Priority, words).Value
	n.set(g)
	if t.timeout || t.meter >= 0 || len(e.Metadata) > 0 {
		n.more = &entryMore{lastHit: s.now, timeout: e.IdleTimeout, metadata: slices.Clone(e.Metadata)}
	}
	return nil
}

// checkIdleTimeout refuses an idle timeout that the table cannot keep.
func (t *matchTable) checkIdleTimeout(d time.Duration) error {
	if d != 0 && !t.timeout || d < 0 {
		return fmt.Errorf("table %s: idle timeout %v: %w", t.name, d, ErrBadValue)
	}
	return nil
}

// ModifyEntry changes what an entry does; see dataplane.Controls.
func (s *State) ModifyEntry(table int, e Entry) error {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return err
	}
	s.changedIn(ts)
	if t.constEntries {
		return fmt.Errorf("table %s: entries: %w", t.name, ErrConst)
	}
	entry, err := s.find(t, e.Match, e.Priority)
	if err != nil {
		return err
	}
	if err := t.checkIdleTimeout(e.IdleTimeout); err != nil {
		return err
	}
	g, _, err := s.resolve(t, &e.Target, 0)
	if err != nil {
		return err
	}
	old := &entry.Value
	s.retain(t, &g)
	s.release(t, &old.target)
	old.set(g)
	ts.changes++
	if old.more == nil && len(e.Metadata) > 0 {
		old.more = &entryMore{}
	}
	if m := old.more; m != nil {
		m.timeout, m.metadata = e.IdleTimeout, slices.Clone(e.Metadata)
		m.lastHit, m.reported = s.now, 0
	}
	return nil
}

// DeleteEntry removes an entry; see dataplane.Controls.
func (s *State) DeleteEntry(table int, match []Match, priority int32) error {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return err
	}
	s.changedIn(ts)
	if t.constEntries {
		return fmt.Errorf("table %s: entries: %w", t.name, ErrConst)
	}
	e, err := s.find(t, match, priority)
	if err != nil {
		return err
	}
	ts.changes++
	ts.entries.Remove(e)
	s.release(t, &e.Value.target)
	return nil
}

// Entry reads an entry; see dataplane.Controls.
func (s *State) Entry(table int, match []Match, priority int32) (Entry, error) {
	t, _, err := s.tableAt(table)
	if err != nil {
		return Entry{}, err
	}
	e, err := s.find(t, match, priority)
	if err != nil {
		return Entry{}, err
	}
	return s.export(t, e), nil
}

// Entries yields the entries of a table; see dataplane.Controls.
func (s *State) Entries(table int) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		t, ts, err := s.tableAt(table)
		if err != nil {
			return
		}
		for e := range ts.entries.All() {
			if !yield(s.export(t, e)) {
				return
			}
		}
	}
}

// EntryCount returns the number of entries of a table.
func (s *State) EntryCount(table int) int {
	_, ts, err := s.tableAt(table)
	if err != nil {
		return 0
	}
	return ts.entries.Len()
}

// export gives an entry its public form.
func (s *State) export(t *matchTable, e *entry) Entry {
	out := Entry{Match: s.tables[t.idx].entries.Match(e), Priority: e.Priority(),
		Target: s.exportTarget(&e.Value.target)}
	if m := e.Value.more; m != nil {
		out.IdleTimeout, out.Metadata = m.timeout, slices.Clone(m.metadata)
	}
	return out
}
