package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound/causes"
)

// causeTable writes each cause as a paragraph: its columns are sentences.
func causeTable(w io.Writer, all []api.Cause) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "All is well.")
		return err
	}
	for i := range all {
		c := &all[i]
		since := ""
		if !c.Since.IsZero() {
			since = ", since " + clockTime(c.Since)
		}
		if s := c.Silence; s != nil {
			since += fmt.Sprintf(", silent until %s by silence %s", windowTime(s.Spec.Until), s.Name)
			if s.Status.By != "" {
				since += " of " + s.Status.By
			}
		}
		lines := []string{inLine(fmt.Sprintf("%s: %s%s", c.Severity, c.What, since))}
		for _, line := range []struct{ title, text string }{
			{"known", c.Detail}, {"means", c.Means}, {"concerns", concerned(c.Counts)},
			{"hurts", hurt(c.Jobs)}, {"changed", changed(c.Change)}, {"to do", c.Todo},
		} {
			if line.text != "" {
				lines = append(lines, fmt.Sprintf("  %-9s %s", line.title, inLine(line.text)))
			}
		}
		if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}

func silenceTable(w io.Writer, all []api.Silence) error {
	g := newGrid("NAME", "UNTIL", "BY", "CAUSE", "NOTE")
	for i := range all {
		s := &all[i]
		g.row(s.Name, windowTime(s.Spec.Until), cmp.Or(s.Status.By, "-"), s.Spec.Cause, s.Spec.Note)
	}
	return g.writeTo(w)
}

// changed writes who has made a cause, by which write.
func changed(c *api.CauseChange) string {
	if c == nil || c.By == "" {
		return ""
	}
	return fmt.Sprintf("%s by %s at %s", c.Object, c.By, clockTime(c.At))
}

// concerned writes how many things a cause concerns.
func concerned(counts []api.CauseCount) string {
	out := make([]string, 0, len(counts))
	for _, c := range counts {
		out = append(out, causes.Count(c.Count, c.Kind))
	}
	return strings.Join(out, ", ")
}

// hurt writes which jobs a cause hurts.
func hurt(jobs *api.CauseJobs) string {
	if jobs == nil {
		return ""
	}
	text := strings.Join(jobs.Names, ", ")
	if more := jobs.Count - len(jobs.Names); more > 0 {
		text += " and " + causes.Count(more, "more")
	}
	return causes.Count(jobs.Count, "job") + ": " + text
}
