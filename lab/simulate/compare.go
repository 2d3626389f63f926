package simulate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Report is a scenario's run beside a run of the same scenario without its events.
type Report struct {
	*Result
	Without  []JobResult // the jobs of the run without events
	Scenario *Scenario
	Phases   []Phase   // of each job between events, in the order of jobs and times
	Verdicts []Verdict // in the order of the scenario's expectations
}

// A Phase is the steps of a job that began between two events.
type Phase struct {
	Job      string
	From, To time.Duration
	Steps    int
	Median   time.Duration // of the times of the steps
	Most     time.Duration // likewise the longest
	// Increase compares Median with the median of all steps of the job in the run without events: 0.1
	// is a tenth longer.
	Increase float64
}

// A Verdict says whether an expectation holds, and why not.
type Verdict struct {
	Expectation
	Holds bool
	Why   string // what was found
}

// Holds reports whether all jobs came to their end and all expectations hold.
func (r *Report) Holds() bool {
	return !slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return !v.Holds }) &&
		!slices.ContainsFunc(r.Jobs, func(j JobResult) bool { return j.Failed != "" })
}

// Compare runs a complete scenario with and without its events, at the same time, and judges its
// expectations. Errors are the errors of [Run].
func Compare(ctx context.Context, s *Scenario) (*Report, error) {
	r := &Report{Scenario: s}
	plain := *s
	plain.Events, plain.Maintenances = nil, nil
	var without *Result
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		r.Result, err = Run(ctx, s)
		return err
	})
	if len(s.Events) > 0 {
		both.Go(func() (err error) {
			without, err = Run(ctx, &plain)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		return nil, err
	}
	if without == nil {
		without = r.Result
	}
	r.Without = without.Jobs
	times := []time.Duration{0}
	for _, e := range s.Events {
		if e.At > times[len(times)-1] {
			times = append(times, e.At)
		}
	}
	for i, j := range r.Jobs {
		for n, from := range times {
			to := r.Ended
			if n+1 < len(times) {
				to = times[n+1]
			}
			if p := phase(j, without.Jobs[i], from, to); p.Steps > 0 {
				r.Phases = append(r.Phases, p)
			}
		}
	}
	for _, x := range s.Expect {
		i := slices.IndexFunc(r.Jobs, func(j JobResult) bool { return j.Name == x.Job })
		r.Verdicts = append(r.Verdicts, judge(x, r.Jobs[i], without.Jobs[i], r.Ended))
	}
	return r, nil
}

// phase compares the steps of a job that began in [from, to) with those of a run without events.
func phase(j, without JobResult, from, to time.Duration) Phase {
	p := Phase{Job: j.Name, From: from, To: to}
	var took []time.Duration
	for _, s := range j.Steps {
		if s.Began >= from && s.Began < to {
			took = append(took, s.Took)
		}
	}
	if p.Steps = len(took); p.Steps == 0 {
		return p
	}
	p.Median, p.Most = median(took), slices.Max(took)
	if len(without.Steps) > 0 {
		p.Increase = float64(p.Median)/float64(without.Median()) - 1
	}
	return p
}

// Median returns the median time of a job's steps, 0 without any.
func (j *JobResult) Median() time.Duration {
	var took []time.Duration
	for _, s := range j.Steps {
		took = append(took, s.Took)
	}
	return median(took)
}

// median returns the middle of some times, the later one of two; 0 of none.
func median(of []time.Duration) time.Duration {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// judge reports whether an expectation holds.
func judge(x Expectation, j, without JobResult, ended time.Duration) Verdict {
	v := Verdict{Expectation: x, Holds: true}
	if x.StepIncrease != nil || x.Share != nil {
		from, to := time.Duration(0), ended+1
		if len(x.Between) == 2 {
			from, to = x.Between[0], x.Between[1]
		}
		p := phase(j, without, from, to)
		switch {
		case p.Steps == 0:
			v.Holds, v.Why = false, "no step that began then has ended"
		default:
			share := float64(j.Least) / float64(p.Median)
			v.Holds = (x.StepIncrease == nil || p.Increase <= *x.StepIncrease) &&
				(len(x.Share) < 1 || share >= x.Share[0]) && (len(x.Share) < 2 || share <= x.Share[1])
			v.Why = fmt.Sprintf("the median step takes %v, %+.1f %%; share %.3f",
				p.Median.Round(time.Microsecond), 100*p.Increase, share)
		}
	}
	if x.Ends > 0 {
		end := time.Duration(0)
		if n := len(j.Steps); n > 0 {
			end = j.Steps[n-1].Began + j.Steps[n-1].Took
		}
		why := fmt.Sprintf("the last step ended at %v", end.Round(time.Microsecond))
		if late := j.Failed != "" || end > x.Ends; late {
			v.Holds = false
			if j.Failed != "" {
				why = j.Failed
			}
		}
		if v.Why != "" {
			why = v.Why + "; " + why
		}
		v.Why = why
	}
	return v
}
