package runner

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// leasable keeps what follows from a fabric for leases.
type leasable struct {
	mu         sync.Mutex
	fabric     *fabric.Fabric
	advertised *topology.Snapshot
	links      map[topology.LinkID]lease.Link
	paths      *leasePaths
	last       *lease.Network
	at         map[string]ev.Attachment // of last
}

// leasePaths keeps the paths of a fabric between attachments.
type leasePaths struct {
	fabric *fabric.Fabric
	mu     sync.Mutex
	known  map[leasePathsKey][]lease.Path
}

type leasePathsKey struct {
	from, to string
	port     uint8
}

// mostLeasePaths bounds the pairs of attachments whose paths are kept.
const mostLeasePaths = 4096

// Leasable returns what leases between some NICs are of: the same as before if nothing has changed.
// It is nil when there is nothing, and why has the reason.
func (r *Runner) Leasable(
	ctx context.Context, nics []string,
) (n *lease.Network, why string, err error) {
	var facts mrc.LeaseFacts
	if err := r.ledger.Do(ctx, func() { facts, why = r.core.LeaseFacts(nics) }); err != nil {
		return nil, "", err
	}
	if why != "" {
		return nil, why, nil
	}
	of := make(map[string]bool, len(nics))
	for _, name := range nics {
		of[name] = true
	}
	return r.leasable.network(&facts, of), "", nil
}

func (l *leasable) network(facts *mrc.LeaseFacts, of map[string]bool) *lease.Network {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := facts.Fabric
	fresh := l.fabric != f || l.advertised != facts.Advertised
	if fresh {
		l.links = make(map[topology.LinkID]lease.Link, f.Len())
		for i := range int32(f.Len()) {
			e := f.Edge(i)
			capacity := e.MaxBandwidth
			if now := facts.Advertised.Link(e.ID); now != nil {
				capacity = now.MaxBandwidth
			}
			l.links[e.ID] = lease.Link{Capacity: capacity, Up: true}
		}
	}
	if l.fabric != f {
		l.paths = &leasePaths{fabric: f, known: make(map[leasePathsKey][]lease.Path)}
	}
	l.fabric, l.advertised = f, facts.Advertised
	if !fresh && maps.Equal(l.last.Down, facts.Down) && maps.Equal(l.last.Of, of) &&
		maps.EqualFunc(l.at, facts.At, slices.Equal[ev.Attachment]) {
		return l.last
	}
	paths, at := l.paths, facts.At
	l.at = at
	l.last = &lease.Network{Links: l.links, Down: facts.Down, Of: of,
		Paths: func(from, to string) []lease.Path { return paths.of(from, to, at[from], at[to]) }}
	return l.last
}

// of returns the paths between two NICs by all ports.
func (p *leasePaths) of(from, to string, src, dst ev.Attachment) (out []lease.Path) {
	for i := range min(len(src), len(dst)) {
		port := uint8(i + 1)
		ends := mrc.LeaseEnds(from, to, port)
		for _, path := range p.between(src, dst, port) {
			path.Ends = ends
			out = append(out, path)
		}
	}
	return out
}

func (p *leasePaths) between(src, dst ev.Attachment, port uint8) []lease.Path {
	key := leasePathsKey{fabric.AttachmentKey(src), fabric.AttachmentKey(dst), port}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[key]
	if !ok {
		if len(p.known) >= mostLeasePaths {
			clear(p.known)
		}
		known = mrc.LeasePaths(p.fabric, src, dst, port)
		p.known[key] = known
	}
	return known
}
