package multipath

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/hostapi"
)

// A Wish is what one profile is to have instead of what the configuration says.
// The zero value is nothing.
type Wish struct {
	Mode              hostapi.Mode
	MaxEVs, MinActive int
	// CC is the name of a CC profile.
	CC string
}

// SetWish says what the profile of a name is to have. One with which the profile
// could not be built is refused; a profile that is not there may come.
func (c *Core) SetWish(name string, w Wish) error {
	c.settle()
	before := c.wishes[name]
	if w == before {
		return nil
	}
	if w.CC != "" && c.ccProfile(w.CC) == nil {
		return fmt.Errorf("profile %s: CC profile %.80q: %w", name, w.CC, ErrUnknownCC)
	}
	if err := c.CheckWish(name, w); err != nil {
		return err
	}
	if w == (Wish{}) {
		delete(c.wishes, name)
	} else {
		c.wishes[name] = w
	}
	if p := c.byName[name]; p != nil {
		c.build(p)
		c.dirty[p], p.from.dirty = true, true
	}
	return nil
}

// CheckWish builds the profile of a name as it would be, if it is there.
func (c *Core) CheckWish(name string, w Wish) error {
	p := c.byName[name]
	if p == nil || c.fabric == nil {
		return nil
	}
	_, err := c.fabric.assign.Build(c.request(p, w))
	return err
}

// Wishes returns what is wished for, by profile.
func (c *Core) Wishes() map[string]Wish { return maps.Clone(c.wishes) }

// SetCC says which CC profiles hosts hold. One that a wish names must be among
// them; while the one of the configuration is not, devices choose.
func (c *Core) SetCC(profiles []*hostapi.CCProfile) error {
	c.settle()
	next := slices.SortedFunc(slices.Values(profiles), func(a, b *hostapi.CCProfile) int { return cmp.Compare(a.Name, b.Name) })
	if _, err := hostapi.NewState(hostapi.State{CC: next}); err != nil {
		return err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(next, func(p *hostapi.CCProfile) bool { return p.Name == name })
	}
	for _, name := range slices.Sorted(maps.Keys(c.wishes)) {
		if w := c.wishes[name]; w.CC != "" && !has(w.CC) {
			return fmt.Errorf("CC profile %s: profile %s has it: %w", w.CC, name, ErrInUse)
		}
	}
	before := c.ccProfile(c.cfg.CCProfile) != nil
	c.cfg.CC = next
	for _, s := range c.senders {
		s.dirty = true
	}
	if before == has(c.cfg.CCProfile) {
		return nil
	}
	for _, p := range c.profiles {
		if p.err == nil {
			p.built = c.finish(p, p.built)
			if p.explicit != nil {
				p.explicit = c.finish(p, p.explicit)
			}
			c.dirty[p] = true
		}
	}
	return nil
}

// ccProfile returns the CC profile of a name, nil when there is none.
func (c *Core) ccProfile(name string) *hostapi.CCProfile {
	for _, p := range c.cfg.CC {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// ccOf is the name of the CC profile of a profile, empty for the device's choice.
func (c *Core) ccOf(profile string) string {
	if w := c.wishes[profile]; w.CC != "" {
		return w.CC
	}
	if c.ccProfile(c.cfg.CCProfile) == nil {
		return ""
	}
	return c.cfg.CCProfile
}
