package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// errDiffers reports a diff with differences, which the command has already shown.
var errDiffers = errors.New("there are differences")

func newDiff(env environment) *cobra.Command {
	var conn connection
	var files []string
	c := &cobra.Command{
		Use: "diff -f FILE|-", Short: "Show the changes that apply would make",
		Long: `Shows how the resources of files differ from those of the controller: a unified diff of
their specs in YAML, with defaults filled in. The controller checks and plans each resource,
and changes nothing. The exit status is 0 without a difference, 1 with one, and 2 when the
controller refuses a resource.`,
		Args: arguments(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDiff(cmd.Context(), env, &conn, files)
		},
	}
	c.Flags().StringArrayVarP(&files, "file", "f", nil,
		"file with resources, - for standard input; may be repeated")
	conn.register(c)
	return c
}

func runDiff(ctx context.Context, env environment, conn *connection, files []string) error {
	if len(files) == 0 {
		return usagef("diff: -f is missing: want a file, or - for standard input")
	}
	all, err := readFiles(files, env.stdin)
	if err != nil {
		return err
	}
	c, err := conn.open(env)
	if err != nil {
		return err
	}
	defer c.Close()
	differs := false
	var failed []error
	for i := range all {
		text, err := diffOf(ctx, c, &all[i])
		var refused *api.Problem
		if errors.As(err, &refused) {
			failed = append(failed, all[i].failed(err))
			continue
		} else if err != nil {
			return errors.Join(append(failed, err)...)
		}
		differs = differs || len(text) > 0
		if _, err := env.stdout.Write(text); err != nil {
			return err
		}
	}
	switch {
	case len(failed) > 0:
		return &usageError{errors.Join(failed...)}
	case differs:
		return errDiffers
	}
	return nil
}

// diffOf returns the unified diff of one resource, empty when it would not change.
func diffOf(ctx context.Context, c *client.Client, r *applied) ([]byte, error) {
	resources, key, err := r.kind.of(c, r.Name)
	if err != nil {
		return nil, err
	}
	now, ok, err := present(ctx, resources, key)
	if err != nil {
		return nil, err
	}
	item, err := resources.Put(ctx, key, r.Spec, client.Write{Version: r.Version, DryRun: true})
	if err != nil {
		return nil, err
	}
	then, err := objectOf(*item)
	if err != nil {
		return nil, err
	}
	var before []byte
	if ok {
		if before, err = r.kind.text(r.Name, 0, now.Spec); err != nil {
			return nil, err
		}
	}
	after, err := r.kind.text(r.Name, 0, then.Spec)
	if err != nil || bytes.Equal(before, after) {
		return nil, err
	}
	name := r.kind.noun + " " + r.Name
	return diff.Diff("now: "+name, before, "applied: "+name, after), nil
}
