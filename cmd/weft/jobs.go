package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
)

func jobTable(w *bytes.Buffer, jobs []api.Job) {
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
	g.writeTo(w)
}

// shareText returns a share of 1 in per cent, "" for an unknown share.
func shareText(share *float64) string {
	if share == nil {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100**share)
}

func jobDetail(w *bytes.Buffer, j *api.Job) {
	jobTable(w, []api.Job{*j})
	f := &j.Status.Follows
	fmt.Fprintf(w, "\ncommunicators: %d; pairs that talk: %d of NICs, %d of racks; "+
		"peers of a NIC: it sends to %s and receives from %s\n", f.Communicators, f.Pairs, f.RackPairs,
		peersText(f.SendPeers), peersText(f.ReceivePeers))
	conditionTable(w, j.Status.Conditions)
	if len(j.Status.Groups) == 0 {
		return
	}
	g := newGrid("COMMUNICATOR", "SOURCE", "RECEIVERS", "GROUP", "STATE", "WHY")
	for i := range j.Status.Groups {
		m := &j.Status.Groups[i]
		g.row(m.Communicator, fmt.Sprintf("rank %d", m.Source), m.Receivers, m.Group, m.State, m.Why)
	}
	fmt.Fprintln(w)
	g.writeTo(w)
}

func peersText(p api.JobPeers) string {
	if p.Least == p.Most {
		return fmt.Sprint(p.Most)
	}
	return fmt.Sprintf("%d to %d", p.Least, p.Most)
}

// readinessTable shows whether the fabric is ready for a job, and what is in the way.
func readinessTable(w *bytes.Buffer, r *api.JobReadiness) {
	word := "NO-GO"
	if r.Go {
		word = "GO"
	}
	if share := shareText(r.Left); share != "" {
		word += ", " + share + " of the paths of every pair of racks are left, or more"
	}
	fmt.Fprintf(w, "%s: %s\n\n", inLine(r.Name), word)
	checks := newGrid("CHECK", "GOOD", "OF")
	for _, c := range r.Checks {
		checks.row(c.Name, c.Good, c.Of)
	}
	checks.writeTo(w)
	if len(r.Blockers) == 0 {
		return
	}
	fmt.Fprintln(w)
	g := newGrid("BLOCKER", "STATE", "RANKS", "SINCE", "WHY", "WANT")
	for i := range r.Blockers {
		b := &r.Blockers[i]
		g.row(strings.TrimSpace(b.Kind+" "+cmp.Or(b.Name, b.Object)), b.State, b.Ranks,
			r.At.Sub(b.Since).Round(time.Second), b.Why, b.Want)
	}
	g.writeTo(w)
}
