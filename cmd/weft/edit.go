package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// editor carries out "weft edit".
type editor struct {
	env    environment
	conn   connection
	dryRun bool
}

func newEdit(env environment) *cobra.Command {
	e := &editor{env: env}
	family := family("edit", "Change a resource in an editor", `Opens the spec of a resource, as YAML,
in the editor that $VISUAL or $EDITOR names (else vi), and applies what it is afterwards. Nothing is
sent when nothing has changed. A change that somebody else has made meanwhile is not
overwritten: the edit is refused then, and the file with it is kept.`)
	names := completer{env, &e.conn}
	for _, k := range kinds {
		if k.document == nil {
			continue
		}
		c := &cobra.Command{
			Use: k.noun + " NAME", Short: "Change one of the " + k.long, Aliases: k.aliases(),
			Args: arguments(1, 1), ValidArgsFunction: inTurn(names.of(k.plural)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return e.run(cmd.Context(), k, args[0])
			},
		}
		c.Flags().BoolVar(&e.dryRun, "dry-run", false,
			"only check and plan: show the updates of switches, and change nothing")
		family.AddCommand(c)
	}
	e.conn.register(family)
	return family
}

func (e *editor) run(ctx context.Context, k *kind, name string) error {
	c, err := e.conn.open(e.env)
	if err != nil {
		return err
	}
	defer c.Close()
	resources, key, err := k.of(c, name)
	if err != nil {
		return err
	}
	item, err := resources.Get(ctx, key)
	if err != nil {
		return err
	}
	before, err := documentText(k, name, *item)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weft-edit-")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "resource.yaml")
	kept, err := e.edit(ctx, c, k, name, file, before)
	if !kept {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return fmt.Errorf("%w (the change is in %s)", err, file)
}

// edit has a person change a file that has a resource, and applies it. kept reports whether the
// file has a change that is in force nowhere.
func (e *editor) edit(ctx context.Context, c *client.Client, k *kind, name, file string,
	before []byte) (kept bool, err error) {
	if err := os.WriteFile(file, before, 0o600); err != nil {
		return false, err
	}
	if err := e.open(ctx, file); err != nil {
		return false, err
	}
	after, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	if bytes.Equal(before, after) {
		_, err := fmt.Fprintf(e.env.stdout, "%s %s unchanged\n", k.noun, inLine(name))
		return false, err
	}
	all, err := parseDocuments(file, after)
	if err == nil && (len(all) != 1 || all[0].kind != k || all[0].Name != name) {
		err = fmt.Errorf("%s: want %s %s and nothing else", file, k.noun, name)
	}
	if err != nil {
		return true, &usageError{err}
	}
	a := &applier{viewer: viewer{env: e.env, output: formatTable}, dryRun: e.dryRun}
	_, err = a.apply(ctx, c, &all[0])
	return err != nil, err
}

// open runs the editor on a file.
func (e *editor) open(ctx context.Context, file string) error {
	command := "vi"
	for _, variable := range []string{"EDITOR", "VISUAL"} {
		if v := strings.TrimSpace(e.env.getenv(variable)); v != "" {
			command = v
		}
	}
	// As git does: the variable may have arguments, and the file is not a part of the text.
	cmd := exec.CommandContext(ctx, "sh", "-c", command+` "$1"`, "sh", file)
	// It draws on the terminal of the process itself, which those of env are not.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.env.stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("editor %q: %w", command, err)
	}
	return nil
}

// documentText returns a resource as a document that can be applied, with its version.
func documentText(k *kind, name string, item json.RawMessage) ([]byte, error) {
	o, err := objectOf(item)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(api.Object{Name: name, Version: o.Version, Spec: o.Spec})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrAnswer, err)
	}
	return strictyaml.FromJSON(k.head(text))
}
