package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// deleter carries out "weft delete".
type deleter struct {
	env     environment
	conn    connection
	version uint64
	absent  bool
	dryRun  bool
	all     bool
	of      string // with all: the value of kind.whole
	warns   bool   // what a deletion takes from others is said before
	files   []string
}

func newDelete(env environment) *cobra.Command {
	d := &deleter{env: env}
	family := family("delete", "Delete resources", `Deletes resources of the controller: by kind and
name, or with -f those of files, the last one first, so that what refers to another goes before
it. Of files only kinds and names count; a document with a version is deleted only if the
resource has that version.`)
	d.ofFiles(family)
	names := completer{env, &d.conn}
	for _, k := range kinds {
		if k.removed() == "" {
			continue
		}
		c := &cobra.Command{
			Use: k.noun + " NAME...", Short: "Delete " + k.plural, Long: k.removed(), Aliases: k.aliases(),
			Args:              arguments(1, -1),
			ValidArgsFunction: anyNumber(names.of(k.plural)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return d.byName(cmd.Context(), k, args)
			},
		}
		if k.whole == "" {
			c.Flags().Uint64Var(&d.version, "version", 0, "delete only this version; 0 is any")
		}
		if k.whole != "" {
			c.Use, c.Args = k.noun+" NAME... | --all --"+k.whole+" NAME", arguments(0, -1)
			c.Flags().BoolVar(&d.all, "all", false, "delete all of one "+k.whole)
			c.Flags().StringVar(&d.of, k.whole, "", "with --all: the "+k.whole)
			c.RunE = func(cmd *cobra.Command, args []string) error {
				switch {
				case d.all != (d.of != ""):
					return usagef("delete %s: --all and --%s go together", k.noun, k.whole)
				case d.all && len(args) > 0:
					return usagef("delete %s: want names or --all, not both", k.noun)
				case d.all:
					return d.whole(cmd.Context(), k)
				case len(args) == 0:
					return usagef("delete %s: want names, or --all with --%s", k.noun, k.whole)
				}
				return d.byName(cmd.Context(), k, args)
			}
		}
		d.flags(c)
		family.AddCommand(c)
	}
	d.conn.register(family)
	return family
}

// flags adds the flags that all deletions have.
func (d *deleter) flags(c *cobra.Command) {
	c.Flags().BoolVar(&d.absent, "ignore-missing", false, "ignore missing resources")
	c.Flags().BoolVar(&d.dryRun, "dry-run", false,
		"only check and plan: show the updates of switches, and delete nothing")
}

// ofFiles has the command of all kinds delete what files name.
func (d *deleter) ofFiles(c *cobra.Command) {
	c.Use = "delete KIND NAME... | -f FILE|-"
	c.Flags().StringArrayVarP(&d.files, "file", "f", nil,
		"file with resources, - for standard input; may be repeated")
	d.flags(c)
	without := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(d.files) == 0:
			return without(cmd, args)
		case len(args) > 0:
			return usagef("delete: -f and %q: want a file, or a kind and names", args[0])
		}
		all, err := readFiles(d.files, d.env.stdin)
		if err != nil {
			return err
		}
		slices.Reverse(all)
		var failed []error
		for i := range all {
			if k := all[i].kind; k.removed() == "" {
				failed = append(failed, all[i].failed(fmt.Errorf("a %s cannot be deleted: see %q", k.noun,
					"weft undrain")))
			}
		}
		if len(failed) > 0 {
			return &usageError{errors.Join(failed...)}
		}
		return d.run(cmd.Context(), all)
	}
}

// byName deletes resources of a kind by their names.
func (d *deleter) byName(ctx context.Context, k *kind, names []string) error {
	if d.version != 0 && len(names) > 1 {
		return usagef("delete %s: --version is for one %s, and there are %d", k.noun, k.noun, len(names))
	}
	d.warns = true
	var all []applied
	for _, name := range names {
		all = append(all, applied{kind: k,
			Request: api.Request[json.RawMessage]{Name: name, Version: d.version}})
	}
	return d.run(ctx, all)
}

// run deletes resources in turn. A refusal does not stop the remaining deletions.
func (d *deleter) run(ctx context.Context, all []applied) error {
	c, err := d.conn.open(d.env)
	if err != nil {
		return err
	}
	defer c.Close()
	var failed []error
	for i := range all {
		r := &all[i]
		stays, err := d.one(ctx, c, r)
		var refused *api.Problem
		switch {
		case err == nil && d.dryRun:
			d.say("%s %s deleted (dry run)", r.kind.noun, r.Name)
			sayChanges(d.say, stays.Changes, stays.Takes)
		case err == nil:
			d.say("%s %s deleted", r.kind.noun, r.Name)
		case missing(err) && d.absent:
			d.say("%s %s is not there", r.kind.noun, r.Name)
		case errors.As(err, &refused):
			failed = append(failed, fmt.Errorf("%s %s: %w", r.kind.noun, r.Name, err))
		default:
			return errors.Join(append(failed, err)...)
		}
	}
	return errors.Join(failed...)
}

// whole deletes all orphans of a switch: no other kind has that.
func (d *deleter) whole(ctx context.Context, k *kind) error {
	c, err := d.conn.open(d.env)
	if err != nil {
		return err
	}
	defer c.Close()
	note := ""
	if d.dryRun {
		note = " (dry run)"
	}
	done, err := c.DeleteOrphans(ctx, d.of, client.Write{DryRun: d.dryRun})
	if err != nil {
		return fmt.Errorf("%s of %s %s: %w", k.plural, k.whole, d.of, err)
	}
	for _, name := range done.Deleted {
		d.say("%s %s deleted%s", k.noun, name, note)
	}
	if len(done.Deleted) == 0 {
		d.say("%s %s has no %s", k.whole, d.of, k.plural)
	}
	sayChanges(d.say, done.Changes, nil)
	return nil
}

func (d *deleter) say(format string, args ...any) {
	fmt.Fprintln(d.env.stdout, inLine(fmt.Sprintf(format, args...)))
}

// one deletes a resource, or returns the resource with the effects of its deletion.
func (d *deleter) one(
	ctx context.Context, c *client.Client, r *applied,
) (stays api.Object, err error) {
	resources, key, err := r.kind.of(c, r.Name)
	if err != nil {
		return stays, err
	}
	w := client.Write{Version: r.Version}
	if d.dryRun || d.warns && !d.absent { // scripts ignore what is missing, and need no words
		body, err := resources.TryDelete(ctx, key, w)
		if err != nil {
			return stays, err
		}
		if stays, err = objectOf(*body); err != nil || d.dryRun {
			return stays, err
		}
		sayChanges(func(format string, args ...any) {
			fmt.Fprintln(d.env.stderr, inLine(fmt.Sprintf(format, args...)))
		}, nil, stays.Takes)
	}
	return stays, resources.Delete(ctx, key, w)
}

func newReset(env environment) *cobra.Command {
	var conn connection
	var version uint64
	family := family("reset", "Reset resources", "Resets resources of the controller.")
	c := &cobra.Command{
		Use: "group NAME", Short: "Give the tree of a multicast group a new epoch",
		Long: "Gives every node of the group's tree a new epoch, which clears all reports of branches. " +
			"Use\nit after queue pairs were created again. A new initial PSN in the spec (weft apply) has " +
			"the\nsame effect.",
		Args: arguments(1, 1), ValidArgsFunction: inTurn(completer{env, &conn}.of("groups")),
	}
	c.Flags().Uint64Var(&version, "version", 0, "reset only this version; 0 is any")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		rest, err := conn.open(env)
		if err != nil {
			return err
		}
		defer rest.Close()
		g, err := rest.ResetGroup(cmd.Context(), args[0], client.Write{Version: version})
		if err != nil {
			return fmt.Errorf("group %s: %w", args[0], err)
		}
		_, err = fmt.Fprintf(env.stdout, "group %s reset, epoch %d\n", inLine(g.Name), g.Status.Epoch)
		return err
	}
	conn.register(family)
	family.AddCommand(c)
	return family
}

func newReplace(env environment) *cobra.Command {
	var conn connection
	family := family("replace", "Let a controller start again that lost its data",
		"Lets a controller start again that lost its data.")
	c := &cobra.Command{
		Use: "controller NAME", Short: "Let a controller start again that lost its data",
		Long: "Of controllers that form an etcd, one whose data directory is lost does not start: " +
			"the\nothers count on what it had acknowledged. Ask one of the others; then the " +
			"controller\nstarts with an empty data directory, and gets the data from them.",
		Args: arguments(1, 1),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		rest, err := conn.open(env)
		if err != nil {
			return err
		}
		defer rest.Close()
		if err := rest.ReplaceController(cmd.Context(), args[0]); err != nil {
			return fmt.Errorf("controller %s: %w", args[0], err)
		}
		_, err = fmt.Fprintf(env.stdout, "controller %s may start with an empty data directory\n",
			args[0])
		return err
	}
	conn.register(family)
	family.AddCommand(c)
	return family
}
