package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/store"
)

// jobFabric has the NICs of the jobs that are measured: 8,192 with one rank each.
var jobFabric = lab.ClosConfig{Planes: 2, T0: 128, T1: 16, Hosts: 8192}

const (
	// jobRuns is how often a job is judged.
	jobRuns = 100
	// manyJobs share the NICs.
	manyJobs = 64
)

// jobs measures a job of 8,192 ranks (tp 8, ep 64, dp 128, pp 8), one a NIC, on two planes of 128
// T0s and 16 T1s. job/plan is the time from a write until the pairs of NICs and racks are known,
// also of 64 jobs of 128 ranks; job/ready from the facts to GO or NO-GO; job/dependents finds which
// of 64 jobs of 1,024 hosts depend on a switch. job/profiles counts the EV profiles of all pairs of
// racks and of pairs in jobs alone.
func jobs(ctx context.Context, out *report) error {
	out.tell("jobs: %d ranks on %d racks", jobFabric.Hosts, jobFabric.T0)
	network := lab.Clos(jobFabric)
	if err := network.Complete(); err != nil {
		return err
	}
	inv := network.Inventory(nil)
	inv.MRC.Mode = "stev"
	core, err := controller.NewCore(controller.Config{Inventory: inv, Start: time.Unix(0, 0)}, nil)
	if err != nil {
		return err
	}
	put := func(name string, first, last int, layout api.JobLayout) (time.Duration, error) {
		began := time.Now()
		_, _, err := core.Jobs().Put(name, api.JobSpec{
			Hosts: fmt.Sprintf("H[%d-%d]", first, last), Layout: &layout,
		}, resource.Precondition{})
		return time.Since(began), err
	}
	took, err := put("large", 1, jobFabric.Hosts, api.JobLayout{TP: 8, EP: 64, DP: 128, PP: 8})
	if err != nil {
		return err
	}
	large, err := core.Jobs().Get("large")
	if err != nil {
		return err
	}
	follows := &large.Status.Follows
	if err := out.print(figure{bench: "job/plan", unit: "ms", value: millis(took), more: []field{
		{"jobs", 1}, {"ranks", large.Status.Ranks}, {"racks", follows.Racks}, {"pairs", follows.Pairs},
		{"rackPairs", follows.RackPairs},
	}}); err != nil {
		return err
	}
	demand, err := core.JobDemand("large")
	if err != nil {
		return err
	}
	need := &demand.Need
	for _, dead := range []string{"", "P1-T0-1"} {
		facts := jobFacts(need, &inv, dead)
		var all []time.Duration
		blockers := 0
		for range jobRuns {
			began := time.Now()
			r := ready.Judge("large", facts, nil)
			all = append(all, time.Since(began))
			if blockers = len(r.Blockers); r.Go != (dead == "") || dead != "" && blockers != 1 {
				return fmt.Errorf("without switch %q the job has %d blockers", dead, blockers)
			}
		}
		slices.Sort(all)
		fabric := &facts.Fabric
		f := figure{bench: "job/ready", unit: "ms", value: millis(all[jobRuns/2]), more: []field{
			{"ranks", len(need.NICs)}, {"links", len(fabric.Links)}, {"paths", len(fabric.Paths)},
			{"blockers", blockers}, {"max", millis(all[jobRuns-1])}, {"runs", jobRuns},
		}}
		if err := out.print(f); err != nil {
			return err
		}
	}
	each := jobFabric.Hosts / manyJobs
	took = 0
	for i := range manyJobs {
		one, err := put(fmt.Sprint("small", i), 1+i*each, (i+1)*each, api.JobLayout{TP: 8, DP: each / 8})
		if err != nil {
			return err
		}
		took += one
	}
	if err := out.print(figure{bench: "job/plan", unit: "ms", value: millis(took),
		more: []field{{"jobs", manyJobs}, {"ranks", each}}}); err != nil {
		return err
	}
	if err := jobDependents(ctx, out, core, inv); err != nil {
		return err
	}
	return jobProfiles(out)
}

const (
	// hostsOfDependent are the hosts of each of the jobs that depend on parts; they share them.
	hostsOfDependent = 1024
	// partsAsked is how many parts are asked about at once, as causes do.
	partsAsked = 100
)

// jobDependents measures the time to find the jobs that depend on a part of the network: for the
// first query, which reads the dependencies, and for later queries.
func jobDependents(
	ctx context.Context, out *report, core *controller.Core, inv inventory.Inventory,
) (err error) {
	out.tell("jobs: who depends on what, of %d jobs of %d hosts", manyJobs, hostsOfDependent)
	wide := func(i int) api.JobSpec { // shares its hosts with each eighth job
		first := 1 + i*hostsOfDependent%jobFabric.Hosts
		return api.JobSpec{Hosts: fmt.Sprintf("H[%d-%d]", first, first+hostsOfDependent-1),
			Layout: &api.JobLayout{TP: 8, DP: hostsOfDependent / 8}}
	}
	known := make(map[string]ready.Fabric) // by the first NIC
	for i := range jobFabric.Hosts / hostsOfDependent {
		name := fmt.Sprint("wide", i)
		if _, _, err := core.Jobs().Put(name, wide(i), resource.Precondition{}); err != nil {
			return err
		}
		demand, err := core.JobDemand(name)
		if err != nil {
			return err
		}
		known[demand.NICs[0]] = jobFacts(&demand.Need, &inv, "").Fabric
	}
	inv.Switches = slices.Clone(inv.Switches)
	for i := range inv.Switches {
		inv.Switches[i].Address = "" // others program them
	}
	fabric := &knownFabric{known: known}
	c, err := controller.NewController(ctx, controller.Options{
		Inventory: inv, Store: store.NewMemory(), Multipath: fabric})
	if err != nil {
		return err
	}
	fabric.to = c
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if e := <-ended; err == nil {
			err = e
		}
	}()
	for i := range manyJobs {
		_, _, err := c.Jobs().Put(ctx, fmt.Sprint("job", i), wide(i), resource.Precondition{})
		if err != nil {
			return err
		}
	}
	ask := func(parts int) (time.Duration, error) {
		began := time.Now()
		of, err := c.Dependents(ctx)
		if err != nil {
			return 0, err
		}
		n := 0
		for i := range parts {
			n += len(of(api.Part{Kind: api.PartSwitch, Name: fmt.Sprintf("P1-T0-%d", 1+i)}))
		}
		if n < parts*manyJobs*hostsOfDependent/jobFabric.Hosts {
			return 0, fmt.Errorf("%d jobs depend on %d leaves", n, parts)
		}
		return time.Since(began), nil
	}
	made, err := ask(1)
	if err != nil {
		return err
	}
	var one, many []time.Duration
	for range jobRuns {
		for parts, all := range map[int]*[]time.Duration{1: &one, partsAsked: &many} {
			took, err := ask(parts)
			if err != nil {
				return err
			}
			*all = append(*all, took)
		}
	}
	slices.Sort(one)
	slices.Sort(many)
	return out.print(figure{bench: "job/dependents", unit: "ms", value: millis(one[jobRuns/2]),
		more: []field{{"jobs", manyJobs}, {"hosts", hostsOfDependent}, {"made", millis(made)},
			{"max", millis(one[jobRuns-1])}, {"parts", partsAsked},
			{"partsMillis", millis(many[jobRuns/2])}, {"runs", jobRuns}}})
}

// knownFabric implements controller.Multipath by what it knows for each first NIC of a job.
type knownFabric struct {
	known map[string]ready.Fabric
	to    *controller.Controller
	view  fabricview.View
}

func (*knownFabric) SetPorts(context.Context, string, controller.PortStates) {}

func (f *knownFabric) SetWants(w *fabricview.Wants) {
	f.view.Revision++
	f.view.Jobs = make(map[*ready.Need]*fabricview.Reading, len(w.Jobs))
	for i := range w.Jobs {
		need := w.Jobs[i].Need
		f.view.Jobs[need] = &fabricview.Reading{Need: need, Wants: w.Seq, Fabric: f.known[need.NICs[0]]}
	}
	v := f.view
	f.to.SetFabric(&v)
}

// jobsOfProfiles share the hosts of the fabric whose profiles the bench counts.
const jobsOfProfiles = 16

// jobProfiles measures the memory of a core with 1,024 hosts: with EV profiles of all pairs of
// racks, and with EV profiles of the pairs that talk in jobs, each job on as many racks: all of a
// job's to each other. It also measures what another job costs: from its need to the states of its
// hosts.
func jobProfiles(out *report) error {
	whole := sprayedClos()
	needs := make([]*ready.Need, jobsOfProfiles)
	racks := closLeaves / jobsOfProfiles
	for i := range needs {
		n := &ready.Need{}
		for rack := range racks {
			n.Racks = append(n.Racks, closHost(i*racks+rack, 0))
			for h := range closHosts {
				n.NICs = append(n.NICs, closHost(i*racks+rack, h))
				n.Rack = append(n.Rack, int32(rack))
			}
			for other := range racks {
				n.Pairs = append(n.Pairs, [2]int32{int32(rack), int32(other)})
			}
		}
		n.Hosts = n.NICs
		needs[i] = n
	}
	for _, explicit := range []bool{false, true} {
		for _, profiles := range []string{"all", "jobs"} {
			out.tell("jobs: profiles of %s, explicit EVs: %v", profiles, explicit)
			before := reachable()
			core, err := sprayedCore(func(m *inventory.MRC) { m.Explicit, m.Profiles = explicit, profiles })
			if err != nil {
				return err
			}
			core.SetTopology(whole)
			core.InSync()
			core.SetTalk(needs[1:])
			if told := len(core.Ready().Sets); told != closLeaves*closHosts {
				return fmt.Errorf("%d hosts are told, want all", told)
			}
			began := time.Now()
			core.SetTalk(needs)
			told := len(core.Ready().Sets)
			took := time.Since(began)
			octets := int64(reachable()) - int64(before)
			if want := map[string]int{"all": 0, "jobs": racks * closHosts}[profiles]; told != want {
				return fmt.Errorf("%d hosts are told of another job, want %d", told, want)
			}
			if err := out.print(figure{bench: "job/profiles", unit: "profiles",
				value: float64(len(core.Profiles())), more: []field{
					{"profilesOf", profiles}, {"mode", map[bool]string{false: "GEN", true: "EXP"}[explicit]},
					{"hosts", closLeaves * closHosts}, {"jobs", len(needs)}, {"racksOfJob", racks},
					{"octets", octets}, {"jobMillis", millis(took)}, {"told", told},
				}}); err != nil {
				return err
			}
			runtime.KeepAlive(core)
		}
	}
	return nil
}

func millis(d time.Duration) float64 { return d.Seconds() * 1000 }

// jobFacts returns the facts of a job where everything is good except one switch and its
// dependents; "": no exception.
func jobFacts(need *ready.Need, inv *inventory.Inventory, dead string) *ready.Facts {
	now := time.Unix(1000, 0)
	f := &ready.Facts{At: now, Need: need, Switches: make(map[string]ready.Fact)}
	fact := func(switches ...string) ready.Fact {
		if slices.Contains(switches, dead) {
			return ready.Fact{State: ready.Bad, Why: "down"}
		}
		return ready.IsGood()
	}
	f.Fabric.Known = ready.IsGood()
	for i := range inv.Switches {
		f.Switches[inv.Switches[i].Name] = fact(inv.Switches[i].Name)
	}
	leaves := make([][]string, len(need.Racks)) // by plane
	at := make(map[string]*inventory.Host, len(inv.Hosts))
	for i := range inv.Hosts {
		at[inv.Hosts[i].Name] = &inv.Hosts[i]
	}
	for r, name := range need.NICs {
		nic := ready.NIC{Stream: ready.IsGood(), Holds: ready.IsGood()}
		rack := &leaves[need.Rack[r]]
		*rack = (*rack)[:0]
		for i, a := range at[name].Attachments() {
			*rack = append(*rack, a.Switch)
			nic.Ports = append(nic.Ports,
				ready.Port{Number: uint8(i + 1), Leaf: a.Switch, Up: fact(a.Switch)})
		}
		f.Fabric.NICs = append(f.Fabric.NICs, nic)
	}
	for _, rack := range leaves {
		for plane, leaf := range rack {
			for i := range jobFabric.T1 {
				spine := fmt.Sprintf("P%d-T1-%d", plane+1, i+1)
				for _, ends := range [][2]string{{leaf, spine}, {spine, leaf}} {
					f.Fabric.Links = append(f.Fabric.Links, ready.Link{
						Name: leaf + "~" + spine, ID: ends[0] + "~" + ends[1], Plane: int32(plane + 1),
						From: ends[0], To: ends[1], Use: fact(ends[:]...), Probed: now, Answered: true,
					})
				}
			}
		}
	}
	for i, p := range need.Pairs {
		for plane, leaf := range leaves[p[0]] {
			path := ready.Path{Pair: int32(i), Plane: int32(plane + 1), From: leaf,
				To: leaves[p[1]][plane], Active: 64, Of: 64, Want: 16}
			if path.From == dead || path.To == dead {
				path.Active = 0
			}
			f.Fabric.Paths = append(f.Fabric.Paths, path)
		}
	}
	return f
}
