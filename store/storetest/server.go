package storetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weft-sdn/weft/store"
)

// Server is a shared store with faults, for tests. Its clock is the clock of the process.
type Server struct {
	// mu makes a condition and the write that depends on it one step.
	mu      sync.Mutex
	records *store.Memory
	leader  *Client // whose process leads the store; nil: none of them
	// Wrote, when not nil, is called with each write that takes effect. It must not call the store.
	Wrote func(key string)

	// watching guards the fields below it.
	watching  sync.Mutex
	compacted int64         // changes up to this revision are forgotten
	forgotten chan struct{} // closed and replaced at every compaction
}

// NewServer returns an empty store.
func NewServer() *Server {
	return &Server{records: store.NewMemory(), forgotten: make(chan struct{})}
}

// Compact forgets all changes so far: a watch that has not sent these changes ends, and the store
// refuses a new watch from an earlier revision.
func (s *Server) Compact() {
	s.watching.Lock()
	defer s.watching.Unlock()
	_, s.compacted, _ = s.records.List(context.Background(), "") // never fails
	close(s.forgotten)
	s.forgotten = make(chan struct{})
}

// since returns a channel that is closed when the changes after a revision are forgotten.
func (s *Server) since(after int64) (<-chan struct{}, error) {
	s.watching.Lock()
	defer s.watching.Unlock()
	if after < s.compacted {
		return nil, fmt.Errorf("%w: %d", store.ErrCompacted, after)
	}
	return s.forgotten, nil
}

// Client returns one process's access to the store.
func (s *Server) Client() *Client {
	c := &Client{server: s}
	c.Store = handle{client: c}
	return c
}

// Client is one process's access to the store. It is a [store.Shared].
type Client struct {
	store.Store
	server *Server

	mu sync.Mutex
	// cut is closed when it works again; nil: it works.
	cut chan struct{}
	// delay is how long each call takes.
	delay time.Duration
	// lost makes writes that take effect report a failure.
	lost bool
	// held is closed when watches send again; nil: watches send.
	held chan struct{}
}

// HoldWatches stops watches from sending, while all else works; false: they send again.
func (c *Client) HoldWatches(hold bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case hold && c.held == nil:
		c.held = make(chan struct{})
	case !hold && c.held != nil:
		close(c.held)
		c.held = nil
	}
}

// watchable waits while watches send nothing, and reports whether the watch goes on.
func (c *Client) watchable(ctx context.Context, forgotten <-chan struct{}) bool {
	c.mu.Lock()
	held := c.held
	c.mu.Unlock()
	if held == nil {
		return true
	}
	select {
	case <-held:
		return true
	case <-forgotten:
	case <-ctx.Done():
	}
	return false
}

// Cut interrupts the access: calls wait for its return, or for the end of their context.
func (c *Client) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut == nil {
		c.cut = make(chan struct{})
	}
}

// Mend restores the access.
func (c *Client) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		close(c.cut)
		c.cut = nil
	}
}

// SetDelay sets how long each call takes.
func (c *Client) SetDelay(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = d
}

// LoseAnswers makes successful writes report a failure; false: no longer.
func (c *Client) LoseAnswers(lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = lost
}

// pass waits for the travel time of a call.
func (c *Client) pass(ctx context.Context) error {
	for {
		c.mu.Lock()
		cut, delay := c.cut, c.delay
		c.mu.Unlock()
		if cut == nil {
			if delay == 0 {
				return ctx.Err()
			}
			select {
			case <-time.After(delay):
				return ctx.Err()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-cut:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answered returns the error of a write that took effect.
func (c *Client) answered() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost || c.cut != nil {
		return fmt.Errorf("%w: the answer was lost", store.ErrUnavailable)
	}
	return nil
}

// Lead makes the client's process the leader of the store.
func (c *Client) Lead() { c.server.setLeader(c) }

func (s *Server) setLeader(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader = c
}

// Leads implements [store.Shared].
func (c *Client) Leads() bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.server.leader == c
}

// Yield implements [store.Shared]: no client's process leads then.
func (c *Client) Yield(context.Context) error {
	if c.Leads() {
		c.server.setLeader(nil)
	}
	return nil
}

// Guarded implements [store.Shared].
func (c *Client) Guarded(key string, revision int64) store.Store {
	return handle{client: c, key: key, revision: revision}
}

// handle is one client's access to the store; without a key its writes are unguarded.
type handle struct {
	client   *Client
	key      string
	revision int64
	lease    *tenancy
}

func (g handle) Get(ctx context.Context, key string) (store.Record, error) {
	if err := g.client.pass(ctx); err != nil {
		return store.Record{}, err
	}
	return g.client.server.records.Get(ctx, key)
}

func (g handle) List(ctx context.Context, prefix string) ([]store.Record, int64, error) {
	if err := g.client.pass(ctx); err != nil {
		return nil, 0, err
	}
	return g.client.server.records.List(ctx, prefix)
}

// outcome is the outcome of a write.
type outcome struct {
	revision int64
	err      error
}

// write carries out a write. The write reaches the store even if its caller no longer waits.
func (g handle) write(ctx context.Context, do func(context.Context, *store.Memory) (int64,
	error)) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	done := make(chan outcome, 1)
	go func() {
		revision, err := g.arrive(context.WithoutCancel(ctx), do)
		done <- outcome{revision, err}
	}()
	select {
	case o := <-done:
		return o.revision, o.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (g handle) arrive(ctx context.Context, do func(context.Context, *store.Memory) (int64,
	error)) (int64, error) {
	if err := g.client.pass(ctx); err != nil {
		return 0, err
	}
	s := g.client.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.key != "" {
		if r, err := s.records.Get(ctx, g.key); err != nil || r.Revision != g.revision {
			return 0, fmt.Errorf("%w: %s is at revision %d, not %d", store.ErrFenced, g.key, r.Revision,
				g.revision)
		}
	}
	if g.lease != nil && g.lease.over {
		return 0, fmt.Errorf("%w: the lease is over", store.ErrUnavailable)
	}
	revision, err := do(ctx, s.records)
	if err != nil {
		return 0, err
	}
	return revision, g.client.answered()
}

func (g handle) wrote(key string) {
	if f := g.client.server.Wrote; f != nil {
		f(key)
	}
}

func (g handle) Put(ctx context.Context, key string, value []byte, expect int64) (int64, error) {
	return g.write(ctx, func(ctx context.Context, m *store.Memory) (int64, error) {
		revision, err := m.Put(ctx, key, value, expect)
		if err == nil {
			if g.lease != nil {
				g.lease.keys[key] = revision
			}
			g.wrote(key)
		}
		return revision, err
	})
}

func (g handle) Delete(ctx context.Context, key string, expect int64) (int64, error) {
	return g.write(ctx, func(ctx context.Context, m *store.Memory) (int64, error) {
		revision, err := m.Delete(ctx, key, expect)
		if err == nil {
			g.wrote(key)
		}
		return revision, err
	})
}

func (g handle) Apply(ctx context.Context, ops []store.Op) error {
	_, err := g.write(ctx, func(ctx context.Context, m *store.Memory) (int64, error) {
		for _, op := range ops {
			g.wrote(op.Key)
		}
		return 0, m.Apply(ctx, ops)
	})
	return err
}

func (handle) Writable() error { return nil }

func (g handle) Watch(ctx context.Context, prefix string, after int64) (<-chan store.Event, error) {
	if err := g.client.pass(ctx); err != nil {
		return nil, err
	}
	forgotten, err := g.client.server.since(after)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	in, err := g.client.server.records.Watch(ctx, prefix, after)
	if err != nil {
		stop()
		return nil, err
	}
	out := make(chan store.Event)
	go func() {
		defer close(out)
		for e := range in {
			if g.client.pass(ctx) != nil {
				continue
			}
			if !g.client.watchable(ctx, forgotten) {
				stop() // in ends
				continue
			}
			select {
			case out <- e:
			case <-ctx.Done():
			}
		}
		stop()
	}()
	return out, nil
}

// tenancy is a lease of the store.
type tenancy struct {
	client *Client
	ttl    time.Duration
	ctx    context.Context // of renewals
	stop   context.CancelFunc
	ended  chan struct{}

	// Of the server; server.mu guards them.
	keys     map[string]int64 // with the revisions at which it wrote them
	over     bool
	deadline time.Time
	expiry   *time.Timer

	mu    sync.Mutex
	until time.Time
}

// Lease implements [store.Shared].
func (c *Client) Lease(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	begun := time.Now()
	if err := c.pass(ctx); err != nil {
		return nil, err
	}
	l := &tenancy{client: c, ttl: ttl, ended: make(chan struct{}), until: begun.Add(ttl),
		keys: make(map[string]int64)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.deadline = time.Now().Add(ttl)
	l.expiry = time.AfterFunc(ttl, func() { l.expire(false) })
	go l.renew()
	return l, nil
}

// expire ends the lease at the server, unless it was renewed at the last moment; early ends the
// lease before its time.
func (l *tenancy) expire(early bool) {
	s := l.client.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.over || !early && time.Now().Before(l.deadline) {
		return
	}
	l.over = true
	for key, revision := range l.keys {
		// Since then another process has written the key under its own lease.
		_, _ = s.records.Delete(context.Background(), key, revision)
	}
}

// renew confirms the lease three times as often as necessary.
func (l *tenancy) renew() {
	defer close(l.ended)
	tick := time.NewTicker(l.ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.ctx.Done():
			return
		}
		begun := time.Now()
		ctx, cancel := context.WithDeadline(l.ctx, l.Until())
		err := l.client.pass(ctx)
		cancel()
		s := l.client.server
		s.mu.Lock()
		over := l.over
		if !over && err == nil {
			l.deadline = time.Now().Add(l.ttl)
			l.expiry.Reset(l.ttl)
		}
		s.mu.Unlock()
		if over || time.Now().After(l.Until()) {
			return
		}
		if err == nil {
			l.mu.Lock()
			l.until = begun.Add(l.ttl)
			l.mu.Unlock()
		}
	}
}

func (l *tenancy) Put(ctx context.Context, key string, value []byte, expect int64) (int64, error) {
	return handle{client: l.client, lease: l}.Put(ctx, key, value, expect)
}

func (l *tenancy) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

func (l *tenancy) Done() <-chan struct{} { return l.ended }

func (l *tenancy) Close(ctx context.Context) error {
	l.stop()
	<-l.ended
	if err := l.client.pass(ctx); err != nil {
		return err
	}
	l.expiry.Stop()
	l.expire(true)
	return nil
}
