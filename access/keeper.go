package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/store"
)

// Bounds of users, tokens and sessions.
const (
	maxUsers        = 1000
	maxTokens       = 10000
	maxSessions     = 10000
	maxSessionsEach = 50 // of a principal; the oldest give way
)

// Keeper changes users, tokens and sessions, each change in one transaction with its record in the
// audit log. There is one on a store at a time: that of the controller that decides. Its methods
// may be called from any goroutine.
type Keeper struct {
	authenticator *Authenticator
	store         store.Store
	hasher        *hasher
	guesses       *guesses
	log           *slog.Logger

	// mu is held during a change, and guards the fields below it.
	mu    sync.Mutex
	chain *audit.Chain
	stale bool // an attempt to write failed: whether it took effect is not known
}

// NewKeeper returns a keeper that writes to s: the store of the authenticator's directory, which
// refuses writes once the controller no longer decides.
func NewKeeper(
	ctx context.Context, g *Authenticator, s store.Store, cost Cost, log *slog.Logger,
) (*Keeper, error) {
	k := &Keeper{authenticator: g, store: s, hasher: newHasher(cost), guesses: newGuesses(), log: log,
		stale: true}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k, k.renew(ctx)
}

// renew reads the store again after a failure. k.mu is held.
func (k *Keeper) renew(ctx context.Context) (err error) {
	if !k.stale {
		return nil
	}
	if err := k.authenticator.dir.Refresh(ctx); err != nil {
		return err
	}
	if k.chain, err = audit.Load(ctx, k.store, audit.ChainAccess, k.log); err != nil {
		return err
	}
	k.stale = false
	return nil
}

// change writes what f returns, with the record of the request.
func (k *Keeper) change(ctx context.Context, f func() ([]store.Op, error)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.renew(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	ops, err := f()
	if err != nil {
		return err
	}
	record, ok := audit.Of(ctx).Take()
	if !ok {
		return errUnaudited
	}
	return k.apply(ctx, append(k.chain.Append(record), ops...))
}

// apply writes, and reads the directory again. k.mu is held.
func (k *Keeper) apply(ctx context.Context, ops []store.Op) error {
	if err := k.store.Apply(ctx, ops); err != nil {
		k.stale = true
		// nothing was written
		if errors.Is(err, store.ErrNoRoom) && !errors.Is(err, store.ErrUnavailable) {
			return fmt.Errorf("%w: %w", ErrStore, err)
		}
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err := k.authenticator.dir.Refresh(ctx); err != nil {
		k.stale = true // what is written is written
	}
	return nil
}

func put(key string, v any) (store.Op, error) {
	b, err := json.Marshal(v)
	return store.Op{Key: key, Value: b}, err
}

func notFound(what, name string) error {
	return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("there is no %s %q", what, name)}
}

// Tokens returns the tokens, in the order of their names and ids, without secrets.
func (k *Keeper) Tokens() []api.Token {
	_, tokens, _ := k.authenticator.dir.snapshot()
	var out []api.Token
	for _, t := range tokens {
		out = append(out, t.Token)
	}
	slices.SortFunc(out, func(a, b api.Token) int {
		if c := natural.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return natural.Compare(a.ID, b.ID)
	})
	return out
}

// Token returns a token by its id.
func (k *Keeper) Token(id string) (api.Token, error) {
	for _, t := range k.Tokens() {
		if t.ID == id {
			return t, nil
		}
	}
	return api.Token{}, notFound("token", id)
}

// CreateToken makes a token. The answer alone has its secret.
func (k *Keeper) CreateToken(ctx context.Context, by *Principal, r *api.TokenRequest) (api.Token,
	error) {
	if err := r.Validate(); err != nil {
		return api.Token{}, err
	}
	secret := newSecret()
	t := token{Token: api.Token{ID: newID(), Name: r.Name, Grant: r.Grant,
		Created: k.authenticator.cfg.Now().UTC(), CreatedBy: by.Name}, Digest: digest(secret)}
	if r.Lifetime > 0 {
		t.Expires = t.Created.Add(r.Lifetime.D())
	}
	err := k.change(ctx, func() ([]store.Op, error) {
		if _, tokens, _ := k.authenticator.dir.snapshot(); len(tokens) >= maxTokens {
			return nil, &api.Error{Code: api.CodeLimit,
				Message: fmt.Sprintf("there are %d tokens, and may be no more", maxTokens)}
		}
		if err := k.first(t.Role == api.RoleAdmin && t.Expires.IsZero()); err != nil {
			return nil, err
		}
		audit.Of(ctx).Change(nil, t.Token)
		op, err := put(tokenPrefix+t.ID, t)
		return []store.Op{op}, err
	})
	t.Secret = joined(tokenMark, t.ID, secret)
	return t.Token, err
}

// DeleteToken revokes a token.
func (k *Keeper) DeleteToken(ctx context.Context, id string) error {
	return k.change(ctx, func() ([]store.Op, error) {
		_, tokens, _ := k.authenticator.dir.snapshot()
		t, ok := tokens[id]
		if !ok {
			return nil, notFound("token", id)
		}
		if err := k.last("", id); err != nil {
			return nil, err
		}
		audit.Of(ctx).Change(t.Token, nil)
		return []store.Op{{Key: tokenPrefix + id}}, nil
	})
}

// first refuses to create the first user or token unless that principal may create others. Until
// then the API is open.
func (k *Keeper) first(admin bool) error {
	if k.authenticator.Required() || admin {
		return nil
	}
	return &api.Error{Code: api.CodeConflict,
		Message: "from the first user or token on the API asks for credentials: want that one to be an " +
			"administrator without an end"}
}

// last refuses the removal of the last administrator unless the configuration provides
// administrators by other means.
func (k *Keeper) last(user, token string) error {
	if k.authenticator.cfg.static() {
		return nil
	}
	users, tokens, _ := k.authenticator.dir.snapshot()
	delete(users, user)
	delete(tokens, token)
	for _, u := range users {
		if u.Role == api.RoleAdmin {
			return nil
		}
	}
	for _, t := range tokens {
		if t.Role == api.RoleAdmin && t.Expires.IsZero() {
			return nil
		}
	}
	return &api.Error{Code: api.CodeConflict,
		Message: "it is the last administrator: want another one first"}
}

// Users returns the users, in the order of their names.
func (k *Keeper) Users() []api.User {
	users, _, _ := k.authenticator.dir.snapshot()
	var out []api.User
	for _, name := range slices.SortedFunc(maps.Keys(users), natural.Compare) {
		out = append(out, users[name].User)
	}
	return out
}

// User returns a user.
func (k *Keeper) User(name string) (api.User, error) {
	users, _, _ := k.authenticator.dir.snapshot()
	if u, ok := users[name]; ok {
		return u.User, nil
	}
	return api.User{}, notFound("user", name)
}

// AddUser adds a user.
func (k *Keeper) AddUser(ctx context.Context, r *api.UserRequest) (api.User, error) {
	if err := r.Validate(); err != nil {
		return api.User{}, err
	}
	hash, err := k.hasher.hash(ctx, r.Password)
	if err != nil {
		return api.User{}, err
	}
	now := k.authenticator.cfg.Now().UTC()
	u := user{User: api.User{Name: r.Name, Grant: r.Grant, Created: now, Changed: now}, Hash: hash}
	err = k.change(ctx, func() ([]store.Op, error) {
		users, _, _ := k.authenticator.dir.snapshot()
		if _, ok := users[r.Name]; ok {
			return nil, &api.Error{Code: api.CodeExists, Message: fmt.Sprintf("user %q exists", r.Name)}
		}
		if len(users) >= maxUsers {
			return nil, &api.Error{Code: api.CodeLimit,
				Message: fmt.Sprintf("there are %d users, and may be no more", maxUsers)}
		}
		if err := k.first(u.Role == api.RoleAdmin); err != nil {
			return nil, err
		}
		audit.Of(ctx).Change(nil, u.User)
		op, err := put(userPrefix+r.Name, u)
		return []store.Op{op}, err
	})
	return u.User, err
}

// RemoveUser removes a user and ends its sessions.
func (k *Keeper) RemoveUser(ctx context.Context, name string) error {
	return k.change(ctx, func() ([]store.Op, error) {
		users, _, sessions := k.authenticator.dir.snapshot()
		u, ok := users[name]
		if !ok {
			return nil, notFound("user", name)
		}
		if err := k.last(name, ""); err != nil {
			return nil, err
		}
		audit.Of(ctx).Change(u.User, nil)
		ops := []store.Op{{Key: userPrefix + name}}
		return append(ops, sessionsOf(sessions, name)...), nil
	})
}

// sessionsOf returns the writes that end the sessions of a user.
func sessionsOf(sessions map[string]session, name string) (ops []store.Op) {
	for id, s := range sessions {
		if s.Principal.Way == api.WayUser && s.Principal.Name == name {
			ops = append(ops, store.Op{Key: sessionPrefix + id})
		}
	}
	return ops
}

// SetPassword sets a user's password and ends its sessions. Users who set their own password need
// the present one.
func (k *Keeper) SetPassword(ctx context.Context, by *Principal, name string,
	r *api.PasswordRequest) error {
	if err := r.Validate(); err != nil {
		return err
	}
	users, _, _ := k.authenticator.dir.snapshot()
	was, ok := users[name]
	if !ok {
		return notFound("user", name)
	}
	if by.Way == api.WayUser && by.Name == name {
		if err := k.guesses.friend(k.authenticator.cfg.Now(), name, "session"); err != nil {
			return err
		}
		switch good, err := k.hasher.check(ctx, k.hasher.own, r.Current, was.Hash); {
		case err != nil:
			return err
		case !good:
			return &api.Error{Code: api.CodeInvalid,
				Fields: []api.FieldError{{Field: "current", Code: api.CodeInvalid, Value: "wrong",
					Want: "the present password"}}}
		}
	}
	hash, err := k.hasher.hash(ctx, r.Password)
	if err != nil {
		return err
	}
	return k.change(ctx, func() ([]store.Op, error) {
		users, _, sessions := k.authenticator.dir.snapshot()
		u, ok := users[name]
		if !ok || u.Hash != was.Hash {
			return nil, &api.Error{Code: api.CodeConflict,
				Message: fmt.Sprintf("user %q was changed meanwhile", name)}
		}
		before := u.User
		u.Known = nil // whoever knew the old one may have signed in from there
		u.Hash, u.Changed = hash, k.authenticator.cfg.Now().UTC()
		audit.Of(ctx).Change(before, u.User)
		op, err := put(userPrefix+name, u)
		return append([]store.Op{op}, sessionsOf(sessions, name)...), err
	})
}

// Try counts an attempt of a client to sign in otherwise than with a password. The error is a
// [Pause].
func (k *Keeper) Try(client string) error {
	return k.guesses.stranger(k.authenticator.cfg.Now(), "", client)
}

// verify reports whether a user has a password, for somebody at an address.
func (k *Keeper) verify(ctx context.Context, name, password, address string) (bool, error) {
	users, _, _ := k.authenticator.dir.snapshot()
	u, now := users[name], k.authenticator.cfg.Now()
	if u.knows(address, now) {
		if err := k.guesses.friend(now, name, addressKey(address)); err != nil {
			return false, err
		}
		return k.hasher.check(ctx, k.hasher.own, password, u.Hash)
	}
	if err := k.guesses.stranger(now, name, address); err != nil {
		return false, err
	}
	return k.hasher.check(ctx, k.hasher.strangers, password, u.Hash)
}

// SignIn begins a session with a local user's password, for a client at an address. It returns the
// principal, with its CSRF token, and the value of the cookie.
func (k *Keeper) SignIn(ctx context.Context, name, password, client string) (Principal, string,
	error) {
	good, err := k.verify(ctx, name, password, client)
	if err != nil {
		return Principal{}, "", err
	}
	u, err := k.User(name)
	if err != nil || !good {
		return Principal{}, "", fmt.Errorf("%w: user or password", ErrCredentials)
	}
	return k.begin(ctx, Principal{Name: name, Way: api.WayUser, Grant: u.Grant}, client)
}

// Bearer returns the bearer token of a session, whose cookie has a value.
func Bearer(cookie string) string { return sessionMark + cookie }

// SignInToken begins a session with a token.
func (k *Keeper) SignInToken(ctx context.Context, text string) (Principal, string, error) {
	p, err := k.authenticator.Token(ctx, text)
	if err != nil {
		return Principal{}, "", err
	}
	return k.Begin(ctx, p)
}

// Begin begins a session of a principal, who has shown who it is.
func (k *Keeper) Begin(ctx context.Context, p Principal) (Principal, string, error) {
	return k.begin(ctx, p, "")
}

// begin begins a session. address, if not empty, has given the password of a user.
func (k *Keeper) begin(ctx context.Context, p Principal, address string) (Principal, string,
	error) {
	ctx = store.WithReserve(ctx) // who signs in may make room
	id, secret := newID(), newSecret()
	now := k.authenticator.cfg.Now().UTC()
	s := session{Digest: digest(secret), Principal: p, Created: now, LastUsed: now}
	err := k.change(ctx, func() ([]store.Op, error) {
		users, _, sessions := k.authenticator.dir.snapshot()
		ops, err := k.room(sessions, p, now)
		if err != nil {
			return nil, err
		}
		op, err := put(sessionPrefix+id, s)
		ops = append(ops, op)
		if p.Way == api.WayUser {
			u, ok := users[p.Name]
			if !ok {
				return nil, fmt.Errorf("%w: the user was removed", ErrCredentials)
			}
			u.LastUsed = now
			if address != "" {
				u.learn(address, now)
			}
			op, errUser := put(userPrefix+p.Name, u)
			if errUser != nil {
				return nil, errUser
			}
			ops = append(ops, op)
		}
		return ops, err
	})
	p.CSRF, p.SessionID, p.Expires = csrfOf(secret), id, s.end(k.authenticator.cfg.Times)
	return p, joined("", id, secret), err
}

// room returns the writes that make room for one more session of a principal.
func (k *Keeper) room(
	sessions map[string]session, p Principal, now time.Time,
) (ops []store.Op, err error) {
	var mine []string
	left := 0
	for id, s := range sessions {
		switch {
		case s.ended(k.authenticator.cfg.Times, now):
			ops = append(ops, store.Op{Key: sessionPrefix + id})
			continue
		case s.Principal.Way == p.Way && s.Principal.Name == p.Name:
			mine = append(mine, id)
		}
		left++
	}
	slices.SortFunc(mine, func(a, b string) int {
		return sessions[a].Created.Compare(sessions[b].Created)
	})
	for ; len(mine) >= maxSessionsEach; mine = mine[1:] {
		ops = append(ops, store.Op{Key: sessionPrefix + mine[0]})
		left--
	}
	if left >= maxSessions {
		return nil, &api.Error{Code: api.CodeLimit,
			Message: fmt.Sprintf("there are %d sessions, and may be no more", left)}
	}
	return ops, nil
}

// SignOut ends a session.
func (k *Keeper) SignOut(ctx context.Context, id string) error {
	return k.change(ctx, func() ([]store.Op, error) {
		return []store.Op{{Key: sessionPrefix + id}}, nil
	})
}

// Sessions returns the sessions that have not ended, in no order: all of them for administrators,
// and its own for anybody else.
func (k *Keeper) Sessions(by *Principal) (out []api.OpenSession) {
	users, tokens, sessions := k.authenticator.dir.snapshot()
	for id, s := range sessions {
		p, ok := k.authenticator.counts(&s,
			func(name string) (u user, ok bool) { u, ok = users[name]; return u, ok },
			func(id string) (t token, ok bool) { t, ok = tokens[id]; return t, ok })
		if !ok || !by.maySee(&p) {
			continue
		}
		out = append(out, api.OpenSession{ID: id, Name: p.Name, Way: p.Way, Grant: p.Grant,
			Created: s.Created, LastUsed: s.LastUsed, Expires: s.end(k.authenticator.cfg.Times),
			Current: id == by.SessionID})
	}
	return out
}

// EndSession ends a session that a principal may see. It counts no more at once.
func (k *Keeper) EndSession(ctx context.Context, by *Principal, id string) error {
	return k.change(ctx, func() ([]store.Op, error) {
		_, _, sessions := k.authenticator.dir.snapshot()
		s, ok := sessions[id]
		if !ok || !by.maySee(&s.Principal) {
			return nil, notFound("session", id)
		}
		return []store.Op{{Key: sessionPrefix + id}}, nil
	})
}

// maySee reports whether a principal may see the sessions of another one: its own, or every one as
// an administrator.
func (p *Principal) maySee(of *Principal) bool {
	return p.May(Administer) || p.Key() == of.Key()
}
