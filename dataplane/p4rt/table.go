package p4rt

import (
	"encoding/binary"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// extra is data that a client attaches to an entry and the switch does not
// interpret: it travels in the switch's Metadata.
type extra struct {
	controller uint64 // the deprecated controller_metadata
	modes      oneShotModes
	metadata   []byte
}

// Layout of a packed extra: one octet that reports which parts follow, then
// controller metadata (8 octets), the modes (1 octet each), the metadata.
const (
	hasController = 1 << iota
	hasModes
)

func (x extra) pack() []byte {
	var flags byte
	if x.controller != 0 {
		flags |= hasController
	}
	if x.modes != (oneShotModes{}) {
		flags |= hasModes
	}
	if flags == 0 && len(x.metadata) == 0 {
		return nil
	}
	b := make([]byte, 0, 11+len(x.metadata))
	b = append(b, flags)
	if flags&hasController != 0 {
		b = binary.BigEndian.AppendUint64(b, x.controller)
	}
	if flags&hasModes != 0 {
		b = append(b, byte(x.modes.mode), byte(x.modes.size))
	}
	return append(b, x.metadata...)
}

func unpackExtra(b []byte) (x extra) {
	if len(b) == 0 {
		return x
	}
	flags := b[0]
	b = b[1:]
	if flags&hasController != 0 {
		x.controller = binary.BigEndian.Uint64(b)
		b = b[8:]
	}
	if flags&hasModes != 0 {
		x.modes.mode = p4v1.ActionProfileActionSet_ActionSelectionMode(b[0])
		x.modes.size = p4v1.ActionProfileActionSet_SizeSemantics(b[1])
		b = b[2:]
	}
	x.metadata = b
	return x
}

// table returns the table with an id.
func (r *realm) table(id uint32) (*tableSchema, *Error) {
	if t := r.p.tables[id]; t != nil {
		return t, nil
	}
	if id == 0 {
		return nil, invalid("table_id is 0; want the id of a table")
	}
	return nil, invalid("table id 0x%08x is not in the P4Info", id)
}

// matchKey converts the match and the priority of an entry; buf is as in
// matches.
func (t *tableSchema) matchKey(x texts, buf []engine.Match, e *p4v1.TableEntry) ([]engine.Match,
	int32, *Error) {
	m, err := t.key.matches(x, buf, e.GetMatch())
	if err != nil {
		return nil, 0, err
	}
	switch prio := e.GetPriority(); {
	case t.key.priority && prio <= 0:
		return nil, 0,
			invalid("priority %d; want 1 or more: the key has a ternary, range or optional field", prio)
	case !t.key.priority && prio != 0:
		return nil, 0, invalid("priority %d; want 0: the key has no ternary, range or optional field",
			prio)
	}
	return m, e.GetPriority(), nil
}

func (r *realm) writeTableEntry(now time.Duration, typ p4v1.Update_Type, e *p4v1.TableEntry,
	undo *undoLog) *Error {
	t, err := r.table(e.GetTableId())
	if err != nil {
		return err
	}
	if e.GetIsDefaultAction() {
		err = r.writeDefaultEntry(t, typ, e, undo)
	} else {
		err = r.writeEntry(t, typ, e, undo)
	}
	if err != nil {
		return err.in("table %q", t.name)
	}
	return nil
}

func (r *realm) writeEntry(t *tableSchema, typ p4v1.Update_Type, e *p4v1.TableEntry,
	undo *undoLog) *Error {
	if e.GetIsConst() {
		return invalid("is_const is true; only entries of the program are const")
	}
	if len(t.key.fields) == 0 {
		return invalid("the table has no key and so no entries; MODIFY its default entry " +
			"(is_default_action)")
	}
	if t.constEntries && typ != p4v1.Update_MODIFY {
		return errorf(codes.PermissionDenied,
			"the entries are const: %s is not possible, only MODIFY of direct resources", typ)
	}
	var buf []engine.Match
	if undo == nil { // nothing refers to the match afterwards
		buf = r.matches
	}
	texts := r.texts
	texts.look = typ != p4v1.Update_INSERT
	match, prio, err := t.matchKey(texts, buf, e)
	if err != nil {
		return err
	}
	if undo == nil {
		r.matches = match
	}
	if typ == p4v1.Update_DELETE {
		return r.deleteEntry(t, match, prio, undo)
	}
	if err := t.checkSide(e); err != nil {
		return err
	}
	if t.constEntries && e.GetAction() != nil {
		return errorf(codes.PermissionDenied,
			"the entries are const: their action cannot be modified; leave it unset to modify direct "+
				"resources")
	}

	if typ == p4v1.Update_INSERT {
		if e.GetAction() == nil {
			return invalid("the action is not set; INSERT wants one")
		}
		target, modes, err := r.target(t, e.GetAction())
		if err != nil {
			return err
		}
		if err := r.checkSelectorUse(t.profile, target.Kind, false); err != nil {
			return err
		}
		entry := engine.Entry{
			Match: match, Priority: prio, Target: target, IdleTimeout: time.Duration(e.GetIdleTimeoutNs()),
			Metadata: extra{controllerMetadata(e), modes, e.GetMetadata()}.pack(),
		}
		if err := r.sw.InsertEntry(t.engine, entry); err != nil {
			if full := fullError(err, "table", r.p.program.Tables()[t.engine].Size); full != nil {
				return full
			}
			if ref := referenceError(err, target); ref != nil {
				return ref
			}
			return updateError(err, typ, "entry")
		}
		r.countOneShot(t, target.Kind, 1)
		r.idle = r.idle || entry.IdleTimeout > 0
		if undo != nil {
			r.undoInsert(t, match, prio, undo)
		}
		return r.writeDirect(t, engine.CellOf(t.engine, match, prio), e, true)
	}
	return r.modifyEntry(t, match, prio, e, undo)
}

// target converts the action of an entry. Its arguments are valid until the next call.
func (r *realm) target(t *tableSchema, act *p4v1.TableAction) (engine.Target, oneShotModes,
	*Error) {
	to, modes, err := t.target(r.texts, r.args, act, r.watch)
	if to.Kind == engine.TargetAction && to.Action.Args != nil {
		r.args = to.Action.Args
	}
	return to, modes, err
}

func (r *realm) modifyEntry(t *tableSchema, match []engine.Match, prio int32, e *p4v1.TableEntry,
	undo *undoLog) *Error {
	old, gerr := r.sw.Entry(t.engine, match, prio)
	if gerr != nil {
		return updateError(gerr, p4v1.Update_MODIFY, "entry")
	}
	entry := old
	if e.GetAction() != nil {
		target, modes, err := r.target(t, e.GetAction())
		if err != nil {
			return err
		}
		only := old.Target.Kind == engine.TargetActionSet && r.oneShots[t.profileID()] == 1
		if err := r.checkSelectorUse(t.profile, target.Kind, only); err != nil {
			return err
		}
		entry.Target, entry.IdleTimeout = target, time.Duration(e.GetIdleTimeoutNs())
		entry.Metadata = extra{controllerMetadata(e), modes, e.GetMetadata()}.pack()
	} else {
		// Without an action the entry stays the same, except for the given fields.
		x := unpackExtra(old.Metadata)
		if controllerMetadata(e) != 0 {
			x.controller = controllerMetadata(e)
		}
		if len(e.GetMetadata()) > 0 {
			x.metadata = e.GetMetadata()
		}
		entry.Metadata = x.pack()
		if e.GetIdleTimeoutNs() != 0 {
			entry.IdleTimeout = time.Duration(e.GetIdleTimeoutNs())
		}
	}
	if undo != nil {
		restore := r.saveDirect(t, engine.CellOf(t.engine, match, prio))
		undo.add(func() {
			if !t.constEntries {
				x, err := r.sw.Entry(t.engine, match, prio)
				if err == nil {
					r.countOneShot(t, x.Target.Kind, -1)
				}
				if r.sw.ModifyEntry(t.engine, old) == nil {
					r.countOneShot(t, old.Target.Kind, 1)
				}
			}
			restore()
		})
	}
	if !t.constEntries {
		if err := r.sw.ModifyEntry(t.engine, entry); err != nil {
			if ref := referenceError(err, entry.Target); ref != nil {
				return ref
			}
			return engineError(err)
		}
		r.countOneShot(t, old.Target.Kind, -1)
		r.countOneShot(t, entry.Target.Kind, 1)
		r.idle = r.idle || entry.IdleTimeout > 0
	}
	return r.writeDirect(t, engine.CellOf(t.engine, match, prio), e, false)
}

func (r *realm) deleteEntry(t *tableSchema, match []engine.Match, prio int32,
	undo *undoLog) *Error {
	if undo == nil && (t.profile == nil || !t.profile.selector) {
		return updateError(r.sw.DeleteEntry(t.engine, match, prio), p4v1.Update_DELETE, "entry")
	}
	old, err := r.sw.Entry(t.engine, match, prio)
	if err != nil {
		return updateError(err, p4v1.Update_DELETE, "entry")
	}
	var restore func()
	if undo != nil {
		restore = r.saveDirect(t, engine.CellOf(t.engine, match, prio))
	}
	if err := engineError(r.sw.DeleteEntry(t.engine, match, prio)); err != nil {
		return err
	}
	r.countOneShot(t, old.Target.Kind, -1)
	undo.add(func() {
		if r.sw.InsertEntry(t.engine, old) == nil {
			r.countOneShot(t, old.Target.Kind, 1)
			restore()
		}
	})
	return nil
}

func (r *realm) undoInsert(t *tableSchema, match []engine.Match, prio int32, undo *undoLog) {
	undo.add(func() {
		if old, err := r.sw.Entry(t.engine, match, prio); err == nil &&
			r.sw.DeleteEntry(t.engine, match, prio) == nil {
			r.countOneShot(t, old.Target.Kind, -1)
		}
	})
}

// checkSide checks the parts of an entry beside its key and action.
func (t *tableSchema) checkSide(e *p4v1.TableEntry) *Error {
	switch {
	case e.GetTimeSinceLastHit() != nil:
		return invalid("time_since_last_hit is set; it is for reads only")
	case e.GetIdleTimeoutNs() < 0:
		return invalid("idle_timeout_ns %d; want 0 (never) or more", e.GetIdleTimeoutNs())
	case e.GetIdleTimeoutNs() != 0 && !t.idleTimeout:
		return invalid("idle_timeout_ns %d; the table has no idle timeouts, want 0", e.GetIdleTimeoutNs())
	case e.GetMeterCounterData() != nil && t.meter == nil:
		return invalid("meter_counter_data is set; the table has no direct meter")
	case e.GetCounterData() != nil && t.counter == nil:
		return invalid("counter_data is set; the table has no direct counter")
	case e.GetMeterConfig() != nil && t.meter == nil:
		return invalid("meter_config is set; the table has no direct meter")
	}
	if e.GetCounterData() != nil {
		if _, err := counterValue(e.GetCounterData()); err != nil {
			return err.in("counter_data")
		}
	}
	if e.GetMeterConfig() != nil {
		if _, err := meterConfig(e.GetMeterConfig(), t.meter.meter); err != nil {
			return err.in("meter_config")
		}
	}
	if err := clearsCounts(e.GetMeterCounterData()); err != nil {
		return err.in("meter_counter_data")
	}
	return nil
}

// writeDirect writes the direct resources of an entry, which checkSide has
// seen. A meter configuration that is not set is reset; a counter keeps its
// value (P4Runtime specification, "Direct Resources").
func (r *realm) writeDirect(t *tableSchema, at engine.Cell, e *p4v1.TableEntry,
	inserted bool) *Error {
	if c := e.GetCounterData(); c != nil {
		v, err := counterValue(c)
		if err == nil {
			err = engineError(r.sw.SetCounter(at, v))
		}
		if err != nil {
			return err
		}
	}
	if t.meter == nil || inserted && e.GetMeterConfig() == nil {
		return nil
	}
	cfg, err := optionalMeter(e.GetMeterConfig(), t.meter.meter)
	if err != nil {
		return err
	}
	return engineError(r.setMeter(at, cfg, e.GetMeterCounterData() != nil))
}

// saveDirect returns a function that restores the direct resources of an entry.
func (r *realm) saveDirect(t *tableSchema, at engine.Cell) func() {
	var (
		count  engine.CounterValue
		marked meterSnapshot
	)
	if t.counter != nil {
		count, _ = r.sw.Counter(at)
	}
	if t.meter != nil {
		marked, _ = r.snapshot(at)
	}
	return func() {
		if t.counter != nil {
			_ = r.sw.SetCounter(at, count)
		}
		if t.meter != nil {
			r.restore(at, marked)
		}
	}
}

func (t *tableSchema) profileID() uint32 {
	if t.profile == nil {
		return 0
	}
	return t.profile.id
}

// checkSelectorUse keeps one-shot action sets apart from members and groups: a selector takes
// either the former or the latter. last reports that the selector's only one-shot entry is about to
// be replaced.
func (r *realm) checkSelectorUse(p *profileSchema, kind engine.TargetKind, last bool) *Error {
	if p == nil || !p.selector {
		return nil
	}
	if kind != engine.TargetActionSet {
		if r.oneShots[p.id] > 0 && !last {
			return invalid("action selector %q is programmed with one-shot action sets; members and "+
				"groups cannot be mixed in", p.name)
		}
		return nil
	}
	if r.hasMembers(p) {
		return invalid("action selector %q is programmed with members and groups; one-shot action sets "+
			"cannot be mixed in", p.name)
	}
	return nil
}

// hasMembers reports whether a profile has a member or a group.
func (r *realm) hasMembers(p *profileSchema) bool {
	for range r.sw.Members(p.engine) {
		return true
	}
	for range r.sw.Groups(p.engine) {
		return true
	}
	return false
}

func (r *realm) countOneShot(t *tableSchema, kind engine.TargetKind, n int) {
	if kind == engine.TargetActionSet {
		r.oneShots[t.profile.id] += n
	}
}

func (r *realm) writeDefaultEntry(t *tableSchema, typ p4v1.Update_Type, e *p4v1.TableEntry,
	undo *undoLog) *Error {
	switch {
	case typ != p4v1.Update_MODIFY:
		return invalid("the default entry cannot take %s; only MODIFY", typ)
	case len(e.GetMatch()) > 0:
		return invalid("the default entry has a match; leave it empty")
	case e.GetPriority() != 0:
		return invalid("the default entry has priority %d; want 0", e.GetPriority())
	case e.GetIsConst():
		return invalid("is_const is true; only entries of the program are const")
	case e.GetIdleTimeoutNs() != 0:
		return invalid("the default entry has idle_timeout_ns %d; want 0", e.GetIdleTimeoutNs())
	case t.constDefault != 0 || r.p.program.Tables()[t.engine].ConstDefault:
		return errorf(codes.PermissionDenied, "the default action is const; it cannot be modified")
	case t.profile != nil:
		return errorf(codes.PermissionDenied,
			"the default entry of an indirect table is const; it cannot be modified")
	}
	if err := t.checkSide(e); err != nil {
		return err
	}
	if undo != nil {
		undo.add(r.saveDefault(t))
	}
	if e.GetAction() == nil {
		if err := engineError(r.sw.ResetDefaultEntry(t.engine)); err != nil {
			return err
		}
		delete(r.defaultExtra, t.id)
	} else {
		a, ok := e.GetAction().GetType().(*p4v1.TableAction_Action)
		if !ok {
			return invalid("the table action of the default entry is not an action")
		}
		call, err := t.actionCall(r.texts, nil, a.Action, true)
		if err != nil {
			return err
		}
		if err := engineError(r.sw.SetDefaultEntry(t.engine, engine.Target{Kind: engine.TargetAction,
			Action: call})); err != nil {
			return err
		}
		if x := (extra{controller: controllerMetadata(e), metadata: e.GetMetadata()}).pack(); x != nil {
			r.defaultExtra[t.id] = x
		} else {
			delete(r.defaultExtra, t.id)
		}
	}
	return r.writeDirect(t, engine.CellOfMisses(t.engine), e, false)
}

// saveDefault returns a function that restores the default entry of a table.
func (r *realm) saveDefault(t *tableSchema) func() {
	old, changed, err := r.sw.DefaultEntry(t.engine)
	x, hadExtra := r.defaultExtra[t.id]
	restoreCells := r.saveDirect(t, engine.CellOfMisses(t.engine))
	return func() {
		if err != nil || !changed {
			_ = r.sw.ResetDefaultEntry(t.engine)
		} else {
			_ = r.sw.SetDefaultEntry(t.engine, old)
		}
		if hadExtra {
			r.defaultExtra[t.id] = x
		} else {
			delete(r.defaultExtra, t.id)
		}
		restoreCells()
	}
}
