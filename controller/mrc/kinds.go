package mrc

import (
	"context"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

// needs is the refusal of a controller without an MRC fabric.
const needs = "the controller has no MRC fabric: its configuration has no mrc section with a mode"

// CCKind is the kind of CC profiles.
var CCKind = kind.New[api.CCProfileSpec, api.CCProfile](kind.About{
	Names:  kind.Names{One: "cc-profile", Noun: "CC profile"},
	Prefix: recordPrefix + "cc-profiles/", Creates: true,
	Heading: kind.HeadingFabric, Reads: access.Read, Writes: access.Configure, Needs: needs,
	Example: map[string]any{"nscc": map[string]any{"targetDelay": "9us"}},
	Created: "All hosts hold all CC profiles; an EV profile, or the configuration for all " +
		"of them, says which is used.",
	Deleted: "Refused while an EV profile names it.",
})

// EVProfileKind is the kind of EV profiles.
var EVProfileKind = kind.New[api.EVProfileSpec, api.EVProfile](kind.About{
	Names: kind.Names{One: "ev-profile", Noun: "EV profile"}, Prefix: recordPrefix + "ev-profiles/",
	Heading: kind.HeadingFabric, Reads: access.Read, Writes: access.Configure, Needs: needs,
	Example: map[string]any{"minActive": 16},
	Deleted: "The profile is as the configuration says again: it goes only with the hosts " +
		"of its leaves.",
})

// Kinds returns the kinds of resources of an MRC fabric without handles.
func Kinds() []*kind.Kind { return []*kind.Kind{CCKind} }

// Kinds returns the kinds of resources of the fabric.
func (r *Runner) Kinds() []*kind.Kind {
	return []*kind.Kind{kind.Bind(CCKind, ccHandle{r: r})}
}

// CCProfiles returns the CC profiles.
func (r *Runner) CCProfiles() kind.Handle[api.CCProfileSpec, api.CCProfile] {
	return kind.Of[api.CCProfileSpec, api.CCProfile](r.Kinds())
}

// ccHandle implements kind.Handle.
type ccHandle struct {
	kind.Base[api.CCProfileSpec, api.CCProfile]
	r *Runner
}

func (c ccHandle) List(ctx context.Context, q kind.Query) (p kind.Page[api.CCProfile], err error) {
	var all []api.CCProfile
	if err := c.r.read(ctx, func() { all = resource.Views(c.r.wanted.cc, ccProfile) }); err != nil {
		return p, err
	}
	return kind.Select(all, q, func(x *api.CCProfile) string { return x.Name }, nil), nil
}

func (c ccHandle) Get(ctx context.Context, name string) (out api.CCProfile, err error) {
	err = c.r.ask(ctx, func() (err error) {
		out, err = resource.View(c.r.wanted.cc, name, ccProfile)
		return err
	})
	return out, err
}

func (c ccHandle) Put(
	ctx context.Context, name string, spec api.CCProfileSpec, pre resource.Precondition,
) (out api.CCProfile, created bool, err error) {
	intent := func() (uint64, any) { return intentOf(c.r.wanted.cc, name) }
	err = c.r.change(ctx, pre, intent, func() (err error) {
		out, created, err = c.r.wanted.putCC(name, spec, pre)
		return err
	})
	return out, created, err
}

func (c ccHandle) Delete(ctx context.Context, name string, pre resource.Precondition) error {
	return c.r.change(ctx, pre, func() (uint64, any) { return intentOf(c.r.wanted.cc, name) },
		func() error { return c.r.wanted.deleteCC(name, pre) })
}
