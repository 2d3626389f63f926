package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Tenant is the resource of a tenant: an L3VPN over SRv6 (RFC 8986 section 4.6,
// RFC 9252) with a slice of the network (draft srv6-pfc-sid, sections 1.1 and 3).
type Tenant struct {
	Name    string       `json:"name" doc:"Name of the tenant."`
	Version uint64       `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time    `json:"created,omitzero" doc:"When it was created."`
	Spec    TenantSpec   `json:"spec" doc:"Spec of the client."`
	Status  TenantStatus `json:"status" doc:"Status, which the controller writes."`
	// Changes are the changes of a dry run; nil otherwise.
	Changes []SwitchChange `json:"changes,omitempty" doc:"In the answer to a dry run: the updates of switches."`
	Takes   []Taken        `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r Tenant) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// TenantSpec is what a client wants of a tenant.
type TenantSpec struct {
	// Slice is the id of the tenant's slice (NRP), no other tenant's: it travels
	// in the low bits of the outer flow label.
	Slice uint32 `json:"slice" names:"slice" doc:"Id of its slice (NRP), no other tenant's; from 1 to what pfc.sliceBits of the configuration allows. It travels in the low bits of the outer flow label."`
	// Priority is the queue, 0 to 7, of the tenant's packets at every switch.
	Priority uint8 `json:"priority" names:"priority" doc:"Queue of its packets at every switch, 0 to 7."`
	// Rate in bit/s is what the tenant's queue gets at PFC-capable nodes. Default:
	// what other queues leave.
	Rate uint64 `json:"rate,omitempty" names:"rate" doc:"Bit/s of its queue at PFC-capable nodes. Default: what other queues leave."`
	// Sites are where the tenant is attached.
	Sites []TenantSite `json:"sites" doc:"Where it is attached."`
	// Policies are names of SRv6 policies that carry the tenant between the sites
	// at their ends. Elsewhere packets take the shortest path to the other site.
	Policies []string `json:"policies,omitempty" names:"srv6Policy" doc:"SRv6 policies that carry it between the sites at their ends. Elsewhere packets take the shortest path."`
}

// TenantSite is a port of a switch behind which a tenant is.
type TenantSite struct {
	Switch string `json:"switch" names:"switch" doc:"Name of the switch."`
	Port   uint32 `json:"port" names:"port" doc:"Port with hosts of the inventory, of no other tenant."`
	// Prefixes behind the port. Default: those of the hosts that the inventory has
	// there.
	Prefixes []netip.Prefix `json:"prefixes,omitempty" names:"prefix" doc:"Prefixes of IPv6 and IPv4 behind the port. Default: those of its hosts in the inventory."`
}

// TenantStatus is what the controller reports about a tenant.
type TenantStatus struct {
	Conditions      Conditions `json:"conditions,omitempty" doc:"Accepted, Programmed and Degraded."`
	ObservedVersion uint64     `json:"observedVersion" doc:"Version of the spec that the conditions are about."`
	// VRF is the number of the tenant's routing tables on every switch.
	VRF   uint16       `json:"vrf" doc:"Number of its routing tables on every switch."`
	Sites []SiteStatus `json:"sites,omitempty" doc:"In the order of the spec."`
	// UsedBy are the PFC policies that refer to it.
	UsedBy []string `json:"usedBy,omitempty" doc:"PFC policies that refer to it: pfc-policies/ and the name."`
}

// SiteStatus is a site in force.
type SiteStatus struct {
	Switch string `json:"switch"`
	Port   uint32 `json:"port"`
	// SID of the tenant at the switch: End.DT6, End.DT4 or End.DT46, as its prefixes there are IPv6,
	// IPv4 or both.
	SID      netip.Addr     `json:"sid" format:"ipv6" doc:"The tenant's SID at the switch: End.DT6, End.DT4 or End.DT46, as its prefixes there are IPv6, IPv4 or both."`
	Prefixes []netip.Prefix `json:"prefixes" doc:"Prefixes behind the site."`
}

// Complete returns the spec with its defaults.
func (s TenantSpec) Complete() TenantSpec {
	s.Sites, s.Policies = slices.Clone(s.Sites), slices.Clone(s.Policies)
	for i := range s.Sites {
		s.Sites[i].Prefixes = slices.Clone(s.Sites[i].Prefixes)
	}
	return s
}

// Equal compares two specs.
func (s *TenantSpec) Equal(o *TenantSpec) bool {
	return s.Slice == o.Slice && s.Priority == o.Priority && s.Rate == o.Rate &&
		slices.Equal(s.Policies, o.Policies) &&
		slices.EqualFunc(s.Sites, o.Sites, func(a, b TenantSite) bool {
			return a.Switch == b.Switch && a.Port == b.Port && slices.Equal(a.Prefixes, b.Prefixes)
		})
}

// Bounds of tenants.
const (
	MaxPriority = 7
	// MaxRate of a tenant, in bit/s.
	MaxRate  = 1 << 42
	maxSites = 1024
)

// Validate returns everything that is wrong with a completed spec, or nil.
func (s *TenantSpec) Validate(env PFCEnv) error {
	v := pfcValidator{env: env}
	switch other, taken := env.OtherSlice(s.Slice); {
	case s.Slice == 0 || s.Slice > env.MaxSlice:
		v.over("spec.slice", strconv.FormatUint(uint64(s.Slice), 10),
			fmt.Sprintf("a slice id from 1 to %d", env.MaxSlice), int(env.MaxSlice))
	case taken:
		v.conflict("spec.slice", strconv.FormatUint(uint64(s.Slice), 10),
			"a slice of the tenant's own; this one is that of "+namedBare("tenant", other))
	}
	if s.Priority > MaxPriority {
		v.over("spec.priority", strconv.Itoa(int(s.Priority)),
			fmt.Sprintf("a priority from 0 to %d", MaxPriority), MaxPriority)
	}
	if s.Rate > MaxRate {
		v.over("spec.rate", strconv.FormatUint(s.Rate, 10),
			fmt.Sprintf("at most %d bit/s", uint64(MaxRate)), MaxRate)
	}
	if len(s.Sites) == 0 {
		v.bad("spec.sites", "empty", "at least one site")
	}
	if len(s.Sites) > maxSites {
		v.over("spec.sites", fmt.Sprintf("%d sites", len(s.Sites)),
			fmt.Sprintf("at most %d sites", maxSites), maxSites)
	}
	for i := range s.Sites {
		v.site(s, i)
	}
	seen := make(map[[2]string]string)
	for i, name := range s.Policies {
		at := fmt.Sprintf("spec.policies[%d]", i)
		p, ok := env.SRv6Policy(name)
		if !ok {
			v.bad(at, strconv.Quote(name), "the name of an SRv6 policy")
			continue
		}
		for _, end := range [...]string{p.Headend, p.Endpoint} {
			if !slices.ContainsFunc(s.Sites, func(x TenantSite) bool { return x.Switch == end }) {
				v.bad(at, strconv.Quote(name),
					fmt.Sprintf("a policy between two of the sites; this one has an end at %s, where the tenant "+
						"has none", end))
			}
		}
		ends := [2]string{p.Headend, p.Endpoint}
		if first, twice := seen[ends]; twice {
			v.bad(at, strconv.Quote(name), fmt.Sprintf("one policy a direction; %s has the same ends",
				first))
		}
		seen[ends] = name
	}
	return Refuse(v.found)
}

func (v *pfcValidator) site(s *TenantSpec, i int) {
	x, at := &s.Sites[i], fmt.Sprintf("spec.sites[%d]", i)
	if !v.managed(at+".switch", x.Switch) {
		return
	}
	port := strconv.FormatUint(uint64(x.Port), 10)
	prefixes, ok := v.env.Attached(x.Switch, x.Port)
	switch {
	case !ok:
		v.bad(at+".port", port, fmt.Sprintf("a port of %s with a host of the inventory", x.Switch))
	case slices.ContainsFunc(s.Sites[:i],
		func(y TenantSite) bool { return y.Switch == x.Switch && y.Port == x.Port }):
		v.bad(at+".port", port, "each port once")
	default:
		if other, taken := v.env.OtherSite(x.Switch, x.Port); taken {
			v.conflict(at+".port", port, "a port of no other tenant; this one is that of "+
				namedBare("tenant", other))
		}
	}
	for j, p := range x.Prefixes {
		field := fmt.Sprintf("%s.prefixes[%d]", at, j)
		switch {
		case !isPrefix(p):
			v.bad(field, p.String(), "a prefix of IPv6 or IPv4 without host bits")
		case ok && !slices.ContainsFunc(prefixes,
			func(q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Contains(p.Addr()) }):
			v.bad(field, p.String(), "a prefix that the hosts at the port may use")
		}
	}
}
