package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/cluster"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/etcd"
)

// takeovers is how often the decider dies.
const takeovers = 5

// takeover measures the time from the death of the controller that decides to every switch read
// back and every group Programmed by another one. The controllers share an etcd of one member, and
// are in this process; one dies by losing its connection to the etcd. It fails when a switch is
// written to.
func (k *keeping) takeover(ctx context.Context, out *report) (err error) {
	endpoint, stop, err := listeningEtcd(filepath.Join(k.dir, "shared"))
	if err != nil {
		return err
	}
	defer stop()
	if err := k.copyTo(ctx, endpoint); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	var group errgroup.Group
	defer func() {
		cancel()
		err = errors.Join(err, group.Wait())
	}()
	decides := make(chan *contender)
	join := func() { group.Go(func() error { return k.contend(ctx, endpoint, decides) }) }
	for range 3 {
		join()
	}
	decider, err := next(ctx, decides)
	if err != nil {
		return err
	}
	k.written = k.updates()
	var took []time.Duration
	for range takeovers {
		start := time.Now()
		decider.die()
		join()
		if decider, err = next(ctx, decides); err != nil {
			return err
		}
		took = append(took, time.Since(start))
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
type contender struct{ die func() }

// contend runs a controller until it dies. Once it decides and is ready, it is sent to decides.
func (k *keeping) contend(ctx context.Context, endpoint string, decides chan<- *contender) error {
	shared, err := etcd.Connect(ctx, etcd.Remote{Endpoints: []string{endpoint}})
	if err != nil {
		return err
	}
	alive, end := context.WithCancel(ctx)
	defer end()
	self := &contender{die: func() {
		_ = shared.Close() // the lease is neither renewed nor given back from here on
		end()
	}}
	node := cluster.New(cluster.Config{
		Self: cluster.Member{Name: fmt.Sprintf("c%d", time.Now().UnixNano())}, Store: shared,
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
		_ = shared.Close() // it is closed already when the controller died
	}
	return nil
}

// copyTo copies the records of the directory to a shared etcd.
func (k *keeping) copyTo(ctx context.Context, endpoint string) (err error) {
	from, err := etcd.Open(ctx, etcd.Config{Dir: k.dir, Release: "bench"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	records, _, err := from.List(ctx, "")
	if err != nil {
		return err
	}
	to, err := etcd.Connect(ctx, etcd.Remote{Endpoints: []string{endpoint}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	ops := make([]store.Op, len(records))
	for i, r := range records {
		ops[i] = store.Op{Key: r.Key, Value: r.Value}
	}
	return to.Apply(ctx, ops)
}

// listeningEtcd starts an etcd that others can reach.
func listeningEtcd(dir string) (endpoint string, stop func(), err error) {
	c := embed.NewConfig()
	c.Dir, c.ZapLoggerBuilder = dir, embed.NewZapLoggerBuilder(zap.NewNop())
	listen := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	c.ListenClientUrls, c.AdvertiseClientUrls, c.ListenPeerUrls = []url.URL{listen}, []url.URL{listen}, nil
	s, err := embed.StartEtcd(c)
	if err != nil {
		return "", nil, err
	}
	<-s.Server.ReadyNotify()
	return s.Clients[0].Addr().String(), s.Close, nil
}
