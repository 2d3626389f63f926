package ready

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// Parts counts the ranks of a job that depend on each part of the network. The counts follow from
// the need and the wiring of the fabric, whatever is up or down, and do not change.
type Parts struct {
	nics, switches, planes map[string]int32 // by name
	links                  map[string]int32 // by id of a direction
}

// NewParts returns the parts of a need in a fabric. For an unknown fabric it returns only the NICs.
func NewParts(need *Need, f *Fabric) *Parts {
	p := &Parts{nics: make(map[string]int32, len(need.NICs)), switches: make(map[string]int32),
		planes: make(map[string]int32), links: make(map[string]int32, len(f.Links))}
	for _, name := range need.NICs {
		p.nics[name]++
	}
	at := make(map[string]int32) // ranks by leaf
	for i := range f.NICs {
		ports := f.NICs[i].Ports
		for j := range ports {
			leaf := ports[j].Leaf
			if leaf != "" && !slices.ContainsFunc(ports[:j], func(o Port) bool { return o.Leaf == leaf }) {
				at[leaf]++
			}
		}
	}
	orAll := func(n int32) int32 { // above the leaves all depend on it
		if n == 0 {
			n = int32(len(need.NICs))
		}
		return n
	}
	planes := make(map[int32]map[string]bool) // ends of links
	for i := range f.Links {
		l := &f.Links[i]
		if l.ID == "" {
			continue // it was not read: the fabric has become another one
		}
		n := at[l.From] + at[l.To]
		if at[l.From] > 0 && at[l.To] > 0 {
			n = f.ranksAt(map[string]bool{l.From: true, l.To: true})
		}
		p.links[l.ID] = orAll(n)
		if planes[l.Plane] == nil {
			planes[l.Plane] = make(map[string]bool)
		}
		for _, end := range []string{l.From, l.To} {
			p.switches[end], planes[l.Plane][end] = orAll(at[end]), true
		}
	}
	for leaf, n := range at {
		p.switches[leaf] = n
	}
	for plane, ends := range planes {
		p.planes[strconv.Itoa(int(plane))] = orAll(f.ranksAt(ends))
	}
	return p
}

// ranksAt returns how many ranks have a port at one of some switches.
func (f *Fabric) ranksAt(switches map[string]bool) (n int32) {
	for i := range f.NICs {
		if slices.ContainsFunc(f.NICs[i].Ports, func(p Port) bool { return switches[p.Leaf] }) {
			n++
		}
	}
	return n
}

// Affected returns how many ranks depend on a part of the network: the ranks at the part, by the
// rule of [Judge], or all ranks if the part is above the leaves. Both directions of a link give the
// same number.
func (p *Parts) Affected(part api.Part) int {
	switch part.Kind {
	case api.PartHost:
		return int(p.nics[part.Name])
	case api.PartSwitch:
		return int(p.switches[part.Name])
	case api.PartPlane:
		return int(p.planes[part.Name])
	}
	n, ok := p.links[part.Name]
	if from, to, two := strings.Cut(part.Name, "~"); !ok && two {
		n = p.links[to+"~"+from]
	}
	return int(n)
}
