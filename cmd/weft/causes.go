package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound/causes"
)

// causeTable writes each cause as a paragraph: its columns are sentences.
func causeTable(w *bytes.Buffer, all []api.Cause) {
	if len(all) == 0 {
		fmt.Fprintln(w, "All is well.")
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
		fmt.Fprintln(w, strings.Join(lines, "\n"))
	}
}

// repairTable writes a row for each repair.
func repairTable(w *bytes.Buffer, all []api.Cause) {
	g := newGrid("PART", "NAME", "SINCE", "IN USE", "HOSTS", "JOBS", "EVIDENCE")
	for i := range all {
		c := &all[i]
		r := c.Repair
		g.row(r.Part, r.Name, clockTime(c.Since), yesNo(!r.Denied), len(r.Hosts), jobsOf(c),
			strings.Join(r.Evidence, " "))
	}
	g.writeTo(w)
}

// repairCSV writes a record for each repair, with the names of hosts and jobs.
func repairCSV(w *bytes.Buffer, all []api.Cause) {
	out := csv.NewWriter(w)
	out.Write([]string{"id", "part", "name", "object", "severity", "since", "inUse", "what",
		"evidence", "hosts", "jobs"})
	for i := range all {
		c := &all[i]
		r, since := c.Repair, ""
		if !c.Since.IsZero() {
			since = c.Since.UTC().Format(time.RFC3339)
		}
		out.Write([]string{c.ID, r.Part, r.Name, c.Object, string(c.Severity), since,
			strconv.FormatBool(!r.Denied), c.What, strings.Join(r.Evidence, " "),
			strings.Join(r.Hosts, " "), jobsOf(c)})
	}
	out.Flush()
}

// jobsOf names the jobs that a cause hurts; "": none.
func jobsOf(c *api.Cause) string {
	if c.Jobs == nil {
		return ""
	}
	names := strings.Join(c.Jobs.Names, " ")
	if more := c.Jobs.Count - len(c.Jobs.Names); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

func silenceTable(w *bytes.Buffer, all []api.Silence) {
	g := newGrid("NAME", "UNTIL", "BY", "CAUSE", "NOTE")
	for i := range all {
		s := &all[i]
		g.row(s.Name, windowTime(s.Spec.Until), cmp.Or(s.Status.By, "-"), s.Spec.Cause, s.Spec.Note)
	}
	g.writeTo(w)
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
