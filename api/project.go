package api

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Project is the resource of those who share a network: it has members, and things that an
// administrator assigns to it. The multicast groups, tenants, PFC policies and jobs that are named
// like the project, or whose names begin with its name and a hyphen or a dot, are the project's.
type Project struct {
	Name    string        `json:"name" doc:"Name of the project."`
	Version uint64        `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time     `json:"created,omitzero" doc:"When it was created."`
	Spec    ProjectSpec   `json:"spec" doc:"Spec, which an administrator writes."`
	Status  ProjectStatus `json:"status" doc:"Use of the project, and what is left."`
}

// Intent implements [Intended].
func (r Project) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// ProjectSpec has members, things and quotas of a project. A thing that is not shared belongs to
// one project.
type ProjectSpec struct {
	Members    []ProjectMember   `json:"members,omitempty" maxItems:"1024" doc:"Who may use what is the project's."`
	Hosts      []ProjectHost     `json:"hosts,omitempty" maxItems:"16384" doc:"Hosts whose queue pairs its groups may use, and that its jobs may run on."`
	Ports      []ProjectPort     `json:"ports,omitempty" maxItems:"16384" doc:"Ports for sites of the project's tenants."`
	Proxies    []ProjectPrefix   `json:"proxies,omitempty" maxItems:"256" doc:"Prefixes for proxy addresses of the project's groups."`
	QPNs       []ProjectRange    `json:"qpns,omitempty" maxItems:"256" doc:"Ranges for designated QPNs of the project's groups."`
	Slices     []ProjectSlice    `json:"slices,omitempty" maxItems:"1024" doc:"Slice ids of its tenants."`
	Priorities []ProjectPriority `json:"priorities,omitempty" maxItems:"8" doc:"Queues that its tenants may have."`
	Bandwidth  uint64            `json:"bandwidth,omitempty" format:"uint64" doc:"Bit/s that the rates of its tenants may come to together; each must then have one. Default: no limit."`
	Isolated   bool              `json:"isolated,omitempty" doc:"Switches drop what its hosts send to things that the project does not have, and what others send to things that it has for itself."`
	// Of leases of paths.
	ExclusiveLeases bool `json:"exclusiveLeases,omitempty" doc:"Its leases of paths may have links for themselves (sharing: exclusive)."`
	LeasePriority   int  `json:"leasePriority,omitempty" minimum:"0" maximum:"1000" doc:"Highest priority of the project's leases of paths. Default 0."`

	Quotas ProjectQuotas `json:"quotas,omitzero" doc:"Bounds of what it may make."`
}

// ProjectQuotas bound what a project makes; nil is no bound.
type ProjectQuotas struct {
	Groups    *int `json:"groups,omitempty" minimum:"0" doc:"Multicast groups. Default: no limit."`
	Receivers *int `json:"receivers,omitempty" minimum:"0" doc:"Receivers of all its multicast groups. Default: no limit."`
	Tenants   *int `json:"tenants,omitempty" minimum:"0" doc:"Tenants. Default: no limit."`
	Policies  *int `json:"policies,omitempty" minimum:"0" doc:"PFC policies. Default: no limit."`
	Jobs      *int `json:"jobs,omitempty" minimum:"0" doc:"Jobs. Default: no limit."`
	Ranks     *int `json:"ranks,omitempty" minimum:"0" doc:"Ranks of all its jobs. Default: no limit."`
	Leases    *int `json:"leases,omitempty" minimum:"0" doc:"Leases of paths, listed ended leases included. Default: no limit."`
	// Of leases that have not ended.
	LeaseLinks     *int     `json:"leaseLinks,omitempty" minimum:"0" doc:"Links that its leases of paths hold, each direction once for each lease. Default: no limit."`
	LeaseBandwidth *uint64  `json:"leaseBandwidth,omitempty" format:"uint64" doc:"Bit/s of all paths of its leases together. Default: no limit."`
	LeaseDuration  Duration `json:"leaseDuration,omitempty" doc:"Longest duration, and the default duration, of a lease of paths. Default 24h."`
	// Requests are counted by the server, not by the core.
	Requests *int `json:"requests,omitempty" minimum:"1" doc:"Requests a second of all its members. Default: no limit but that of each client."`
}

// ProjectMember names a member of a project: one by its name, or all to whom the OpenID Connect
// provider gives a claim of a value.
type ProjectMember struct {
	Way  Way    `json:"way" enum:"user,token,certificate,oidc" doc:"Way of authentication."`
	Name string `json:"name,omitempty" maxLength:"253" doc:"Name of the user or certificate, name by OpenID Connect, or id of the token. Absent where claim says who."`
	// Claim and Value are for the way oidc alone.
	Claim string      `json:"claim,omitempty" maxLength:"253" doc:"Of way oidc, in place of name: a claim that sessions keep (api.access.oidc.claims)."`
	Value string      `json:"value,omitempty" maxLength:"253" doc:"Value of the claim, alone or in a list."`
	Role  ProjectRole `json:"role" enum:"viewer,editor" doc:"viewer sees what is the project's, editor also changes it."`
}

// ProjectRole defines what a member of a project may do there.
type ProjectRole string

// The roles in a project.
const (
	ProjectViewer ProjectRole = "viewer"
	ProjectEditor ProjectRole = "editor"
)

// ProjectHost is a host of a project.
type ProjectHost struct {
	Name   string `json:"name" minLength:"1" maxLength:"253" doc:"Name of a host of the inventory."`
	Shared bool   `json:"shared,omitempty" doc:"Other projects that say so too may have it, and administrators may use it."`
}

// ProjectPort is a port of a switch of a project.
type ProjectPort struct {
	Switch string `json:"switch" minLength:"1" maxLength:"253" doc:"Name of a switch."`
	Port   uint32 `json:"port" doc:"Port of the switch."`
	Shared bool   `json:"shared,omitempty" doc:"Other projects that say so too may have it, and administrators may use it."`
}

// ProjectPrefix is a prefix of addresses of a project.
type ProjectPrefix struct {
	Prefix netip.Prefix `json:"prefix" doc:"Prefix of IPv6 or IPv4, without host bits."`
	Shared bool         `json:"shared,omitempty" doc:"Other projects that say so too may have it, and administrators may use it."`
}

// ProjectRange is a range of queue pair numbers of a project.
type ProjectRange struct {
	First  uint32 `json:"first" minimum:"2" maximum:"16777215" doc:"The lowest."`
	Last   uint32 `json:"last" minimum:"2" maximum:"16777215" doc:"The highest."`
	Shared bool   `json:"shared,omitempty" doc:"Other projects that say so too may have it, and administrators may use it."`
}

// ProjectSlice is a slice of a project.
type ProjectSlice struct {
	Slice  uint32 `json:"slice" minimum:"1" doc:"Slice id."`
	Shared bool   `json:"shared,omitempty" doc:"Other projects that say so too may have it, and administrators may use it."`
}

// ProjectPriority is a queue of a project.
type ProjectPriority struct {
	Priority uint8 `json:"priority" maximum:"7" doc:"Queue, 0 to 7."`
	Shared   bool  `json:"shared,omitempty" doc:"Other projects that say so too may have it, and administrators may use it."`
}

// ProjectStatus has the usage of a project, and the remaining quota.
type ProjectStatus struct {
	Conditions Conditions     `json:"conditions,omitempty" doc:"Accepted."`
	Resources  []string       `json:"resources,omitempty" doc:"What it has made: multicast-groups/, tenants/, pfc-policies/, jobs/ or leases/ and the name."`
	Things     []ProjectThing `json:"things,omitempty" doc:"Everything that is assigned, with what uses it; what nothing uses is left."`
	Policies   []string       `json:"srv6Policies,omitempty" doc:"SRv6 policies that its tenants and PFC policies may name: those with ports of the project at both ends."`
	Used       ProjectUse     `json:"used" doc:"Number of existing resources."`
	Left       ProjectLeft    `json:"left" doc:"Number of further resources; absent without a limit."`
}

// ProjectThing is a thing that is assigned.
type ProjectThing struct {
	Kind    Thing        `json:"kind" enum:"host,port,proxy,designatedQpn,slice,priority" doc:"What it is."`
	Name    string       `json:"name" doc:"Name of the host, switch/port, prefix, range, slice or priority."`
	Address netip.Addr   `json:"address,omitzero" format:"ip" doc:"Of a host: its address."`
	Ports   []SwitchPort `json:"ports,omitempty" doc:"Of a host: the ports that it hangs off."`
	Shared  bool         `json:"shared,omitempty" doc:"Others may have it too."`
	UsedBy  []string     `json:"usedBy,omitempty" doc:"Resources of the project that use the thing."`
}

// SwitchPort is a port of a switch.
type SwitchPort struct {
	Switch string `json:"switch" doc:"Name of the switch."`
	Port   uint32 `json:"port" doc:"Number of the port."`
}

// ProjectUse counts what a project has made.
type ProjectUse struct {
	Groups    int    `json:"groups" doc:"Multicast groups."`
	Receivers int    `json:"receivers" doc:"Receivers of its multicast groups."`
	Tenants   int    `json:"tenants" doc:"Tenants."`
	Policies  int    `json:"policies" doc:"PFC policies."`
	Jobs      int    `json:"jobs" doc:"Jobs."`
	Ranks     int    `json:"ranks" doc:"Ranks of its jobs."`
	Leases    int    `json:"leases" doc:"Leases of paths."`
	Bandwidth uint64 `json:"bandwidth" format:"uint64" doc:"Bit/s: the sum of the rates of its tenants."`

	LeaseLinks     int    `json:"leaseLinks" doc:"Links held by the project's leases of paths."`
	LeaseBandwidth uint64 `json:"leaseBandwidth" format:"uint64" doc:"Bit/s of all paths of the project's leases."`
}

// ProjectLeft is what a project may still make.
type ProjectLeft struct {
	Groups    *int    `json:"groups,omitempty" doc:"Multicast groups."`
	Receivers *int    `json:"receivers,omitempty" doc:"Receivers of its multicast groups."`
	Tenants   *int    `json:"tenants,omitempty" doc:"Tenants."`
	Policies  *int    `json:"policies,omitempty" doc:"PFC policies."`
	Jobs      *int    `json:"jobs,omitempty" doc:"Jobs."`
	Ranks     *int    `json:"ranks,omitempty" doc:"Ranks of its jobs."`
	Leases    *int    `json:"leases,omitempty" doc:"Leases of paths."`
	Bandwidth *uint64 `json:"bandwidth,omitempty" format:"uint64" doc:"Bit/s."`

	LeaseLinks     *int    `json:"leaseLinks,omitempty" doc:"Links that its leases of paths may still hold."`
	LeaseBandwidth *uint64 `json:"leaseBandwidth,omitempty" format:"uint64" doc:"Bit/s of paths of leases."`
}

// Covers reports whether a resource of a name is a project's by its name.
func Covers(project, name string) bool {
	rest, ok := strings.CutPrefix(name, project)
	return ok && project != "" && (rest == "" || rest[0] == '-' || rest[0] == '.')
}

// ProjectOf returns the project that owns a resource name: of several matching projects, the
// project with the longest name; "": administrators own the resource. known reports whether a
// project exists.
func ProjectOf(name string, known func(project string) bool) string {
	for at := len(name); at > 0; at = strings.LastIndexAny(name[:at], "-.") {
		if known(name[:at]) {
			return name[:at]
		}
	}
	return ""
}

// ProjectEnv has the facts that the validation of a project needs.
type ProjectEnv struct {
	MaxSlice uint32
	Host     func(name string) bool
	Switch   func(name string) bool
	// Open returns a switch with hosts that keeps no project apart, and why; nil or "": all do.
	Open func() (name, why string)
}

// Validate returns everything that is wrong with a spec by itself, or nil.
func (s *ProjectSpec) Validate(env ProjectEnv) error {
	v := projectValidator{seen: make(map[string]bool)}
	if s.Isolated && env.Open != nil {
		if sw, why := env.Open(); sw != "" {
			v.check("spec.isolated", "true", false, fmt.Sprintf("false: switch %s has hosts, and %s", sw,
				why))
		}
	}
	for i, m := range s.Members {
		at := fmt.Sprintf("spec.members[%d].", i)
		v.check(at+"way", string(m.Way),
			slices.Contains([]Way{WayUser, WayToken, WayCertificate, WayOIDC}, m.Way),
			"user, token, certificate or oidc")
		switch byClaim := m.Claim != "" || m.Value != ""; {
		case !byClaim:
			v.check(at+"name", m.Name, m.Name != "", "a name, or for way oidc claim and value")
		case m.Way != WayOIDC:
			v.check(at+"claim", m.Claim, false, "none: only way oidc has claims")
		default:
			v.check(at+"claim", m.Claim, m.Claim != "", "the claim that has the value")
			v.check(at+"value", m.Value, m.Value != "", "a value of the claim")
			v.check(at+"name", m.Name, m.Name == "", "none beside claim and value")
		}
		v.check(at+"role", string(m.Role), m.Role == ProjectViewer || m.Role == ProjectEditor,
			"viewer or editor")
		if m.Claim == "" {
			v.once(at+"name", string(m.Way)+" "+m.Name)
		} else {
			v.once(at+"value", fmt.Sprintf("%s %s=%s", m.Way, m.Claim, m.Value))
		}
	}
	for i, h := range s.Hosts {
		at := fmt.Sprintf("spec.hosts[%d].name", i)
		v.check(at, h.Name, env.Host(h.Name), "the name of a host of the inventory")
		v.once(at, "host "+h.Name)
	}
	for i, p := range s.Ports {
		at := fmt.Sprintf("spec.ports[%d].", i)
		v.check(at+"switch", p.Switch, env.Switch(p.Switch), "the name of a switch")
		v.once(at+"port", fmt.Sprintf("port %s/%d", p.Switch, p.Port))
	}
	for i, p := range s.Proxies {
		at := fmt.Sprintf("spec.proxies[%d].prefix", i)
		v.check(at, p.Prefix.String(), isPrefix(p.Prefix), "a prefix of IPv6 or IPv4 without host bits")
		v.once(at, "proxy "+p.Prefix.String())
	}
	for i, r := range s.QPNs {
		at := fmt.Sprintf("spec.qpns[%d].last", i)
		v.check(at, strconv.FormatUint(uint64(r.Last), 10), r.First >= 2 && r.First <= r.Last &&
			r.Last <= maxQPN, fmt.Sprintf("a queue pair number from first, %d, to %d", r.First, maxQPN))
		v.once(at, fmt.Sprintf("qpn %d", r.First))
	}
	for i, x := range s.Slices {
		at := fmt.Sprintf("spec.slices[%d].slice", i)
		v.check(at, strconv.FormatUint(uint64(x.Slice), 10), x.Slice > 0 && x.Slice <= env.MaxSlice,
			fmt.Sprintf("a slice id from 1 to %d", env.MaxSlice))
		v.once(at, fmt.Sprintf("slice %d", x.Slice))
	}
	for i, x := range s.Priorities {
		at := fmt.Sprintf("spec.priorities[%d].priority", i)
		v.check(at, strconv.Itoa(int(x.Priority)), x.Priority <= MaxPriority,
			fmt.Sprintf("a priority from 0 to %d", MaxPriority))
		v.once(at, fmt.Sprintf("priority %d", x.Priority))
	}
	q := &s.Quotas
	for _, n := range []struct {
		name  string
		limit *int
		least int
	}{{"groups", q.Groups, 0}, {"receivers", q.Receivers, 0}, {"tenants", q.Tenants, 0},
		{"policies", q.Policies, 0}, {"jobs", q.Jobs, 0},
		{"ranks", q.Ranks, 0}, {"leases", q.Leases, 0}, {"leaseLinks", q.LeaseLinks, 0},
		{"requests", q.Requests, 1}} {
		if n.limit != nil {
			v.check("spec.quotas."+n.name, strconv.Itoa(*n.limit), *n.limit >= n.least,
				fmt.Sprintf("at least %d", n.least))
		}
	}
	v.check("spec.leasePriority", strconv.Itoa(s.LeasePriority),
		s.LeasePriority >= 0 && s.LeasePriority <= MaxJobPriority,
		fmt.Sprintf("a priority from 0 to %d", MaxJobPriority))
	if d := q.LeaseDuration; d != 0 {
		v.check("spec.quotas.leaseDuration", d.String(), d.D() >= time.Second && d.D() <= maxLease,
			fmt.Sprintf("a duration from %v to %v", time.Second, maxLease))
	}
	return Refuse(v.found)
}

// LongestLease returns the longest duration of the leases of a project.
func (q *ProjectQuotas) LongestLease() time.Duration {
	return cmp.Or(q.LeaseDuration.D(), DefaultLeaseDuration)
}

type projectValidator struct {
	found []FieldError
	seen  map[string]bool
}

func (v *projectValidator) check(field, value string, ok bool, want string) {
	if !ok {
		v.found = append(v.found, FieldError{Field: field, Code: CodeInvalid, Value: value, Want: want})
	}
}

func (v *projectValidator) once(field, key string) {
	v.check(field, key, !v.seen[key], "each of them once")
	v.seen[key] = true
}
