package sample

import "fmt"

// FatTree is three tiers: pods of leaves and spines, and cores. The i-th spine
// of every pod has a link to the i-th share of the cores. Hosts are named "h1"
// and so on, leaf by leaf.
func FatTree(pods, leaves, spines, cores, hostsPerLeaf int) *Net {
	n := New()
	for p := range pods {
		for i := range leaves {
			n.Switches(fmt.Sprintf("p%d-leaf%d", p, i))
		}
		for i := range spines {
			n.Switches(fmt.Sprintf("p%d-spine%d", p, i))
		}
	}
	for i := range cores {
		n.Switches(fmt.Sprintf("core%d", i))
	}
	share := cores / spines
	for p := range pods {
		for i := range leaves {
			leaf := fmt.Sprintf("p%d-leaf%d", p, i)
			for j := range spines {
				n.Link(leaf, fmt.Sprintf("p%d-spine%d", p, j), 1)
			}
			for range hostsPerLeaf {
				n.Hosts(leaf, fmt.Sprintf("h%d", n.hosts+1))
			}
		}
		for i := range spines {
			for k := range share {
				n.Link(fmt.Sprintf("p%d-spine%d", p, i), fmt.Sprintf("core%d", i*share+k), 1)
			}
		}
	}
	return n
}
