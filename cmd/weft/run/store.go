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

// Store is the store of a controller, with the function that closes it.
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
	return checked(ctx, durable, "data directory "+c.Dir, c.Dir, c.Release, c.Log)
}

// ConnectStore opens a store on an etcd that others run, in the form of [etcd.ParseRemote]. Errors
// name --store.
func ConnectStore(ctx context.Context, url, release string, log *slog.Logger) (*Store, error) {
	remote, err := etcd.ParseRemote(url)
	if err != nil {
		return nil, err
	}
	remote.Log = log
	durable, err := etcd.Connect(ctx, remote)
	if err != nil {
		return nil, fmt.Errorf("--store: %w", err)
	}
	return checked(ctx, durable, "--store "+url, "", release, log)
}

// checked returns a store that this release can use, whose leader may change meanwhile, and closes
// any other. where is the name in errors.
func checked(
	ctx context.Context, durable *etcd.Store, where, dir, release string, log *slog.Logger,
) (*Store, error) {
	wait := func(err error) { log.Warn("waiting for the store", "reason", err) }
	check := func() error { return store.CheckSchema(ctx, durable, release) }
	if err := store.Await(ctx, wait, check); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", where, err), durable.Close())
	}
	return &Store{Store: store.Versioned(durable), durable: durable, dir: dir}, nil
}
