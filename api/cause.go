package api

import (
	"reflect"
	"strings"
	"time"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	SeverityFault   Severity = "fault"
	SeverityWarning Severity = "warning"
	// SeverityWork: an operator has taken the object out of use.
	SeverityWork Severity = "work"
)

// Finding describes a fault, a warning, or a part that an operator has taken out of use.
type Finding struct {
	ID       string    `json:"id" doc:"Constant while the finding lasts."`
	Kind     string    `json:"kind" enum:"controller,BGP-LS peer,switch,link,drain,fabric,host,host port,EV profile,multicast group,SRv6 policy,tenant,PFC policy,job,port,network,lease,maintenance,notification" doc:"Kind of the object, as people count it."`
	Object   string    `json:"object,omitempty" doc:"The resource that shows it: its path below /v1."`
	Severity Severity  `json:"severity" enum:"fault,warning,work" doc:"work: what an operator has taken out of use."`
	What     string    `json:"what" doc:"A sentence that stays as it is while the finding lasts."`
	Detail   string    `json:"detail,omitempty" doc:"What is known of it now."`
	Means    string    `json:"means" doc:"What it means for traffic."`
	Todo     string    `json:"todo" doc:"What an operator does about it."`
	Since    time.Time `json:"since,omitzero" doc:"When it began, where that is known."`
	Repair   *Repair   `json:"repair,omitempty" doc:"Part to be repaired or replaced; absent if none is, or while unknown."`
}

// Repair names a part of the network for somebody to repair or replace, with the evidence.
type Repair struct {
	Part     string   `json:"part" enum:"cable,optic,switch" doc:"optic: a transceiver, because one direction alone is bad, or its four ports failed together."`
	Name     string   `json:"name" doc:"The two ends of a cable, or the switch; of an optic the cable, from the end that sends to the end that receives, or the switch and the ports that failed together."`
	Evidence []string `json:"evidence" doc:"What the control plane, counters and probes say, a sentence each."`
	Denied   bool     `json:"denied" doc:"Hosts do not use it."`
	Hosts    []string `json:"hosts" doc:"Hosts at the part, or at its ends."`
}

// CauseKinds returns the values of [Finding.Kind].
func CauseKinds() []string {
	f, _ := reflect.TypeFor[Finding]().FieldByName("Kind")
	return strings.Split(f.Tag.Get("enum"), ",")
}

// Cause is a finding without a further explanation, together with the findings that follow from the
// cause.
type Cause struct {
	Finding
	Follows []Finding    `json:"follows" doc:"What follows from it, at most 100."`
	Total   int          `json:"total" doc:"How many findings follow from it."`
	Counts  []CauseCount `json:"counts" doc:"Numbers of affected objects by kind, without the object of the cause."`
	Jobs    *CauseJobs   `json:"jobs,omitempty" doc:"The jobs that depend on what the cause is about; absent when there are none."`
	Change  *CauseChange `json:"change,omitempty" doc:"The write of a client that has made it so; absent where it was none."`
	Silence *Silence     `json:"silence,omitempty" doc:"The silence of the cause; absent when it has none."`
}

// CauseCount counts the things of one kind that a cause concerns.
type CauseCount struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// CauseChange is the write by which a cause began, and who made it.
type CauseChange struct {
	Object string    `json:"object" doc:"The resource that was written: its path below /v1."`
	By     string    `json:"by,omitempty" doc:"Who has written it last, by the audit log; absent where that has no record of it."`
	At     time.Time `json:"at,omitzero" doc:"When."`
}

// MostCauseJobs bounds the names of [CauseJobs].
const MostCauseJobs = 5

// CauseJobs are the jobs that a cause hurts.
type CauseJobs struct {
	Count int      `json:"count" doc:"How many there are."`
	Names []string `json:"names" doc:"At most five of them: those of a higher priority first."`
}
