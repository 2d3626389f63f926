package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/etcd"
)

const (
	storePods      = 32
	storeGroups    = 1024
	storeReceivers = 8
	storePuts      = 1000
	storeOctets    = 2048
	storePatience  = 10 * time.Minute
)

// storing measures the controller with its etcd, 1,024 switches in memory that answer at once, and
// 1,024 groups of 8 receivers. store/open opens an etcd in an empty directory. store/put writes a
// synced record of 2,048 octets, to one etcd and to three members, which share the disk here.
// store/post creates a group, while switches are programmed. store/restart is the time from opening
// the directory to every group Programmed; a write to a switch fails it.
func storing(ctx context.Context, out *report) (err error) {
	dir, err := os.MkdirTemp("", "weft-bench-store")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := storePut(ctx, out, filepath.Join(dir, "put")); err != nil {
		return err
	}
	k := newKeeping(dir, out)
	if err := k.make(ctx, out); err != nil {
		return err
	}
	return k.restart(ctx, out)
}

func newKeeping(dir string, out *report) *keeping {
	c := newClos(storePods)
	c.inventory.Intervals.Settle, c.inventory.Intervals.Audit = 0, 0
	out.tell("store: %d groups of %d receivers on %d switches", storeGroups, storeReceivers,
		len(c.inventory.Switches))
	return &keeping{clos: c, dir: filepath.Join(dir, "controller")}
}

// storePut measures consecutive writes of records, in a single etcd and in an etcd of three
// members, which here share one disk and processor.
func storePut(ctx context.Context, out *report, dir string) (err error) {
	out.tell("store: %d records of %d octets", storePuts, storeOctets)
	start := time.Now()
	alone, err := etcd.Open(ctx, recordsIn(filepath.Join(dir, "alone"), nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.Close()) }()
	if err := out.print(figure{bench: "store/open", unit: "s",
		value: time.Since(start).Seconds()}); err != nil {
		return err
	}
	three, err := trio(ctx, dir)
	defer func() {
		for _, s := range three {
			err = errors.Join(err, s.Close())
		}
	}()
	if err != nil {
		return err
	}
	took := make([][]time.Duration, 2)
	value := make([]byte, storeOctets)
	for i := range storePuts {
		for n, s := range []*etcd.Store{alone, three[0]} { // side by side
			start := time.Now()
			if err := s.Apply(ctx, []store.Op{{Key: fmt.Sprintf("bench/%d", i), Value: value}}); err != nil {
				return err
			}
			took[n] = append(took[n], time.Since(start))
		}
	}
	return errors.Join(
		out.print(latency("store/put", took[0], field{"octets", storeOctets}, field{"members", 1})),
		out.print(latency("store/put", took[1], field{"octets", storeOctets},
			field{"members", len(three)})))
}

// recordsIn returns the configuration for a controller's records in a directory, with the settings
// of "weft controller": an etcd in its own process, and with peers one of several members.
func recordsIn(dir string, peers *etcd.Peers) etcd.Config {
	return etcd.Config{Dir: dir, Release: "bench", Peers: peers, Apart: true}
}

// trio returns the members of an etcd, including members started before an error.
func trio(ctx context.Context, dir string) ([]*etcd.Store, error) {
	configs, err := trioConfigs(dir)
	if err != nil {
		return nil, err
	}
	return openAll(ctx, configs)
}

// trioConfigs returns what the three members of an etcd start with.
func trioConfigs(dir string) ([]etcd.Config, error) {
	members := make(map[string]string)
	var out []etcd.Config
	for _, name := range []string{"a", "b", "c"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		members[name] = l.Addr().String()
		if err := l.Close(); err != nil {
			return nil, err
		}
		out = append(out, recordsIn(filepath.Join(dir, name), &etcd.Peers{Name: name, Members: members}))
	}
	return out, nil
}

// openAll opens the members of an etcd, and returns those that started even with an error.
func openAll(ctx context.Context, configs []etcd.Config) ([]*etcd.Store, error) {
	stores := make([]*etcd.Store, len(configs))
	var group errgroup.Group
	for i, c := range configs {
		group.Go(func() (err error) {
			stores[i], err = etcd.Open(ctx, c)
			return err
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(stores, func(s *etcd.Store) bool { return s == nil }), err
}

// latency is a figure of the median, with the 99th percentile.
func latency(name string, took []time.Duration, more ...field) figure {
	slices.Sort(took)
	at := func(part float64) float64 {
		return took[int(math.Ceil(part*float64(len(took))))-1].Seconds() * 1e3
	}
	return figure{bench: name, unit: "ms", value: at(0.5),
		more: append([]field{{"p99", at(0.99)}, {"count", len(took)}}, more...)}
}

// keeping holds a controller on a Clos, its data directory, and switches that outlive the
// controller.
type keeping struct {
	clos     *clos
	dir      string
	switches controllertest.Southbound
	written  int // updates of switches when the first controller ended
}

// run runs f with a controller, from the records in the directory.
func (k *keeping) run(ctx context.Context, f func(*controller.Controller) error) (err error) {
	s, err := etcd.Open(ctx, recordsIn(k.dir, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	var group errgroup.Group
	defer func() {
		cancel()
		err = errors.Join(err, group.Wait())
	}()
	c, err := controller.NewController(ctx, controller.Options{Inventory: k.clos.inventory, Store: s,
		Southbound: &k.switches})
	if err != nil {
		return err
	}
	group.Go(func() error { return c.Run(ctx) })
	if err := c.SetTopology(ctx, k.clos.topology.Build()); err != nil {
		return err
	}
	return f(c)
}

// ready waits until every switch and every group has what it needs.
func (k *keeping) ready(ctx context.Context, c *controller.Controller, groups int) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if ready, err := k.isReady(ctx, c, groups); err != nil || ready {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("the controller is not ready: %w", ctx.Err())
		}
	}
}

// isReady reports whether every switch and every group has what it needs.
func (k *keeping) isReady(ctx context.Context, c *controller.Controller, groups int) (bool, error) {
	switches, err := c.Switches(ctx)
	if err != nil {
		return false, err
	}
	all, err := kind.Views[api.MulticastGroup](ctx, c.Kinds())
	if err != nil {
		return false, err
	}
	return len(all) == groups &&
		!slices.ContainsFunc(switches, func(s api.SwitchStatus) bool { return !s.Synced }) &&
		!slices.ContainsFunc(all, func(g api.MulticastGroup) bool {
			return !g.Status.Is(api.Programmed)
		}), nil
}

// updates returns how many updates all switches have taken.
func (k *keeping) updates() (n int) {
	for i := range k.clos.inventory.Switches {
		k.switches.With(k.clos.inventory.Switches[i].Name, func(d *controllertest.Device) {
			n += d.Writes
		})
	}
	return n
}

// make creates the groups one after the other; each answer arrives after the group is on disk.
func (k *keeping) make(ctx context.Context, out *report) error {
	return k.run(ctx, func(c *controller.Controller) error {
		if err := k.ready(ctx, c, 0); err != nil {
			return err
		}
		var took []time.Duration
		for i, spec := range k.clos.groups(storeGroups, storeReceivers) {
			start := time.Now()
			if _, _, err := c.Groups().Put(ctx, fmt.Sprintf("g%d", i), spec,
				resource.Precondition{}); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
		if err := k.ready(ctx, c, storeGroups); err != nil {
			return err
		}
		k.written = k.updates()
		return out.print(latency("store/post", took, field{"switches", len(k.clos.inventory.Switches)}))
	})
}

// restart goes on from the records. It fails when a switch that agrees is written to.
func (k *keeping) restart(ctx context.Context, out *report) error {
	start := time.Now()
	return k.run(ctx, func(c *controller.Controller) error {
		if err := k.ready(ctx, c, storeGroups); err != nil {
			return err
		}
		took := time.Since(start)
		if n := k.updates() - k.written; n != 0 {
			return fmt.Errorf("%d updates were written to switches that agree", n)
		}
		return out.print(figure{bench: "store/restart", unit: "s", value: took.Seconds(), more: []field{
			{"switches", len(k.clos.inventory.Switches)}, {"groups", storeGroups}, {"updates", 0},
		}})
	})
}
