package southbound

import (
	"context"
	"fmt"
	"math"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Gate lets requests to a switch through in the order of the terms in whose name they come: none of
// an earlier term after one of a later term, and none of a later term while one of an earlier term
// is under way.
type Gate struct {
	mu      sync.Mutex
	term    uint64         // the highest so far
	busy    map[uint64]int // requests under way, by term
	changed chan struct{}  // closed when a request ends; nil: nobody waits
}

// NewGate returns a gate that lets a term and later ones through.
func NewGate(term uint64) *Gate { return &Gate{term: term, busy: make(map[uint64]int)} }

// Enter waits for the requests of earlier terms, or for the end of ctx. leave must be called when
// the request has ended at the switch, whether or not anybody waits for it. The error is a gRPC
// status: PERMISSION_DENIED when a later term was here before.
func (g *Gate) Enter(ctx context.Context, term uint64) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if term < g.term {
			return nil, status.Error(codes.PermissionDenied,
				fmt.Sprintf("term %d is over: another controller decides, in term %d", term, g.term))
		}
		g.term = term
		if !g.earlier(term) {
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
	g.busy[term]++
	return sync.OnceFunc(func() { g.left(term) }), nil
}

// earlier reports whether a request of an earlier term is under way. g.mu is held.
func (g *Gate) earlier(term uint64) bool {
	for t := range g.busy {
		if t < term {
			return true
		}
	}
	return false
}

// Shut lets nothing more through, and waits for all requests that are under way.
func (g *Gate) Shut() {
	leave, err := g.Enter(context.Background(), math.MaxUint64)
	if err == nil {
		leave()
	}
}

func (g *Gate) left(term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy[term]--; g.busy[term] == 0 {
		delete(g.busy, term)
	}
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
