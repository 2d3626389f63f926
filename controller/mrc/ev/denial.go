package ev

import (
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// An Outcome is what a profile comes to under losses.
type Outcome struct {
	// Profile is what hosts hold now: the very profile that was built when no EV
	// is lost.
	Profile *hostapi.Profile
	// Active is the number of EVs left. A generated profile counts the share that its fields still
	// make, rounded down. Without any path left, Active is 0.
	Active int
	// Replaced is how many EVs have others in their place.
	Replaced int
	// Degraded has the reason why the profile is less than it was; empty: it is not.
	Degraded string
}

// Under returns the profile under losses. It denies every EV across a lost element, and no other
// EV. When an explicit profile has fewer than MinActive EVs left, EVs over unused paths replace
// denied EVs, as far as any exist.
//
// An EV that leaves a choice to a switch's hash goes with its last path. Until then the switch
// continues over the remaining paths.
//
// The outcome depends only on the profile as built and on the losses: without losses, Under returns
// the profile as built. The losses must refer to the fabric of the profile.
func (b *Built) Under(lost *topology.LostPaths) (Outcome, error) {
	if !lost.Of(b.a.clos) {
		return Outcome{}, fmt.Errorf("profile %s: losses of another fabric than its own: %w",
			b.Profile.Name, ErrMalformed)
	}
	out, err := b.under(lost)
	out.Degraded = strings.Trim(out.Degraded+"; "+b.without, "; ")
	return out, err
}

func (b *Built) under(lost *topology.LostPaths) (Outcome, error) {
	out := Outcome{Profile: b.Profile, Active: b.Profile.Count}
	touched := false
	for i := range b.lanes {
		touched = touched || lost.Touches(b.lanes[i].set)
	}
	switch {
	case !touched || b.a.format.Mode == ModeECMP:
		return out, nil
	case b.Profile.Mode == hostapi.ModeGenerated:
		return b.generatedUnder(lost)
	}
	return b.explicitUnder(lost)
}

// lost reports whether all paths of an EV are lost.
func allLost(lost *topology.LostPaths, set topology.PathSet, refs []topology.PathRef) bool {
	for _, ref := range refs {
		if !lost.Path(set, ref) {
			return false
		}
	}
	return true
}

// laneOf returns the lane of a port, nil when the port has none.
func (b *Built) laneOf(port uint8) *lane {
	for i := range b.lanes {
		if b.lanes[i].port == port {
			return &b.lanes[i]
		}
	}
	return nil
}

func (b *Built) explicitUnder(lost *topology.LostPaths) (Outcome, error) {
	base := b.Profile
	var dead []int
	for i := range base.EVs {
		set := b.laneOf(base.EVs[i].Port).set
		if allLost(lost, set, b.refs[b.first[i]:b.first[i+1]]) {
			dead = append(dead, i)
		}
	}
	out := Outcome{Profile: base, Active: base.Count - len(dead)}
	if len(dead) == 0 {
		return out, nil
	}
	p := *base
	if out.Active < base.MinActive && !b.rangeOnly {
		var err error
		if dead, err = b.replace(&p, dead, lost); err != nil {
			return Outcome{}, err
		}
		out.Replaced = base.Count - len(dead) - out.Active
		out.Active += out.Replaced
	}
	denied := make([]hostapi.EV, 0, len(dead))
	for _, i := range dead {
		denied = append(denied, p.EVs[i])
	}
	out.Profile = p.WithDenied(compact(denied))
	out.Degraded = degraded(out, base)
	return out, nil
}

// replace puts EVs from outside the profile in place of dead EVs, and returns the EVs that remain
// dead.
func (b *Built) replace(p *hostapi.Profile, dead []int, lost *topology.LostPaths) ([]int, error) {
	lanes, _, err := b.a.lanes(b.Pair)
	if err != nil {
		return nil, err
	}
	have := make(map[hostapi.EV]bool, len(p.EVs))
	for _, e := range p.EVs {
		have[e] = true
	}
	evs := append([]hostapi.EV(nil), p.EVs...)
	for _, pick := range interleave(lanes) {
		if len(dead) == 0 {
			break
		}
		l := &lanes[pick.lane]
		c := &l.candidates[pick.candidate]
		if allLost(lost, l.set, c.refs) {
			continue
		}
		e, err := p.Shrink(hostapi.EV{Value: c.wire, Port: l.port})
		if err != nil {
			return nil, err
		}
		if !have[e] {
			evs[dead[0]], dead = e, dead[1:]
		}
	}
	p.EVs = evs
	return dead, nil
}

func (b *Built) generatedUnder(lost *topology.LostPaths) (Outcome, error) {
	base := b.Profile
	var denied []hostapi.EV
	for i := range b.lanes {
		l := &b.lanes[i]
		if !lost.Touches(l.set) {
			continue
		}
		if b.a.format.Mode == ModeStructured && l.set.Straight() {
			up := b.a.halves[memberKey{l.set.Source().ID, l.set.Plane()}].up
			for at := range lost.Straight(l.set) {
				e, err := base.Shrink(hostapi.EV{Value: up[at].value(), Port: l.port})
				if err != nil {
					return Outcome{}, err
				}
				denied = append(denied, e)
			}
			continue
		}
		candidates, err := b.a.candidates(l.set)
		if err != nil {
			return Outcome{}, err
		}
		for _, c := range candidates {
			if allLost(lost, l.set, c.refs) {
				e, err := base.Shrink(hostapi.EV{Value: c.wire, Port: l.port})
				if err != nil {
					return Outcome{}, err
				}
				denied = append(denied, e)
			}
		}
	}
	out := Outcome{Profile: base, Active: base.Count}
	if len(denied) > 0 {
		all := len(b.lanes) * generated(base)
		out.Active = base.Count * (all - len(denied)) / all
		out.Profile = base.WithDenied(denied)
		out.Degraded = degraded(out, base)
	}
	return out, nil
}

// Deny returns a profile from one attachment to another without the EVs whose paths are all lost.
// It returns p itself if p denies these EVs already, or if no EV would remain; last reports the
// second case. The profile may come from another controller's assignment with equal link numbers.
func (a *Assignment) Deny(
	p *hostapi.Profile, pair Pair, lost *topology.LostPaths,
) (q *hostapi.Profile, last bool, err error) {
	if !lost.Of(a.clos) {
		return nil, false, fmt.Errorf("profile %s: losses of another fabric than its own: %w", p.Name,
			ErrMalformed)
	}
	if p.Mode == hostapi.ModeAuto || a.format.Mode == ModeECMP {
		return p, false, nil // no EV names a path: there is nothing to look for
	}
	denied, values := p.Denied, 0
	for i := range min(len(pair.Source), len(pair.Destination)) {
		src, dst, port := pair.Source[i], pair.Destination[i], uint8(i+1)
		if src == "" || dst == "" {
			continue
		}
		values += generated(p)
		set, err := a.paths(src, dst, port)
		if err != nil {
			continue // nothing is known of the port's paths; those of the others may be lost
		}
		if !lost.Touches(set) {
			continue
		}
		candidates, err := a.candidates(set)
		if err != nil {
			return nil, false, fmt.Errorf("profile %s: port %d: %w", p.Name, port, err)
		}
		for _, c := range candidates {
			if !allLost(lost, set, c.refs) {
				continue
			}
			e, err := p.Shrink(hostapi.EV{Value: c.wire, Port: port})
			if err == nil && p.Has(e) && !p.IsDenied(e) {
				denied = append(denied[:len(denied):len(denied)], e)
			}
		}
	}
	if len(denied) == len(p.Denied) {
		return p, false, nil
	}
	q = p.WithDenied(denied)
	if p.Mode == hostapi.ModeGenerated && len(denied) >= values ||
		q.Mode == hostapi.ModeExplicit && q.Active() == 0 {
		return p, true, nil
	}
	return q, false, nil
}

// generated is how many values the fields of a profile make.
func generated(p *hostapi.Profile) int {
	n := 1
	for _, f := range p.Fields {
		n *= int(f.MaxVal-f.MinVal) + 1
	}
	return n
}

// degraded is the reason for a profile that has lost EVs.
func degraded(out Outcome, base *hostapi.Profile) string {
	switch {
	case out.Active == 0:
		return "no path is left"
	case out.Active < base.MinActive:
		return fmt.Sprintf("%d of %d EVs are left, want %d; there is no other path", out.Active,
			base.Count, base.MinActive)
	case out.Replaced > 0:
		return fmt.Sprintf("%d of %d EVs are replaced by other paths, as fewer than %d were left",
			out.Replaced, base.Count, base.MinActive)
	}
	return ""
}

// compact takes copies out of EVs.
func compact(evs []hostapi.EV) []hostapi.EV {
	seen := make(map[hostapi.EV]bool, len(evs))
	out := evs[:0]
	for _, e := range evs {
		if !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	return out
}

// Route returns the path of an EV of the profile, or of a replacement EV. An EV that leads nowhere
// is an error ([ErrNoSuchEV]).
func (b *Built) Route(e hostapi.EV) (*Route, error) {
	if b.a.format.Mode == ModeECMP {
		return nil, ErrUnknownPath
	}
	l := b.laneOf(e.Port)
	if l == nil {
		return nil, fmt.Errorf("EV %v: profile %s has none of port %d: %w", e, b.Profile.Name, e.Port,
			ErrNoSuchEV)
	}
	if b.Profile.Mode == hostapi.ModeGenerated && !b.Profile.Has(e) {
		return nil, fmt.Errorf("EV %v: the fields of profile %s do not make it: %w", e, b.Profile.Name,
			ErrNoSuchEV)
	}
	wire, err := b.Profile.Expand(e)
	if err != nil {
		return nil, fmt.Errorf("EV %v: %w: %w", e, err, ErrNoSuchEV)
	}
	return b.a.Decode(l.set.Source().ID, l.set.Destination().ID, wire.Value)
}
