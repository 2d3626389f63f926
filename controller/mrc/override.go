package mrc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
)

// An Override is what one profile has that is not as the Config says. The zero
// value is nothing.
type Override struct {
	// Mode is who makes the EVs; 0: the choice of [ev.Assignment.Build].
	Mode hostapi.Mode
	// MaxEVs and MinActive; 0: those of the Config.
	MaxEVs, MinActive int
	// CC is the name of the CC profile; empty: that of the Config.
	CC string
}

// SetOverride sets what a profile has of its own, whether or not it is there
// now. It is an error, and changes nothing, when the profile could not be made
// so of the fabric as it is when nothing is lost.
func (c *Core) SetOverride(name string, o Override) error {
	c.settle()
	if c.profiles.byName[name] != nil && o != (Override{}) {
		if _, err := c.countOf(name, o); err != nil {
			return err
		}
	}
	c.putOverride(name, o)
	return nil
}

// putOverride is SetOverride of one that was accepted. A profile that cannot be made with it now
// shows that in its status.
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

// countOf is the number of EVs that a profile would have with an override.
func (c *Core) countOf(name string, o Override) (int, error) {
	c.settle()
	b, err := c.profiles.buildAs(c.profiles.byName[name], o)
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
}

// setCC is Core.SetCC.
func (ps *profileSet) setCC(all []*hostapi.CCProfile) {
	ps.cc = slices.SortedFunc(slices.Values(all), func(a, b *hostapi.CCProfile) int { return cmp.Compare(a.Name, b.Name) })
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
			return nil, fmt.Errorf("profile %s: mode: %v, and the hosts cannot (ev_mode_mask %#x): %w", p.name, o.Mode, caps.EVModes, fabric.ErrMalformed)
		}
		caps.EVModes = hostapi.Modes(o.Mode)
	}
	b, err := ps.state.Assignment().Build(ev.Request{
		Pair: ev.Pair{Source: p.from.rack.At(), Destination: p.to.At()}, Name: p.name, Capabilities: &caps,
		MaxEVs: cmp.Or(o.MaxEVs, ps.cfg.MaxEVs), Explicit: ps.cfg.Explicit && o.Mode == 0,
	})
	if err != nil {
		return nil, err
	}
	if o.Mode != 0 && b.Profile.Mode != o.Mode {
		return nil, fmt.Errorf("profile %s: mode: %v, and its EVs can only be %v: %w", p.name, o.Mode, b.Profile.Mode, fabric.ErrMalformed)
	}
	if o.MinActive > b.Profile.Count {
		return nil, fmt.Errorf("profile %s: minActive: %d, want at most %d, its EVs: %w", p.name, o.MinActive, b.Profile.Count, fabric.ErrMalformed)
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
