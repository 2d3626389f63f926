package mrc

import (
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// A Page is a part of a list: of what comes after a key, the first so many. What
// is not part of it is not copied.
type Page struct {
	After string // "" is the beginning
	Limit int    // 0 is all
}

func (p Page) full(n int) bool { return p.Limit > 0 && n >= p.Limit }

// isCalled reports whether a node has an id or shows a name.
func (c *Core) isCalled(id topology.NodeID, name string) bool {
	if string(id) == name {
		return true
	}
	f := c.state.Fabric()
	return f != nil && fabric.NameOf(f.Snapshot(), id) == name && name != ""
}

// Probes returns what probes have shown, by profile and EV.
func (c *Core) Probes() []api.EVProbe {
	out, _ := c.ProbePage(api.EVProbeFilter{}, Page{})
	return out
}

// ProbeKey is what EVs are ordered and continued by.
func ProbeKey(p *api.EVProbe) string { return p.Profile + " " + p.EV }

// ProbePage returns what probes have shown by profile and EV, and whether there is more. A key of
// an EV that is gone is the place where it was.
func (c *Core) ProbePage(f api.EVProbeFilter, page Page) (out []api.EVProbe, more bool) {
	out = []api.EVProbe{}
	name, text, _ := strings.Cut(page.After, " ")
	after, err := hostapi.ParseEV(text)
	resumed := err == nil
	from := c.profiles.after(name)
	if from > 0 && c.profiles.all[from-1].name == name {
		from-- // the rest of its cells
	}
	for _, p := range c.profiles.all[from:] {
		if f.Profile != "" && p.name != f.Profile {
			continue
		}
		var rest *hostapi.EV
		if resumed && p.name == name {
			rest = &after
		}
		for v := range p.probed.Probes(p.name, f, rest, c.wall) {
			if page.full(len(out)) {
				return out, true
			}
			out = append(out, v)
		}
	}
	return out, false
}
