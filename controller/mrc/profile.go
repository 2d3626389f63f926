package mrc

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/prove"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// A profile is the EVs of a sender to a rack.
type profile struct {
	name string
	from *sender
	to   *fabric.Rack

	built    *ev.Built
	err      error     // why there is none
	explicit *ev.Built // instead of a generated one of which too little is left; nil: not made yet
	noOther  string    // why there is none
	spurned  string    // why its override has no effect
	outcome  ev.Outcome
	since    time.Duration // of outcome.Degraded

	probed *prove.Profile
}

// profileSet holds the EV profiles of all senders.
type profileSet struct {
	*env
	cfg *inventory.MRC

	all      []*profile // by name
	byName   map[string]*profile
	bySource map[topology.NodeID][]*profile // by leaf
	byDest   map[topology.NodeID][]*profile
	dirty    map[*profile]bool // whose outcome may have changed

	overrides map[string]Override // by profile
	cc        []*hostapi.CCProfile

	talk    talk
	senders []*sender      // of the last renewal
	racks   []*fabric.Rack // likewise
}

func newProfiles(e *env, cfg *inventory.MRC) *profileSet {
	return &profileSet{
		env: e, cfg: cfg, byName: make(map[string]*profile), dirty: make(map[*profile]bool),
		overrides: make(map[string]Override), talk: talk{all: !cfg.ProfilesOfJobs()},
	}
}

// renew makes the profiles from all senders to the racks that they may send to, and drops all other
// profiles. Existing profiles stay as they are. The destinations of stale racks have changed.
// rackOf returns where a host is attached.
func (ps *profileSet) renew(
	senders []*sender, racks, stale []*fabric.Rack, rackOf func(host string) *fabric.Rack,
) {
	ps.finishAll(func(p *profile) bool { return slices.Contains(stale, p.to) })
	ps.senders, ps.racks = senders, racks
	ps.talk.find(racks, rackOf)
	own := ps.overridden()
	var all []*profile
	for _, s := range senders {
		wanted := racks
		if !ps.talk.all {
			wanted = ps.talk.from(s, own[s.rack.Name()], racks)
		}
		is := make(map[*fabric.Rack]bool, len(wanted))
		for _, r := range wanted {
			is[r] = true
		}
		for to := range s.profiles {
			if !is[to] {
				for _, h := range s.hosts {
					h.Forget(s.profiles[to].name)
				}
				delete(s.profiles, to)
				s.dirty = true
			}
		}
		s.ordered = s.ordered[:0]
		for _, r := range wanted {
			p := s.profiles[r]
			if p == nil {
				p = &profile{name: s.profileTo(r), from: s, to: r}
				p.probed = prove.NewProfile(s.group, r, p)
				ps.build(p)
				s.profiles[r] = p
				s.dirty = true
			}
			all = append(all, p)
			s.ordered = append(s.ordered, p)
		}
		slices.SortFunc(s.ordered, func(a, b *profile) int { return cmp.Compare(a.name, b.name) })
		probed := make([]*prove.Profile, len(s.ordered))
		for i, p := range s.ordered {
			probed[i] = p.probed
		}
		s.group.SetProfiles(probed)
	}
	slices.SortFunc(all, func(a, b *profile) int { return natural.Compare(a.name, b.name) })
	ps.all, ps.byName = all, make(map[string]*profile, len(all))
	ps.bySource, ps.byDest = make(map[topology.NodeID][]*profile), make(map[topology.NodeID][]*profile)
	for _, p := range all {
		ps.byName[p.name] = p
		for _, leaf := range distinct(p.from.rack.At()) {
			ps.bySource[leaf] = append(ps.bySource[leaf], p)
		}
		for _, leaf := range distinct(p.to.At()) {
			ps.byDest[leaf] = append(ps.byDest[leaf], p)
		}
	}
	for p := range ps.dirty {
		if ps.byName[p.name] != p {
			delete(ps.dirty, p)
		}
	}
}

// distinct are the leaves of an attachment, each once.
func distinct(at ev.Attachment) []topology.NodeID {
	out := slices.DeleteFunc(slices.Clone(at), func(leaf topology.NodeID) bool { return leaf == "" })
	slices.Sort(out)
	return slices.Compact(out)
}

// after is the place of the first profile after a name.
func (ps *profileSet) after(name string) int {
	return sort.Search(len(ps.all),
		func(i int) bool { return natural.Compare(ps.all[i].name, name) > 0 })
}

// crossing returns the profiles with EVs that may cross a link. Where paths climb by the link, the
// profiles have senders below the link, else receivers below.
func (ps *profileSet) crossing(
	e *fabric.Edge,
) (at map[topology.NodeID][]*profile, leaves []topology.NodeID) {
	if e.Rises() {
		return ps.bySource, e.Leaves()
	}
	return ps.byDest, e.Leaves()
}

// linkChanged and leafChanged note the profiles whose EVs cross a link, or start or
// end at a leaf.
func (ps *profileSet) linkChanged(e *fabric.Edge) {
	at, leaves := ps.crossing(e)
	for _, leaf := range leaves {
		for _, p := range at[leaf] {
			ps.dirty[p] = true
		}
	}
}

func (ps *profileSet) leafChanged(leaf topology.NodeID) {
	for _, p := range ps.bySource[leaf] {
		ps.dirty[p] = true
	}
	for _, p := range ps.byDest[leaf] {
		ps.dirty[p] = true
	}
}

// settle finds what dirty profiles come to.
func (ps *profileSet) settle(d *fabric.Denial) {
	for _, p := range slices.SortedFunc(maps.Keys(ps.dirty),
		func(a, b *profile) int { return cmp.Compare(a.name, b.name) }) {
		if ps.under(p, d) {
			p.from.dirty = true
		}
	}
	clear(ps.dirty)
}

// under finds what a profile comes to under the present losses, and reports
// whether that is something else than before.
func (ps *profileSet) under(p *profile, d *fabric.Denial) bool {
	before := p.outcome
	defer func() {
		if before.Degraded == p.outcome.Degraded {
			return
		}
		p.since = ps.now
		what, says := "as it should be", api.EventFields{State: api.StateWhole}
		if p.outcome.Degraded != "" {
			what = "degraded: " + p.outcome.Degraded
			says = api.EventFields{State: api.StateDegraded, Reason: p.outcome.Degraded}
		}
		ps.event(api.EventEVProfileChanged, p.name, what, says)
	}()
	if p.err != nil {
		p.outcome = ev.Outcome{Degraded: p.err.Error()}
		return before.Profile != nil
	}
	out, err := d.Built(p.built)
	if err == nil && out.Active < p.built.Profile.MinActive &&
		p.built.Profile.Mode == hostapi.ModeGenerated && ps.overrides[p.name].Mode == 0 {
		out, err = ps.insteadOf(p, out, d)
	}
	if err != nil {
		p.err = err
		p.outcome = ev.Outcome{Degraded: err.Error()}
		return before.Profile != nil
	}
	if p.spurned != "" {
		out.Degraded = strings.TrimPrefix(out.Degraded+"; what is wanted of it cannot be: "+p.spurned,
			"; ")
	}
	if before.Profile != nil && before.Profile.Equal(out.Profile) {
		out.Profile = before.Profile
	}
	p.outcome = out
	return before.Profile != out.Profile
}

// insteadOf makes a generated profile explicit when that leaves more EVs.
func (ps *profileSet) insteadOf(
	p *profile, generated ev.Outcome, d *fabric.Denial,
) (ev.Outcome, error) {
	if p.explicit == nil && p.noOther == "" {
		o := ps.overrides[p.name]
		o.Mode = cmp.Or(o.Mode, hostapi.ModeExplicit)
		b, err := ps.buildAs(p, o)
		if err != nil {
			p.noOther = err.Error()
		} else {
			p.explicit = b
		}
	}
	if p.explicit == nil {
		generated.Degraded += "; it stays generated: " + p.noOther
		return generated, nil
	}
	out, err := d.Built(p.explicit)
	if err != nil || out.Active <= generated.Active {
		generated.Degraded += "; it stays generated: explicit EVs would be no more"
		return generated, err
	}
	out.Degraded = fmt.Sprintf("explicit, as %d of %d generated EVs are left, want %d",
		generated.Active, p.built.Profile.Count, p.built.Profile.MinActive)
	return out, nil
}

// Named implements prove.Profiles.
func (ps *profileSet) Named(name string) *prove.Profile {
	if p := ps.byName[name]; p != nil {
		return p.probed
	}
	return nil
}

func (ps *profileSet) at(leaf topology.NodeID, sending bool) []*profile {
	if sending {
		return ps.bySource[leaf]
	}
	return ps.byDest[leaf]
}

// Count implements prove.Profiles.
func (ps *profileSet) Count(leaf topology.NodeID, sending bool) int {
	return len(ps.at(leaf, sending))
}

// At implements prove.Profiles.
func (ps *profileSet) At(leaf topology.NodeID, sending bool, n int) *prove.Profile {
	return ps.at(leaf, sending)[n].probed
}

// Built implements prove.EVs.
func (p *profile) Built() *hostapi.Profile {
	if p.err != nil {
		return nil
	}
	return p.built.Profile
}

// Held implements prove.EVs.
func (p *profile) Held() *hostapi.Profile {
	if p.err != nil {
		return nil
	}
	return p.outcome.Profile
}

// With implements prove.EVs: it returns the profile that contains an EV: the present profile, or a
// profile that hosts had or may have.
func (p *profile) With(v hostapi.EV) *hostapi.Profile {
	switch {
	case p.outcome.Profile != nil && p.outcome.Profile.Has(v):
		return p.outcome.Profile
	case p.err == nil && p.built.Profile.Has(v):
		return p.built.Profile
	case p.explicit != nil && p.explicit.Profile.Has(v):
		return p.explicit.Profile
	}
	return nil
}

// paths returns the paths of a port of a profile; ok is false when there is none.
func (ps *profileSet) paths(p *profile, port uint8) (set topology.PathSet, ok bool) {
	return ps.state.Fabric().PathSet(p.from.rack.At(), p.to.At(), port)
}

// severed returns two hosts of a profile that can reach each other under the denial before and
// cannot under the denial after; a is nil when there are no such hosts. usable returns the usable
// ports of a host after; nil: the ports that are usable now.
func (p *profile) severed(
	before, after *fabric.Denial, usable func(*fabric.Attached) hostapi.PortMask,
) (a, b *fabric.Attached) {
	now, then := before.PortsLeft(p.from.rack, p.to), after.PortsLeft(p.from.rack, p.to)
	if usable == nil {
		if now == then {
			return nil, nil
		}
		usable = (*fabric.Attached).Usable
	}
	for _, a := range p.from.rack.Hosts() {
		for _, b := range p.to.Hosts() {
			if a != b && now&a.Usable()&b.Usable() != 0 && then&usable(a)&usable(b) == 0 {
				return a, b
			}
		}
	}
	return nil, nil
}

// takes returns what a drain of a target takes from hosts and EV profiles: the ports, as planes,
// by which they have no path left. It lists at most [api.MostTaken].
func (c *Core) takes(t Target, places []int32) (out []api.Taken) {
	if c.state.Fabric() == nil || c.drains.index(t) >= 0 {
		return nil
	}
	if h := c.hosts.byName[t.Host]; h != nil {
		usable := h.Usable()
		if usable&hostapi.Ports(int(t.Port)) == 0 {
			return nil
		}
		return []api.Taken{{Kind: "host", Name: t.Host, Object: "hosts/" + t.Host,
			Reason: api.ReasonTaken, Message: fmt.Sprintf("it keeps %d of %d usable ports",
				bits.OnesCount32(uint32(usable))-1, bits.OnesCount32(uint32(usable)))}}
	}
	before, after := c.state.Denial(), c.state.Denial(c.lossesOf(t, places))
	for _, p := range c.profiles.all {
		now := before.PortsLeft(p.from.rack, p.to)
		then := after.PortsLeft(p.from.rack, p.to)
		if now == then || len(out) == api.MostTaken {
			continue
		}
		out = append(out, api.Taken{Kind: EVProfileKind.Noun, Name: p.name,
			Object: "ev-profiles/" + p.name, Reason: api.ReasonTaken,
			Message: fmt.Sprintf("it keeps paths in %d of %d planes", bits.OnesCount32(uint32(then)),
				bits.OnesCount32(uint32(now)))})
	}
	return out
}

// fewer returns what a write of the settings of an EV profile takes from its hosts.
func (c *Core) fewer(name string, o Override) []api.Taken {
	p := c.profiles.named(name)
	if p == nil || p.Built() == nil {
		return nil
	}
	then, err := c.countOf(name, o)
	if now := p.Built().Count; err == nil && then < now {
		return []api.Taken{{Kind: "hosts of EV profile", Name: name, Object: "ev-profiles/" + name,
			Reason: api.ReasonTaken, Message: fmt.Sprintf("they keep %d of %d EVs", then, now)}}
	}
	return nil
}

// An Override holds the settings of one profile that differ from the Config. The zero value changes
// nothing.
type Override struct {
	// Mode defines who makes the EVs; 0: [ev.Assignment.Build] chooses.
	Mode hostapi.Mode
	// MaxEVs and MinActive; 0: the values of the Config.
	MaxEVs, MinActive int
	// CC is the name of the CC profile; empty: the name in the Config.
	CC string
}

// SetOverride sets the override of a profile, even of a profile that does not exist now. It fails,
// and changes nothing, when the fabric without losses does not allow the profile with this
// override.
func (c *Core) SetOverride(name string, o Override) error {
	c.settle()
	if c.profiles.named(name) != nil && o != (Override{}) {
		if _, err := c.countOf(name, o); err != nil {
			return err
		}
	}
	c.putOverride(name, o)
	return nil
}

// putOverride sets an override that was accepted. If the profile cannot be made with the override
// now, its status says so.
func (c *Core) putOverride(name string, o Override) {
	c.settle()
	c.profiles.setOverride(name, o)
}

// SetCC replaces the CC profiles that all hosts hold. They must be valid, and
// their names unique.
func (c *Core) SetCC(all []*hostapi.CCProfile) {
	c.profiles.setCC(all)
	c.hosts.dirtyAll()
}

// countOf returns the number of EVs in a profile with an override.
func (c *Core) countOf(name string, o Override) (int, error) {
	c.settle()
	b, err := c.profiles.buildAs(c.profiles.named(name), o)
	if err != nil {
		return 0, err
	}
	return b.Profile.Count, nil
}

// setOverride is Core.putOverride.
func (ps *profileSet) setOverride(name string, o Override) {
	if o == (Override{}) {
		delete(ps.overrides, name)
	} else {
		ps.overrides[name] = o
	}
	if p := ps.byName[name]; p != nil {
		ps.build(p)
	}
	ps.talk.changed = ps.talk.changed || !ps.talk.all
}

// setCC is Core.SetCC.
func (ps *profileSet) setCC(all []*hostapi.CCProfile) {
	ps.cc = slices.SortedFunc(slices.Values(all),
		func(a, b *hostapi.CCProfile) int { return cmp.Compare(a.Name, b.Name) })
	ps.finishAll(func(*profile) bool { return true })
}

// buildAll makes all profiles anew, for another fabric.
func (ps *profileSet) buildAll() {
	for _, p := range ps.all {
		ps.build(p)
	}
}

// build makes a profile for the fabric. When its override cannot be, the profile is as
// the Config says.
func (ps *profileSet) build(p *profile) {
	o := ps.overrides[p.name]
	p.spurned = ""
	p.built, p.err = ps.buildAs(p, o)
	if p.err != nil && o != (Override{}) {
		p.spurned = p.err.Error()
		p.built, p.err = ps.buildAs(p, Override{CC: o.CC})
	}
	p.explicit, p.noOther = nil, ""
	p.probed.Rebuilt()
	ps.dirty[p] = true
}

// buildAs makes a profile as an override says.
func (ps *profileSet) buildAs(p *profile, o Override) (*ev.Built, error) {
	caps := p.from.caps
	if o.Mode != 0 {
		if !caps.HasMode(o.Mode) {
			return nil, fmt.Errorf("profile %s: mode: %v, and the hosts cannot (ev_mode_mask %#x): %w",
				p.name, o.Mode, caps.EVModes, fabric.ErrMalformed)
		}
		caps.EVModes = hostapi.Modes(o.Mode)
	}
	b, err := ps.state.Assignment().Build(ev.Request{
		Pair: ev.Pair{Source: p.from.rack.At(), Destination: p.to.At()}, Name: p.name,
		Capabilities: &caps,
		MaxEVs:       cmp.Or(o.MaxEVs, ps.cfg.MaxEVs), Explicit: ps.cfg.Explicit && o.Mode == 0,
	})
	if err != nil {
		return nil, err
	}
	if o.Mode != 0 && b.Profile.Mode != o.Mode {
		return nil, fmt.Errorf("profile %s: mode: %v, and its EVs can only be %v: %w", p.name, o.Mode,
			b.Profile.Mode, fabric.ErrMalformed)
	}
	if o.MinActive > b.Profile.Count {
		return nil, fmt.Errorf("profile %s: minActive: %d, want at most %d, its EVs: %w", p.name,
			o.MinActive, b.Profile.Count, fabric.ErrMalformed)
	}
	return ps.finish(p, b), nil
}

// finishAll finishes profiles of a kind anew.
func (ps *profileSet) finishAll(of func(*profile) bool) {
	for _, p := range ps.all {
		if p.err != nil || !of(p) {
			continue
		}
		p.built = ps.finish(p, p.built)
		if p.explicit != nil {
			p.explicit = ps.finish(p, p.explicit)
		}
		ps.dirty[p] = true
	}
}

// finish fills in what does not follow from the fabric.
func (ps *profileSet) finish(p *profile, b *ev.Built) *ev.Built {
	o := ps.overrides[p.name]
	q := *b.Profile
	q.Destinations, q.CC = p.to.Destinations(), cmp.Or(o.CC, ps.cfg.CCProfile)
	if !slices.ContainsFunc(ps.cc, func(cc *hostapi.CCProfile) bool { return cc.Name == q.CC }) {
		q.CC = "" // until there is one
	}
	if n := cmp.Or(o.MinActive, ps.cfg.MinActive); n > 0 {
		q.MinActive = min(n, q.Count)
	}
	q.Events = p.from.caps.OptAttr&hostapi.OptEVEvent != 0
	return b.With(&q)
}
