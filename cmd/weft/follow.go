package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api/client"
)

// follow shows all resources of a kind, or the resource with a name, and then their changes until
// ctx ends.
func (v *viewer) follow(ctx context.Context, k *kind, name string, query url.Values) error {
	c, err := v.conn.open(v.env)
	if err != nil {
		return err
	}
	defer c.Close()
	resources, key, err := c.At(k.items), "", error(nil)
	if name != "" {
		if resources, key, err = k.of(c, name); err != nil {
			return err
		}
	}
	shown := make(map[string]bool)
	look := func() error {
		if name == "" {
			items, err := resources.List(ctx, query)
			if err != nil {
				return err
			}
			return v.news(k, items, k.nameOf, shown)
		}
		item, err := resources.Get(ctx, key)
		if missing(err) && len(shown) > 0 {
			_, err := fmt.Fprintf(v.env.stdout, "%s %s is not there any more\n", k.noun, name)
			clear(shown)
			return err
		} else if err != nil {
			return err
		}
		return v.news(k, []json.RawMessage{*item}, func(json.RawMessage) string { return name }, shown)
	}
	// Not every kind has events of its own; any event may change what it shows.
	events := url.Values{}
	if len(k.Events) > 0 {
		events.Set("type", strings.Join(k.Events, ","))
	}
	err = c.Events(ctx, client.Path("v1", "events"), events, client.Handlers{
		Opened: look, Event: func(client.Event) error { return look() },
		Lost: func(err error, pause time.Duration) {
			fmt.Fprintf(v.env.stderr, "weft: the stream of events broke off: %v; trying again in %v\n", err,
				pause)
		},
	})
	if interrupted(ctx, err) {
		return nil // what following is ended by
	}
	return err
}

// news shows the resources whose present state has not been shown, and remembers all.
func (v *viewer) news(k *kind, items []json.RawMessage, nameOf func(json.RawMessage) string,
	shown map[string]bool) error {
	before := make(map[string]bool, len(shown))
	for text := range shown {
		before[text] = true
	}
	clear(shown)
	if !v.output.forPeople() {
		for _, item := range items {
			shown[string(item)] = true
			if before[string(item)] {
				continue
			}
			document := k.asDocument(nameOf(item), item)
			if err := v.output.writeNext(v.env.stdout, document); err != nil {
				return err
			}
		}
		return nil
	}
	var table bytes.Buffer
	if err := v.tableOf(k)(&table, items); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		cells := strings.Join(strings.Fields(line), " ") // columns may be wider than before
		shown[cells] = true
		if before[cells] {
			continue
		}
		if _, err := fmt.Fprint(v.env.stdout, line); err != nil {
			return err
		}
	}
	return nil
}
