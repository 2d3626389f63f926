package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/cluster"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/etcd"
	"github.com/weft-sdn/weft/topology"
)

// takeovers is how often the decider dies, and takeoverPause is what follows each time.
const (
	takeovers     = 5
	takeoverPause = 30 * time.Second
)

// takingOver measures what it takes another controller to go on.
func takingOver(ctx context.Context, out *report) (err error) {
	dir, err := os.MkdirTemp("", "weft-bench-takeover")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	k := newKeeping(dir, out)
	return errors.Join(k.make(ctx, out), k.takeover(ctx, out))
}

// takeover measures the time from the death of the controller that decides to every switch owned,
// read back and in sync, and every group Programmed by another one. The controllers form an etcd,
// and are in this process; one dies by closing its member of the etcd, so that the lease is neither
// renewed nor given back. It fails when a switch is written to.
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
	shared := &ownedSwitches{to: &k.switches, owners: make(map[string]*contender), links: make(map[string]*ownedLink)}
	for i, s := range stores { // also to close them
		c := &contender{config: configs[i], store: s, switches: shared}
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
		shared.forget(dead)
		if decider, err = next(ctx, decides); err != nil {
			return err
		}
		took = append(took, time.Since(start))
		again, err := etcd.Open(ctx, dead.config)
		if err != nil {
			return err
		}
		c := &contender{config: dead.config, store: again, switches: shared}
		group.Go(func() error { return k.contend(ctx, c, decides) })
		select { // its share of the switches moves to it, and the others get ready again
		case <-time.After(takeoverPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if n := k.updates() - k.written; n != 0 {
		return fmt.Errorf("%d updates were written to switches that agree", n)
	}
	return out.print(latency("takeover", took, field{"switches", len(k.clos.inventory.Switches)}, field{"groups", storeGroups},
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
	config   etcd.Config
	store    *etcd.Store
	switches *ownedSwitches
	end      context.CancelFunc
}

// contend runs a controller until it dies. Once it decides and is ready, it is sent to decides.
func (k *keeping) contend(ctx context.Context, self *contender, decides chan<- *contender) error {
	alive, end := context.WithCancel(ctx)
	defer end()
	self.end = end
	snapshot := k.clos.topology.Build()
	topo := &topology.Publisher{}
	topo.Publish(snapshot)
	standby := controller.NewStandby(controller.StandbyOptions{
		Inventory: k.clos.inventory, Store: self.store, Topology: topo, Log: slog.New(slog.DiscardHandler),
		Ignore: func(key string) bool { return strings.HasPrefix(key, "cluster/") || key == "generation" },
	})
	standing, stand := context.WithCancel(alive)
	defer stand()
	var kept sync.WaitGroup
	defer kept.Wait()
	kept.Go(func() { standby.Run(standing) })
	var all []cluster.Switch
	for i := range k.clos.inventory.Switches {
		all = append(all, cluster.Switch{Name: k.clos.inventory.Switches[i].Name})
	}
	node := cluster.New(cluster.Config{
		Switches:   func() []cluster.Switch { return all },
		Generation: nextGeneration,
		Hold: func(_ context.Context, sw string, _ cluster.Owner, _ *cluster.Tenure) (func(), error) {
			self.switches.hold(sw, self)
			return func() { self.switches.release(sw, self) }, nil
		},
		Self: cluster.Member{Name: fmt.Sprintf("%s%d", self.config.Peers.Name, time.Now().UnixNano())}, Store: self.store,
		Lead: func(ctx context.Context, m *cluster.Mandate) error {
			stand()
			c, err := controller.NewController(ctx, controller.Options{
				Inventory: k.clos.inventory, Store: m.Store, Standby: standby, Southbound: cluster.Fence(self.switches, m.Tenure),
			})
			if err != nil {
				return err
			}
			var group errgroup.Group
			group.Go(func() error { return c.Run(ctx) })
			err = c.SetTopology(ctx, snapshot)
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

// nextGeneration counts the decisions on owners in a record.
func nextGeneration(ctx context.Context, s store.Store) (n uint32, err error) {
	r, err := s.Get(ctx, "generation")
	switch {
	case err == nil:
		err = json.Unmarshal(r.Value, &n)
	case errors.Is(err, store.ErrNotFound):
		err = nil
	}
	if err != nil {
		return 0, err
	}
	n++
	value, err := json.Marshal(n)
	if err == nil {
		_, err = s.Put(ctx, "generation", value, store.Any)
	}
	return n, err
}

// ownedSwitches is the seam to switches that are up while a controller owns them, without the time
// that sessions take.
type ownedSwitches struct {
	to controller.Southbound

	mu     sync.Mutex
	owners map[string]*contender
	links  map[string]*ownedLink
}

// ownedLink is the decider's relation to a switch.
type ownedLink struct {
	handler func(controller.SwitchEvent)
	up      bool // the switch is
}

// Open implements [controller.Southbound].
func (o *ownedSwitches) Open(ctx context.Context, sw inventory.Switch, handler func(controller.SwitchEvent)) (controller.Switch, error) {
	l := &ownedLink{handler: handler}
	o.mu.Lock()
	o.links[sw.Name] = l
	o.mu.Unlock()
	return o.to.Open(ctx, sw, func(e controller.SwitchEvent) {
		if !e.Up {
			handler(e)
			return
		}
		o.mu.Lock()
		l.up = true
		owned := o.owners[sw.Name] != nil
		o.mu.Unlock()
		if owned {
			handler(e)
		}
	})
}

func (o *ownedSwitches) hold(sw string, by *contender) {
	o.mu.Lock()
	o.owners[sw] = by
	handler := o.handler(sw)
	o.mu.Unlock()
	handler(controller.SwitchEvent{Up: true})
}

// handler returns that of a switch which is up. o.mu is held.
func (o *ownedSwitches) handler(sw string) func(controller.SwitchEvent) {
	if l := o.links[sw]; l != nil && l.up {
		return l.handler
	}
	return func(controller.SwitchEvent) {}
}

func (o *ownedSwitches) release(sw string, by *contender) {
	o.mu.Lock()
	was := o.owners[sw] == by
	handler := o.handler(sw)
	if was {
		delete(o.owners, sw)
	}
	o.mu.Unlock()
	if was {
		handler(controller.SwitchEvent{Err: errors.New("its owner let go of it")})
	}
}

// forget ends the sessions and the relations of a controller that died.
func (o *ownedSwitches) forget(dead *contender) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for sw, by := range o.owners {
		if by == dead {
			delete(o.owners, sw)
		}
	}
	clear(o.links)
}
