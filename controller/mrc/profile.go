package mrc

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// A profile is the EVs of a sender to a rack.
type profile struct {
	name string
	from *sender
	to   *rack

	built    *ev.Built
	err      error     // why there is none
	explicit *ev.Built // instead of a generated one of which too little is left; nil: not made yet
	noOther  string    // why there is none
	spurned  string    // why its override has no effect
	outcome  ev.Outcome
	since    time.Duration // of outcome.Degraded
	dirty    bool

	paths map[hostapi.EV]pathOf // of EVs that hosts spoke of
	cells map[hostapi.EV]*Cell
	next  int // of the round of probes
}

// pathOf is what is known of the path of an EV.
type pathOf struct {
	links []topology.LinkID // nil: a switch chooses
	id    map[string]suspect.PathID
}

// under finds what a profile comes to under the present losses, and reports
// whether that is something else than before.
func (c *Core) under(p *profile, lost *topology.LostWays) bool {
	before := p.outcome
	p.dirty = false
	defer func() {
		if before.Degraded != p.outcome.Degraded {
			p.since = c.now
		}
	}()
	if p.err != nil {
		p.outcome = ev.Outcome{Degraded: p.err.Error()}
		return before.Profile != nil
	}
	out, err := p.built.Under(lost)
	if err == nil && out.Active < p.built.Profile.MinActive && p.built.Profile.Mode == hostapi.ModeGenerated && c.overrideOf(p).Mode == 0 {
		out, err = c.insteadOf(p, out, lost)
	}
	if err != nil {
		p.err = err
		p.outcome = ev.Outcome{Degraded: err.Error()}
		return before.Profile != nil
	}
	if p.spurned != "" {
		out.Degraded = strings.TrimPrefix(out.Degraded+"; what is wanted of it cannot be: "+p.spurned, "; ")
	}
	if before.Profile != nil && before.Profile.Equal(out.Profile) {
		out.Profile = before.Profile
	}
	p.outcome = out
	if before.Degraded != out.Degraded {
		c.event(api.EventEVProfileChanged, p.name, map[bool]string{true: "as it should be", false: "degraded: " + out.Degraded}[out.Degraded == ""])
	}
	return before.Profile != out.Profile
}

// insteadOf makes a generated profile explicit when that leaves more EVs.
func (c *Core) insteadOf(p *profile, generated ev.Outcome, lost *topology.LostWays) (ev.Outcome, error) {
	if p.explicit == nil && p.noOther == "" {
		o := c.overrideOf(p)
		o.Mode = cmp.Or(o.Mode, hostapi.ModeExplicit)
		b, err := c.buildAs(p, o)
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
	out, err := p.explicit.Under(lost)
	if err != nil || out.Active <= generated.Active {
		generated.Degraded += "; it stays generated: explicit EVs would be no more"
		return generated, err
	}
	out.Degraded = fmt.Sprintf("explicit, as %d of %d generated EVs are left, want %d", generated.Active, p.built.Profile.Count, p.built.Profile.MinActive)
	return out, nil
}

// holds returns the profile that has an EV: the present one, or one that hosts
// had or may have otherwise.
func (p *profile) holds(v hostapi.EV) *hostapi.Profile {
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

// planeOf is the plane of a rack's port.
func (c *Core) planeOf(leaf topology.NodeID, port uint8) int {
	planes := c.fabric.clos.PlanesOf(leaf)
	if len(planes) == 1 {
		return planes[0]
	}
	return int(port)
}

// pathSet returns the paths of a port of a profile; ok is false when there is none.
func (c *Core) pathSet(p *profile, port uint8) (set topology.PathSet, ok bool) {
	i := int(port) - 1
	src, dst := p.from.rack.at, p.to.at
	if i < 0 || i >= len(src) || i >= len(dst) || src[i] == "" || dst[i] == "" {
		return topology.PathSet{}, false
	}
	set, err := c.fabric.clos.Paths(src[i], dst[i], c.planeOf(src[i], port))
	return set, err == nil && set.Hops() >= 0
}
