package api

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// Bounds of maintenances.
const (
	// MaxMaintenances bounds the maintenances of a controller, ended maintenances included.
	MaxMaintenances = 1024
	// MaxMaintenanceObjects bounds the objects of one.
	MaxMaintenanceObjects = 256
	// MaxMaintenanceLead bounds how long before it its objects are drained.
	MaxMaintenanceLead = 7 * 24 * time.Hour
)

// Maintenance is a time window during which some parts of an MRC fabric stay unused. The controller
// drains the parts before the window and undrains them afterwards.
type Maintenance struct {
	Name    string            `json:"name" doc:"Name of the maintenance."`
	Version uint64            `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time         `json:"created,omitzero" doc:"When it was created."`
	Spec    MaintenanceSpec   `json:"spec" doc:"What is not used, and when."`
	Status  MaintenanceStatus `json:"status" doc:"Phase of the maintenance, and the losses of jobs."`
	Takes   []Taken           `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r Maintenance) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// MaintenanceSpec defines what is not used, and when.
type MaintenanceSpec struct {
	Objects  []MaintenanceObject `json:"objects" minItems:"1" maxItems:"256" doc:"What is not used."`
	From     time.Time           `json:"from" doc:"When the window begins."`
	Until    time.Time           `json:"until" doc:"When it ends: what was drained for it is used again."`
	Lead     Duration            `json:"lead,omitempty" doc:"So long before the window its objects are drained. Default 0."`
	Priority int                 `json:"priority,omitempty" minimum:"0" maximum:"1000" doc:"It is refused where a running job of a higher priority depends on an object. Default 0."`
}

// MaintenanceObject is an object that a maintenance drains: exactly one of a link in both
// directions, a switch, a plane, and a port of a host.
type MaintenanceObject struct {
	Link  topology.LinkID `json:"link,omitempty" maxLength:"512" doc:"Id of a link, which is drained in both directions."`
	Node  string          `json:"node,omitempty" maxLength:"253" doc:"Id of a switch as a node of the topology, or the name that it shows."`
	Plane int             `json:"plane,omitempty" minimum:"0" doc:"Number of a plane."`
	Host  string          `json:"host,omitempty" maxLength:"253" doc:"Name of a host, with port."`
	Port  uint8           `json:"port,omitempty" maximum:"31" doc:"Port of the host, from 1."`
}

// String returns kind and name, in the form of drains.
func (o MaintenanceObject) String() string {
	switch {
	case o.Link != "":
		return "link " + string(o.Link)
	case o.Node != "":
		return "node " + o.Node
	case o.Plane != 0:
		return fmt.Sprintf("plane %d", o.Plane)
	}
	return fmt.Sprintf("host %s port %d", o.Host, o.Port)
}

// Part returns the part of the network that the object names.
func (o MaintenanceObject) Part() Part {
	switch {
	case o.Link != "":
		return Part{PartLink, string(o.Link)}
	case o.Node != "":
		return Part{PartSwitch, o.Node}
	case o.Plane != 0:
		return Part{PartPlane, strconv.Itoa(o.Plane)}
	}
	return Part{PartPort, fmt.Sprintf("%s/%d", o.Host, o.Port)}
}

// Parts returns the parts of the network that are not used.
func (s *MaintenanceSpec) Parts() []Part {
	out := make([]Part, len(s.Objects))
	for i, o := range s.Objects {
		out[i] = o.Part()
	}
	return out
}

// kinds returns the number of kinds set; one is right.
func (o MaintenanceObject) kinds() (n int) {
	for _, is := range [...]bool{o.Link != "", o.Node != "", o.Plane != 0,
		o.Host != "" || o.Port != 0} {
		if is {
			n++
		}
	}
	return n
}

// MaintenancePhase is the progress of a maintenance.
type MaintenancePhase string

// The phases.
const (
	MaintenancePlanned  MaintenancePhase = "Planned"  // its objects are in use
	MaintenanceDraining MaintenancePhase = "Draining" // and are being drained
	MaintenanceActive   MaintenancePhase = "Active"   // the window has begun
	MaintenanceEnded    MaintenancePhase = "Ended"    // what it drained is used again
)

// MaintenanceStatus is what the controller reports about a maintenance.
type MaintenanceStatus struct {
	Conditions Conditions               `json:"conditions,omitempty" doc:"Accepted; Programmed: all its objects are drained; Degraded: jobs lose something, or an object cannot be drained."`
	Phase      MaintenancePhase         `json:"phase,omitempty" enum:"Planned,Draining,Active,Ended" doc:"How far it is."`
	Drains     time.Time                `json:"drains,omitzero" doc:"When its objects are drained."`
	Objects    []MaintenanceObjectState `json:"objects,omitempty" doc:"Objects of the maintenance, once their drains have begun."`
	Jobs       []MaintenanceJob         `json:"jobs,omitempty" doc:"The jobs that lose something without its objects, of an intact fabric."`
}

// MaintenanceObjectState is the progress of the drain of an object.
type MaintenanceObjectState struct {
	Object  string `json:"object" doc:"What it is."`
	Drained bool   `json:"drained" doc:"No host uses it any more."`
	Why     string `json:"why,omitempty" doc:"Why it is not drained."`
}

// MaintenanceJob has the losses of a job.
type MaintenanceJob struct {
	Name     string            `json:"name" doc:"Name of the job."`
	Priority int               `json:"priority" doc:"Its priority."`
	Running  bool              `json:"running" doc:"It has started."`
	CutOff   int               `json:"cutOff" doc:"How many of its ranks have no port left."`
	NICs     []string          `json:"nics,omitempty" doc:"Their NICs, at most five."`
	Left     float64           `json:"left" doc:"Of its pairs of racks that talk, the least share of paths that is left, of 1."`
	Lose     int               `json:"lose" doc:"How many pairs of racks that talk lose paths."`
	Pairs    []MaintenancePair `json:"pairs,omitempty" doc:"These, those that lose most first, at most 16."`
}

// MaintenancePair has the losses of a pair of racks.
type MaintenancePair struct {
	From   string `json:"from" doc:"The rack that sends, by its switches."`
	To     string `json:"to" doc:"The rack that receives."`
	Before int    `json:"before" doc:"Paths of an intact fabric, over all planes."`
	After  int    `json:"after" doc:"Those that are left."`
}

// Equal reports whether two specs say the same.
func (s *MaintenanceSpec) Equal(o *MaintenanceSpec) bool {
	return slices.Equal(s.Objects, o.Objects) && s.From.Equal(o.From) && s.Until.Equal(o.Until) &&
		s.Lead == o.Lead && s.Priority == o.Priority
}

// Drains returns when the objects are drained.
func (s *MaintenanceSpec) Drains() time.Time { return s.From.Add(-s.Lead.D()) }

// Validate returns all faults of a spec at a time, or nil. unknown returns why an object cannot be
// drained because it does not exist, "" if the object exists.
func (s *MaintenanceSpec) Validate(now time.Time, unknown func(i int) string) error {
	var v validator
	v.count("spec.objects", len(s.Objects), 1, MaxMaintenanceObjects, "number of objects")
	for i, o := range s.Objects {
		at := fmt.Sprintf("spec.objects[%d]", i)
		switch {
		case o.kinds() != 1 || o.Plane < 0 || (o.Host == "") != (o.Port == 0):
			v.bad(at, strconv.Quote(o.String()), "one of link, node, plane, and host with port")
		case slices.Contains(s.Objects[:i], o):
			v.bad(at, strconv.Quote(o.String()), "an object that is not in the list before")
		case unknown(i) != "":
			v.bad(at, strconv.Quote(o.String()), "an object of the fabric: "+unknown(i))
		}
	}
	if s.From.IsZero() {
		v.bad("spec.from", "missing", "when the window begins")
	}
	if !s.Until.After(s.From) {
		v.bad("spec.until", s.Until.Format(time.RFC3339), "a time after that of from")
	} else if !s.Until.After(now) {
		v.bad("spec.until", s.Until.Format(time.RFC3339),
			"a time that is not past: it is "+now.UTC().Format(time.RFC3339))
	}
	if s.Lead < 0 || s.Lead.D() > MaxMaintenanceLead {
		v.bad("spec.lead", s.Lead.String(), fmt.Sprintf("a duration of at most %v", MaxMaintenanceLead))
	}
	v.count("spec.priority", s.Priority, 0, MaxJobPriority, "priority")
	return Refuse(v.found)
}
