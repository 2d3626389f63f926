package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
)

// A plane is unbalanced when the busiest link is used unbalancedIndex times as much as the mean
// link, and the mean link by at least balanceFloor of its speed. Below this floor, a few packets
// could cause the difference by accident.
const (
	unbalancedIndex = 1.25
	balanceFloor    = 0.01
	balanceOver     = 30 * time.Second
)

// A verdict stands until balanceLooks looks in a row contradict it. The verdict "unbalanced" ends
// at a lower index than the index at which it begins, so that it does not flap.
const (
	balanceLook   = 5 * time.Second
	balanceLooks  = 3
	balancedIndex = 1.15
)

// Balance returns how evenly each leaf uses each plane in the last time over, in the order of
// planes and leaves. A time of 0 is the usual one; the condition is then the verdict of the
// looks so far.
func (p *Planes) Balance(ctx context.Context, over time.Duration) ([]api.PlaneBalance, error) {
	all, err := p.balances(ctx, cmp.Or(over, balanceOver))
	if err == nil && over == 0 {
		p.verdicts.apply(all)
	}
	return all, err
}

func (p *Planes) balances(ctx context.Context, over time.Duration) ([]api.PlaneBalance, error) {
	all, err := p.layout(ctx)
	if err != nil {
		return nil, err
	}
	now, out := p.cfg.Now(), []api.PlaneBalance{}
	for _, plane := range slices.Sorted(maps.Keys(all)) {
		links := all[plane]
		for r, leaf := range links.rows {
			b := api.PlaneBalance{Plane: plane, Leaf: leaf}
			var sum, most float64
			busiest := ""
			p.cfg.Store.Ports(leaf, over, now, func(port uint32, _, sent float64, speed uint64) {
				c, ok := links.links[r].Columns[port]
				if !ok || speed == 0 || math.IsNaN(sent) {
					return
				}
				used := sent / float64(speed)
				b.Links++
				sum += used
				if used > most {
					most, busiest = used, links.columns[c]
				}
			})
			judge(&b, sum, most, busiest)
			out = append(out, b)
		}
	}
	return out, nil
}

// judge fills in what follows from the sum and the greatest of the utilizations of the links.
func judge(b *api.PlaneBalance, sum, most float64, busiest string) {
	c := api.Condition{
		Type: api.Unbalanced, Reason: api.ReasonEven, Message: "the links up are used evenly",
	}
	if b.Links > 0 {
		b.Utilization = Significant(sum / float64(b.Links))
	}
	if sum > 0 {
		b.Index, b.Busiest = Significant(most*float64(b.Links)/sum), busiest
	}
	switch {
	case b.Utilization < balanceFloor:
		c.Reason = api.ReasonIdle
		c.Message = fmt.Sprintf("the links up are used by less than %g %%", 100*balanceFloor)
	case b.Index > unbalancedIndex:
		c.Status, c.Reason, c.Message = true, api.ReasonUneven, uneven(b)
	}
	b.Conditions = api.Conditions{c}
}

// uneven describes how uneven the use of a plane is.
func uneven(b *api.PlaneBalance) string {
	return fmt.Sprintf("the link to %s is used %.2f times as much as the mean of %d links",
		b.Busiest, b.Index, b.Links)
}

// planeVerdicts are whether leaves use planes unevenly, as of the looks so far.
type planeVerdicts struct {
	mu sync.Mutex
	by map[placed]*planeVerdict
}

// placed is a leaf in a plane.
type placed struct {
	plane int
	leaf  string
}

type planeVerdict struct {
	uneven bool
	looks  int // in a row that say otherwise
}

// look takes the balances seen now, and returns the balances with a changed verdict.
func (v *planeVerdicts) look(seen []api.PlaneBalance) (changed []api.PlaneBalance) {
	v.mu.Lock()
	defer v.mu.Unlock()
	by := make(map[placed]*planeVerdict, len(seen))
	for i := range seen {
		b := &seen[i]
		at := placed{b.Plane, b.Leaf}
		x := v.by[at]
		if x == nil {
			x = &planeVerdict{}
		}
		by[at] = x
		if b.Links == 0 {
			continue // a gap says nothing
		}
		says := x.uneven
		switch used := b.Utilization >= balanceFloor; {
		case used && b.Index > unbalancedIndex:
			says = true
		case !used || b.Index < balancedIndex:
			says = false
		}
		if says == x.uneven {
			x.looks = 0
			continue
		}
		if x.looks++; x.looks == balanceLooks {
			x.uneven, x.looks = says, 0
			changed = append(changed, *b)
		}
	}
	v.by = by
	return changed
}

// apply puts the verdicts in the conditions, where there are any.
func (v *planeVerdicts) apply(all []api.PlaneBalance) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range all {
		b := &all[i]
		x, c := v.by[placed{b.Plane, b.Leaf}], &b.Conditions[0]
		switch {
		case x == nil || x.uneven == c.Status:
		case x.uneven:
			c.Status, c.Reason = true, api.ReasonUneven
			c.Message = "the plane was used unevenly a moment ago: " + c.Message
		default:
			c.Status, c.Reason, c.Message = false, api.ReasonEven, "not for long yet: "+c.Message
		}
	}
}

// Watch publishes an event when a leaf starts or stops using a plane unevenly, until ctx ends.
// After a start, Watch publishes nothing before the samples cover a whole window.
func (p *Planes) Watch(ctx context.Context, publish func(api.Event)) {
	wait := time.NewTimer(balanceOver)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
			wait.Reset(balanceLook)
		case <-ctx.Done():
			return
		}
		if err := p.look(ctx, publish); err != nil && !errors.Is(err, context.Canceled) {
			p.cfg.Log.Debug("the balance of planes", "reason", err)
		}
	}
}

func (p *Planes) look(ctx context.Context, publish func(api.Event)) error {
	all, err := p.balances(ctx, balanceOver)
	if err != nil {
		return err
	}
	changed := p.verdicts.look(all)
	for i := range changed {
		b := &changed[i]
		message := fmt.Sprintf("plane %d: %s", b.Plane, uneven(b))
		if !b.Conditions[0].Status {
			message = fmt.Sprintf("plane %d is no longer used unevenly: %s",
				b.Plane, b.Conditions[0].Message)
		}
		publish(api.Event{
			Time: p.cfg.Now().UTC(), Type: api.EventBalanceChanged, Object: b.Leaf, Message: message,
		})
	}
	return nil
}
