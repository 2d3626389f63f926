package mrc

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/hostapi"
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

// early makes the error of what is not there one for the time being, while what there is follows
// from a topology that is not known whole yet.
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

// change has a client's change made, and waits until it is kept with its record in the audit log,
// for which intent has the version and the spec. Errors are those of ledger.Ledger.Change.
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

// Fabric describes the fabric as a whole.
func (r *Runner) Fabric(ctx context.Context) (f api.Fabric, err error) {
	err = r.read(ctx, func() { f = r.core.Fabric() })
	return f, err
}

// StreamCounts counts what became of the streams to hosts, and what they carried.
func (r *Runner) StreamCounts(ctx context.Context) (n StreamCounts, err error) {
	err = r.ledger.Do(ctx, func() { n = r.streams.Counters() })
	return n, err
}

// EVProfiles returns profiles without their EVs in the order of their names, and whether there are
// more.
func (r *Runner) EVProfiles(ctx context.Context, f ProfileFilter, p Page) (out []api.EVProfile, more bool, err error) {
	var all []ProfileState
	err = r.read(ctx, func() {
		all, more = r.core.ProfilePage(f, p)
		for i := range all {
			out = append(out, r.wanted.profile(all[i].Name))
		}
	})
	for i := range all { // which the core does not wait for
		out[i].Status = all[i].View()
	}
	return out, more, err
}

// EVProfile returns one profile.
func (r *Runner) EVProfile(ctx context.Context, name string) (api.EVProfile, error) {
	var wanted api.EVProfile
	s, err := r.profile(ctx, name, func() { wanted = r.wanted.profile(name) })
	if err != nil {
		return api.EVProfile{}, err
	}
	return wholeProfile(wanted, &s), nil
}

// profile returns the state of a profile, and calls and at the same time.
func (r *Runner) profile(ctx context.Context, name string, and func()) (s ProfileState, err error) {
	err = r.ask(ctx, func() (err error) {
		var ok bool
		if s, ok = r.core.Profile(name); !ok {
			return r.early(notFound("there is no EV profile %q", name))
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

// EVFilter defines which EVs of a profile are meant; the zero value is all.
type EVFilter struct {
	State string
	Port  uint8
	From  int // the least Index
}

// EVs returns the EVs of a profile in order, up to a number of them, and whether there are more.
func (r *Runner) EVs(ctx context.Context, name string, f EVFilter, limit int) (out []api.EV, more bool, err error) {
	s, err := r.profile(ctx, name, func() {})
	if err != nil {
		return nil, false, err
	}
	out, more = s.EVPage(f, limit)
	return out, more, nil
}

// EVPath returns the path of an EV of a profile.
func (r *Runner) EVPath(ctx context.Context, name string, e hostapi.EV) (api.EVPath, error) {
	s, err := r.profile(ctx, name, func() {})
	if err != nil {
		return api.EVPath{}, err
	}
	return s.Path(e)
}

// PutEVProfile replaces what a client wants of a profile.
func (r *Runner) PutEVProfile(ctx context.Context, name string, spec api.EVProfileSpec, pre resource.Precondition) (api.EVProfile, error) {
	var (
		out api.EVProfile
		s   ProfileState
	)
	err := r.change(ctx, pre, func() (uint64, any) { return intentOf(r.wanted.profiles, name) }, func() (err error) {
		out, err = r.wanted.putProfile(name, spec, pre)
		s, _ = r.core.Profile(name)
		return r.early(err)
	})
	if err != nil {
		return api.EVProfile{}, err
	}
	if pre.Trial == nil {
		_ = r.ledger.Do(ctx, func() { s, _ = r.core.Profile(name) }) // the core has the change by now
	}
	return wholeProfile(out, &s), nil
}

// DeleteEVProfile makes a profile what the configuration says.
func (r *Runner) DeleteEVProfile(ctx context.Context, name string, pre resource.Precondition) error {
	return r.change(ctx, pre, func() (uint64, any) { return intentOf(r.wanted.profiles, name) },
		func() error { return r.early(r.wanted.deleteProfile(name, pre)) })
}

// Hosts returns hosts in the order of their names, and whether there are more.
func (r *Runner) Hosts(ctx context.Context, p Page) (out []api.Host, more bool, err error) {
	err = r.read(ctx, func() {
		out, more = r.core.HostPage(p)
		for i := range out {
			r.fillHost(&out[i])
		}
	})
	return out, more, err
}

// Host returns one host.
func (r *Runner) Host(ctx context.Context, name string) (out api.Host, err error) {
	err = r.ask(ctx, func() error {
		var ok bool
		if out, ok = r.core.Host(name); !ok {
			return r.early(notFound("there is no MRC host %q", name))
		}
		r.fillHost(&out)
		return nil
	})
	return out, err
}

// fillHost fills in what is wanted of a host's ports, and what its stream says.
func (r *Runner) fillHost(v *api.Host) {
	r.wanted.host(v)
	if known, ok := r.streams.Status(v.Name); ok {
		SetStream(v, &known)
	}
}

// Links returns links in the order of their ids, and whether there are more.
func (r *Runner) Links(ctx context.Context, f LinkFilter, p Page) (out []api.Link, more bool, err error) {
	err = r.read(ctx, func() {
		out, more = r.core.LinkPage(f, p)
		for i := range out {
			r.wanted.link(&out[i])
		}
	})
	return out, more, err
}

// Link returns one direction of a link.
func (r *Runner) Link(ctx context.Context, id topology.LinkID) (out api.Link, err error) {
	err = r.ask(ctx, func() error {
		var ok bool
		if out, ok = r.core.Link(id); !ok {
			return r.early(notFound("there is no link %q that paths cross", id))
		}
		r.wanted.link(&out)
		return nil
	})
	return out, err
}

// Nodes returns the switches of the fabric in the order of their ids, and whether
// there are more.
func (r *Runner) Nodes(ctx context.Context, p Page) (out []api.Node, more bool, err error) {
	err = r.read(ctx, func() {
		out, more = r.core.NodePage(p)
		for i := range out {
			r.wanted.node(&out[i])
		}
	})
	return out, more, err
}

// Node returns a switch of the fabric.
func (r *Runner) Node(ctx context.Context, id topology.NodeID) (out api.Node, err error) {
	err = r.ask(ctx, func() error {
		var ok bool
		if out, ok = r.core.Node(id); !ok {
			return r.early(notFound("there is no switch %q in the fabric", id))
		}
		r.wanted.node(&out)
		return nil
	})
	return out, err
}

// Planes returns the planes of the fabric in order.
func (r *Runner) Planes(ctx context.Context) (out []api.Plane, err error) {
	err = r.read(ctx, func() {
		out = r.core.Planes()
		for i := range out {
			r.wanted.plane(&out[i])
		}
	})
	return out, err
}

// SetAdmin sets whether a target is to be used.
func (r *Runner) SetAdmin(ctx context.Context, t Target, spec api.AdminSpec, pre resource.Precondition) error {
	return r.change(ctx, pre, func() (uint64, any) { return intentOf(r.wanted.admins, r.wanted.canonical(t).String()) },
		func() error { return r.early(r.wanted.setAdmin(t, spec, pre)) })
}

// Suspects returns the links that lose packets, the surest first.
func (r *Runner) Suspects(ctx context.Context) (out []api.Suspect, err error) {
	err = r.read(ctx, func() { out = r.core.Suspects() })
	return out, err
}

// Probes returns what probes of EVs have shown, in the order of their keys, and whether there is
// more.
func (r *Runner) Probes(ctx context.Context, f ProbeFilter, p Page) (out []api.EVProbe, more bool, err error) {
	err = r.read(ctx, func() { out, more = r.core.ProbePage(f, p) })
	return out, more, err
}
