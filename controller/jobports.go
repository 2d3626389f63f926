package controller

import (
	"context"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job"
)

// JobPorts holds the switch ports with NICs of jobs, by switch, with the names of the jobs.
type JobPorts map[string]map[uint32][]string

// JobPorts returns the ports on NICs in unfinished jobs.
func (c *Controller) JobPorts(ctx context.Context) (JobPorts, error) {
	var tasks []job.Task
	var inv *inventory.Inventory
	err := c.read(ctx, func(core *Core) {
		tasks, inv = core.jobs.Tasks(), core.Inventory()
	})
	if err != nil {
		return nil, err
	}
	hosts := make(map[string]*inventory.Host, len(inv.Hosts))
	for i := range inv.Hosts {
		hosts[inv.Hosts[i].Name] = &inv.Hosts[i]
	}
	out := make(JobPorts)
	for _, t := range tasks {
		if t.Over || t.Demand == nil {
			continue
		}
		for _, nic := range t.Demand.NICs {
			h := hosts[nic]
			if h == nil {
				continue // the inventory has it no more
			}
			for _, at := range h.Attachments() {
				if out[at.Switch] == nil {
					out[at.Switch] = make(map[uint32][]string)
				}
				out[at.Switch][at.Port] = append(out[at.Switch][at.Port], t.Name)
			}
		}
	}
	return out, nil
}
