package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// described is everything about a resource.
type described struct {
	Resource json.RawMessage `json:"resource"`
	Events   []api.Event     `json:"events"`
}

func newDescribe(env environment) *cobra.Command {
	v := &viewer{env: env}
	c := family("describe", "Show everything about one resource",
		`Shows a resource, its whole spec and status, and the events about it that the controller
still has.`)
	v.conn.register(c)
	v.output.register(c)
	ofEach(c, completer{env, &v.conn}, "Everything about one of the", func(*kind) bool { return true },
		v.describe)
	return c
}

func (v *viewer) describe(ctx context.Context, k *kind, name string) error {
	c, err := v.conn.open(v.env)
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
	d := described{Resource: *item, Events: []api.Event{}}
	if len(k.Events) > 0 {
		events, err := c.LatestEvents(ctx, url.Values{"type": {strings.Join(k.Events, ",")},
			"object": {name}})
		if err != nil {
			return err
		}
		d.Events = append(d.Events, events...)
	}
	document, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return v.output.write(v.env.stdout, document, func(w *bytes.Buffer) error {
		return k.describe(w, &d)
	})
}

// describe shows all of it to people.
func (k *kind) describe(w *bytes.Buffer, d *described) error {
	if err := k.show(w, d.Resource); err != nil {
		return err
	}
	parts, err := objectOf(d.Resource)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		text json.RawMessage
	}{{"Spec", parts.Spec}, {"Status", parts.Status}} {
		if len(part.text) == 0 {
			continue
		}
		text, err := strictyaml.FromJSON(part.text)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s:\n", part.name)
		for line := range strings.Lines(string(text)) {
			fmt.Fprint(w, "  ", line)
		}
	}
	if len(k.Events) == 0 {
		return nil
	}
	if len(d.Events) == 0 {
		fmt.Fprintln(w, "\nEvents: none")
		return nil
	}
	fmt.Fprintln(w, "\nEvents:")
	g := newGrid("TIME", "TYPE", "MESSAGE")
	for i := range d.Events {
		g.row(clockTime(d.Events[i].Time), d.Events[i].Type, eventText(&d.Events[i]))
	}
	g.writeTo(w)
	return nil
}
