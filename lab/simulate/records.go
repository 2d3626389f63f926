package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/lab"
)

// A Maintenance is a window of time in which the controller drains parts of the fabric. A client
// asks the controller for the window.
type Maintenance struct {
	Name     string        `yaml:"name" doc:"name of the maintenance" default:"required"`
	At       time.Duration `yaml:"at,omitempty" doc:"when a client asks the controller for it" default:"0s"`
	Objects  []string      `yaml:"objects" doc:"what is drained: 'link A B', the port of a host as 'link H1 A', 'switch A' or 'plane 2'"`
	From     time.Duration `yaml:"from" doc:"when the window begins, from the start of the jobs"`
	Until    time.Duration `yaml:"until" doc:"when it ends, and the objects are used again"`
	Lead     time.Duration `yaml:"lead,omitempty" doc:"so long before 'from' the objects are drained" default:"0s"`
	Priority int           `yaml:"priority,omitempty" doc:"with model 'packets' the controller refuses it where a running job of a higher priority loses something" default:"0"`

	parts []part
}

// drains returns the time of the drains.
func (m *Maintenance) drains() time.Duration { return max(m.At, m.From-m.Lead) }

// A Notice is what the controller told its clients at a time.
type Notice struct {
	At   time.Duration
	Says string
}

// completeMaintenance finds the objects of the i-th maintenance, and makes two events for each
// object: drain and undrain.
func (s *Scenario) completeMaintenance(c checks, i int) {
	m := &s.Maintenances[i]
	checkName(c, m.Name, "maintenance", slices.ContainsFunc(s.Maintenances[:i],
		func(o Maintenance) bool { return o.Name == m.Name }))
	if s.Transport == lab.RoCE {
		c.bad("name", strconv.Quote(m.Name), "no maintenances with transport roce")
	}
	if m.At < 0 {
		c.bad("at", m.At, "0s or more")
	}
	if m.Lead < 0 {
		c.bad("lead", m.Lead, "0s or more")
	}
	if m.From < 0 {
		c.bad("from", m.From, "0s or more")
	}
	if m.Until <= max(m.From, m.At) {
		c.bad("until", m.Until, fmt.Sprintf("a time after from and at, %v", max(m.From, m.At)))
	}
	checkPriority(c, m.Priority)
	if len(m.Objects) == 0 {
		c.bad("objects", "empty", "one object at least")
	}
	m.parts = nil
	for n, text := range m.Objects {
		p, err := parsePart(text, &s.network)
		if field := fmt.Sprintf("objects[%d]", n); err != nil {
			c.bad(field, strconv.Quote(text), err.Error())
		} else if p.kind == "host" {
			c.bad(field, strconv.Quote(text), drainable)
		}
		m.parts = append(m.parts, p)
		s.Events = append(s.Events,
			Event{At: m.drains(), Drain: text, part: p, window: m.Name},
			Event{At: m.Until, Undrain: text, part: p, window: m.Name})
	}
}

// drainable is what drains and maintenances take.
const drainable = "'link A B', 'switch A' or 'plane 2'"

// checkName checks the name of a record of the controller.
func checkName(c checks, name, kind string, taken bool) {
	var wrong *api.Error
	if taken {
		c.bad("name", strconv.Quote(name), "a name that no other "+kind+" has")
	} else if err := api.ValidateName(name); errors.As(err, &wrong) {
		c.bad("name", strconv.Quote(name), wrong.Fields[0].Want)
	}
}

func checkPriority(c checks, priority int) {
	if priority < 0 || priority > api.MaxJobPriority {
		c.bad("priority", priority, fmt.Sprintf("0 to %d", api.MaxJobPriority))
	}
}

// A client of the API asks the controller of a run for jobs and maintenances, and notes the
// controller's answers.
type client struct {
	control *lab.Control
	began   time.Duration // of the jobs; 0 before
	notices []Notice
	mute    bool // there is no MRC fabric: the client writes no jobs
}

// notes are the types of events that a client notes.
var notes = []api.EventType{api.EventDrainChanged, api.EventMaintenanceBegan,
	api.EventMaintenanceEnded, api.EventJobReady, api.EventJobBlocked}

// hear notes an event of the controller from the begin of the jobs on.
func (c *client) hear(e api.Event) {
	if c.began > 0 && slices.Contains(notes, e.Type) {
		e.Say()
		c.note("%s", e.Sentence)
	}
}

// note adds a notice: at 0 before the begin of the jobs.
func (c *client) note(format string, args ...any) {
	at := time.Duration(0)
	if c.began > 0 {
		at = c.control.World.Now() - c.began
	}
	c.notices = append(c.notices, Notice{at, fmt.Sprintf(format, args...)})
}

// ask makes a change of the controller, and notes its refusal.
func (c *client) ask(what string, change func(*controller.Core) error) {
	if err := c.control.Change(change); err != nil && !errors.Is(err, resource.ErrUnchanged) {
		c.note("%s is refused: %v", what, err)
	}
}

// put writes a job in a state. After the controller refused to place a job, put leaves the job out.
func (c *client) put(j *Job, state api.JobState) {
	if c.mute || !j.talks() {
		return
	}
	if _, err := c.control.Core().Jobs().Get(j.Name); err != nil && state != api.JobPlaced {
		return
	}
	spec := api.JobSpec{Hosts: strings.Join(j.hosts, ","), Layout: j.Layout,
		Communicators: j.Communicators, Priority: j.Priority, State: state}
	c.ask("Job "+j.Name, func(core *controller.Core) error {
		_, _, err := core.Jobs().Put(j.Name, spec, resource.Precondition{})
		return err
	})
}

// talks reports whether the API takes a job: a layout, or the patterns of communicators, says who
// talks to whom.
func (j *Job) talks() bool {
	return j.Layout != nil || len(j.Communicators) > 0 && !slices.ContainsFunc(j.Communicators,
		func(c api.JobCommunicator) bool { return c.Pattern == "" })
}

// start notes the controller's GO or NO-GO for a job, and starts the job in either case.
func (c *client) start(j *Job) {
	if v, err := c.control.Core().Jobs().Get(j.Name); err == nil {
		c.note("Job %s starts: %s.", j.Name, cmp.Or(v.Status.Conditions.Find(api.Ready).Message, "GO"))
	}
	c.put(j, api.JobRunning)
}

// maintain asks for a maintenance.
func (c *client) maintain(m *Maintenance) {
	spec := api.MaintenanceSpec{From: c.control.Wall(c.began + m.From),
		Until: c.control.Wall(c.began + m.Until), Lead: api.Duration(m.Lead), Priority: m.Priority}
	for _, p := range m.parts {
		o, err := target(c.control, p)
		if err != nil {
			c.note("Maintenance %s is refused: %v", m.Name, err)
			return
		}
		spec.Objects = append(spec.Objects, api.MaintenanceObject{Link: o.Link, Node: string(o.Node),
			Plane: o.Plane, Host: o.Host, Port: o.Port})
	}
	c.ask("Maintenance "+m.Name, func(core *controller.Core) error {
		v, _, err := core.Maintenances().Put(m.Name, spec, resource.Precondition{})
		if err != nil {
			return err
		}
		c.note("Maintenance %s is accepted.", m.Name)
		for _, j := range v.Status.Jobs {
			c.note("Job %s loses by maintenance %s: paths of %d pairs of racks, and %d of its ranks are "+
				"cut off.", j.Name, m.Name, j.Lose, j.CutOff)
		}
		return nil
	})
}

// goWithin bounds the time from the placement of the jobs to GO.
const goWithin = 5 * time.Second

// place writes the jobs, and waits until the controller says GO. In mode ecmp no job is GO.
func (c *client) place(s *Scenario) {
	for i := range s.Jobs {
		c.put(&s.Jobs[i], api.JobPlaced)
	}
	w := c.control.World
	w.Run(w.Now()+goWithin, func() bool {
		return s.mode == ev.ModeECMP || !slices.ContainsFunc(s.Jobs, func(j Job) bool {
			v, err := c.control.Core().Jobs().Get(j.Name)
			return err == nil && !v.Status.Conditions.Is(api.Ready)
		})
	})
	c.began = cmp.Or(w.Now(), 1)
}
