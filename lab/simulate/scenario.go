package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/layout"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/flows"
	"github.com/weft-sdn/weft/internal/hostlist"
	"github.com/weft-sdn/weft/internal/strictyaml"
	"github.com/weft-sdn/weft/lab"
)

// A Scenario has a fabric, jobs on the fabric, events meanwhile, and expectations.
type Scenario struct {
	Network string        `yaml:"network,omitempty" doc:"'clos', or a file of a lab ([labs.md](../labs.md)) whose hosts all have transport 'mrc'" default:"clos"`
	Clos    Clos          `yaml:"clos,omitempty" doc:"of network 'clos'"`
	Mode    string        `yaml:"mode,omitempty" doc:"how packets carry their path: 'ecmp', 'stev', 'usid-f3216', 'usid-f1616', 'usid-srh' or 'usid-structured'" default:"that of the network"`
	Model   string        `yaml:"model,omitempty" doc:"'packets': every packet is simulated; or 'flows': packets are a fluid" default:"packets up to 64 hosts, flows beyond"`
	Times   Times         `yaml:"times,omitempty" doc:"of model 'flows': how long hosts and the controller take"`
	Seed    uint64        `yaml:"seed,omitempty" doc:"of everything random: the same scenario with the same seed gives the same output" default:"1"`
	Limit   time.Duration `yaml:"limit,omitempty" doc:"the time of the fabric after which the run ends, whatever is left" default:"1m"`
	Jobs    []Job         `yaml:"jobs"`
	Events  []Event       `yaml:"events,omitempty"`
	Expect  []Expectation `yaml:"expect,omitempty"`

	Maintenances []Maintenance `yaml:"maintenances,omitempty"`

	// Transport is what the queue pairs of hosts speak.
	Transport lab.Transport `yaml:"transport,omitempty" doc:"'mrc', or 'roce' for RoCEv2 RC with ECMP, go-back-N and DCQCN, for comparison: a fabric of one plane, model 'packets'" default:"mrc"`

	network lab.Network
	mode    ev.Mode
	flows   *fluid // with model flows
}

// Clos is a fabric of planes: see [lab.ClosConfig].
type Clos struct {
	Planes     int           `yaml:"planes,omitempty" doc:"planes; each host has a port in each" default:"2"`
	Tiers      int           `yaml:"tiers,omitempty" doc:"tiers of switches, 2 or 3" default:"2"`
	Pods       int           `yaml:"pods,omitempty" doc:"with three tiers: the T0s and T1s of a plane are spread over so many pods" default:"2"`
	T0         int           `yaml:"t0,omitempty" doc:"T0 switches of a plane" default:"4"`
	T1         int           `yaml:"t1,omitempty" doc:"T1 switches of a plane" default:"4"`
	T2         int           `yaml:"t2,omitempty" doc:"with three tiers: T2 switches of a plane" default:"as many as a T1 has T0s"`
	HostsPerT0 int           `yaml:"hostsPerT0,omitempty" doc:"hosts of a rack, named H1 and so on from rack to rack" default:"4"`
	Rate       Rate          `yaml:"rate,omitempty" doc:"bits per second of every link, such as 400G" default:"100G"`
	Delay      time.Duration `yaml:"delay,omitempty" doc:"of every link, one way" default:"1us"`
}

// Job describes steps of computing and communicating on some hosts, one rank each.
type Job struct {
	Name          string                `yaml:"name" doc:"name of the job" default:"required"`
	Hosts         string                `yaml:"hosts,omitempty" doc:"hosts in the order of the ranks, as Slurm writes lists: 'H[1-16]'" default:"all hosts"`
	Layout        *api.JobLayout        `yaml:"layout,omitempty" doc:"as a job of the API has it: sizes of the parallel groups, which the communicators 'tp', 'cp', 'dp' ('dp-cp' with cp), 'ep', 'edp' and 'pp' follow from"`
	Communicators []api.JobCommunicator `yaml:"communicators,omitempty" doc:"in place of 'layout', as a job of the API has them: who talks to whom" default:"one of all ranks, 'all'"`
	Step          Step                  `yaml:"step" doc:"what each step does"`
	Steps         int                   `yaml:"steps,omitempty" doc:"number of steps" default:"1"`
	At            time.Duration         `yaml:"at,omitempty" doc:"when the first step begins" default:"0s"`
	Priority      int                   `yaml:"priority,omitempty" doc:"of the job, as a job of the API has it: the controller refuses a maintenance of a lower priority while the job runs and loses something" default:"0"`
	Latency       time.Duration         `yaml:"latency,omitempty" doc:"constant time from the arrival of a message at a rank to the messages that depend on the message: copies and reductions within the machine" default:"0s"`
	groups        []group
	hosts         []string
}

// Step is what each rank does in a step: it computes, and then takes part in the collectives of all
// its communicators at once.
type Step struct {
	Compute    time.Duration         `yaml:"compute,omitempty" doc:"time in which a rank computes before it communicates" default:"0s"`
	Bytes      map[string]Size       `yaml:"bytes,omitempty" doc:"data of a communicator by name, in octets such as 64MiB"`
	Collective map[string]Collective `yaml:"collective,omitempty" doc:"how a communicator exchanges its data, by name: 'all-reduce-ring', 'all-reduce-tree', 'reduce-scatter', 'all-gather', 'all-to-all', 'pairwise', 'pipeline', 'broadcast' or, with transport 'roce', 'broadcast-multicast', by a multicast group" default:"by the pattern of the communicator: all-reduce-ring for ring"`
}

// An Event changes the fabric at a time, by one of Fail, Repair, Drain and Undrain.
type Event struct {
	At        time.Duration `yaml:"at" doc:"when, from the start of the jobs" default:"0s"`
	Fail      string        `yaml:"fail,omitempty" doc:"what fails: 'link A B', 'switch A', 'host H1' or 'plane 2'"`
	Repair    string        `yaml:"repair,omitempty" doc:"what works again"`
	Drain     string        `yaml:"drain,omitempty" doc:"what the controller drains: 'link A B', the port of a host as 'link H1 A', 'switch A' or 'plane 2'"`
	Undrain   string        `yaml:"undrain,omitempty" doc:"what the controller uses again"`
	Loss      float64       `yaml:"loss,omitempty" doc:"of a link that fails: the share of frames that are lost, while both ends see the link up. With model 'packets' also of a plane: on all its links to hosts, in the direction of the hosts, so that each packet is lost with this probability once" default:"0: the link is down"`
	Corrupt   float64       `yaml:"corrupt,omitempty" doc:"likewise: the share of frames with one bit flipped" default:"0"`
	Delay     time.Duration `yaml:"delay,omitempty" doc:"likewise: what is added to the link's delay" default:"0s"`
	Direction lab.Direction `yaml:"direction,omitempty" doc:"likewise: 'a-b' from the first end to the second alone, 'b-a', or 'both'" default:"both"`

	part    part
	window  string // the maintenance that it is a part of
	partial bool   // it loses, spoils or delays frames, and nothing goes down
}

// Expectation bounds the steps of a job.
type Expectation struct {
	Job          string          `yaml:"job" doc:"name of a job" default:"required"`
	StepIncrease *float64        `yaml:"stepIncrease,omitempty" doc:"how much longer the median step may be than the median step of the same run without events: 0.1 is a tenth"`
	Share        []float64       `yaml:"share,omitempty" doc:"the least part, and perhaps the most, that LEAST is of the time of the median step: 0.9 is nine tenths of the speed that no network can exceed"`
	Between      []time.Duration `yaml:"between,omitempty" doc:"two times: 'stepIncrease' and 'share' count the steps that begin from the first time on and before the second" default:"all steps"`
	Ends         time.Duration   `yaml:"ends,omitempty" doc:"when the last step must have ended"`
}

// part is a link, a switch, a host or a plane of a fabric.
type part struct {
	kind  string // link, switch, host, plane
	names []string
}

func (p part) String() string { return p.kind + " " + strings.Join(p.names, " ") }

// group is a communicator with the messages that its ranks send in a step.
type group struct {
	name       string
	ranks      []int
	collective Collective
	octets     int   // of data
	graph      Graph // with model packets
}

// Bounds of a scenario, for runs of minutes and not of days.
const (
	maxHosts    = 1024    // with every packet
	maxNICs     = 131_072 // with flows
	packetHosts = 64      // above, the default is flows
	maxSwitches = 4096    // of a tier of a plane, with flows
	maxSteps    = 1_000_000
	maxMessages = 4 << 20 // of a step of a job
)

// Parse reads a scenario in YAML. Faults are [strictyaml.Faults], with their lines.
func Parse(text []byte) (*Scenario, error) {
	s := &Scenario{}
	if err := strictyaml.Decode(text, s); err != nil {
		return nil, err
	}
	err := s.Complete()
	var faults strictyaml.Faults
	if errors.As(err, &faults) {
		for i := range faults {
			faults[i].Line, faults[i].Column = strictyaml.Place(text, faults[i].Field)
		}
		return nil, faults
	}
	return s, err
}

// checks collects the faults of a scenario, below a path of the text.
type checks struct {
	path   string
	faults *strictyaml.Faults
}

// bad notes a field's wrong value, and the wanted value.
func (c checks) bad(field string, value any, want string) {
	*c.faults = append(*c.faults, strictyaml.Fault{Field: c.path + field, Value: fmt.Sprint(value),
		Want: want})
}

// below returns checks of the fields below an element of a list.
func (c checks) below(list string, i int) checks {
	return checks{fmt.Sprintf("%s%s[%d].", c.path, list, i), c.faults}
}

// Complete fills in defaults and looks names up. The error is [strictyaml.Faults], or an error of
// [lab.Load].
func (s *Scenario) Complete() error {
	s.Seed, s.Limit = cmp.Or(s.Seed, 1), cmp.Or(s.Limit, time.Minute)
	var faults strictyaml.Faults
	c := checks{faults: &faults}
	if s.Limit < 0 {
		c.bad("limit", s.Limit, "a time above 0")
	}
	if err := s.completeNetwork(c); err != nil {
		return err
	}
	if len(faults) > 0 {
		return faults
	}
	if len(s.Jobs) == 0 {
		c.bad("jobs", "empty", "one job at least")
	}
	for i := range s.Jobs {
		s.completeJob(c.below("jobs", i), i)
	}
	s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.window != "" })
	for i := range s.Events {
		s.Events[i].complete(c.below("events", i), &s.network, s.Model == modelFlows)
	}
	for i := range s.Maintenances {
		s.completeMaintenance(c.below("maintenances", i), i)
	}
	for i := range s.Expect {
		s.Expect[i].check(c.below("expect", i), s.Jobs)
	}
	if len(faults) > 0 {
		return faults
	}
	if s.Model == modelFlows {
		if err := s.completeFlows(c); err != nil {
			return err
		}
		if len(faults) > 0 {
			return faults
		}
	}
	slices.SortStableFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return nil
}

// completeNetwork makes the fabric.
func (s *Scenario) completeNetwork(c checks) (err error) {
	s.Network = cmp.Or(s.Network, "clos")
	if !slices.Contains([]string{"", modelPackets, modelFlows}, s.Model) {
		c.bad("model", strconv.Quote(s.Model), "packets or flows")
	}
	if s.Network == "clos" {
		s.network = s.Clos.network(c, s.Model)
	} else if s.Clos != (Clos{}) {
		c.bad("clos", "given", "no clos, or network: clos")
	} else if s.network, err = lab.Load(filepath.Clean(s.Network)); err != nil {
		return err
	}
	if len(*c.faults) > 0 {
		return nil
	}
	hosts := len(s.network.MRCHosts())
	if s.Model == "" && hosts > packetHosts && s.Transport != lab.RoCE {
		s.Model = modelFlows
	}
	s.Model = cmp.Or(s.Model, modelPackets)
	if s.Model == modelPackets && hosts > maxHosts {
		c.bad("model", s.Model, fmt.Sprintf("flows with more than %d hosts", maxHosts))
		return nil
	}
	if hosts <= maxHosts {
		if err := s.network.Complete(); err != nil {
			return err
		}
	}
	if hosts != len(s.network.Hosts) || hosts < 2 {
		c.bad("network", s.Network, "a network of two hosts at least, all with transport mrc")
	}
	for i, l := range s.network.Links {
		if l.Rate == 0 {
			c.bad(fmt.Sprintf("links[%d].rate", i), 0, "a rate for every link")
			return nil
		}
	}
	if s.Transport = cmp.Or(s.Transport, lab.MRC); !s.checkTransport(c) {
		return nil
	}
	s.mode = s.network.DefaultMode()
	text := s.Mode
	if text == "" && s.network.MRC != nil {
		text = s.network.MRC.Mode
	}
	if text != "" {
		if s.mode, err = ev.ParseMode(text); err != nil {
			c.bad("mode", text, "ecmp, stev, usid-f3216, usid-f1616, usid-srh or usid-structured")
		}
	}
	s.Mode = s.mode.String()
	return nil
}

// network returns the fabric.
func (f *Clos) network(c checks, model string) lab.Network {
	f.Rate, f.Delay = cmp.Or(f.Rate, 100e9), cmp.Or(f.Delay, time.Microsecond)
	f.HostsPerT0 = cmp.Or(f.HostsPerT0, 4)
	of := lab.ClosConfig{Planes: f.Planes, Tiers: f.Tiers, T0: f.T0, T1: f.T1, Pods: f.Pods, T2: f.T2,
		Rate: uint64(f.Rate), Delay: f.Delay}.WithDefaults()
	of.Hosts = f.HostsPerT0 * of.T0
	f.Planes, f.Tiers, f.T0, f.T1, f.Pods, f.T2 = of.Planes, of.Tiers, of.T0, of.T1, of.Pods, of.T2
	most, checked := maxNICs, of
	if model == modelPackets {
		most = maxHosts
	}
	if f.HostsPerT0 < 1 || of.Hosts > most {
		c.bad("clos.hostsPerT0", f.HostsPerT0,
			fmt.Sprintf("1 at least, and at most %d hosts in all", most))
	}
	if of.Hosts > maxHosts { // what bounds addresses does not bound flows
		for _, x := range []struct {
			field string
			value int
			of    *int
		}{{"t0", of.T0, &checked.T0}, {"t1", of.T1, &checked.T1}, {"t2", of.T2, &checked.T2}} {
			if x.value < 0 || x.value > maxSwitches {
				c.bad("clos."+x.field, x.value, fmt.Sprintf("1 to %d", maxSwitches))
			}
			*x.of = min(x.value, maxHosts/4)
		}
		checked.Hosts = checked.T0
	}
	if f.Delay < 0 {
		c.bad("clos.delay", f.Delay, "0s or more")
	}
	var wrong *lab.FieldError
	if err := checked.Validate(); errors.As(err, &wrong) && len(*c.faults) == 0 {
		value, want, _ := strings.Cut(strings.TrimPrefix(wrong.Problem, "is "), ": want ")
		c.bad("clos."+wrong.Field, value, want)
	}
	if len(*c.faults) > 0 {
		return lab.Network{}
	}
	return lab.Clos(of)
}

// completeJob finds the hosts of the i-th job, and makes its messages.
func (s *Scenario) completeJob(c checks, i int) {
	j := &s.Jobs[i]
	checkName(c, j.Name, "job", slices.ContainsFunc(s.Jobs[:i],
		func(o Job) bool { return o.Name == j.Name }))
	if j.Steps = cmp.Or(j.Steps, 1); j.Steps < 1 || j.Steps > maxSteps {
		c.bad("steps", j.Steps, fmt.Sprintf("1 to %d", maxSteps))
	}
	checkPriority(c, j.Priority)
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"at", j.At}, {"latency", j.Latency}, {"step.compute", j.Step.Compute}} {
		if d.value < 0 {
			c.bad(d.field, d.value, "0s or more")
		}
	}
	j.hosts = s.network.MRCHosts()
	if j.Hosts != "" {
		var wrong *hostlist.Error
		known := make(map[string]bool, len(j.hosts))
		for _, h := range j.hosts {
			known[h] = true
		}
		hosts, err := hostlist.Parse(j.Hosts, len(j.hosts))
		switch unknown := slices.IndexFunc(hosts, func(h string) bool { return !known[h] }); {
		case errors.As(err, &wrong):
			c.bad("hosts", wrong.Value, wrong.Want)
			return
		case unknown >= 0:
			c.bad("hosts", hosts[unknown], fmt.Sprintf("hosts of the network, %s to %s", j.hosts[0],
				j.hosts[len(j.hosts)-1]))
			return
		}
		j.hosts = hosts
	}
	j.communicate(c, s.Model == modelFlows, s.Transport == lab.RoCE)
}

// communicate makes the communicators of a job and their messages.
func (j *Job) communicate(c checks, fluid, roce bool) {
	j.groups = nil
	switch n := len(j.hosts); {
	case j.Layout != nil && len(j.Communicators) > 0:
		c.bad("layout", "given", "layout or communicators, and not both")
		return
	case j.Layout != nil:
		all, err := layout.Communicators(j.Layout, n)
		var wrong api.FieldError
		if errors.As(err, &wrong) {
			c.bad(strings.TrimPrefix(wrong.Field, "spec."), wrong.Value, wrong.Want)
			return
		}
		for _, g := range all {
			name := g.Name[:strings.LastIndex(g.Name, "-")]
			j.groups = append(j.groups, group{name: name, ranks: g.Ranks,
				collective: flows.ByPattern(g.Pattern)})
		}
	default:
		given := j.Communicators
		if len(given) == 0 {
			given = []api.JobCommunicator{{Name: "all", Ranks: fmt.Sprintf("0-%d", n-1)}}
		}
		for i, g := range given {
			ranks, err := g.Members(n)
			if err != nil {
				c.bad(fmt.Sprintf("communicators[%d].ranks", i), strconv.Quote(g.Ranks), err.Error())
				return
			}
			j.groups = append(j.groups, group{name: g.Name, ranks: ranks,
				collective: flows.ByPattern(g.Pattern)})
		}
	}
	j.exchange(c, fluid, roce)
}

// exchange makes the messages of the communicators. For a fluid it only checks their exchanges.
func (j *Job) exchange(c checks, fluid, roce bool) {
	var names []string
	for _, g := range j.groups {
		if !slices.Contains(names, g.name) {
			names = append(names, g.name)
		}
	}
	want := "a communicator of the job: " + strings.Join(names, ", ")
	known := flows.Collectives()
	if roce {
		known = append(known, BroadcastMulticast)
	}
	for _, name := range sortedKeys(j.Step.Bytes) {
		if !slices.Contains(names, name) {
			c.bad("step.bytes", name, want)
		}
		if of := j.Step.Bytes[name]; of > 1<<40 {
			c.bad("step.bytes."+name, of, "at most 1024GiB")
			return
		}
	}
	for _, name := range sortedKeys(j.Step.Collective) {
		if !slices.Contains(names, name) {
			c.bad("step.collective", name, want)
		}
		if of := j.Step.Collective[name]; !slices.Contains(known, of) {
			c.bad("step.collective."+name, of, fmt.Sprintf("one of %v", known))
			return
		}
	}
	messages := 0
	for i := range j.groups {
		g := &j.groups[i]
		g.collective = cmp.Or(j.Step.Collective[g.name], g.collective)
		if g.collective == flows.Pairwise && len(g.ranks)%2 != 0 {
			c.bad("step.collective."+g.name, len(g.ranks), "an even number of ranks for pairwise")
		}
		n, octets := len(g.ranks), int(j.Step.Bytes[g.name])
		if g.octets = octets; octets == 0 || fluid {
			continue
		}
		if g.collective == flows.AllReduceTree {
			messages += 2 * n * (octets/flows.TreeChunk + 1)
		} else {
			messages += 2 * n * n
		}
		if messages > maxMessages {
			c.bad("step.bytes."+g.name, octets, fmt.Sprintf("at most %d messages a step", maxMessages))
			return
		}
		g.graph = NewGraph(g.collective, n, octets)
		for _, m := range g.graph {
			if m.Octets > maxMessage {
				c.bad("step.bytes."+g.name, j.Step.Bytes[g.name],
					fmt.Sprintf("messages of at most %v", Size(maxMessage)))
				return
			}
		}
	}
}
