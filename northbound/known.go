package northbound

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/northbound/causes"
	"github.com/weft-sdn/weft/topology"
)

// fill reads the resources of the kind that has a view.
func fill[V any](ctx context.Context, into *[]V, all []*kind.Kind, q kind.Query) (err error) {
	*into, err = kind.ViewsOf[V](ctx, all, q)
	return err
}

// Known reads the state that causes are found in.
func Known(ctx context.Context, cfg *Config, c Controller) (*causes.Known, error) {
	all, any := kindsOf(cfg, c), kind.Query{}
	k := &causes.Known{
		Loopbacks: make(map[topology.NodeID]string), Attached: make(map[string]api.SwitchPort),
		Who: lastWriter(ctx, cfg),
	}
	err := errors.Join(
		fill(ctx, &k.Switches, all, any), fill(ctx, &k.Nodes, all, any), fill(ctx, &k.Planes, all, any),
		fill(ctx, &k.Links, all, kind.Query{Filter: api.LinkFilter{Wrong: true}}),
		fill(ctx, &k.Hosts, all, any), fill(ctx, &k.Suspects, all, any),
		fill(ctx, &k.Profiles, all, kind.Query{Filter: api.EVProfileFilter{Degraded: true}}),
		fill(ctx, &k.Groups, all, any), fill(ctx, &k.SRv6Policies, all, any),
		fill(ctx, &k.Tenants, all, any), fill(ctx, &k.PFCPolicies, all, any),
		fill(ctx, &k.Silences, all, any), fill(ctx, &k.Networks, all, any),
		fill(ctx, &k.Jobs, all, any), fill(ctx, &k.Leases, all, any),
		fill(ctx, &k.Maintenances, all, any), fill(ctx, &k.Notifications, all, any),
		fill(ctx, &k.Ports, all, kind.Query{Filter: api.WantedPorts{}}),
	)
	if err != nil {
		return nil, err
	}
	ready, err := readiness(ctx, c, cfg.Multipath, cfg.BGP, kept(cfg))
	if err != nil {
		return nil, err
	}
	k.Checks = ready.Checks
	if k.Dependents, err = c.Dependents(ctx); err != nil {
		return nil, err
	}
	k.Project = c.Members().Of
	k.Peers = bgpPeers(cfg)
	if cfg.Multipath != nil {
		f, err := cfg.Multipath.Fabric(ctx)
		if err != nil {
			return nil, err
		}
		k.Fabric = &f
	}
	if cfg.Planes != nil {
		if k.Balance, err = cfg.Planes.Balance(ctx, 0); err != nil {
			return nil, err
		}
	}
	for _, n := range c.Topology().Nodes {
		if n.Loopback.IsValid() {
			k.Loopbacks[n.ID] = n.Loopback.String()
		}
	}
	inv := c.Inventory()
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		k.Attached[h.Address.String()] = api.SwitchPort{Switch: h.Switch, Port: h.Port}
	}
	return k, nil
}

// lastWriter returns a function that looks in the audit log for who has written a resource last.
// The function reads the log at its first call.
func lastWriter(ctx context.Context, cfg *Config) func(object string) (string, time.Time) {
	if cfg.Access == nil || cfg.Access.Log == nil {
		return nil
	}
	type writer struct {
		by string
		at time.Time
	}
	last := sync.OnceValue(func() map[string]writer { // by path
		all, err := cfg.Access.Log.Records(ctx)
		if err != nil {
			cfg.Log.Warn("causes name nobody", "reason", err)
		}
		found := make(map[string]writer)
		for _, r := range all {
			path, _, _ := strings.Cut(r.ServiceRequest.Path, "?")
			if plain, err := url.PathUnescape(path); err == nil && r.Outcome == api.AuditSuccess {
				found[plain] = writer{r.SessionInfo.User.Identity, r.Timestamp}
			}
		}
		return found
	})
	return func(object string) (string, time.Time) {
		w := last()["/v1/"+object]
		return w.by, w.at
	}
}
