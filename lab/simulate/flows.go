package simulate

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/flows"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/topology"
)

// The models of a scenario.
const (
	modelPackets = "packets"
	modelFlows   = "flows"
)

// Times are how long hosts and the controller take, for model flows. Of the defaults tell is
// measured (docs/scale.md), ask and detect those of model packets, and stall an estimate of one
// example run.
type Times struct {
	Stall  time.Duration `yaml:"stall,omitempty" doc:"how long messages wait whose paths fail, until their NICs have found the losses, keep off these paths and have sent again what was lost" default:"60us, an estimate from one run of model packets"`
	Ask    time.Duration `yaml:"ask,omitempty" doc:"how long a NIC waits for a last acknowledgement before the NIC asks for it" default:"70us, as model packets has with links of 100 Gb/s and 1 us"`
	Detect time.Duration `yaml:"detect,omitempty" doc:"from a failure to the topology that shows the failure" default:"7.5ms, as with model packets on average"`
	Tell   time.Duration `yaml:"tell,omitempty" doc:"from the topology to the last host" default:"0.3ms and 40us for each host of the jobs, the p99 of [scale.md](../scale.md#from-a-lost-link-to-the-last-host)"`
}

const (
	stallTime     = 60 * time.Microsecond
	askTime       = 70 * time.Microsecond
	tellTime      = 300 * time.Microsecond
	tellTimeAHost = 40 * time.Microsecond
	// knownLoss is the share of lost packets from which on hosts find a link by themselves and avoid
	// the link.
	knownLoss = 0.01
)

// complete fills in defaults for a number of hosts.
func (t *Times) complete(c checks, hosts int) {
	for _, x := range []struct {
		field string
		value *time.Duration
		usual time.Duration
	}{{"times.stall", &t.Stall, stallTime}, {"times.ask", &t.Ask, askTime},
		{"times.detect", &t.Detect, lab.DefaultLatencies().Detect * 3 / 4},
		{"times.tell", &t.Tell, tellTime + time.Duration(hosts)*tellTimeAHost}} {
		if *x.value < 0 {
			c.bad(x.field, *x.value, "0s or more")
		}
		if *x.value == 0 {
			*x.value = x.usual
		}
	}
}

// fluid is the fabric of a scenario with its jobs, for model flows.
type fluid struct {
	network *flows.Network
	model   *flows.Model
	nodes   map[string]topology.NodeID // by name of the switch
	ports   map[[2]string]int          // by host and switch, from 1
	restore time.Duration              // until what came back is used again
	jobs    []flows.Job
	links   map[int]float64 // that lead away from hosts, by tier
}

// completeFlows makes the fabric and the jobs of model flows.
func (s *Scenario) completeFlows(c checks) error {
	used := map[string]bool{}
	for i := range s.Jobs {
		for _, h := range s.Jobs[i].hosts {
			used[h] = true
		}
	}
	s.Times.complete(c, len(used))
	if len(*c.faults) > 0 {
		return nil
	}
	f := &fluid{nodes: map[string]topology.NodeID{}, ports: map[[2]string]int{}}
	settings, snapshot, hosts := s.described(f)
	core, err := mrc.New(mrc.Config{MRC: settings, Epoch: 1})
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if err := core.PutHost(h); err != nil {
			return err
		}
	}
	core.SetTopology(snapshot)
	core.InSync()
	core.Ready()
	found, _ := core.Network()
	if found == nil {
		return fmt.Errorf("network: no fabric: %w", core.Failure())
	}
	f.restore = settings.Restore.Hold.D() + s.Times.Detect + s.Times.Tell
	f.network = &flows.Network{Fabric: found, MRC: &settings, Hosts: map[string]flows.Host{},
		Payload: lab.PayloadShare, Frame: lab.FullFrame, Parts: flows.MostParts}
	rate, delay := map[string]uint64{}, map[string]float64{}
	for _, l := range s.network.Links {
		rate[l.A], rate[l.B] = l.Rate, l.Rate
		delay[l.A], delay[l.B] = l.Delay.Seconds(), l.Delay.Seconds()
	}
	for _, h := range hosts {
		f.network.Hosts[h.Name] = flows.Host{At: h.At, Rate: rate[h.Name], Delay: delay[h.Name]}
	}
	f.countLinks()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		of := flows.Job{Name: j.Name, NICs: j.hosts, Compute: j.Step.Compute, Latency: j.Latency,
			At: j.At, Steps: j.Steps}
		for _, g := range j.groups {
			of.Groups = append(of.Groups, flows.Group{Ranks: g.ranks, Collective: g.collective,
				Octets: g.octets})
		}
		f.jobs = append(f.jobs, of)
	}
	if f.model, err = f.compile(s.Events); err != nil {
		c.bad("jobs", len(f.jobs), err.Error())
	}
	s.flows = f
	return nil
}

// compile makes a model of the jobs. The hosts that events name are in no class with others.
func (f *fluid) compile(events []Event) (*flows.Model, error) {
	var apart []string
	for i := range events {
		if k := events[i].part.kind; k == "host" || k == "link" {
			apart = append(apart, events[i].part.names...)
		}
	}
	return f.network.Compile(context.Background(), f.jobs, apart...)
}

// countLinks counts the links that lead away from hosts.
func (f *fluid) countLinks() {
	f.links = map[int]float64{}
	for i := range int32(f.network.Fabric.Len()) {
		if e := f.network.Fabric.Edge(i); e.Rises() {
			tier, _ := f.network.Fabric.Clos().Tier(e.Local)
			f.links[tier]++
		}
	}
	for _, h := range f.network.Hosts {
		f.links[-1] += float64(h.At.Ports())
	}
}

// described returns the network as a controller learns it: by its own settings, or, where it has
// more hosts than a lab can address, with structured EVs.
func (s *Scenario) described(f *fluid) (m inventory.MRC, all *topology.Snapshot,
	hosts []fabric.Host) {
	n := &s.network
	ports := map[string]int{}
	at := map[string]ev.Attachment{}
	isHost := make(map[string]bool, len(n.Hosts))
	for _, h := range n.Hosts {
		isHost[h.Name] = true
	}
	small := len(n.Hosts) <= maxHosts
	b := topology.NewBuilder()
	for i, sw := range n.Switches {
		f.nodes[sw.Name] = topology.NodeID(sw.Name)
		if small {
			f.nodes[sw.Name] = lab.NodeID(sw)
			continue
		}
		b.SetNode(topology.Node{ID: topology.NodeID(sw.Name), Name: sw.Name,
			Loopback: address(0, i)})
	}
	for _, l := range n.Links {
		host, sw := l.A, l.B
		switch {
		case isHost[l.B]:
			host, sw = l.B, l.A
		case !isHost[l.A]:
			if small {
				continue
			}
			ports[l.A]++
			ports[l.B]++
			for _, d := range [][2]string{{l.A, l.B}, {l.B, l.A}} {
				micros := uint32(l.Delay / time.Microsecond)
				b.SetLink(topology.Link{Local: topology.NodeID(d[0]), Remote: topology.NodeID(d[1]),
					LocalID: uint32(ports[d[0]]), RemoteID: uint32(ports[d[1]]), IGPMetric: 10,
					MaxBandwidth: l.Rate, Delay: topology.Delay{Known: true, Average: micros, Min: micros,
						Max: micros}})
			}
			continue
		}
		at[host] = append(at[host], f.nodes[sw])
		f.ports[[2]string{host, sw}] = len(at[host])
	}
	if small {
		m = *lab.MRCSettings(n, s.mode)
		if n.MRC != nil {
			m = *n.MRC
		}
		m.Mode = s.mode.String()
		all = n.Topology().Snapshot()
		inv := n.Inventory(nil)
		return m, all, fabric.HostsOf(&inv, plan.Nodes(all, &inv))
	}
	m = inventory.Default().MRC
	m.Mode, m.Profiles = ev.ModeStructured.String(), "jobs"
	for i, h := range n.Hosts {
		hosts = append(hosts, fabric.Host{Name: h.Name, Address: address(1, i), At: at[h.Name]})
	}
	return m, b.Build(), hosts
}

// address returns the i-th address of a kind.
func address(kind byte, i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, kind, byte(i >> 16), byte(i >> 8),
		byte(i), 15: 1})
}

// changes returns the states that the events lead to, and by event the time until hosts know the
// event and the place of the event's change.
func (s *Scenario) changes() (out []flows.Change, told []time.Duration, place []int) {
	wrong := map[string]*Event{}  // what is lost, by part and kind of the loss
	untold := map[string]*Event{} // of this, what hosts were not told of
	type moment struct {
		at    time.Duration
		do    func()
		hit   bool
		event int // -1: hosts are told of one
	}
	var moments []moment
	for i := range s.Events {
		e := &s.Events[i]
		verb, _, _ := e.verb()
		tell := s.Times.Detect + s.Times.Tell
		m := moment{at: e.At, event: i}
		key := e.part.String()
		drained := "drained " + e.window + " " + key // each maintenance has drains of its own
		switch verb {
		case "fail":
			m.hit = true
			m.do = func() { wrong[key], untold[key] = e, e }
			moments = append(moments, moment{at: e.At + tell, event: -1, do: func() {
				if untold[key] == e {
					delete(untold, key)
				}
			}})
		case "repair":
			if m.at += s.flows.restore; s.grey(key, i) {
				m.at = e.At + s.Times.Stall
			}
			tell = m.at - e.At
			m.do = func() {
				delete(wrong, key)
				delete(untold, key)
			}
		case "drain":
			tell = s.Times.Tell
			m.at += tell
			m.do = func() { wrong[drained] = e }
		case "undrain":
			tell = s.Times.Tell
			m.at += tell
			m.do = func() { delete(wrong, drained) }
		}
		told = append(told, tell)
		moments = append(moments, m)
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return int(a.at - b.at) })
	place = make([]int, len(s.Events))
	for n, m := range moments {
		if m.event >= 0 {
			place[m.event] = n
		}
		m.do()
		c := flows.Change{At: m.at, State: s.lost(wrong), Untold: s.lost(untold).Losses,
			Ask: s.Times.Ask}
		if m.hit {
			c.Stall = s.Times.Stall
		}
		out = append(out, c)
	}
	return out, told, place
}

// lost returns the state of failures and drains.
func (s *Scenario) lost(of map[string]*Event) flows.State {
	to := flows.State{Ports: map[string]hostapi.PortMask{}, Slower: map[topology.LinkID]float64{}}
	for _, key := range sortedKeys(of) {
		s.lose(&to, of[key])
	}
	return to
}

// grey reports whether a part last failed before an event without going down.
func (s *Scenario) grey(part string, before int) bool {
	for _, e := range slices.Backward(s.Events[:before]) {
		if e.Fail != "" && e.part.String() == part {
			return e.Loss+e.Corrupt > 0 || e.Delay > 0
		}
	}
	return false
}

// lose puts a failure or a drain into a state. A link that loses few packets stays in use.
func (s *Scenario) lose(to *flows.State, e *Event) {
	f, p := s.flows, e.part
	switch p.kind {
	case "switch":
		to.Nodes = append(to.Nodes, f.nodes[p.names[0]])
	case "plane":
		number, _ := strconv.Atoi(p.names[0])
		if plane, err := s.network.Plane(number); err == nil {
			for _, name := range plane.Switches {
				to.Nodes = append(to.Nodes, f.nodes[name])
			}
		}
	case "host":
		to.Ports[p.names[0]] = ^hostapi.PortMask(0)
	case "link":
		for _, ends := range [][2]string{{p.names[0], p.names[1]}, {p.names[1], p.names[0]}} {
			if port, ok := f.ports[ends]; ok {
				to.Ports[ends[0]] |= hostapi.Ports(port)
			}
		}
		partial := e.Loss+e.Corrupt > 0 || e.Delay > 0
		for i, ends := range [][2]string{{p.names[0], p.names[1]}, {p.names[1], p.names[0]}} {
			side := []lab.Direction{lab.DirectionAB, lab.DirectionBA}[i]
			if partial && e.Direction != "" && e.Direction != lab.DirectionBoth && e.Direction != side {
				continue
			}
			for _, l := range f.network.Fabric.Snapshot().LinksFrom(f.nodes[ends[0]]) {
				switch {
				case l.Remote != f.nodes[ends[1]]:
				case !partial || e.Loss+e.Corrupt >= knownLoss:
					to.Directed = append(to.Directed, l.ID)
				default:
					to.Slower[l.ID] += e.Delay.Seconds()
				}
			}
		}
	}
}

// runFlows is [Run] of model flows.
func (s *Scenario) runFlows(ctx context.Context) (*Result, error) {
	changes, told, place := s.changes()
	o, err := s.flows.model.Run(ctx, changes, s.Limit)
	if err != nil {
		return nil, err
	}
	r := &Result{Seed: s.Seed, Ended: o.Ended}
	for i := range o.Jobs {
		of, j := &o.Jobs[i], &s.Jobs[i]
		out := JobResult{Name: j.Name, Ranks: len(j.hosts), Want: j.Steps, Least: of.Least,
			Bound: of.Bound}
		for _, x := range of.Steps {
			out.Steps = append(out.Steps, StepTime(x))
		}
		switch {
		case len(of.CutOff) > 0:
			out.Failed = fmt.Sprintf("%d of %d ranks are cut off, %s first", len(of.CutOff), len(j.hosts),
				j.hosts[of.CutOff[0]])
		case len(of.Steps) < j.Steps:
			out.Failed = fmt.Sprintf("%d of %d steps had ended when the run ended at its limit",
				len(of.Steps), j.Steps)
		}
		r.Jobs = append(r.Jobs, out)
	}
	for i := range s.Events {
		e := &s.Events[i]
		x := EventResult{At: e.At, What: e.String()}
		if lost := o.Lost[place[i]]; lost.Hosts > 0 {
			x.Hosts, x.Denied, x.Told = lost.Hosts, lost.Denied, told[i]
		}
		r.Events = append(r.Events, x)
	}
	r.Tiers = s.tiersOf(o)
	return r, nil
}

// tiersOf returns the use of the links that lead away from hosts, by tier.
func (s *Scenario) tiersOf(o *flows.Outcome) (tiers []TierUse) {
	for _, u := range o.Links { // those with the most use first
		if !u.Up {
			continue
		}
		n := slices.IndexFunc(tiers, func(t TierUse) bool { return t.Tier == u.Tier })
		if n < 0 {
			n, tiers = len(tiers), append(tiers, TierUse{Tier: u.Tier, Most: u.Used, Link: u.Link})
		}
		tiers[n].Mean += u.Used * u.Count / s.flows.links[u.Tier]
	}
	slices.SortFunc(tiers, func(a, b TierUse) int { return a.Tier - b.Tier })
	return tiers
}
