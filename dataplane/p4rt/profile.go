package p4rt

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4/wire"
)

// profile returns the action profile with an id.
func (r *realm) profile(id uint32) (*profileSchema, *Error) {
	if p := r.p.profiles[id]; p != nil {
		return p, nil
	}
	return nil, invalid("action profile id 0x%08x is not in the P4Info", id)
}

// checkManual refuses members and groups while one-shot entries are in use.
func (r *realm) checkManual(p *profileSchema) *Error {
	if r.oneShots[p.id] > 0 {
		return invalid("action selector %q is programmed with one-shot action sets; members and groups "+
			"cannot be mixed in", p.name)
	}
	return nil
}

func (r *realm) writeMember(typ p4v1.Update_Type, m *p4v1.ActionProfileMember,
	undo *undoLog) *Error {
	p, err := r.profile(m.GetActionProfileId())
	if err != nil {
		return err
	}
	if err := r.applyMember(p, typ, m, undo); err != nil {
		return err.in("action profile %q: member %d", p.name, m.GetMemberId())
	}
	return nil
}

func (r *realm) applyMember(p *profileSchema, typ p4v1.Update_Type, m *p4v1.ActionProfileMember,
	undo *undoLog) *Error {
	id := m.GetMemberId()
	if id == 0 {
		return invalid("member id 0; want 1 or more")
	}
	old, gerr := r.sw.Member(p.engine, id)
	if typ == p4v1.Update_DELETE {
		if err := updateError(r.sw.DeleteMember(p.engine, id), typ, "member"); err != nil {
			return err
		}
		undo.add(func() { _ = r.sw.InsertMember(p.engine, old) })
		return nil
	}
	if err := r.checkManual(p); err != nil {
		return err
	}
	if m.GetAction() == nil {
		return invalid("the action is not set")
	}
	if len(p.tables) == 0 {
		return invalid("no table uses the action profile, so it has no actions")
	}
	call, err := p.tables[0].actionCall(r.texts, nil, m.GetAction(), false)
	if err != nil {
		return err
	}
	member := engine.Member{ID: id, Action: call}
	if typ == p4v1.Update_INSERT {
		if err := r.sw.InsertMember(p.engine, member); err != nil {
			if full := fullError(err, "action profile", r.p.program.Profiles()[p.engine].Size); full != nil {
				return full
			}
			return updateError(err, typ, "member")
		}
		undo.add(func() { _ = r.sw.DeleteMember(p.engine, id) })
		return nil
	}
	if gerr != nil {
		return updateError(gerr, typ, "member")
	}
	if err := engineError(r.sw.ModifyMember(p.engine, member)); err != nil {
		return err
	}
	undo.add(func() { _ = r.sw.ModifyMember(p.engine, old) })
	return nil
}

func (r *realm) writeGroup(typ p4v1.Update_Type, g *p4v1.ActionProfileGroup, undo *undoLog) *Error {
	p, err := r.profile(g.GetActionProfileId())
	if err != nil {
		return err
	}
	if err := r.applyGroup(p, typ, g, undo); err != nil {
		return err.in("action profile %q: group %d", p.name, g.GetGroupId())
	}
	return nil
}

func (r *realm) applyGroup(p *profileSchema, typ p4v1.Update_Type, g *p4v1.ActionProfileGroup,
	undo *undoLog) *Error {
	id := g.GetGroupId()
	if !p.selector {
		return invalid("the action profile has no selector and so no groups")
	}
	if id == 0 {
		return invalid("group id 0; want 1 or more")
	}
	old, gerr := r.sw.Group(p.engine, id)
	if typ == p4v1.Update_DELETE {
		if err := updateError(r.sw.DeleteGroup(p.engine, id), typ, "group"); err != nil {
			return err
		}
		undo.add(func() { _ = r.sw.InsertGroup(p.engine, old) })
		return nil
	}
	if err := r.checkManual(p); err != nil {
		return err
	}
	if typ == p4v1.Update_MODIFY {
		if gerr != nil {
			return updateError(gerr, typ, "group")
		}
		if int(g.GetMaxSize()) != old.MaxSize {
			return invalid("max_size %d; the group was inserted with %d, which cannot change",
				g.GetMaxSize(), old.MaxSize)
		}
	} else if gerr == nil {
		return errorf(codes.AlreadyExists, "the group exists; MODIFY it")
	}
	group, err := r.group(p, g)
	if err != nil {
		return err
	}
	if typ == p4v1.Update_INSERT {
		if err := engineError(r.sw.InsertGroup(p.engine, group)); err != nil {
			return err
		}
		undo.add(func() { _ = r.sw.DeleteGroup(p.engine, id) })
		return nil
	}
	if err := engineError(r.sw.ModifyGroup(p.engine, group)); err != nil {
		return err
	}
	undo.add(func() { _ = r.sw.ModifyGroup(p.engine, old) })
	return nil
}

// group converts a group (P4Runtime specification, "Group Programming" and
// "Rules on Setting max_size").
func (r *realm) group(p *profileSchema, g *p4v1.ActionProfileGroup) (engine.Group, *Error) {
	out := engine.Group{ID: g.GetGroupId(), MaxSize: int(g.GetMaxSize())}
	switch limit := p.maxGroupSize; {
	case g.GetMaxSize() < 0:
		return out, invalid("max_size %d; want 0 or more", g.GetMaxSize())
	case g.GetMaxSize() > engine.MaxGroupSize:
		return out, errorf(codes.ResourceExhausted, "max_size %d; this target has groups of at most %d",
			g.GetMaxSize(), engine.MaxGroupSize)
	case limit > 0 && (g.GetMaxSize() == 0 || g.GetMaxSize() > limit):
		return out, invalid("max_size %d; want 1 to %d, the max_group_size of the selector",
			g.GetMaxSize(), limit)
	}
	size := p.newGroupSize(0)
	seen := make(map[uint32]struct{}, len(g.GetMembers()))
	for _, m := range g.GetMembers() {
		id := m.GetMemberId()
		if _, dup := seen[id]; dup {
			return out, invalid("member %d is given twice; use its weight", id)
		}
		seen[id] = struct{}{}
		w, err := size.add(m.GetWeight())
		if err != nil {
			return out, err.in("member %d", id)
		}
		if g.GetMaxSize() > 0 && size.size > int64(g.GetMaxSize()) {
			return out, errorf(codes.ResourceExhausted,
				"the size of the group is %d with member %d; max_size is %d", size.size, id, g.GetMaxSize())
		}
		if _, old := m.GetWatchKind().(*p4v1.ActionProfileGroup_Member_Watch); old {
			return out, invalid("member %d: watch is deprecated; use watch_port", id)
		}
		port, err := r.watch.watch(m.GetWatchPort())
		if err != nil {
			return out, err.in("member %d", id)
		}
		if _, gerr := r.sw.Member(p.engine, id); gerr != nil {
			return out, notFound("member %d does not exist; INSERT it first", id)
		}
		out.Members = append(out.Members, engine.GroupMember{Member: id, Weight: w, WatchPort: port})
	}
	return out, nil
}

// readMembers selects members; id 0 selects all profiles, or all members.
func (r *realm) readMembers(q *p4v1.ActionProfileMember, out *reading) *Error {
	if q.GetActionProfileId() == 0 {
		if q.GetMemberId() != 0 {
			return invalid("member id %d with action_profile_id 0, which reads all action profiles; leave "+
				"the member id 0", q.GetMemberId())
		}
		for _, p := range r.p.profileList {
			r.emitMembers(p, out)
		}
		return nil
	}
	p, err := r.profile(q.GetActionProfileId())
	if err != nil {
		return err
	}
	if q.GetMemberId() == 0 {
		r.emitMembers(p, out)
	} else if m, err := r.sw.Member(p.engine, q.GetMemberId()); err == nil {
		out.emit(p.member(r.texts, m))
	}
	return nil
}

func (r *realm) emitMembers(p *profileSchema, out *reading) {
	if r.oneShots[p.id] > 0 {
		return // whatever the switch makes of action sets is not the client's
	}
	for m := range r.sw.Members(p.engine) {
		if !out.more() {
			return
		}
		out.emit(p.member(r.texts, m))
	}
}

func (p *profileSchema) member(x texts, m engine.Member) *p4v1.Entity {
	return wire.Entity(&p4v1.ActionProfileMember{
		ActionProfileId: p.id, MemberId: m.ID, Action: p.tables[0].action(x, m.Action),
	})
}

// readGroups selects groups as readMembers does members.
func (r *realm) readGroups(q *p4v1.ActionProfileGroup, out *reading) *Error {
	if q.GetActionProfileId() == 0 {
		if q.GetGroupId() != 0 {
			return invalid("group id %d with action_profile_id 0, which reads all action selectors; leave "+
				"the group id 0", q.GetGroupId())
		}
		for _, p := range r.p.profileList {
			r.emitGroups(p, out)
		}
		return nil
	}
	p, err := r.profile(q.GetActionProfileId())
	if err != nil {
		return err
	}
	if !p.selector {
		return invalid("action profile %q has no selector and so no groups", p.name)
	}
	if q.GetGroupId() == 0 {
		r.emitGroups(p, out)
	} else if g, err := r.sw.Group(p.engine, q.GetGroupId()); err == nil {
		out.emit(p.group(g))
	}
	return nil
}

func (r *realm) emitGroups(p *profileSchema, out *reading) {
	if !p.selector || r.oneShots[p.id] > 0 {
		return
	}
	for g := range r.sw.Groups(p.engine) {
		if !out.more() {
			return
		}
		out.emit(p.group(g))
	}
}

func (p *profileSchema) group(g engine.Group) *p4v1.Entity {
	out := &p4v1.ActionProfileGroup{ActionProfileId: p.id, GroupId: g.ID, MaxSize: int32(g.MaxSize)}
	for _, m := range g.Members {
		pm := &p4v1.ActionProfileGroup_Member{MemberId: m.Member, Weight: int32(m.Weight)}
		if p.noWeights {
			pm.Weight = 0
		}
		if m.WatchPort != engine.NoPort {
			pm.WatchKind = &p4v1.ActionProfileGroup_Member_WatchPort{WatchPort: portBytes(m.WatchPort)}
		}
		out.Members = append(out.Members, pm)
	}
	return wire.Entity(out)
}
