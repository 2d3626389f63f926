package mrc

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Serializer runs a core: it has clients read and change it, one at a time.
type Serializer interface {
	// Read has f read the core, and returns when a client may be given what f has read.
	Read(ctx context.Context, f func()) error
	// Change has f change the core, and returns when the change is kept. intent returns the version
	// and the spec of what f changes. With a trial in the precondition f changes nothing.
	Change(
		ctx context.Context, pre resource.Precondition, intent func() (uint64, any), f func() error,
	) error
	// Stream returns what is known of the stream to a host; ok is false when nothing is.
	Stream(host string) (s Stream, ok bool)
}

// Stream is the state of the stream to a host; StreamCounts counts the outcomes of all streams.
type (
	Stream       = hosts.Status
	StreamCounts = hosts.Counters
)

// Offer returns the kinds of resources of a core that a caller runs without a store. now returns
// the time of changes.
func Offer(core *Core, now func() time.Time, by Serializer) ([]*kind.Kind, error) {
	w, err := newWanted(core, now, nil)
	if err != nil {
		return nil, err
	}
	return (&desk{core, w, keeper{by, w}}).kinds(), nil
}

// Desk lets clients read and change a core, and keeps their requests. Its owner calls its methods,
// as a ledger does.
type Desk struct {
	*wanted
	kinds []*kind.Kind
}

// NewDesk returns the desk of a core without a topology, and applies the requests in records with
// the prefix RecordPrefix. now returns the time of changes.
func NewDesk(
	core *Core, now func() time.Time, records []store.Record, by Serializer,
) (*Desk, error) {
	w, err := newWanted(core, now, records)
	if err != nil {
		return nil, err
	}
	return &Desk{w, (&desk{core, w, by}).kinds()}, nil
}

// Kinds returns the kinds of resources of the core.
func (d *Desk) Kinds() []*kind.Kind { return d.kinds }

// Versions returns the versions of resources.
func (d *Desk) Versions() *resource.Versions { return d.versions }

// Busy reports whether a change is not kept yet: no other may be made.
func (d *Desk) Busy() bool { return d.busy() }

// keeper is an owner without a store: what changes is kept at once.
type keeper struct {
	Serializer
	wanted *wanted
}

// Change implements [Serializer].
func (k keeper) Change(
	ctx context.Context, pre resource.Precondition, intent func() (uint64, any), f func() error,
) error {
	return k.Serializer.Change(ctx, pre, intent, func() error {
		err := f()
		k.wanted.saves(1)
		k.wanted.Kept(1)
		return err
	})
}

// desk serves the clients of a core. Errors for clients are *api.Error.
type desk struct {
	core   *Core
	wanted *wanted
	by     Serializer
}

// ask has the core answer a client with what may be an error.
func (d *desk) ask(ctx context.Context, f func() error) error {
	var err error
	if stopped := d.by.Read(ctx, func() { err = f() }); stopped != nil {
		return stopped
	}
	return err
}

// early turns a not-found error into a temporary error while the topology is not complete yet.
func (d *desk) early(err error) error {
	var refused *api.Error
	if d.core.state.Synced() || !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case api.CodeNotFound, api.CodeNotPlannable, api.CodeUnreachable, api.CodeUnavailable:
		return &api.Error{Code: api.CodeSettling,
			Message: "the topology is not known whole yet. As far as it is known: " + err.Error()}
	}
	return err
}

// names returns the valid values for a field of a filter: the names of a kind; for nodes, displayed
// names and ids.
func (d *desk) names(of string) (out []string) {
	switch of {
	case "nodes":
		nodes, _ := d.core.NodePage(Page{})
		var ids []string
		for i := range nodes {
			n := &nodes[i]
			if n.Status.Name != "" && n.Status.Name != string(n.ID) {
				out = append(out, n.Status.Name)
			}
			ids = append(ids, string(n.ID))
		}
		return append(out, ids...)
	case "hosts":
		for _, h := range d.core.Hosts() {
			out = append(out, h.Name)
		}
	case "ev-profiles":
		for _, p := range d.core.profiles.all {
			out = append(out, p.name)
		}
	case "planes":
		for _, p := range d.core.Planes() {
			out = append(out, strconv.Itoa(p.Plane))
		}
	}
	return out
}

// views implements kind.Handle for the read-only kinds of a core. Members of projects read none of
// these kinds: no query has Keep.
type views[V any] struct {
	kind.Base
	*desk
	// page returns the views that a query selects, and find that of a name. The owner of the core
	// calls them. nil: the kind has no such operation.
	page func(q kind.Query) (items []V, more bool)
	find func(name string) (V, error)
	// fill adds to a view what the core does not know; nil: nothing.
	fill func(*V)
}

// List implements kind.Handle.
func (h views[V]) List(ctx context.Context, q kind.Query) (kind.Page[any], error) {
	if h.page == nil {
		return h.Base.List(ctx, q)
	}
	var p kind.Page[V]
	err := h.ask(ctx, func() error {
		p.Items, p.More = h.page(q)
		for i := range p.Items {
			if h.fill != nil {
				h.fill(&p.Items[i])
			}
		}
		return kind.Known(q, len(p.Items), h.names)
	})
	return kind.Any(p), err
}

// Get implements kind.Handle.
func (h views[V]) Get(ctx context.Context, name string) (any, error) {
	if h.find == nil {
		return h.Base.Get(ctx, name)
	}
	return h.get(ctx, name)
}

func (h views[V]) get(ctx context.Context, name string) (v V, err error) {
	err = h.ask(ctx, func() (err error) {
		if v, err = h.find(name); err == nil && h.fill != nil {
			h.fill(&v)
		}
		return h.early(err)
	})
	return v, err
}

// drainables implements kind.Handle for what can be drained.
type drainables[V any] struct {
	views[V]
	target func(name string) Target
}

// Put implements kind.Handle. The view is read when hosts were told what follows.
func (h drainables[V]) Put(
	ctx context.Context, name string, request any, pre resource.Precondition,
) (view any, created bool, err error) {
	t, spec := h.target(name), request.(api.AdminSpec)
	err = h.by.Change(ctx, pre, func() (uint64, any) {
		return intentOf(h.wanted.admins, h.core.canonical(t).String())
	}, func() error { return h.early(h.wanted.setAdmin(t, spec, pre)) })
	var v V
	if err == nil {
		v, err = h.get(ctx, name)
	}
	if pre.Trial != nil {
		*intended(&v) = spec
	}
	return v, false, err
}

// intended returns the spec of a view of what can be drained.
func intended(view any) *api.AdminSpec {
	switch v := view.(type) {
	case *api.Link:
		return &v.Spec
	case *api.Node:
		return &v.Spec
	case *api.Plane:
		return &v.Spec
	}
	return &view.(*api.HostPort).Spec
}

func pageOf(q kind.Query) Page { return Page{After: q.After, Limit: q.Limit} }

func (d *desk) hosts(q kind.Query) ([]api.Host, bool) { return d.core.HostPage(pageOf(q)) }

func (d *desk) host(name string) (api.Host, error) {
	h, ok := d.core.Host(name)
	if !ok {
		return h, notFound("there is no MRC host %q", name)
	}
	return h, nil
}

// fillHost adds the port settings that clients requested for a host, and the state of its stream.
func (d *desk) fillHost(v *api.Host) {
	d.wanted.host(v)
	if known, ok := d.by.Stream(v.Name); ok {
		SetStream(v, &known)
	}
}

// portTarget returns the port of a host that a name names.
func portTarget(name string) Target {
	i := strings.LastIndexByte(name, '/')
	port, err := strconv.ParseUint(name[i+1:], 10, 8)
	if i < 0 || err != nil {
		return Target{Host: name}
	}
	return Target{Host: name[:i], Port: uint8(port)}
}

func (d *desk) hostPort(name string) (api.HostPort, error) {
	t := portTarget(name)
	h, err := d.host(t.Host)
	if err != nil {
		return api.HostPort{}, err
	}
	d.fillHost(&h)
	i := slices.IndexFunc(h.Ports, func(p api.HostPort) bool { return p.Port == t.Port })
	if i < 0 {
		return api.HostPort{}, notFound("host %q has no port %d", t.Host, t.Port)
	}
	return h.Ports[i], nil
}

func (d *desk) links(q kind.Query) ([]api.Link, bool) {
	f, _ := q.Filter.(api.LinkFilter)
	return d.core.LinkPage(f, pageOf(q))
}

func (d *desk) link(id string) (api.Link, error) {
	l, ok := d.core.Link(topology.LinkID(id))
	if !ok {
		return l, notFound("there is no link %q that paths cross", id)
	}
	return l, nil
}

func (d *desk) nodes(q kind.Query) ([]api.Node, bool) { return d.core.NodePage(pageOf(q)) }

func (d *desk) node(id string) (api.Node, error) {
	n, ok := d.core.Node(topology.NodeID(id))
	if !ok {
		return n, notFound("there is no switch %q in the fabric", id)
	}
	return n, nil
}

// planeOf returns the number of a plane; -1: the name is none.
func planeOf(name string) int {
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		return n
	}
	return -1
}

func (d *desk) planes(kind.Query) ([]api.Plane, bool) { return d.core.Planes(), false }

func (d *desk) plane(name string) (api.Plane, error) {
	all := d.core.Planes()
	if n := planeOf(name); n > 0 && n <= len(all) {
		return all[n-1], nil
	}
	return api.Plane{}, notFound("there is no plane %s: the fabric has %d", name, len(all))
}

func (d *desk) probes(q kind.Query) ([]api.EVProbe, bool) {
	f, _ := q.Filter.(api.EVProbeFilter)
	return d.core.ProbePage(f, pageOf(q))
}

// intentOf returns the version and spec of a resource; 0 and nil: no client has written it.
func intentOf[S, D any](all resource.Collection[S, D], name string) (version uint64, spec any) {
	if i := all.Get(name); i != nil {
		return i.Version, i.Spec
	}
	return 0, nil
}

// ccHandle implements kind.Handle.
type ccHandle struct {
	kind.Base
	*desk
}

// List implements kind.Handle.
func (h ccHandle) List(ctx context.Context, q kind.Query) (p kind.Page[any], err error) {
	err = h.by.Read(ctx, func() {
		all := resource.Views(h.wanted.cc, ccProfile)
		p = kind.Any(kind.Select(all, q, func(x *api.CCProfile) string { return x.Name }, nil))
	})
	return p, err
}

// Get implements kind.Handle.
func (h ccHandle) Get(ctx context.Context, name string) (p any, err error) {
	err = h.ask(ctx, func() (err error) {
		p, err = resource.View(h.wanted.cc, name, ccProfile)
		return err
	})
	return p, err
}

// Put implements kind.Handle.
func (h ccHandle) Put(
	ctx context.Context, name string, spec any, pre resource.Precondition,
) (p any, created bool, err error) {
	intent := func() (uint64, any) { return intentOf(h.wanted.cc, name) }
	err = h.by.Change(ctx, pre, intent, func() (err error) {
		p, created, err = h.wanted.putCC(name, spec.(api.CCProfileSpec), pre)
		return err
	})
	return p, created, err
}

// Delete implements kind.Handle.
func (h ccHandle) Delete(ctx context.Context, name string, pre resource.Precondition) error {
	return h.by.Change(ctx, pre, func() (uint64, any) { return intentOf(h.wanted.cc, name) },
		func() error { return h.wanted.deleteCC(name, pre) })
}

// evHandle implements kind.Handle. Views are made without the core, which does not wait for them.
type evHandle struct{ *desk }

// List implements kind.Handle. The views have no EVs.
func (h evHandle) List(ctx context.Context, q kind.Query) (kind.Page[any], error) {
	var p kind.Page[api.EVProfile]
	var all []ProfileState
	err := h.ask(ctx, func() error {
		f, _ := q.Filter.(api.EVProfileFilter)
		all, p.More = h.core.ProfilePage(f, pageOf(q))
		for i := range all {
			p.Items = append(p.Items, h.wanted.profile(all[i].Name))
		}
		return kind.Known(q, len(all), h.names)
	})
	for i := range p.Items {
		p.Items[i].Status = all[i].View()
	}
	return kind.Any(p), err
}

// Get implements kind.Handle.
func (h evHandle) Get(ctx context.Context, name string) (any, error) {
	var p api.EVProfile
	s, err := h.state(ctx, name, func() { p = h.wanted.profile(name) })
	if err != nil {
		return p, err
	}
	return wholeProfile(p, &s), nil
}

// state returns the state of a profile, and calls and at the same time.
func (h evHandle) state(
	ctx context.Context, name string, and func(),
) (s ProfileState, err error) {
	err = h.ask(ctx, func() (err error) {
		var ok bool
		if s, ok = h.core.Profile(name); !ok {
			return h.early(notFound("there is no EV profile %q", name))
		}
		and()
		return nil
	})
	return s, err
}

// wholeProfile is a profile with its EVs.
func wholeProfile(p api.EVProfile, s *ProfileState) api.EVProfile {
	p.Status = s.View()
	p.Status.EVs = slices.Collect(s.EVs())
	return p
}

// Put implements kind.Handle. It refuses a spec for which the profile cannot be built on the fabric
// without losses. The request outlives the pair of leaves: it applies again when the leaves return.
func (h evHandle) Put(
	ctx context.Context, name string, spec any, pre resource.Precondition,
) (view any, created bool, err error) {
	var p api.EVProfile
	var s ProfileState
	intent := func() (uint64, any) { return intentOf(h.wanted.profiles, name) }
	err = h.by.Change(ctx, pre, intent, func() (err error) {
		p, err = h.wanted.putProfile(name, spec.(api.EVProfileSpec), pre)
		s, _ = h.core.Profile(name)
		return h.early(err)
	})
	if err != nil {
		return nil, false, err
	}
	if pre.Trial == nil { // the core has the change by now
		_ = h.by.Read(ctx, func() { s, _ = h.core.Profile(name) })
	}
	return wholeProfile(p, &s), false, nil
}

// Delete implements kind.Handle: the profile follows the configuration again. A second Delete is no
// error.
func (h evHandle) Delete(ctx context.Context, name string, pre resource.Precondition) error {
	return h.by.Change(ctx, pre, func() (uint64, any) { return intentOf(h.wanted.profiles, name) },
		func() error { return h.early(h.wanted.deleteProfile(name, pre)) })
}

// Ask implements kind.Handle.
func (h evHandle) Ask(
	ctx context.Context, name string, question any, pre resource.Precondition,
) (any, error) {
	s, err := h.state(ctx, name, func() {})
	if err != nil {
		return nil, err
	}
	switch q := question.(type) {
	case api.ReadEVs:
		return s.EVPage(q), nil
	case api.ReadEVPath:
		return s.Path(q.EV)
	}
	return kind.Base{}.Ask(ctx, name, question, pre)
}

// needs is the refusal of a controller without an MRC fabric.
const needs = "the controller has no MRC fabric: its configuration has no mrc section with a mode"

// drainNote documents the writes of resources that can be drained.
const drainNote = "drained: hosts stop using it, and nothing is lost on the way; refused (409) " +
	"when it is the last path between two ends. up: it is used again once it is up and a probe " +
	"has come through."

// CCKind is the kind of CC profiles.
var CCKind = kind.New[api.CCProfileSpec, api.CCProfile](kind.About{
	Names:  kind.Names{One: "cc-profile", Noun: "CC profile"},
	Prefix: RecordPrefix + "cc-profiles/", Creates: true,
	Heading: kind.HeadingFabric, Reads: access.Read, Writes: access.Configure, Needs: needs,
	Example: map[string]any{"nscc": map[string]any{"targetDelay": "9us"}},
	Created: "All hosts hold all CC profiles; an EV profile, or the configuration for all " +
		"of them, says which is used.",
	Deleted: "Refused while an EV profile names the CC profile.",
})

// EVProfileKind is the kind of EV profiles.
var EVProfileKind = kind.New[api.EVProfileSpec, api.EVProfile](kind.About{
	Names: kind.Names{One: "ev-profile", Noun: "EV profile"}, Prefix: RecordPrefix + "ev-profiles/",
	Heading: kind.HeadingFabric, Reads: access.Read, Writes: access.Configure, Needs: needs,
	Verbs: kind.List | kind.Get | kind.Put | kind.Delete, Filter: api.EVProfileFilter{},
	Example: map[string]any{"minActive": 16},
	Listed:  "One for each pair of leaves with hosts; without the EVs.",
	Deleted: "The configuration applies to the profile again, which goes only with the hosts of its " +
		"leaves.",
	Help:   "EV profiles, one for each pair of leaves with hosts",
	Events: []string{"ev-profile"},
})

// HostKind is the kind of hosts.
var HostKind = kind.NewView[api.Host](kind.About{
	Names:   kind.Names{One: "host", Noun: "host of the fabric", Nouns: "hosts of the fabric"},
	Heading: kind.HeadingFabric, Reads: access.Read, Verbs: kind.List | kind.Get,
	Needs: needs, Plain: true,
	Listed: "Without an MRC fabric: those of the inventory.",
	Help:   "hosts of the MRC fabric, or of the inventory", Events: []string{"host"},
})

// drainable completes the description of a kind that clients can drain.
func drainable(a kind.About) kind.About {
	a.Heading, a.Reads, a.Writes = kind.HeadingFabric, access.Read, access.Operate
	a.Refusals, a.Needs, a.Plain = []int{503}, needs, !a.Whole
	a.Written, a.Patched = drainNote, drainNote
	return a
}

// HostPortKind is the kind of ports of hosts. The name of a port is the name of the host, a slash
// and the port number.
var HostPortKind = kind.NewDrainable[api.HostPort](drainable(kind.About{
	Names: kind.Names{One: "host-port", Noun: "port of a host", Nouns: "ports of hosts"},
	Verbs: kind.Get | kind.Put, At: "/v1/hosts/{name}/ports/{port}", Address: struct {
		Name string `path:"name" maxLength:"253" doc:"Name of the host."`
		Port uint8  `path:"port" minimum:"1" maximum:"31" doc:"Port of the host, from 1."`
	}{},
	Form: "HOST/PORT",
}), nil)

// LinkKind is the kind of links, each direction by itself.
var LinkKind = kind.NewDrainable(drainable(kind.About{
	Names: kind.Names{One: "link", Noun: "link", Nouns: "links of the fabric"},
	Verbs: kind.List | kind.Get | kind.Put, At: "/v1/links/{id}", Address: struct {
		ID string `path:"id" maxLength:"512" doc:"Id of the link, as in the topology."`
	}{},
	Filter: api.LinkFilter{},
	Listed: "One direction each, of those that paths cross. Without an MRC fabric: those of the " +
		"topology.",
	Help: "links of paths, or of the topology, one direction each", Events: []string{"link"},
}), func(l *api.Link) string { return string(l.ID) })

// NodeKind is the kind of fabric switches, shown as topology nodes.
var NodeKind = kind.NewDrainable(drainable(kind.About{
	Names: kind.Names{One: "node", Noun: "node", Nouns: "switches of the fabric"},
	Verbs: kind.List | kind.Get | kind.Put, At: "/v1/nodes/{id}", Address: struct {
		ID string `path:"id" maxLength:"253" doc:"Id of the node, as in the topology."`
	}{},
	Listed: "Without an MRC fabric: the nodes of the topology.",
	Help:   "switches of the MRC fabric, or the nodes of the topology",
}), func(n *api.Node) string { return string(n.ID) })

// PlaneKind describes planes; the name of a plane is its number. The list has no pages, and is
// empty without an MRC fabric.
var PlaneKind = kind.NewDrainable(drainable(kind.About{
	Names: kind.Names{One: "plane", Noun: "plane", Nouns: "planes of the fabric"},
	Verbs: kind.List | kind.Get | kind.Put, At: "/v1/planes/{plane}", Address: struct {
		Plane int `path:"plane" minimum:"1" doc:"Number of the plane, from 1."`
	}{},
	Whole: true, Help: "planes of the MRC fabric",
}), func(p *api.Plane) string { return strconv.Itoa(p.Plane) })

// SuspectKind is the kind of links that lose packets. They have no names.
var SuspectKind = kind.NewNamed[api.Suspect](kind.About{
	Names:   kind.Names{One: "suspect", Noun: "suspect", Nouns: "links that lose packets"},
	Heading: kind.HeadingFabric, Reads: access.Read, Verbs: kind.List, Whole: true, Needs: needs,
	Listed: "From what hosts report of EVs, from probes and from the switches' counters. " +
		"The surest first, and after them those that are denied for it.",
}, nil)

// EVProbeKind describes the results of EV probes.
var EVProbeKind = kind.NewNamed(kind.About{
	Names:   kind.Names{One: "ev-probe", Noun: "EV probe"},
	Heading: kind.HeadingFabric, Reads: access.Read, Verbs: kind.List, Needs: needs,
	Filter: api.EVProbeFilter{},
	Lists:  "List what probes have shown",
	Listed: "A live matrix of source, destination and EV, ordered by profile and EV.",
}, ProbeKey)

// Kinds returns the kinds of resources of an MRC fabric without handles.
func Kinds() []*kind.Kind {
	return []*kind.Kind{
		CCKind, EVProfileKind, HostKind, HostPortKind, LinkKind, NodeKind, PlaneKind, SuspectKind,
		EVProbeKind,
	}
}

// kinds returns the kinds of resources of a core.
func (d *desk) kinds() []*kind.Kind {
	return []*kind.Kind{
		CCKind.With(ccHandle{desk: d}),
		EVProfileKind.With(evHandle{desk: d}),
		HostKind.With(views[api.Host]{
			desk: d, page: d.hosts, find: d.host, fill: d.fillHost,
		}),
		HostPortKind.With(drainables[api.HostPort]{
			views[api.HostPort]{desk: d, find: d.hostPort}, portTarget,
		}),
		LinkKind.With(drainables[api.Link]{
			views[api.Link]{
				desk: d, page: d.links, find: d.link, fill: d.wanted.link,
			},
			func(id string) Target { return Target{Link: topology.LinkID(id)} },
		}),
		NodeKind.With(drainables[api.Node]{
			views[api.Node]{
				desk: d, page: d.nodes, find: d.node, fill: d.wanted.node,
			},
			func(id string) Target { return Target{Node: topology.NodeID(id)} },
		}),
		PlaneKind.With(drainables[api.Plane]{
			views[api.Plane]{
				desk: d, page: d.planes, find: d.plane, fill: d.wanted.plane,
			},
			func(n string) Target { return Target{Plane: planeOf(n)} },
		}),
		SuspectKind.With(views[api.Suspect]{desk: d,
			page: func(kind.Query) ([]api.Suspect, bool) { return d.core.Suspects(), false }}),
		EVProbeKind.With(views[api.EVProbe]{desk: d, page: d.probes}),
	}
}
