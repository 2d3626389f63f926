// Package networks has the networks that clients describe: nodes and links in addition
// to those that BGP-LS reports.
//
// It keeps the resources. The caller that composes the topology takes their nodes and links
// ([Feature.Take]), which come back as a part of Env.Net.
package networks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// sourcePrefix and the name of a network are the name of a source of the topology.
const sourcePrefix = "network "

// decided is what the feature made of a network.
type decided struct{ described *topology.Snapshot }

type network = resource.Item[api.NetworkSpec, decided]

// Feature has the networks of a controller.
type Feature struct {
	feature.Kept[api.NetworkSpec, decided]
	env     *feature.Env
	changed bool // since the last call of Take
}

// New returns the feature without networks.
func New(env *feature.Env) *Feature {
	return &Feature{env: env, Kept: feature.Keep[api.NetworkSpec, decided](env, Kind.Record)}
}

// Start implements feature.Feature.
func (f *Feature) Start() {
	for _, n := range f.All.All() {
		n.Decided.described = n.Spec.Snapshot()
		f.changed = true
	}
}

// Take returns what all networks describe, in the order of their names; ok is false when
// nothing has changed since the last call.
func (f *Feature) Take() (sources []topology.Source, ok bool) {
	if !f.changed {
		return nil, false
	}
	f.changed = false
	for _, n := range f.All.All() {
		sources = append(sources, topology.Source{Name: sourcePrefix + n.Name,
			Snapshot: n.Decided.described})
	}
	return sources, true
}

// Networks returns the networks.
func (f *Feature) Networks() resource.Resources[api.NetworkSpec, api.Network] {
	return resource.Written[api.NetworkSpec, decided, api.Network]{All: f.All, Env: f.env,
		Decide: f.decide, View: f.view, Gone: f.gone, Changed: func() { f.changed = true }}
}

func (f *Feature) decide(old, n *network, _ resource.Precondition) error {
	if err := api.ValidateNetwork(&n.Spec); err != nil {
		return err
	}
	if old != nil && old.Spec.Equal(&n.Spec) {
		return resource.ErrUnchanged
	}
	n.Decided.described = n.Spec.Snapshot()
	f.env.Event(api.EventNetworkChanged, n.Name, fmt.Sprintf("%d nodes, %d links described",
		len(n.Spec.Nodes), len(n.Spec.Links)), nil)
	return nil
}

func (f *Feature) gone(n *network, _ resource.Precondition) error {
	f.env.Event(api.EventNetworkChanged, n.Name, "deleted", nil)
	return nil
}

// view returns a network with its status: what of it the topology has.
func (f *Feature) view(n *network) api.Network {
	v := api.Network{Name: n.Name, Version: n.Version, Created: n.Created, Spec: n.Spec}
	v.Status.Links = len(n.Decided.described.Links)
	elsewhere := make(map[string]bool)
	for _, l := range n.Decided.described.Links {
		known := f.env.Net.Snapshot.Link(l.ID)
		if known != nil && len(known.Sources) > 0 && known.Sources[0] == sourcePrefix+n.Name {
			v.Status.InForce++
			continue
		}
		elsewhere[n.Decided.described.Node(l.Local).DisplayName()] = true
	}
	c := &v.Status.Conditions
	c.Set(api.Accepted, true, "Accepted", "", n.Changed)
	if len(elsewhere) == 0 {
		c.Set(api.Degraded, false, "AsDescribed", "", n.Changed)
		return v
	}
	names := make([]string, 0, len(elsewhere))
	for name := range elsewhere {
		names = append(names, name)
	}
	slices.Sort(names)
	c.Set(api.Degraded, true, "KnownElsewhere",
		"another source of the topology decides which links there are from "+strings.Join(names, ", "),
		n.Changed)
	return v
}
