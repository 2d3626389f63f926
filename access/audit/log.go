package audit

import (
	"context"
	"log/slog"
	"maps"
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

// Bounds of records of failures of strangers: what those who show no credentials can have written.
// A client may have a burst, then one record every interval; so may all of them together.
const (
	clientBurst, clientEvery = 20, 6 * time.Second
	allBurst, allEvery       = 200, 600 * time.Millisecond
	// maxClients bounds the clients that are remembered.
	maxClients = 4096
)

// Values of the status of who makes a request (openconfig/gnsi, acctz.proto).
const (
	AuthnSuccess = "SUCCESS"
	AuthnFail    = "FAIL"
)

// Log writes records of requests that change nothing, each before it returns. Requests of
// principals are always recorded. Its methods may be called from any goroutine.
type Log struct {
	store            store.Store
	known, strangers *writer

	// mu guards the fields below it.
	mu         sync.Mutex
	all        *rate.Limiter
	clients    map[string]*rate.Limiter
	swept      time.Time // when clients with a whole budget were forgotten
	suppressed uint64    // failures since the last record
}

// NewLog returns a log of a controller on the chains [Edge] and [Strangers], which it alone writes.
func NewLog(s store.Store, controller string, log *slog.Logger) *Log {
	return &Log{
		store: s, all: rate.NewLimiter(rate.Every(allEvery), allBurst),
		clients:   make(map[string]*rate.Limiter),
		known:     &writer{store: s, name: Edge(controller), log: log},
		strangers: &writer{store: s, name: Strangers(controller), log: log},
	}
}

// Write writes a record. Write leaves out failures of strangers beyond a client's budget, and
// counts them in the next record of a stranger's failure.
func (l *Log) Write(ctx context.Context, r api.AuditRecord) error {
	if r.Outcome != api.AuditFailure || isKnown(&r) {
		return l.known.write(ctx, r)
	}
	var ok bool
	if r.Suppressed, ok = l.room(r.SessionInfo.RemoteAddress, r.Timestamp); !ok {
		return nil
	}
	return l.strangers.write(ctx, r)
}

// isKnown reports whether a request was made by a principal who has shown who it is.
func isKnown(r *api.AuditRecord) bool {
	a := &r.SessionInfo.Authn
	return a.Status == AuthnSuccess && a.Type != "" && a.Type != api.WayNone
}

// room reports whether a failure of a client may be recorded, and how many were not since the last.
func (l *Log) room(client string, now time.Time) (suppressed uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.allows(client, now) {
		l.suppressed++
		return 0, false
	}
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}

// allows takes from the budgets of a client and of all. allows forgets clients with whole budgets
// when there are many clients, once in clientEvery, because no budget becomes whole sooner. l.mu is
// held.
func (l *Log) allows(client string, now time.Time) bool {
	c := l.clients[client]
	if c == nil {
		if len(l.clients) >= maxClients && now.Sub(l.swept) >= clientEvery {
			l.swept = now
			maps.DeleteFunc(l.clients, func(_ string, old *rate.Limiter) bool {
				return old.TokensAt(now) >= clientBurst
			})
		}
		if len(l.clients) >= maxClients {
			return false
		}
		c = rate.NewLimiter(rate.Every(clientEvery), clientBurst)
		l.clients[client] = c
	}
	return c.AllowN(now, 1) && l.all.AllowN(now, 1)
}

// writer writes the records of a chain, each before it returns.
type writer struct {
	store store.Store
	name  string       // of the chain
	log   *slog.Logger // nil: records are not logged

	// mu guards the fields below it.
	mu    sync.Mutex
	chain *Chain // nil before it was read
	// pending are writes whose outcome is not known; they come before all others. tried is when
	// they failed last, with err.
	pending []store.Op
	tried   time.Time
	err     error
}

func (w *writer) write(ctx context.Context, r api.AuditRecord) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > 0 && r.Timestamp.Sub(w.tried) < retryAfter {
		return w.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if w.chain == nil {
		c, err := Load(ctx, w.store, w.name, w.log)
		if err != nil {
			return err
		}
		w.chain = c
	}
	if len(w.pending) > 0 {
		if err := w.apply(ctx, w.pending, r.Timestamp); err != nil {
			return err
		}
	}
	return w.apply(ctx, w.chain.Append(r), r.Timestamp)
}

// apply writes. w.mu is held.
func (w *writer) apply(ctx context.Context, ops []store.Op, now time.Time) error {
	w.pending, w.tried = nil, now
	if w.err = w.store.Apply(ctx, ops); w.err != nil {
		w.pending = ops
	}
	return w.err
}

// Records returns all records of the store, oldest first.
func (l *Log) Records(ctx context.Context) ([]api.AuditRecord, error) {
	return Records(ctx, l.store)
}

// Chains returns the chains of the store, in the order of their names.
func (l *Log) Chains(ctx context.Context) ([]api.AuditChain, error) { return Chains(ctx, l.store) }
