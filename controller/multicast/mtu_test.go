package multicast

import "testing"

// TestPathMTU: without a tree the path MTU is the MTU of neighbors; with a tree, the least MTU of
// the ports between switches.
func TestPathMTU(t *testing.T) {
	d := newDesk(t)
	g := d.group(4, nil)
	d.PortMTU = func(string, uint32) uint32 { return 999 }
	want := d.inv().Neighbors.MTU
	if got := d.pathMTU(nil); got != want {
		t.Errorf("without a tree %d, want %d", got, want)
	}
	if got := d.pathMTU(d.treeWith(g, d.net.Address("r3"), false)); got != 999 {
		t.Errorf("with a tree %d, want that of its ports", got)
	}
	d.PortMTU = nil
	if got := d.pathMTU(d.treeWith(g, d.net.Address("r3"), false)); got != want {
		t.Errorf("without what ports say %d, want %d", got, want)
	}
}
