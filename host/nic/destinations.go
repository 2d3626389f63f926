package nic

import (
	"net/netip"
	"slices"
)

// destinations finds which profile serves an address: the one with the longest prefix that holds
// it.
type destinations struct {
	by      map[netip.Prefix]*profile
	lengths []int // of the prefixes, the longest first
}

func newDestinations(profiles map[string]*profile) destinations {
	d := destinations{by: make(map[netip.Prefix]*profile)}
	seen := make(map[int]bool)
	for _, p := range profiles {
		for _, prefix := range p.is.Destinations {
			d.by[prefix] = p
			seen[prefix.Bits()] = true
		}
	}
	for bits := range seen {
		d.lengths = append(d.lengths, bits)
	}
	slices.Sort(d.lengths)
	slices.Reverse(d.lengths)
	return d
}

// find is the profile for an address; nil when there is none.
func (d *destinations) find(a netip.Addr) *profile {
	for _, bits := range d.lengths {
		if prefix, err := a.Prefix(bits); err == nil {
			if p := d.by[prefix]; p != nil {
				return p
			}
		}
	}
	return nil
}
