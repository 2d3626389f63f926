package audit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

const (
	// writeTime bounds a write of a Log.
	writeTime = 5 * time.Second
	// retryAfter is how long a Log refuses records after a write has failed.
	retryAfter = time.Second
)

// Bounds of records of failures: what a client without rights can have written. A client may have a
// burst, then one record every interval; so may all of them together.
const (
	clientBurst, clientEvery = 20, 6 * time.Second
	allBurst, allEvery       = 200, 600 * time.Millisecond
	// maxClients bounds the clients that are remembered.
	maxClients = 4096
)

// Log writes records of what changes nothing, each before it returns. Its methods may be called from
// any goroutine.
type Log struct {
	store store.Store
	name  string       // of the chain
	log   *slog.Logger // nil: records are not logged

	// mu guards the fields below it.
	mu         sync.Mutex
	chain      *Chain // nil before it was read
	all        *rate.Limiter
	clients    map[string]*rate.Limiter
	suppressed uint64 // failures since the last record
	// pending are writes whose outcome is not known; they come before all others. tried is when
	// they failed last, with err.
	pending []store.Op
	tried   time.Time
	err     error
}

// NewLog returns a log on the chain of a name, which it alone writes.
func NewLog(s store.Store, chain string, log *slog.Logger) *Log {
	return &Log{store: s, name: chain, log: log, all: rate.NewLimiter(rate.Every(allEvery), allBurst), clients: make(map[string]*rate.Limiter)}
}

// Write writes a record. Of failures it leaves out those that are too many for a client, and counts
// them in the next record.
func (l *Log) Write(ctx context.Context, r api.AuditRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Outcome == api.AuditFailure {
		if !l.room(r.SessionInfo.RemoteAddress, r.Timestamp) {
			l.suppressed++
			return nil
		}
		r.Suppressed, l.suppressed = l.suppressed, 0
	}
	if len(l.pending) > 0 && r.Timestamp.Sub(l.tried) < retryAfter {
		return l.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if l.chain == nil {
		c, err := Load(ctx, l.store, l.name, l.log)
		if err != nil {
			return err
		}
		l.chain = c
	}
	if len(l.pending) > 0 {
		if err := l.apply(ctx, l.pending, r.Timestamp); err != nil {
			return err
		}
	}
	return l.apply(ctx, l.chain.Append(r), r.Timestamp)
}

// apply writes. l.mu is held.
func (l *Log) apply(ctx context.Context, ops []store.Op, now time.Time) error {
	l.pending, l.tried = nil, now
	if l.err = l.store.Apply(ctx, ops); l.err != nil {
		l.pending = ops
	}
	return l.err
}

// room reports whether a failure of a client may be recorded. l.mu is held.
func (l *Log) room(client string, now time.Time) bool {
	c := l.clients[client]
	if c == nil {
		if len(l.clients) >= maxClients {
			for name, old := range l.clients {
				if old.TokensAt(now) >= clientBurst {
					delete(l.clients, name)
				}
			}
			if len(l.clients) >= maxClients {
				return false
			}
		}
		c = rate.NewLimiter(rate.Every(clientEvery), clientBurst)
		l.clients[client] = c
	}
	return c.AllowN(now, 1) && l.all.AllowN(now, 1)
}

// Records returns all records of the store, oldest first.
func (l *Log) Records(ctx context.Context) ([]api.AuditRecord, error) { return Records(ctx, l.store) }

// Chains returns the chains of the store, in the order of their names.
func (l *Log) Chains(ctx context.Context) ([]api.AuditChain, error) { return Chains(ctx, l.store) }
