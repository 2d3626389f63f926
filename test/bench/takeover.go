package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/cluster"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/etcd"
)

// takeovers is how often the decider dies.
const takeovers = 5

// takeover measures the time from the death of the controller that decides to every switch read
// back and every group Programmed by another one. The controllers form an etcd, and are in this
// process; one dies by closing its member of the etcd, so that the lease is neither renewed nor
// given back. It fails when a switch is written to.
func (k *keeping) takeover(ctx context.Context, out *report) (err error) {
	configs, err := trioConfigs(filepath.Join(k.dir, "shared"))
	if err != nil {
		return err
	}
	stores, err := openAll(ctx, configs)
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	var group errgroup.Group
	defer func() {
		cancel()
		err = errors.Join(err, group.Wait())
	}()
	if err == nil {
		err = k.copyTo(ctx, stores[0])
	}
	decides := make(chan *contender)
	for i, s := range stores { // also to close them
		c := &contender{config: configs[i], store: s}
		group.Go(func() error { return k.contend(ctx, c, decides) })
	}
	if err != nil {
		return err
	}
	decider, err := next(ctx, decides)
	if err != nil {
		return err
	}
	k.written = k.updates()
	var took []time.Duration
	for range takeovers {
		start := time.Now()
		dead := decider
		if err := dead.store.Close(); err != nil {
			return err
		}
		dead.end()
		if decider, err = next(ctx, decides); err != nil {
			return err
		}
		took = append(took, time.Since(start))
		again, err := etcd.Open(ctx, dead.config)
		if err != nil {
			return err
		}
		c := &contender{config: dead.config, store: again}
		group.Go(func() error { return k.contend(ctx, c, decides) })
	}
	if n := k.updates() - k.written; n != 0 {
		return fmt.Errorf("%d updates were written to switches that agree", n)
	}
	return out.print(latency("store/takeover", took, field{"switches", len(k.clos.inventory.Switches)}, field{"groups", storeGroups},
		field{"controllers", 3}, field{"updates", 0}))
}

// next waits for the controller that decides next.
func next(ctx context.Context, decides <-chan *contender) (*contender, error) {
	select {
	case c := <-decides:
		return c, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("nobody decides: %w", ctx.Err())
	}
}

// contender is one of several controllers.
type contender struct {
	config etcd.Config
	store  *etcd.Store
	end    context.CancelFunc
}

// contend runs a controller until it dies. Once it decides and is ready, it is sent to decides.
func (k *keeping) contend(ctx context.Context, self *contender, decides chan<- *contender) error {
	alive, end := context.WithCancel(ctx)
	defer end()
	self.end = end
	node := cluster.New(cluster.Config{
		Self: cluster.Member{Name: fmt.Sprintf("%s%d", self.config.Peers.Name, time.Now().UnixNano())}, Store: self.store,
		Lead: func(ctx context.Context, m *cluster.Mandate) error {
			c, err := controller.NewController(ctx, controller.Options{
				Inventory: k.clos.inventory, Store: m.Store, Southbound: cluster.Fence(&k.switches, m.Tenure),
			})
			if err != nil {
				return err
			}
			var group errgroup.Group
			group.Go(func() error { return c.Run(ctx) })
			err = c.SetTopology(ctx, k.clos.topology.Build())
			if err == nil {
				err = k.ready(ctx, c, storeGroups)
			}
			if err == nil {
				select {
				case decides <- self:
				case <-ctx.Done():
				}
			}
			return errors.Join(err, group.Wait())
		},
	})
	node.Run(alive)
	if ctx.Err() != nil {
		return self.store.Close() // what died is closed already
	}
	return nil
}

// copyTo copies the records of the directory to another store.
func (k *keeping) copyTo(ctx context.Context, to store.Store) (err error) {
	from, err := etcd.Open(ctx, etcd.Config{Dir: k.dir, Release: "bench"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	records, _, err := from.List(ctx, "")
	if err != nil {
		return err
	}
	ops := make([]store.Op, len(records))
	for i, r := range records {
		ops[i] = store.Op{Key: r.Key, Value: r.Value}
	}
	return to.Apply(ctx, ops)
}
