package mrc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// wanted has the requests of clients to a core: records that outlive the core. Its methods are
// synchronous, like the core's. The core learns a change when the store has it, because states of
// hosts consist of stored records. Until then no other change is possible, see busy.
type wanted struct {
	core *Core
	// pending applies requests to the core once the store has kept them under the number keeping; 0:
	// the requests are in no Ready yet.
	pending  []func()
	keeping  uint64
	now      func() time.Time
	versions *resource.Versions
	admins   resource.Collection[api.AdminSpec, target]
	// held are drained whatever clients want; the text of a target names it.
	held     resource.Collection[target, struct{}]
	profiles resource.Collection[api.EVProfileSpec, struct{}]
	cc       resource.Collection[api.CCProfileSpec, struct{}]
	// wants are the newest; nil: none so far. holding is when what they hold is looked at again, and
	// anew: at once.
	wants   *fabricview.Wants
	holding time.Duration
	anew    bool
}

// target is the object of an administrative state; its text names the object.
type target struct {
	Of Target `json:"of"`
}

// RecordPrefix is the key prefix of all records, and versionsKey the key of the versions record.
const (
	RecordPrefix = "mrc/"
	versionsKey  = RecordPrefix + "versions"
)

// adminKind is the kind of administrative states, whose names say all.
var adminKind = resource.Kind{Prefix: RecordPrefix + "admin/"}

// heldKind is the kind of what is drained whatever clients want.
var heldKind = resource.Kind{Prefix: RecordPrefix + "held/"}

// newWanted returns what the records say, and configures the core, which knows
// no topology yet, accordingly.
func newWanted(core *Core, now func() time.Time, records []store.Record) (*wanted, error) {
	versions := resource.NewVersions(versionsKey)
	w := &wanted{
		core: core, now: now, versions: versions,
		admins:   resource.NewCollection[api.AdminSpec, target](adminKind, versions),
		held:     resource.NewCollection[target, struct{}](heldKind, versions),
		profiles: resource.NewCollection[api.EVProfileSpec, struct{}](EVProfileKind.Record, versions),
		cc:       resource.NewCollection[api.CCProfileSpec, struct{}](CCKind.Record, versions),
	}
	for _, r := range records {
		for _, load := range []func(store.Record) (bool, error){
			versions.Load, w.admins.Load, w.held.Load, w.profiles.Load, w.cc.Load,
		} {
			if _, err := load(r); err != nil {
				return nil, fmt.Errorf("record %s: %w", r.Key, err)
			}
		}
	}
	for _, a := range w.admins.All() {
		if a.Spec.Admin == api.AdminDrained {
			core.ResumeDrain(a.Decided.Of)
		}
	}
	for _, h := range w.held.All() {
		if core.drains.index(h.Spec.Of) < 0 {
			core.ResumeDrain(h.Spec.Of)
		}
	}
	w.tellCC()
	for _, p := range w.profiles.All() {
		if err := core.SetOverride(p.Name, overrideOf(p.Spec)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Tick and Next implement ledger.Core.
func (w *wanted) Tick(now time.Duration) { w.core.Tick(now) }

// Next implements ledger.Core.
func (w *wanted) Next() (at time.Duration, ok bool) {
	at, ok = w.core.Next()
	if w.holds() && len(w.wants.Held) > 0 && (!ok || w.holding < at) {
		at, ok = w.holding, true
	}
	return at, ok
}

// SetWants takes what the core of the switches wants of the fabric: that pairs can talk, and that
// parts are drained, in addition to what clients drain. Views show how far the drains are.
func (w *wanted) SetWants(wants *fabricview.Wants) {
	if w.wants != nil && w.wants.Seq >= wants.Seq {
		return
	}
	w.wants, w.anew = wants, true
	w.core.SetWants(wants)
}

// holds reports whether the core knows the held objects, and may drain them now.
func (w *wanted) holds() bool {
	return w.wants != nil && w.core.state.Fabric() != nil && !w.busy()
}

// holdEvery is how often the drains of held parts are looked at.
const holdEvery = 500 * time.Millisecond

// holdWanted drains the parts that are held, when that is due.
func (w *wanted) holdWanted() {
	if !w.holds() || !w.anew && (len(w.wants.Held) == 0 || w.core.Now() < w.holding) {
		return
	}
	if states, why := w.hold(w.wants.Held); why == "" {
		w.anew, w.holding = false, w.core.Now()+holdEvery
		w.core.viewer.setHeld(states)
	}
}

// Ready returns what is to be done now. Its Saves are being kept under the number n from now on.
func (w *wanted) Ready(n uint64) Ready {
	w.holdWanted()
	r := w.core.Ready()
	r.Saves = w.saves(n)
	return r
}

// saves returns the writes that keep what has changed, under n.
func (w *wanted) saves(n uint64) []store.Op {
	if w.busy() && w.keeping == 0 {
		w.keeping = n
	}
	return slices.Concat(w.versions.Changes(), w.admins.Changes(), w.held.Changes(),
		w.profiles.Changes(), w.cc.Changes())
}

// Kept has the core know what is kept, when the store has all writes up to a number.
func (w *wanted) Kept(n uint64) {
	if !w.busy() || w.keeping == 0 || w.keeping > n {
		return
	}
	for _, do := range w.pending {
		do()
	}
	w.pending, w.keeping = nil, 0
}

// busy reports whether a change is not kept yet.
func (w *wanted) busy() bool { return len(w.pending) > 0 }

// later has the core do something when what has changed is kept.
func (w *wanted) later(do func()) { w.pending = append(w.pending, do) }

func notFound(format string, args ...any) error {
	return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf(format, args...)}
}

// setAdmin is Runner.SetAdmin.
func (w *wanted) setAdmin(t Target, spec api.AdminSpec, pre resource.Precondition) error {
	if err := api.ValidateAdmin(&spec); err != nil {
		return err
	}
	t = w.core.canonical(t)
	before, err := resource.Check(w.admins, t.String(), pre)
	if before == nil && err != nil {
		// A precondition on a missing resource does not count (RFC 9110 section 13.2.1).
		if _, unknown := w.core.find(t); unknown != nil {
			err = unknown
		}
	}
	var places []int32
	switch {
	case err != nil:
	case before != nil && before.Spec == spec:
		return nil
	case spec.Admin == api.AdminDrained:
		places, err = w.core.checkDrain(t)
	case w.core.drains.index(t) < 0:
		_, err = w.core.find(t)
	}
	var refused *api.Error
	switch {
	case errors.As(err, &refused):
		return err
	case errors.Is(err, ErrLastPath):
		return &api.Error{Code: api.CodeLastPath, Message: err.Error()}
	case errors.Is(err, ErrUnknownTarget) && w.core.state.Fabric() == nil:
		return &api.Error{Code: api.CodeUnavailable, Message: err.Error()}
	case err != nil:
		return notFound("%v", err)
	case pre.Trial != nil:
		if spec.Admin == api.AdminDrained {
			pre.Trial.Takes = w.core.takes(t, places)
		}
		return nil
	}
	w.admins.Put(t.String(), spec, w.now()).Decided.Of = t
	w.later(func() { w.settleDrain(t) })
	return nil
}

// settleDrain keeps a target drained while a client wants the drain, or a feature holds the target.
func (w *wanted) settleDrain(t Target) {
	a := w.admins.Get(t.String())
	w.core.setDrained(t, a != nil && a.Spec.Admin == api.AdminDrained || w.held.Get(t.String()) != nil)
}

// hold drains exactly these parts, in addition to the drains of clients, and returns how far each
// drain is. It does not drain the last path between two hosts. why says why hold did nothing.
func (w *wanted) hold(parts []api.Part) (states []fabricview.Held, why string) {
	if w.core.state.Fabric() == nil {
		return nil, "the topology is not in sync"
	}
	if w.busy() {
		return nil, "another change is being kept"
	}
	wanted := make(map[string]bool)
	for _, p := range parts {
		t := w.core.TargetOf(p)
		wanted[t.String()] = true
		s := fabricview.Held{Part: p}
		if w.held.Get(t.String()) == nil {
			if _, err := w.core.checkDrain(t); err != nil {
				s.Why = err.Error()
				states = append(states, s)
				continue
			}
			w.held.Put(t.String(), target{t}, w.now())
			w.later(func() { w.settleDrain(t) })
		}
		i := w.core.drains.index(t)
		switch {
		case i < 0:
			s.Why = "it is about to be drained"
		case w.core.drains.list[i].done:
			s.Drained = true
		default:
			s.Why = w.core.drains.why(w.core.drains.list[i])
		}
		states = append(states, s)
	}
	for _, h := range w.held.All() {
		if t := h.Spec.Of; !wanted[h.Name] {
			w.held.Delete(h.Name)
			w.later(func() { w.settleDrain(t) })
		}
	}
	return states, ""
}

// admin is what a client wants of a target.
func (w *wanted) admin(t Target) api.Admin {
	if a := w.admins.Get(w.core.canonical(t).String()); a != nil {
		return api.Admin{Version: a.Version, Changed: a.Changed, Spec: a.Spec}
	}
	return api.Admin{Spec: adminUp}
}

func overrideOf(s api.EVProfileSpec) Override {
	return Override{Mode: s.Mode.HostMode(), MaxEVs: s.MaxEVs, MinActive: s.MinActive, CC: s.CCProfile}
}

// profile returns the requested EV profile, without a status.
func (w *wanted) profile(name string) api.EVProfile {
	if x := w.profiles.Get(name); x != nil {
		return evProfile(x)
	}
	return api.EVProfile{Name: name}
}

func evProfile(x *resource.Item[api.EVProfileSpec, struct{}]) api.EVProfile {
	return api.EVProfile{Name: x.Name, Version: x.Version, Created: x.Created, Spec: x.Spec}
}

// putProfile is Runner.PutEVProfile, without the status.
func (w *wanted) putProfile(
	name string, spec api.EVProfileSpec, pre resource.Precondition,
) (api.EVProfile, error) {
	w.core.settle()
	if w.core.profiles.named(name) == nil {
		return api.EVProfile{}, notFound("there is no EV profile %q", name)
	}
	before, err := resource.Check(w.profiles, name, pre)
	if err != nil {
		return api.EVProfile{}, err
	}
	if before != nil && before.Spec == spec {
		return w.profile(name), nil
	}
	env := api.EVProfileEnv{HashedPaths: w.core.mode == ev.ModeECMP,
		HasCCProfile: func(name string) bool { return w.cc.Get(name) != nil }}
	try := overrideOf(spec)
	try.MinActive = 0
	count, unbuilt := w.core.countOf(name, try)
	env.Count = count
	if err := api.ValidateEVProfile(&spec, env); err != nil {
		return api.EVProfile{}, err
	}
	if unbuilt != nil {
		f := api.FieldError{Field: "spec.maxEvs", Code: api.CodeNotPlannable,
			Value: fmt.Sprint(spec.MaxEVs), Want: "what the profile can be made with: " + unbuilt.Error()}
		if spec.Mode != "" {
			f.Field, f.Value = "spec.mode", fmt.Sprintf("%q", string(spec.Mode))
		}
		return api.EVProfile{}, api.Refuse([]api.FieldError{f})
	}
	if pre.Trial != nil {
		pre.Trial.Takes = w.core.fewer(name, overrideOf(spec))
		return evProfile(w.profiles.Try(name, spec, w.now())), nil
	}
	if _, err := w.core.countOf(name, overrideOf(spec)); err != nil {
		return api.EVProfile{}, &api.Error{Code: api.CodeNotPlannable, Message: err.Error()}
	}
	w.profiles.Put(name, spec, w.now())
	w.later(func() { w.core.putOverride(name, overrideOf(spec)) })
	return w.profile(name), nil
}

// deleteProfile is Runner.DeleteEVProfile.
func (w *wanted) deleteProfile(name string, pre resource.Precondition) error {
	before, err := resource.Check(w.profiles, name, pre)
	if _, there := w.core.Profile(name); !there && before == nil {
		return notFound("there is no EV profile %q", name)
	}
	if pre.Trial != nil {
		pre.Trial.Takes = w.core.fewer(name, Override{})
	}
	if err != nil || before == nil || pre.Trial != nil {
		return err
	}
	w.profiles.Delete(name)
	w.later(func() { w.core.putOverride(name, Override{}) })
	return nil
}

// putCC is Runner.PutCCProfile.
func (w *wanted) putCC(
	name string, spec api.CCProfileSpec, pre resource.Precondition,
) (p api.CCProfile, created bool, err error) {
	spec = spec.Complete()
	before, err := resource.Check(w.cc, name, pre)
	if err != nil {
		return p, false, err
	}
	if before != nil && before.Spec == spec {
		return ccProfile(before), false, nil
	}
	if err := api.ValidateCCProfile(name, &spec); err != nil {
		return p, false, err
	}
	if before == nil && w.cc.Len() == hostapi.MaxCCProfiles {
		return p, false, &api.Error{Code: api.CodeLimit,
			Message: fmt.Sprintf("there are %d CC profiles, and may be no more", w.cc.Len())}
	}
	if pre.Trial != nil {
		return ccProfile(w.cc.Try(name, spec, w.now())), before == nil, nil
	}
	x := w.cc.Put(name, spec, w.now())
	w.later(w.tellCC)
	return ccProfile(x), before == nil, nil
}

func ccProfile(x *resource.Item[api.CCProfileSpec, struct{}]) api.CCProfile {
	return api.CCProfile{Name: x.Name, Version: x.Version, Created: x.Created, Spec: x.Spec}
}

// deleteCC is Runner.DeleteCCProfile.
func (w *wanted) deleteCC(name string, pre resource.Precondition) error {
	if _, err := resource.CheckDelete(w.cc, name, pre); err != nil {
		return err
	}
	for _, by := range w.profiles.All() {
		if by.Spec.CCProfile == name {
			return &api.Error{Code: api.CodeConflict,
				Message: fmt.Sprintf("CC profile %q is that of EV profile %q", name, by.Name)}
		}
	}
	if pre.Trial != nil {
		return nil
	}
	w.cc.Delete(name)
	w.later(w.tellCC)
	return nil
}

// tellCC gives the core the CC profiles.
func (w *wanted) tellCC() {
	all := make([]*hostapi.CCProfile, 0, w.cc.Len())
	for _, p := range w.cc.All() {
		all = append(all, p.Spec.Host(p.Name))
	}
	w.core.SetCC(all)
}

// link, node, plane and host fill in the requests for a link, a switch, a plane, and the ports of a
// host.
func (w *wanted) link(v *api.Link) {
	a := w.admin(Target{Link: v.ID})
	v.Version, v.Changed, v.Spec = a.Version, a.Changed, a.Spec
}

func (w *wanted) node(v *api.Node) {
	a := w.admin(Target{Node: v.ID})
	v.Version, v.Changed, v.Spec = a.Version, a.Changed, a.Spec
}

func (w *wanted) plane(v *api.Plane) {
	a := w.admin(Target{Plane: v.Plane})
	v.Version, v.Changed, v.Spec = a.Version, a.Changed, a.Spec
}

func (w *wanted) host(v *api.Host) {
	for i := range v.Ports {
		p := &v.Ports[i]
		a := w.admin(Target{Host: v.Name, Port: p.Port})
		p.Version, p.Changed, p.Spec = a.Version, a.Changed, a.Spec
	}
}
