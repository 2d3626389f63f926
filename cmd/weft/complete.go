package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// A completion returns what an argument or the value of a flag may be, args being the arguments
// before it.
type completion func(ctx context.Context, args []string) []string

// completer asks a controller for names. Without an answer it completes nothing.
type completer struct {
	env  environment
	conn *connection
}

// completeTime bounds how long a shell waits for names.
const completeTime = 3 * time.Second

// items returns a list of the API.
func (c completer) items(ctx context.Context, path string, query url.Values) *client.Items {
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	rest, err := c.conn.open(c.env)
	if err != nil {
		return &client.Items{}
	}
	defer rest.Close()
	items, err := rest.List(ctx, path, query)
	if err != nil {
		return &client.Items{}
	}
	return items
}

// of completes the names of a kind, by its plural.
func (c completer) of(plural string) completion {
	return func(ctx context.Context, _ []string) (names []string) {
		for _, k := range kinds {
			if k.plural != plural || k.items == "" {
				continue
			}
			for _, item := range c.items(ctx, k.items, nil).Items {
				names = append(names, k.nameOf(item))
			}
		}
		return names
	}
}

// fields completes the values of a field of a list.
func (c completer) fields(path func(args []string) string, field string) completion {
	return func(ctx context.Context, args []string) (values []string) {
		seen := make(map[string]bool)
		for _, item := range c.items(ctx, path(args), nil).Items {
			if name := nameIn(field, item); !seen[name] {
				seen[name] = true
				values = append(values, name)
			}
		}
		return values
	}
}

func (c completer) tables(ctx context.Context, args []string) []string {
	return c.fields(func(args []string) string { return switchPath(args[0], "tables") }, "name")(ctx,
		args)
}

func (c completer) counters(ctx context.Context, args []string) []string {
	if len(args) == 0 {
		return nil
	}
	return c.fields(func(args []string) string { return switchPath(args[0], "counters") },
		"counter")(ctx, args)
}

func (c completer) evs(ctx context.Context, args []string) []string {
	return c.fields(func(args []string) string {
		return client.Path("v1", "ev-profiles", args[0], "evs")
	}, "ev")(ctx, args)
}

// nodes completes switches by the names that they show, or their ids.
func (c completer) nodes(ctx context.Context, _ []string) (names []string) {
	nodes, err := client.DecodeItems[api.Node](c.items(ctx, client.Path("v1", "nodes"), nil))
	if err != nil {
		return nil
	}
	for i := range nodes {
		names = append(names, named(nodes[i].Status.Name, nodes[i].ID))
	}
	return names
}

// linkOrNode completes the first argument of commands that take a link: its id, or one of its ends.
func (c completer) linkOrNode(ctx context.Context, args []string) []string {
	return append(c.nodes(ctx, args), c.of("links")(ctx, args)...)
}

// ports completes the ports of a host.
func (c completer) ports(ctx context.Context, args []string) []string {
	return c.fields(func(args []string) string { return client.Path("v1", "hosts", args[0], "ports") },
		"port")(ctx, args)
}

// values completes what is known beforehand.
func values(all ...string) completion {
	return func(context.Context, []string) []string { return all }
}

// inTurn completes each argument in its way; those beyond have nothing.
func inTurn(by ...completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(by) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return matching(by[len(args)](cmd.Context(), args), begun)
	}
}

// anyNumber completes all arguments in one way, none twice.
func anyNumber(by completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		given := make(map[string]bool)
		for _, a := range args {
			given[a] = true
		}
		var left []string
		for _, name := range by(cmd.Context(), args) {
			if !given[name] {
				left = append(left, name)
			}
		}
		return matching(left, begun)
	}
}

// flagValues completes the value of a flag.
func flagValues(c *cobra.Command, flag string, by completion) {
	err := c.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string,
		begun string) ([]string, cobra.ShellCompDirective) {
		return matching(by(cmd.Context(), args), begun)
	})
	if err != nil {
		panic(err) // no such flag: of our own making
	}
}

func matching(all []string, begun string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, name := range all {
		if strings.HasPrefix(name, begun) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
