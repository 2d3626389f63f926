package main

import (
	"context"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api/client"
)

// addFunc adds a command that shows something.
type addFunc func(use, short string, args int, complete []completion, show func(ctx context.Context,
	args []string) error) *cobra.Command

// filters are the query of a list, by the names of its flags; what is empty is not asked for.
type filters map[string]*string

func (f filters) register(c *cobra.Command, name, usage string, by completion) {
	f[name] = c.Flags().String(name, "", usage)
	flagValues(c, name, by)
}

func (f filters) query() url.Values {
	query := url.Values{}
	for name, value := range f {
		if *value != "" {
			query.Set(name, *value)
		}
	}
	return query
}

// listFilters register the flags of lists, and return the query that they make, by plurals.
var listFilters = map[string]func(c *cobra.Command, names completer) func() url.Values{
	"ev-profiles": profileFilters, "links": linkFilters,
}

func profileFilters(c *cobra.Command, names completer) func() url.Values {
	f := filters{}
	f.register(c, "source", "only from this leaf", names.nodes)
	f.register(c, "destination", "only to this leaf", names.nodes)
	f.register(c, "host", "only those that this host holds", names.of("hosts"))
	degraded := c.Flags().Bool("degraded", false, "only degraded profiles")
	return func() url.Values {
		query := f.query()
		if *degraded {
			query.Set("degraded", "true")
		}
		return query
	}
}

func linkFilters(c *cobra.Command, names completer) func() url.Values {
	f := filters{}
	f.register(c, "node", "only links of this switch", names.nodes)
	plane := c.Flags().Int("plane", 0, "only links of this plane; 0 is any")
	flagValues(c, "plane", names.of("planes"))
	denied := c.Flags().Bool("denied", false, "only links whose EVs are denied")
	return func() url.Values {
		query := f.query()
		if *denied {
			query.Set("denied", "true")
		}
		if *plane != 0 {
			query.Set("plane", strconv.Itoa(*plane))
		}
		return query
	}
}

// addFabric adds the commands that show an MRC fabric, besides its resources.
func addFabric(v *viewer, names completer, add addFunc) {
	path := func(segments ...string) string {
		return client.Path(append([]string{"v1"}, segments...)...)
	}
	add("fabric", "The MRC fabric as a whole", 0, nil, func(ctx context.Context, _ []string) error {
		return object(ctx, v, path("fabric"), fabricTable)
	})
	profiles := names.of("ev-profiles")
	evs := filters{}
	c := add("evs PROFILE", "The EVs of a profile", 1, []completion{profiles},
		func(ctx context.Context, args []string) error {
			return list(ctx, v, path("ev-profiles", args[0], "evs"), evs.query(), evTable)
		})
	evs.register(c, "state", "only GOOD, ASSUMED_BAD or DENIED ones",
		values("GOOD", "ASSUMED_BAD", "DENIED"))
	evs.register(c, "port", "only those of this port", values())
	add("path PROFILE EV", "Show the path of an EV, hop by hop", 2, []completion{profiles, names.evs},
		func(ctx context.Context, args []string) error {
			return object(ctx, v, path("ev-profiles", args[0], "evs", args[1], "path"), pathTable)
		})
	add("suspects", "List lossy links", 0, nil, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("suspects"), nil, suspectTable)
	})
	probes := filters{}
	c = add("probes", "List the results of probes, by EV", 0, nil,
		func(ctx context.Context, _ []string) error {
			return list(ctx, v, path("ev-probes"), probes.query(), probeTable)
		})
	probes.register(c, "profile", "only EVs of this profile", profiles)
	probes.register(c, "source", "only where this host probed last", names.of("hosts"))
	probes.register(c, "destination", "only where this host was probed last", names.of("hosts"))
}
