package multicast

import "testing"

// TestPathMTU: without a tree the path MTU is the MTU of neighbors; with a tree, the least MTU of
// the ports between switches.
func TestPathMTU(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r3")
	d.PortMTU = func(string, uint32) uint32 { return 999 }
	want := d.inv().Neighbors.MTU
	if got := d.pathMTU(nil); got != want {
		t.Errorf("without a tree %d, want %d", got, want)
	}
	if got := d.pathMTU(g.target); got != 999 {
		t.Errorf("with a tree %d, want that of its ports", got)
	}
	d.PortMTU = nil
	if got := d.pathMTU(g.target); got != want {
		t.Errorf("without what ports say %d, want %d", got, want)
	}
}
