package slurm

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/internal/damping"
	"github.com/weft-sdn/weft/internal/natural"
)

// Config is when nodes are drained and resumed.
type Config struct {
	// Hold is how long the NICs of a host must have been out of use before the watcher drains the
	// node.
	Hold time.Duration
	// Recover is how long the NICs must have been in use before the node is resumed for the first
	// time. Each further drain doubles the time, up to MaxRecover, until the node was not drained for
	// Calm.
	Recover, MaxRecover, Calm time.Duration
	// MostPercent bounds the share of nodes drained at once; one node may always be drained. If more
	// nodes are out of use together, the network between the nodes and the controller is a likelier
	// cause than the nodes.
	MostPercent int
}

// DefaultConfig returns the default configuration.
func DefaultConfig() Config {
	return Config{Hold: 30 * time.Second, Recover: time.Minute, MaxRecover: 30 * time.Minute,
		Calm: 2 * time.Hour, MostPercent: 10}
}

// Action is a change of a node's state.
type Action struct {
	Node   string
	Reason string // to drain it with, and empty to resume it
}

// Watcher decides which nodes to drain and to resume. It has no clock: callers pass times in. A new
// Watcher can take over at any time, since the reason of a drained node tells who drained it.
type Watcher struct {
	cfg   Config
	names *scheduler.Pattern
	began time.Time
	hosts map[string]*health
}

// health has a watcher's observations of a node's NICs.
type health struct {
	fault   string
	since   time.Time // when it began to have a fault, or to have none
	backoff damping.Backoff
}

// NewWatcher returns a watcher that knows nothing yet; names is how hosts are named after nodes.
func NewWatcher(cfg Config, names *scheduler.Pattern, now time.Time) *Watcher {
	return &Watcher{cfg: cfg, names: names, began: now, hosts: make(map[string]*health)}
}

// Observe notes how the hosts are.
func (w *Watcher) Observe(now time.Time, hosts []api.Host, streams bool) {
	nodes := scheduler.Nodes(hosts, w.names)
	seen := make(map[string]bool, len(nodes))
	for i := range nodes {
		name := nodes[i].Name
		seen[name] = true
		fault := nodes[i].Fault(streams)
		h := w.hosts[name]
		if h == nil {
			h = &health{since: now}
			w.hosts[name] = h
		} else if (h.fault == "") != (fault == "") {
			h.since = now
		}
		h.fault = fault
	}
	for name := range w.hosts {
		if !seen[name] {
			delete(w.hosts, name)
		}
	}
}

// Act returns the actions to take now on the nodes of Slurm, and how many more nodes Act would
// drain without the limit of MostPercent. Act leaves alone every node without hosts, every node
// drained by somebody else, and every node that is down.
func (w *Watcher) Act(now time.Time, nodes []Node) (actions []Action, withheld int) {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return natural.Compare(a.Name, b.Name) })
	room := max(1, len(nodes)*w.cfg.MostPercent/100)
	for i := range nodes {
		if nodes[i].ours() {
			room--
		}
	}
	for i := range nodes {
		n := &nodes[i]
		h := w.hosts[n.Name]
		switch {
		case h == nil:
		case h.fault == "" && n.ours():
			if now.Sub(h.since) >= max(w.cfg.Recover, h.backoff.Hold(w.cfg.Recover, w.cfg.MaxRecover)) {
				actions = append(actions, Action{Node: n.Name})
				room++
			}
		case h.fault != "" && !n.drained() && !n.down() && now.Sub(h.since) >= w.cfg.Hold:
			if room <= 0 {
				withheld++
				continue
			}
			room--
			actions = append(actions, Action{n.Name, Mark + h.fault})
		}
	}
	return actions, withheld
}

// Done notes that an action was carried out.
func (w *Watcher) Done(now time.Time, a Action) {
	if h := w.hosts[a.Node]; h != nil && a.Reason != "" {
		h.backoff.Failed(now.Sub(w.began), w.cfg.Calm)
	}
}
