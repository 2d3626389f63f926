package main

import (
	"context"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/cmd/weft/client"
)

// addFunc adds a command that shows something.
type addFunc func(use, short string, args int, show func(ctx context.Context, args []string) error) *cobra.Command

// filters are the query of a list, by the names of its flags; what is empty is not asked for.
type filters map[string]*string

func (f filters) register(c *cobra.Command, name, usage string) {
	f[name] = c.Flags().String(name, "", usage)
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

// addFabric adds what there is to see of an MRC fabric.
func addFabric(v *viewer, add addFunc) {
	path := func(segments ...string) string { return client.Path(append([]string{"v1"}, segments...)...) }
	add("fabric", "The MRC fabric as a whole", 0, func(ctx context.Context, _ []string) error {
		return object(ctx, v, path("fabric"), fabricTable)
	})

	profiles := filters{}
	var degraded bool
	c := add("ev-profiles", "The EV profiles, one for each pair of leaves with hosts", 0, func(ctx context.Context, _ []string) error {
		query := profiles.query()
		if degraded {
			query.Set("degraded", "true")
		}
		return list(ctx, v, path("ev-profiles"), query, evProfileTable)
	})
	profiles.register(c, "source", "only from this leaf")
	profiles.register(c, "destination", "only to this leaf")
	profiles.register(c, "host", "only those that this host holds")
	c.Flags().BoolVar(&degraded, "degraded", false, "only those that are less than they were")
	add("ev-profile NAME", "One EV profile, with its EVs", 1, func(ctx context.Context, args []string) error {
		return object(ctx, v, path("ev-profiles", args[0]), evProfileDetail)
	})
	evs := filters{}
	c = add("evs PROFILE", "The EVs of a profile", 1, func(ctx context.Context, args []string) error {
		return list(ctx, v, path("ev-profiles", args[0], "evs"), evs.query(), evTable)
	})
	evs.register(c, "state", "only GOOD, ASSUMED_BAD or DENIED ones")
	evs.register(c, "port", "only those of this port")
	add("path PROFILE EV", "The path of an EV, switch by switch", 2, func(ctx context.Context, args []string) error {
		return object(ctx, v, path("ev-profiles", args[0], "evs", args[1], "path"), pathTable)
	})
	add("cc-profiles", "The CC profiles", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("cc-profiles"), nil, ccTable)
	})

	add("hosts", "The hosts of the MRC fabric", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("hosts"), nil, hostTable)
	})
	add("host NAME", "One host: what its device can, what it holds and what it refuses", 1, func(ctx context.Context, args []string) error {
		return object(ctx, v, path("hosts", args[0]), hostDetail)
	})

	links := filters{}
	var denied bool
	var plane int
	c = add("links", "The links that paths cross, one direction each", 0, func(ctx context.Context, _ []string) error {
		query := links.query()
		if denied {
			query.Set("denied", "true")
		}
		if plane != 0 {
			query.Set("plane", strconv.Itoa(plane))
		}
		return list(ctx, v, path("links"), query, linkTable)
	})
	links.register(c, "node", "only those of this switch")
	c.Flags().IntVar(&plane, "plane", 0, "only those of this plane; 0 is any")
	c.Flags().BoolVar(&denied, "denied", false, "only those over which EVs are denied")
	add("nodes", "The switches of the MRC fabric", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("nodes"), nil, nodeTable)
	})
	add("planes", "The planes of the MRC fabric", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("planes"), nil, planeTable)
	})
	add("suspects", "Links that lose packets", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("suspects"), nil, suspectTable)
	})
	probes := filters{}
	c = add("probes", "What probes have shown, by EV", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("ev-probes"), probes.query(), probeTable)
	})
	probes.register(c, "profile", "only EVs of this profile")
	probes.register(c, "source", "only where this host probed last")
	probes.register(c, "destination", "only where this host was probed last")
}

// addLossless adds what there is to see of tenants and what carries them.
func addLossless(v *viewer, add addFunc) {
	path := func(segments ...string) string { return client.Path(append([]string{"v1"}, segments...)...) }
	add("srv6-policies", "The SRv6 policies", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("srv6-policies"), nil, srv6PolicyTable)
	})
	add("tenants", "The tenants", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("tenants"), nil, tenantTable)
	})
	add("pfc-policies", "The PFC policies", 0, func(ctx context.Context, _ []string) error {
		return list(ctx, v, path("pfc-policies"), nil, pfcPolicyTable)
	})
	add("pfc-policy NAME", "One PFC policy: queues with watermarks and pauses in force, and tunnels", 1, func(ctx context.Context, args []string) error {
		return object(ctx, v, path("pfc-policies", args[0]), pfcPolicyDetail)
	})
}
