package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Options choose how much text a record becomes.
type Options struct {
	// JSON has Write write a line of JSON instead of text.
	JSON bool
	// Verbose 0 leaves out what seldom matters: assignments that change
	// nothing, branches not taken, fields of headers. 1 has everything but the
	// compiler's temporaries, 2 has these too.
	Verbose int
	// Width is where lines are wrapped; default 120.
	Width int
}

// Write writes a record as JSON or as text for a person to read. The text says how the packet
// spread, then what happened to the packet and to each copy. For a copy that fared like an earlier
// packet, the text gives only the differences.
func Write(w io.Writer, r *Record, o Options) error {
	if o.JSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	if o.Width <= 0 {
		o.Width = 120
	}
	var b strings.Builder
	all := r.All()
	if len(all) > 1 {
		left := maxDrawn
		writeTree(&b, r, "", "", &left)
		if n := len(all) - maxDrawn; n > 0 {
			fmt.Fprintf(&b, "and %s made of these\n", several(n, "packet"))
		}
		b.WriteByte('\n')
	}
	t := texter{Options: o}
	told := map[string]section{} // the last of each shape
	for i := 0; i < len(all); i++ {
		if i > 0 {
			b.WriteByte('\n')
		}
		p := all[i]
		s := section{id: p.ID, lines: t.packet(p)}
		fmt.Fprintf(&b, "%s\n", headline(p))
		if like, ok := told[s.shape()]; !ok {
			t.write(&b, s.lines)
		} else if changed := difference(&like, &s); len(changed) > 0 {
			fmt.Fprintf(&b, "  as packet %d, but for\n", like.id)
			t.write(&b, changed)
		} else {
			fmt.Fprintf(&b, "  as packet %d\n", like.id)
			last := i
			for last+1 < len(all) && t.same(all[last+1], &s) {
				last++
			}
			if last > i {
				fmt.Fprintf(&b, "  and so %s more, up to packet %d\n", several(last-i, "packet"), all[last].ID)
				i = last
			}
		}
		if p.Cut {
			b.WriteString("  and more, which is not kept\n")
		}
		told[s.shape()] = s
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The tree shows so many packets, and does not move further to the right.
const (
	maxDrawn  = 64
	maxIndent = 24
)

// writeTree draws the packet and its copies, a line each, while left is above 0.
func writeTree(b *strings.Builder, r *Record, first, rest string, left *int) {
	if *left--; r == nil || *left < 0 {
		return
	}
	fmt.Fprintf(b, "%s%s\n", first, headline(r))
	for i, c := range r.Copies {
		if i == len(r.Copies)-1 && utf8.RuneCountInString(rest) >= maxIndent {
			writeTree(b, c, rest+"└─ ", rest, left)
		} else if i == len(r.Copies)-1 {
			writeTree(b, c, rest+"└─ ", rest+"   ", left)
		} else {
			writeTree(b, c, rest+"├─ ", rest+"│  ", left)
		}
	}
}

// same reports whether exactly the same happened to a packet as to the packet of s.
func (t *texter) same(r *Record, s *section) bool {
	o := section{lines: t.packet(r)}
	return o.shape() == s.shape() && len(difference(s, &o)) == 0
}

// headline reports where a packet came from and what became of it.
func headline(r *Record) string {
	s := fmt.Sprintf("packet %d", r.ID)
	switch r.Origin {
	case Received:
		s += fmt.Sprintf(" received on port %d, %s, at %v", r.Port, several(r.Length, "octet"), r.Time)
	case Replica:
		s += fmt.Sprintf(" replica of group %d for port %d, rid %d", r.Group, r.Port, r.Instance)
	case CloneIngress, CloneEgress:
		s += fmt.Sprintf(" clone of session %d for port %d", r.Session, r.Port)
		if r.Origin == CloneIngress {
			s += ", as received"
		}
	case Recirculated, Resubmitted:
		s += fmt.Sprintf(" %s, %s", r.Origin, several(r.Length, "octet"))
	}
	o := r.Outcome
	if o == nil {
		return s
	}
	s += " → " + string(o.Result)
	switch o.Result {
	case Transmitted:
		if o.Port != nil {
			s += fmt.Sprintf(" on port %d", *o.Port)
		}
		s += ", " + several(o.Length, "octet")
	case Dropped:
		s += " (" + o.Drop + "): " + o.Reason
		if o.Action != "" {
			s += ", by " + short(o.Action)
		}
		if o.At != nil {
			s += ", at " + o.At.String()
		}
	}
	return s
}

// String is "file:line".
func (s *Source) String() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// line is one line of text. Packets with equal histories have equal kinds of lines in equal order.
type line struct {
	at     string // where, in the first column
	indent int
	text   string
	kind   string
}

type section struct {
	id    ID
	lines []line
	kinds string
}

func (s *section) shape() string {
	if s.kinds == "" {
		var b strings.Builder
		for _, l := range s.lines {
			b.WriteString(l.kind)
			b.WriteByte('\n')
		}
		s.kinds = b.String()
	}
	return s.kinds
}

// texter turns steps into lines.
type texter struct {
	Options
	lines []line
	made  *Source // of the action being told, if the compiler made it
}

func (t *texter) packet(r *Record) []line {
	t.lines = nil
	t.steps(r.Steps, 0)
	return t.lines
}

func (t *texter) add(at *Source, indent int, kind, format string, args ...any) {
	where := ""
	if at != nil {
		where = fmt.Sprintf("%s:%d", at.File[strings.LastIndexByte(at.File, '/')+1:], at.Line)
	}
	t.lines = append(t.lines, line{at: where, indent: indent, kind: kind + " " + where,
		text: fmt.Sprintf(format, args...)})
}

// write writes lines. It writes a stage with known places in the program in two columns.
func (t *texter) write(b *strings.Builder, lines []line) {
	column := 0
	for _, l := range lines {
		column = max(column, len(l.at))
	}
	placed := false
	for i, l := range lines {
		if l.indent == 0 {
			placed = false
			for _, o := range lines[i+1:] {
				if o.indent == 0 {
					break
				}
				placed = placed || o.at != ""
			}
		}
		left := "  " + strings.Repeat("  ", l.indent)
		if placed && l.indent > 0 {
			left = fmt.Sprintf("    %-*s  %s", column, l.at, strings.Repeat("  ", l.indent-1))
		}
		for i, s := range wrap(l.text, t.Width-utf8.RuneCountInString(left)) {
			if i > 0 {
				left = strings.Repeat(" ", utf8.RuneCountInString(left))
				s = "  " + s
			}
			s = strings.ReplaceAll(left+s, noBreak, " ")
			fmt.Fprintf(b, "%s\n", strings.TrimRight(s, " "))
		}
	}
}

// noBreak is a space at which no line is broken.
const noBreak = "\u00a0"

// wrap breaks a text at spaces into pieces of at most n characters where it can.
func wrap(s string, n int) []string {
	n = max(n, 40)
	var out []string
	for utf8.RuneCountInString(s) > n {
		cut, seen := -1, 0
		for i, r := range s {
			if r == ' ' && i > 0 && (cut < 0 || seen <= n) {
				cut = i
			}
			seen++
		}
		if cut < 0 {
			break
		}
		out = append(out, s[:cut])
		s = s[cut+1:]
		if len(out) == 1 {
			n -= 2 // later pieces are indented
		}
	}
	return append(out, s)
}

// difference returns the lines in s that differ from the packet like, whose shape is equal, each
// below the line's heading.
func difference(like, s *section) []line {
	var changed []line
	heading := -1
	for i, l := range s.lines {
		if l.indent == 0 {
			heading = i
		}
		if l.text == like.lines[i].text {
			continue
		}
		if heading >= 0 && heading != i {
			changed = append(changed, s.lines[heading])
		}
		heading = -1
		changed = append(changed, l)
	}
	return changed
}

// short is the last part of a qualified name.
func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// pretty makes a field's name more like the name in the source: the compiler puts local variables
// and the program's metadata into one header of scalars. For a struct in the metadata, the compiler
// numbers all fields and puts the name of the enclosing struct in front: _drop_reason5.
func pretty(name string) string {
	rest, scalar := strings.CutPrefix(name, "scalars.")
	if _, field, ok := strings.Cut(rest, "."); scalar && ok {
		if plain, numbered := strings.CutPrefix(field, "_"); numbered {
			field = strings.TrimRight(plain, "0123456789")
		}
		rest = "meta." + field
	}
	return strings.Replace(rest, ".$valid$", ".isValid()", 1)
}

// assigned returns the name of an assigned field in the source, if the statement shows the name.
func assigned(field string, at *Source) string {
	name := pretty(field)
	if at == nil {
		return name
	}
	left, _, ok := strings.Cut(at.Text, " = ")
	if !ok || strings.ContainsAny(left, " (") || !strings.HasSuffix(name, short(left)) {
		return name
	}
	return left
}

// remark is the comment that stands behind a constant in the source.
func remark(at *Source) string {
	if at == nil {
		return ""
	}
	_, s, ok := strings.Cut(at.Text, "// ")
	if !ok {
		return ""
	}
	s, _, _ = strings.Cut(s, "\n")
	return " (" + strings.TrimSuffix(strings.TrimSpace(s), " ...") + ")"
}

// several is a number of things.
func several[N int | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func fieldText(f Field) string {
	s := pretty(f.Name)
	if s != "" {
		s += "="
	}
	return s + octetsText(f.Name, f.Value, f.Octets)
}

// octetsText is a value, that of a variable-length field cut short.
func octetsText(name string, v Value, octets int) string {
	if octets == 0 {
		return v.readable(name)
	}
	const shown = 2 + 2*8
	if len(v) > shown {
		v = v[:shown] + "…"
	}
	return fmt.Sprintf("%s (%s)", v, several(octets, "octet"))
}

func fieldsText(fs []Field, sep string) string {
	var s []string
	for _, f := range fs {
		s = append(s, fieldText(f))
	}
	return strings.Join(s, sep)
}
