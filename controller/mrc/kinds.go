package mrc

import (
	"strconv"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/topology"
)

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
	Deleted: "Refused while an EV profile names it.",
})

// EVProfileKind is the kind of EV profiles.
var EVProfileKind = kind.New[api.EVProfileSpec, api.EVProfile](kind.About{
	Names: kind.Names{One: "ev-profile", Noun: "EV profile"}, Prefix: RecordPrefix + "ev-profiles/",
	Heading: kind.HeadingFabric, Reads: access.Read, Writes: access.Configure, Needs: needs,
	Verbs: kind.List | kind.Get | kind.Put | kind.Delete, Filter: api.EVProfileFilter{},
	Example: map[string]any{"minActive": 16},
	Listed:  "One for each pair of leaves with hosts; without the EVs.",
	Deleted: "The profile is as the configuration says again: it goes only with the hosts " +
		"of its leaves.",
})

// HostKind is the kind of hosts.
var HostKind = kind.NewView[api.Host](kind.About{
	Names:   kind.Names{One: "host", Noun: "host of the fabric", Nouns: "hosts of the fabric"},
	Heading: kind.HeadingFabric, Reads: access.Read, Verbs: kind.List | kind.Get,
	Needs: needs, Plain: true,
	Listed: "Without an MRC fabric: those of the inventory.",
})

// drainable returns the About of a kind that can be drained; address has the parameters of its
// path.
func drainable(n kind.Names, verbs kind.Verbs, at string, address any, listed string) kind.About {
	return kind.About{
		Names: n, Verbs: verbs, At: at, Address: address,
		Heading: kind.HeadingFabric, Reads: access.Read, Writes: access.Operate,
		Refusals: []int{503}, Needs: needs, Plain: true,
		Listed: listed, Written: drainNote, Patched: drainNote,
	}
}

// HostPortKind is the kind of ports of hosts. The name of a port is the name of the host, a slash
// and the port number.
var HostPortKind = kind.NewDrainable[api.HostPort](drainable(
	kind.Names{One: "host-port", Noun: "port of a host", Nouns: "ports of hosts"},
	kind.Get|kind.Put, "/v1/hosts/{name}/ports/{port}", struct {
		Name string `path:"name" maxLength:"253" doc:"Name of the host."`
		Port uint8  `path:"port" minimum:"1" maximum:"31" doc:"Port of the host, from 1."`
	}{}, "",
), nil)

// LinkKind is the kind of links, each direction by itself.
var LinkKind = kind.NewDrainable(filtered(api.LinkFilter{}, drainable(
	kind.Names{One: "link", Noun: "link", Nouns: "links of the fabric"},
	kind.List|kind.Get|kind.Put, "/v1/links/{id}", struct {
		ID string `path:"id" maxLength:"512" doc:"Id of the link, as in the topology."`
	}{},
	"One direction each, of those that paths cross. Without an MRC fabric: those of the topology.",
)), func(l *api.Link) string { return string(l.ID) })

// NodeKind is the kind of fabric switches, shown as topology nodes.
var NodeKind = kind.NewDrainable(drainable(
	kind.Names{One: "node", Noun: "node", Nouns: "switches of the fabric"},
	kind.List|kind.Get|kind.Put, "/v1/nodes/{id}", struct {
		ID string `path:"id" maxLength:"253" doc:"Id of the node, as in the topology."`
	}{}, "Without an MRC fabric: the nodes of the topology.",
), func(n *api.Node) string { return string(n.ID) })

// PlaneKind is the kind of planes, whose names are their numbers.
var PlaneKind = kind.NewDrainable(always(drainable(
	kind.Names{One: "plane", Noun: "plane", Nouns: "planes of the fabric"},
	kind.List|kind.Get|kind.Put, "/v1/planes/{plane}", struct {
		Plane int `path:"plane" minimum:"1" doc:"Number of the plane, from 1."`
	}{}, "",
)), func(p *api.Plane) string { return strconv.Itoa(p.Plane) })

func filtered(filter any, a kind.About) kind.About {
	a.Filter = filter
	return a
}

// always returns the About of a kind whose lists have no pages, and which is empty without an MRC
// fabric.
func always(a kind.About) kind.About {
	a.Whole, a.Plain = true, false
	return a
}

// SuspectKind is the kind of links that lose packets. They have no names.
var SuspectKind = kind.NewNamed[api.Suspect](kind.About{
	Names:   kind.Names{One: "suspect", Noun: "suspect", Nouns: "links that lose packets"},
	Heading: kind.HeadingFabric, Reads: access.Read, Verbs: kind.List, Whole: true, Needs: needs,
	Listed: "From what hosts report of EVs, from probes and from the switches' counters. " +
		"The surest first, and after them those that are denied for it.",
}, nil)

// EVProbeKind is the kind of what probes of an EV have shown.
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
		kind.Bind(CCKind, ccHandle{desk: d}),
		kind.Bind(EVProfileKind, evHandle{desk: d}),
		kind.Bind(HostKind, views[struct{}, api.Host]{
			desk: d, page: d.hosts, find: d.host, fill: d.fillHost,
		}),
		kind.Bind(HostPortKind, drainables[api.HostPort]{
			views[api.AdminSpec, api.HostPort]{desk: d, find: d.hostPort}, portTarget,
		}),
		kind.Bind(LinkKind, drainables[api.Link]{
			views[api.AdminSpec, api.Link]{
				desk: d, page: d.links, find: d.link, fill: d.wanted.link,
			},
			func(id string) Target { return Target{Link: topology.LinkID(id)} },
		}),
		kind.Bind(NodeKind, drainables[api.Node]{
			views[api.AdminSpec, api.Node]{
				desk: d, page: d.nodes, find: d.node, fill: d.wanted.node,
			},
			func(id string) Target { return Target{Node: topology.NodeID(id)} },
		}),
		kind.Bind(PlaneKind, drainables[api.Plane]{
			views[api.AdminSpec, api.Plane]{
				desk: d, page: d.planes, find: d.plane, fill: d.wanted.plane,
			},
			func(n string) Target { return Target{Plane: planeOf(n)} },
		}),
		kind.Bind(SuspectKind, views[struct{}, api.Suspect]{desk: d,
			page: func(kind.Query) ([]api.Suspect, bool) { return d.core.Suspects(), false }}),
		kind.Bind(EVProbeKind, views[struct{}, api.EVProbe]{desk: d, page: d.probes}),
	}
}
