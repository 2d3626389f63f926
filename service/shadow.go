package service

import (
	"log/slog"
	"sync"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/store"
)

// newShadow returns a shadow of what clients created, and what it has for the API. A controller has
// one whether it decides or not: what the one that decides knows may not be kept yet.
func newShadow(s store.Store, log *slog.Logger) (*store.Shadow, northbound.Kept) {
	kinds := []resource.Kind{
		controller.GroupKind, controller.SRv6PolicyKind, controller.TenantKind, controller.PFCPolicyKind,
		controller.NetworkKind, controller.ProjectKind, mrc.CCKind,
	}
	prefixes := make([]string, len(kinds))
	for i, k := range kinds {
		prefixes[i] = k.Prefix
	}
	shadow := store.NewShadow(s, prefixes...)
	projects := kept(shadow, log, controller.ProjectKind,
		func(r *resource.Stored[api.ProjectSpec]) api.Project {
			return api.Project{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec}
		})
	return shadow, northbound.Kept{
		Groups: kept(shadow, log, controller.GroupKind,
			func(r *resource.Stored[api.MulticastGroupSpec]) api.MulticastGroup {
				return api.MulticastGroup{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec}
			}),
		SRv6Policies: kept(shadow, log, controller.SRv6PolicyKind,
			func(r *resource.Stored[api.SRv6PolicySpec]) api.SRv6Policy {
				return api.SRv6Policy{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec}
			}),
		Tenants: kept(shadow, log, controller.TenantKind,
			func(r *resource.Stored[api.TenantSpec]) api.Tenant {
				return api.Tenant{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec}
			}),
		PFCPolicies: kept(shadow, log, controller.PFCPolicyKind,
			func(r *resource.Stored[api.PFCPolicySpec]) api.PFCPolicy {
				return api.PFCPolicy{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec}
			}),
		Networks: kept(shadow, log, controller.NetworkKind,
			func(r *resource.Stored[api.NetworkSpec]) api.Network {
				return api.Network{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec}
			}),
		CCProfiles: kept(shadow, log, mrc.CCKind,
			func(r *resource.Stored[api.CCProfileSpec]) api.CCProfile {
				return api.CCProfile{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec}
			}),
		Projects: projects,
		Members: func() *access.Projects {
			specs := make(map[string]api.ProjectSpec)
			for _, p := range projects().Items {
				specs[p.Name] = p.Spec
			}
			return access.NewProjects(specs)
		},
	}
}

// kept returns what gives the last reading of a kind. A record that cannot be read is left out and
// logged: no controller that decides starts with it.
func kept[S, R any](shadow *store.Shadow, log *slog.Logger, k resource.Kind,
	view func(*resource.Stored[S]) R) func() northbound.Reading[R] {
	var mu sync.Mutex
	var last northbound.Reading[R]
	return func() northbound.Reading[R] {
		now, ok := shadow.Of(k.Prefix)
		if !ok {
			return northbound.Reading[R]{}
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case now.At.Before(last.At): // another request has seen a later one
		case now.Revision == last.Revision && !last.At.IsZero():
			last.At = now.At
		default:
			last = northbound.Reading[R]{Items: make([]R, 0, len(now.Records)), Revision: now.Revision,
				At: now.At}
			for _, record := range now.Records {
				r, err := resource.Read[S](k, record)
				if err != nil {
					log.Error("a record cannot be read", "reason", err)
					continue
				}
				last.Items = append(last.Items, view(&r))
			}
		}
		return last
	}
}
