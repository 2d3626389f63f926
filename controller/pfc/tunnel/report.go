package tunnel

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// report is what a switch said about a queue last.
type report struct {
	Report
	at time.Duration
}

// Report takes what a switch reports about a queue.
func (c *Core) Report(q Queue, r Report) {
	old := c.reports[q]
	c.reports[q] = &report{r, c.now}
	name := fmt.Sprintf("%s/%d/%d", c.name(q.Node), q.Port, q.Priority)
	was := old != nil && old.Storm
	switch {
	case r.Storm && !was:
		c.event(api.EventStorm, name, fmt.Sprintf("paused for %v without sending",
			r.PausedFor.Round(time.Microsecond)))
	case !r.Storm && was:
		c.event(api.EventStormEnded, name, "")
	case !was && old != nil && r.Storms > old.Storms: // began and ended between two reports
		c.event(api.EventStorm, name, "")
		c.event(api.EventStormEnded, name, "")
	}
	if old != nil && r.Dropped > old.Dropped {
		c.event(api.EventOverflow, name, fmt.Sprintf("%d packets found it full", r.Dropped-old.Dropped))
	}
	c.touchQueue(q)
}

// Forget records that a switch has lost its state.
func (c *Core) Forget(id topology.NodeID) {
	for q := range c.reports {
		if q.Node == id {
			delete(c.reports, q)
			c.touchQueue(q)
		}
	}
}

// LastReport returns what a switch said about a queue last, and when.
func (c *Core) LastReport(q Queue) (r Report, at time.Duration, ok bool) {
	if x := c.reports[q]; x != nil {
		return x.Report, x.at, true
	}
	return Report{}, 0, false
}

// eachQueue calls f for every queue that nodes hold for a deployment, with the PFC policy of the
// queue.
func (c *Core) eachQueue(f func(q Queue, policy string)) {
	for _, p := range c.policies {
		for _, b := range p.held() {
			for name, d := range b.deployments {
				for i := range d.Stages {
					for _, q := range d.Stages[i].Queues {
						f(q, name)
					}
				}
			}
		}
	}
}

func (c *Core) touchQueue(q Queue) {
	c.eachQueue(func(x Queue, policy string) {
		if x == q {
			c.touch(policy)
		}
	})
}

// runQueries asks for the state of every queue now and then.
func (c *Core) runQueries() {
	if c.now < c.askedAt+c.cfg.QueryEvery {
		return
	}
	c.askedAt = c.now
	asked := make(map[Queue]bool)
	c.eachQueue(func(q Queue, _ string) {
		if !asked[q] {
			asked[q] = true
			c.out.Queries = append(c.out.Queries, q)
		}
	})
	sortQueues(c.out.Queries)
}
