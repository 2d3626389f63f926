package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
)

func maintenanceTable(w *bytes.Buffer, all []api.Maintenance) {
	g := newGrid("NAME", "PHASE", "OBJECTS", "DRAINS", "FROM", "UNTIL", "PRIORITY", "JOBS", "DRAINED")
	for i := range all {
		m := &all[i]
		g.row(m.Name, m.Status.Phase, len(m.Spec.Objects), windowTime(m.Status.Drains),
			windowTime(m.Spec.From), windowTime(m.Spec.Until), m.Spec.Priority, len(m.Status.Jobs),
			conditionCell(m.Status.Conditions, api.Programmed))
	}
	g.writeTo(w)
}

func windowTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func maintenanceDetail(w *bytes.Buffer, m *api.Maintenance) {
	maintenanceTable(w, []api.Maintenance{*m})
	objects := newGrid("OBJECT", "DRAINED", "WHY")
	state := make(map[string]api.MaintenanceObjectState)
	for _, s := range m.Status.Objects {
		state[s.Object] = s
	}
	for _, o := range m.Spec.Objects {
		s := state[o.String()]
		objects.row(o.String(), s.Drained, s.Why)
	}
	jobs := newGrid("JOB", "PRIORITY", "RUNNING", "CUT OFF", "PAIRS THAT LOSE", "LEFT", "WORST PAIR")
	for i := range m.Status.Jobs {
		j := &m.Status.Jobs[i]
		worst := ""
		if len(j.Pairs) > 0 {
			p := &j.Pairs[0]
			worst = fmt.Sprintf("%s to %s: %d of %d paths", p.From, p.To, p.After, p.Before)
		}
		jobs.row(j.Name, j.Priority, j.Running, j.CutOff, j.Lose, shareText(&j.Left), worst)
	}
	tables := []*grid{objects}
	if len(m.Status.Jobs) > 0 {
		tables = append(tables, jobs)
	}
	for _, g := range tables {
		fmt.Fprintln(w)
		g.writeTo(w)
	}
	fmt.Fprintln(w)
	conditionTable(w, m.Status.Conditions)
}
