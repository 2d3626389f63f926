package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api/client"
	known "github.com/weft-sdn/weft/controller/kind"
)

// viewer has the flags that all commands with output share.
type viewer struct {
	env    environment
	conn   connection
	output format
}

// object shows one document; table does so for people.
func object[T any](ctx context.Context, v *viewer, path string,
	table func(w *bytes.Buffer, t *T)) error {
	return v.show(ctx, path, nil, nil, detail(table))
}

// show shows one document. For JSON and YAML, as converts the document; nil: show prints the API's
// document unchanged.
func (v *viewer) show(ctx context.Context, path string, query url.Values,
	as func(json.RawMessage) json.RawMessage, show func(*bytes.Buffer, json.RawMessage) error) error {
	c, err := v.conn.open(v.env)
	if err != nil {
		return err
	}
	defer c.Close()
	a, err := c.Get(ctx, path, query)
	if err != nil {
		return err
	}
	v.tellStale(a.Stale())
	document := a.Body
	if as != nil {
		document = as(document)
	}
	return v.output.write(v.env.stdout, document, func(w *bytes.Buffer) error {
		return show(w, a.Body)
	})
}

// list shows a list.
func list[T any](ctx context.Context, v *viewer, path string, query url.Values,
	table func(w *bytes.Buffer, ts []T)) error {
	return v.showAll(ctx, path, query, nil, rows(table))
}

// showAll shows a list; k, when not nil, is the kind of its items.
func (v *viewer) showAll(ctx context.Context, path string, query url.Values, k *kind,
	table func(*bytes.Buffer, []json.RawMessage) error) error {
	c, err := v.conn.open(v.env)
	if err != nil {
		return err
	}
	defer c.Close()
	items, err := c.List(ctx, path, query)
	if err != nil {
		return err
	}
	v.tellStale(items.Stale)
	document, err := json.Marshal(items)
	if err != nil {
		return err
	}
	if k != nil {
		document = k.asList(items.Items, document)
	}
	return v.output.write(v.env.stdout, document, func(w *bytes.Buffer) error {
		return table(w, items.Items)
	})
}

// tellStale prints the age of a stale answer.
func (v *viewer) tellStale(s *client.Stale) {
	if s != nil {
		fmt.Fprintf(v.env.stderr, "weft: the controller read this from the store at most %v ago, at "+
			"revision %d: it may be out of date, and its status is not known\n", s.Age, s.Revision)
	}
}

// staleFlag gives a command of a kind the flag --stale, where stale answers exist. query returns
// what is asked, with the filters of filter; nil: there are none.
func staleFlag(cmd *cobra.Command, k *kind, follow *bool,
	filter func() url.Values) (query func() (url.Values, error)) {
	var stale bool
	if k.Creates {
		cmd.Flags().BoolVar(&stale, "stale", false,
			"the controller's copy of the store: also while no controller decides, maybe out of date, "+
				"without status")
	}
	return func() (url.Values, error) {
		out := url.Values{}
		if filter != nil {
			maps.Copy(out, filter())
		}
		if !stale {
			return out, nil
		}
		if *follow {
			return nil, usagef("--stale and --watch: want one of them, since the changes of a stale view " +
				"are not told")
		}
		maps.Copy(out, client.StaleQuery())
		return out, nil
	}
}

func newGet(env environment) *cobra.Command {
	v := &viewer{env: env}
	get := family("get", "Show resources and state",
		`Shows the network, switches, tables and counters, multicast groups, and the hosts,
EV profiles and links of an MRC fabric.
-o wide adds columns to a table. -o json and -o yaml print the answer of the API, which
"weft apply" accepts. -w follows a list
or a resource: it shows changes until it is interrupted. --stale asks a controller for its copy of
the store, while no controller decides.`)
	v.conn.register(get)
	v.output.register(get)
	names := completer{env, &v.conn}
	for _, k := range kinds {
		if k.plural != "" {
			get.AddCommand(v.getAll(k, names))
		}
		get.AddCommand(v.getOne(k, names))
	}
	add := func(use, short string, args int, complete []completion, show func(ctx context.Context,
		args []string) error) *cobra.Command {
		c := &cobra.Command{
			Use: use, Short: short, Args: arguments(args, args), ValidArgsFunction: inTurn(complete...),
			RunE: func(cmd *cobra.Command, args []string) error { return show(cmd.Context(), args) },
		}
		get.AddCommand(c)
		return c
	}
	groups, switches := []completion{names.of("groups")}, []completion{names.of("switches")}
	addTopology(v, add)
	add("tree NAME", "Show the tree of a multicast group", 1, groups,
		func(ctx context.Context, args []string) error {
			return object(ctx, v, groupPath(args[0])+"/tree", treeTable)
		})
	add("state NAME", "Show the state of a group's branches, read from the switches", 1, groups,
		func(ctx context.Context, args []string) error {
			return object(ctx, v, groupPath(args[0])+"/state", stateTable)
		})
	add("readiness JOB", "Show whether the fabric is ready for a job, and what is in the way", 1,
		[]completion{names.of("jobs")}, func(ctx context.Context, args []string) error {
			return object(ctx, v, client.Path("v1", "jobs", args[0], "readiness"), readinessTable)
		})
	add("causes", "List the causes of faults, with start, meaning and remedy", 0, nil,
		func(ctx context.Context, _ []string) error {
			return list(ctx, v, client.Path("v1", "causes"), nil, causeTable)
		})
	var asCSV bool
	repairs := add("repairs", "List the cables, optics and switches to repair, with evidence, hosts "+
		"and jobs", 0, nil, func(ctx context.Context, _ []string) error {
		table := repairTable
		if asCSV {
			table = repairCSV
		}
		return list(ctx, v, client.Path("v1", "repairs"), nil, table)
	})
	repairs.Flags().BoolVar(&asCSV, "csv", false, "print CSV (RFC 4180) in place of the table")
	add("tables SWITCH", "List the tables of a switch", 1, switches,
		func(ctx context.Context, args []string) error {
			return list(ctx, v, switchPath(args[0], "tables"), nil, tableTable)
		})
	add("entries SWITCH TABLE", "List the entries of a table, read back from the switch", 2,
		append(switches, names.tables), func(ctx context.Context, args []string) error {
			return list(ctx, v, entriesPath(args[0], args[1]), nil, entryTable)
		})
	var counter string
	counters := add("counters SWITCH", "List the counters of a switch above zero", 1,
		switches, func(ctx context.Context, args []string) error {
			query := url.Values{}
			if counter != "" {
				query.Set("counter", counter)
			}
			return list(ctx, v, switchPath(args[0], "counters"), query, counterTable)
		})
	counters.Flags().StringVar(&counter, "counter", "", "only this counter")
	flagValues(counters, "counter", names.counters)
	add("gnmi SWITCH", "Show the gNMI capabilities of a switch, and where its reports contradict the "+
		"configuration or BGP-LS", 1, switches, func(ctx context.Context, args []string) error {
		return object(ctx, v, switchPath(args[0], "gnmi"), gnmiDetail)
	})
	addDeviceConfig(v, switches, add)
	addFabric(v, names, add)
	addHistory(v, add)
	addEvents(v, add)
	return get
}

// getAll is the command that lists a kind.
func (v *viewer) getAll(k *kind, names completer) *cobra.Command {
	var follow bool
	var query func() (url.Values, error)
	c := &cobra.Command{
		Use: k.plural, Short: "List " + k.Help, Aliases: k.aliasesOfAll(), Args: arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked, err := query()
			switch {
			case err != nil:
				return err
			case follow:
				return v.follow(cmd.Context(), k, "", asked)
			}
			return v.showAll(cmd.Context(), k.items, asked, k, v.tableOf(k))
		},
	}
	c.Flags().BoolVarP(&follow, "watch", "w", false, "follow changes")
	var filter func() url.Values
	if f := listFilters[k.plural]; f != nil {
		filter = f(c, names)
	}
	query = staleFlag(c, k, &follow, filter)
	return c
}

// getOne returns the command that shows one resource of a kind.
func (v *viewer) getOne(k *kind, names completer) *cobra.Command {
	var follow bool
	var query func() (url.Values, error)
	c := &cobra.Command{
		Use: k.noun + " NAME", Short: "Show " + known.Article(k.Noun), Aliases: k.aliases(),
		Args:              arguments(1, 1),
		ValidArgsFunction: inTurn(names.of(k.plural)),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := query()
			switch {
			case err != nil:
				return err
			case follow:
				return v.follow(cmd.Context(), k, args[0], nil)
			}
			collection, key, err := k.at(args[0])
			if err != nil {
				return &usageError{err}
			}
			return v.show(cmd.Context(), collection+client.Path(key), asked,
				func(item json.RawMessage) json.RawMessage { return k.asDocument(args[0], item) },
				v.showOf(k))
		},
	}
	c.Flags().BoolVarP(&follow, "watch", "w", false, "follow changes")
	query = staleFlag(c, k, &follow, nil)
	return c
}
