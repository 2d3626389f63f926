package leases

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// Leases returns the leases.
func (f *Feature) Leases() resource.Resources[api.PathLeaseSpec, api.PathLease] {
	return resource.Written[api.PathLeaseSpec, decided, api.PathLease]{All: f.All, Env: f.env,
		Decide: f.decide, View: f.view, Gone: f.gone, Changed: f.settle}
}

func requestOf(name string, s *api.PathLeaseSpec) lease.Request {
	r := lease.Request{Name: name, Paths: s.Paths, Disjointness: lease.Disjointness(s.Disjointness),
		Sharing: lease.Sharing(s.Sharing), Bandwidth: s.Bandwidth, Duration: s.Duration.D(),
		Heartbeat: s.Heartbeat.D(), Priority: s.Priority, Job: s.Job}
	for _, p := range s.Pairs {
		r.Pairs = append(r.Pairs, lease.Endpoints{From: p.From, To: p.To})
	}
	return r
}

func (f *Feature) decide(old, j *item, pre resource.Precondition) error {
	j.Spec = j.Spec.Complete()
	spec, terms := &j.Spec, f.terms(j.Name)
	if terms.Project != "" && spec.Duration == 0 {
		spec.Duration = api.Duration(terms.Longest)
	}
	err := spec.Validate(func(name string) bool { return f.nics[name] })
	if err == nil && (old == nil || old.Decided.Has == nil || !old.Spec.Equal(spec)) {
		_, has := f.Held(j.Name)
		err = check(&terms, spec, has)
	}
	if err != nil {
		return err
	}
	f.Follow()
	f.took(f.ledger.Expire(f.env.Wall()))
	if old != nil && old.Decided.Has != nil {
		return f.amend(old, j)
	}
	if old == nil && f.All.Len() >= api.MaxLeases {
		return &api.Error{Code: api.CodeLimit, Message: fmt.Sprintf(
			"there are %d leases, and may be no more", f.All.Len())}
	}
	if f.network == nil {
		return &api.Error{Code: api.CodeUnavailable, Message: "no lease can be granted: " + f.why}
	}
	request := requestOf(j.Name, spec)
	if terms.Links != nil {
		request.MostLinks = *terms.Links
	}
	if spec.Sharing == api.LeaseExclusive || spec.Priority > 0 {
		f.findRunning()
	}
	granted, err := f.ledger.Request(f.env.Wall(), request)
	f.settle() // the request may have ended others
	if err != nil {
		return refusal(spec, &terms, err, pre)
	}
	j.Decided = decided{Granted: granted.Granted, Has: &granted}
	what := fmt.Sprintf("granted: %d paths", len(spec.Pairs)*spec.Paths)
	if n := len(granted.From); n > 0 {
		what += fmt.Sprintf(", with links that %d leases of lower priorities have given up", n)
	}
	f.env.Event(api.EventLeaseChanged, j.Name, what, nil)
	return nil
}

// amend changes the terms of a lease that has not ended.
func (f *Feature) amend(old, j *item) error {
	if err := api.Refuse(old.Spec.Fixed(&j.Spec)); err != nil {
		return err
	}
	if old.Spec.Equal(&j.Spec) {
		return resource.ErrUnchanged
	}
	if err := f.ledger.Amend(f.env.Wall(), j.Name, j.Spec.Duration.D(),
		j.Spec.Heartbeat.D()); err != nil {
		return err
	}
	f.ledger.For(j.Name, j.Spec.Job)
	j.Decided = old.Decided // leases have followed the fabric since
	f.note(j)
	f.env.Event(api.EventLeaseChanged, j.Name, "other terms", nil)
	return nil
}

// check returns an error if a lease exceeds its project's bounds. has is the bandwidth in bit/s
// that the lease holds already.
func check(t *lease.Terms, s *api.PathLeaseSpec, has uint64) error {
	if t.Project == "" {
		return nil
	}
	var found []api.FieldError
	if s.Sharing == api.LeaseExclusive && !t.Exclusive {
		found = append(found, api.FieldError{Field: "spec.sharing", Code: api.CodeForbidden,
			Value: string(s.Sharing), Want: fmt.Sprintf(
				"shared: exclusiveLeases is not assigned to project %s", t.Project)})
	}
	if s.Priority > t.Priority {
		found = append(found, api.FieldError{Field: "spec.priority", Code: api.CodeForbidden,
			Value: fmt.Sprint(s.Priority), Want: fmt.Sprintf(
				"at most %d, the leasePriority that is assigned to project %s", t.Priority, t.Project)})
	}
	if s.Duration.D() > t.Longest {
		found = append(found, api.FieldError{Field: "spec.duration", Code: api.CodeLimit,
			Value: s.Duration.String(), Want: fmt.Sprintf("at most %v, quotas.leaseDuration of project %s",
				t.Longest, t.Project)})
	}
	wants := s.Reserves()
	if most := t.Bandwidth; most != nil && wants > has &&
		(t.Others > *most || wants > *most-t.Others) {
		limit := int64(min(*most, math.MaxInt64))
		found = append(found, api.FieldError{Field: "spec.bandwidth", Code: api.CodeLimit,
			Value: fmt.Sprintf("%d bit/s on all paths together", wants), Want: fmt.Sprintf(
				"at most what is left of the %d bit/s of leases of project %s, whose other leases have %d",
				*most, t.Project, t.Others), Limit: &limit})
	}
	if t.Links != nil && *t.Links <= 0 {
		found = append(found, api.FieldError{Field: "name", Code: api.CodeLimit, Value: "one more lease",
			Want: fmt.Sprintf("none: project %s holds as many links as quotas.leaseLinks has", t.Project)})
	}
	return api.Refuse(found)
}

// refusal returns why a lease was not granted, as the client may know it.
func refusal(s *api.PathLeaseSpec, t *lease.Terms, err error, pre resource.Precondition) error {
	var r *lease.Refusal
	if !errors.As(err, &r) {
		return err
	}
	at := slices.IndexFunc(s.Pairs, func(p api.LeasePair) bool {
		return p.From == r.Pair.From && p.To == r.Pair.To
	})
	f := api.FieldError{Field: fmt.Sprintf("spec.pairs[%d]", max(at, 0)),
		Value: r.Pair.From + " to " + r.Pair.To, Want: r.Error()}
	switch r.Cause {
	case lease.Full:
		f.Code = api.CodeConflict
		if holders := visible(r.Holders, pre); pre.Sees == nil && len(holders) > 0 {
			f.Want += "; they are " + fmt.Sprintf("%q", holders)
		}
	case lease.Down, lease.NoPath:
		f.Code = api.CodeUnreachable
	case lease.Small:
		f.Field, f.Value, f.Code = "spec.bandwidth", fmt.Sprint(s.Bandwidth), api.CodeNotPlannable
	case lease.NotApart:
		f.Field, f.Value, f.Code = "spec.paths", fmt.Sprint(s.Paths), api.CodeNotPlannable
		if s.Disjointness != api.DisjointNone {
			f.Field, f.Value = "spec.disjointness", string(s.Disjointness)
		}
	case lease.Needed:
		f.Field, f.Value, f.Code = "spec.sharing", string(s.Sharing), api.CodeConflict
		if job := pre.Visible(r.Job); job != "" {
			f.Want += fmt.Sprintf("; job %q would have none", job)
		}
	case lease.Beyond:
		f.Field, f.Value, f.Code = "spec.paths", fmt.Sprint(s.Paths), api.CodeLimit
		f.Limit = api.Limit(r.MostLinks)
		f.Want += ": that is left of quotas.leaseLinks of project " + t.Project
	default:
		f.Field, f.Value, f.Code = "spec.pairs", fmt.Sprint(len(s.Pairs)), api.CodeLimit
	}
	if pre.Sees != nil && r.Link != "" { // which link it is, members of projects do not see
		f.Want = "a link of the network has not the room: want less, or other paths"
		if r.Cause == lease.Full && !r.Free.IsZero() {
			f.Want += ", or wait until " + r.Free.UTC().Format(time.RFC3339)
		}
	}
	return api.Refuse([]api.FieldError{f})
}

func visible(names []string, pre resource.Precondition) (out []string) {
	for _, name := range names {
		if pre.Visible(name) != "" {
			out = append(out, name)
		}
	}
	return out
}

func (f *Feature) gone(j *item, _ resource.Precondition) error {
	if j.Decided.Has != nil {
		if err := f.ledger.Complete(j.Name); err != nil {
			return err
		}
	}
	f.env.Event(api.EventLeaseDeleted, j.Name, "deleted", nil)
	f.settle()
	return nil
}

// Ask carries out a client's question about a lease that has not ended: [api.RenewLease] says that
// the client is alive, [api.MoveLease] that the client uses the new paths, which frees the former.
func (f *Feature) Ask(name string, question any, pre resource.Precondition) error {
	var do func() error
	switch question.(type) {
	case api.RenewLease:
		do = func() error { return f.ledger.Renew(f.env.Wall(), name, 0) }
	case api.MoveLease:
		do = func() error {
			if l, _ := f.ledger.Lease(name); l.Phase != lease.Moving {
				return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf(
					"lease %q does not move: want one whose phase is %s", name, api.LeaseMoving)}
			}
			f.env.Event(api.EventLeaseChanged, name, "moved", nil)
			return f.ledger.Moved(name)
		}
	default:
		return fmt.Errorf("%T: %w", question, kind.ErrNoQuestion)
	}
	if _, err := resource.CheckDelete(f.All, name, pre); err != nil {
		return err
	}
	f.Follow()
	f.took(f.ledger.Expire(f.env.Wall()))
	j := f.All.Get(name)
	if j.Decided.Has == nil {
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf(
			"lease %q has ended: want one that has not; a PUT of it asks for paths anew", name)}
	}
	if err := do(); err != nil {
		return err
	}
	f.settle()
	return nil
}

// endsAt returns when a lease ends unless it is renewed; zero: never.
func endsAt(j *item) (end time.Time) {
	l := j.Decided.Has
	if l == nil {
		return j.Decided.Ended
	}
	end = l.Until
	if l.Heartbeat > 0 {
		if silent := l.Beat.Add(l.Heartbeat); end.IsZero() || silent.Before(end) {
			end = silent
		}
	}
	return end
}

// phases are the phases of the API.
var phases = map[lease.Phase]api.LeasePhase{
	lease.Active: api.LeaseActive, lease.Moving: api.LeaseMoving, lease.Broken: api.LeaseBroken,
}

// view returns a lease with its status.
func (f *Feature) view(j *item) api.PathLease {
	v := api.PathLease{Name: j.Name, Version: j.Version, Created: j.Created, Spec: j.Spec}
	s := &v.Status
	s.Granted, s.Ends, s.Reason = j.Decided.Granted, endsAt(j), j.Decided.Reason
	s.Conditions.Set(api.Accepted, true, api.ReasonPlanned, "", j.Changed)
	l := j.Decided.Has
	if l == nil {
		s.Phase = api.LeaseEnded
		s.Conditions.Set(api.Ready, false, api.ReasonEnded, "the lease has ended", j.Decided.Ended)
		return v
	}
	s.Phase, s.Reason, s.Took, s.TookFrom = phases[l.Phase], l.Reason, len(l.From), l.From
	why, what := api.ReasonPlanned, ""
	if l.Taken != nil {
		why, what = api.ReasonPreempted, fmt.Sprintf("a lease of priority %d has taken links from it",
			l.Taken.Priority)
	}
	switch l.Phase {
	case lease.Broken:
		if l.Taken == nil {
			why, what = api.ReasonUnreachable, "it has no paths"
		}
		s.Conditions.Set(api.Ready, false, why, what, time.Time{})
		return v
	case lease.Moving:
		s.Reason = "some of the paths that it had were lost"
		if l.Taken != nil {
			s.Reason = fmt.Sprintf("lease %q of priority %d has taken links of paths that it had",
				l.Taken.Name, l.Taken.Priority)
		}
		s.Former = f.paths(j, l.Former)
	}
	s.Conditions.Set(api.Ready, true, why, what, j.Decided.Granted)
	s.Paths = f.paths(j, l.Paths)
	return v
}

// paths describes paths of the pairs of a lease.
func (f *Feature) paths(j *item, of [][]lease.Path) (out []api.LeasedPath) {
	for i, pair := range of {
		for k := range pair {
			p := &pair[k]
			v := api.LeasedPath{From: j.Spec.Pairs[i].From, To: j.Spec.Pairs[i].To, EV: p.EV,
				Links: slices.Clone(p.Links)}
			if len(p.Links) > 0 {
				v.Plane = p.Plane
			}
			for _, id := range p.Nodes {
				v.Nodes = append(v.Nodes, f.nodeName(id))
			}
			out = append(out, v)
		}
	}
	return out
}

// linkName names a link, or the port of a host, for people.
func (f *Feature) linkName(id topology.LinkID) string {
	if at := strings.LastIndexByte(string(id), '/'); at > 0 && f.nics[string(id[:at])] {
		return fmt.Sprintf("port %s of host %s", id[at+1:], id[:at])
	}
	return "link " + f.env.Net.Snapshot.LinkName(id)
}

// nodeName returns the displayed name of a node.
func (f *Feature) nodeName(id topology.NodeID) string {
	if n := f.env.Net.Snapshot.Node(id); n != nil {
		return n.DisplayName()
	}
	return string(id)
}
