package mrc

import (
	"context"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

// ccHandle implements kind.Handle.
type ccHandle struct {
	kind.Base[api.CCProfileSpec, api.CCProfile]
	*desk
}

// List implements kind.Handle.
func (h ccHandle) List(ctx context.Context, q kind.Query) (p kind.Page[api.CCProfile], err error) {
	err = h.by.Read(ctx, func() {
		all := resource.Views(h.wanted.cc, ccProfile)
		p = kind.Select(all, q, func(x *api.CCProfile) string { return x.Name }, nil)
	})
	return p, err
}

// Get implements kind.Handle.
func (h ccHandle) Get(ctx context.Context, name string) (p api.CCProfile, err error) {
	err = h.ask(ctx, func() (err error) {
		p, err = resource.View(h.wanted.cc, name, ccProfile)
		return err
	})
	return p, err
}

// Put implements kind.Handle.
func (h ccHandle) Put(
	ctx context.Context, name string, spec api.CCProfileSpec, pre resource.Precondition,
) (p api.CCProfile, created bool, err error) {
	intent := func() (uint64, any) { return intentOf(h.wanted.cc, name) }
	err = h.by.Change(ctx, pre, intent, func() (err error) {
		p, created, err = h.wanted.putCC(name, spec, pre)
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
func (h evHandle) List(ctx context.Context, q kind.Query) (p kind.Page[api.EVProfile], err error) {
	var all []ProfileState
	err = h.ask(ctx, func() error {
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
	return p, err
}

// Get implements kind.Handle.
func (h evHandle) Get(ctx context.Context, name string) (p api.EVProfile, err error) {
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

// Put implements kind.Handle. A spec with which the profile could not be built, of the fabric as it
// is when nothing is lost, is refused. What is wanted outlives the pair of leaves: it is there
// again when they are.
func (h evHandle) Put(
	ctx context.Context, name string, spec api.EVProfileSpec, pre resource.Precondition,
) (p api.EVProfile, created bool, err error) {
	var s ProfileState
	intent := func() (uint64, any) { return intentOf(h.wanted.profiles, name) }
	err = h.by.Change(ctx, pre, intent, func() (err error) {
		p, err = h.wanted.putProfile(name, spec, pre)
		s, _ = h.core.Profile(name)
		return h.early(err)
	})
	if err != nil {
		return api.EVProfile{}, false, err
	}
	if pre.Trial == nil { // the core has the change by now
		_ = h.by.Read(ctx, func() { s, _ = h.core.Profile(name) })
	}
	return wholeProfile(p, &s), false, nil
}

// Delete implements kind.Handle: the profile is what the configuration has it be. Doing so twice is
// no error.
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
	return kind.Base[api.EVProfileSpec, api.EVProfile]{}.Ask(ctx, name, question, pre)
}
