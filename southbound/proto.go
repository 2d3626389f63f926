package southbound

import (
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// toProto returns e as P4Runtime has it.
func toProto(e Entity) (*p4v1.Entity, error) {
	switch e := e.(type) {
	case TableEntry:
		t, err := tableEntryToProto(e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", describe(e), err)
		}
		return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: t}}, nil
	case ActionMember:
		if e.ID == 0 || e.Profile == 0 {
			return nil, fmt.Errorf("%w: %s: id 0", ErrMalformed, describe(e))
		}
		return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: &p4v1.ActionProfileMember{
			ActionProfileId: e.Profile, MemberId: e.ID, Action: actionToProto(e.Action),
		}}}, nil
	case ActionGroup:
		if e.ID == 0 || e.Profile == 0 {
			return nil, fmt.Errorf("%w: %s: id 0", ErrMalformed, describe(e))
		}
		g := &p4v1.ActionProfileGroup{ActionProfileId: e.Profile, GroupId: e.ID, MaxSize: e.MaxSize}
		for _, m := range e.Members {
			if m.Weight < 1 {
				return nil, fmt.Errorf("%w: %s: member %d has weight %d", ErrMalformed, describe(e), m.ID, m.Weight)
			}
			g.Members = append(g.Members, &p4v1.ActionProfileGroup_Member{MemberId: m.ID, Weight: m.Weight})
		}
		return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: g}}, nil
	case MulticastGroup:
		if e.ID == 0 {
			return nil, fmt.Errorf("%w: %s: id 0", ErrMalformed, describe(e))
		}
		return preToProto(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{
			MulticastGroupEntry: &p4v1.MulticastGroupEntry{MulticastGroupId: e.ID, Replicas: replicasToProto(e.Replicas)},
		}}), nil
	case CloneSession:
		if e.ID == 0 {
			return nil, fmt.Errorf("%w: %s: id 0", ErrMalformed, describe(e))
		}
		return preToProto(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{
			CloneSessionEntry: &p4v1.CloneSessionEntry{
				SessionId: e.ID, Replicas: replicasToProto(e.Replicas),
				ClassOfService: e.Class, PacketLengthBytes: e.Truncate,
			},
		}}), nil
	case CounterCell:
		return &p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{
			CounterId: e.Counter, Index: &p4v1.Index{Index: e.Index},
			Data: &p4v1.CounterData{PacketCount: e.Packets, ByteCount: e.Bytes},
		}}}, nil
	case DigestConfig:
		return &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{
			DigestId: e.ID,
			Config:   &p4v1.DigestEntry_Config{MaxTimeoutNs: e.MaxTimeout, MaxListSize: e.MaxList, AckTimeoutNs: e.AckTimeout},
		}}}, nil
	}
	return nil, fmt.Errorf("%w: %T", ErrMalformed, e)
}

func preToProto(p *p4v1.PacketReplicationEngineEntry) *p4v1.Entity {
	return &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: p}}
}

// replicasToProto writes ports in the old numeric field: every server knows it,
// while servers older than P4Runtime 1.4 refuse the octet string.
func replicasToProto(rs []Replica) []*p4v1.Replica {
	out := make([]*p4v1.Replica, 0, len(rs))
	for _, r := range rs {
		//lint:ignore SA1019 see above
		port := &p4v1.Replica_EgressPort{EgressPort: r.Port}
		out = append(out, &p4v1.Replica{PortKind: port, Instance: r.Instance})
	}
	return out
}

func tableEntryToProto(e TableEntry) (*p4v1.TableEntry, error) {
	t := &p4v1.TableEntry{TableId: e.Table, Priority: e.Priority, IsDefaultAction: e.Default}
	if e.Table == 0 {
		return nil, fmt.Errorf("%w: table id 0", ErrMalformed)
	}
	if e.Default && (len(e.Match) > 0 || e.Priority != 0) {
		return nil, fmt.Errorf("%w: a default action has neither match nor priority", ErrMalformed)
	}
	seen := make(map[uint32]bool, len(e.Match))
	for _, m := range e.Match {
		if seen[m.Field] {
			return nil, fmt.Errorf("%w: two matches on field %d", ErrMalformed, m.Field)
		}
		seen[m.Field] = true
		f, err := matchToProto(m)
		if err != nil {
			return nil, err
		}
		t.Match = append(t.Match, f)
	}
	set := 0
	if e.Action.ID != 0 {
		set++
		t.Action = &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: actionToProto(e.Action)}}
	}
	if e.Member != 0 {
		set++
		t.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: e.Member}}
	}
	if e.Group != 0 {
		set++
		t.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: e.Group}}
	}
	if set > 1 {
		return nil, fmt.Errorf("%w: more than one of action, member and group", ErrMalformed)
	}
	return t, nil
}

func matchToProto(m Match) (*p4v1.FieldMatch, error) {
	if m.Value == "" || (m.Mask == "") != (m.Kind != Ternary && m.Kind != Range) {
		return nil, fmt.Errorf("%w: match on field %d lacks a value, or has one too many", ErrMalformed, m.Field)
	}
	f := &p4v1.FieldMatch{FieldId: m.Field}
	switch m.Kind {
	case Exact:
		f.FieldMatchType = &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte(m.Value)}}
	case LPM:
		if m.Bits <= 0 {
			return nil, fmt.Errorf("%w: prefix of %d bits on field %d: a prefix of length 0 is left out", ErrMalformed, m.Bits, m.Field)
		}
		f.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: []byte(m.Value), PrefixLen: int32(m.Bits)}}
	case Ternary:
		f.FieldMatchType = &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: []byte(m.Value), Mask: []byte(m.Mask)}}
	case Range:
		f.FieldMatchType = &p4v1.FieldMatch_Range_{Range: &p4v1.FieldMatch_Range{Low: []byte(m.Value), High: []byte(m.Mask)}}
	case Optional:
		f.FieldMatchType = &p4v1.FieldMatch_Optional_{Optional: &p4v1.FieldMatch_Optional{Value: []byte(m.Value)}}
	default:
		return nil, fmt.Errorf("%w: match kind %d on field %d", ErrMalformed, m.Kind, m.Field)
	}
	return f, nil
}

func actionToProto(a Action) *p4v1.Action {
	out := &p4v1.Action{ActionId: a.ID}
	for _, p := range a.Params {
		v := p.Value
		if v == "" {
			v = Uint(0)
		}
		out.Params = append(out.Params, &p4v1.Action_Param{ParamId: p.ID, Value: []byte(v)})
	}
	return out
}

// fromProto returns e in canonical form. ok is false for what this package does
// not represent (meters, registers, value sets, one-shot action sets) and for a
// default action that is not set.
func fromProto(e *p4v1.Entity) (out Entity, ok bool, err error) {
	switch e := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return tableEntryFromProto(e.TableEntry)
	case *p4v1.Entity_ActionProfileMember:
		m := e.ActionProfileMember
		return ActionMember{Profile: m.GetActionProfileId(), ID: m.GetMemberId(), Action: actionFromProto(m.GetAction())}, true, nil
	case *p4v1.Entity_ActionProfileGroup:
		g := e.ActionProfileGroup
		out := ActionGroup{Profile: g.GetActionProfileId(), ID: g.GetGroupId(), MaxSize: g.GetMaxSize()}
		for _, m := range g.GetMembers() {
			out.Members = append(out.Members, WeightedMember{ID: m.GetMemberId(), Weight: max(1, m.GetWeight())})
		}
		return out, true, nil
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return preFromProto(e.PacketReplicationEngineEntry)
	case *p4v1.Entity_CounterEntry:
		c := e.CounterEntry
		return CounterCell{
			Counter: c.GetCounterId(), Index: c.GetIndex().GetIndex(),
			Packets: c.GetData().GetPacketCount(), Bytes: c.GetData().GetByteCount(),
		}, true, nil
	case *p4v1.Entity_DigestEntry:
		d := e.DigestEntry
		return DigestConfig{
			ID: d.GetDigestId(), MaxTimeout: d.GetConfig().GetMaxTimeoutNs(),
			MaxList: d.GetConfig().GetMaxListSize(), AckTimeout: d.GetConfig().GetAckTimeoutNs(),
		}, true, nil
	}
	return nil, false, nil
}

func preFromProto(p *p4v1.PacketReplicationEngineEntry) (Entity, bool, error) {
	switch t := p.GetType().(type) {
	case *p4v1.PacketReplicationEngineEntry_MulticastGroupEntry:
		rs, err := replicasFromProto(t.MulticastGroupEntry.GetReplicas())
		if err != nil {
			return nil, false, fmt.Errorf("multicast group %d: %w", t.MulticastGroupEntry.GetMulticastGroupId(), err)
		}
		return MulticastGroup{ID: t.MulticastGroupEntry.GetMulticastGroupId(), Replicas: rs}, true, nil
	case *p4v1.PacketReplicationEngineEntry_CloneSessionEntry:
		c := t.CloneSessionEntry
		rs, err := replicasFromProto(c.GetReplicas())
		if err != nil {
			return nil, false, fmt.Errorf("clone session %d: %w", c.GetSessionId(), err)
		}
		return CloneSession{ID: c.GetSessionId(), Replicas: rs, Class: c.GetClassOfService(), Truncate: c.GetPacketLengthBytes()}, true, nil
	}
	return nil, false, nil
}

func replicasFromProto(rs []*p4v1.Replica) ([]Replica, error) {
	out := make([]Replica, 0, len(rs))
	for _, r := range rs {
		//lint:ignore SA1019 a switch reports a port in the form it was written
		port := r.GetEgressPort()
		if b := r.GetPort(); len(b) > 0 {
			n, ok := ValueOf(b).Uint64()
			if !ok || n > 0xffffffff {
				return nil, fmt.Errorf("%w: replica port %x", ErrMalformed, b)
			}
			port = uint32(n)
		}
		out = append(out, Replica{Port: port, Instance: r.GetInstance()})
	}
	return out, nil
}

func tableEntryFromProto(t *p4v1.TableEntry) (Entity, bool, error) {
	e := TableEntry{Table: t.GetTableId(), Priority: t.GetPriority(), Default: t.GetIsDefaultAction(), Const: t.GetIsConst()}
	for _, f := range t.GetMatch() {
		m, wild, err := matchFromProto(f)
		if err != nil {
			return nil, false, fmt.Errorf("entry of table %#x: %w", e.Table, err)
		}
		if !wild {
			e.Match = append(e.Match, m)
		}
	}
	switch a := t.GetAction().GetType().(type) {
	case *p4v1.TableAction_Action:
		e.Action = actionFromProto(a.Action)
	case *p4v1.TableAction_ActionProfileMemberId:
		e.Member = a.ActionProfileMemberId
	case *p4v1.TableAction_ActionProfileGroupId:
		e.Group = a.ActionProfileGroupId
	default:
		return nil, false, nil
	}
	if e.Default && e.Action.ID == 0 && e.Member == 0 && e.Group == 0 {
		return nil, false, nil
	}
	return e, true, nil
}

// matchFromProto returns the match in canonical form; wild says that it matches
// anything and has to be left out.
func matchFromProto(f *p4v1.FieldMatch) (m Match, wild bool, err error) {
	m.Field = f.GetFieldId()
	switch t := f.GetFieldMatchType().(type) {
	case *p4v1.FieldMatch_Exact_:
		m.Kind, m.Value = Exact, ValueOf(t.Exact.GetValue())
	case *p4v1.FieldMatch_Lpm:
		m.Kind, m.Value, m.Bits = LPM, ValueOf(t.Lpm.GetValue()), int(t.Lpm.GetPrefixLen())
		wild = m.Bits <= 0
	case *p4v1.FieldMatch_Ternary_:
		m.Kind, m.Mask = Ternary, ValueOf(t.Ternary.GetMask())
		m.Value = masked(ValueOf(t.Ternary.GetValue()), m.Mask)
		wild = m.Mask.BitLen() == 0
	case *p4v1.FieldMatch_Range_:
		m.Kind, m.Value, m.Mask = Range, ValueOf(t.Range.GetLow()), ValueOf(t.Range.GetHigh())
	case *p4v1.FieldMatch_Optional_:
		m.Kind, m.Value = Optional, ValueOf(t.Optional.GetValue())
	default:
		return m, false, fmt.Errorf("%w: match on field %d is of an unknown kind", ErrMalformed, m.Field)
	}
	return m, wild, nil
}

// masked returns v with the bits outside mask cleared.
func masked(v, mask Value) Value {
	out := make([]byte, max(len(v), len(mask)))
	for i := range out {
		var a, b byte
		if j := i - (len(out) - len(v)); j >= 0 {
			a = v[j]
		}
		if j := i - (len(out) - len(mask)); j >= 0 {
			b = mask[j]
		}
		out[i] = a & b
	}
	return ValueOf(out)
}

func actionFromProto(a *p4v1.Action) Action {
	out := Action{ID: a.GetActionId()}
	for _, p := range a.GetParams() {
		out.Params = append(out.Params, Param{ID: p.GetParamId(), Value: ValueOf(p.GetValue())})
	}
	return out
}

// updateToProto returns u as P4Runtime has it: default actions, counter cells
// and digests follow rules of their own.
func updateToProto(u Update) (*p4v1.Update, error) {
	if u.Entity == nil {
		return nil, fmt.Errorf("%w: update without an entity", ErrMalformed)
	}
	types := map[UpdateType]p4v1.Update_Type{Insert: p4v1.Update_INSERT, Modify: p4v1.Update_MODIFY, Delete: p4v1.Update_DELETE}
	typ, ok := types[u.Type]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrMalformed, u)
	}
	e, err := toProto(u.Entity)
	if err != nil {
		return nil, err
	}
	t := e.GetTableEntry()
	switch {
	case t.GetIsDefaultAction():
		// A default action is only ever modified; without an action it goes back
		// to the program's (P4Runtime spec §9.1.4).
		if typ == p4v1.Update_DELETE {
			t.Action = nil
		}
		typ = p4v1.Update_MODIFY
	case u.Entity.Kind() == KindCounter:
		typ = p4v1.Update_MODIFY
	case t != nil && typ == p4v1.Update_DELETE:
		t.Action = nil
	}
	if t != nil && t.GetAction() == nil && u.Type != Delete {
		return nil, fmt.Errorf("%w: %s: no action", ErrMalformed, u)
	}
	return &p4v1.Update{Type: typ, Entity: e}, nil
}
