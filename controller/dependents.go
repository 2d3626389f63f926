package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/internal/natural"
)

// The parts of all jobs are read again at most every dependEvery, and dependShare bounds the time
// that this takes, as a part of all time.
const (
	dependEvery = time.Second
	dependShare = 20
)

// dependence keeps on which parts of the network jobs depend. What a job needs does not change, nor
// does what follows from it in a fabric: each is read once, and again in another fabric.
type dependence struct {
	// one is held by who uses the rest.
	one    chan struct{}
	parts  map[*ready.Need]*ready.Parts
	wiring any           // of the fabric that they were read in
	at     time.Time     // when all were read last
	took   time.Duration // how long that took
}

// Dependents returns a function that returns the jobs that depend on a part of the network, the
// most important job first. The caller may use the function for many parts, at the cost of a few
// look-ups for each job. After a change of the fabric, the function may return the jobs of the old
// fabric for about a second.
func (c *Controller) Dependents(
	ctx context.Context,
) (of func(part api.Part) []api.JobDependent, err error) {
	type dependent struct {
		api.JobDependent
		need  *ready.Need
		parts *ready.Parts
	}
	var all []dependent
	if stopped := c.read(ctx, func(core *Core) {
		for _, t := range core.jobs.Tasks() {
			if t.Over || t.Demand == nil {
				continue
			}
			var v api.Job
			if v, err = core.Jobs().Get(t.Name); err != nil {
				return
			}
			all = append(all, dependent{api.JobDependent{Name: t.Name, Phase: v.Status.Phase,
				Go: v.Status.Conditions.Is(api.Ready), Priority: v.Spec.Priority, Ranks: v.Status.Ranks},
				&t.Demand.Need, nil})
		}
	}); stopped != nil || err != nil {
		return nil, first(stopped, err)
	}
	needs := make([]*ready.Need, len(all))
	for i := range all {
		needs[i] = all[i].need
	}
	parts, err := c.partsOf(ctx, needs)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].parts = parts[all[i].need]
	}
	slices.SortFunc(all, func(a, b dependent) int {
		return cmp.Or(b.Priority-a.Priority, natural.Compare(a.Name, b.Name))
	})
	return func(part api.Part) []api.JobDependent {
		out := []api.JobDependent{}
		for i := range all {
			if n := all[i].parts.Affected(part); n > 0 {
				d := all[i].JobDependent
				d.Affected = n
				out = append(out, d)
			}
		}
		return out
	}, nil
}

// partsOf returns the parts of needs; the result is not changed any more. Others are forgotten.
func (c *Controller) partsOf(
	ctx context.Context, needs []*ready.Need,
) (map[*ready.Need]*ready.Parts, error) {
	d := &c.depend
	select {
	case d.one <- struct{}{}:
		defer func() { <-d.one }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	began := time.Now()
	var wiring any
	if v := c.fabric.Load(); v != nil && len(needs) > 0 {
		wiring = v.Wiring
	}
	again := wiring != d.wiring && began.Sub(d.at) >= max(dependEvery, dependShare*d.took)
	parts := make(map[*ready.Need]*ready.Parts, len(needs))
	for _, need := range needs {
		before := d.parts[need]
		if parts[need] = before; before != nil && !again {
			continue
		}
		var fabric ready.Fabric
		if c.opts.Fabric != nil {
			var err error
			if fabric, err = c.opts.Fabric(ctx, need); err != nil {
				return nil, err
			}
		}
		if before == nil || fabric.Known.State == ready.Good { // what is not known now was known before
			parts[need] = ready.NewParts(need, &fabric)
		}
	}
	if d.parts = parts; again {
		d.wiring, d.at, d.took = wiring, began, time.Since(began)
	}
	return parts, nil
}
