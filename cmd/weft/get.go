package main

import (
	"context"
	"encoding/json"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/cmd/weft/client"
)

// viewer is what the commands that show something share.
type viewer struct {
	env    environment
	conn   connection
	output format
}

// object shows one resource; table does so for people.
func object[T any](ctx context.Context, v *viewer, path string, table func(w io.Writer, t *T) error) error {
	c, err := v.conn.open(v.env)
	if err != nil {
		return err
	}
	defer c.Close()
	a, err := c.Get(ctx, path, nil)
	if err != nil {
		return err
	}
	return v.output.write(v.env.stdout, a.Body, func(w io.Writer) error {
		t := new(T)
		if err := a.Decode(t); err != nil {
			return err
		}
		return table(w, t)
	})
}

// list shows a list of resources.
func list[T any](ctx context.Context, v *viewer, path string, query url.Values, table func(w io.Writer, ts []T) error) error {
	c, err := v.conn.open(v.env)
	if err != nil {
		return err
	}
	defer c.Close()
	items, err := c.List(ctx, path, query)
	if err != nil {
		return err
	}
	document, err := json.Marshal(items)
	if err != nil {
		return err
	}
	return v.output.write(v.env.stdout, document, func(w io.Writer) error {
		ts, err := client.DecodeItems[T](items)
		if err != nil {
			return err
		}
		return table(w, ts)
	})
}

func newGet(env environment) *cobra.Command {
	v := &viewer{env: env}
	get := family("get", "Show what the controller knows", `Shows the network, the switches and what is in them, multicast groups, and the hosts,
EV profiles and links of an MRC fabric.
-o json and -o yaml give what the API gave.`)
	v.conn.register(get)
	v.output.register(get)
	add := func(use, short string, args int, show func(ctx context.Context, args []string) error) *cobra.Command {
		c := &cobra.Command{
			Use: use, Short: short, Args: arguments(args, args),
			RunE: func(cmd *cobra.Command, args []string) error { return show(cmd.Context(), args) },
		}
		get.AddCommand(c)
		return c
	}
	add("topology", "Nodes, links and hosts of the network, as learned by BGP-LS", 0, func(ctx context.Context, _ []string) error {
		return object(ctx, v, client.Path("v1", "topology"), topologyTable)
	})
	add("bgp-peers", "The BGP-LS peers and their sessions", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, client.Path("v1", "bgp-peers"), nil, peerTable)
	})
	add("bgp-peer NAME", "One BGP-LS peer", 1, func(ctx context.Context, args []string) error {
		return object(ctx, v, client.Path("v1", "bgp-peers", args[0]), peerDetail)
	})
	add("switches", "The switches and the state of their sessions", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, switchPath(), nil, switchTable)
	}).Aliases = []string{"switch"}
	add("groups", "The multicast groups", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, groupsPath(), nil, groupTable)
	})
	add("group NAME", "One multicast group", 1, func(ctx context.Context, args []string) error {
		return object(ctx, v, groupPath(args[0]), groupDetail)
	})
	add("tree NAME", "The tree of a multicast group", 1, func(ctx context.Context, args []string) error {
		return object(ctx, v, groupPath(args[0])+"/tree", treeTable)
	})
	add("state NAME", "What the switches know of a multicast group's branches", 1, func(ctx context.Context, args []string) error {
		return object(ctx, v, groupPath(args[0])+"/state", stateTable)
	})
	add("tables SWITCH", "The tables of a switch", 1, func(ctx context.Context, args []string) error {
		return list(ctx, v, switchPath(args[0], "tables"), nil, tableTable)
	})
	add("entries SWITCH TABLE", "The entries of a table, read back from the switch", 2, func(ctx context.Context, args []string) error {
		return list(ctx, v, entriesPath(args[0], args[1]), nil, entryTable)
	})
	var counter string
	counters := add("counters SWITCH", "The counters of a switch that have counted something", 1, func(ctx context.Context, args []string) error {
		query := url.Values{}
		if counter != "" {
			query.Set("counter", counter)
		}
		return list(ctx, v, switchPath(args[0], "counters"), query, counterTable)
	})
	counters.Flags().StringVar(&counter, "counter", "", "only this counter")
	addLossless(v, add)
	addFabric(v, add)
	add("events", "Follow what happens; the same as \"weft watch events\"", 0, func(ctx context.Context, _ []string) error {
		return watchEvents(ctx, v, nil)
	})
	return get
}
