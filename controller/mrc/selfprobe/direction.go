package selfprobe

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// Which directions of a link lose packets. Probes that cross both cannot tell.
type Direction uint8

const (
	Unknown Direction = iota
	Rising
	Falling
	Both
)

// Directions counts probes that cross one direction of a link alone: index 0 has those up, 1 those
// down.
type Directions struct{ Sent, Lost [2]uint64 }

const (
	// lookers is how many hosts probe the directions of a link that a verdict names.
	lookers = 2
	// surer is the log likelihood ratio at which one direction, or both, is named: an error of 1 %.
	surer = 4.605170185988091
)

// look has hosts probe the directions of a link one by one: up by the link and down by others, and
// the other way round. Paths that do not fit into an EV are left out.
func (p *Planning) look(place int32) {
	leaves := slices.Clone(p.f.Edge(place).Leaves())
	taken := make(map[int]bool)
	for n := 0; n < len(leaves) && len(taken) < lookers; n++ {
		// Hosts at the link itself come first: their ways are the shortest.
		if i := slices.Index(leaves, p.f.Edge(place).Local); i > 0 {
			leaves[0], leaves[i] = leaves[i], leaves[0]
		}
		trip := p.roundTrip(leaves[n], place)
		for s, ok := p.idle(leaves[n], taken); trip != nil && ok && len(taken) < lookers; s, ok =
			p.idle(leaves[n], taken) {
			taken[s.host] = true
			if p.addTrip(s, leaves[n], place, trip) != nil {
				break
			}
		}
	}
}

// addTrip gives a host the probes of both directions of a link.
func (p *Planning) addTrip(s seat, leaf topology.NodeID, place int32, trip []int32) error {
	back, err := p.reverse(trip)
	if err == nil {
		err = p.give(s, Target{Leaf: leaf, Trip: trip, Asks: place}, trip)
	}
	if err == nil {
		err = p.give(s, Target{Leaf: leaf, Trip: back, Asks: p.f.Back(place)}, back)
	}
	return err
}

// roundTrip returns a trip from a leaf over a link up and back to the leaf, or nil. The trip
// crosses neither the opposite direction of the link nor other links that are examined or avoided;
// each of its links has an opposite direction.
func (p *Planning) roundTrip(leaf topology.NodeID, place int32) []int32 {
	trip, ok := p.climb(leaf, place)
	bad := func(i int32) bool {
		back := p.f.Back(i)
		return back < 0 || slices.Contains(p.looks, i) || slices.Contains(p.looks, back) ||
			p.avoid.link(i) != ""
	}
	if !ok || p.f.Back(place) < 0 || slices.ContainsFunc(trip[:len(trip)-1], bad) {
		return nil
	}
	// The shortest way back, breadth first.
	from := map[topology.NodeID]int32{p.f.Edge(place).Remote: -1}
	next, reached := []topology.NodeID{p.f.Edge(place).Remote}, false
	for ; len(next) > 0 && !reached; next = next[1:] {
		for _, l := range p.f.Snapshot().LinksFrom(next[0]) {
			_, seen := from[l.Remote]
			if i, ok := p.f.Place(l.ID); ok && !seen && !bad(i) {
				from[l.Remote] = i
				next, reached = append(next, l.Remote), reached || l.Remote == leaf
			}
		}
	}
	if !reached {
		return nil
	}
	var down []int32
	for at := leaf; from[at] >= 0; at = p.f.Edge(from[at]).Local {
		down = append(down, from[at])
	}
	slices.Reverse(down)
	return append(trip, down...)
}

// Direction returns which directions of a link lose packets, when all of its probes lose a share of
// both together, as the counts of single directions say.
func (w *Directions) Direction(loss float64) Direction {
	loss = min(max(loss, LossBad), 1-LossGood)
	half := 1 - math.Sqrt(1-loss)
	var of [Both + 1]float64
	for d, rates := range map[Direction][2]float64{Rising: {loss, LossGood},
		Falling: {LossGood, loss}, Both: {half, half}} {
		for i, r := range rates {
			of[d] += float64(w.Lost[i])*math.Log(r) + float64(w.Sent[i]-w.Lost[i])*math.Log1p(-r)
		}
	}
	likely := []Direction{Rising, Falling, Both} // the likeliest first
	slices.SortFunc(likely, func(a, b Direction) int { return cmp.Compare(of[b], of[a]) })
	if w.Lost[0]+w.Lost[1] == 0 || of[likely[0]]-of[likely[1]] < surer {
		return Unknown
	}
	return likely[0]
}

// Look has the counts of single directions forgotten of all links but some.
func (j *Judge) Look(links []int32) {
	maps.DeleteFunc(j.directions, func(i int32, _ *Directions) bool {
		return !slices.Contains(links, i)
	})
}

// Direct finds the direction of the link of a verdict. The direction stays until a different
// direction is as certain.
func (j *Judge) Direct(v *Verdict) Direction {
	w := j.directions[v.Link]
	if w == nil {
		return v.Direction
	}
	loss := 1.0
	if v.Kind == Grey {
		loss = float64(v.Lost) / float64(max(1, v.Sent))
	}
	v.Directions, v.Direction = *w, cmp.Or(w.Direction(loss), v.Direction)
	return v.Direction
}

// countDirection takes probes over one direction of a link.
func (j *Judge) countDirection(t *targetEvidence, passed, lost uint64) {
	if !j.telling(t) {
		return
	}
	place, i := t.asks, 0
	if !j.f.Edge(place).Rises() {
		place, i = j.f.Back(place), 1
	}
	w := j.directions[place]
	if w == nil {
		w = &Directions{}
		j.directions[place] = w
	}
	w.Sent[i], w.Lost[i] = w.Sent[i]+passed+lost, w.Lost[i]+lost
}

// String returns the name of a direction.
func (d Direction) String() string {
	if d > Both {
		return fmt.Sprintf("direction %d", uint8(d))
	}
	return [...]string{"one way", "up", "down", "both ways"}[d]
}
