package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/topology"
)

// largeCommand is the argument that makes this program plan a large fabric and nothing else; its
// place in largeFabrics follows.
const largeCommand = "fabric-process"

// A largeFabric has two-tier planes and NICs with a port in each plane, used by jobs whose racks
// all talk to each other.
type largeFabric struct {
	pathFabric
	hosts int // a rack
	racks int // a job
	mode  string
	// linksLost and spinesLost are the numbers of links and T1s that fail in sequence.
	linksLost, spinesLost int
}

// largeFabrics are a fabric that takes a second, and the fabric of 131,072 NICs.
var largeFabrics = []largeFabric{
	{pathFabric{4, 128, 32}, 32, 32, "stev", 50, 10},
	{pathFabric{8, 512, 256}, 256, 32, "stev", 16, 8},
}

// A largeResult is the report of a process that plans a large fabric.
type largeResult struct {
	Switches, Links, NICs, Pairs, Profiles int

	HostSeconds, EntrySeconds, CPUSeconds float64
	Entries, Told                         int
	SnapshotBytes, PeakBytes              int64 // of the snapshot, and of the process

	LinkMillis, LinkCPU, T1Millis, T1CPU runs
	LinkBuild, T1Build                   runs // ms from the change to its snapshot
	LinkTold, T1Told                     int
}

// large measures the way from a snapshot to the states of all NICs and the entries of all switches
// (fabric/plan), and from a topology without a link, or a T1, to all that the core has for hosts
// (fabric/link, fabric/t1). Each fabric runs in a process of its own for the sake of its memory.
func large(ctx context.Context, out *report) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i, f := range largeFabrics {
		out.tell("fabric: %d planes of %d T0 and %d T1, %d NICs, %s", f.planes, f.leaves, f.spines,
			f.leaves*f.hosts, f.mode)
		cmd := exec.CommandContext(ctx, self, largeCommand, strconv.Itoa(i))
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("fabric %d: %w", i, err)
		}
		var r largeResult
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("fabric %d: %w", i, err)
		}
		fabric := []field{{"switches", r.Switches}, {"links", r.Links}, {"nics", r.NICs},
			{"mode", f.mode}}
		figures := []figure{
			{bench: "fabric/plan", unit: "s", value: r.HostSeconds + r.EntrySeconds,
				more: slices.Concat(fabric, []field{{"hosts", r.HostSeconds}, {"entries", r.EntrySeconds},
					{"cpuSeconds", r.CPUSeconds}, {"pairs", r.Pairs}, {"profiles", r.Profiles},
					{"hostsTold", r.Told}, {"switchEntries", r.Entries}})},
			{bench: "fabric/memory", unit: "octets", value: float64(r.PeakBytes),
				more: append(fabric[:len(fabric):len(fabric)], field{"snapshot", r.SnapshotBytes})},
		}
		figures = append(figures,
			figure{bench: "fabric/link", unit: "ms", value: r.LinkMillis.median(),
				more: slices.Concat(fabric, []field{{"cpuMillis", r.LinkCPU.median()},
					{"snapshotMillis", r.LinkBuild.median()}, {"hostsTold", r.LinkTold}},
					r.LinkMillis.spread())},
			figure{bench: "fabric/t1", unit: "ms", value: r.T1Millis.median(),
				more: slices.Concat(fabric, []field{{"cpuMillis", r.T1CPU.median()},
					{"snapshotMillis", r.T1Build.median()}, {"hostsTold", r.T1Told}},
					r.T1Millis.spread())})
		for _, x := range figures {
			if err := out.print(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// largeProcess is the process that plans a large fabric: it prints a largeResult.
func largeProcess(argument string) error {
	i, err := strconv.Atoi(argument)
	if err != nil || i < 0 || i >= len(largeFabrics) {
		return fmt.Errorf("fabric %q, want 0 to %d", argument, len(largeFabrics)-1)
	}
	r, err := largeFabrics[i].plan()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// switchName names a T0 (tier 0) or T1 (tier 1) of a plane.
func (largeFabric) switchName(plane, tier, n int) string {
	return fmt.Sprintf("P%d-T%d-%d", plane+1, tier, n+1)
}

func (f largeFabric) nic(rack, n int) string { return fmt.Sprintf("H%d", rack*f.hosts+n+1) }

func (largeFabric) address(rack, n int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 1, byte(rack >> 8), byte(rack),
		14: byte((n + 2) >> 8), 15: byte(n + 2)})
}

// network returns the fabric as BGP-LS describes it, to be built.
func (f largeFabric) network() *topology.Builder {
	b := topology.NewBuilder()
	id := func(plane, tier, n int) topology.NodeID {
		return topology.NodeID(fmt.Sprintf("64512:10.%d.%d.%d", plane, tier<<4|n>>8, n&0xff))
	}
	for p := range f.planes {
		t1 := make([]topology.NodeID, f.spines)
		node := func(tier, n int) topology.NodeID {
			x := topology.Node{ID: id(p, tier, n), Name: f.switchName(p, tier, n),
				Loopback: netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 4: byte(2 + tier), 5: byte(p),
					6: byte(n >> 8), 7: byte(n), 15: 1})}
			b.SetNode(x)
			return x.ID
		}
		for s := range t1 {
			t1[s] = node(1, s)
		}
		for l := range f.leaves {
			t0 := node(0, l)
			b.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: t0,
				Prefix: netip.PrefixFrom(f.address(l, 0), 64).Masked()}})
			for s, t1 := range t1 {
				up, down := uint32(s+1), uint32(l+1)
				b.SetLink(topology.Link{Local: t0, Remote: t1, LocalID: up, RemoteID: down,
					IGPMetric: 10})
				b.SetLink(topology.Link{Local: t1, Remote: t0, LocalID: down, RemoteID: up,
					IGPMetric: 10})
			}
		}
	}
	return b
}

// configuration returns the switches and NICs as a configuration file describes them.
func (f largeFabric) configuration() *inventory.Inventory {
	inv := inventory.Default()
	inv.MRC.Mode, inv.MRC.Profiles = f.mode, "jobs"
	inv.MRC.Probes.Rate = 0 // no host answers one here: what is back is used again without
	for p := range f.planes {
		for tier, n := range [...]int{f.leaves, f.spines} {
			for i := range n {
				inv.Switches = append(inv.Switches, inventory.Switch{Name: f.switchName(p, tier, i),
					Address: "127.0.0.1:9559", DeviceID: 1, MAC: inventory.MAC{2, byte(p), byte(tier), 0,
						byte(i >> 8), byte(i)}})
			}
		}
	}
	for l := range f.leaves {
		for h := range f.hosts {
			nic := inventory.Host{Name: f.nic(l, h), Address: f.address(l, h),
				Port: uint32(f.spines + h + 1), Switch: f.switchName(0, 0, l),
				MAC: inventory.MAC{2, 0x10, 0, byte(l >> 8), byte(l), byte(h)}}
			for p := range f.planes - 1 {
				nic.Planes = append(nic.Planes, inventory.Attachment{Switch: f.switchName(p+1, 0, l),
					Port: nic.Port, MAC: inventory.MAC{2, 0x10, byte(p + 1), byte(l >> 8), byte(l), byte(h)}})
			}
			inv.Hosts = append(inv.Hosts, nic)
		}
	}
	return &inv
}

// talking returns what jobs need whose racks all talk to each other.
func (f largeFabric) talking() (needs []*ready.Need, pairs int) {
	for first := 0; first < f.leaves; first += f.racks {
		need := &ready.Need{}
		for r := range f.racks {
			need.Racks = append(need.Racks, f.switchName(0, 0, first+r))
			for h := range f.hosts {
				need.NICs = append(need.NICs, f.nic(first+r, h))
				need.Rack = append(need.Rack, int32(r))
			}
			for to := range f.racks {
				need.Pairs = append(need.Pairs, [2]int32{int32(r), int32(to)})
			}
		}
		pairs += len(need.Pairs)
		needs = append(needs, need)
	}
	return needs, pairs
}

func (f largeFabric) plan() (r largeResult, err error) {
	network, inv := f.network(), f.configuration()
	snapshot := network.Build()
	r.SnapshotBytes = int64(reachable())
	needs, pairs := f.talking()
	debug.FreeOSMemory()
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(1800 << 20)
	r.Switches, r.Links, r.NICs, r.Pairs = len(snapshot.Nodes), len(snapshot.Links)/2, len(inv.Hosts),
		pairs

	lap, cpu := time.Now(), processorTime()
	seconds := func() float64 {
		now := time.Now()
		defer func() { lap = now }()
		return now.Sub(lap).Seconds()
	}
	core, err := mrc.New(mrc.Config{MRC: inv.MRC, Epoch: 1})
	if err != nil {
		return r, err
	}
	nodes := plan.Nodes(snapshot, inv)
	for _, h := range fabric.HostsOf(inv, nodes) {
		if err := core.PutHost(h); err != nil {
			return r, err
		}
		if err := core.Hello(h.Name, &hostapi.Hello{Name: h.Name, Instance: 1,
			Capabilities: ev.Unlimited()}); err != nil {
			return r, err
		}
	}
	core.SetTalk(needs)
	core.SetTopology(snapshot)
	core.InSync()
	first := core.Ready()
	r.HostSeconds, r.Told = seconds(), len(first.Sets)
	if core.Assignment() == nil {
		return r, fmt.Errorf("there is no fabric: %w", core.Failure())
	}
	if r.Told != len(inv.Hosts) {
		return r, fmt.Errorf("%d hosts are told, want %d", r.Told, len(inv.Hosts))
	}
	for _, p := range first.Sets[0].State.Profiles {
		if p.Mode != hostapi.ModeGenerated {
			return r, fmt.Errorf("profile %s is %v, want it generated", p.Name, p.Mode)
		}
		r.Profiles++
	}
	r.Profiles *= f.leaves
	first = mrc.Ready{}
	r.CPUSeconds = (processorTime() - cpu).Seconds()
	lap = time.Now()
	r.Entries = entriesOf(plan.NewNetwork(snapshot, inv), inv, core.Assignment())
	r.EntrySeconds = seconds()
	r.CPUSeconds = (processorTime() - cpu).Seconds()

	if err := f.lose(&r, core, network, snapshot); err != nil {
		return r, err
	}
	r.PeakBytes, err = peakBytes()
	return r, err
}

// entriesOf plans the entries of all switches, on all processors; they are dropped switch by
// switch.
func entriesOf(n *plan.Network, inv *inventory.Inventory, a *ev.Assignment) int {
	var total, next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(inv.Switches) {
					return
				}
				sw := &inv.Switches[i]
				total.Add(int64(len(n.Links(sw)) + len(n.Neighbors(sw)) + len(n.Classes(sw, inv.MRC.Classes)) +
					len(plan.ICMPErrors(inv.MRC.ICMP)) + len(n.EVs(sw, a)) + len(n.EVRoutes(sw, a))))
			}
		})
	}
	wg.Wait()
	return int(total.Load())
}

// lose takes links and T1 from the network one after the other, and lets all come back in between.
func (f largeFabric) lose(
	r *largeResult, core *mrc.Core, network *topology.Builder, whole *topology.Snapshot,
) error {
	measure := func(took, cpu, build *runs, do, undo func()) (int, error) {
		runtime.GC()
		start := time.Now()
		do()
		less := network.Build()
		*build = append(*build, time.Since(start).Seconds()*1e3)
		runtime.GC()
		start, used := time.Now(), processorTime()
		core.SetTopology(less)
		told := len(core.Ready().Sets)
		*took = append(*took, time.Since(start).Seconds()*1e3)
		*cpu = append(*cpu, (processorTime()-used).Seconds()*1e3)
		if told == 0 {
			return 0, errors.New("no host is told of a loss")
		}
		undo()
		whole = network.Build()
		core.SetTopology(whole)
		core.Tick(core.Now() + time.Minute)
		core.Ready()
		return told, nil
	}
	var err error
	for i := range f.linksLost {
		link := whole.LinksFrom(whole.NodeByName(f.switchName(i%f.planes, 0, i)).ID)[i%f.spines]
		if r.LinkTold, err = measure(&r.LinkMillis, &r.LinkCPU, &r.LinkBuild,
			func() { network.RemoveLink(link.ID) }, func() { network.SetLink(*link) }); err != nil {
			return err
		}
	}
	for i := range f.spinesLost {
		node := whole.NodeByName(f.switchName(i%f.planes, 1, i))
		if r.T1Told, err = measure(&r.T1Millis, &r.T1CPU, &r.T1Build,
			func() { network.RemoveNode(node.ID) }, func() { network.SetNode(*node) }); err != nil {
			return err
		}
	}
	return nil
}
