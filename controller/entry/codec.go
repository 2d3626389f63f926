package entry

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/southbound"
)

// Codec translates between names and the ids of one pipeline. It is immutable.
type Codec struct {
	tables   map[string]*tableCodec
	tableIDs map[uint32]*tableCodec
	actions  map[string]*actionCodec
	byAction map[uint32]*actionCodec
	profiles map[string]uint32
	byID     map[uint32]string // profiles
	digests  map[uint32]string
	in, out  fields
}

// fields are match fields, parameters or header fields, by name and by id.
type fields struct {
	list   []southbound.FieldInfo
	byName map[string]int
	byID   map[uint32]int
}

func newFields(list []southbound.FieldInfo) fields {
	f := fields{list: list, byName: make(map[string]int, len(list)), byID: make(map[uint32]int, len(list))}
	for i, x := range list {
		f.byName[x.Name], f.byID[x.ID] = i, i
	}
	return f
}

type tableCodec struct {
	info   southbound.TableInfo
	fields fields
}

type actionCodec struct {
	info   southbound.ActionInfo
	params fields
}

// NewCodec returns the codec of a pipeline.
func NewCodec(s *southbound.Schema) *Codec {
	c := &Codec{
		tables: make(map[string]*tableCodec), tableIDs: make(map[uint32]*tableCodec),
		actions: make(map[string]*actionCodec), byAction: make(map[uint32]*actionCodec),
		profiles: make(map[string]uint32), byID: make(map[uint32]string),
		in: newFields(s.PacketIn), out: newFields(s.PacketOut), digests: s.Digests,
	}
	for _, t := range s.Tables {
		tc := &tableCodec{info: t, fields: newFields(t.Fields)}
		c.tables[t.Name], c.tableIDs[t.ID] = tc, tc
	}
	for _, a := range s.Actions {
		ac := &actionCodec{info: a, params: newFields(a.Params)}
		c.actions[a.Name], c.byAction[a.ID] = ac, ac
	}
	for _, p := range s.Profiles {
		c.profiles[p.Name], c.byID[p.ID] = p.ID, p.Name
	}
	return c
}

// Encode returns the entity with ids. Errors are [ErrUnknownName], [ErrWidth]
// and [ErrMissing] with the entity's key.
func (c *Codec) Encode(e Entity) (southbound.Entity, error) {
	out, err := c.encode(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Key(), err)
	}
	return out, nil
}

func (c *Codec) encode(e Entity) (southbound.Entity, error) {
	switch e := e.(type) {
	case Table:
		return c.encodeTable(e)
	case Member:
		profile, ok := c.profiles[e.Profile]
		if !ok {
			return nil, fmt.Errorf("%w: action profile %q", ErrUnknownName, e.Profile)
		}
		action, err := c.encodeAction(e.Action)
		return southbound.ActionMember{Profile: profile, ID: e.ID, Action: action}, err
	case Group:
		profile, ok := c.profiles[e.Profile]
		if !ok {
			return nil, fmt.Errorf("%w: action profile %q", ErrUnknownName, e.Profile)
		}
		g := southbound.ActionGroup{Profile: profile, ID: e.ID}
		for _, m := range e.Members {
			g.Members = append(g.Members, southbound.WeightedMember{ID: m, Weight: 1})
		}
		return g, nil
	case Multicast:
		return southbound.MulticastGroup{ID: e.ID, Replicas: e.Replicas}, nil
	case Clone:
		return southbound.CloneSession{ID: e.ID, Replicas: e.Replicas}, nil
	case Reports:
		return c.encodeReports(e)
	}
	return nil, fmt.Errorf("%w: kind %T", ErrUnknownName, e)
}

func (c *Codec) encodeTable(e Table) (southbound.Entity, error) {
	t := c.tables[e.Name]
	if t == nil {
		return nil, fmt.Errorf("%w: table %q", ErrUnknownName, e.Name)
	}
	out := southbound.TableEntry{
		Table: t.info.ID, Priority: e.Priority, Default: e.Default, Member: e.Member, Group: e.Group,
		Match: make([]southbound.Match, 0, len(e.Match)),
	}
	for _, m := range e.Match {
		i, ok := t.fields.byName[m.Field]
		if !ok {
			return nil, fmt.Errorf("%w: field %q", ErrUnknownName, m.Field)
		}
		f := t.fields.list[i]
		if m.Kind != f.Match || m.Bits > f.Width || m.Value.BitLen() > f.Width || m.Mask.BitLen() > f.Width {
			return nil, fmt.Errorf("%w: match on %q, which has %d bits", ErrWidth, m.Field, f.Width)
		}
		out.Match = append(out.Match, southbound.Match{Field: f.ID, Kind: m.Kind, Value: m.Value, Mask: m.Mask, Bits: m.Bits})
	}
	if !e.Default {
		for _, f := range t.fields.list {
			if _, given := e.Field(f.Name); !given && f.Match == southbound.Exact {
				return nil, fmt.Errorf("%w: match on %q", ErrMissing, f.Name)
			}
		}
	}
	if e.Member != 0 || e.Group != 0 {
		return out, nil
	}
	action, err := c.encodeAction(e.Action)
	if err == nil && !slices.Contains(t.info.Actions, action.ID) {
		err = fmt.Errorf("%w: action %q of this table", ErrUnknownName, e.Action.Name)
	}
	out.Action = action
	return out, err
}

func (c *Codec) encodeAction(a Action) (southbound.Action, error) {
	ac := c.actions[a.Name]
	if ac == nil {
		return southbound.Action{}, fmt.Errorf("%w: action %q", ErrUnknownName, a.Name)
	}
	out := southbound.Action{ID: ac.info.ID, Params: make([]southbound.Param, 0, len(a.Params))}
	for _, p := range a.Params {
		i, ok := ac.params.byName[p.Name]
		if !ok {
			return out, fmt.Errorf("%w: parameter %q of %s", ErrUnknownName, p.Name, a.Name)
		}
		f := ac.params.list[i]
		if p.Value.BitLen() > f.Width {
			return out, fmt.Errorf("%w: parameter %q of %s is %s and has %d bits", ErrWidth, p.Name, a.Name, p.Value, f.Width)
		}
		out.Params = append(out.Params, southbound.Param{ID: f.ID, Value: p.Value})
	}
	if len(a.Params) != len(ac.params.list) {
		for _, f := range ac.params.list {
			if a.Arg(f.Name) == "" {
				return out, fmt.Errorf("%w: parameter %q of %s", ErrMissing, f.Name, a.Name)
			}
		}
	}
	return out, nil
}

// EncodeUpdate returns the update with ids.
func (c *Codec) EncodeUpdate(u Update) (southbound.Update, error) {
	e, err := c.Encode(u.Entity)
	return southbound.Update{Type: u.Type, Entity: e}, err
}

// Decode returns the entity with names, in canonical form. What the controller
// has no names for (counters, ids of another pipeline) is
// [ErrUnknownID].
func (c *Codec) Decode(e southbound.Entity) (Entity, error) {
	switch e := e.(type) {
	case southbound.TableEntry:
		return c.decodeTable(e)
	case southbound.ActionMember:
		profile, ok := c.byID[e.Profile]
		if !ok {
			return nil, fmt.Errorf("%w: action profile %#x", ErrUnknownID, e.Profile)
		}
		action, err := c.decodeAction(e.Action)
		return Member{Profile: profile, ID: e.ID, Action: action}, err
	case southbound.ActionGroup:
		profile, ok := c.byID[e.Profile]
		if !ok {
			return nil, fmt.Errorf("%w: action profile %#x", ErrUnknownID, e.Profile)
		}
		g := Group{Profile: profile, ID: e.ID}
		for _, m := range e.Members {
			for range max(1, m.Weight) {
				g.Members = append(g.Members, m.ID)
			}
		}
		slices.Sort(g.Members)
		return g, nil
	case southbound.MulticastGroup:
		return Copies(e.ID, slices.Clone(e.Replicas)...), nil
	case southbound.CloneSession:
		return Clone{ID: e.ID, Replicas: sortedReplicas(slices.Clone(e.Replicas))}, nil
	case southbound.DigestConfig:
		return c.decodeReports(e)
	}
	return nil, fmt.Errorf("%w: %T", ErrUnknownID, e)
}

func (c *Codec) decodeTable(e southbound.TableEntry) (Entity, error) {
	t := c.tableIDs[e.Table]
	if t == nil {
		return nil, fmt.Errorf("%w: table %#x", ErrUnknownID, e.Table)
	}
	out := Table{Name: t.info.Name, Priority: e.Priority, Default: e.Default, Member: e.Member, Group: e.Group}
	for _, m := range e.Match {
		i, ok := t.fields.byID[m.Field]
		if !ok {
			return nil, fmt.Errorf("%w: field %d of %s", ErrUnknownID, m.Field, t.info.Name)
		}
		out.Match = append(out.Match, Match{Field: t.fields.list[i].Name, Kind: m.Kind, Value: m.Value, Mask: m.Mask, Bits: m.Bits})
	}
	sortByName(out.Match, func(m Match) string { return m.Field })
	if e.Action.ID == 0 {
		return out, nil
	}
	action, err := c.decodeAction(e.Action)
	out.Action = action
	return out, err
}

func (c *Codec) decodeAction(a southbound.Action) (Action, error) {
	ac := c.byAction[a.ID]
	if ac == nil {
		return Action{}, fmt.Errorf("%w: action %#x", ErrUnknownID, a.ID)
	}
	out := Action{Name: ac.info.Name}
	for _, p := range a.Params {
		i, ok := ac.params.byID[p.ID]
		if !ok {
			return Action{}, fmt.Errorf("%w: parameter %d of %s", ErrUnknownID, p.ID, ac.info.Name)
		}
		out.Params = append(out.Params, Param{Name: ac.params.list[i].Name, Value: p.Value})
	}
	sortByName(out.Params, func(p Param) string { return p.Name })
	return out, nil
}
