package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// Keys of the store.
const (
	recordPrefix  = "access/"
	userPrefix    = recordPrefix + "users/"
	tokenPrefix   = recordPrefix + "tokens/"
	sessionPrefix = recordPrefix + "sessions/"
)

// user is the record of a local user.
type user struct {
	api.User
	Hash string `json:"hash"` // of the password, in the PHC string format
	// Known maps addresses with a recent sign-in of the user to the sign-in time: see [guesses].
	Known map[string]time.Time `json:"known,omitempty"`
}

// token is the record of a token.
type token struct {
	api.Token
	Digest string `json:"digest"`
}

// session is the record of a session.
type session struct {
	Digest    string    `json:"digest"`
	Principal Principal `json:"principal"`
	Created   time.Time `json:"created"`
	LastUsed  time.Time `json:"lastUsed"`
}

var (
	_ = store.Form[user](userPrefix)
	_ = store.Form[token](tokenPrefix)
	_ = store.Form[session](sessionPrefix)
)

// Directory holds the users, tokens and sessions of a store, as the store has reported them: a
// change by another controller takes a moment. Any goroutine may call the methods.
type Directory struct {
	store store.Store
	asks  *rate.Limiter // questions to the store about what is not known here

	// mu guards the fields below it.
	mu       sync.Mutex
	users    map[string]user
	tokens   map[string]token
	sessions map[string]session
	// loaded: everything was read once.
	loaded bool
	// refreshed is the store revision of the last full read, seen the revision of the newest change
	// applied since. The directory already knows older records, which may have been removed since.
	refreshed, seen int64
	noted           map[string]time.Time // when a use was noted, by the key of the record
}

// Questions to the store about ids that the directory does not know: per second, and at once.
const (
	askRate  = 20
	askBurst = 50
)

// NewDirectory returns the directory of a store. It knows nothing until [Directory.Refresh] or
// [Directory.Run].
func NewDirectory(s store.Store) *Directory {
	return &Directory{store: s, asks: rate.NewLimiter(askRate, askBurst),
		noted: make(map[string]time.Time)}
}

// Refresh reads everything.
func (d *Directory) Refresh(ctx context.Context) error {
	list, revision, err := d.store.List(ctx, recordPrefix)
	if err != nil {
		return fmt.Errorf("access: %w", err)
	}
	next := &Directory{users: make(map[string]user), tokens: make(map[string]token),
		sessions: make(map[string]session)}
	for _, r := range list {
		if err := next.take(r); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if revision < d.refreshed {
		return nil // somebody read it later
	}
	d.users, d.tokens, d.sessions = next.users, next.tokens, next.sessions
	d.loaded, d.refreshed, d.seen = true, revision, max(d.seen, revision)
	return nil
}

// take takes a record over. d.mu is held, or nobody else has the directory.
func (d *Directory) take(r store.Record) error {
	var err error
	switch key := r.Key; {
	case strings.HasPrefix(key, userPrefix):
		err = takeInto(d.users, strings.TrimPrefix(key, userPrefix), r.Value)
	case strings.HasPrefix(key, tokenPrefix):
		err = takeInto(d.tokens, strings.TrimPrefix(key, tokenPrefix), r.Value)
	case strings.HasPrefix(key, sessionPrefix):
		err = takeInto(d.sessions, strings.TrimPrefix(key, sessionPrefix), r.Value)
	}
	if err != nil {
		return fmt.Errorf("access: record %s: %w", r.Key, err)
	}
	return nil
}

// takeInto sets a record of a kind; no value removes it.
func takeInto[T any](records map[string]T, name string, value []byte) error {
	if value == nil {
		delete(records, name)
		return nil
	}
	var v T
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	records[name] = v
	return nil
}

// watchAgain is the pause before a watch that has ended begins again.
const watchAgain = time.Second

// Run follows the store until ctx ends.
func (d *Directory) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.Refresh(ctx); err == nil {
			d.follow(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
}

// follow takes changes over until the store loses the watcher.
func (d *Directory) follow(ctx context.Context) {
	d.mu.Lock()
	after := d.refreshed
	d.mu.Unlock()
	events, err := d.store.Watch(ctx, recordPrefix, after)
	if err != nil {
		return
	}
	for e := range events {
		d.mu.Lock()
		if e.Record.Revision > d.refreshed {
			d.seen = max(d.seen, e.Record.Revision)
			_ = d.take(e.Record) // refresh has said what is wrong with records
		}
		d.mu.Unlock()
	}
}

// ask looks in the store for a record that the directory does not know: another controller may have
// written it a moment ago. Strangers who make up ids get a share of the store.
func (d *Directory) ask(ctx context.Context, key string) {
	if !d.asks.Allow() {
		return
	}
	if r, err := d.store.Get(ctx, key); err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.loaded && r.Revision > d.seen {
			_ = d.take(r)
		}
	}
}

// find returns a record by kind and name, asking the store if need be.
func find[T any](ctx context.Context, d *Directory, prefix, name string, of func() map[string]T) (T,
	bool) {
	get := func() (T, bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		v, ok := of()[name]
		return v, ok
	}
	v, ok := get()
	if !ok {
		d.ask(ctx, prefix+name)
		v, ok = get()
	}
	return v, ok
}

func (d *Directory) user(ctx context.Context, name string) (user, bool) {
	return find(ctx, d, userPrefix, name, func() map[string]user { return d.users })
}

func (d *Directory) token(ctx context.Context, id string) (token, bool) {
	return find(ctx, d, tokenPrefix, id, func() map[string]token { return d.tokens })
}

func (d *Directory) session(ctx context.Context, id string) (session, bool) {
	return find(ctx, d, sessionPrefix, id, func() map[string]session { return d.sessions })
}

// Empty reports whether there are neither users nor tokens. Before the first reading of the store
// Empty returns false.
func (d *Directory) Empty() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loaded && len(d.users)+len(d.tokens) == 0
}

// ready returns an error while the store was not read.
func (d *Directory) ready() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.loaded {
		return fmt.Errorf("%w: users and tokens are not known yet", ErrStore)
	}
	return nil
}

// snapshot returns copies of all users and tokens.
func (d *Directory) snapshot() (map[string]user, map[string]token, map[string]session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.users), maps.Clone(d.tokens), maps.Clone(d.sessions)
}

// useEvery is how often the last use of a record is written at most.
const useEvery = time.Minute

// maxNoted bounds the uses that are remembered.
const maxNoted = 4096

// used notes the last use of a user, token or session in its record. when is the time of the
// previous use. If the store fails, or somebody else writes the record, used notes nothing.
func (d *Directory) used(ctx context.Context, key string, was, now time.Time) {
	if now.Sub(was) < useEvery || !d.note(key, now) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	r, err := d.store.Get(ctx, key)
	if err != nil {
		return
	}
	var fields map[string]json.RawMessage
	stamp, errTime := json.Marshal(now.UTC())
	if err := errors.Join(errTime, json.Unmarshal(r.Value, &fields)); err != nil {
		return
	}
	fields["lastUsed"] = stamp
	if value, err := json.Marshal(fields); err == nil {
		if revision, err := d.store.Put(ctx, key, value, r.Revision); err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.loaded && revision > d.seen {
				_ = d.take(store.Record{Key: key, Value: value})
			}
		}
	}
}

// note reports whether a use is worth a write.
func (d *Directory) note(key string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.noted[key]) < useEvery {
		return false
	}
	if len(d.noted) >= maxNoted {
		clear(d.noted)
	}
	d.noted[key] = now
	return true
}
