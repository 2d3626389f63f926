package mrc

import (
	"context"

	"github.com/weft-sdn/weft/hostapi"
)

// ProfileSample is what the EVs of a profile carried so far, and how many of them can be used.
type ProfileSample struct {
	Name string
	// Sent and Lost are packets since the controller began to decide, as all hosts of the profile count
	// them. A packet that a switch trimmed is not lost.
	Sent, Lost uint64
	// Active EVs are those that are left, Denied those that hosts must not use, AssumedBad those that
	// some host has found bad by itself.
	Active, Denied, AssumedBad int
}

// Samples returns what is known of the EVs of each profile that hosts hold, by name.
func (c *Core) Samples() []ProfileSample {
	c.settle()
	type key struct {
		profile string
		ev      hostapi.EV
	}
	assumed := make(map[key]bool)
	bad := make(map[string]int)
	for _, h := range c.hosts.byName {
		for profile, e := range h.AssumedBad() {
			if k := (key{profile, e}); !assumed[k] {
				assumed[k] = true
				bad[profile]++
			}
		}
	}
	out := make([]ProfileSample, 0, len(c.profiles.all))
	for _, p := range c.profiles.all {
		carried := p.probed.Carried()
		s := ProfileSample{
			Name: p.name, Sent: carried.Sent, Lost: carried.Lost,
			Active: p.outcome.Active, AssumedBad: bad[p.name],
		}
		if q := p.outcome.Profile; q != nil {
			s.Denied = len(q.Denied)
			if q.Mode != hostapi.ModeAuto {
				out = append(out, s)
			}
		}
	}
	return out
}

// Samples is [Core.Samples].
func (r *Runner) Samples(ctx context.Context) (out []ProfileSample, err error) {
	err = r.ledger.Do(ctx, func() { out = r.core.Samples() })
	return out, err
}
