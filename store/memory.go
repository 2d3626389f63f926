package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// History is how many changes a Memory remembers for watches.
const History = 4096

// Memory is a Store in the process. The zero value is empty and ready.
type Memory struct {
	// mu guards the fields below it.
	mu       sync.Mutex
	records  map[string]Record
	revision int64
	log      []Event       // the latest changes, ascending
	changed  chan struct{} // closed and replaced at every change
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{} }

// Get implements Store.
func (m *Memory) Get(_ context.Context, key string) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[key]
	if !ok {
		return Record{}, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	return r.clone(), nil
}

// List implements Store.
func (m *Memory) List(_ context.Context, prefix string) ([]Record, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Record
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		if strings.HasPrefix(key, prefix) {
			out = append(out, m.records[key].clone())
		}
	}
	return out, m.revision, nil
}

// Put implements Store.
func (m *Memory) Put(_ context.Context, key string, value []byte, expect int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.expect(key, expect); err != nil {
		return 0, err
	}
	m.put(key, value)
	return m.revision, nil
}

func (m *Memory) put(key string, value []byte) {
	if m.records == nil {
		m.records = make(map[string]Record)
	}
	m.revision++
	r := Record{Key: key, Value: bytes.Clone(value), Revision: m.revision}
	if r.Value == nil {
		r.Value = []byte{}
	}
	m.records[key] = r
	m.note(Event{Record: r})
}

// Delete implements Store.
func (m *Memory) Delete(_ context.Context, key string, expect int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.expect(key, expect); err != nil {
		return 0, err
	}
	m.remove(key)
	return m.revision, nil
}

func (m *Memory) remove(key string) {
	if _, ok := m.records[key]; !ok {
		return
	}
	m.revision++
	delete(m.records, key)
	m.note(Event{Record: Record{Key: key, Revision: m.revision}, Deleted: true})
}

// Apply implements Store.
func (m *Memory) Apply(_ context.Context, ops []Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, op := range ops {
		if op.Value == nil {
			m.remove(op.Key)
		} else {
			m.put(op.Key, op.Value)
		}
	}
	return nil
}

// Writable implements Store.
func (*Memory) Writable() error { return nil }

func (m *Memory) expect(key string, revision int64) error {
	if revision == Any || m.records[key].Revision == revision {
		return nil
	}
	return fmt.Errorf("%w: %s is at revision %d, not %d", ErrConflict, key, m.records[key].Revision,
		revision)
}

func (m *Memory) note(e Event) {
	if len(m.log) == History {
		m.log = slices.Delete(m.log, 0, History/4)
	}
	m.log = append(m.log, e)
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, prefix string, after int64) (<-chan Event, error) {
	if _, _, err := m.since(after); err != nil {
		return nil, err
	}
	out := make(chan Event)
	go func() {
		defer close(out)
		for {
			events, changed, err := m.since(after)
			if err != nil {
				return // too slow: the watcher lists again
			}
			for _, e := range events {
				after = e.Record.Revision
				if !strings.HasPrefix(e.Record.Key, prefix) {
					continue
				}
				e.Record = e.Record.clone()
				select {
				case out <- e:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// since returns the changes after a revision, and a channel that is closed at
// the next one.
func (m *Memory) since(after int64) ([]Event, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	if after >= m.revision {
		return nil, m.changed, nil
	}
	if len(m.log) == 0 || m.log[0].Record.Revision > after+1 {
		return nil, nil, fmt.Errorf("%w: %d", ErrCompacted, after)
	}
	i := int(after + 1 - m.log[0].Record.Revision)
	return slices.Clone(m.log[i:]), m.changed, nil
}

func (r Record) clone() Record {
	r.Value = bytes.Clone(r.Value)
	return r
}
