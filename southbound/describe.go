package southbound

import (
	"fmt"
	"net"
	"slices"
	"strconv"
)

// Typed is a named value as JSON would have it: a uint64, or a string for
// addresses, prefixes, masks, ranges and numbers over 64 bits.
type Typed struct {
	Name  string
	Value any
}

// Description is a table entry in the names of the P4 program.
type Description struct {
	Table    string
	Match    []Typed // in the order of the table's key; "*" for what matches anything
	Priority int32
	Default  bool
	Const    bool
	// Action is empty when the entry refers to Member or Group.
	Action string
	Params []Typed // in the order of the action's parameters
	Member uint32
	Group  uint32
}

// Describe names a table entry. An entry that does not fit the P4Info is an
// error that wraps ErrUnknownName.
func (s *Schema) Describe(e TableEntry) (Description, error) {
	t := s.tables[e.Table]
	if t == nil {
		return Description{}, fmt.Errorf("%w: table %#x", ErrUnknownName, e.Table)
	}
	d := Description{Table: t.Name, Priority: e.Priority, Default: e.Default, Const: e.Const, Member: e.Member, Group: e.Group}
	if !e.Default {
		for _, f := range t.Fields {
			v := any("*")
			if i := slices.IndexFunc(e.Match, func(m Match) bool { return m.Field == f.ID }); i >= 0 {
				v = f.showMatch(e.Match[i])
			}
			d.Match = append(d.Match, Typed{Name: f.Name, Value: v})
		}
	}
	if e.Action.ID == 0 {
		return d, nil
	}
	a := s.actions[e.Action.ID]
	if a == nil {
		return Description{}, fmt.Errorf("%w: action %#x", ErrUnknownName, e.Action.ID)
	}
	d.Action = a.Name
	var err error
	d.Params, err = a.show(e.Action)
	return d, err
}

// DescribeAction names an action and its arguments, for members of profiles.
func (s *Schema) DescribeAction(a Action) (name string, params []Typed, err error) {
	info := s.actions[a.ID]
	if info == nil {
		return "", nil, fmt.Errorf("%w: action %#x", ErrUnknownName, a.ID)
	}
	params, err = info.show(a)
	return info.Name, params, err
}

func (a *ActionInfo) show(given Action) ([]Typed, error) {
	var out []Typed
	for _, f := range a.Params {
		i := slices.IndexFunc(given.Params, func(p Param) bool { return p.ID == f.ID })
		if i < 0 {
			return nil, fmt.Errorf("%w: action %s without argument %s", ErrMalformed, a.Name, f.Name)
		}
		out = append(out, Typed{Name: f.Name, Value: f.show(given.Params[i].Value)})
	}
	return out, nil
}

func (f FieldInfo) showMatch(m Match) any {
	switch m.Kind {
	case LPM:
		return fmt.Sprint(f.show(m.Value), "/", strconv.Itoa(m.Bits))
	case Ternary:
		return fmt.Sprint(f.show(m.Value), "&&&", m.Mask.String())
	case Range:
		return fmt.Sprint(f.show(m.Value), "..", f.show(m.Mask))
	}
	return f.show(m.Value)
}

// show returns the value in the field's format.
func (f FieldInfo) show(v Value) any {
	switch f.Format {
	case FormatIPv6:
		if a, ok := v.Addr6(); ok {
			return a.String()
		}
	case FormatMAC:
		if m, ok := v.MAC(); ok {
			return net.HardwareAddr(m[:]).String()
		}
	}
	if n, ok := v.Uint64(); ok {
		return n
	}
	return v.String()
}
