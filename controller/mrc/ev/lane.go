package ev

import (
	"cmp"
	"fmt"

	"github.com/weft-sdn/weft/topology"
)

// A lane is what one port of a host can send by.
type lane struct {
	port uint8
	set  topology.PathSet
	// candidates are the EVs of the port, in the order of paths.
	candidates []candidate
}

// A candidate is an EV and the paths that packets with it may take: one, unless
// the EV leaves a choice to the hash of a switch.
type candidate struct {
	wire Value
	refs []topology.PathRef
}

// lanes returns the lane of each port that both ends attach; a lane may have no candidate. A port
// has no lane when the fabric lacks its leaf or no path connects the two leaves. The result without
// gives the reason, or "" when all ports have lanes. lanes fails when no port has a lane. In mode
// ecmp, a single port without a lane is an error, because devices choose among all their ports.
func (a *Assignment) lanes(p Pair) (lanes []lane, without string, err error) {
	if err := p.Source.validate(); err != nil {
		return nil, "", fmt.Errorf("source: %w", err)
	}
	if err := p.Destination.validate(); err != nil {
		return nil, "", fmt.Errorf("destination: %w", err)
	}
	var first error
	for i := range min(len(p.Source), len(p.Destination)) {
		src, dst, port := p.Source[i], p.Destination[i], uint8(i+1)
		if src == "" || dst == "" {
			continue
		}
		l := lane{port: port}
		if l.set, err = a.paths(src, dst, port); err != nil {
			first = cmp.Or(first, err)
			continue
		}
		if l.candidates, err = a.candidates(l.set); err != nil {
			return nil, "", fmt.Errorf("port %d: %w", port, err)
		}
		lanes = append(lanes, l)
	}
	switch {
	case first == nil:
		return lanes, "", nil
	case len(lanes) == 0 || a.format.Mode == ModeECMP:
		return nil, "", first
	}
	return lanes, first.Error(), nil
}

// paths returns the paths of a port between two leaves.
func (a *Assignment) paths(src, dst topology.NodeID, port uint8) (topology.PathSet, error) {
	from, err := a.planeOf(src, int(port))
	if err != nil {
		return topology.PathSet{}, fmt.Errorf("source: port %d: %w", port, err)
	}
	to, err := a.planeOf(dst, int(port))
	if err != nil {
		return topology.PathSet{}, fmt.Errorf("destination: port %d: %w", port, err)
	}
	if from != to {
		return topology.PathSet{}, fmt.Errorf("port %d: %s is in plane %d, %s in plane %d: %w", port, src,
			from, dst, to, ErrNoPath)
	}
	set, err := a.clos.Paths(src, dst, from)
	if err != nil {
		return topology.PathSet{}, fmt.Errorf("port %d: %w", port, err)
	}
	return set, nil
}

// planeOf is the plane of a port that is attached to a leaf.
func (a *Assignment) planeOf(leaf topology.NodeID, port int) (int, error) {
	planes := a.clos.PlanesOf(leaf)
	switch {
	case len(planes) == 0:
		return 0, fmt.Errorf("%s: %w", leaf, topology.ErrNotLeaf)
	case len(planes) == 1:
		return planes[0], nil
	}
	for _, p := range planes {
		if p == port {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%s in planes %v: %w", leaf, planes, topology.ErrNotLeaf)
}

// candidates returns the EVs of a set of paths.
func (a *Assignment) candidates(set topology.PathSet) ([]candidate, error) {
	if set.Hops() < 0 || a.format.Mode == ModeECMP {
		return nil, nil
	}
	enc, err := a.Encoder(set)
	if err != nil {
		return nil, err
	}
	n := set.Len()
	refs := make([]topology.PathRef, 0, n)
	out := make([]candidate, 0, n)
	byNodes := a.format.Hops == HopNodes
	var place map[Value]int
	if byNodes {
		place = make(map[Value]int, n)
	}
	for ref := range set.All() {
		v := enc.Value(ref)
		same := -1
		if byNodes {
			if i, ok := place[v]; ok {
				same = i
			} else {
				place[v] = len(out)
			}
		} else if last := len(out) - 1; last >= 0 && out[last].wire == v {
			// Structured EVs: descents after one ascent follow each other.
			same = last
		}
		if same >= 0 {
			out[same].refs = append(out[same].refs, ref)
			continue
		}
		refs = append(refs, ref)
		out = append(out, candidate{wire: v, refs: refs[len(refs)-1 : len(refs) : len(refs)]})
	}
	return out, nil
}

// A Choice is an EV with the paths that its packets may take: one, unless the EV leaves a choice to
// the hash of a switch.
type Choice struct {
	Value Value
	Paths []topology.PathRef
}

// Choices returns the EVs of a set of paths, in the order of the paths; none in mode ecmp, where
// nobody knows them.
func (a *Assignment) Choices(set topology.PathSet) ([]Choice, error) {
	all, err := a.candidates(set)
	out := make([]Choice, len(all))
	for i := range all {
		out[i] = Choice{all[i].wire, all[i].refs}
	}
	return out, err
}
