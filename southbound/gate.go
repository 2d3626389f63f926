package southbound

import (
	"context"
	"fmt"
	"math"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Gate orders the requests to a switch by the term of the decider and, within a term, by the number
// of the decider's connection: after a later request, the gate refuses earlier ones, and a later
// request waits until no earlier request is under way. A decider gives up requests when it loses
// its connection: after the next connection, the decider reads the switch when these requests have
// ended.
type Gate struct {
	mu      sync.Mutex
	latest  place
	busy    map[place]int // requests under way
	changed chan struct{} // closed when a request ends; nil: nobody waits
}

// place is the place of a request in the order of a gate. Requests of one place are not ordered.
type place struct{ term, connection uint64 }

func (p place) before(q place) bool {
	return p.term < q.term || p.term == q.term && p.connection < q.connection
}

// NewGate returns a gate that lets a term and later ones through.
func NewGate(term uint64) *Gate {
	return &Gate{latest: place{term: term}, busy: make(map[place]int)}
}

// Enter waits for earlier requests, or for the end of ctx. leave must be called when the request
// has ended at the switch, whether or not anybody waits for it. The error is a gRPC status:
// PERMISSION_DENIED when a later term was here before, UNAVAILABLE when a later connection of the
// same term was.
func (g *Gate) Enter(ctx context.Context, term, connection uint64) (leave func(), err error) {
	is := place{term, connection}
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		switch {
		case term < g.latest.term:
			return nil, status.Error(codes.PermissionDenied, fmt.Sprintf(
				"term %d is over: another controller decides, in term %d", term, g.latest.term))
		case is.before(g.latest):
			return nil, status.Error(codes.Unavailable, "the decider has connected again since")
		}
		g.latest = is
		if !g.earlier(is) {
			break
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		g.mu.Lock()
		if err := ctx.Err(); err != nil {
			return nil, status.FromContextError(err).Err()
		}
	}
	g.busy[is]++
	return sync.OnceFunc(func() { g.left(is) }), nil
}

// earlier reports whether an earlier request is under way. g.mu is held.
func (g *Gate) earlier(is place) bool {
	for p := range g.busy {
		if p.before(is) {
			return true
		}
	}
	return false
}

// Shut lets nothing more through, and waits for all requests that are under way.
func (g *Gate) Shut() {
	leave, err := g.Enter(context.Background(), math.MaxUint64, 0)
	if err == nil {
		leave()
	}
}

func (g *Gate) left(is place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy[is]--; g.busy[is] == 0 {
		delete(g.busy, is)
	}
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
