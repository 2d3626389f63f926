package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
)

func jobTable(w io.Writer, jobs []api.Job) error {
	g := newGrid("NAME", "PHASE", "RANKS", "RACKS", "PAIRS", "READY", "BLOCKERS", "LEFT", "PRIORITY",
		"ENDS")
	for i := range jobs {
		j := &jobs[i]
		s := &j.Status
		end := ""
		if !s.Ends.IsZero() {
			end = clockTime(s.Ends)
		}
		g.row(j.Name, s.Phase, s.Ranks, s.Follows.Racks, s.Follows.Pairs,
			conditionCell(s.Conditions, api.Ready), s.Blockers, shareText(s.Left), j.Spec.Priority, end)
	}
	return g.writeTo(w)
}

// shareText returns a share of 1 in per cent, "" for an unknown share.
func shareText(share *float64) string {
	if share == nil {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100**share)
}

func jobDetail(w io.Writer, j *api.Job) error {
	if err := jobTable(w, []api.Job{*j}); err != nil {
		return err
	}
	f := &j.Status.Follows
	if _, err := fmt.Fprintf(w, "\ncommunicators: %d; pairs that talk: %d of NICs, %d of racks; "+
		"peers of a NIC: it sends to %s and receives from %s\n", f.Communicators, f.Pairs, f.RackPairs,
		peersText(f.SendPeers), peersText(f.ReceivePeers)); err != nil {
		return err
	}
	if err := conditionTable(w, j.Status.Conditions); err != nil || len(j.Status.Groups) == 0 {
		return err
	}
	g := newGrid("COMMUNICATOR", "SOURCE", "RECEIVERS", "GROUP", "STATE", "WHY")
	for i := range j.Status.Groups {
		m := &j.Status.Groups[i]
		g.row(m.Communicator, fmt.Sprintf("rank %d", m.Source), m.Receivers, m.Group, m.State, m.Why)
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return g.writeTo(w)
}

func peersText(p api.JobPeers) string {
	if p.Least == p.Most {
		return fmt.Sprint(p.Most)
	}
	return fmt.Sprintf("%d to %d", p.Least, p.Most)
}

// readinessTable shows whether the fabric is ready for a job, and what is in the way.
func readinessTable(w io.Writer, r *api.JobReadiness) error {
	word := "NO-GO"
	if r.Go {
		word = "GO"
	}
	if share := shareText(r.Left); share != "" {
		word += ", " + share + " of the paths of every pair of racks are left, or more"
	}
	if _, err := fmt.Fprintf(w, "%s: %s\n\n", inLine(r.Name), word); err != nil {
		return err
	}
	checks := newGrid("CHECK", "GOOD", "OF")
	for _, c := range r.Checks {
		checks.row(c.Name, c.Good, c.Of)
	}
	if err := checks.writeTo(w); err != nil || len(r.Blockers) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	g := newGrid("BLOCKER", "STATE", "RANKS", "SINCE", "WHY", "WANT")
	for i := range r.Blockers {
		b := &r.Blockers[i]
		g.row(strings.TrimSpace(b.Kind+" "+cmp.Or(b.Name, b.Object)), b.State, b.Ranks,
			r.At.Sub(b.Since).Round(time.Second), b.Why, b.Want)
	}
	return g.writeTo(w)
}
