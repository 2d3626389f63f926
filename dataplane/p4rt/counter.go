package p4rt

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4/wire"
)

// counterValue converts counter data; counts are never negative.
func counterValue(d *p4v1.CounterData) (engine.CounterValue, *Error) {
	if d.GetPacketCount() < 0 || d.GetByteCount() < 0 {
		return engine.CounterValue{}, invalid("packet_count %d, byte_count %d; want 0 or more",
			d.GetPacketCount(), d.GetByteCount())
	}
	return engine.CounterValue{Packets: uint64(d.GetPacketCount()), Bytes: uint64(d.GetByteCount())},
		nil
}

func counterData(v engine.CounterValue) *p4v1.CounterData {
	return &p4v1.CounterData{PacketCount: int64(v.Packets), ByteCount: int64(v.Bytes)}
}

// indices converts an optional index of an array to the range it selects.
func indices(ix *p4v1.Index, size int64) (from, to int, err *Error) {
	if ix == nil {
		return 0, int(size), nil
	}
	switch i := ix.GetIndex(); {
	case i < 0:
		return 0, 0, invalid("index %d; want 0 to %d", i, size-1)
	case i >= size:
		return 0, 0, outOfRange("index %d; want 0 to %d", i, size-1)
	default:
		return int(i), int(i) + 1, nil
	}
}

func (r *realm) writeCounter(typ p4v1.Update_Type, e *p4v1.CounterEntry, undo *undoLog) *Error {
	c := r.p.counters[e.GetCounterId()]
	if c == nil {
		return invalid("counter id 0x%08x is not an indirect counter of the P4Info", e.GetCounterId())
	}
	if err := r.applyCounter(c, typ, e, undo); err != nil {
		return err.in("counter %q", c.name)
	}
	return nil
}

func (r *realm) applyCounter(c *arraySchema, typ p4v1.Update_Type, e *p4v1.CounterEntry,
	undo *undoLog) *Error {
	if err := onlyModify(typ, "a counter"); err != nil {
		return err
	}
	from, to, err := indices(e.GetIndex(), c.size)
	if err != nil || e.GetData() == nil {
		return err
	}
	v, err := counterValue(e.GetData())
	if err != nil {
		return err
	}
	if undo != nil {
		old := make([]engine.CounterValue, to-from)
		for i := range old {
			old[i], _ = r.sw.Counter(engine.Element(c.engine, from+i))
		}
		undo.add(func() {
			for i := range old {
				_ = r.sw.SetCounter(engine.Element(c.engine, from+i), old[i])
			}
		})
	}
	for i := from; i < to; i++ {
		if err := engineError(r.sw.SetCounter(engine.Element(c.engine, i), v)); err != nil {
			return err
		}
	}
	return nil
}

func (r *realm) readCounters(q *p4v1.CounterEntry, out *reading) *Error {
	if q.GetCounterId() == 0 {
		for _, c := range r.p.counterList {
			if err := r.emitCounters(c, 0, int(c.size), out); err != nil {
				return err
			}
		}
		return nil
	}
	c := r.p.counters[q.GetCounterId()]
	if c == nil {
		return invalid("counter id 0x%08x is not an indirect counter of the P4Info", q.GetCounterId())
	}
	from, to, err := indices(q.GetIndex(), c.size)
	if err == nil {
		err = r.emitCounters(c, from, to, out)
	}
	if err != nil {
		return err.in("counter %q", c.name)
	}
	return nil
}

func (r *realm) emitCounters(c *arraySchema, from, to int, out *reading) *Error {
	for i := from; i < to && out.more(); i++ {
		v, err := r.sw.Counter(engine.Element(c.engine, i))
		if err != nil {
			return engineError(err)
		}
		out.emit(wire.Entity(&p4v1.CounterEntry{
			CounterId: c.id, Index: &p4v1.Index{Index: int64(i)}, Data: counterData(v),
		}))
	}
	return nil
}

func (r *realm) writeDirectCounter(typ p4v1.Update_Type, e *p4v1.DirectCounterEntry,
	undo *undoLog) *Error {
	t, err := r.table(e.GetTableEntry().GetTableId())
	if err != nil {
		return err
	}
	if err := r.applyDirectCounter(t, typ, e, undo); err != nil {
		return err.in("direct counter of table %q", t.name)
	}
	return nil
}

func (r *realm) applyDirectCounter(t *tableSchema, typ p4v1.Update_Type, e *p4v1.DirectCounterEntry,
	undo *undoLog) *Error {
	if err := onlyModify(typ, "a direct counter"); err != nil {
		return err
	}
	if t.counter == nil {
		return invalid("the table has no direct counter")
	}
	at, err := r.cellOf(t, e.GetTableEntry())
	if err != nil {
		return err
	}
	old, gerr := r.sw.Counter(at)
	if gerr != nil || e.GetData() == nil {
		return updateError(gerr, p4v1.Update_DELETE, "entry")
	}
	v, err := counterValue(e.GetData())
	if err != nil {
		return err
	}
	undo.add(func() { _ = r.sw.SetCounter(at, old) })
	return engineError(r.sw.SetCounter(at, v))
}

// cellOf returns the address of the direct counter and meter of an entry, which may be the default
// entry.
func (r *realm) cellOf(t *tableSchema, e *p4v1.TableEntry) (engine.Cell, *Error) {
	if e.GetIsDefaultAction() {
		return engine.CellOfMisses(t.engine), checkDefaultKey(e)
	}
	match, prio, err := t.matchKey(r.texts.looking(), nil, e)
	return engine.CellOf(t.engine, match, prio), err
}

// checkDefaultKey checks that a default entry is named by its table alone.
func checkDefaultKey(e *p4v1.TableEntry) *Error {
	if len(e.GetMatch()) > 0 || e.GetPriority() != 0 {
		return invalid("the default entry has neither match nor priority; leave them out")
	}
	return nil
}

// readDirectCounters reads the counter of one entry, or with an empty match
// of all entries of the table, or with table id 0 of all tables.
func (r *realm) readDirectCounters(q *p4v1.DirectCounterEntry, out *reading) *Error {
	return r.readDirect(q.GetTableEntry(), "counter", out,
		func(t *tableSchema) bool { return t.counter != nil },
		func(e *p4v1.TableEntry, at engine.Cell) *Error {
			v, err := r.sw.Counter(at)
			if err != nil {
				return updateError(err, p4v1.Update_DELETE, "entry")
			}
			d := &p4v1.DirectCounterEntry{TableEntry: e, Data: counterData(v)}
			out.emit(wire.Entity(d))
			return nil
		})
}

// readDirect calls one for each entry whose direct counters or meters (kind) a request selects,
// with the cell's address. It skips tables without direct counters or meters.
func (r *realm) readDirect(q *p4v1.TableEntry, kind string, out *reading,
	has func(*tableSchema) bool, one func(*p4v1.TableEntry, engine.Cell) *Error) *Error {
	entry := func(t *tableSchema, match []engine.Match, prio int32) *Error {
		e := &p4v1.TableEntry{TableId: t.id, Priority: prio,
			Match: t.key.fieldMatches(r.texts, &out.slab, match)}
		return one(e, engine.CellOf(t.engine, match, prio))
	}
	all := func(t *tableSchema) *Error {
		for x := range r.sw.Entries(t.engine) {
			if !out.more() {
				return nil
			}
			if p := q.GetPriority(); p != 0 && p != x.Priority {
				continue
			}
			if err := entry(t, x.Match, x.Priority); err != nil {
				return err
			}
		}
		return nil
	}
	if q.GetTableId() == 0 {
		if len(q.GetMatch()) > 0 || q.GetPriority() != 0 || q.GetIsDefaultAction() {
			return invalid("table_id is 0, which reads the direct %ss of all tables: no match, priority "+
				"or is_default_action can be given", kind)
		}
		for _, t := range r.p.tableList {
			if !has(t) || out.stopped {
				continue
			}
			if err := all(t); err != nil {
				return err.in("table %q", t.name)
			}
		}
		return nil
	}
	t, err := r.table(q.GetTableId())
	if err != nil {
		return err
	}
	switch {
	case !has(t):
		err = invalid("the table has no direct %s", kind)
	case q.GetIsDefaultAction():
		if err = checkDefaultKey(q); err == nil {
			err = one(&p4v1.TableEntry{TableId: t.id, IsDefaultAction: true},
				engine.CellOfMisses(t.engine))
		}
	case len(q.GetMatch()) == 0:
		err = all(t)
	default:
		var match []engine.Match
		var prio int32
		if match, prio, err = t.matchKey(r.texts.looking(), nil, q); err == nil {
			err = entry(t, match, prio)
		}
	}
	if err != nil {
		return err.in("direct %s of table %q", kind, t.name)
	}
	return nil
}
