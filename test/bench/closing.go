package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/runner"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// A closSize is a fabric with a number of hosts per leaf, each host with a port in each plane.
type closSize struct{ planes, leaves, spines, hosts int }

// loopSizes lists the demonstration, a large fabric, and a fabric with too many hosts to share the
// processors with the controller.
var loopSizes = []closSize{{2, 4, 4, 4}, {closPlanes, closLeaves, closSpines, closHosts},
	{4, 128, 128, 64}}

// apartFrom is the number of hosts from which the hosts run only on processors left idle by the
// controller, and not while the controller sends; see sendTimes.
const apartFrom = 4096

// closing measures the whole loop without BGP, with probes: from a topology that lacks a link (5 ms
// after the withdrawal) to the last host that has applied the resulting denials, the 99th
// percentile of 100 lost links (loop/deny). The hosts' controller runs in this process and streams
// over loopback TCP. loop/start is the time from nothing until all hosts have applied their first
// state, loop/sent until the controller has handed the last update to the kernel.
func closing(ctx context.Context, out *report) error {
	service.TuneMemory(service.GCPercent)
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

// build returns the learned and the configured fabric.
func (s closSize) build() (*topology.Snapshot, *inventory.Inventory) {
	b, inv := topology.NewBuilder(), inventory.Default()
	ports := make(map[string]uint32)
	node := func(name string) {
		b.SetNode(topology.Node{ID: topology.NodeID(name), Name: name})
		n := len(inv.Switches)
		inv.Switches = append(inv.Switches,
			inventory.Switch{Name: name, MAC: inventory.MAC{2, 0, 0, 0, byte(n >> 8), byte(n)}})
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
				b.SetLink(topology.Link{Local: topology.NodeID(u), Remote: topology.NodeID(v),
					LocalID: ports[u], RemoteID: ports[v], IGPMetric: 10})
				b.SetLink(topology.Link{Local: topology.NodeID(v), Remote: topology.NodeID(u),
					LocalID: ports[v], RemoteID: ports[u], IGPMetric: 10})
			}
		}
	}
	for l := range s.leaves {
		for n := range s.hosts {
			h := inventory.Host{
				Name:    fmt.Sprintf("h%02d-%02d", l, n),
				Address: netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 8: 1, 14: byte(l), 15: byte(n + 1)}),
				Switch:  s.leaf(1, l), Port: uint32(100 + n),
			}
			for p := 2; p <= s.planes; p++ {
				h.Planes = append(h.Planes, inventory.Attachment{Switch: s.leaf(p, l), Port: uint32(100 + n)})
			}
			inv.Hosts = append(inv.Hosts, h)
		}
	}
	return b.Build(), &inv
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
	// what is back is used when a probe has come through
	m.Restore.Hold, m.Restore.Every = 1, api.Duration(time.Millisecond)
	// over when the hosts have begun
	m.Restore.FirstRound = api.Duration(time.Second)
	runner, err := runner.NewRunner(ctx, runner.Options{
		Inventory: inv, Epoch: 1, Store: store.NewMemory(),
	})
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
	times := &sendTimes{Listener: listener}
	group.Go(func() error { return runner.Run(ctx, server) })
	group.Go(func() error { return server.Serve(ctx, times) })
	start := time.Now()
	if err := runner.SetTopology(ctx, whole); err != nil {
		return err
	}
	var names []string
	for _, h := range inv.Hosts {
		names = append(names, h.Name)
	}
	fleet, err := startThinHosts(ctx, listener.Addr().String(), names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.stop()) }()
	if err := fleet.wait(ctx); err != nil {
		return err
	}
	more := []field{{"switches", len(whole.Nodes)}, {"hosts", len(names)}}
	if err := out.print(figure{bench: "loop/start", unit: "s", value: time.Since(start).Seconds(),
		more: more}); err != nil {
		return err
	}
	var sent runs
	send := func(less *topology.Snapshot) error {
		times.begin(len(names))
		if err := runner.SetTopology(ctx, less); err != nil {
			return err
		}
		took, err := times.took()
		sent = append(sent, took)
		return err
	}
	if err := fleet.measure(ctx, out, "loop/deny", failing{
		fail: func(i int) func() error {
			less := s.without(whole, i)
			return func() error {
				if len(names) < apartFrom {
					return send(less)
				}
				if err := fleet.freeze(); err != nil {
					return err
				}
				return errors.Join(send(less), fleet.thaw())
			}
		},
		restore: func(int) error { return runner.SetTopology(ctx, whole) },
		settled: func() bool { return current(server) },
	}, more); err != nil {
		return err
	}
	return out.print(figure{bench: "loop/sent", unit: "ms", value: sent.p99(), more: append(more,
		field{"median", sent.median()}, field{"max", slices.Max(sent)},
		field{"hostMillis", fleet.applying.median()}, field{"runs", len(sent)})})
}

// lost returns the ends of the i-th link that is lost.
func (s closSize) lost(i int) (leaf, spine string) {
	return s.leaf(i%s.planes+1, i%s.leaves), s.spine(i%s.planes+1, i/s.leaves%s.spines)
}

// without is the fabric less a link, both ways.
func (s closSize) without(whole *topology.Snapshot, i int) *topology.Snapshot {
	u, v := s.lost(i)
	b := whole.Builder()
	for _, l := range whole.Links {
		if string(l.Local) == u && string(l.Remote) == v {
			b.RemoveLink(l.ID)
		}
	}
	return b.Build()
}

// current reports whether the hosts have acknowledged everything that a server sent them.
func current(server *hosts.Server) bool {
	c := server.Counters()
	return c.Applied+c.Refused == c.Snapshots+c.Deltas && c.Results == c.Probes
}
