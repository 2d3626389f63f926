package access

import (
	"context"
	"log/slog"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/store"
)

// Control has the parts of this package that a server needs.
type Control struct {
	Authenticator *Authenticator
	// Keeper is nil where another controller decides.
	Keeper *Keeper
	Signer *Signer
	// Log takes what this controller refuses, and reads of secrets.
	Log *audit.Log
}

// InMemory returns a control, with a keeper, that forgets everything: for servers without a store.
func InMemory(ctx context.Context, cfg Config) (*Control, error) {
	s := store.NewMemory()
	c := New(cfg, s, "server", nil)
	keeper, err := NewKeeper(ctx, c.Authenticator, s, DefaultCost(), nil)
	c.Keeper = keeper
	return c, err
}

// New returns the control of the controller of a name on a store, without a keeper. It has read
// nothing yet.
func New(cfg Config, s store.Store, controller string, log *slog.Logger) *Control {
	return &Control{
		Authenticator: NewAuthenticator(cfg, NewDirectory(s)), Signer: NewSigner(s),
		Log: audit.NewLog(s, controller, log),
	}
}

// Read reads users, tokens and sessions.
func (c *Control) Read(ctx context.Context) error { return c.Authenticator.dir.Refresh(ctx) }

// Run follows the changes of users, tokens and sessions until ctx ends.
func (c *Control) Run(ctx context.Context) { c.Authenticator.dir.Run(ctx) }

// Kept returns the control with a keeper that writes to s, the store with the guard of the
// controller that decides.
func (c *Control) Kept(ctx context.Context, s store.Store, log *slog.Logger) (*Control, error) {
	keeper, err := NewKeeper(ctx, c.Authenticator, s, DefaultCost(), log)
	if err != nil {
		return nil, err
	}
	kept := *c
	kept.Keeper = keeper
	return &kept, nil
}

// Store returns the store of users, tokens and sessions.
func (c *Control) Store() store.Store { return c.Authenticator.dir.store }
