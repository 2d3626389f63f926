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
	// SeverityWork is what an operator has taken out of use.
	SeverityWork Severity = "work"
)

// Finding is something that is not as it should be, or that somebody has taken out of use.
type Finding struct {
	ID       string    `json:"id" doc:"The same as long as it lasts, whatever becomes of it meanwhile."`
	Kind     string    `json:"kind" enum:"controller,BGP-LS peer,switch,link,drain,fabric,host,host port,EV profile,multicast group,SRv6 policy,tenant,PFC policy,job" doc:"What it is about, as people count it."`
	Object   string    `json:"object,omitempty" doc:"The resource that shows it: its path below /v1."`
	Severity Severity  `json:"severity" enum:"fault,warning,work" doc:"work: what an operator has taken out of use."`
	What     string    `json:"what" doc:"A sentence that stays as it is while the finding lasts."`
	Detail   string    `json:"detail,omitempty" doc:"What is known of it now."`
	Means    string    `json:"means" doc:"What it means for traffic."`
	Todo     string    `json:"todo" doc:"What an operator does about it."`
	Since    time.Time `json:"since,omitzero" doc:"When it began, where that is known."`
}

// CauseKinds returns what findings are about: the values of [Finding.Kind].
func CauseKinds() []string {
	f, _ := reflect.TypeFor[Finding]().FieldByName("Kind")
	return strings.Split(f.Tag.Get("enum"), ",")
}

// Cause is a finding that nothing else explains, with what follows from it.
type Cause struct {
	Finding
	Follows []Finding    `json:"follows" doc:"What follows from it, at most 100."`
	Total   int          `json:"total" doc:"How many findings follow from it."`
	Counts  []CauseCount `json:"counts" doc:"How many things are concerned, by kind, beside what the cause is about."`
	Jobs    *CauseJobs   `json:"jobs,omitempty" doc:"The jobs that depend on what the cause is about; absent when there are none."`
	Silence *Silence     `json:"silence,omitempty" doc:"The silence of the cause; absent when it has none."`
}

// CauseCount counts the things of one kind that a cause concerns.
type CauseCount struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// MostCauseJobs bounds the names of [CauseJobs].
const MostCauseJobs = 5

// CauseJobs are the jobs that a cause hurts.
type CauseJobs struct {
	Count int      `json:"count" doc:"How many there are."`
	Names []string `json:"names" doc:"At most five of them: those of a higher priority first."`
}
