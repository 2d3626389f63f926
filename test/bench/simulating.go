package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/lab"
)

// simulationRuns is how often a simulation is measured.
const simulationRuns = 10

// simulating measures POST /v1/simulations without HTTP on 8,192 NICs: what a job of 8,192 ranks
// (tp 8, ep 64, dp 128, pp 8), or 64 jobs of 128 ranks (tp 8, dp 16), get of the fabric before and
// after a T1 is drained.
func simulating(ctx context.Context, out *report) error {
	network := lab.Clos(jobFabric)
	if err := network.Complete(); err != nil {
		return err
	}
	inv := network.Inventory(nil)
	inv.MRC.Mode, inv.MRC.Profiles = "stev", "jobs"
	multipath, err := mrc.New(mrc.Config{MRC: inv.MRC, Epoch: 1})
	if err != nil {
		return err
	}
	snapshot := network.Topology().Snapshot()
	for _, h := range fabric.HostsOf(&inv, plan.Nodes(snapshot, &inv)) {
		if err := multipath.PutHost(h); err != nil {
			return err
		}
	}
	multipath.SetTopology(snapshot)
	multipath.InSync()
	multipath.Ready()
	t1 := slices.IndexFunc(network.Switches, func(s lab.Switch) bool { return s.Name == "P1-T1-1" })
	spec := api.SimulationSpec{Events: []api.SimulationEvent{{Action: api.SimulationDrain,
		Object: api.SimulationObject{Node: string(lab.NodeID(network.Switches[t1]))}}}}
	for _, jobs := range []int{1, manyJobs} {
		out.tell("simulate: %d jobs on %d NICs", jobs, jobFabric.Hosts)
		core, err := controller.NewCore(controller.Config{Inventory: inv, Start: time.Unix(0, 0)}, nil)
		if err != nil {
			return err
		}
		each := jobFabric.Hosts / jobs
		layout := api.JobLayout{TP: 8, DP: each / 8}
		if jobs == 1 {
			layout = api.JobLayout{TP: 8, EP: 64, DP: 128, PP: 8}
		}
		for i := range jobs {
			if _, _, err := core.Jobs().Put(fmt.Sprint("job", i), api.JobSpec{Layout: &layout,
				Hosts: fmt.Sprintf("H[%d-%d]", 1+i*each, (i+1)*each)},
				resource.Precondition{}); err != nil {
				return err
			}
		}
		core.SetFabric(multipath.View())
		var all []time.Duration
		for range simulationRuns {
			began := time.Now()
			s, err := core.Simulation()(ctx, spec)
			if err != nil {
				return err
			}
			all = append(all, time.Since(began))
			if len(s.Jobs) != jobs || s.Jobs[0].Increase == nil {
				return fmt.Errorf("%d jobs are simulated, the first is %+v", len(s.Jobs), s.Jobs[0])
			}
		}
		slices.Sort(all)
		if err := out.print(figure{bench: "simulate", unit: "ms", value: millis(all[simulationRuns/2]),
			more: []field{{"jobs", jobs}, {"ranks", each}, {"max", millis(all[simulationRuns-1])},
				{"runs", simulationRuns}}}); err != nil {
			return err
		}
	}
	return nil
}
