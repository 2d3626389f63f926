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

	"github.com/weft-sdn/weft/endpoint/agent"
	"github.com/weft-sdn/weft/endpoint/agent/agenttest"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

const (
	denyLeaves   = 128 // each with as many hosts as the bench has for it, and a profile to every other
	denyPlanes   = 4
	denySpines   = 32 // of each plane: as many EVs as planes times spines
	denyFailures = 100
)

// denyHosts are the numbers of hosts.
var denyHosts = []int{128, 1024}

// denying measures the time from a link that is lost to the last host having applied what that denies: thin hosts, all in this process, over loopback TCP.
func denying(ctx context.Context, out *report) error {
	for _, n := range denyHosts {
		out.tell("hosts: %d hosts, %d profiles of %d EVs each", n, denyLeaves-1, denyPlanes*denySpines)
		if err := denyOf(ctx, out, n); err != nil {
			return err
		}
	}
	return nil
}

// fleet is a controller's end and its hosts.
type fleet struct {
	server *hosts.Server
	leaves []*hostapi.State // what the hosts of each leaf hold
	names  [][]string       // hosts by leaf
	open   atomic.Int64     // applies awaited
	last   chan struct{}    // the last of them
}

func denyOf(ctx context.Context, out *report, n int) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		err = errors.Join(err, group.Wait())
	}()
	f := &fleet{last: make(chan struct{}, 1), names: make([][]string, denyLeaves)}
	cfg := hosts.DefaultConfig()
	cfg.Epoch, cfg.CountsInterval = 1, 0
	if f.server, err = hosts.New(cfg, &hoststest.Silent{}); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	group.Go(func() error { return f.server.Serve(ctx, listener) })
	for leaf := range denyLeaves {
		state, err := leafState(leaf)
		if err != nil {
			return err
		}
		f.leaves = append(f.leaves, state)
	}
	start := time.Now()
	f.open.Store(int64(n))
	for i := range n {
		name, leaf := fmt.Sprintf("h%d", i), i%denyLeaves
		f.names[leaf] = append(f.names[leaf], name)
		if err := f.server.Set(name, f.leaves[leaf]); err != nil {
			return err
		}
		cfg := agent.DefaultConfig()
		cfg.Name, cfg.Controller = name, listener.Addr().String()
		a, err := agent.New(cfg, &agenttest.Endpoint{Forget: true, Applied: func(*hostapi.State) { f.applied() }})
		if err != nil {
			return err
		}
		group.Go(func() error { return a.Run(ctx) })
	}
	if err := f.wait(ctx); err != nil {
		return err
	}
	more := []field{{"hosts", n}, {"profiles", denyLeaves - 1}, {"evs", denyPlanes * denySpines}}
	if err := out.print(figure{bench: "hosts/snapshot", unit: "s", value: time.Since(start).Seconds(), more: more}); err != nil {
		return err
	}
	var took runs
	cpu := processorTime()
	for i := range denyFailures {
		leaf, ev := i*37%denyLeaves, i%(denyPlanes*denySpines)
		start := time.Now()
		if err := f.deny(leaf, ev); err != nil {
			return err
		}
		if err := f.wait(ctx); err != nil {
			return err
		}
		took = append(took, float64(time.Since(start).Microseconds())/1000)
	}
	cpu = processorTime() - cpu
	slices.Sort(took)
	p99 := took[int(math.Ceil(0.99*float64(len(took))))-1]
	return out.print(figure{bench: "hosts/deny", unit: "ms", value: p99, more: append(more, field{"median", took.median()}, field{"max", took[len(took)-1]}, field{"cpuMillis", float64(cpu.Microseconds()) / 1000 / denyFailures}, field{"runs", len(took)})})
}

func (f *fleet) applied() {
	if f.open.Add(-1) == 0 {
		f.last <- struct{}{}
	}
}

func (f *fleet) wait(ctx context.Context) error {
	select {
	case <-f.last:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return fmt.Errorf("%d hosts have not applied what they should after a minute: %+v", f.open.Load(), f.server.Counters())
	}
}

// deny is the loss of a leaf's link: one EV of all its profiles, and of all profiles to it.
func (f *fleet) deny(leaf, at int) error {
	hosts := 0
	for _, names := range f.names {
		hosts += len(names)
	}
	f.open.Store(int64(hosts))
	for from, state := range f.leaves {
		var d hostapi.Delta
		for _, p := range state.Profiles {
			if from == leaf || p.Destinations[0] == destination(leaf) {
				d.Change = append(d.Change, hostapi.ProfileChange{Name: p.Name, Deny: p.EVs[at : at+1]})
				if p.IsDenied(p.EVs[at]) {
					d.Change[len(d.Change)-1] = hostapi.ProfileChange{Name: p.Name, Allow: p.EVs[at : at+1]}
				}
			}
		}
		next, err := state.Apply(&d)
		if err != nil {
			return err
		}
		f.leaves[from] = next
		for _, name := range f.names[from] {
			if err := f.server.Set(name, next); err != nil {
				return err
			}
		}
	}
	return nil
}

// destination is the prefix of a leaf's hosts.
func destination(leaf int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(leaf)}), 48)
}

// leafState is what the hosts of a leaf hold.
func leafState(from int) (*hostapi.State, error) {
	var s hostapi.State
	for to := range denyLeaves {
		if to == from {
			continue
		}
		p := &hostapi.Profile{
			Name: fmt.Sprintf("leaf%03d-leaf%03d", from, to), Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{8, 24}}, Mode: hostapi.ModeExplicit,
			Count: denyPlanes * denySpines, MinActive: denySpines, Events: true,
			Destinations: []netip.Prefix{destination(to)},
		}
		for spine := range denySpines {
			for plane := range denyPlanes {
				p.EVs = append(p.EVs, hostapi.NewEV(uint32(spine+1)<<24|uint32(to), uint8(plane+1)))
			}
		}
		s.Profiles = append(s.Profiles, p)
	}
	return hostapi.NewState(s)
}
