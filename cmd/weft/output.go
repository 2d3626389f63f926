package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/theory/jsonpath"

	"github.com/weft-sdn/weft/internal/printable"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// format is how a command writes its result. One that begins with formatPath has a JSONPath query
// (RFC 9535) behind it.
type format string

const (
	formatTable format = "table"
	formatWide  format = "wide"
	formatJSON  format = "json"
	formatYAML  format = "yaml"
	formatName  format = "name"
	formatPath  string = "jsonpath="
)

// String, Set and Type make a format a flag.
func (f *format) String() string { return string(*f) }

func (f *format) Set(s string) error {
	if query, ok := strings.CutPrefix(s, formatPath); ok {
		if _, err := parsePath(query); err != nil {
			return fmt.Errorf("want a JSONPath query, such as $.items[*].name: %w", err)
		}
		*f = format(s)
		return nil
	}
	switch format(s) {
	case formatTable, formatWide, formatJSON, formatYAML, formatName:
		*f = format(s)
		return nil
	}
	return errors.New("want table, wide, json, yaml, name or jsonpath=QUERY")
}

// forPeople reports whether it is a table, not a document for programs.
func (f format) forPeople() bool { return f == formatTable || f == formatWide }

func (f *format) Type() string { return "table|wide|json|yaml|name|jsonpath=QUERY" }

func (f *format) register(cmd *cobra.Command) {
	*f = formatTable
	cmd.PersistentFlags().VarP(f, "output", "o", "form of the output")
	flagValues(cmd, "output", values(string(formatTable), string(formatWide), string(formatJSON),
		string(formatYAML), string(formatName), formatPath))
}

// write writes a JSON document in a format; table does so for people.
func (f format) write(w io.Writer, document []byte, table func(w *bytes.Buffer) error) error {
	switch f {
	case formatJSON:
		var out bytes.Buffer
		if err := json.Indent(&out, document, "", "  "); err != nil {
			return err
		}
		out.WriteByte('\n')
		_, err := w.Write(bytes.ToValidUTF8(out.Bytes(), []byte("\uFFFD"))) // JSON has no other octets
		return err
	case formatYAML:
		out, err := strictyaml.FromJSON(document)
		if err != nil {
			return err
		}
		_, err = w.Write(out)
		return err
	case formatName:
		return writeNames(w, document)
	}
	if query, ok := strings.CutPrefix(string(f), formatPath); ok {
		return writeSelected(w, document, query)
	}
	return writeTable(w, table)
}

// writeTable writes a table whole, or nothing of it.
func writeTable(w io.Writer, table func(w *bytes.Buffer) error) error {
	var out bytes.Buffer
	if err := table(&out); err != nil {
		return err
	}
	_, err := out.WriteTo(w)
	return err
}

// sure gives a table that cannot fail the type of the others.
func sure(table func(w *bytes.Buffer)) func(w *bytes.Buffer) error {
	return func(w *bytes.Buffer) error {
		table(w)
		return nil
	}
}

// writeNext writes a JSON document that follows others: JSON in a line, YAML as a document.
func (f format) writeNext(w io.Writer, document []byte) error {
	switch f {
	case formatJSON:
		_, err := fmt.Fprintf(w, "%s\n", document)
		return err
	case formatYAML:
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return err
		}
	}
	return f.write(w, document, nil)
}

// writeNames writes the name of a resource, or all names in a list, one a line.
func writeNames(w io.Writer, document []byte) error {
	type named struct {
		Name *string `json:"name"`
	}
	var d struct {
		named
		Resource *named   `json:"resource"` // of describe
		Items    *[]named `json:"items"`
	}
	all := []named{}
	err := json.Unmarshal(document, &d)
	switch {
	case err != nil:
	case d.Items != nil:
		all = *d.Items
	case d.Resource != nil:
		all = append(all, *d.Resource)
	default:
		all = append(all, d.named)
	}
	for _, x := range all {
		if x.Name == nil {
			err = errors.New("no name")
		}
	}
	if err != nil {
		return usagef("-o name: want another output, since not all of what is shown has a name")
	}
	for _, x := range all {
		if _, err := fmt.Fprintln(w, inLine(*x.Name)); err != nil {
			return err
		}
	}
	return nil
}

// parsePath reads a JSONPath query, or one in braces and without $, as kubectl has it.
func parsePath(query string) (*jsonpath.Path, error) {
	if inner, ok := strings.CutPrefix(query, "{"); ok && strings.HasSuffix(inner, "}") {
		query = strings.TrimSuffix(inner, "}")
	}
	if strings.HasPrefix(query, ".") || strings.HasPrefix(query, "[") {
		query = "$" + query
	}
	return jsonpath.Parse(query)
}

// writeSelected writes the values that a JSONPath query selects from a document, one value per
// line: a string unquoted, any other value in JSON, numbers with all digits.
func writeSelected(w io.Writer, document []byte, query string) error {
	path, err := parsePath(query)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var of any
	if err := d.Decode(&of); err != nil {
		return err
	}
	for _, v := range path.Select(of) {
		if _, err := fmt.Fprintln(w, inLine(cell(v))); err != nil {
			return err
		}
	}
	return nil
}

// A grid is rows of cells in aligned columns.
type grid struct {
	out  bytes.Buffer
	tabs *tabwriter.Writer
}

func newGrid(heading ...string) *grid {
	g := &grid{}
	g.tabs = tabwriter.NewWriter(&g.out, 0, 8, 2, ' ', 0)
	if len(heading) > 0 {
		g.row(stringsToAny(heading)...)
	}
	return g
}

func stringsToAny(s []string) []any {
	out := make([]any, len(s))
	for i := range s {
		out[i] = s[i]
	}
	return out
}

// blank is a cell that stays empty, because the row has no value there.
const blank = " "

// flat replaces what would break a row.
var flat = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ")

// inLine returns foreign text in a form that fits within a line.
func inLine(text string) string { return printable.Text(flat.Replace(text)) }

// row adds a row. Unknown values show as "-".
func (g *grid) row(cells ...any) {
	for i, c := range cells {
		text := inLine(fmt.Sprint(c))
		if text == "" || text == "invalid IP" || text == "invalid Prefix" {
			text = "-"
		}
		if i > 0 {
			io.WriteString(g.tabs, "\t") // into memory: cannot fail
		}
		io.WriteString(g.tabs, text)
	}
	io.WriteString(g.tabs, "\n")
}

// writeTo writes the rows, without blanks at the ends of lines.
func (g *grid) writeTo(w *bytes.Buffer) {
	g.tabs.Flush()
	for line := range bytes.Lines(g.out.Bytes()) {
		w.Write(append(bytes.TrimRight(line, " \n"), '\n'))
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// cell is a value of a table entry as text: numbers as they were written.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
