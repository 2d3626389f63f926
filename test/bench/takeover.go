package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/etcd"
	"github.com/weft-sdn/weft/topology"
)

// takeovers is how often the decider dies, and how often the leader of the etcd does, takeoverPause
// is what follows each time, and takeoverPatience is how long all may take. takeoverReady is when
// all have a core ready after a start together: until then a decider plans the network by itself.
const (
	takeovers        = 10
	takeoverPause    = 20 * time.Second
	takeoverPatience = 30 * time.Minute
	takeoverReady    = time.Minute
)

// takingOver measures a takeover of three controllers that form an etcd and share 1,024 switches
// with 1,024 groups. The decider, or the leader of the etcd, dies ten times. The time ends when
// every switch has an owner and is read back, and every group is Programmed; a write to a switch
// fails it. leaseMs of it pass until the store has ended the lease.
func takingOver(ctx context.Context, out *report) (err error) {
	dir, err := os.MkdirTemp("", "weft-bench-takeover")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	k := newKeeping(dir, out)
	if err := k.make(ctx, out); err != nil {
		return err
	}
	return k.takeover(ctx, out)
}

// takeover measures the time from the death of a controller until the remaining controllers own
// every switch, have read every switch back, and report every switch in sync and every group
// Programmed. The dying controller is the decider, or the controller whose member leads the etcd;
// the decider keeps the two roles apart. The controllers run in this process and form an etcd whose
// members run in processes of their own, as with "weft controller". One controller dies together
// with its member, killed by kill -9: the others get no notice, and the lease is neither renewed
// nor given back. takeover fails if a controller writes to a switch.
func (k *keeping) takeover(ctx context.Context, out *report) (err error) {
	configs, err := trioConfigs(filepath.Join(k.dir, "shared"))
	if err != nil {
		return err
	}
	stores, err := openAll(ctx, configs)
	ctx, cancel := context.WithTimeout(ctx, takeoverPatience)
	var group errgroup.Group
	defer func() {
		cancel()
		err = errors.Join(err, group.Wait())
	}()
	if err == nil {
		err = k.copyTo(ctx, stores[0])
	}
	t := &trial{keeping: k, decides: make(chan *contender)}
	t.switches = &ownedSwitches{to: &k.switches, owners: make(map[string]*contender),
		links: make(map[string]*ownedLink)}
	for i, s := range stores { // also to close them
		t.begin(ctx, &group, configs[i], s)
	}
	if err != nil {
		return err
	}
	if err := t.next(ctx); err != nil {
		return err
	}
	if err := pause(ctx, takeoverReady); err != nil {
		return err
	}
	k.written = k.updates()
	took, missed := make(map[string][]time.Duration), make(map[string][]time.Duration)
	for range takeovers {
		for _, who := range []string{"decider", "leader"} { // side by side
			dead, gone, d, err := t.kill(ctx, who)
			if err != nil {
				return err
			}
			took[who], missed[who] = append(took[who], d), append(missed[who], gone)
			out.tell("takeover/%s: %v, %v of them until its lease was over", who,
				d.Round(time.Millisecond), gone.Round(time.Millisecond))
			if err := dead.store.Close(); err != nil {
				return err
			}
			again, err := etcd.Open(ctx, dead.config)
			if err != nil {
				return err
			}
			t.begin(ctx, &group, dead.config, again)
			// a share of the switches moves to the restarted controller, and the other controllers get ready
			// again
			if err := pause(ctx, takeoverPause); err != nil {
				return err
			}
		}
	}
	if n := k.updates() - k.written; n != 0 {
		return fmt.Errorf("%d updates were written to switches that agree", n)
	}
	for _, who := range []string{"decider", "leader"} {
		d := took[who]
		lease := latency("", missed[who])
		err = errors.Join(err, out.print(latency("takeover/"+who, d,
			field{"max", slices.Max(d).Seconds() * 1e3},
			field{"leaseMs", lease.value}, field{"maxLeaseMs", slices.Max(missed[who]).Seconds() * 1e3},
			field{"switches", len(k.clos.inventory.Switches)}, field{"groups", storeGroups},
			field{"controllers", len(stores)}, field{"updates", 0})))
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// trial holds several controllers; one decides.
type trial struct {
	*keeping
	switches *ownedSwitches
	decides  chan *contender // one that has begun to decide, and is ready
	decider  *contender
	all      []*contender
}

// begin starts a controller.
func (t *trial) begin(ctx context.Context, group *errgroup.Group, config etcd.Config,
	s *etcd.Store) {
	c := &contender{
		config: config, store: s, switches: t.switches,
		name: fmt.Sprintf("%s%d", config.Peers.Name, time.Now().UnixNano()),
	}
	alive, end := context.WithCancel(ctx)
	c.end = end
	t.all = append(t.all, c)
	group.Go(func() error { return t.contend(ctx, alive, c, t.decides) })
}

// next waits until a controller decides.
func (t *trial) next(ctx context.Context) error {
	select {
	case t.decider = <-t.decides:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("nobody decides: %w", ctx.Err())
	}
}

// kill ends a controller, and returns it, the time until the store has ended its lease, and the
// time until the others have taken over.
func (t *trial) kill(
	ctx context.Context, who string,
) (dead *contender, gone, took time.Duration, err error) {
	dead = t.decider
	if i := slices.IndexFunc(t.all, func(c *contender) bool { return c.store.Leads() }); i < 0 ||
		t.all[i] == t.decider {
		return nil, 0, 0, errors.New("the decider leads the etcd, or nobody does")
	} else if who == "leader" {
		dead = t.all[i]
	}
	t.all = slices.DeleteFunc(t.all, func(c *contender) bool { return c == dead })
	start := time.Now()
	dead.store.Kill()
	dead.end()
	noticed := make(chan time.Duration, 1)
	var watch errgroup.Group
	defer func() {
		err = errors.Join(err, watch.Wait())
		if err == nil {
			gone = <-noticed
		}
	}()
	watch.Go(func() error {
		err := t.all[0].without(ctx, dead)
		noticed <- time.Since(start)
		return err
	})
	if dead == t.decider {
		t.switches.forget(dead, true)
		err := t.next(ctx)
		return dead, 0, time.Since(start), err
	}
	t.switches.forget(dead, false)
	if ready, err := t.isReady(ctx, t.decider.controller, storeGroups); err != nil || ready {
		return nil, 0, 0, errors.Join(err,
			errors.New("the decider has not noticed that an owner died"))
	}
	err = t.ready(ctx, t.decider.controller, storeGroups)
	return dead, 0, time.Since(start), err
}

// without waits until a contender knows that another controller has left the cluster.
func (c *contender) without(ctx context.Context, dead *contender) error {
	for {
		view, changed := c.node.Load().View()
		if i := slices.IndexFunc(view.Members, func(m cluster.Member) bool {
			return m.Name == dead.name
		}); i < 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// contender is one of several controllers.
type contender struct {
	config   etcd.Config
	store    *etcd.Store
	switches *ownedSwitches
	end      context.CancelFunc
	name     string // as a member of the cluster
	node     atomic.Pointer[cluster.Node]
	// controller decides; set before the contender is sent to who waits for that.
	controller *controller.Controller
}

// contend runs a controller until it dies with alive, or ctx ends. Once it decides and is ready, it
// is sent to decides.
func (k *keeping) contend(ctx, alive context.Context, self *contender,
	decides chan<- *contender) error {
	defer self.end()
	snapshot := k.clos.topology.Build()
	topo := &topology.Publisher{}
	topo.Publish(snapshot)
	standby := controller.NewStandby(controller.StandbyOptions{
		Inventory: k.clos.inventory, Store: self.store, Topology: topo,
		Log: slog.New(slog.DiscardHandler),
		Ignore: func(key string) bool {
			return strings.HasPrefix(key, "cluster/") || key == "generation"
		},
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
		Hold: func(_ context.Context, sw string, _ cluster.Owner, _ *cluster.Tenure,
			_ func(bool)) (func(), error) {
			self.switches.hold(sw, self)
			return func() { self.switches.release(sw, self) }, nil
		},
		Self: cluster.Member{Name: self.name}, Store: self.store,
		Lead: func(ctx context.Context, m *cluster.Mandate) error {
			stand()
			c, err := controller.NewController(ctx, controller.Options{
				Inventory: k.clos.inventory, Store: m.Store, Standby: standby,
				Southbound: cluster.Fence(self.switches, m.Tenure),
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
				self.controller = c
				select {
				case decides <- self:
				case <-ctx.Done():
				}
			}
			return errors.Join(err, group.Wait())
		},
	})
	self.node.Store(node)
	node.Run(alive)
	if ctx.Err() != nil {
		return self.store.Close() // what died is closed already
	}
	return nil
}

// copyTo copies the records of the directory to another store.
func (k *keeping) copyTo(ctx context.Context, to store.Store) (err error) {
	from, err := etcd.Open(ctx, recordsIn(k.dir, nil))
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

// ownedSwitches is the seam to switches that are up while a controller owns the switches, without
// session setup time.
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
func (o *ownedSwitches) Open(ctx context.Context, sw inventory.Switch,
	handler func(controller.SwitchEvent)) (controller.Switch, error) {
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

// handler returns the handler of a running switch. o.mu is held.
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

// forget ends the sessions of a dead controller, and the decider's relations if the dead controller
// was the decider.
func (o *ownedSwitches) forget(dead *contender, decided bool) {
	o.mu.Lock()
	if decided {
		clear(o.links)
	}
	var handlers []func(controller.SwitchEvent)
	for sw, by := range o.owners {
		if by == dead {
			delete(o.owners, sw)
			handlers = append(handlers, o.handler(sw))
		}
	}
	o.mu.Unlock()
	for _, handler := range handlers {
		handler(controller.SwitchEvent{Err: errors.New("its owner died")})
	}
}
