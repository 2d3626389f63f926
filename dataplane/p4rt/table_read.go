package p4rt

import (
	"bytes"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4/wire"
)

// readTableEntries selects table entries (P4Runtime specification, "Wildcard
// Reads" of TableEntry). Every field that is set narrows the selection; with
// table id 0 there is nothing else to select by than is_default_action.
func (r *realm) readTableEntries(q *p4v1.TableEntry, out *reading) *Error {
	if q.GetTableId() == 0 {
		if len(q.GetMatch()) > 0 || q.GetAction() != nil || q.GetPriority() != 0 ||
			controllerMetadata(q) != 0 || len(q.GetMetadata()) > 0 {
			return invalid("table_id is 0, which reads all tables: no match, action, priority or metadata " +
				"can be given")
		}
		for _, t := range r.p.tableList {
			r.readTable(t, q, nil, out)
		}
		return nil
	}
	t, err := r.table(q.GetTableId())
	if err != nil {
		return err
	}
	switch {
	case q.GetMeterCounterData() != nil && t.meter == nil:
		return invalid("table %q: meter_counter_data is set; the table has no direct meter", t.name)
	case q.GetCounterData() != nil && t.counter == nil:
		return invalid("table %q: counter_data is set; the table has no direct counter", t.name)
	case q.GetMeterConfig() != nil && t.meter == nil:
		return invalid("table %q: meter_config is set; the table has no direct meter", t.name)
	case q.GetTimeSinceLastHit() != nil && (!t.idleTimeout || q.GetIsDefaultAction()):
		return invalid("table %q: time_since_last_hit is set; the table or the default entry has no "+
			"idle timeouts", t.name)
	case q.GetIsDefaultAction() && (len(q.GetMatch()) > 0 || q.GetPriority() != 0):
		return invalid("table %q: the default entry has neither match nor priority; leave them out",
			t.name)
	}
	if a := q.GetAction(); a != nil {
		act, ok := a.GetType().(*p4v1.TableAction_Action)
		if !ok {
			return invalid("table %q: entries can be selected by action_id only", t.name)
		}
		if t.profile != nil {
			return invalid("table %q: entries of an indirect table cannot be selected by action", t.name)
		}
		if _, err := t.find(act.Action.GetActionId()); err != nil {
			return err.in("table %q", t.name)
		}
		if len(act.Action.GetParams()) > 0 {
			return invalid("table %q: entries cannot be selected by action parameters; give the action_id "+
				"only", t.name)
		}
	}
	var match []engine.Match
	if len(q.GetMatch()) > 0 {
		if match, err = t.key.matches(r.texts.looking(), nil, q.GetMatch()); err != nil {
			if err.Code == codes.NotFound { // a string that no entry has
				return nil
			}
			return err.in("table %q", t.name)
		}
	}
	r.readTable(t, q, match, out)
	return nil
}

func (r *realm) readTable(t *tableSchema, q *p4v1.TableEntry, match []engine.Match, out *reading) {
	one := func(e *p4v1.Entity) {
		if selects(q, e.GetTableEntry()) {
			out.emit(e)
		}
	}
	if q.GetIsDefaultAction() {
		if out.more() {
			one(r.defaultEntry(t, q))
		}
		return
	}
	if match != nil && t.key.priority == (q.GetPriority() != 0) { // at most one entry
		if x, err := r.sw.Entry(t.engine, match, q.GetPriority()); err == nil {
			one(r.tableEntry(t, &x, q, out))
		}
		return
	}
	if out.stopped {
		return
	}
	for x := range r.sw.Entries(t.engine) {
		if !out.more() {
			return
		}
		if match != nil && !t.key.sameMatches(match, x.Match) {
			continue
		}
		if p := q.GetPriority(); p != 0 && p != x.Priority {
			continue
		}
		one(r.tableEntry(t, &x, q, out))
	}
}

// selects applies the filters that are not part of the key.
func selects(q, e *p4v1.TableEntry) bool {
	if id := q.GetAction().GetAction().GetActionId(); id != 0 &&
		e.GetAction().GetAction().GetActionId() != id {
		return false
	}
	if c := controllerMetadata(q); c != 0 && controllerMetadata(e) != c {
		return false
	}
	return len(q.GetMetadata()) == 0 || bytes.Equal(q.GetMetadata(), e.GetMetadata())
}

// noAction is the action of core.p4 that does nothing.
const noAction = "NoAction"

// tableEntry converts an entry of the switch. It also reads the direct resources and the last hit,
// if q sets them.
func (r *realm) tableEntry(t *tableSchema, x *engine.Entry, q *p4v1.TableEntry,
	out *reading) *p4v1.Entity {
	more := unpackExtra(x.Metadata)
	m := out.slab.NewEntry()
	e := &m.Table
	e.TableId = t.id
	e.Match = t.key.fieldMatches(r.texts, &out.slab, x.Match)
	e.Priority = x.Priority
	e.IdleTimeoutNs = int64(x.IdleTimeout)
	e.IsConst = t.constEntries
	if x.Target.Kind != engine.TargetAction {
		e.Action = t.tableAction(r.texts, x.Target, more.modes)
	} else if a := t.byEngine[x.Target.Action.Action]; a != nil {
		a.fill(r.texts, out.slab.SetAction(m, len(a.params)), x.Target.Action)
	}
	setControllerMetadata(e, more.controller)
	if len(more.metadata) > 0 {
		e.Metadata = more.metadata
	}
	r.readCells(t, engine.CellOf(t.engine, x.Match, x.Priority), q, e)
	if q.GetTimeSinceLastHit() != nil && t.idleTimeout {
		d, _ := r.sw.SinceHit(out.now, t.engine, x.Match, x.Priority)
		e.TimeSinceLastHit = &p4v1.TableEntry_IdleTimeout{ElapsedNs: int64(d)}
	}
	return &m.Entity
}

// readCells adds to an entry what q sets of its direct counter and meter.
func (r *realm) readCells(t *tableSchema, at engine.Cell, q, e *p4v1.TableEntry) {
	if q.GetCounterData() != nil && t.counter != nil {
		v, _ := r.sw.Counter(at)
		e.CounterData = counterData(v)
	}
	if t.meter == nil {
		return
	}
	if q.GetMeterConfig() != nil {
		if c, ok, _ := r.sw.Meter(at); ok {
			e.MeterConfig = meterProto(c)
		}
	}
	if q.GetMeterCounterData() != nil {
		v, _ := r.sw.MeterCounts(at)
		e.MeterCounterData = meterCounterData(v)
	}
}

// defaultEntry converts the default entry of a table. That of a table with an
// action profile is NoAction.
func (r *realm) defaultEntry(t *tableSchema, q *p4v1.TableEntry) *p4v1.Entity {
	more := unpackExtra(r.defaultExtra[t.id])
	e := &p4v1.TableEntry{TableId: t.id, IsDefaultAction: true}
	if t.profile != nil {
		for _, a := range t.actions {
			if a.name == noAction {
				e.Action = &p4v1.TableAction{
					Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: a.id}}}
			}
		}
	} else if x, _, err := r.sw.DefaultEntry(t.engine); err == nil {
		e.Action = t.tableAction(r.texts, x, oneShotModes{})
	}
	setControllerMetadata(e, more.controller)
	if len(more.metadata) > 0 {
		e.Metadata = more.metadata
	}
	r.readCells(t, engine.CellOfMisses(t.engine), q, e)
	return wire.Entity(e)
}
