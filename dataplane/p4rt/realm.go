package p4rt

import (
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
)

// realm is one pipeline on one switch, with the little P4Runtime state that
// the switch does not keep.
type realm struct {
	p     *pipeline
	sw    dataplane.Controls
	pre   portCheck
	watch portCheck

	// defaultExtra holds what a client attached to a default entry, by table.
	defaultExtra map[uint32][]byte
	// oneShots counts the entries with one-shot action sets, by profile id:
	// a selector takes either those or members and groups.
	oneShots map[uint32]int
	// egressPort holds the replication entries that name ports by the deprecated egress_port, to read
	// them back as written.
	egressPort map[preKey]struct{}
	digests    digests
	texts      texts
	matches    []engine.Match // memory for the match of an update
	args       [][]byte       // memory for the arguments of its action
	// idle is set once an entry with an idle timeout was written.
	idle bool
}

// preKey names a multicast group or a clone session.
type preKey struct {
	clone bool
	id    uint32
}

// newRealm makes the realm of a pipeline that follows another one; before may be nil.
func newRealm(p *pipeline, sw dataplane.Controls, pre, watch portCheck, before *realm) *realm {
	var texts texts
	if before != nil {
		texts = before.texts
	}
	return &realm{
		p: p, sw: sw, pre: pre, watch: watch,
		defaultExtra: make(map[uint32][]byte),
		oneShots:     make(map[uint32]int),
		egressPort:   make(map[preKey]struct{}),
		digests:      newDigests(p),
		texts:        newTexts(p.types.translations, texts),
	}
}

// update applies one update. If undo is not nil, update appends the inverse.
func (r *realm) update(now time.Duration, u *p4v1.Update, undo *undoLog) *Error {
	switch u.GetType() {
	case p4v1.Update_INSERT, p4v1.Update_MODIFY, p4v1.Update_DELETE:
	default:
		return invalid("update type %s; want INSERT, MODIFY or DELETE", u.GetType())
	}
	typ := u.GetType()
	switch e := u.GetEntity().GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return r.writeTableEntry(now, typ, e.TableEntry, undo)
	case *p4v1.Entity_ActionProfileMember:
		return r.writeMember(typ, e.ActionProfileMember, undo)
	case *p4v1.Entity_ActionProfileGroup:
		return r.writeGroup(typ, e.ActionProfileGroup, undo)
	case *p4v1.Entity_CounterEntry:
		return r.writeCounter(typ, e.CounterEntry, undo)
	case *p4v1.Entity_DirectCounterEntry:
		return r.writeDirectCounter(typ, e.DirectCounterEntry, undo)
	case *p4v1.Entity_MeterEntry:
		return r.writeMeter(typ, e.MeterEntry, undo)
	case *p4v1.Entity_DirectMeterEntry:
		return r.writeDirectMeter(typ, e.DirectMeterEntry, undo)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return r.writeReplication(typ, e.PacketReplicationEngineEntry, undo)
	case *p4v1.Entity_ValueSetEntry:
		return r.writeValueSet(typ, e.ValueSetEntry, undo)
	case *p4v1.Entity_RegisterEntry:
		return r.writeRegister(typ, e.RegisterEntry, undo)
	case *p4v1.Entity_DigestEntry:
		return r.digests.write(typ, e.DigestEntry, undo)
	case *p4v1.Entity_ExternEntry:
		return errorf(codes.Unimplemented,
			"extern entries are not supported: v1model has no such externs")
	}
	return invalid("the entity of the update is not set")
}

// read emits every entity that one request of a Read selects.
func (r *realm) read(e *p4v1.Entity, out *reading) *Error {
	switch q := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return r.readTableEntries(q.TableEntry, out)
	case *p4v1.Entity_ActionProfileMember:
		return r.readMembers(q.ActionProfileMember, out)
	case *p4v1.Entity_ActionProfileGroup:
		return r.readGroups(q.ActionProfileGroup, out)
	case *p4v1.Entity_CounterEntry:
		return r.readCounters(q.CounterEntry, out)
	case *p4v1.Entity_DirectCounterEntry:
		return r.readDirectCounters(q.DirectCounterEntry, out)
	case *p4v1.Entity_MeterEntry:
		return r.readMeters(q.MeterEntry, out)
	case *p4v1.Entity_DirectMeterEntry:
		return r.readDirectMeters(q.DirectMeterEntry, out)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return r.readReplication(q.PacketReplicationEngineEntry, out)
	case *p4v1.Entity_ValueSetEntry:
		return r.readValueSets(q.ValueSetEntry, out)
	case *p4v1.Entity_RegisterEntry:
		return r.readRegisters(q.RegisterEntry, out)
	case *p4v1.Entity_DigestEntry:
		return r.digests.read(q.DigestEntry, out)
	case *p4v1.Entity_ExternEntry:
		if q.ExternEntry.GetExternTypeId() == 0 { // all externs of all types: there are none
			return nil
		}
		return errorf(codes.Unimplemented,
			"extern entries are not supported: v1model has no such externs")
	}
	return invalid("the entity of the request is not set")
}

// undoLog has the steps that undo a batch, run from the last to the first.
type undoLog []func()

func (u *undoLog) add(f func()) {
	if u != nil {
		*u = append(*u, f)
	}
}

// run takes back the last limit of what is left; true when nothing is.
func (u *undoLog) run(limit int) bool {
	for ; limit > 0 && len(*u) > 0; limit-- {
		last := len(*u) - 1
		(*u)[last]()
		*u = (*u)[:last]
	}
	return len(*u) == 0
}

// onlyModify refuses the update types that entities without a life of their
// own do not have.
func onlyModify(typ p4v1.Update_Type, what string) *Error {
	if typ != p4v1.Update_MODIFY {
		return invalid("%s cannot take %s; only MODIFY", what, typ)
	}
	return nil
}
