package main

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls"
)

// severalSize is the fabric whose hosts connect to one controller, and to three.
var severalSize = severalBench{closSize: closSize{closPlanes, closLeaves, closSpines,
	4 * closHosts}, failures: 40, rest: 3 * time.Second}

// severalASN is the autonomous system of the fabric.
const severalASN = 64512

// severalBench compares link-down to the last host on three controllers with that on one.
type severalBench struct {
	closSize
	failures int
	rest     time.Duration // before each failure
}

// several measures the time from a link that BGP-LS withdraws to the last host having applied what
// that denies, with the hosts at one controller and spread over three, in turns.
func several(ctx context.Context, out *report) error { return severalSize.compare(ctx, out) }

func (s severalBench) compare(ctx context.Context, out *report) (err error) {
	dir, err := os.MkdirTemp("", "weft-bench-several")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out.tell("several: %d switches, %d hosts, on one controller and on three",
		s.planes*(s.leaves+s.spines), s.leaves*s.hosts)
	var settings []*setting
	defer func() {
		for _, x := range settings {
			err = errors.Join(err, x.stop())
		}
	}()
	configs, err := trioConfigs(dir)
	if err != nil {
		return err
	}
	for i, members := range []map[string]string{nil, configs[0].Peers.Members} {
		x, err := s.start(ctx, dir, i, members)
		settings = append(settings, x)
		if err != nil {
			return err
		}
		if err := out.print(figure{bench: "several/start", unit: "s", value: x.started.Seconds(),
			more: s.parameters(x)}); err != nil {
			return err
		}
	}
	if err := s.limit(out, settings); err != nil {
		return err
	}
	for i := range s.failures + 1 {
		for n := range settings {
			x := settings[(i+n)%len(settings)]
			if err := x.failAndRestore(ctx, s, i); err != nil {
				return err
			}
			if i == 0 { // the first failure is not counted: hosts have begun just now
				if err := x.begin(); err != nil {
					return err
				}
			}
		}
	}
	return s.figures(out, settings[0], settings[1])
}

// limit gives each controller a fifth of the processors and the hosts of a fabric two fifths, so
// that three controllers do not compete for the processors of a single controller: one fabric rests
// while a link of the other fabric fails. Without control groups, or without the right to create
// them, all processes share the processors.
func (s severalBench) limit(out *report, settings []*setting) error {
	share := float64(runtime.NumCPU()) / 5
	for _, x := range settings {
		parts := map[int]float64{x.fleet.cmd.Process.Pid: 2 * share}
		for _, c := range x.controllers {
			parts[c.cmd.Process.Pid] = share
		}
		for pid, processors := range parts {
			q, err := limitProcessors(pid, processors)
			if err != nil && len(settings[0].quotas) == 0 {
				out.tell("several: all processes share the processors: %v", err)
				return nil
			} else if err != nil {
				return err
			}
			x.quotas = append(x.quotas, q)
		}
		x.share = share
	}
	return nil
}

// parameters are the parameters of a setting.
func (s severalBench) parameters(x *setting) []field {
	return []field{{"controllers", len(x.controllers)}, {"switches", s.planes * (s.leaves + s.spines)},
		{"hosts", s.leaves * s.hosts}}
}

// figures prints what was measured of one controller and of three.
func (s severalBench) figures(out *report, one, three *setting) error {
	for _, x := range []*setting{one, three} {
		var cpu []float64
		for i, c := range x.controllers {
			use, err := c.use(askMemory)
			if err != nil {
				return err
			}
			cpu = append(cpu, rounded(float64((use.CPU-x.used[i]).Microseconds())/1000/float64(len(x.took))))
			more := append(s.parameters(x), field{"controller", c.name}, field{"peakBytes", use.Peak})
			if err := out.print(figure{bench: "several/memory", unit: "octets", value: float64(use.Heap),
				more: more}); err != nil {
				return err
			}
		}
		slices.Sort(x.took)
		more := append(s.parameters(x), field{"median", x.took.median()},
			field{"max", x.took[len(x.took)-1]}, field{"cpuMillis", cpu}, field{"runs", len(x.took)},
			field{"processors", x.share})
		if x == three {
			more = append(more, field{"ratio", x.took.p99() / one.took.p99()},
				field{"medianRatio", x.took.median() / one.took.median()})
		}
		if err := out.print(figure{bench: "several/deny", unit: "ms", value: x.took.p99(),
			more: more}); err != nil {
			return err
		}
	}
	return nil
}

// A setting is a fabric with a BGP-LS speaker, controllers and hosts.
type setting struct {
	speaker     *bgpls.Speaker
	objects     []*bgpls.Objects // of all switches
	controllers []*controllerProcess
	fleet       *thinHosts
	started     time.Duration
	used        []time.Duration // processor time of the controllers before the first failure
	took        runs            // milliseconds
	quotas      []*quota        // of all processes; none: they share the processors
	share       float64         // processors of each controller; 0: all share them
}

// start starts the i-th setting, with a controller for each member of an etcd, or with one alone.
// The setting is returned even with an error.
func (s severalBench) start(ctx context.Context, dir string, i int,
	members map[string]string) (x *setting, err error) {
	x = &setting{}
	began := time.Now()
	at := netip.AddrFrom4([4]byte{127, 82, byte(i + 1), 1})
	if x.speaker, err = bgpls.Start(ctx, bgpls.Config{ASN: severalASN, RouterID: at,
		Listen: netip.AddrPortFrom(at, 0)}); err != nil {
		return x, err
	}
	x.objects = s.originated()
	if err := x.speaker.Originate(x.objects...); err != nil {
		return x, err
	}
	names := []string{"alone"}
	if members != nil {
		names = slices.Sorted(maps.Keys(members))
	}
	for n, name := range names {
		local := netip.AddrFrom4([4]byte{127, 82, byte(i + 1), byte(n + 2)})
		if err := x.speaker.AddPeer(ctx, bgpls.Peer{Address: local, ASN: severalASN,
			Passive: true}); err != nil {
			return x, err
		}
		c, err := startController(ctx, controllerPart{
			Size: [4]int{s.planes, s.leaves, s.spines, s.hosts}, Name: name, Members: members, Dir: dir,
			Local: local, Peer: x.speaker.ListenAddr(),
		})
		if err != nil {
			return x, err
		}
		x.controllers = append(x.controllers, c)
	}
	var addresses []string // controllers of an etcd start together
	for _, c := range x.controllers {
		address, err := c.line()
		if err != nil {
			return x, err
		}
		addresses = append(addresses, address)
	}
	_, inv := s.build()
	var hosts []string
	for _, h := range inv.Hosts {
		hosts = append(hosts, h.Name)
	}
	if x.fleet, err = startThinHosts(ctx, strings.Join(addresses, ","), hosts); err != nil {
		return x, err
	}
	if err := x.fleet.wait(ctx); err != nil {
		return x, err
	}
	x.started = time.Since(began)
	return x, nil
}

// begin begins the measurement.
func (x *setting) begin() error {
	x.took = nil
	for _, c := range x.controllers {
		use, err := c.use(askProcessor)
		if err != nil {
			return err
		}
		x.used = append(x.used, use.CPU)
	}
	return nil
}

func (x *setting) stop() (err error) {
	if x.fleet != nil {
		err = x.fleet.stop()
	}
	for _, c := range x.controllers {
		err = errors.Join(err, c.stop())
	}
	if x.speaker != nil {
		err = errors.Join(err, x.speaker.Close())
	}
	for _, q := range x.quotas {
		err = errors.Join(err, q.end())
	}
	return err
}

// failAndRestore makes the i-th link fail and return after all hosts have denied the link.
// failAndRestore collects garbage before, because a collection takes as long as a failure, or
// longer, and would disturb only a few failures.
func (x *setting) failAndRestore(ctx context.Context, s severalBench, i int) error {
	for _, c := range x.controllers {
		if _, err := c.use(askCollected); err != nil {
			return err
		}
	}
	select {
	case <-time.After(s.rest):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := x.fleet.await(ctx, awaitDenials); err != nil {
		return err
	}
	less := s.withoutLink(x.objects, i)
	start := time.Now()
	if err := x.speaker.Originate(less...); err != nil {
		return err
	}
	if err := x.fleet.wait(ctx); err != nil {
		return err
	}
	x.took = append(x.took, float64(time.Since(start).Microseconds())/1000)
	if err := x.fleet.await(ctx, awaitNoDenials); err != nil {
		return err
	}
	if err := x.speaker.Originate(x.objects...); err != nil {
		return err
	}
	return x.fleet.wait(ctx)
}

// originated is the fabric as its switches advertise it.
func (s closSize) originated() []*bgpls.Objects {
	whole, _ := s.build()
	router := make(map[topology.NodeID]netip.Addr)
	for i, n := range whole.Nodes {
		router[n.ID] = netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
	}
	id := func(n topology.NodeID) topology.NodeID { return bgpls.NodeID(severalASN, router[n]) }
	var out []*bgpls.Objects
	for _, n := range whole.Nodes {
		o := &bgpls.Objects{Node: topology.Node{ID: id(n.ID), ASN: severalASN, Name: n.Name,
			RouterID4: router[n.ID]}}
		for _, l := range whole.LinksFrom(n.ID) {
			o.Links = append(o.Links, topology.Link{Local: id(l.Local), Remote: id(l.Remote),
				LocalID: l.LocalID, RemoteID: l.RemoteID, IGPMetric: l.IGPMetric})
		}
		out = append(out, o)
	}
	return out
}

// withoutLink returns what is advertised when the i-th link is down, by both ends.
func (s closSize) withoutLink(all []*bgpls.Objects, i int) []*bgpls.Objects {
	u, v := s.lost(i)
	ids := make(map[string]topology.NodeID)
	for _, o := range all {
		ids[o.Node.Name] = o.Node.ID
	}
	out := slices.Clone(all)
	for n, o := range out {
		remote := ids[v]
		switch o.Node.Name {
		case u:
		case v:
			remote = ids[u]
		default:
			continue
		}
		less := *o
		less.Links = slices.DeleteFunc(slices.Clone(o.Links), func(l topology.Link) bool {
			return l.Remote == remote
		})
		out[n] = &less
	}
	return out
}
