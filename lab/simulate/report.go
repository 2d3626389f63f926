package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// us rounds a time for people.
func us(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

func (s *Scenario) title() string {
	hosts, switches := len(s.network.Hosts), len(s.network.Switches)
	what := s.Network
	if c := s.Clos; s.Network == "clos" {
		what = fmt.Sprintf("clos of %d planes, %d T0 and %d T1 each, %v links", c.Planes, c.T0, c.T1,
			c.Rate)
	}
	return fmt.Sprintf("%s: %d switches, %d hosts, mode %s, model %s, seed %d", what, switches, hosts,
		s.Mode, s.Model, s.Seed)
}

// name returns the links of a tier in words.
func (u *TierUse) name() string {
	if u.Tier < 0 {
		return "hosts"
	}
	return fmt.Sprintf("T%d upwards", u.Tier)
}

// tables returns the tables of a report for people: rows of cells. The first row has the heads.
func (r *Report) tables() (tables [][][]string) {
	var rows [][]string
	row := func(format string, args ...any) {
		rows = append(rows, strings.Split(fmt.Sprintf(format, args...), "\t"))
	}
	end := func() { tables, rows = append(tables, rows), nil }
	fluid := r.Scenario.Model == modelFlows
	if fluid {
		row("JOB\tRANKS\tSTEPS\tMEDIAN STEP\tLEAST\tBOUND BY")
	} else {
		row("JOB\tRANKS\tSTEPS\tMEDIAN STEP\tLEAST\tPACKETS\tRESENT\tTRIMMED\tMARKED\tTIMEOUTS")
	}
	for _, j := range r.Jobs {
		if fluid {
			bound := strings.Join(j.Bound[:min(len(j.Bound), 2)], ", ")
			if more := len(j.Bound) - 2; more > 0 {
				bound += fmt.Sprintf(" and %d more", more)
			}
			row("%s\t%d\t%d of %d\t%v\t%v\t%s", j.Name, j.Ranks, len(j.Steps), j.Want,
				us(j.Median()), us(j.Least), bound)
			continue
		}
		row("%s\t%d\t%d of %d\t%v\t%v\t%d\t%d\t%d\t%d\t%d", j.Name, j.Ranks, len(j.Steps), j.Want,
			us(j.Median()), us(j.Least), j.Packets, j.Resent, j.Trimmed, j.Marked, j.Timeouts)
	}
	for _, j := range r.Jobs {
		if j.Failed != "" {
			row("%s did not end: %s", j.Name, j.Failed)
		}
	}
	end()
	if len(r.Events) > 0 {
		row("AT\tEVENT\tHOSTS TOLD\tLAST ONE AFTER\tEVS DENIED")
		for _, e := range r.Events {
			told := "-"
			if e.Hosts > 0 {
				told = us(e.Told).String()
			}
			row("%v\t%s\t%d\t%s\t%d", e.At, e.What, e.Hosts, told, e.Denied)
		}
		end()
		row("JOB\tFROM\tTO\tSTEPS\tMEDIAN STEP\tLONGEST\tTHAN WITHOUT EVENTS")
		for _, p := range r.Phases {
			row("%s\t%v\t%v\t%d\t%v\t%v\t%+.1f %%", p.Job, us(p.From), us(p.To), p.Steps, us(p.Median),
				us(p.Most), 100*p.Increase)
		}
		end()
	}
	if len(r.Notices) > 0 {
		row("AT\tTHE CONTROLLER SAYS")
		for _, n := range r.Notices {
			row("%v\t%s", us(n.At), n.Says)
		}
		end()
	}
	row("LINKS\tMEAN USE\tBUSIEST\tLINK")
	for _, u := range r.Tiers {
		row("%s\t%.1f %%\t%.1f %%\t%s", u.name(), 100*u.Mean, 100*u.Most, u.Link)
	}
	end()
	if len(r.Verdicts) > 0 {
		row("EXPECTED OF\tHOLDS\tFOUND")
		for _, v := range r.Verdicts {
			row("%s\t%s\t%s", v.Job, map[bool]string{true: "yes", false: "no"}[v.Holds], v.Why)
		}
		end()
	}
	return tables
}

// Text writes a report as tables for people.
func (r *Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, r.Scenario.title())
	for _, rows := range r.tables() {
		fmt.Fprintln(t)
		for _, row := range rows {
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
	}
	return t.Flush()
}

// JSON writes a report as JSON lines, each an object with the field "kind": scenario, job, step,
// event, notice, phase, links and expect. Times are in seconds.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	var failed error
	write := func(x any) {
		if failed == nil {
			failed = e.Encode(x)
		}
	}
	type fields = map[string]any
	s := r.Scenario
	write(fields{"kind": "scenario", "network": s.Network, "mode": s.Mode, "model": s.Model,
		"seed":  s.Seed,
		"hosts": len(s.network.Hosts), "switches": len(s.network.Switches), "ended": r.Ended.Seconds()})
	for _, j := range r.Jobs {
		write(fields{"kind": "job", "job": j.Name, "ranks": j.Ranks, "steps": len(j.Steps),
			"want": j.Want, "median": j.Median().Seconds(), "least": j.Least.Seconds(),
			"packets": j.Packets, "resent": j.Resent, "trimmed": j.Trimmed, "marked": j.Marked,
			"timeouts": j.Timeouts, "bound": j.Bound, "failed": j.Failed})
		for i, x := range j.Steps {
			write(fields{"kind": "step", "job": j.Name, "step": i, "began": x.Began.Seconds(),
				"took": x.Took.Seconds()})
		}
	}
	for _, x := range r.Events {
		write(fields{"kind": "event", "at": x.At.Seconds(), "event": x.What, "hosts": x.Hosts,
			"told": x.Told.Seconds(), "denied": x.Denied})
	}
	for _, n := range r.Notices {
		write(fields{"kind": "notice", "at": n.At.Seconds(), "says": n.Says})
	}
	for _, p := range r.Phases {
		write(fields{"kind": "phase", "job": p.Job, "from": p.From.Seconds(), "to": p.To.Seconds(),
			"steps": p.Steps, "median": p.Median.Seconds(), "longest": p.Most.Seconds(),
			"increase": p.Increase})
	}
	for _, u := range r.Tiers {
		write(fields{"kind": "links", "tier": u.Tier, "mean": u.Mean, "busiest": u.Most,
			"link": u.Link})
	}
	for _, v := range r.Verdicts {
		write(fields{"kind": "expect", "job": v.Job, "holds": v.Holds, "found": v.Why})
	}
	return failed
}
