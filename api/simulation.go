package api

import (
	"fmt"
	"time"
)

// Bounds of a simulation.
const (
	// MaxSimulationEvents bounds the events of a simulation.
	MaxSimulationEvents = 64
	// MaxSimulationJobs bounds the jobs that a request describes.
	MaxSimulationJobs = 256
	// MaxSimulationBytes bounds the data of a communicator: 1 TiB.
	MaxSimulationBytes = 1 << 40
	// SimulationBytes is the data of a communicator without further facts: 64 MiB.
	SimulationBytes = 64 << 20
)

// SimulationSpec asks what jobs get of an MRC fabric after some events.
type SimulationSpec struct {
	Events []SimulationEvent `json:"events,omitempty" maxItems:"64" doc:"What happens to the present fabric, in order. Without events the answer has what jobs get now."`
	Jobs   []SimulationStep  `json:"jobs,omitempty" maxItems:"256" doc:"What jobs do in a step. Default: each communicator of a job exchanges 64 MiB, and ranks compute for no time."`
}

// SimulationObject is a part of the fabric: what can be drained.
type SimulationObject = MaintenanceObject

// SimulationEvent is something that happens to a part of the fabric.
type SimulationEvent struct {
	Action SimulationAction `json:"action" enum:"fail,drain,repair" doc:"Whether it fails, is drained, or works and is used again."`
	Object SimulationObject `json:"object" doc:"What it happens to."`
}

// String returns what happens, in words.
func (e SimulationEvent) String() string { return fmt.Sprintf("%s %v", e.Action, e.Object) }

// SimulationAction is an event of a simulation: the failure, repair or drain of a part of the
// fabric.
type SimulationAction string

// The actions.
const (
	SimulationFail   SimulationAction = "fail"
	SimulationDrain  SimulationAction = "drain"
	SimulationRepair SimulationAction = "repair"
)

// SimulationStep is the work of a job in one step.
type SimulationStep struct {
	Name    string           `json:"name" minLength:"1" maxLength:"253" names:"-" doc:"Name of a job that has not ended."`
	Compute Duration         `json:"compute,omitempty" names:"-" doc:"Time in which each rank computes before it communicates. Default 0."`
	Data    []SimulationData `json:"data,omitempty" maxItems:"4096" doc:"What its communicators exchange. Those that are not named exchange nothing."`
}

// SimulationData is the data of the communicators of a name.
type SimulationData struct {
	Communicator string `json:"communicator" minLength:"1" maxLength:"63" names:"-" doc:"Name of the communicator; of those of a layout tp, cp, dp (dp-cp with cp), ep, edp or pp."`
	Bytes        int64  `json:"bytes" minimum:"0" maximum:"1099511627776" names:"-" doc:"Octets: of an all-reduce and an all-to-all those that each rank gives, of an all-gather those that each rank has at the end."`
}

// Validate returns what is wrong with a request, apart from what the fabric and the jobs decide.
func (s *SimulationSpec) Validate() error {
	var faults []FieldError
	bad := func(field string, value any, want string) {
		faults = append(faults, FieldError{Field: field, Code: CodeInvalid, Value: fmt.Sprint(value),
			Want: want})
	}
	for i, e := range s.Events {
		if e.Object.kinds() != 1 {
			bad(fmt.Sprintf("events[%d].object", i), e.Object,
				"one of link, node, plane, and host with port")
		}
	}
	for i, j := range s.Jobs {
		if j.Compute < 0 || j.Compute.D() > time.Hour {
			bad(fmt.Sprintf("jobs[%d].compute", i), j.Compute, "0s to 1h")
		}
		for k, d := range j.Data {
			if d.Bytes < 0 || d.Bytes > MaxSimulationBytes {
				bad(fmt.Sprintf("jobs[%d].data[%d].bytes", i, k), d.Bytes,
					fmt.Sprintf("0 to %d octets", int64(MaxSimulationBytes)))
			}
		}
	}
	return Refuse(faults)
}

// Simulation is what jobs get of a fabric before and after some events.
type Simulation struct {
	Events []string       `json:"events" doc:"The events, in words."`
	Jobs   []SimulatedJob `json:"jobs" doc:"The jobs that have not ended: those that lose most first."`
}

// SimulatedJob is the result for one job.
type SimulatedJob struct {
	Name     string         `json:"name" doc:"Name of the job."`
	Ranks    int            `json:"ranks" doc:"How many ranks it has."`
	Running  bool           `json:"running" doc:"It has started."`
	Why      string         `json:"why,omitempty" doc:"Why nothing is known of the job; before and after are absent then."`
	Before   *SimulatedStep `json:"before,omitempty" doc:"In the present fabric, with its present faults."`
	After    *SimulatedStep `json:"after,omitempty" doc:"After the events."`
	Increase *float64       `json:"increase,omitempty" doc:"How much longer a step takes after the events: 0.1 is a tenth; absent where a step does not end."`
}

// SimulatedStep is the time and the bandwidth of a step of a job.
type SimulatedStep struct {
	Step   Duration `json:"step" doc:"How long a step takes; 0: it does not end."`
	Share  float64  `json:"share" doc:"Of the bandwidth that the pattern of the job has with its NICs at full rate, the share that it gets, of 1."`
	CutOff int      `json:"cutOff" doc:"How many ranks cannot talk to others any more."`
	NICs   []string `json:"nics,omitempty" doc:"The NICs of ranks that are cut off, at most five."`
	Bound  []string `json:"bound,omitempty" doc:"Links and ports of NICs that bound the step, at most eight."`
}
