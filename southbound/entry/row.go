package entry

import (
	"slices"
	"strings"
)

// Row is a table row in the configuration of a switch without a P4 program, such as CONFIG_DB of
// SONiC.
type Row struct {
	Table string
	Name  string // the key of the row
	// Field is the name of the only cell when others own the rest of the row; "": the whole row.
	Field string
	Cells []Cell // ordered by name
}

// Cell is a field of a [Row].
type Cell struct {
	Name   string
	Values []string // one, but of a list
	List   bool
}

// RowOf returns a row with its cells in any order.
func RowOf(table, name string, cells ...Cell) Row {
	slices.SortFunc(cells, func(a, b Cell) int { return strings.Compare(a.Name, b.Name) })
	return Row{Table: table, Name: name, Cells: cells}
}

// CellOf returns a cell with one value.
func CellOf(name, value string) Cell { return Cell{Name: name, Values: []string{value}} }

// Parts returns a row of one cell for each cell of r.
func (r Row) Parts() (out []Row) {
	for i := range r.Cells {
		out = append(out, Row{Table: r.Table, Name: r.Name, Field: r.Cells[i].Name,
			Cells: r.Cells[i : i+1 : i+1]})
	}
	return out
}

// Kind is [KindRow].
func (Row) Kind() Kind { return KindRow }

// Key is made of table, name and field.
func (r Row) Key() Key {
	k := r.Table + "|" + r.Name
	if r.Field != "" {
		k += "#" + r.Field
	}
	return Key(k)
}

func (r Row) String() string {
	b := append([]byte(r.Key()), " -> "...)
	for i, c := range r.Cells {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, c.Name...)
		b = append(b, '=')
		b = append(b, strings.Join(c.Values, " ")...)
	}
	return string(b)
}

func (r Row) equal(o Entity) bool {
	u, ok := o.(Row)
	return ok && slices.EqualFunc(r.Cells, u.Cells, func(a, b Cell) bool {
		return a.Name == b.Name && a.List == b.List && slices.Equal(a.Values, b.Values)
	})
}
