package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// The fabric of the bench: 320 switches and 1,024 hosts with a port in each plane.
const (
	closPlanes   = 4
	closLeaves   = 64
	closSpines   = 16
	closHosts    = 16 // a leaf
	lossesToTime = 50
)

func closLeaf(plane, n int) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("leaf%d-%02d", plane, n))
}

func closSpine(plane, n int) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("spine%d-%02d", plane, n))
}

// closHost names a host by its leaf number and its number at the leaf.
func closHost(leaf, n int) string { return fmt.Sprintf("h%02d-%02d", leaf, n) }

// sprayedClos returns the fabric of the bench.
func sprayedClos() *topology.Snapshot {
	b := topology.NewBuilder()
	ports := make(map[topology.NodeID]uint32)
	for p := 1; p <= closPlanes; p++ {
		for s := range closSpines {
			b.SetNode(topology.Node{ID: closSpine(p, s)})
		}
		for l := range closLeaves {
			b.SetNode(topology.Node{ID: closLeaf(p, l)})
			for s := range closSpines {
				u, v := closLeaf(p, l), closSpine(p, s)
				ports[u]++
				ports[v]++
				b.SetLink(topology.Link{Local: u, Remote: v, LocalID: ports[u], RemoteID: ports[v],
					IGPMetric: 10})
				b.SetLink(topology.Link{Local: v, Remote: u, LocalID: ports[v], RemoteID: ports[u],
					IGPMetric: 10})
			}
		}
	}
	return b.Build()
}

// sprayedCore returns a core with all hosts of the fabric connected and without a topology.
func sprayedCore(change func(*inventory.MRC)) (*mrc.Core, error) {
	cfg := mrc.Config{MRC: inventory.DefaultMRC("stev"), Epoch: 1}
	change(&cfg.MRC)
	core, err := mrc.New(cfg)
	if err != nil {
		return nil, err
	}
	for l := range closLeaves {
		for h := range closHosts {
			host := fabric.Host{Name: closHost(l, h),
				Address: netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 8: 1, 14: byte(l), 15: byte(h + 1)})}
			for p := 1; p <= closPlanes; p++ {
				host.At = append(host.At, closLeaf(p, l))
			}
			if err := core.PutHost(host); err != nil {
				return nil, err
			}
			if err := core.Hello(host.Name, &hostapi.Hello{Name: host.Name, Instance: 1,
				Capabilities: ev.Unlimited()}); err != nil {
				return nil, err
			}
		}
	}
	return core, nil
}

// keepingTrue measures the core of MRC alone, on one goroutine, without the sessions to the hosts:
// 4 planes of 64 leaves and 16 spines, 1,024 hosts, 4,096 profiles of 64 EVs. multipath/build is
// the time until all hosts have their first state, multipath/deny from the snapshot without a link,
// a switch or a plane (lost) to the new states of the hosts concerned.
func keepingTrue(_ context.Context, out *report) error {
	whole := sprayedClos()
	for _, explicit := range []bool{false, true} {
		out.tell("multipath: %d switches, %d hosts, explicit EVs: %v", closPlanes*(closLeaves+closSpines),
			closLeaves*closHosts, explicit)
		core, err := sprayedCore(func(m *inventory.MRC) { m.Explicit, m.Restore.Hold = explicit, 1 })
		if err != nil {
			return err
		}
		start := time.Now()
		core.SetTopology(whole)
		core.InSync()
		first := core.Ready()
		if len(first.Sets) != closLeaves*closHosts {
			return fmt.Errorf("%d hosts are told, want all", len(first.Sets))
		}
		mode := map[bool]string{false: "GEN", true: "EXP"}[explicit]
		err = out.print(figure{bench: "multipath/build", unit: "s", value: time.Since(start).Seconds(),
			more: []field{
				{"switches", len(whole.Nodes)}, {"hosts", len(first.Sets)}, {"profiles", len(core.Profiles())},
				{"mode", mode},
			}})
		if err != nil {
			return err
		}
		for _, loss := range []struct {
			name  string
			times int
			do    func(b *topology.Builder, i int)
		}{
			{"link", lossesToTime, func(b *topology.Builder, i int) {
				for _, l := range whole.Links {
					plane := i%closPlanes + 1
					if l.Local == closLeaf(plane, i) && l.Remote == closSpine(plane, i%closSpines) {
						b.RemoveLink(l.ID)
					}
				}
			}},
			{"switch", 10, func(b *topology.Builder, i int) { b.RemoveNode(closSpine(i%closPlanes+1, i)) }},
			{"plane", 4, func(b *topology.Builder, i int) {
				for s := range closSpines {
					b.RemoveNode(closSpine(i+1, s))
				}
			}},
		} {
			if err := timeLosses(core, whole, out, loss.name, mode, loss.times, loss.do); err != nil {
				return err
			}
		}
	}
	return nil
}

// timeLosses takes something from the network again and again, and lets all come back in between.
func timeLosses(core *mrc.Core, whole *topology.Snapshot, out *report, name, mode string, times int,
	do func(*topology.Builder, int)) error {
	var took runs
	var cpu time.Duration
	told := 0
	for i := range times {
		b := whole.Builder()
		do(b, i)
		less := b.Build()
		before, start := processorTime(), time.Now()
		core.SetTopology(less)
		ready := core.Ready()
		cpu += processorTime() - before
		took = append(took, time.Since(start).Seconds()*1e3)
		if len(ready.Sets) == 0 {
			return fmt.Errorf("nobody is told that a %s is lost", name)
		}
		told = len(ready.Sets)
		core.SetTopology(whole)
		for ready := core.Ready(); ; ready = core.Ready() { // probes come through
			for _, p := range ready.Probes {
				r := &hostapi.ProbeResult{ID: p.Request.ID, Sent: p.Request.Count, Received: p.Request.Count}
				if err := core.ProbeResult(p.Host, r); err != nil {
					return err
				}
			}
			denied := false
			for _, l := range core.Links() {
				denied = denied || l.Status.Denied
			}
			if !denied {
				break
			}
			next, _ := core.Next()
			core.Tick(max(next, core.Now()+10*time.Millisecond))
		}
		core.Ready()
		core.Tick(core.Now() + 2*inventory.DefaultMRC("stev").Restore.Calm.D())
		core.Ready()
	}
	return out.print(figure{bench: "multipath/deny", unit: "ms", value: took.median(), more: []field{
		{"max", slices.Max(took)}, {"cpuMillis", cpu.Seconds() * 1e3 / float64(times)},
		{"runs", len(took)}, {"lost", name}, {"mode", mode}, {"hostsTold", told},
	}})
}
