package ev

import (
	"fmt"

	"github.com/weft-sdn/weft/topology"
)

// A lane is what one port of a host can send by.
type lane struct {
	port uint8
	set  topology.PathSet
	// candidates are the EVs of the port, as they lie in packets, in the order
	// of paths.
	candidates []candidate
}

// A candidate is an EV and the paths that packets with it may take: one, unless
// the EV leaves a choice to the hash of a switch.
type candidate struct {
	wire Value
	refs []topology.PathRef
}

// lanes returns what each port that is attached at both ends can send by; some
// may have no candidate.
func (a *Assignment) lanes(src, dst Attachment) ([]lane, error) {
	for _, at := range [...]struct {
		name string
		at   Attachment
	}{{"source", src}, {"destination", dst}} {
		if len(at.at) == 0 || len(at.at) > MaxPorts {
			return nil, fmt.Errorf("%s: %d ports, want 1 to %d: %w", at.name, len(at.at), MaxPorts, ErrMalformed)
		}
	}
	var lanes []lane
	for i := range min(len(src), len(dst)) {
		if src[i] == "" || dst[i] == "" {
			continue
		}
		port := uint8(i + 1)
		ps, err := a.planeOf(src[i], int(port))
		if err != nil {
			return nil, fmt.Errorf("source, port %d: %w", port, err)
		}
		pd, err := a.planeOf(dst[i], int(port))
		if err != nil {
			return nil, fmt.Errorf("destination, port %d: %w", port, err)
		}
		l := lane{port: port}
		if ps == pd {
			if l.set, err = a.clos.Paths(src[i], dst[i], ps); err != nil {
				return nil, fmt.Errorf("port %d: %w", port, err)
			}
			if l.candidates, err = a.candidates(l.set); err != nil {
				return nil, fmt.Errorf("port %d: %w", port, err)
			}
		}
		lanes = append(lanes, l)
	}
	return lanes, nil
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
	var out []candidate
	place := make(map[Value]int)
	refs := make([]topology.PathRef, 0, set.Len())
	for ref := range set.All() {
		v := enc.Value(ref)
		i, ok := place[v]
		if !ok {
			i = len(out)
			place[v] = i
			refs = append(refs, ref)
			out = append(out, candidate{wire: v, refs: refs[len(refs)-1 : len(refs) : len(refs)]})
			continue
		}
		out[i].refs = append(out[i].refs, ref)
	}
	return out, nil
}
