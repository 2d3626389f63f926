package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// applier carries out "weft apply".
type applier struct {
	viewer
	files  []string
	wait   time.Duration
	dryRun bool
}

func newApply(env environment) *cobra.Command {
	a := &applier{viewer: viewer{env: env}}
	c := &cobra.Command{
		Use: "apply -f FILE|-", Short: "Create or change resources",
		Long: `Creates or changes the resources of files. A file has YAML documents, or JSON values
one after the other:

  name: g1
  spec:
    proxyAddress: 2001:db8:ff::1
    designatedQpn: 4096
    source: {address: "2001:db8:1:1::1", qpn: 256}
    receivers:
    - {address: "2001:db8:1:2::1", qpn: 512}
    - {address: "2001:db8:1:3::1", qpn: 513}

  ---
  kind: link
  name: 64512:10.0.1.1,11~64512:10.0.1.3,1
  spec: {admin: drained}

A document without a kind is a multicast group. The other kinds are
` + kindNames() + `.

Applying a file twice changes nothing. A document with a version is applied only if
the resource has that version. All files are read and checked before anything is sent.
A refused resource does not stop the others.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context()) },
	}
	c.Flags().StringArrayVarP(&a.files, "file", "f", nil,
		"file with resources, - for standard input; may be repeated")
	c.Flags().DurationVar(&a.wait, "wait", 0,
		"longest wait until switches and hosts are programmed, and for a controller that does not "+
			"answer yet; 0 does not wait")
	c.Flags().BoolVar(&a.dryRun, "dry-run", false,
		"only check and plan: show the updates of switches, and change nothing")
	a.conn.register(c)
	a.output.register(c)
	return c
}

func (a *applier) run(ctx context.Context) error {
	if len(a.files) == 0 {
		return usagef("apply: -f is missing: want a file, or - for standard input")
	}
	if a.dryRun && a.wait > 0 {
		return usagef("apply: --dry-run and --wait: want one of them")
	}
	all, err := readFiles(a.files, a.env.stdin)
	if err != nil {
		return errors.Join(err, a.faults(ctx, all))
	}
	c, err := a.conn.open(a.env)
	if err != nil {
		return err
	}
	defer c.Close()
	if a.dryRun && len(all) > 1 {
		fmt.Fprintln(a.env.stderr,
			"weft: each resource is planned alone, without the changes of the others")
	}
	var failed []error
	done := client.Items{Items: []json.RawMessage{}}
	for i := range all {
		body, err := a.apply(ctx, c, &all[i])
		var refused *api.Problem
		switch {
		case errors.As(err, &refused), errors.Is(err, errNotProgrammed):
			failed = append(failed, all[i].failed(err))
		case err != nil:
			return errors.Join(append(failed, err)...)
		}
		if body != nil {
			done.Items = append(done.Items, all[i].kind.asDocument(all[i].Name, body))
		}
	}
	if !a.output.forPeople() {
		document, err := json.Marshal(done)
		if err != nil {
			return err
		}
		if err := a.output.write(a.env.stdout, document, nil); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// faults returns the faults that a controller finds in resources when some resources cannot be
// applied as written, so that the command reports all faults of the files at once: bounds, formats,
// and conflicts with the network. faults changes nothing. Without a controller, faults returns
// nothing.
func (a *applier) faults(ctx context.Context, all []applied) error {
	c, err := a.conn.open(a.env)
	if err != nil {
		return nil
	}
	defer c.Close()
	var found []error
	for i := range all {
		r := &all[i]
		resources, key, err := r.kind.of(c, r.Name)
		if err != nil {
			continue
		}
		_, err = resources.Put(ctx, key, r.Spec, client.Write{Version: r.Version, DryRun: true})
		var refused *api.Problem
		if !errors.As(err, &refused) {
			continue
		}
		if refused.Errors = slices.DeleteFunc(refused.Errors, func(f api.FieldError) bool {
			return slices.Contains(r.faults, f.Field)
		}); len(refused.Errors) > 0 {
			found = append(found, r.failed(refused))
		}
	}
	return errors.Join(found...)
}

// apply returns the resource as it is afterwards.
func (a *applier) apply(ctx context.Context, c *client.Client, r *applied) (json.RawMessage,
	error) {
	resources, key, err := r.kind.of(c, r.Name)
	if err != nil {
		return nil, err
	}
	var before api.Object
	var existed bool
	err = whileUnready(ctx, a.env, a.wait, func() (err error) {
		before, existed, err = present(ctx, resources, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	body, err := resources.Put(ctx, key, r.Spec, client.Write{Version: r.Version, DryRun: a.dryRun})
	if err != nil {
		return nil, err
	}
	after, err := objectOf(*body)
	if err != nil {
		return nil, err
	}
	what := "changed"
	switch {
	case !existed:
		what = "created"
	case before.Version == after.Version:
		what = "unchanged"
	}
	if a.dryRun {
		a.say("%s %s %s (dry run)", r.kind.noun, r.Name, what)
		sayChanges(a.say, after.Changes, after.Takes)
		return *body, nil
	}
	a.say("%s %s %s, version %d", r.kind.noun, r.Name, what, after.Version)
	if a.wait > 0 && r.kind.waits {
		if body, err = a.waitProgrammed(ctx, c, resources, r, key, after.Version); err != nil {
			return nil, err
		}
	}
	return *body, nil
}

// say prints what happened, for people; other formats have it in their documents.
func (a *applier) say(format string, args ...any) {
	w := a.env.stdout
	if !a.output.forPeople() {
		w = a.env.stderr
	}
	fmt.Fprintln(w, inLine(fmt.Sprintf(format, args...)))
}

// sayChanges lists what a dry run would take from others, and the changes that it would make on
// switches.
func sayChanges(
	say func(format string, args ...any), changes []api.SwitchChange, takes []api.Taken,
) {
	for _, t := range takes {
		say("  takes from %s %s: %s", t.Kind, t.Name, t.Message)
	}
	for _, s := range changes {
		say("  %s: %d updates", s.Switch, len(s.Updates))
		for _, u := range s.Updates {
			say("    %s %s", u.Type, u.Entity)
		}
	}
}

var errNotProgrammed = errors.New("not programmed")

// waitProgrammed waits until the switches, or the hosts, have what a version of a
// resource needs.
func (a *applier) waitProgrammed(ctx context.Context, c *client.Client,
	resources client.Resources[json.RawMessage, json.RawMessage], r *applied, key string,
	version uint64) (body *json.RawMessage, err error) {
	start := time.Now()
	state, err := await(ctx, c, &awaited{
		env: a.env, what: r.kind.noun + " " + inLine(r.Name), events: r.kind.Events, longest: a.wait,
		look: func(ctx context.Context) (is bool, state string, err error) {
			if body, err = resources.Get(ctx, key); err != nil {
				return false, "", err
			}
			now, err := objectOf(*body)
			if err != nil {
				return false, "", err
			}
			var progress api.Progress
			if err := (&client.Answer{Body: now.Status}).Decode(&progress); err != nil {
				return false, "", err
			}
			if !progress.Of(version) {
				return false, "nothing is known yet", nil
			}
			return progress.Conditions.Is(api.Programmed), conditionText(progress.Conditions), nil
		},
	})
	switch {
	case errors.Is(err, errWaited):
		return nil, fmt.Errorf("%w after %v: %s", errNotProgrammed, a.wait, inLine(state))
	case err != nil:
		return nil, err
	}
	a.say("%s %s programmed after %v", r.kind.noun, r.Name,
		time.Since(start).Round(time.Millisecond))
	return body, nil
}

// conditionText reports what keeps a resource from being programmed.
func conditionText(all api.Conditions) string {
	for _, t := range []api.ConditionType{api.Accepted, api.Degraded, api.Programmed} {
		c := all.Find(t)
		if c != nil && c.Status == (t == api.Degraded) {
			if c.Message != "" {
				return c.Reason + ": " + c.Message
			}
			return c.Reason
		}
	}
	return "no condition is known yet"
}

// missing reports whether an error means a missing resource.
func missing(err error) bool {
	return client.Status(err) == http.StatusNotFound
}
