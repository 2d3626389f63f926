package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/multipath"
	"github.com/weft-sdn/weft/controller/store"
	"github.com/weft-sdn/weft/endpoint/agent"
	"github.com/weft-sdn/weft/endpoint/agent/agenttest"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/topology"
)

// A closSize is a fabric whose leaves have so many hosts each, with a port in each plane.
type closSize struct{ planes, leaves, spines, hosts int }

// loopSizes are that of the demonstration, and a large one.
var loopSizes = []closSize{{2, 4, 4, 4}, {closPlanes, closLeaves, closSpines, closHosts}}

const loopFailures = 100

// closing measures the whole of the loop but BGP: from a topology without a link to the last host having applied what that denies. The controller of the
// hosts, its streams over loopback TCP, and thin hosts, all in this process.
func closing(ctx context.Context, out *report) error {
	for _, s := range loopSizes {
		out.tell("loop: %d switches, %d hosts", s.planes*(s.leaves+s.spines), s.leaves*s.hosts)
		if err := s.close(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

func (s closSize) leaf(plane, n int) string  { return fmt.Sprintf("leaf%d-%02d", plane, n) }
func (s closSize) spine(plane, n int) string { return fmt.Sprintf("spine%d-%02d", plane, n) }

// build returns the fabric as it is learned and as it is configured.
func (s closSize) build() (*topology.Snapshot, *inventory.Inventory) {
	b, inv := topology.NewBuilder(), inventory.Default()
	ports := make(map[string]uint32)
	node := func(name string) {
		b.SetNode(topology.Node{ID: topology.NodeID(name), Name: name})
		n := len(inv.Switches)
		inv.Switches = append(inv.Switches, inventory.Switch{Name: name, MAC: inventory.MAC{2, 0, 0, 0, byte(n >> 8), byte(n)}})
	}
	for p := 1; p <= s.planes; p++ {
		for n := range s.spines {
			node(s.spine(p, n))
		}
		for l := range s.leaves {
			node(s.leaf(p, l))
			for n := range s.spines {
				u, v := s.leaf(p, l), s.spine(p, n)
				ports[u]++
				ports[v]++
				b.SetLink(topology.Link{Local: topology.NodeID(u), Remote: topology.NodeID(v), LocalID: ports[u], RemoteID: ports[v], IGPMetric: 10})
				b.SetLink(topology.Link{Local: topology.NodeID(v), Remote: topology.NodeID(u), LocalID: ports[v], RemoteID: ports[u], IGPMetric: 10})
			}
		}
	}
	for l := range s.leaves {
		for n := range s.hosts {
			h := inventory.Host{
				Name: fmt.Sprintf("h%02d-%02d", l, n), Address: netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 8: 1, 14: byte(l), 15: byte(n + 1)}),
				Switch: s.leaf(1, l), Port: uint32(100 + n),
			}
			for p := 2; p <= s.planes; p++ {
				h.Planes = append(h.Planes, inventory.Attachment{Switch: s.leaf(p, l), Port: uint32(100 + n)})
			}
			inv.Hosts = append(inv.Hosts, h)
		}
	}
	return b.Build(), &inv
}

// awaited is the hosts that are waited for.
type awaited struct {
	denial atomic.Bool // what is waited for: that EVs are denied, or that none is
	open   atomic.Int64
	last   chan struct{}
}

// begin waits for n hosts.
func (a *awaited) begin(denial bool, n int) {
	a.denial.Store(denial)
	a.open.Store(int64(n))
}

// host is told what one host holds.
func (a *awaited) host() func(*hostapi.State) {
	held := true // nothing yet, which is neither
	return func(s *hostapi.State) {
		denies := slices.ContainsFunc(s.Profiles, func(p *hostapi.Profile) bool { return len(p.Denied) > 0 })
		if denies != held && denies == a.denial.Load() && a.open.Add(-1) == 0 {
			a.last <- struct{}{}
		}
		held = denies
	}
}

func (a *awaited) wait(ctx context.Context) error {
	select {
	case <-a.last:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return fmt.Errorf("%d hosts have not applied what they should after a minute", a.open.Load())
	}
}

func (s closSize) close(ctx context.Context, out *report) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		err = errors.Join(err, group.Wait())
	}()
	whole, inv := s.build()
	m := &inv.MRC
	m.Mode, m.LinkCounts = "stev", 0
	m.Restore.Hold, m.Restore.Every = 1, intent.Duration(time.Millisecond) // what is back is used when a probe has come through
	runner, err := multipath.NewRunner(ctx, multipath.Options{Inventory: inv, Epoch: 1, Store: store.NewMemory()})
	if err != nil {
		return err
	}
	cfg := hosts.DefaultConfig()
	cfg.Epoch, cfg.CountsInterval = 1, 0
	server, err := hosts.New(cfg, runner)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	group.Go(func() error { return runner.Run(ctx, server) })
	group.Go(func() error { return server.Serve(ctx, listener) })
	n := s.leaves * s.hosts
	a := &awaited{last: make(chan struct{}, 1)}
	a.begin(false, n)
	start := time.Now()
	if err := runner.SetTopology(ctx, whole); err != nil {
		return err
	}
	for _, h := range inv.Hosts {
		cfg := agent.DefaultConfig()
		cfg.Name, cfg.Controller = h.Name, listener.Addr().String()
		e := &agenttest.Endpoint{Forget: true, Applied: a.host()}
		x, err := agent.New(cfg, e)
		if err != nil {
			return err
		}
		group.Go(func() error { return x.Run(ctx) })
	}
	if err := a.wait(ctx); err != nil {
		return err
	}
	more := []field{{"switches", len(whole.Nodes)}, {"hosts", n}}
	if err := out.print(figure{bench: "loop/start", unit: "s", value: time.Since(start).Seconds(), more: more}); err != nil {
		return err
	}
	var took runs
	cpu := processorTime()
	for i := range loopFailures {
		b := whole.Builder()
		for _, l := range whole.Links {
			if u, v := s.leaf(i%s.planes+1, i%s.leaves), s.spine(i%s.planes+1, i/s.leaves%s.spines); string(l.Local) == u && string(l.Remote) == v {
				b.RemoveLink(l.ID)
			}
		}
		less := b.Build()
		a.begin(true, n)
		start := time.Now()
		if err := runner.SetTopology(ctx, less); err != nil {
			return err
		}
		if err := a.wait(ctx); err != nil {
			return err
		}
		took = append(took, float64(time.Since(start).Microseconds())/1000)
		a.begin(false, n)
		if err := runner.SetTopology(ctx, whole); err != nil {
			return err
		}
		if err := a.wait(ctx); err != nil {
			return err
		}
	}
	cpu = processorTime() - cpu
	slices.Sort(took)
	p99 := took[int(math.Ceil(0.99*float64(len(took))))-1]
	return out.print(figure{bench: "loop/deny", unit: "ms", value: p99, more: append(more,
		field{"median", took.median()}, field{"max", took[len(took)-1]}, field{"cpuMillis", float64(cpu.Microseconds()) / 1000 / loopFailures}, field{"runs", len(took)})})
}
