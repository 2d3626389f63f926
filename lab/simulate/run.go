package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
)

// A Result describes a run. Times count from the start of the jobs.
type Result struct {
	Seed   uint64
	Jobs   []JobResult // in the order of the scenario
	Events []EventResult
	Tiers  []TierUse
	// Busiest are the directions of links with most use while the jobs ran, the busiest first: they
	// bound the collectives. With model packets.
	Busiest []DirectionUse
	Ended   time.Duration // when the run ended
	// Notices are what the controller told its clients, with model packets and transport mrc.
	Notices []Notice
}

// A JobResult describes a job of a run.
type JobResult struct {
	Name  string
	Ranks int
	Want  int // steps
	Steps []StepTime
	Counters
	// Least is the time that a step takes at least: the data of the rank with most data, at the rate
	// of the rank's ports, and the time to compute.
	Least time.Duration
	// Bound has links that bound the messages of the job, with model flows.
	Bound []string
	// Failed is why the job stopped before its last step: "" if it did not.
	Failed string
}

// A StepTime is when a step began, as the last rank had ended the step before, and the time until
// the last rank had ended the step.
type StepTime struct{ Began, Took time.Duration }

// Counters are sums over the queue pairs of a job, of packets of data alone.
type Counters struct {
	Packets, Resent uint64 // by their sources; Packets with those sent again
	Trimmed, Marked uint64 // by switches, as the ends of data saw them: acknowledgements do not count
	Timeouts        uint64 // of sources
}

// An EventResult tells how many hosts learned of an event, and when.
type EventResult struct {
	At   time.Duration
	What string
	// Told is the time until the last host applied a new state before the next event; 0: no host
	// got a new state.
	Told   time.Duration
	Hosts  int // how many hosts got another state
	Denied int // how many entropy values the hosts came to deny
	Who    []HostTold
}

// HostTold is when a host applied the last new state between an event and the next event, and how
// many entropy values it came to deny.
type HostTold struct {
	Host   string
	After  time.Duration
	Denied int
}

// A TierUse is how much of the links from the switches of a tier upwards was used while the jobs
// ran.
type TierUse struct {
	Tier       int     // the lower one; -1: the ports of hosts
	Mean, Most float64 // of the rate of a link, of 1: of all links, and of the busiest one
	Link       string  // the busiest one
}

// A DirectionUse is how much of a direction of a link was used, of 1.
type DirectionUse struct {
	Link string
	Use  float64
}

// busiestLinks is how many links Result.Busiest has at most.
const busiestLinks = 8

// ready is how long a fabric may take until every switch is programmed and every host is told.
const ready = 10 * time.Second

// Run runs a complete scenario: first the fabric until the controller has programmed it, then the
// jobs and the events until the jobs have ended or the limit is reached. Run returns early with the
// error of an ended ctx.
func Run(ctx context.Context, s *Scenario) (*Result, error) {
	if s.Model == modelFlows {
		return s.runFlows(ctx)
	}
	w, control, err := s.fabric()
	if err != nil {
		return nil, err
	}
	var workers []*worker
	qpn := uint32(firstQPN)
	memory, err := s.register(w)
	if err != nil {
		return nil, err
	}
	for i := range s.Jobs {
		k, err := s.newWorker(w, control, i, &qpn, memory)
		if err != nil {
			return nil, err
		}
		workers = append(workers, k)
	}
	by := &client{control: control, mute: s.Transport == lab.RoCE}
	control.Events = by.hear
	by.place(s)
	began := by.began
	for i, k := range workers {
		w.At(began+s.Jobs[i].At, func() {
			by.start(k.job)
			k.start()
		})
	}
	for i := range s.Maintenances {
		w.At(began+s.Maintenances[i].At, func() { by.maintain(&s.Maintenances[i]) })
	}
	var failed error
	for i := range s.Events {
		w.At(began+s.Events[i].At, func() {
			if err := s.Events[i].apply(w, by); err != nil && failed == nil {
				failed = fmt.Errorf("event %v: %w", &s.Events[i], err)
			}
		})
	}
	sent := octetsSent(w)
	events := 0
	w.Run(began+s.Limit, func() bool {
		left := false
		for _, k := range workers {
			k.collect()
			if k.left > 0 && k.err == nil {
				left = true
			} else if !k.over {
				k.over = true
				by.put(k.job, api.JobDone)
			}
		}
		if events++; events%4096 == 0 && failed == nil {
			failed = ctx.Err()
		}
		if failed == nil {
			failed = control.Err()
		}
		return failed != nil || !left
	})
	if failed != nil {
		return nil, failed
	}
	r := s.result(w, workers, began, sent)
	r.Notices = by.notices
	return r, nil
}

// fabric returns the fabric with a controller that has programmed it.
func (s *Scenario) fabric() (*lab.World, *lab.Control, error) {
	n := s.network
	n.Switches, n.Hosts = slices.Clone(n.Switches), slices.Clone(n.Hosts)
	n.Links = slices.Clone(n.Links)
	settings := *cmp.Or(n.MRC, lab.MRCSettings(&n, s.mode))
	if n.MRC == nil { // virtual time has room for the probes of a controller of its own
		usual := inventory.Default().MRC.Probes
		settings.Probes.Rate, settings.Probes.HostRate = usual.Rate, usual.HostRate
	}
	settings.Mode = s.mode.String()
	if s.Transport == lab.RoCE {
		s.speakRoCE(&n, &settings)
	}
	w, err := lab.NewWorld(n, lab.Options{Seed: s.Seed, Managed: true, Carrier: true})
	if err != nil {
		return nil, nil, err
	}
	control, err := lab.NewControl(w, lab.DefaultLatencies())
	if err != nil {
		return nil, nil, err
	}
	control.MRC = &settings
	if err := control.Start(); err != nil {
		return nil, nil, err
	}
	if !w.Run(ready, func() bool {
		return control.Programmed() && (s.Transport == lab.RoCE || control.Instructed())
	}) {
		return nil, nil, fmt.Errorf("the fabric is not programmed within %v: %v, %v", ready,
			control.Err(), control.Paths.Core().Failure())
	}
	return w, control, nil
}

// octetsSent returns the octets sent on each wire, in the order of the wires.
func octetsSent(w *lab.World) (octets []uint64) {
	for _, x := range w.Wires() {
		octets = append(octets, x.SentOctets)
	}
	return octets
}

// result describes the run.
func (s *Scenario) result(w *lab.World, workers []*worker, began time.Duration,
	sent []uint64) *Result {
	r := &Result{Seed: s.Seed, Ended: w.Now() - began}
	for _, k := range workers {
		j := JobResult{Name: k.job.Name, Ranks: len(k.ranks), Want: k.job.Steps, Counters: k.counters(),
			Least: k.least()}
		for _, x := range k.ended {
			j.Steps = append(j.Steps, StepTime{Began: x.Began - began, Took: x.Took})
		}
		switch {
		case k.err != nil:
			j.Failed = k.err.Error()
		case k.left > 0:
			j.Failed = fmt.Sprintf("%d of %d ranks were not at the end when the run ended at its limit",
				k.left, len(k.ranks))
		}
		r.Jobs = append(r.Jobs, j)
	}
	for i := range s.Events {
		r.Events = append(r.Events, s.told(w, began, i, r.Ended))
	}
	r.Tiers, r.Busiest = tiersUsed(w, sent, r.Ended)
	return r
}

// told counts the new states of hosts between the i-th event and the next event.
func (s *Scenario) told(w *lab.World, began time.Duration, i int, ended time.Duration) EventResult {
	e := &s.Events[i]
	until := ended + 1
	if next := slices.IndexFunc(s.Events, func(o Event) bool { return o.At > e.At }); next >= 0 {
		until = min(until, s.Events[next].At)
	}
	out := EventResult{At: e.At, What: e.String()}
	for _, h := range w.Network.Hosts {
		node, err := w.MRCHost(h.Name)
		if err != nil {
			continue
		}
		if at, denied, ok := node.Changed(began+e.At, began+until); ok {
			out.Told = max(out.Told, at-began-e.At)
			out.Hosts++
			out.Denied += denied
			out.Who = append(out.Who, HostTold{h.Name, at - began - e.At, denied})
		}
	}
	return out
}

// tiersUsed returns the use of the links that lead away from hosts, by tier, and the links with
// most use in any direction.
func tiersUsed(w *lab.World, before []uint64, took time.Duration) (tiers []TierUse,
	busiest []DirectionUse) {
	at := w.Network.Tiers()
	links := map[int]int{}
	for i, x := range w.Wires() {
		from, isSwitch := at[x.From]
		if !isSwitch {
			from = -1
		}
		used := float64(x.SentOctets-before[i]) * 8 / max(1e-9, took.Seconds()) / float64(x.Rate)
		busiest = append(busiest, DirectionUse{x.Name(), used})
		if to, up := at[x.To]; !up || isSwitch && to <= from || took == 0 {
			continue
		}
		n := slices.IndexFunc(tiers, func(t TierUse) bool { return t.Tier == from })
		if n < 0 {
			n, tiers = len(tiers), append(tiers, TierUse{Tier: from})
		}
		links[from]++
		tiers[n].Mean += used
		if used > tiers[n].Most {
			tiers[n].Most, tiers[n].Link = used, x.Name()
		}
	}
	slices.SortFunc(tiers, func(a, b TierUse) int { return a.Tier - b.Tier })
	for i := range tiers {
		tiers[i].Mean /= float64(links[tiers[i].Tier])
	}
	slices.SortStableFunc(busiest, func(a, b DirectionUse) int { return cmp.Compare(b.Use, a.Use) })
	return tiers, busiest[:min(len(busiest), busiestLinks)]
}

// least returns the least time of a step.
func (k *worker) least() time.Duration {
	out, in := make([]int, len(k.ranks)), make([]int, len(k.ranks))
	for _, m := range k.graph {
		out[m.from] += m.octets
		in[m.to] += m.octets
		for _, to := range m.also {
			in[to] += m.octets
		}
	}
	longest := time.Duration(0)
	for r, host := range k.job.hosts {
		rate := k.world.Network.Congestion(host).Rate
		bits := float64(max(out[r], in[r])) * 8
		longest = max(longest, time.Duration(bits/float64(rate)/k.share*float64(time.Second)))
	}
	return k.job.Step.Compute + longest
}
