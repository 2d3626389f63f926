package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// historian carries out "weft history" and "weft undo".
type historian struct {
	viewer
	diffs  bool
	change string
	dryRun bool
}

func newHistory(env environment) *cobra.Command {
	h := &historian{viewer: viewer{env: env}}
	c := family("history", "Show who changed a resource, and how", `Shows the changes of a resource
that the audit log still has, the latest one last. --diff shows what each has changed. It takes
the scope "administer".`)
	ofEach(c, completer{env, &h.conn}, "Changes of one of the", (*kind).isWritten, h.show)
	c.PersistentFlags().BoolVar(&h.diffs, "diff", false, "show what each change has changed")
	h.conn.register(c)
	h.output.register(c)
	return c
}

func newUndo(env environment) *cobra.Command {
	h := &historian{viewer: viewer{env: env, output: formatTable}}
	c := family("undo", "Take back a change of a resource", `Makes a resource what it was before its
latest change, or before the one that --change names, as a new change: "weft history" has their
ids. What was created is deleted, and what was deleted is created again. It takes the scope
"administer".`)
	ofEach(c, completer{env, &h.conn}, "Take back a change of one of the", (*kind).isWritten, h.undo)
	c.PersistentFlags().StringVar(&h.change, "change", "", "id of a change; default the latest one")
	c.PersistentFlags().BoolVar(&h.dryRun, "dry-run", false,
		"only check and plan: show the updates of switches, and change nothing")
	h.conn.register(c)
	return c
}

// changesOf returns the records of the audit log that have changed a resource, the latest one last.
func changesOf(ctx context.Context, c *client.Client, k *kind, name string) ([]api.AuditRecord,
	error) {
	collection, key, err := k.at(name)
	if err != nil {
		return nil, &usageError{err}
	}
	items, err := c.List(ctx, auditPath, url.Values{"path": {collection},
		"outcome": {string(api.AuditSuccess)}})
	if err != nil {
		return nil, err
	}
	all, err := client.DecodeItems[api.AuditRecord](items)
	if err != nil {
		return nil, err
	}
	var out []api.AuditRecord
	for i := range all {
		path, _, _ := strings.Cut(all[i].ServiceRequest.Path, "?")
		of, ok := strings.CutPrefix(path, collection+"/")
		if of, err := url.PathUnescape(of); ok && err == nil && of == key {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// idOf is the id of a change.
func idOf(r *api.AuditRecord) string { return fmt.Sprintf("%s:%d", r.Chain, r.Seq) }

// whatOf names the kind of a change.
func whatOf(r *api.AuditRecord) string {
	switch {
	case len(r.Before) == 0 && len(r.After) == 0:
		return "-" // it has no spec
	case len(r.Before) == 0:
		return "created"
	case len(r.After) == 0:
		return "deleted"
	}
	return "changed"
}

func (h *historian) show(ctx context.Context, k *kind, name string) error {
	c, err := h.conn.open(h.env)
	if err != nil {
		return err
	}
	defer c.Close()
	records, err := changesOf(ctx, c, k, name)
	if err == nil && len(records) == 0 { // there may be none of a resource that there is
		var resources client.Resources[json.RawMessage, json.RawMessage]
		var key string
		if resources, key, err = k.of(c, name); err == nil {
			_, err = resources.Get(ctx, key)
		}
	}
	if err != nil {
		return err
	}
	document, err := json.Marshal(api.List[api.AuditRecord]{Items: append([]api.AuditRecord{},
		records...)})
	if err != nil {
		return err
	}
	return h.output.write(h.env.stdout, document, func(w *bytes.Buffer) error {
		if h.diffs {
			return h.writeDiffs(w, records)
		}
		g := newGrid("CHANGE", "TIME", "WHO", "WHAT")
		for i := range records {
			r := &records[i]
			g.row(idOf(r), dayTime(r.Timestamp), dash(r.SessionInfo.User.Identity), whatOf(r))
		}
		g.writeTo(w)
		return nil
	})
}

// writeDiffs writes a unified diff a change.
func (h *historian) writeDiffs(w *bytes.Buffer, records []api.AuditRecord) error {
	for i := range records {
		r := &records[i]
		before, err := yamlOf(r.Before)
		if err != nil {
			return err
		}
		after, err := yamlOf(r.After)
		if err != nil {
			return err
		}
		heading := fmt.Sprintf("%s %s %s", idOf(r), dayTime(r.Timestamp),
			inLine(dash(r.SessionInfo.User.Identity)))
		w.Write(diff.Diff("before "+heading, before, "after "+heading, after))
	}
	return nil
}

// yamlOf returns a spec in YAML, empty without a spec.
func yamlOf(spec json.RawMessage) ([]byte, error) {
	if len(spec) == 0 {
		return nil, nil
	}
	return strictyaml.FromJSON(spec)
}

// errGone reports a change that cannot be taken back.
var errGone = errors.New("cannot be taken back")

// target returns the change to take back. If the change is the latest, the resource must equal the
// result of the change: otherwise a later change is missing from the log.
func (h *historian) target(records []api.AuditRecord, now json.RawMessage) (*api.AuditRecord,
	error) {
	if len(records) == 0 {
		return nil, fmt.Errorf("%w: the audit log has no change of it", errGone)
	}
	last := &records[len(records)-1]
	r := last
	if h.change != "" {
		r = nil
		for i := range records {
			if idOf(&records[i]) == h.change {
				r = &records[i]
			}
		}
	}
	switch {
	case r == nil:
		return nil, usagef("--change %s: want one of those that \"weft history\" shows, such as %s",
			h.change, idOf(last))
	case whatOf(r) == "-":
		return nil, fmt.Errorf("%w: change %s has no spec", errGone, idOf(r))
	case cut(r.Before):
		return nil, fmt.Errorf("%w: change %s has the size of the spec before it, and not the spec",
			errGone, idOf(r))
	case r == last && !cut(r.After) && !sameJSON(now, r.After):
		return nil, fmt.Errorf("%w: it is not what change %s has made of it", errGone, idOf(r))
	}
	return r, nil
}

// cut reports whether a record has the size and the hash of a spec in its place.
func cut(spec json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(spec, &fields) != nil || len(fields) != 2 {
		return false
	}
	return fields["octets"] != nil && fields["sha256"] != nil
}

// sameJSON reports whether two values are the same; empty ones are.
func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	for _, v := range []struct {
		text json.RawMessage
		to   *any
	}{{a, &x}, {b, &y}} {
		d := json.NewDecoder(bytes.NewReader(v.text))
		d.UseNumber()
		if d.Decode(v.to) != nil {
			return false
		}
	}
	return reflect.DeepEqual(x, y)
}

func (h *historian) undo(ctx context.Context, k *kind, name string) error {
	c, err := h.conn.open(h.env)
	if err != nil {
		return err
	}
	defer c.Close()
	records, err := changesOf(ctx, c, k, name)
	if err != nil {
		return err
	}
	resources, key, err := k.of(c, name)
	if err != nil {
		return err
	}
	now, _, err := present(ctx, resources, key)
	if err != nil {
		return err
	}
	r, err := h.target(records, now.Spec)
	if err != nil {
		return fmt.Errorf("%s %s: %w", k.noun, name, err)
	}
	before := r.Before
	if len(before) == 0 && k.Untouched != nil { // no client had drained it
		if before, err = json.Marshal(k.Untouched); err != nil {
			return err
		}
	}
	if len(before) == 0 {
		d := &deleter{env: h.env, conn: h.conn, dryRun: h.dryRun}
		return d.run(ctx, []applied{{kind: k, Request: api.Request[json.RawMessage]{Name: name,
			Version: now.Version}}})
	}
	a := &applier{viewer: h.viewer, dryRun: h.dryRun}
	_, err = a.apply(ctx, c, &applied{kind: k, Request: api.Request[json.RawMessage]{Name: name,
		Version: now.Version, Spec: before}})
	if err != nil {
		return fmt.Errorf("%s %s: %w", k.noun, name, err)
	}
	return nil
}
