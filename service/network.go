package service

import (
	"context"
	"sync"

	"github.com/weft-sdn/weft/topology"
)

// fileSource is the name of the topology of the configuration's file.
const fileSource = "file"

// network puts together what all sources know of the topology.
type network struct {
	learned *topology.Publisher // by BGP-LS
	file    topology.Source

	mu        sync.Mutex
	described []topology.Source // by clients; guarded by mu
	found     []topology.Source // by LLDP; guarded by mu
	changed   chan struct{}     // has room for one

	last   uint64 // version of the last snapshot; of the goroutine of run
	merged topology.Publisher
}

// newNetwork returns the network with what is learned so far. file is the topology of the
// configuration; nil: nothing.
func newNetwork(learned *topology.Publisher, file *topology.Snapshot) *network {
	n := &network{learned: learned, changed: make(chan struct{}, 1)}
	if file != nil {
		n.file = topology.Source{Name: fileSource, Snapshot: file}
	}
	n.merge()
	return n
}

// describe replaces what clients describe. It may be called from any goroutine.
func (n *network) describe(sources []topology.Source) {
	n.replace(&n.described, sources)
}

// discover replaces what LLDP knows. It may be called from any goroutine.
func (n *network) discover(sources []topology.Source) { n.replace(&n.found, sources) }

func (n *network) replace(old *[]topology.Source, sources []topology.Source) {
	n.mu.Lock()
	*old = sources
	n.mu.Unlock()
	select {
	case n.changed <- struct{}{}:
	default: // the one that waits will do
	}
}

// merge publishes the present state, and returns a channel that is closed when more has been
// learned. BGP-LS counts before what clients describe, that before the file, and LLDP last.
func (n *network) merge() <-chan struct{} {
	learned, changed := n.learned.Current()
	n.mu.Lock()
	sources := append([]topology.Source{{Name: topology.SourceBGPLS, Snapshot: learned}},
		n.described...)
	found := n.found
	n.mu.Unlock()
	if n.file.Snapshot != nil {
		sources = append(sources, n.file)
	}
	sources = append(sources, found...)
	s := topology.Merge(n.last, sources...)
	n.last = s.Version
	n.merged.Publish(s)
	return changed
}

// run merges whenever a source has changed, until ctx ends.
func (n *network) run(ctx context.Context) error {
	for {
		more := n.merge()
		select {
		case <-more:
		case <-n.changed:
		case <-ctx.Done():
			return nil
		}
	}
}
