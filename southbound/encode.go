package southbound

import (
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/southbound/entry"
)

// maker holds the memory for messages of table entries and for the octets of their values. Messages
// of other entities use separate memory.
type maker struct {
	slab   wire.Slab
	octets []byte
}

// value returns the octets of a value.
func (m *maker) value(v entry.Value) []byte {
	at := len(m.octets)
	m.octets = append(m.octets, v...)
	return m.octets[at:len(m.octets):len(m.octets)]
}

// reset takes all memory back: it is handed out again.
func (m *maker) reset() {
	m.slab.Reset()
	m.octets = m.octets[:0]
}

// encodeUpdate returns u in P4Runtime's form, in the memory of m. Errors are [ErrUnknownName],
// [ErrRange] and [ErrMalformed] with the entity's key.
func (s *Schema) encodeUpdate(m *maker, u entry.Update) (*p4v1.Update, error) {
	if u.Entity == nil {
		return nil, fmt.Errorf("%w: update without an entity", ErrMalformed)
	}
	typ, ok := updateTypes[u.Type]
	if !ok {
		return nil, fmt.Errorf("%w: %s: %s", ErrMalformed, u.Entity.Key(), u.Type)
	}
	whole := u.Type != entry.Delete
	if t, ok := u.Entity.(entry.Table); ok && !t.Default {
		e := m.slab.NewEntry()
		if err := s.encodeTable(m, e, &t, whole); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Key(), err)
		}
		e.Update.Type = typ
		return &e.Update, nil
	}
	e, err := s.encode(m, u.Entity, whole)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.Entity.Key(), err)
	}
	if u.Entity.Kind() == entry.KindDefault {
		// A default action is only ever modified; without an action it goes back
		// to the program's (P4Runtime spec §9.1.4).
		typ = p4v1.Update_MODIFY
	}
	return &p4v1.Update{Type: typ, Entity: e}, nil
}

var updateTypes = map[entry.UpdateType]p4v1.Update_Type{
	entry.Insert: p4v1.Update_INSERT, entry.Modify: p4v1.Update_MODIFY,
	entry.Delete: p4v1.Update_DELETE,
}

// Encode returns the entity as P4Runtime has it, or an error as encodeUpdate's.
func (s *Schema) Encode(e entry.Entity) (*p4v1.Entity, error) {
	p, err := s.encode(new(maker), e, true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Key(), err)
	}
	return p, nil
}

// encode encodes an entity; whole reports that a table entry carries its action,
// which a deletion leaves out.
func (s *Schema) encode(m *maker, e entry.Entity, whole bool) (*p4v1.Entity, error) {
	switch e := e.(type) {
	case entry.Table:
		t := m.slab.NewEntry()
		return &t.Entity, s.encodeTable(m, t, &e, whole)
	case entry.Member:
		p, err := s.profile(e.Profile, e.ID)
		if err != nil {
			return nil, err
		}
		action := &p4v1.Action{}
		return wire.Entity(&p4v1.ActionProfileMember{
				ActionProfileId: p.ID, MemberId: e.ID, Action: action,
			}), s.encodeAction(new(maker), e.Action, nil, func(n int) *p4v1.Action {
				action.Params = make([]*p4v1.Action_Param, n)
				for i := range action.Params {
					action.Params[i] = new(p4v1.Action_Param)
				}
				return action
			})
	case entry.Group:
		p, err := s.profile(e.Profile, e.ID)
		if err != nil {
			return nil, err
		}
		g := &p4v1.ActionProfileGroup{ActionProfileId: p.ID, GroupId: e.ID}
		for i, m := range e.Members {
			if i > 0 && m == e.Members[i-1] {
				g.Members[len(g.Members)-1].Weight++
				continue
			}
			g.Members = append(g.Members, &p4v1.ActionProfileGroup_Member{MemberId: m, Weight: 1})
		}
		return wire.Entity(g), nil
	case entry.Multicast:
		if e.ID == 0 {
			return nil, fmt.Errorf("%w: multicast group 0", ErrMalformed)
		}
		return multicastPattern(e.ID, encodeReplicas(e.Replicas)), nil
	case entry.Clone:
		if e.ID == 0 {
			return nil, fmt.Errorf("%w: clone session 0", ErrMalformed)
		}
		return clonePattern(&p4v1.CloneSessionEntry{
			SessionId: e.ID, Replicas: encodeReplicas(e.Replicas), ClassOfService: e.Class,
			PacketLengthBytes: e.Truncate,
		}), nil
	case entry.Reports:
		id, ok := s.digestIDs[e.Digest]
		if !ok {
			return nil, fmt.Errorf("%w: digest %q", ErrUnknownName, e.Digest)
		}
		return wire.Entity(&p4v1.DigestEntry{
			DigestId: id,
			Config: &p4v1.DigestEntry_Config{MaxTimeoutNs: int64(e.Wait), MaxListSize: e.List,
				AckTimeoutNs: int64(e.Again)},
		}), nil
	}
	return nil, fmt.Errorf("%w: %T", ErrMalformed, e)
}

func (s *Schema) profile(name string, id uint32) (*ProfileInfo, error) {
	i := slices.IndexFunc(s.Profiles, func(p ProfileInfo) bool { return p.Name == name })
	switch {
	case i < 0:
		return nil, fmt.Errorf("%w: action profile %q", ErrUnknownName, name)
	case id == 0:
		return nil, fmt.Errorf("%w: id 0", ErrMalformed)
	}
	return &s.Profiles[i], nil
}

// encodeTable sets the messages of an empty entry to e.
func (s *Schema) encodeTable(x *maker, into *wire.Entry, e *entry.Table, whole bool) error {
	info := s.tableNames[e.Name]
	if info == nil {
		return fmt.Errorf("%w: table %q", ErrUnknownName, e.Name)
	}
	if e.Default && (len(e.Match) > 0 || e.Priority != 0) {
		return fmt.Errorf("%w: a default action has neither match nor priority", ErrMalformed)
	}
	t := &into.Table
	t.TableId, t.Priority, t.IsDefaultAction = info.ID, e.Priority, e.Default
	t.Match = x.slab.Matches(len(e.Match))
	for i := range e.Match {
		m := &e.Match[i]
		f := fieldByName(info.Fields, m.Field)
		if f == nil {
			return fmt.Errorf("%w: field %q", ErrUnknownName, m.Field)
		}
		if again := slices.ContainsFunc(e.Match[:i], func(o entry.Match) bool {
			return o.Field == m.Field
		}); again {
			return fmt.Errorf("%w: two matches on %q", ErrMalformed, m.Field)
		}
		p, err := f.encodeMatch(x, m)
		if err != nil {
			return err
		}
		t.Match = append(t.Match, p)
	}
	if !e.Default {
		for i := range info.Fields {
			f := &info.Fields[i]
			if _, given := e.Field(f.Name); !given && f.Match == entry.MatchExact {
				return fmt.Errorf("%w: no match on %q", ErrMalformed, f.Name)
			}
		}
	}
	if !whole {
		return nil
	}
	return s.encodeTableAction(x, into, info, e)
}

// encodeTableAction encodes the action of an entry: the entry has exactly one of action, member and
// group.
func (s *Schema) encodeTableAction(x *maker, into *wire.Entry, info *TableInfo,
	e *entry.Table) error {
	set := 0
	for _, is := range []bool{e.Action.Name != "", e.Member != 0, e.Group != 0} {
		if is {
			set++
		}
	}
	switch {
	case set == 0:
		return fmt.Errorf("%w: no action", ErrMalformed)
	case set > 1:
		return fmt.Errorf("%w: more than one of action, member and group", ErrMalformed)
	case e.Member != 0:
		into.Table.Action = &p4v1.TableAction{
			Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: e.Member}}
		return nil
	case e.Group != 0:
		into.Table.Action = &p4v1.TableAction{
			Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: e.Group}}
		return nil
	}
	return s.encodeAction(x, e.Action, info, func(n int) *p4v1.Action {
		return x.slab.SetAction(into, n)
	})
}

// encodeMatch encodes the match on f.
func (f *FieldInfo) encodeMatch(x *maker, m *entry.Match) (*p4v1.FieldMatch, error) {
	if m.Kind != f.Match {
		return nil, fmt.Errorf("%w: %s match on %q, whose kind is %s", ErrMalformed, m.Kind, m.Field,
			f.Match)
	}
	if m.Value == "" || (m.Mask == "") != (m.Kind != entry.MatchTernary &&
		m.Kind != entry.MatchRange) {
		return nil, fmt.Errorf("%w: match on %q lacks a value, or has one too many", ErrMalformed,
			m.Field)
	}
	if m.Bits > f.Width || m.Value.BitLen() > f.Width || m.Mask.BitLen() > f.Width {
		return nil, fmt.Errorf("%w: match on %q, which has %d bits", ErrRange, m.Field, f.Width)
	}
	if m.Kind == entry.MatchExact {
		return x.slab.NewExact(f.ID, x.value(m.Value)), nil
	}
	p := &p4v1.FieldMatch{FieldId: f.ID}
	switch m.Kind {
	case entry.MatchLPM:
		if m.Bits <= 0 {
			return nil, fmt.Errorf("%w: prefix of %d bits on %q: a prefix of length 0 is left out",
				ErrMalformed, m.Bits, m.Field)
		}
		p.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: []byte(m.Value),
			PrefixLen: int32(m.Bits)}}
	case entry.MatchTernary:
		p.FieldMatchType = &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: []byte(
			m.Value), Mask: []byte(m.Mask)}}
	case entry.MatchRange:
		p.FieldMatchType = &p4v1.FieldMatch_Range_{Range: &p4v1.FieldMatch_Range{Low: []byte(m.Value),
			High: []byte(m.Mask)}}
	case entry.MatchOptional:
		p.FieldMatchType = &p4v1.FieldMatch_Optional_{Optional: &p4v1.FieldMatch_Optional{Value: []byte(
			m.Value)}}
	}
	return p, nil
}

// encodeAction encodes an action into what empty returns: an action with n parameters that are not
// set. table, if not nil, has to list the action.
func (s *Schema) encodeAction(x *maker, a entry.Action, table *TableInfo,
	empty func(n int) *p4v1.Action) error {
	info := s.actionNames[a.Name]
	if info == nil {
		return fmt.Errorf("%w: action %q", ErrUnknownName, a.Name)
	}
	if table != nil && !slices.Contains(table.Actions, info.ID) {
		return fmt.Errorf("%w: action %q of this table", ErrUnknownName, a.Name)
	}
	out := empty(len(a.Params))
	out.ActionId = info.ID
	for i, p := range a.Params {
		f := fieldByName(info.Params, p.Name)
		switch {
		case f == nil:
			return fmt.Errorf("%w: parameter %q of %s", ErrUnknownName, p.Name, a.Name)
		case p.Value == "":
			return fmt.Errorf("%w: parameter %q of %s has no value", ErrMalformed, p.Name, a.Name)
		case p.Value.BitLen() > f.Width:
			return fmt.Errorf("%w: parameter %q of %s is %s and has %d bits", ErrRange, p.Name, a.Name,
				p.Value, f.Width)
		}
		out.Params[i].ParamId, out.Params[i].Value = f.ID, x.value(p.Value)
	}
	for i := range info.Params {
		if a.Arg(info.Params[i].Name) == "" {
			return fmt.Errorf("%w: no parameter %q of %s", ErrMalformed, info.Params[i].Name, a.Name)
		}
	}
	return nil
}

// encodeReplicas writes ports in the old numeric field: every server knows it,
// while servers older than P4Runtime 1.4 refuse the octet string.
func encodeReplicas(rs []entry.Replica) []*p4v1.Replica {
	out := make([]*p4v1.Replica, 0, len(rs))
	for _, r := range rs {
		//lint:ignore SA1019 see above
		port := &p4v1.Replica_EgressPort{EgressPort: r.Port}
		out = append(out, &p4v1.Replica{PortKind: port, Instance: r.Instance})
	}
	return out
}

// encodePacketOut returns the packet-out with its metadata.
func (s *Schema) encodePacketOut(p entry.PacketOut) (*p4v1.PacketOut, error) {
	out := &p4v1.PacketOut{Payload: p.Payload}
	for _, f := range []struct {
		name  string
		value uint64
	}{{"op", uint64(p.Op)}, {"egress_port", uint64(p.Port)}, {"group", uint64(p.Group)},
		{"branch", uint64(p.Branch)}} {
		info := fieldByName(s.PacketOut, f.name)
		if info == nil {
			return nil, fmt.Errorf("%w: packet-out field %q", ErrUnknownName, f.name)
		}
		out.Metadata = append(out.Metadata, &p4v1.PacketMetadata{MetadataId: info.ID,
			Value: []byte(entry.Uint(f.value))})
	}
	return out, nil
}
