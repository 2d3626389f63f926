package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/etcd"
)

// Store is a store that a controller runs on, and what ends its use.
type Store struct {
	store.Store
	durable *etcd.Store // nil: in memory
	dir     string
}

// InMemory returns a store that keeps nothing beyond the process.
func InMemory() *Store { return &Store{Store: store.NewMemory()} }

// Close ends the use of the store.
func (k *Store) Close() error {
	if k.durable == nil {
		return nil
	}
	return k.durable.Close()
}

// replace is for northbound.Config.
func (k *Store) replace(ctx context.Context, controller string) error {
	err := k.durable.Replace(ctx, controller)
	switch {
	case errors.Is(err, etcd.ErrNoMember):
		return &api.Error{Code: api.CodeNotFound,
			Message: fmt.Sprintf("there is no controller %q among those that form the etcd", controller)}
	case errors.Is(err, store.ErrUnavailable):
		return fmt.Errorf("%w: %w", northbound.ErrStoreUnavailable, err)
	}
	return err
}

// OpenStore opens the etcd in a data directory. Errors name the directory.
func OpenStore(ctx context.Context, c etcd.Config) (*Store, error) {
	durable, err := etcd.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(ctx, durable, c.Release, c.Log); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory %s: %w", c.Dir, err), durable.Close())
	}
	return &Store{Store: store.Versioned(durable), durable: durable, dir: c.Dir}, nil
}

// ConnectStore opens a store on an etcd that others run, in the form of [etcd.ParseRemote].
func ConnectStore(ctx context.Context, url, release string, log *slog.Logger) (*Store, error) {
	remote, err := etcd.ParseRemote(url)
	if err != nil {
		return nil, err
	}
	remote.Log = log
	durable, err := etcd.Connect(ctx, remote)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(ctx, durable, release, log); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", url, err), durable.Close())
	}
	return &Store{Store: store.Versioned(durable), durable: durable}, nil
}

// checkSchema is [store.CheckSchema] of a store whose leader may change meanwhile.
func checkSchema(ctx context.Context, s store.Store, release string, log *slog.Logger) error {
	wait := func(err error) { log.Warn("waiting for the store", "reason", err) }
	return store.Await(ctx, wait, func() error { return store.CheckSchema(ctx, s, release) })
}
