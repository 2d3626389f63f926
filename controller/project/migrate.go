package project

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// migratedKey is the key of a record: the controller has made projects from the tenants of earlier
// releases without projects.
const migratedKey = "projects-made"

var _ = store.Form[int](migratedKey)

// Keys of the records of package access that name tenants.
const (
	usersPrefix  = "access/users/"
	tokensPrefix = "access/tokens/"
)

// Load implements feature.Feature. Load also reads the tenants in the records of users and tokens,
// which belong to package access.
func (f *Feature) Load(r store.Record) (ok bool, err error) {
	if r.Key == migratedKey {
		f.migrated = true
		return true, nil
	}
	if strings.HasPrefix(r.Key, usersPrefix) || strings.HasPrefix(r.Key, tokensPrefix) {
		var g api.Grant
		if json.Unmarshal(r.Value, &g) == nil { // package access says what is wrong with it
			f.tenant(g)
		}
		return false, nil
	}
	return f.All.Load(r)
}

func (f *Feature) tenant(g api.Grant) {
	if g.Role == api.RoleTenant && api.ValidateName(g.Tenant) == nil {
		f.tenants[g.Tenant] = true
	}
}

// Start implements feature.Feature. At the first start every tenant of users, tokens, certificates
// and OpenID Connect gets a project of its name, with what its resources use.
func (f *Feature) Start() {
	f.isolate()
	if f.migrated {
		return
	}
	f.migrated, f.unsaved = true, true
	a := &f.env.Inventory().API.Access
	for _, c := range a.Certificates {
		f.tenant(c.Grant)
	}
	if a.OIDC != nil {
		for _, r := range a.OIDC.Roles {
			f.tenant(r.Grant)
		}
	}
	known := func(name string) bool { return f.tenants[name] || f.known(name) }
	users := f.users(known)
	for _, name := range slices.Sorted(maps.Keys(f.tenants)) {
		if f.known(name) {
			continue
		}
		var spec api.ProjectSpec
		resources := 0
		for _, u := range f.uses {
			if api.ProjectOf(u.name, known) == name {
				resources++
			}
		}
		for _, n := range sortedThings(users) {
			if who := users[n]; who[name] {
				give(&spec, n, len(who) > 1)
			}
		}
		f.All.Put(name, spec, f.env.Wall())
		f.notes = append(f.notes, fmt.Sprintf("project %s was made of tenant %s: %d resources, %d "+
			"hosts, %d ports, %d proxy addresses, %d designated QPNs, slices %v, priorities %v",
			name, name, resources, len(spec.Hosts), len(spec.Ports), len(spec.Proxies), len(spec.QPNs),
			spec.Slices, spec.Priorities))
		f.env.Event(api.EventProjectChanged, name, f.notes[len(f.notes)-1], nil)
	}
}

// Notes returns what the first start has assigned, a line for each project.
func (f *Feature) Notes() []string { return f.notes }

// assigned is a thing as a project has it: comparable.
type assigned struct {
	kind   api.Thing
	name   string // of a host, or the switch of a port
	proxy  netip.Addr
	number uint64
}

// users returns the projects that use each thing; "" are the administrators.
func (f *Feature) users(known func(string) bool) map[assigned]map[string]bool {
	out := make(map[assigned]map[string]bool)
	for _, u := range f.uses {
		who := api.ProjectOf(u.name, known)
		for i := range u.names {
			n := &u.names[i]
			a := assigned{kind: n.Kind, number: n.Number}
			switch n.Kind {
			case api.ThingHost:
				a.name, _ = f.env.Net.HostName(n.Address)
			case api.ThingPort:
				a.name = n.Text
			case api.ThingProxy:
				a.proxy = n.Address
			case api.ThingQPN, api.ThingSlice, api.ThingPriority:
			default:
				continue
			}
			if n.Kind == api.ThingHost && a.name == "" {
				continue // the host has left the inventory
			}
			if out[a] == nil {
				out[a] = make(map[string]bool)
			}
			out[a][who] = true
		}
	}
	return out
}

func sortedThings(m map[assigned]map[string]bool) []assigned {
	return slices.SortedFunc(maps.Keys(m), func(a, b assigned) int {
		return strings.Compare(fmt.Sprintf("%s %s %v %020d", a.kind, a.name, a.proxy, a.number),
			fmt.Sprintf("%s %s %v %020d", b.kind, b.name, b.proxy, b.number))
	})
}

// give puts a thing into a spec.
func give(s *api.ProjectSpec, a assigned, shared bool) {
	switch a.kind {
	case api.ThingHost:
		s.Hosts = append(s.Hosts, api.ProjectHost{Name: a.name, Shared: shared})
	case api.ThingPort:
		s.Ports = append(s.Ports, api.ProjectPort{Switch: a.name, Port: uint32(a.number), Shared: shared})
	case api.ThingProxy:
		s.Proxies = append(s.Proxies, api.ProjectPrefix{Prefix: netip.PrefixFrom(a.proxy,
			a.proxy.BitLen()), Shared: shared})
	case api.ThingQPN:
		s.QPNs = append(s.QPNs, api.ProjectRange{First: uint32(a.number), Last: uint32(a.number),
			Shared: shared})
	case api.ThingSlice:
		s.Slices = append(s.Slices, api.ProjectSlice{Slice: uint32(a.number), Shared: shared})
	case api.ThingPriority:
		s.Priorities = append(s.Priorities, api.ProjectPriority{Priority: uint8(a.number),
			Shared: shared})
	}
}
