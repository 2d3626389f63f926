package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/internal/wholefile"
	"github.com/weft-sdn/weft/store/etcd"
)

func newBackup(env environment) *cobra.Command {
	var conn connection
	var replace bool
	c := &cobra.Command{
		Use: "backup FILE", Short: "Write all records of the controller to a file",
		Long: `Writes a snapshot of all records of a running controller to a file: resources, drains,
and the controller's decisions. "weft restore" creates a data directory from it. The file
appears when it is complete. An existing one is kept unless --replace is given.`,
		Args: arguments(1, 1),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := os.Lstat(args[0]); err == nil && !replace {
			return fmt.Errorf("%s exists already: --replace replaces it", args[0])
		}
		rest, err := conn.open(env)
		if err != nil {
			return err
		}
		defer rest.Close()
		size, err := wholefile.Write(args[0], func(w io.Writer) error {
			return rest.Backup(cmd.Context(), w)
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "%s: %d octets\n", args[0], size)
		return err
	}
	conn.register(c)
	c.Flags().BoolVar(&replace, "replace", false, "replace an existing file")
	return c
}

func newRestore(env environment) *cobra.Command {
	var s storage
	var log logging
	var file controllerCommand
	c := &cobra.Command{
		Use: "restore FILE", Short: "Create a data directory from a backup",
		Long: `Creates the data directory of a controller from a file of "weft backup". The directory
must not have data yet, and no controller may use it. A damaged file is refused. Then
"weft controller" with this directory continues from the backup: groups that changed
since have the tree of the backup again.

Controllers that form an etcd need a data directory each, from the same file: they work
with each other, and with no controller that has other data. --config and --name identify
the controller. End all controllers first, and start them when all directories exist. Use
"weft replace controller" where the others run on, and one alone has lost its data.`,
		Args: arguments(1, 1),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		out, err := log.open(env.stderr)
		if err != nil {
			return err
		}
		dir, err := s.place(env.getenv)
		if err != nil {
			return &usageError{err}
		}
		if _, err := os.Stat(args[0]); err != nil {
			return err
		}
		if file.config != "" {
			inv, err := file.inventory()
			if err == nil {
				err = s.form(inv)
			}
			if err != nil {
				return &usageError{err}
			}
		}
		config := etcd.Config{Dir: dir, Release: release(), Log: out, Peers: s.peers}
		sum, err := etcd.Restore(config, args[0])
		if err := errors.Join(err, cmd.Context().Err()); err != nil {
			return err
		}
		if s.peers != nil { // it takes the others to read it
			_, err := fmt.Fprintf(env.stdout, "%s: member %s of backup %.12s\n", dir, s.peers.Name, sum)
			return err
		}
		n, err := count(cmd.Context(), config)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "%s: %d records\n", dir, n)
		return err
	}
	s.registerDir(c)
	c.Flags().StringVar(&file.config, "config", "",
		"YAML file of controllers that form an etcd (default the controller is alone)")
	c.Flags().StringVar(&file.name, "name", "",
		"name of the controller among several (default that of the file, or of the machine)")
	log.register(c, "warn")
	return c
}

// count opens a data directory, which proves that a controller can, and returns the number of its
// records.
func count(ctx context.Context, c etcd.Config) (int, error) {
	s, err := etcd.Open(ctx, c)
	if err != nil {
		return 0, err
	}
	records, _, err := s.List(ctx, "")
	return len(records), errors.Join(err, s.Close())
}
