package multicast

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// TestBefore has PSNs in their order modulo 2^24, half of them ahead of each.
func TestBefore(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want bool
	}{
		{5, 5, false}, {5, 6, true}, {6, 5, false}, {0, 1<<23 - 1, true}, {0, 1 << 23, false},
		{1<<24 - 1, 0, true}, {0, 1<<24 - 1, false}, {1 << 23, 0, false}, {1<<23 + 1, 0, true},
	} {
		if got := before(c.a, c.b); got != c.want {
			t.Errorf("%#x before %#x: %v", c.a, c.b, got)
		}
	}
}

// TestStallInterval has a group asked four times while it waits for an eviction, and otherwise as
// often as the inventory says.
func TestStallInterval(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	for _, c := range []struct{ stall, evict, want time.Duration }{
		{0, 0, 0},
		{time.Second, 0, time.Second},
		{0, 8 * time.Second, 2 * time.Second},
		{time.Second, 8 * time.Second, time.Second},
		{3 * time.Second, 8 * time.Second, 2 * time.Second},
		{2 * time.Second, 8 * time.Second, 2 * time.Second},
		{time.Second, 3 * time.Millisecond, time.Millisecond},
	} {
		d.inv().Intervals.Stall = api.Duration(c.stall)
		g.item.Spec.EvictAfter = api.Duration(c.evict)
		if got := d.stallInterval(g); got != c.want {
			t.Errorf("stall %v, evictAfter %v: asked every %v, want %v", c.stall, c.evict, got, c.want)
		}
	}
}

// TestReconnects has applications connect anew once what they have agreed on is another.
func TestReconnects(t *testing.T) {
	one := func() *api.MulticastGroupSpec {
		return &api.MulticastGroupSpec{ProxyAddress: netip.MustParseAddr("2001:db8::1"), DesignatedQPN: 7,
			InitialPSN: 9, Connect: &api.GroupConnect{Port: 4000, MTU: 1024, AtLeast: 1}}
	}
	for i, c := range []struct {
		change func(*api.MulticastGroupSpec)
		want   bool
	}{
		{func(*api.MulticastGroupSpec) {}, false},
		{func(s *api.MulticastGroupSpec) { s.Connect.AtLeast = 2 }, false},
		{func(s *api.MulticastGroupSpec) { s.Connect = nil }, true},
		{func(s *api.MulticastGroupSpec) { s.Connect.Port++ }, true},
		{func(s *api.MulticastGroupSpec) { s.Connect.MTU = 4096 }, true},
		{func(s *api.MulticastGroupSpec) { s.Connect.Source = api.SourceAny }, true},
		{func(s *api.MulticastGroupSpec) { s.ProxyAddress = s.ProxyAddress.Next() }, true},
		{func(s *api.MulticastGroupSpec) { s.DesignatedQPN++ }, true},
		{func(s *api.MulticastGroupSpec) { s.InitialPSN++ }, true},
	} {
		s := one()
		c.change(s)
		if got, back := reconnects(one(), s), reconnects(s, one()); got != c.want || back != c.want {
			t.Errorf("change %d: %v, and back %v; want %v", i, got, back, c.want)
		}
	}
}
