package multipath

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/ev"
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/store"
	"github.com/weft-sdn/weft/hostapi"
)

// wanted is what clients want of a core: records that outlive it. Its methods are
// synchronous, as the core's are; what they change the core knows at once, and
// the records are to be kept before anything else is done.
type wanted struct {
	core     *Core
	now      func() time.Time
	revision uint64
	admins   map[Target]intent.Admin
	profiles map[string]intent.EVProfile
	cc       map[string]intent.CCProfile
	saves    []store.Op
}

// Keys of the store.
const (
	recordPrefix  = "mrc/"
	revisionKey   = recordPrefix + "revision"
	adminPrefix   = recordPrefix + "admin/"
	profilePrefix = recordPrefix + "ev-profiles/"
	ccPrefix      = recordPrefix + "cc-profiles/"
)

// adminRecord is an Admin and what it is of.
type adminRecord struct {
	Target Target       `json:"target"`
	Admin  intent.Admin `json:"admin"`
}

// newWanted returns what was wanted by the records, and tells the core, which
// knows no topology yet.
func newWanted(core *Core, now func() time.Time, records []store.Record) (*wanted, error) {
	w := &wanted{
		core: core, now: now, admins: make(map[Target]intent.Admin), profiles: make(map[string]intent.EVProfile), cc: make(map[string]intent.CCProfile),
	}
	for _, r := range records {
		if err := w.load(r); err != nil {
			return nil, fmt.Errorf("record %s: %w", r.Key, err)
		}
	}
	w.tellCC()
	for _, name := range slices.Sorted(maps.Keys(w.profiles)) {
		if err := core.SetOverride(name, overrideOf(w.profiles[name].Spec)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *wanted) load(r store.Record) error {
	decode := func(to any) error { return json.Unmarshal(r.Value, to) }
	switch {
	case r.Key == revisionKey:
		return decode(&w.revision)
	case strings.HasPrefix(r.Key, adminPrefix):
		var a adminRecord
		if err := decode(&a); err != nil {
			return err
		}
		w.admins[a.Target] = a.Admin
		if a.Admin.Spec.Admin == intent.AdminDrained {
			w.core.ResumeDrain(a.Target)
		}
	case strings.HasPrefix(r.Key, profilePrefix):
		var p intent.EVProfile
		if err := decode(&p); err != nil {
			return err
		}
		w.profiles[p.Name] = p
	case strings.HasPrefix(r.Key, ccPrefix):
		var p intent.CCProfile
		if err := decode(&p); err != nil {
			return err
		}
		w.cc[p.Name] = p
	}
	return nil
}

// takeSaves returns the records that are to be kept.
func (w *wanted) takeSaves() []store.Op {
	saves := w.saves
	w.saves = nil
	return saves
}

// next is the version of what is changed now.
func (w *wanted) next() uint64 {
	w.revision++
	w.save(revisionKey, w.revision)
	return w.revision
}

// save has a record kept, and with nil forgotten.
func (w *wanted) save(key string, v any) {
	if v == nil {
		w.saves = append(w.saves, store.Op{Key: key})
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("multipath: record cannot be written: %v", err)) // plain structs of our own
	}
	w.saves = append(w.saves, store.Op{Key: key, Value: text})
}

// check is whether a change may be made of what has a version; 0: it is not there.
func check(what string, version uint64, pre controller.Precondition) error {
	switch {
	case pre.Absent && version != 0:
		return &intent.Error{Code: intent.CodeExists, Message: what + " exists"}
	case pre.Version != 0 && version == 0:
		return &intent.Error{Code: intent.CodeVersion, Message: fmt.Sprintf("%s has no version, and so not %d", what, pre.Version)}
	case pre.Version != 0 && pre.Version != version:
		return &intent.Error{Code: intent.CodeVersion, Message: fmt.Sprintf("%s has version %d, not %d", what, version, pre.Version)}
	}
	return nil
}

func notFound(format string, args ...any) error {
	return &intent.Error{Code: intent.CodeNotFound, Message: fmt.Sprintf(format, args...)}
}

// canonical is the one target that stands for a link in both directions.
func (w *wanted) canonical(t Target) Target {
	if f := w.core.fabric; f != nil && t.Link != "" {
		if i, ok := f.place[t.Link]; ok && f.links[i].reverse >= 0 {
			t.Link = min(t.Link, f.links[f.links[i].reverse].ID)
		}
	}
	return t
}

// setAdmin is Runner.SetAdmin.
func (w *wanted) setAdmin(t Target, spec intent.AdminSpec, pre controller.Precondition) error {
	if err := intent.ValidateAdmin(&spec); err != nil {
		return err
	}
	t = w.canonical(t)
	before := w.admins[t]
	if err := check(t.String(), before.Version, pre); err != nil {
		return err
	}
	var err error
	switch {
	case before.Spec == spec:
		return nil
	case pre.Trial != nil && spec.Admin == intent.AdminDrained:
		_, err = w.core.checkDrain(t)
	case pre.Trial != nil:
		_, err = w.core.find(t)
	case spec.Admin == intent.AdminDrained:
		err = w.core.Drain(t)
	default:
		err = w.core.Undrain(t)
	}
	switch {
	case errors.Is(err, ErrLastPath):
		return &intent.Error{Code: intent.CodeLastPath, Message: err.Error()}
	case errors.Is(err, ErrUnknownTarget) && w.core.fabric == nil:
		return &intent.Error{Code: intent.CodeUnavailable, Message: err.Error()}
	case err != nil:
		return notFound("%v", err)
	case pre.Trial != nil:
		return nil
	}
	admin := intent.Admin{Version: w.next(), Changed: w.now(), Spec: spec}
	w.admins[t] = admin
	w.save(adminPrefix+t.String(), adminRecord{t, admin})
	return nil
}

// admin is what a client wants of a target.
func (w *wanted) admin(t Target) intent.Admin {
	a, ok := w.admins[w.canonical(t)]
	if !ok {
		a.Spec.Admin = intent.AdminUp
	}
	return a
}

func overrideOf(s intent.EVProfileSpec) Override {
	return Override{Mode: s.Mode.HostMode(), MaxEVs: s.MaxEVs, MinActive: s.MinActive, CC: s.CCProfile}
}

// profile is an EV profile with what is wanted of it.
func (w *wanted) profile(s ProfileStatus) EVProfile {
	p, ok := w.profiles[s.Name]
	if !ok {
		p.Name = s.Name
	}
	return EVProfile{EVProfile: p, Status: s}
}

// putProfile is Runner.PutEVProfile.
func (w *wanted) putProfile(name string, spec intent.EVProfileSpec, pre controller.Precondition) (EVProfile, error) {
	status, ok := w.core.Profile(name)
	if !ok {
		return EVProfile{}, notFound("there is no EV profile %q", name)
	}
	before, known := w.profiles[name]
	if err := check(fmt.Sprintf("EV profile %q", name), before.Version, pre); err != nil {
		return EVProfile{}, err
	}
	if known && before.Spec == spec {
		return EVProfile{before, status}, nil
	}
	env := intent.EVProfileEnv{HashedPaths: w.core.cfg.Format.Mode == ev.ModeECMP, HasCCProfile: func(name string) bool { _, ok := w.cc[name]; return ok }}
	try := overrideOf(spec)
	try.MinActive = 0
	count, unbuilt := w.core.countOf(name, try)
	env.Count = count
	if err := intent.ValidateEVProfile(&spec, env); err != nil {
		return EVProfile{}, err
	}
	if unbuilt != nil {
		f := intent.FieldError{Field: "spec.maxEvs", Code: intent.CodeNotPlannable, Value: fmt.Sprint(spec.MaxEVs), Want: "what the profile can be made with: " + unbuilt.Error()}
		if spec.Mode != "" {
			f.Field, f.Value = "spec.mode", fmt.Sprintf("%q", string(spec.Mode))
		}
		return EVProfile{}, intent.Refuse([]intent.FieldError{f})
	}
	if pre.Trial != nil {
		before.Name, before.Version, before.Spec = name, w.revision+1, spec
		return EVProfile{before, status}, nil
	}
	if err := w.core.SetOverride(name, overrideOf(spec)); err != nil {
		return EVProfile{}, &intent.Error{Code: intent.CodeNotPlannable, Message: err.Error()}
	}
	p := intent.EVProfile{Name: name, Version: w.next(), Created: before.Created, Spec: spec}
	if !known {
		p.Created = w.now()
	}
	w.profiles[name] = p
	w.save(profilePrefix+name, p)
	status, _ = w.core.Profile(name)
	return EVProfile{p, status}, nil
}

// deleteProfile is Runner.DeleteEVProfile.
func (w *wanted) deleteProfile(name string, pre controller.Precondition) error {
	before, known := w.profiles[name]
	if _, there := w.core.Profile(name); !there && !known {
		return notFound("there is no EV profile %q", name)
	}
	if err := check(fmt.Sprintf("EV profile %q", name), before.Version, pre); err != nil || !known {
		return err
	}
	if err := w.core.SetOverride(name, Override{}); err != nil {
		return err
	}
	delete(w.profiles, name)
	w.next()
	w.save(profilePrefix+name, nil)
	return nil
}

// putCC is Runner.PutCCProfile.
func (w *wanted) putCC(name string, spec intent.CCProfileSpec, pre controller.Precondition) (p intent.CCProfile, created bool, err error) {
	spec = spec.Complete()
	before, known := w.cc[name]
	if err := check(fmt.Sprintf("CC profile %q", name), before.Version, pre); err != nil {
		return p, false, err
	}
	if known && before.Spec == spec {
		return before, false, nil
	}
	if err := intent.ValidateCCProfile(name, &spec); err != nil {
		return p, false, err
	}
	if !known && len(w.cc) == hostapi.MaxCCProfiles {
		return p, false, &intent.Error{Code: intent.CodeLimit, Message: fmt.Sprintf("there are %d CC profiles, and may be no more", len(w.cc))}
	}
	p = intent.CCProfile{Name: name, Version: w.revision + 1, Created: before.Created, Spec: spec}
	if !known {
		p.Created = w.now()
	}
	if pre.Trial != nil {
		return p, !known, nil
	}
	p.Version = w.next()
	w.cc[name] = p
	w.save(ccPrefix+name, p)
	w.tellCC()
	return p, !known, nil
}

// deleteCC is Runner.DeleteCCProfile.
func (w *wanted) deleteCC(name string, pre controller.Precondition) error {
	before, known := w.cc[name]
	if !known {
		return notFound("there is no CC profile %q", name)
	}
	if err := check(fmt.Sprintf("CC profile %q", name), before.Version, pre); err != nil {
		return err
	}
	for _, by := range slices.Sorted(maps.Keys(w.profiles)) {
		if w.profiles[by].Spec.CCProfile == name {
			return &intent.Error{Code: intent.CodeConflict, Message: fmt.Sprintf("CC profile %q is that of EV profile %q", name, by)}
		}
	}
	delete(w.cc, name)
	w.next()
	w.save(ccPrefix+name, nil)
	w.tellCC()
	return nil
}

// tellCC tells the core which CC profiles there are.
func (w *wanted) tellCC() {
	all := make([]*hostapi.CCProfile, 0, len(w.cc))
	for _, p := range w.cc {
		all = append(all, p.Spec.Host(p.Name))
	}
	w.core.SetCC(all)
}

// link is a link with what is wanted of it.
func (w *wanted) link(s LinkStatus) LinkResource {
	return LinkResource{Admin: w.admin(Target{Link: s.ID}), Status: s}
}

// node is a switch with what is wanted of it.
func (w *wanted) node(s NodeStatus) NodeResource {
	return NodeResource{Admin: w.admin(Target{Node: s.ID}), Status: s}
}

// host is a host with what is wanted of its ports.
func (w *wanted) host(s HostStatus) HostResource {
	out := HostResource{HostStatus: s, Ports: make([]intent.Admin, len(s.At)+1)}
	for port := 1; port < len(out.Ports); port++ {
		out.Ports[port] = w.admin(Target{Host: s.Name, Port: uint8(port)})
	}
	return out
}
