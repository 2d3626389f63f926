package controller

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/internal/natural"
)

// dependence keeps on which parts of the network jobs depend. The need of a job does not change,
// nor do its consequences in a fabric: each is found once, and again in another fabric.
type dependence struct {
	// one is held by who uses parts.
	one   chan struct{}
	parts map[*ready.Need]wiredParts
}

// wiredParts are the parts of a need in a fabric of a wiring.
type wiredParts struct {
	*ready.Parts
	wiring any
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
	var unread []string
	readings := make(map[*ready.Need]*fabricview.Reading, len(all))
	v := c.fabric.Load()
	for i := range all {
		if v != nil {
			readings[all[i].need] = v.Jobs[all[i].need]
		}
		if readings[all[i].need] == nil {
			unread = append(unread, all[i].Name)
		}
	}
	if len(unread) > 0 {
		known, err := c.known(ctx, unread...)
		if err != nil {
			return nil, err
		}
		for i := range known {
			readings[known[i].Facts.Need] = known[i].Reading
		}
	}
	parts, err := c.partsOf(ctx, readings)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].parts = parts[all[i].need].Parts
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

// partsOf returns the parts of needs by what was read for them, nil: nothing was; the result is not
// changed any more. Others are forgotten.
func (c *Controller) partsOf(
	ctx context.Context, readings map[*ready.Need]*fabricview.Reading,
) (map[*ready.Need]wiredParts, error) {
	d := &c.depend
	select {
	case d.one <- struct{}{}:
		defer func() { <-d.one }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	parts := make(map[*ready.Need]wiredParts, len(readings))
	for need, r := range readings {
		p, before := d.parts[need]
		if r == nil {
			r = &fabricview.Reading{}
		}
		// While the parts are unknown the last known parts stay.
		if !before || r.Wiring != p.wiring && r.Fabric.Known.State == ready.Good {
			p = wiredParts{ready.NewParts(need, &r.Fabric), r.Wiring}
		}
		parts[need] = p
	}
	d.parts = parts
	return parts, nil
}
