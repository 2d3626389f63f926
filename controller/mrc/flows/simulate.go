package flows

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// A Compared job is a step of a job in two states.
type Compared struct {
	Before, After api.SimulatedStep
}

// mostNICs is how many NICs that are cut off a step names.
const mostNICs = 5

// Compare runs a step of each job in one state and in another, all jobs at once.
func (m *Model) Compare(ctx context.Context, before, after *State) ([]Compared, error) {
	out := make([]Compared, len(m.jobs))
	for i, s := range [...]*State{before, after} {
		o, err := m.run(ctx, []Change{{State: *s}}, 24*time.Hour, false)
		if err != nil {
			return nil, err
		}
		for j := range out {
			step := &out[j].Before
			if i == 1 {
				step = &out[j].After
			}
			of := &o.Jobs[j]
			step.CutOff, step.Bound = len(of.CutOff), of.Bound
			for _, r := range of.CutOff[:min(len(of.CutOff), mostNICs)] {
				step.NICs = append(step.NICs, m.jobs[j].NICs[r])
			}
			if len(of.Steps) == 0 {
				continue
			}
			took, compute := of.Steps[0].Took, m.jobs[j].Compute
			step.Step, step.Share = api.Duration(took), 1
			if took > compute {
				step.Share = min(1, float64(of.Least-compute)/float64(took-compute))
			}
		}
	}
	return out, nil
}

// Apply changes a state by an event on a known object. lost lists the fabric's links, one direction
// each, below the object; nodes are the nodes of a switch.
func (s *State) Apply(action api.SimulationAction, o api.SimulationObject, links []topology.LinkID,
	node topology.NodeID) {
	if action != api.SimulationRepair {
		s.Directed = append(s.Directed, links...)
		if node != "" {
			s.Nodes = append(s.Nodes, node)
		}
		if o.Plane != 0 {
			s.Planes = append(s.Planes, o.Plane)
		}
		return
	}
	works := make(map[topology.LinkID]bool, len(links))
	for _, id := range links {
		works[id] = true
	}
	s.Directed = slices.DeleteFunc(s.Directed, func(id topology.LinkID) bool { return works[id] })
	s.Nodes = slices.DeleteFunc(s.Nodes, func(id topology.NodeID) bool { return id == node })
	s.Planes = slices.DeleteFunc(s.Planes, func(p int) bool { return p == o.Plane })
}

// Worst orders jobs: those that do not end first, then by how much longer they take.
func Worst(a, b api.SimulatedJob) int {
	rank := func(j *api.SimulatedJob) float64 {
		switch {
		case j.After == nil:
			return -2
		case j.Increase == nil:
			return 1e9 + float64(j.After.CutOff)
		}
		return *j.Increase
	}
	return cmp.Or(cmp.Compare(rank(&b), rank(&a)), cmp.Compare(a.Name, b.Name))
}
