package plan

import (
	"cmp"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/gaissmai/bart"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Isolated is an isolated project. Switches drop packets from its hosts to things outside the
// project, and packets from outsiders to things that the project has for itself.
//
// A host belongs to a project by its name, or by a port that it is attached to. Projects may share
// a thing. Hosts of the sharing projects reach the thing, and so do hosts that no isolated project
// has for itself; a shared host reaches all of these.
type Isolated struct {
	Name    string
	Hosts   []api.ProjectHost
	Ports   []api.ProjectPort
	Proxies []api.ProjectPrefix
}

// Equal reports whether two projects have the same.
func (x *Isolated) Equal(y *Isolated) bool {
	return x.Name == y.Name && slices.Equal(x.Hosts, y.Hosts) && slices.Equal(x.Ports, y.Ports) &&
		slices.Equal(x.Proxies, y.Proxies)
}

// WithIsolated returns the network with projects that are isolated, in the order of their names.
func (n *Network) WithIsolated(projects []Isolated) *Network {
	with := *n
	with.isolated = projects
	with.isolation = newIsolation(projects, n.Inventory)
	return &with
}

// Isolated returns what WithIsolated has set.
func (n *Network) Isolated() []Isolated { return n.isolated }

// assignees are the isolated projects that have a thing, by their places; none: an outsider's
// thing.
type assignees struct {
	projects []int
	shared   bool // all of them share it
}

func (o *assignees) add(project int, shared bool) {
	o.shared = shared && (len(o.projects) == 0 || o.shared)
	if !slices.Contains(o.projects, project) {
		o.projects = append(o.projects, project)
	}
}

// exclusive reports whether a project has the thing for itself.
func (o *assignees) exclusive() bool { return len(o.projects) > 0 && !o.shared }

func (o *assignees) meet(p []int) bool {
	return slices.ContainsFunc(o.projects, func(i int) bool { return slices.Contains(p, i) })
}

// reaches reports whether hosts of some owners may send to a thing of others.
func (o *assignees) reaches(to *assignees) bool {
	if o.exclusive() {
		return to.meet(o.projects)
	}
	return !to.exclusive() || to.meet(o.projects)
}

// place is a prefix with its holders: several if hosts share the prefix.
type place struct {
	prefix netip.Prefix
	of     []*assignees
	within int // the place of the next shorter one that contains it; -1: none does
}

// open reports whether hosts of some owners may send there. Where several have a prefix, all must
// agree.
func (p *place) open(from *assignees) bool {
	return !slices.ContainsFunc(p.of, func(to *assignees) bool { return !from.reaches(to) })
}

// senders are hosts that may send to the same destinations.
type senders struct {
	id uint32
	of assignees
}

// isolation is what a network needs to know of isolated projects; nil: there are none.
type isolation struct {
	hosts  map[string]*senders // by name; not there: of no isolated project
	places []place             // short prefixes first
}

func newIsolation(projects []Isolated, inv *inventory.Inventory) *isolation {
	if len(projects) == 0 {
		return nil
	}
	x := &isolation{hosts: make(map[string]*senders)}
	found := assigneesOf(projects, inv)
	at := make(map[netip.Prefix][]*assignees)
	for p, o := range proxies(projects) {
		at[p] = []*assignees{o}
	}
	hosts := func(yield func(h *inventory.Host, p netip.Prefix)) {
		for i := range inv.Hosts {
			for _, p := range append([]netip.Prefix{host(inv.Hosts[i].Address)}, inv.Hosts[i].Prefixes...) {
				yield(&inv.Hosts[i], p)
			}
		}
	}
	theirs := make(map[netip.Prefix][]*assignees)
	hosts(func(h *inventory.Host, p netip.Prefix) {
		if o := found[h.Name]; o != nil {
			theirs[p] = append(theirs[p], o)
		}
	})
	maps.Copy(at, theirs) // a host's address is the host's, whatever prefix of proxies it is in
	covers := new(bart.Lite)
	for p := range at {
		covers.Insert(p)
	}
	outsider := new(assignees)
	others := make(map[netip.Prefix]bool)
	hosts(func(h *inventory.Host, p netip.Prefix) {
		if covers.LookupPrefix(p) && found[h.Name] == nil && !others[p] {
			others[p] = true
			if _, also := theirs[p]; !also {
				delete(at, p)
			}
			at[p] = append(at[p], outsider)
		}
	})
	x.order(at)
	x.number(projects, found)
	return x
}

// assigneesOf returns who has hosts, by the names of those that projects have.
func assigneesOf(projects []Isolated, inv *inventory.Inventory) map[string]*assignees {
	type claim struct {
		project int
		shared  bool
	}
	byName, byPort := make(map[string][]claim), make(map[api.SwitchPort][]claim)
	for i := range projects {
		for _, h := range projects[i].Hosts {
			byName[h.Name] = append(byName[h.Name], claim{i, h.Shared})
		}
		for _, p := range projects[i].Ports {
			at := api.SwitchPort{Switch: p.Switch, Port: p.Port}
			byPort[at] = append(byPort[at], claim{i, p.Shared})
		}
	}
	out := make(map[string]*assignees)
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		claims := slices.Clone(byName[h.Name])
		for _, p := range h.AllPorts() {
			claims = append(claims, byPort[api.SwitchPort{Switch: h.Switch, Port: p}]...)
		}
		for _, a := range h.Planes {
			claims = append(claims, byPort[api.SwitchPort{Switch: a.Switch, Port: a.Port}]...)
		}
		for _, c := range claims {
			if out[h.Name] == nil {
				out[h.Name] = new(assignees)
			}
			out[h.Name].add(c.project, c.shared)
		}
	}
	return out
}

// proxies returns the projects that have the prefixes of proxy addresses. A prefix also belongs to
// the projects of the prefixes that contain it.
func proxies(projects []Isolated) map[netip.Prefix]*assignees {
	out := make(map[netip.Prefix]*assignees)
	for i := range projects {
		for _, p := range projects[i].Proxies {
			if out[p.Prefix] == nil {
				out[p.Prefix] = new(assignees)
			}
			out[p.Prefix].add(i, p.Shared)
		}
	}
	known := new(bart.Lite)
	for _, p := range slices.SortedFunc(maps.Keys(out), byLength) {
		if around, ok := known.LookupPrefixLPM(p); ok {
			for _, i := range out[around].projects {
				out[p].add(i, out[around].shared)
			}
		}
		known.Insert(p)
	}
	return out
}

// byLength orders prefixes, the short ones first.
func byLength(a, b netip.Prefix) int {
	return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
}

// order sets the places.
func (x *isolation) order(at map[netip.Prefix][]*assignees) {
	known := new(bart.Table[int])
	for p, of := range at {
		x.places = append(x.places, place{prefix: p, of: of})
	}
	slices.SortFunc(x.places, func(a, b place) int { return byLength(a.prefix, b.prefix) })
	for i := range x.places {
		p := &x.places[i]
		p.within = none
		if j, ok := known.LookupPrefix(p.prefix); ok {
			p.within = j
		}
		known.Insert(p.prefix, i)
	}
}

// number gives hosts with the same permissions one number. The number follows from the names of the
// projects, so that it remains when projects come and go.
func (x *isolation) number(projects []Isolated, found map[string]*assignees) {
	classes := make(map[string]*senders)
	for host, o := range found {
		var names []string
		for _, i := range o.projects {
			names = append(names, projects[i].Name)
		}
		key := strings.Join(names, " ")
		if o.shared {
			key += " shared"
		}
		if classes[key] == nil {
			classes[key] = &senders{of: *o}
		}
		x.hosts[host] = classes[key]
	}
	used := map[uint32]bool{0: true}
	for _, key := range slices.Sorted(maps.Keys(classes)) {
		h := fnv.New32a()
		h.Write([]byte(key))
		id := h.Sum32()
		for used[id] {
			id++
		}
		used[id], classes[key].id = true, id
	}
}

// of returns the set of senders that contains a host.
func (x *isolation) of(host string) *senders {
	if s := x.hosts[host]; s != nil {
		return s
	}
	return new(senders)
}

// entries returns where some hosts may send to.
func (x *isolation) entries(s *senders) (out []entry.Entity) {
	add := func(p netip.Prefix, open bool) {
		action := p4.ActionAllowDestination
		if !open {
			action = p4.ActionDropIsolated
		}
		out = append(out, entry.In(p4.TableIsolation, entry.Do(action),
			entry.Exact("project", entry.Uint(uint64(s.id))), entry.LPM("dst_addr", p)))
	}
	anywhere := !s.of.exclusive()
	verdicts := make([]bool, len(x.places))
	for i := range x.places {
		p := &x.places[i]
		before := anywhere
		if p.within != none {
			before = verdicts[p.within]
		}
		if verdicts[i] = p.open(&s.of); verdicts[i] != before {
			add(p.prefix, verdicts[i])
		}
	}
	if s.id != 0 {
		add(everywhere, anywhere)
	}
	return out
}

// isolation emits where the hosts of the switch may send to, once for all that may send to the
// same.
func (b *baseWork) isolation() {
	if b.n.isolation == nil {
		return
	}
	seen := make(map[uint32]bool)
	for _, h := range b.n.hostsOf[b.sw.Name] {
		if s := b.n.isolation.of(h.Name); !seen[s.id] {
			seen[s.id] = true
			b.add(b.n.isolation.entries(s)...)
		}
	}
}

// allowSource is what the source guard does with a packet of a host.
func (b *baseWork) allowSource(host string) entry.Action {
	if x := b.n.isolation; x != nil {
		if s := x.of(host); s.id != 0 {
			return entry.Do(p4.ActionAllowSourceOf, entry.With("of", entry.Uint(uint64(s.id))))
		}
	}
	return entry.Do(p4.ActionAllowSource)
}

// deliveries emits which destinations a port to hosts has, where uSIDs lead there.
func (b *baseWork) deliveries(p uint32) {
	if b.n.isolation == nil {
		return
	}
	prefixes, _ := b.n.Attached(b.sw.Name, p)
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	for _, dst := range slices.Compact(prefixes) {
		b.add(entry.In(p4.TableDelivery, entry.Do(p4.ActionDeliver), entry.Exact("port", port(p)),
			entry.LPM("dst_addr", dst)))
	}
	b.add(entry.In(p4.TableDelivery, entry.Do(p4.ActionDropDelivery), entry.Exact("port", port(p)),
		entry.LPM("dst_addr", everywhere)))
}
