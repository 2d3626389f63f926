package slurm

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/clients/scheduler"
)

// Nodes reads and changes the nodes of Slurm; [Scontrol] is one.
type Nodes interface {
	Nodes(ctx context.Context) ([]Node, error)
	Do(ctx context.Context, a Action) error
}

// Watch is how nodes follow the fabric.
type Watch struct {
	Config
	Names    *scheduler.Pattern // how hosts are named after nodes; nil: as they are
	Interval time.Duration      // between two looks at the hosts
	DryRun   bool               // nodes are not changed
	// Hosts returns the hosts of the fabric, and false while the controller does not know it whole.
	Hosts func(ctx context.Context) ([]api.Host, bool, error)
	Nodes Nodes
	// Say takes actions, and Warn faults, each once until it changes.
	Say  func(a Action)
	Warn func(text string)
}

// HostsOf returns the hosts of a controller, for [Watch].
func HostsOf(c *client.Client) func(ctx context.Context) ([]api.Host, bool, error) {
	return func(ctx context.Context) ([]api.Host, bool, error) {
		fabric, err := scheduler.ReadFabric(ctx, c)
		if err != nil {
			return nil, false, err
		}
		if fabric == nil {
			return nil, false, scheduler.ErrNoFabric
		}
		hosts, err := c.Hosts().List(ctx, nil)
		return hosts, fabric.InSync && fabric.Failure == "", err
	}
}

// Run drains and resumes nodes until ctx ends, and returns why it ended. Failed commands are tried
// again.
func (w *Watch) Run(ctx context.Context) error {
	watcher := NewWatcher(w.Config, w.Names, time.Now())
	said := make(map[Action]bool) // in a dry run
	warned := make(map[string]bool)
	tick := time.NewTicker(w.Interval)
	defer tick.Stop()
	for {
		warnings := make(map[string]bool)
		warn := func(text string) {
			if warnings[text] = true; !warned[text] && ctx.Err() == nil {
				w.Warn(text)
			}
		}
		said = w.look(ctx, watcher, said, warn)
		warned = warnings
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func tooMany(withheld, percent int) string {
	return fmt.Sprintf("%d more nodes are out of use, and %d %% of all are drained already: "+
		"want a look at the network of the controller, or a greater --most", withheld, percent)
}

// look looks at hosts and nodes once, and does what is to be done.
func (w *Watch) look(ctx context.Context, watcher *Watcher, said map[Action]bool,
	warn func(string)) map[Action]bool {
	hosts, known, err := w.Hosts(ctx)
	switch {
	case err != nil:
		warn(err.Error())
		return said
	case !known:
		warn("the controller does not know the whole fabric yet: nodes stay as they are")
		return said
	}
	now := time.Now()
	watcher.Observe(now, hosts, true)
	nodes, err := w.Nodes.Nodes(ctx)
	if err != nil {
		warn(err.Error())
		return said
	}
	actions, withheld := watcher.Act(now, nodes)
	if withheld > 0 {
		warn(tooMany(withheld, w.MostPercent))
	}
	wanted := make(map[Action]bool)
	for _, a := range actions {
		wanted[a] = true
		if w.DryRun {
			if !said[a] {
				w.Say(a)
			}
			continue
		}
		if err := w.Nodes.Do(ctx, a); err != nil {
			warn(err.Error())
			continue
		}
		watcher.Done(now, a)
		w.Say(a)
	}
	return wanted
}
