package sonic

import (
	"encoding/json"
	"strings"
)

// A Document is a part of CONFIG_DB: tables in order.
type Document []Table

// A Table is a table of CONFIG_DB, with rows in order.
type Table struct {
	Name string
	Rows []Row
}

// A Row is a row of a table.
type Row struct {
	Key    string
	Fields []Field
}

// A Field is a field of a row: a value, or the values of a leaf-list.
type Field struct {
	Name  string
	Value string
	List  []string // not nil: the field is a leaf-list
}

// AppendJSON appends the document in the form of config_db.json.
func (d Document) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, t := range d {
		b = separate(b, i, "\n  ")
		b = append(appendString(b, t.Name), ": {"...)
		for j, r := range t.Rows {
			b = separate(b, j, "\n    ")
			b = append(appendString(b, r.Key), ": {"...)
			for k, f := range r.Fields {
				b = separate(b, k, "")
				if k > 0 {
					b = append(b, ' ')
				}
				b = append(appendString(b, f.Name), ": "...)
				b = f.appendValue(b)
			}
			b = append(b, '}')
		}
		b = append(b, "\n  }"...)
	}
	return append(b, "\n}\n"...)
}

func separate(b []byte, i int, line string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(b, line...)
}

func (f *Field) appendValue(b []byte) []byte {
	if f.List == nil {
		return appendString(b, f.Value)
	}
	b = append(b, '[')
	for i, v := range f.List {
		b = separate(b, i, "")
		b = appendString(b, v)
	}
	return append(b, ']')
}

// appendString appends a JSON string; most need no escapes.
func appendString(b []byte, s string) []byte {
	if strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7f || r == '"' || r == '\\' || r == '<' || r == '>' || r == '&'
	}) {
		quoted, err := json.Marshal(s)
		if err != nil { // never: it is a string
			return append(b, `""`...)
		}
		return append(b, quoted...)
	}
	return append(append(append(b, '"'), s...), '"')
}
