package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/store/etcd"
)

// inMemory is the value of --store that keeps nothing.
const inMemory = "memory"

// storage is the flags that report where the controller keeps its records.
type storage struct {
	store string
	dir   string
	peers *etcd.Peers // nil: the etcd in the data directory is alone
}

func (s *storage) register(c *cobra.Command) {
	c.Flags().StringVar(&s.store, "store", "",
		`store of resources and decisions: "memory", until the process ends; `+
			`etcds://[USER@]HOST[:PORT],…[/PREFIX][?ca=FILE&cert=FILE&key=FILE&password-file=FILE], an `+
			`etcd of yours with TLS; etcd://…, one without (default an etcd of its own, in --data-dir)`)
	s.registerDir(c)
}

func (s *storage) registerDir(c *cobra.Command) {
	c.Flags().StringVar(&s.dir, "data-dir", "",
		"directory of the records (default $WEFT_DATA_DIR, $STATE_DIRECTORY, /var/lib/weft for root, "+
			"or weft in $XDG_STATE_HOME or ~/.local/state)")
}

// check refuses what cannot be meant.
func (s *storage) check() error {
	switch {
	case s.store == "":
		return nil
	case s.dir != "":
		return usagef("--store %s keeps nothing in --data-dir %s: give one of the two", s.store, s.dir)
	case s.store == inMemory:
		return nil
	case !strings.Contains(s.store, "://"):
		return usagef(`--store is %q: want "memory" or etcds://HOST:PORT,…, or leave it out to keep `+
			`everything in --data-dir`, s.store)
	}
	if _, err := etcd.ParseRemote(s.store); err != nil {
		return usagef("--store %s: %w", s.store, err)
	}
	return nil
}

// shared reports whether other controllers can use the store too.
func (s *storage) shared() bool { return s.peers != nil || s.store != "" && s.store != inMemory }

// form makes the store a member of the etcd that an inventory's controllers form, if they form an
// etcd.
func (s *storage) form(inv *inventory.Inventory) error {
	c := &inv.Cluster
	switch {
	case !c.Etcd.On():
		return nil
	case s.store != "":
		return fmt.Errorf("cluster.etcd: the controllers form an etcd, and --store is %s: want one of "+
			"the two", s.store)
	case !c.On():
		return errors.New("cluster.listen: is missing: controllers that form an etcd work together")
	}
	name := c.Name
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return fmt.Errorf("cluster.name: is missing, and the machine has no name: %w", err)
		}
	}
	if c.Etcd.Members[name] == "" {
		return fmt.Errorf("cluster.etcd.members: %s, this controller, is missing", name)
	}
	s.peers = &etcd.Peers{Name: name, Listen: c.Etcd.Listen, Members: c.Etcd.Members,
		TLS: c.TLS.Server(certs.KindController), Election: c.Etcd.Election.D()}
	return nil
}

// place returns the data directory.
func (s *storage) place(getenv func(string) string) (string, error) {
	switch {
	case s.dir != "":
		return s.dir, nil
	case getenv("WEFT_DATA_DIR") != "":
		return getenv("WEFT_DATA_DIR"), nil
	case getenv("STATE_DIRECTORY") != "":
		return getenv("STATE_DIRECTORY"), nil // by systemd's StateDirectory=
	case os.Geteuid() == 0:
		return "/var/lib/weft", nil
	case getenv("XDG_STATE_HOME") != "":
		return filepath.Join(getenv("XDG_STATE_HOME"), "weft"), nil
	case getenv("HOME") != "":
		return filepath.Join(getenv("HOME"), ".local", "state", "weft"), nil
	}
	return "", errors.New("the environment names no directory for the records: want --data-dir DIR")
}

// open opens the store. Errors name the directory.
func (s *storage) open(
	ctx context.Context, getenv func(string) string, log *slog.Logger,
) (*run.Store, error) {
	switch s.store {
	case inMemory:
		return run.InMemory(), nil
	case "":
		dir, err := s.place(getenv)
		if err != nil {
			return nil, &usageError{err}
		}
		kept, err := run.OpenStore(ctx, etcd.Config{
			Dir: dir, Release: release(), Log: log, Peers: s.peers, Apart: true,
		})
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
			err = fmt.Errorf("%w: want a directory that this user can write: --data-dir DIR", err)
		case errors.Is(err, etcd.ErrLocked):
			err = fmt.Errorf("%w: end it, or give this controller another directory: --data-dir DIR", err)
		}
		return kept, err
	}
	return run.ConnectStore(ctx, s.store, release(), log)
}

// release names this program in what it keeps.
func release() string { return "weft " + buildVersion() }
