package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/service"
)

const (
	planGroups    = 1000
	planReceivers = 64
	// planCommand is the argument that makes this program plan and nothing else; a number of pods
	// follows.
	planCommand = "plan-process"
)

// planPods are Clos networks of 128 to 1,024 switches.
var planPods = []int{4, 8, 16, 32}

// planResult is the output of a process that plans.
type planResult struct {
	Switches, Links, Hosts int
	GroupSeconds           float64 // from the topology to the entries of all groups on all switches
	GroupCPUSeconds        float64
	GroupEntries           int
	PeakBytes              int64   // of the process, up to then
	BaseSeconds            float64 // to the entries that all switches have without any group
	BaseCPUSeconds         float64
	BaseEntries            int
	BaseRoutes             int
}

// planning measures the planner on three-tier Clos networks of growing size (a pod is 16 leaves and
// 8 spines; 8 cores for every pod; 4 hosts a leaf) with 1,000 groups of 64 receivers, each in a
// process of its own for the sake of its memory. plan/groups is the time from the topology to all
// entries of all groups, plan/base to the entries without any group.
func planning(ctx context.Context, out *report) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, pods := range planPods {
		out.tell("plan: %d groups of %d receivers on %d switches", planGroups, planReceivers,
			pods*podSwitches)
		cmd := exec.CommandContext(ctx, self, planCommand, strconv.Itoa(pods))
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("planning on %d pods: %w", pods, err)
		}
		var r planResult
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("planning on %d pods: %w", pods, err)
		}
		network := []field{{"switches", r.Switches}, {"links", r.Links}, {"hosts", r.Hosts}}
		err = out.print(figure{bench: "plan/groups", unit: "s", value: r.GroupSeconds,
			more: append(network,
				field{"groups", planGroups}, field{"receivers", planReceivers},
				field{"entries", r.GroupEntries},
				field{"cpuSeconds", r.GroupCPUSeconds}, field{"peakBytes", r.PeakBytes})})
		if err != nil {
			return err
		}
		err = out.print(figure{bench: "plan/base", unit: "s", value: r.BaseSeconds, more: append(network,
			field{"entries", r.BaseEntries}, field{"routes", r.BaseRoutes},
			field{"cpuSeconds", r.BaseCPUSeconds})})
		if err != nil {
			return err
		}
	}
	return nil
}

// plans is the process that plans: it prints a planResult.
func plans(argument string) error {
	pods, err := strconv.Atoi(argument)
	if err != nil || pods < 1 {
		return fmt.Errorf("%q pods, want 1 or more", argument)
	}
	c := newClos(pods)
	specs := c.groups(planGroups, planReceivers)
	var r planResult
	service.TuneMemory(service.GCPercent)
	runtime.GC()

	start, cpu := time.Now(), processorTime()
	n := plan.NewNetwork(c.topology.Build(), &c.inventory)
	requests := make([]tree.Request, len(specs))
	for g := range specs {
		requests[g] = tree.Request{Name: fmt.Sprintf("g%d", g), Group: uint16(g), Spec: &specs[g],
			Epoch: 1}
	}
	// by switch, and then by group
	desired := make(map[string][][]tree.Item, len(c.inventory.Switches))
	placements := make([]*tree.Placement, len(specs))
	for g, placed := range tree.PlaceAll(n, requests) {
		if placed.Err != nil {
			return fmt.Errorf("group %d: %w", g, placed.Err)
		}
		p := placed.Placement
		placements[g] = p
		for _, sw := range p.Switches() {
			desired[sw] = append(desired[sw], p.Items(sw))
		}
	}
	r.GroupSeconds, r.GroupCPUSeconds = time.Since(start).Seconds(), (processorTime() - cpu).Seconds()

	for g, p := range placements {
		for i := range specs[g].Receivers {
			if node, _ := p.FindReceiver(specs[g].Receivers[i].Address); node == nil {
				return fmt.Errorf("group %d: receiver %v is not in the tree", g, specs[g].Receivers[i].Address)
			}
		}
	}
	for _, groups := range desired {
		for _, items := range groups {
			r.GroupEntries += len(items)
		}
	}
	if r.PeakBytes, err = peakBytes(); err != nil {
		return err
	}

	start, cpu = time.Now(), processorTime()
	for i := range c.inventory.Switches {
		links, routes := n.Links(&c.inventory.Switches[i]), n.Routes(&c.inventory.Switches[i])
		r.BaseEntries += len(links) + len(routes)
		r.BaseRoutes += len(routes)
	}
	r.BaseSeconds, r.BaseCPUSeconds = time.Since(start).Seconds(), (processorTime() - cpu).Seconds()
	runtime.KeepAlive(desired)

	r.Switches, r.Links, r.Hosts = len(n.Snapshot.Nodes), len(n.Snapshot.Links)/2,
		len(c.inventory.Hosts)
	return json.NewEncoder(os.Stdout).Encode(r)
}

// peakBytes is the most memory that this process has had.
func peakBytes() (int64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	if runtime.GOOS == "darwin" {
		return u.Maxrss, nil // octets there, KiB elsewhere
	}
	return u.Maxrss << 10, nil
}
