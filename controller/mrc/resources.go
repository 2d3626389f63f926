package mrc

import (
	"context"
	"errors"
	"time"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// The methods below are what the API needs. Errors that are a client's to know
// are *api.Error.

// read has the core answer a client, and returns when the answer may be given.
func (r *Runner) read(ctx context.Context, f func()) error { return r.ledger.Read(ctx, f) }

// ask is read with an answer that may be an error.
func (r *Runner) ask(ctx context.Context, f func() error) error {
	var err error
	if stopped := r.read(ctx, func() { err = f() }); stopped != nil {
		return stopped
	}
	return err
}

// early makes the error of what is not there one for the time being, while what there is follows from
// a topology that is not known whole yet.
func (r *Runner) early(err error) error {
	var refused *api.Error
	if r.core.synced || !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case api.CodeNotFound, api.CodeNotPlannable, api.CodeUnreachable, api.CodeUnavailable:
		return &api.Error{Code: api.CodeSettling, Message: "the topology is not known whole yet. As far as it is known: " + err.Error()}
	}
	return err
}

// change has a client's change made, and waits until it is kept with its record in the audit log, for
// which intent has the version and the spec. Errors are those of ledger.Ledger.Change.
func (r *Runner) change(ctx context.Context, pre resource.Precondition, intent func() (uint64, any), f func() error) error {
	if pre.Trial != nil {
		return r.ask(ctx, f)
	}
	var now uint64
	err := r.ledger.Change(ctx, func() error {
		before, wanted := intent()
		if err := f(); err != nil {
			return err
		}
		var spec any
		if now, spec = intent(); now != before {
			audit.Of(ctx).Change(wanted, spec)
		} else {
			audit.Of(ctx).Unchanged()
		}
		r.audited.Note(ctx)
		return nil
	})
	return ledger.Unknown(err, now)
}

// intentOf returns the version and spec of a resource; 0 and nil: no client has written it.
func intentOf[S, D any](all *resource.Collection[S, D], name string) (version uint64, spec any) {
	if i := all.Get(name); i != nil {
		return i.Version, i.Spec
	}
	return 0, nil
}

// Began is the time that durations in statuses count from.
func (r *Runner) Began() time.Time { return r.start }

// Fabric returns what is known of the fabric as a whole.
func (r *Runner) Fabric(ctx context.Context) (s FabricStatus, err error) {
	err = r.read(ctx, func() { s = r.core.Fabric() })
	if err == nil {
		s.Streams = r.streams.Counters()
	}
	return s, err
}

// EVProfiles returns profiles in the order of their names, and whether there are
// more.
func (r *Runner) EVProfiles(ctx context.Context, f ProfileFilter, p Page) (out []EVProfile, more bool, err error) {
	err = r.read(ctx, func() {
		var all []ProfileStatus
		all, more = r.core.ProfilePage(f, p)
		for i := range all {
			out = append(out, r.wanted.profile(all[i]))
		}
	})
	return out, more, err
}

// EVProfile returns one profile.
func (r *Runner) EVProfile(ctx context.Context, name string) (out EVProfile, err error) {
	err = r.ask(ctx, func() error {
		s, ok := r.core.Profile(name)
		if !ok {
			return r.early(notFound("there is no EV profile %q", name))
		}
		out = r.wanted.profile(s)
		return nil
	})
	return out, err
}

// PutEVProfile replaces what a client wants of a profile.
func (r *Runner) PutEVProfile(ctx context.Context, name string, spec api.EVProfileSpec, pre resource.Precondition) (out EVProfile, err error) {
	err = r.change(ctx, pre, func() (uint64, any) { return intentOf(r.wanted.profiles, name) }, func() (err error) {
		out, err = r.wanted.putProfile(name, spec, pre)
		return r.early(err)
	})
	return out, err
}

// DeleteEVProfile makes a profile what the configuration says.
func (r *Runner) DeleteEVProfile(ctx context.Context, name string, pre resource.Precondition) error {
	return r.change(ctx, pre, func() (uint64, any) { return intentOf(r.wanted.profiles, name) },
		func() error { return r.early(r.wanted.deleteProfile(name, pre)) })
}

// CCProfiles returns all CC profiles by name.
func (r *Runner) CCProfiles(ctx context.Context) (out []api.CCProfile, err error) {
	err = r.read(ctx, func() {
		out = resource.Views(r.wanted.cc, ccProfile)
	})
	return out, err
}

// CCProfile returns one CC profile.
func (r *Runner) CCProfile(ctx context.Context, name string) (out api.CCProfile, err error) {
	err = r.ask(ctx, func() (err error) {
		out, err = resource.View(r.wanted.cc, name, ccProfile)
		return err
	})
	return out, err
}

// PutCCProfile creates a CC profile or replaces its spec.
func (r *Runner) PutCCProfile(ctx context.Context, name string, spec api.CCProfileSpec, pre resource.Precondition) (out api.CCProfile, created bool, err error) {
	err = r.change(ctx, pre, func() (uint64, any) { return intentOf(r.wanted.cc, name) }, func() (err error) {
		out, created, err = r.wanted.putCC(name, spec, pre)
		return err
	})
	return out, created, err
}

// DeleteCCProfile removes a CC profile that no EV profile names.
func (r *Runner) DeleteCCProfile(ctx context.Context, name string, pre resource.Precondition) error {
	return r.change(ctx, pre, func() (uint64, any) { return intentOf(r.wanted.cc, name) },
		func() error { return r.wanted.deleteCC(name, pre) })
}

// Hosts returns hosts in the order of their names, and whether there are more.
func (r *Runner) Hosts(ctx context.Context, p Page) (out []HostResource, more bool, err error) {
	err = r.read(ctx, func() {
		var all []HostStatus
		all, more = r.core.HostPage(p)
		for i := range all {
			out = append(out, r.hostOf(all[i]))
		}
	})
	return out, more, err
}

// Host returns one host.
func (r *Runner) Host(ctx context.Context, name string) (out HostResource, err error) {
	err = r.ask(ctx, func() error {
		s, ok := r.core.Host(name)
		if !ok {
			return r.early(notFound("there is no MRC host %q", name))
		}
		out = r.hostOf(s)
		return nil
	})
	return out, err
}

func (r *Runner) hostOf(s HostStatus) HostResource {
	out := r.wanted.host(s)
	if known, ok := r.streams.Status(s.Name); ok {
		out.Session = Session{Since: known.Since, Held: known.Applied, Current: known.Current, Refusals: known.Refusals}
		if known.Err != nil {
			out.Session.Err = known.Err.Error()
		}
	}
	return out
}

// Links returns links in the order of their ids, and whether there are more.
func (r *Runner) Links(ctx context.Context, f LinkFilter, p Page) (out []LinkResource, more bool, err error) {
	err = r.read(ctx, func() {
		var all []LinkStatus
		all, more = r.core.LinkPage(f, p)
		for i := range all {
			out = append(out, r.wanted.link(all[i]))
		}
	})
	return out, more, err
}

// Link returns one direction of a link.
func (r *Runner) Link(ctx context.Context, id topology.LinkID) (out LinkResource, err error) {
	err = r.ask(ctx, func() error {
		s, ok := r.core.Link(id)
		if !ok {
			return r.early(notFound("there is no link %q that paths cross", id))
		}
		out = r.wanted.link(s)
		return nil
	})
	return out, err
}

// Nodes returns the switches of the fabric in the order of their ids, and whether
// there are more.
func (r *Runner) Nodes(ctx context.Context, p Page) (out []NodeResource, more bool, err error) {
	err = r.read(ctx, func() {
		var all []NodeStatus
		all, more = r.core.NodePage(p)
		for i := range all {
			out = append(out, r.wanted.node(all[i]))
		}
	})
	return out, more, err
}

// Node returns a switch of the fabric.
func (r *Runner) Node(ctx context.Context, id topology.NodeID) (out NodeResource, err error) {
	err = r.ask(ctx, func() error {
		s, ok := r.core.Node(id)
		if !ok {
			return r.early(notFound("there is no switch %q in the fabric", id))
		}
		out = r.wanted.node(s)
		return nil
	})
	return out, err
}

// Planes returns the planes of the fabric in order.
func (r *Runner) Planes(ctx context.Context) (out []PlaneResource, err error) {
	err = r.read(ctx, func() {
		for _, s := range r.core.Planes() {
			out = append(out, PlaneResource{Admin: r.wanted.admin(Target{Plane: s.Plane}), Status: s})
		}
	})
	return out, err
}

// SetAdmin says whether a target is to be used.
func (r *Runner) SetAdmin(ctx context.Context, t Target, spec api.AdminSpec, pre resource.Precondition) error {
	return r.change(ctx, pre, func() (uint64, any) { return intentOf(r.wanted.admins, r.wanted.canonical(t).String()) },
		func() error { return r.early(r.wanted.setAdmin(t, spec, pre)) })
}

// Suspects returns the links that lose packets, the surest first.
func (r *Runner) Suspects(ctx context.Context) (out []Suspect, err error) {
	err = r.read(ctx, func() { out = r.core.Suspects() })
	return out, err
}

// Probes returns cells of the matrix of what probes have shown, in the order of
// their keys, and whether there are more.
func (r *Runner) Probes(ctx context.Context, f CellFilter, p Page) (out []Cell, more bool, err error) {
	err = r.read(ctx, func() { out, more = r.core.CellPage(f, p) })
	return out, more, err
}
