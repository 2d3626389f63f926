package static

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/topology"
)

// TestEndXOf: a node from this package has the SIDs of its links at every port; a node with foreign
// SIDs has none.
func TestEndXOf(t *testing.T) {
	for _, text := range []string{pair, strings.ReplaceAll(pair, "a, routerId",
		"a, pfc: true, routerId")} {
		d, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s := d.Snapshot()
		for _, l := range s.Links {
			if got := EndXOf(s.Node(l.Local), l.LocalPort); len(got) == 0 || !sameEndX(got, l.EndX) {
				t.Errorf("link %s: %v, want %v", l.ID, got, l.EndX)
			}
		}
		n := *s.Nodes[0]
		if got := EndXOf(&n, MaxPort+1); got != nil {
			t.Errorf("port %d: %v", MaxPort+1, got)
		}
		for what, change := range map[string]func(){
			"another SID": func() {
				n.SIDs = append(slices.Clone(n.SIDs),
					topology.SID{Address: netip.MustParseAddr("5f00:0:1:9::")})
			},
			"another End": func() {
				n.SIDs = slices.Clone(n.SIDs)
				n.SIDs[0].Address = netip.MustParseAddr("5f00:0:1:9::")
			},
			"a second locator": func() { n.Locators = append(slices.Clone(n.Locators), n.Locators[0]) },
			"no locator":       func() { n.Locators = nil },
		} {
			n = *s.Nodes[0]
			if change(); EndXOf(&n, 1) != nil {
				t.Errorf("%s: %v", what, EndXOf(&n, 1))
			}
		}
	}
}

// sameEndX compares regardless of order.
func sameEndX(a, b []topology.EndX) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x topology.EndX) bool {
		return !slices.Contains(b, x)
	})
}
