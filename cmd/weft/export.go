package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api/client"
)

// exporter carries out "weft export".
type exporter struct {
	env  environment
	conn connection
}

// exported are the kinds in the order in which apply can make them: what others refer to is first.
var exported = []string{"project", "network", "cc-profile", "ev-profile", "srv6-policy", "tenant",
	"pfc-policy", "multicast-group", "port", "link", "node", "plane", "host-port", "job",
	"lease", "maintenance", "silence", "notification"}

func newExport(env environment) *cobra.Command {
	e := &exporter{env: env}
	c := &cobra.Command{
		Use: "export", Short: "Print all that clients want, for apply",
		Long: `Prints every resource that a client has written as a YAML document with its kind, name
and spec, in an order in which "weft apply -f" can make them, at this controller or at another
one. It has no versions and no status, and neither users nor tokens nor the secrets of
notifications: a backup has these ("weft backup"). What you may not read is left out, and
standard error says so.`,
		Args: arguments(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context()) },
	}
	e.conn.register(c)
	return c
}

func (e *exporter) run(ctx context.Context) error {
	c, err := e.conn.open(e.env)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, name := range exported {
		k := documented(name)
		err := e.kind(ctx, c, k)
		switch {
		case client.Status(err) == http.StatusForbidden:
			_, _ = fmt.Fprintf(e.env.stderr, "weft: left out, since you may not read them: %s\n", k.Help)
		case err != nil && !unconfigured(err):
			return fmt.Errorf("%s: %w", k.Help, err)
		}
	}
	return nil
}

// unconfigured reports whether an error says that a network lacks a kind, for example without an
// MRC fabric.
func unconfigured(err error) bool {
	return client.Status(err) == http.StatusNotImplemented
}

// kind prints the resources of a kind that clients have written.
func (e *exporter) kind(ctx context.Context, c *client.Client, k *kind) error {
	if k.items != "" {
		return e.list(ctx, c, k, k.items, k.nameOf)
	}
	hosts, err := c.List(ctx, client.Path("v1", "hosts"), url.Values{})
	if err != nil {
		return err
	}
	for _, host := range hosts.Items {
		var h struct {
			Name string `json:"name"`
		}
		if err := (&client.Answer{Body: host}).Decode(&h); err != nil {
			return err
		}
		err := e.list(ctx, c, k, client.Path("v1", "hosts", h.Name, "ports"),
			func(port json.RawMessage) string {
				return h.Name + "/" + nameIn("port", port)
			})
		if err != nil && !missing(err) { // a host outside an MRC fabric has no ports to drain
			return err
		}
	}
	return nil
}

func (e *exporter) list(ctx context.Context, c *client.Client, k *kind, path string,
	nameOf func(json.RawMessage) string) error {
	items, err := c.List(ctx, path, url.Values{})
	if err != nil {
		return err
	}
	for _, item := range items.Items {
		o, err := objectOf(item)
		if err != nil {
			return err
		}
		if o.Version == 0 || len(o.Spec) == 0 { // no client has written it
			continue
		}
		document, err := k.text(nameOf(item), 0, o.Spec)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(e.env.stdout, "---\n%s", document); err != nil {
			return err
		}
	}
	return nil
}
