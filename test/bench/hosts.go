package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

const (
	denyLeaves = 128 // each with as many hosts as the bench has for it, and a profile to every other
	denyPlanes = 4
	denySpines = 32 // of each plane: as many EVs as planes times spines
)

// denyHosts are the numbers of hosts.
var denyHosts = []int{128, 1024}

// denying measures thin hosts of 128 leaves in a process of their own, with streams over loopback
// TCP; each has a profile of 128 explicit EVs to every other leaf. hosts/snapshot is the time until
// all have applied it, hosts/deny the 99th percentile of 100 lost links, until the last host has
// applied the denial.
func denying(ctx context.Context, out *report) error {
	for _, n := range denyHosts {
		out.tell("hosts: %d hosts, %d profiles of %d EVs each", n, denyLeaves-1, denyPlanes*denySpines)
		if err := denyOf(ctx, out, n); err != nil {
			return err
		}
	}
	return nil
}

// leafFleet is a controller's end of hosts.
type leafFleet struct {
	server *hosts.Server
	leaves []*hostapi.State // what the hosts of each leaf hold
	names  [][]string       // hosts by leaf
}

func denyOf(ctx context.Context, out *report, n int) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		err = errors.Join(err, group.Wait())
	}()
	f := &leafFleet{names: make([][]string, denyLeaves)}
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
	var names []string
	for i := range n {
		name, leaf := fmt.Sprintf("h%d", i), i%denyLeaves
		names, f.names[leaf] = append(names, name), append(f.names[leaf], name)
		if err := f.server.Set(name, f.leaves[leaf]); err != nil {
			return err
		}
	}
	fleet, err := startThinHosts(ctx, listener.Addr().String(), names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.stop()) }()
	if err := fleet.wait(ctx); err != nil {
		return err
	}
	more := []field{{"hosts", n}, {"profiles", denyLeaves - 1}, {"evs", denyPlanes * denySpines}}
	if err := out.print(figure{bench: "hosts/snapshot", unit: "s", value: time.Since(start).Seconds(),
		more: more}); err != nil {
		return err
	}
	return fleet.measure(ctx, out, "hosts/deny", failing{
		fail: func(i int) func() error {
			return func() error {
				return f.change(i, func(c *hostapi.ProfileChange) *[]hostapi.EV {
					return &c.Deny
				})
			}
		},
		restore: func(i int) error {
			return f.change(i, func(c *hostapi.ProfileChange) *[]hostapi.EV { return &c.Allow })
		},
		settled: func() bool { return current(f.server) },
	}, more)
}

// change denies or allows what crosses a leaf's link: one EV of all its profiles, and of all
// profiles to it.
func (f *leafFleet) change(i int, list func(*hostapi.ProfileChange) *[]hostapi.EV) error {
	leaf, at := i*37%denyLeaves, i%(denyPlanes*denySpines)
	for from, state := range f.leaves {
		var d hostapi.Delta
		for _, p := range state.Profiles {
			if from == leaf || p.Destinations[0] == destination(leaf) {
				c := hostapi.ProfileChange{Name: p.Name}
				*list(&c) = p.EVs[at : at+1]
				d.Change = append(d.Change, c)
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
			Name:   fmt.Sprintf("leaf%03d-leaf%03d", from, to),
			Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{8, 24}},
			Mode:   hostapi.ModeExplicit,
			Count:  denyPlanes * denySpines, MinActive: denySpines, Events: true,
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
