package southbound

import (
	"fmt"
	"net"
	"strconv"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Typed is a named value in JSON's types: a uint64, or a string for addresses, prefixes, masks,
// ranges and numbers over 64 bits.
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

// Describe shows a table entry in the formats of the P4Info. An entry that does
// not fit the P4Info is an error that wraps ErrUnknownName or ErrMalformed.
func (s *Schema) Describe(e entry.Table) (Description, error) {
	t := s.tableNames[e.Name]
	if t == nil {
		return Description{}, fmt.Errorf("%w: table %q", ErrUnknownName, e.Name)
	}
	d := Description{Table: t.Name, Priority: e.Priority, Default: e.Default, Const: e.Const,
		Member: e.Member, Group: e.Group}
	if !e.Default {
		for _, f := range t.Fields {
			v := any("*")
			if m, given := e.Field(f.Name); given {
				v = f.showMatch(m)
			}
			d.Match = append(d.Match, Typed{Name: f.Name, Value: v})
		}
	}
	if e.Action.Name == "" {
		return d, nil
	}
	a := s.actionNames[e.Action.Name]
	if a == nil {
		return Description{}, fmt.Errorf("%w: action %q", ErrUnknownName, e.Action.Name)
	}
	d.Action = a.Name
	for _, f := range a.Params {
		v := e.Action.Arg(f.Name)
		if v == "" {
			return Description{}, fmt.Errorf("%w: action %s without argument %s", ErrMalformed, a.Name,
				f.Name)
		}
		d.Params = append(d.Params, Typed{Name: f.Name, Value: f.show(v)})
	}
	return d, nil
}

func (f FieldInfo) showMatch(m entry.Match) any {
	switch m.Kind {
	case entry.MatchLPM:
		return fmt.Sprint(f.show(m.Value), "/", strconv.Itoa(m.Bits))
	case entry.MatchTernary:
		return fmt.Sprint(f.show(m.Value), "&&&", m.Mask.String())
	case entry.MatchRange:
		return fmt.Sprint(f.show(m.Value), "..", f.show(m.Mask))
	}
	return f.show(m.Value)
}

// show returns the value in the field's format.
func (f FieldInfo) show(v entry.Value) any {
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
