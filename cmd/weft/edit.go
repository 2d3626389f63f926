package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api/client"
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
	family.PersistentFlags().BoolVar(&e.dryRun, "dry-run", false,
		"only check and plan: show the updates of switches, and change nothing")
	ofEach(family, completer{env, &e.conn}, "Change one of the", (*kind).isWritten, e.run)
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
	now, err := objectOf(*item)
	if err != nil {
		return err
	}
	before, err := k.text(name, now.Version, now.Spec)
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

// edit lets a person change a file with a resource, and applies the change. kept reports whether
// the file holds a change that is in force nowhere.
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
	// The editor draws on the terminal of the process, not on the streams of env.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.env.stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("editor %q: %w", command, err)
	}
	return nil
}
