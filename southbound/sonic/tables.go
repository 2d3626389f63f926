package sonic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/southbound/entry"
)

// tables lists the tables of CONFIG_DB that Weft writes. Rows of shared tables have cells of
// several owners: each cell is then an entity, and Weft leaves foreign cells alone.
var tables = map[string]struct{ shared bool }{
	"BUFFER_PROFILE":   {},
	"BUFFER_QUEUE":     {shared: true},
	"DSCP_TO_TC_MAP":   {},
	"INTERFACE":        {shared: true},
	"PORT_QOS_MAP":     {shared: true},
	"QUEUE":            {shared: true},
	"SCHEDULER":        {},
	"SRV6_MY_LOCATORS": {},
	tableSIDs:          {},
	tableRoutes:        {},
	"SWITCH_HASH":      {shared: true},
	tableTrimming:      {shared: true},
	"TC_TO_DSCP_MAP":   {},
	"TC_TO_QUEUE_MAP":  {},
	"WRED_PROFILE":     {},
}

// Tables with a meaning here.
const (
	tableSIDs     = "SRV6_MY_SIDS"
	tableRoutes   = "STATIC_ROUTE"
	tableTrimming = "SWITCH_TRIMMING"
)

// Rows returns the entities of a row: the row itself, or an entity for each of its cells if the
// rest of the row belongs to others. For a table that this package does not write, Rows returns
// nothing.
func Rows(r entry.Row) []entry.Row {
	t, known := tables[r.Table]
	switch {
	case !known:
		return nil
	case t.shared:
		return r.Parts()
	}
	return []entry.Row{r}
}

// database maps table, row and field of a switch database, as in JSON. A field is a string or a
// list of strings.
type database map[string]map[string]map[string]any

// rows returns the entities of the tables that Weft writes, ordered by table and name.
func (d database) rows() (out []entry.Row) {
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		for _, name := range slices.Sorted(maps.Keys(d[table])) {
			out = append(out, Rows(rowOf(table, name, d[table][name]))...)
		}
	}
	return out
}

func rowOf(table, name string, fields map[string]any) entry.Row {
	cells := make([]entry.Cell, 0, len(fields))
	for field, v := range fields {
		if field == "NULL" {
			continue // how redis keeps a row without fields
		}
		switch v := v.(type) {
		case []any:
			c := entry.Cell{Name: field, List: true, Values: []string{}}
			for _, x := range v {
				c.Values = append(c.Values, fmt.Sprint(x))
			}
			cells = append(cells, c)
		default:
			cells = append(cells, entry.CellOf(field, fmt.Sprint(v)))
		}
	}
	return entry.RowOf(table, name, cells...)
}

// holds reports whether the database has the content of a row.
func (d database) holds(r entry.Row) bool {
	fields, there := d[r.Table][r.Name]
	if !there {
		return false
	}
	has := rowOf(r.Table, r.Name, fields)
	if r.Field == "" {
		return entry.SameContent(has, r)
	}
	i := slices.IndexFunc(has.Cells, func(c entry.Cell) bool { return c.Name == r.Field })
	return i >= 0 && entry.SameContent(entry.Row{Cells: has.Cells[i : i+1]}, entry.Row{Cells: r.Cells})
}

// has reports whether the database has anything under the key of a row.
func (d database) has(r entry.Row) bool {
	fields, there := d[r.Table][r.Name]
	if there && r.Field != "" {
		_, there = fields[r.Field]
	}
	return there
}

// after returns the tables that some of the updates change, with those updates applied. Both
// databases share the unchanged rows.
func (d database) after(all []entry.Update, some []int) database {
	out := make(database)
	for _, i := range some {
		r := all[i].Entity.(entry.Row)
		if out[r.Table] == nil {
			out[r.Table] = make(map[string]map[string]any)
			maps.Copy(out[r.Table], d[r.Table])
		}
		rows, gone := out[r.Table], all[i].Type == entry.Delete
		switch {
		case gone && !d.has(r), !gone && d.holds(r):
			continue
		case gone && r.Field == "":
			delete(rows, r.Name)
			continue
		case r.Field == "":
			rows[r.Name] = object(&r)
			continue
		}
		fields := make(map[string]any)
		maps.Copy(fields, rows[r.Name])
		if rows[r.Name] = fields; !gone {
			fields[r.Field] = value(&r.Cells[0])
		} else if delete(fields, r.Field); len(fields) == 0 {
			delete(rows, r.Name)
		}
	}
	return out
}

// value returns a cell as JSON.
func value(c *entry.Cell) any {
	if c.List {
		return c.Values
	}
	if len(c.Values) == 0 {
		return ""
	}
	return c.Values[0]
}

// object returns a row as JSON has it.
func object(r *entry.Row) map[string]any {
	out := make(map[string]any, len(r.Cells))
	for i := range r.Cells {
		out[r.Cells[i].Name] = value(&r.Cells[i])
	}
	return out
}

func decode[T any](text []byte) (out T, err error) {
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("the switch answers no JSON object of the form that is asked for: %w", err)
	}
	return out, nil
}

// sidKey returns the key of APPL_DB's SRV6_MY_SID_TABLE without the lengths before the address:
// "32:16:0:0:fcbb:bbbb:20::" is fcbb:bbbb:20::.
func sidKey(key string) string {
	parts := strings.SplitN(key, ":", 5)
	return parts[len(parts)-1]
}
