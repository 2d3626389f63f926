package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
)

// Sweeps returns what [Scenario.Sweep] takes.
func Sweeps() []string {
	return []string{"fail=each-t0", "fail=each-t1", "fail=each-t2", "fail=each-link",
		"fail=each-plane", "fail=each-host", "drain=each-t1", "drain=each-t2", "drain=each-link"}
}

// Sweep returns an event for each part of the fabric that a sweep names, at a time, in the order of
// the network. Links are those between switches.
func (s *Scenario) Sweep(what string, at time.Duration) (events []Event, err error) {
	verb, each, _ := strings.Cut(what, "=each-")
	if !slices.Contains(Sweeps(), what) {
		return nil, fmt.Errorf("is %q: want one of %s", what, strings.Join(Sweeps(), ", "))
	}
	tiers, n := s.network.Tiers(), &s.network
	add := func(kind string, names ...string) {
		e := Event{At: at, part: part{kind, names}}
		if verb == "fail" {
			e.Fail = e.part.String()
		} else {
			e.Drain = e.part.String()
		}
		events = append(events, e)
	}
	switch each {
	case "link":
		for _, l := range n.Links {
			_, a := tiers[l.A]
			if _, b := tiers[l.B]; a && b {
				add("link", l.A, l.B)
			}
		}
	case "plane":
		for p := 1; ; p++ {
			if _, err := n.Plane(p); err != nil {
				break
			}
			add("plane", fmt.Sprint(p))
		}
	case "host":
		for _, h := range n.Hosts {
			add("host", h.Name)
		}
	default:
		for _, x := range n.Switches {
			if fmt.Sprintf("t%d", tiers[x.Name]) == each {
				add("switch", x.Name)
			}
		}
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("is %q: want what the network has: the network has none", what)
	}
	return events, nil
}

// Swept is a job in one run of a sweep.
type Swept struct {
	Event  EventResult
	Phase         // the steps of the job that began from the event on
	Failed string // why the job did not end; "" if the job did
	// As names the event whose run stands for this event, on a part that is alike; "": the event has a
	// run of its own.
	As string
}

// A SweepReport has the jobs of all events of a sweep: those that did not end, and then those with
// the greatest increase first.
type SweepReport struct {
	Scenario *Scenario
	Events   int
	Runs     int // for events: fewer where parts are alike
	Swept    []Swept
}

// RunSweep runs a complete scenario once for each event, and once without, on all processors; of
// events on parts that are alike it runs the first. Increases compare with the run without.
func RunSweep(ctx context.Context, s *Scenario, events []Event) (*SweepReport, error) {
	r := &SweepReport{Scenario: s, Events: len(events)}
	as := s.alike(events)
	if s.Model == modelFlows && events[0].part.kind == "host" { // a sweep is of one kind
		apart, own := *s, *s.flows
		all := slices.Clone(s.Events)
		for i, e := range events {
			if as[i] == i {
				all = append(all, e)
			}
		}
		var err error
		if own.model, err = own.compile(all); err != nil {
			return nil, err
		}
		apart.flows, s = &own, &apart
	}
	results := make([]*Result, len(events)+1) // the last one without
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range results {
		one := *s
		if i < len(events) {
			if as[i] != i {
				continue
			}
			r.Runs++
			one.Events = append(slices.Clone(s.Events), events[i])
			slices.SortStableFunc(one.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
		}
		all.Go(func() (err error) {
			results[i], err = Run(ctx, &one)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	without := results[len(events)]
	for i, e := range events {
		result, first, was := results[as[i]], events[as[i]].String(), ""
		of := result.Events[slices.IndexFunc(result.Events, func(x EventResult) bool {
			return x.What == first
		})]
		if of.What = e.String(); as[i] != i {
			was = first
		}
		for n, j := range result.Jobs {
			if e.part.kind == "host" && as[i] != i { // Failed names a rank of the other run
				if strings.HasPrefix(j.Failed, "1 of ") {
					j.Failed = strings.Replace(j.Failed, ", "+events[as[i]].part.names[0]+" first",
						", "+e.part.names[0]+" first", 1)
				} else {
					j.Failed, _, _ = strings.Cut(j.Failed, ", ") // several ranks: perhaps another first
				}
			}
			r.Swept = append(r.Swept, Swept{Event: of, Failed: j.Failed, As: was,
				Phase: phase(j, without.Jobs[n], e.At, result.Ended)})
		}
	}
	slices.SortStableFunc(r.Swept, func(a, b Swept) int {
		return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Increase, a.Increase))
	})
	return r, nil
}

// Holds reports whether every job of every run came to its end.
func (r *SweepReport) Holds() bool {
	return !slices.ContainsFunc(r.Swept, func(s Swept) bool { return s.Failed != "" })
}

// worst is how many runs of a sweep a table for people has.
const worst = 10

// Text writes the worst runs and the distribution of all, for people.
func (r *SweepReport) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s; %d events", r.Scenario.title(), r.Events)
	alike := map[string]int{}
	if r.Runs < r.Events {
		fmt.Fprintf(t, ", %d runs: parts that are alike have one", r.Runs)
		for _, s := range r.Swept {
			alike[s.Job+" "+cmp.Or(s.As, s.Event.What)]++
		}
	}
	fmt.Fprintln(t, "\n\nEVENT\tALIKE\tJOB\tSTEPS\tMEDIAN STEP\tLONGEST\tTHAN WITHOUT\t"+
		"LAST HOST TOLD")
	rows := slices.DeleteFunc(slices.Clone(r.Swept), func(s Swept) bool { return s.As != "" })
	for i, s := range rows {
		if i == worst {
			fmt.Fprintf(t, "and %d more\n", len(rows)-worst)
			break
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%v\t%v\t%+.1f %%\t%v\n", s.Event.What,
			max(1, alike[s.Job+" "+s.Event.What]), s.Job, s.Steps, us(s.Median), us(s.Most),
			100*s.Increase, us(s.Event.Told))
		if s.Failed != "" {
			fmt.Fprintf(t, "\t\t%s did not end: %s\n", s.Job, s.Failed)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	increases := make([]float64, len(r.Swept))
	for i, s := range r.Swept {
		increases[i] = 100 * s.Increase
	}
	slices.Sort(increases)
	at := func(share float64) float64 { return increases[int(share*float64(len(increases)-1))] }
	_, err := fmt.Fprintf(w, "\nLonger than without: %+.1f %% at least, median %+.1f %%, nine of ten "+
		"at most %+.1f %%, %+.1f %% at most.\n", at(0), at(.5), at(.9), at(1))
	return err
}

// JSON writes a line of JSON for each job of each run, with times in seconds.
func (r *SweepReport) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	for _, s := range r.Swept {
		if err := e.Encode(map[string]any{"kind": "swept", "event": s.Event.What, "job": s.Job,
			"steps": s.Steps, "median": s.Median.Seconds(), "longest": s.Most.Seconds(),
			"increase": s.Increase, "told": s.Event.Told.Seconds(), "failed": s.Failed,
			"as": s.As}); err != nil {
			return err
		}
	}
	return nil
}
