package mrc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/controller/mrc/ev"
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
	p := c.byName[name]
	if p != nil && o != (Override{}) {
		if _, err := c.buildAs(p, o); err != nil {
			return err
		}
	}
	if o == (Override{}) {
		delete(c.overrides, name)
	} else {
		c.overrides[name] = o
	}
	if p != nil {
		c.build(p)
		c.dirty[p] = true
	}
	return nil
}

// SetCC replaces the CC profiles that all hosts hold. They must be valid, and
// their names unique.
func (c *Core) SetCC(all []*hostapi.CCProfile) {
	c.cc = slices.SortedFunc(slices.Values(all), func(a, b *hostapi.CCProfile) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range c.profiles {
		if p.err != nil {
			continue
		}
		p.built = c.finish(p, p.built)
		if p.explicit != nil {
			p.explicit = c.finish(p, p.explicit)
		}
		c.dirty[p] = true
	}
	for _, s := range c.senders {
		s.dirty = true
	}
}

func (c *Core) overrideOf(p *profile) Override { return c.overrides[p.name] }

// build makes a profile for the fabric; as the Config says, when what it is to
// have of its own cannot be.
func (c *Core) build(p *profile) {
	o := c.overrideOf(p)
	p.spurned = ""
	p.built, p.err = c.buildAs(p, o)
	if p.err != nil && o != (Override{}) {
		p.spurned = p.err.Error()
		p.built, p.err = c.buildAs(p, Override{CC: o.CC})
	}
	p.explicit, p.noOther, p.dirty = nil, "", true
	p.paths = nil
}

// buildAs makes a profile as an override says.
func (c *Core) buildAs(p *profile, o Override) (*ev.Built, error) {
	caps := p.from.caps
	if o.Mode != 0 {
		if !caps.HasMode(o.Mode) {
			return nil, fmt.Errorf("profile %s: mode: %v, and the hosts cannot (ev_mode_mask %#x): %w", p.name, o.Mode, caps.EVModes, ErrMalformed)
		}
		caps.EVModes = hostapi.Modes(o.Mode)
	}
	b, err := c.fabric.assign.Build(ev.Request{
		Pair: ev.Pair{Source: p.from.rack.at, Destination: p.to.at}, Name: p.name, Capabilities: &caps,
		MaxEVs: cmp.Or(o.MaxEVs, c.cfg.MaxEVs), Explicit: c.cfg.Explicit && o.Mode == 0,
	})
	if err != nil {
		return nil, err
	}
	if o.Mode != 0 && b.Profile.Mode != o.Mode {
		return nil, fmt.Errorf("profile %s: mode: %v, and its EVs can only be %v: %w", p.name, o.Mode, b.Profile.Mode, ErrMalformed)
	}
	if o.MinActive > b.Profile.Count {
		return nil, fmt.Errorf("profile %s: minActive: %d, want at most %d, its EVs: %w", p.name, o.MinActive, b.Profile.Count, ErrMalformed)
	}
	return c.finish(p, b), nil
}

// finish fills in what is not the fabric's business.
func (c *Core) finish(p *profile, b *ev.Built) *ev.Built {
	o := c.overrideOf(p)
	q := *b.Profile
	q.Destinations, q.CC = p.to.dests, cmp.Or(o.CC, c.cfg.CCProfile)
	if !slices.ContainsFunc(c.cc, func(cc *hostapi.CCProfile) bool { return cc.Name == q.CC }) {
		q.CC = "" // until there is one
	}
	if n := cmp.Or(o.MinActive, c.cfg.MinActive); n > 0 {
		q.MinActive = min(n, q.Count)
	}
	q.Events = p.from.caps.OptAttr&hostapi.OptEVEvent != 0
	return b.With(&q)
}

// countOf is the number of EVs that a profile would have with an override.
func (c *Core) countOf(name string, o Override) (int, error) {
	c.settle()
	b, err := c.buildAs(c.byName[name], o)
	if err != nil {
		return 0, err
	}
	return b.Profile.Count, nil
}
