package trace

import (
	"fmt"
	"strings"
)

// steps adds the lines of steps.
func (t *texter) steps(steps []Step, indent int) {
	for i := 0; i < len(steps); i++ {
		s := &steps[i]
		switch {
		case s.Assign != nil && t.Verbose == 0:
			i += t.assigns(steps[i:], indent) - 1
		case s.Queue != nil && i+1 < len(steps) && steps[i+1].Dequeue != nil:
			i++
			t.add(nil, 0, "queue",
				"queue: port %d, priority %d, behind %s; left after %v, with %s behind it",
				s.Queue.Port, s.Queue.Priority, several(s.Queue.Depth, "packet"), steps[i].Dequeue.Waited,
				several(steps[i].Dequeue.Depth, "packet"))
		case s.Stage != nil && s.Stage.Name == "parser" && t.Verbose == 0:
			t.parser(s.Steps)
		case s.Stage != nil && len(s.Steps) == 1 && s.Steps[0].Deparse != nil:
			t.add(nil, 0, "deparser", "deparser: %s", deparseText(s.Steps[0].Deparse))
		default:
			t.step(s, indent)
		}
	}
}

// assigns adds the assignments steps begin with, several in a line, and returns
// how many they are.
func (t *texter) assigns(steps []Step, indent int) int {
	n := 0
	var first *Source
	var kinds, texts []string
	for ; n < len(steps) && steps[n].Assign != nil; n++ {
		a := steps[n].Assign
		if a.Temporary || a.Value == a.Old {
			continue
		}
		if first == nil {
			first = t.statement(steps[n].At)
		}
		kinds = append(kinds, a.Field)
		texts = append(texts, assignText(a, steps[n].At))
	}
	if len(texts) > 0 {
		t.add(first, indent, "assign "+strings.Join(kinds, " "), "%s", strings.Join(texts, ", "))
	}
	return n
}

// statement returns the place of a statement. For the assignment of a named constant, the compiler
// gives the place of the constant.
func (t *texter) statement(at *Source) *Source {
	if at != nil && t.made != nil && at.File != t.made.File && !strings.Contains(at.Text, " = ") {
		return t.made
	}
	return at
}

func assignText(a *Assign, at *Source) string {
	return fmt.Sprintf("%s"+noBreak+":="+noBreak+"%s%s", assigned(a.Field, at),
		octetsText(a.Field, a.Value, a.Octets), remark(at))
}

// parser adds what a parser did, as a path.
func (t *texter) parser(states []Step) {
	t.add(nil, 0, "parser", "parser")
	var path []string
	failed := ""
	octets := 0
	for i := range states {
		if states[i].State == nil {
			continue
		}
		name := states[i].State.Name
		var took []string
		for _, s := range states[i].Steps {
			switch {
			case s.Extract != nil:
				took = append(took, fmt.Sprintf("%s %d", s.Extract.Header, s.Extract.Octets))
				octets = s.Extract.Offset + s.Extract.Octets
			case s.Advance != nil:
				took = append(took, fmt.Sprintf("skip %d", s.Advance.Octets))
				octets += s.Advance.Octets
			case s.ParserError != nil:
				failed = fmt.Sprintf("error.%s in %s after %s", s.ParserError.Name, name,
					several(octets, "octet"))
			}
		}
		if len(took) > 0 {
			name += noBreak + "[" + strings.ReplaceAll(strings.Join(took, ", "), " ", noBreak) + "]"
		}
		path = append(path, name)
	}
	if failed == "" {
		path = append(path, "accept")
	}
	t.add(nil, 1, "path "+strings.Join(path, " "), "%s", strings.Join(path, " →"+noBreak))
	if failed != "" {
		t.add(nil, 1, "parser error", "%s", failed)
	}
	for i := range states {
		if states[i].State == nil {
			t.step(&states[i], 1)
		}
		for j := range states[i].Steps {
			if s := &states[i].Steps[j]; s.Checksum != nil {
				t.step(s, 1)
			}
		}
	}
}

func deparseText(d *Deparse) string {
	var parts []string
	for _, h := range d.Headers {
		parts = append(parts, fmt.Sprintf("%s %d", h.Name, h.Octets))
	}
	if d.Payload > 0 {
		parts = append(parts, fmt.Sprintf("payload %d", d.Payload))
	}
	return fmt.Sprintf("%s: %s", strings.Join(parts, ", "), several(d.Length, "octet"))
}

// step adds the lines of one step and of those inside it.
func (t *texter) step(s *Step, indent int) {
	add := func(kind, format string, args ...any) { t.add(s.At, indent, kind, format, args...) }
	switch {
	case s.Stage != nil:
		t.add(nil, 0, s.Stage.Name, "%s", s.Stage.Name)
		indent = 0
	case s.State != nil:
		add("state "+s.State.Name, "%s  at octet %d", s.State.Name, s.State.Offset)
	case s.Extract != nil:
		add("extract", "extract %s, %s: %s", s.Extract.Header, several(s.Extract.Octets, "octet"),
			fieldsText(s.Extract.Fields, " "))
	case s.Advance != nil:
		add("advance", "skip %s", several(s.Advance.Octets, "octet"))
	case s.Verify != nil:
		t.verify(s, indent)
	case s.Select != nil:
		add("select", "%s", selectText(s.Select))
	case s.ParserError != nil:
		add("parser error", "error.%s", s.ParserError.Name)
	case s.Condition != nil:
		t.condition(s, indent)
	case s.Table != nil:
		t.table(s, indent)
	case s.Action != nil:
		if t.made = nil; s.Action.Made {
			t.made = s.At
		}
		if s.Action.Made && t.Verbose < 2 {
			indent-- // what it does stands for itself
			break
		}
		add("action "+s.Action.Name, "→ %s(%s)", short(s.Action.Name), fieldsText(s.Action.Args, ", "))
	case s.Assign != nil:
		if !s.Assign.Temporary || t.Verbose > 1 {
			t.add(t.statement(s.At), indent, "assign "+s.Assign.Field, "%s (was %s)",
				assignText(s.Assign, s.At), octetsText(s.Assign.Field, s.Assign.Old, s.Assign.Octets))
		}
	case s.Header != nil:
		add("header "+s.Header.Name, "%s", headerText(s.Header))
	case s.Stack != nil:
		add("stack "+s.Stack.Name, "%s_front %s by %d", s.Stack.Op, s.Stack.Name, s.Stack.Count)
	case s.RegisterRead != nil, s.RegisterWrite != nil, s.Counter != nil, s.Meter != nil:
		t.state(s, indent)
	case s.Hash != nil:
		if h := s.Hash; h.Algorithm != "" {
			add("hash", "%s := %s, by %s", pretty(h.Into), h.Value, h.Algorithm)
		} else {
			add("hash", "%s := %s, by a hash", pretty(h.Into), h.Value)
		}
	case s.Checksum != nil:
		add("checksum "+s.Checksum.Field, "%s", checksumText(s.Checksum))
	case s.Log != nil:
		add("log", "log: %s", s.Log.Message)
	case s.Assert != nil:
		if t.Verbose > 0 || !s.Assert.OK {
			add("assert", "%s: %s", sourceText(s.At, s.Assert.Op), map[bool]string{true: "holds",
				false: "FAILS"}[s.Assert.OK])
		}
	case s.Request != nil:
		add("request "+s.Request.What, "%s", requestText(s.Request))
	case s.Primitive != nil:
		add("primitive "+s.Primitive.Op, "%s", sourceText(s.At, s.Primitive.Op))
	case s.Digest != nil:
		add("digest", "digest %s: %s", s.Digest.Name, fieldsText(s.Digest.Fields, ", "))
	case s.Queue != nil:
		add("queue", "queue: port %d, priority %d, behind %s", s.Queue.Port, s.Queue.Priority,
			several(s.Queue.Depth, "packet"))
	case s.Dequeue != nil:
		add("dequeue", "queue: left after %v, with %s behind it", s.Dequeue.Waited,
			several(s.Dequeue.Depth, "packet"))
	case s.Replicate != nil:
		add("replicate", "%s", replicateText(s.Replicate))
	case s.Deparse != nil:
		add("deparse", "%s", deparseText(s.Deparse))
	case s.Note != nil:
		add("note", "note: %s", s.Note.Text)
	}
	t.steps(s.Steps, indent+1)
}

// sourceText is what stands in the source, or something in its place.
func sourceText(at *Source, otherwise string) string {
	if at == nil || at.Text == "" {
		return otherwise
	}
	return at.Text
}

func (t *texter) verify(s *Step, indent int) {
	v := s.Verify
	text := "verify: holds"
	if !v.OK {
		text = "verify: error." + v.Error
	}
	if len(v.Reads) > 0 {
		text += "  [" + fieldsText(v.Reads, " ") + "]"
	}
	t.add(s.At, indent, "verify", "%s", text)
}

func selectText(s *Select) string {
	text := "→ " + s.State
	if s.Case == "" {
		return text
	}
	return fmt.Sprintf("select %s: %s %s", fieldsText(s.Key, " "), s.Case, text)
}

func (t *texter) condition(s *Step, indent int) {
	c := s.Condition
	if !c.Result && t.Verbose == 0 {
		return
	}
	text := "if " + sourceText(s.At, c.Name)
	if t.Verbose > 0 {
		text += ": " + map[bool]string{true: "yes", false: "no"}[c.Result]
	}
	var reads []Field
	for _, f := range c.Reads {
		if !strings.HasSuffix(f.Name, ".$valid$") {
			reads = append(reads, f)
		}
	}
	if t.Verbose > 0 {
		reads = c.Reads
	}
	if len(reads) > 0 {
		text += "  [" + fieldsText(reads, " ") + "]"
	}
	t.add(s.At, indent, fmt.Sprint("if ", c.Name, c.Result), "%s", text)
}

func (t *texter) table(s *Step, indent int) {
	tb := s.Table
	var keys, entry []string
	for _, k := range tb.Key {
		keys = append(keys, fmt.Sprintf("%s=%s", pretty(k.Name), k.Value.readable(k.Name)))
		if k.Entry != nil && (k.Match != "exact" || t.Verbose > 0) {
			entry = append(entry, fmt.Sprintf("%s=%s", pretty(k.Name), k.Entry.readable(k.Name)))
		}
	}
	text := "table " + short(tb.Name)
	if len(keys) > 0 {
		text += "  " + strings.Join(keys, " ") + "  "
		if tb.Hit {
			text += "hit"
		} else {
			text += "MISS"
		}
	}
	if len(entry) > 0 {
		text += " " + strings.Join(entry, " ")
	}
	if tb.Priority != 0 {
		text += fmt.Sprintf(" priority %d", tb.Priority)
	}
	if tb.Group != nil {
		text += fmt.Sprintf(", group %d", *tb.Group)
	}
	if tb.Member != nil {
		text += fmt.Sprintf(", member %d", *tb.Member)
	}
	if tb.NoAction {
		text += ": no action"
	}
	t.add(s.At, indent, fmt.Sprint("table ", tb.Name, tb.Hit), "%s", text)
}

func headerText(h *Header) string {
	switch {
	case h.From != "" && h.Valid:
		return fmt.Sprintf("header %s := %s", h.Name, h.From)
	case h.Valid:
		return fmt.Sprintf("header %s is valid", h.Name)
	}
	return fmt.Sprintf("header %s is not valid", h.Name)
}

// state adds the line of a register, counter or meter.
func (t *texter) state(s *Step, indent int) {
	index := func(i *uint64) string {
		if i == nil {
			return "" // of a table entry
		}
		return fmt.Sprintf("[%d]", *i)
	}
	outside := func(o bool) string {
		if o {
			return ": the index is out of range"
		}
		return ""
	}
	switch {
	case s.RegisterRead != nil:
		r := s.RegisterRead
		t.add(s.At, indent, "read "+r.Name, "%s := register %s[%d] = %s%s", pretty(r.Into), short(r.Name),
			r.Index, r.Value, outside(r.OutOfRange))
	case s.RegisterWrite != nil:
		r := s.RegisterWrite
		t.add(s.At, indent, "write "+r.Name, "register %s[%d] := %s (was %s)%s", short(r.Name), r.Index,
			r.Value, r.Old, outside(r.OutOfRange))
	case s.Counter != nil:
		c := s.Counter
		t.add(s.At, indent, "count "+c.Name, "counter %s%s: now %s, %s%s", short(c.Name), index(c.Index),
			several(c.Packets, "packet"), several(c.Octets, "octet"), outside(c.OutOfRange))
	case s.Meter != nil:
		m := s.Meter
		text := fmt.Sprintf("meter %s%s: %s%s", short(m.Name), index(m.Index), m.Color,
			outside(m.OutOfRange))
		if m.Unconfigured {
			text += " (not configured)"
		}
		t.add(s.At, indent, "meter "+m.Name, "%s", text)
	}
}

func checksumText(c *Checksum) string {
	switch {
	case c.Update:
		return fmt.Sprintf("checksum %s := %s (was %s)", pretty(c.Field), c.Value, c.Old)
	case c.OK:
		return fmt.Sprintf("checksum %s is %s, right", pretty(c.Field), c.Old)
	}
	return fmt.Sprintf("checksum %s is %s, WRONG: want %s", pretty(c.Field), c.Old, c.Value)
}

func requestText(r *Request) string {
	text := r.What
	if r.Session != nil {
		text += fmt.Sprintf(" to session %d", *r.Session)
	}
	if r.Octets != nil {
		text += " to " + several(*r.Octets, "octet")
	}
	if len(r.Keeps) > 0 {
		var names []string
		for _, k := range r.Keeps {
			names = append(names, pretty(k))
		}
		text += ", keeping " + strings.Join(names, " ")
	}
	return text
}

func replicateText(r *Replicate) string {
	text := "copies"
	switch {
	case r.Group != nil:
		text = fmt.Sprintf("multicast group %d", *r.Group)
	case r.Session != nil:
		text = fmt.Sprintf("clone session %d", *r.Session)
	}
	if r.Missing {
		return text + ": there is none"
	}
	if r.Copies == 1 {
		text += ": 1 copy"
	} else {
		text += fmt.Sprintf(": %d copies", r.Copies)
	}
	for _, p := range r.Down {
		text += fmt.Sprintf(", none for port %d, which is down", p)
	}
	return text
}
