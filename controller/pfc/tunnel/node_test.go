package tunnel

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
)

// TestServiceFamilies: a tenant SID takes the address families of the site prefixes.
func TestServiceFamilies(t *testing.T) {
	sid, other := netip.MustParseAddr("fc00:0:9:1::"), netip.MustParseAddr("fc00:0:9:2::")
	v4, v6 := netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("2001:db8:1::/48")
	for _, c := range []struct {
		sites []Site
		want  Service
	}{
		{[]Site{{SID: sid, Prefixes: []netip.Prefix{v4}}}, Service{SID: sid, VRF: 3, IPv4: true}},
		{[]Site{{SID: sid, Prefixes: []netip.Prefix{v6}}}, Service{SID: sid, VRF: 3, IPv6: true}},
		{[]Site{{SID: sid, Prefixes: []netip.Prefix{v6, v4}}},
			Service{SID: sid, VRF: 3, IPv4: true, IPv6: true}},
		{[]Site{{SID: sid, Prefixes: []netip.Prefix{v4}}, {SID: sid, Prefixes: []netip.Prefix{v6}}},
			Service{SID: sid, VRF: 3, IPv4: true, IPv6: true}},
		{[]Site{{SID: sid, Prefixes: []netip.Prefix{v4}}, {SID: other, Prefixes: []netip.Prefix{v6}}},
			Service{SID: sid, VRF: 3, IPv4: true}},
	} {
		w := nodeWork{n: &Node{}}
		if got := w.service(&Tenant{VRF: 3, Sites: c.sites}, sid); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.sites, got, c.want)
		}
	}
}

// TestNodeHoldsSomething: a node is empty when it has nothing of any kind.
func TestNodeHoldsSomething(t *testing.T) {
	if !new(Node).Empty() {
		t.Error("a node without anything is not empty")
	}
	fields := reflect.TypeFor[Node]().NumField()
	for i := range fields {
		for j := range fields {
			n := new(Node)
			for _, f := range []int{i, j} {
				if v := reflect.ValueOf(n).Elem().Field(f); v.Kind() == reflect.Slice {
					v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				} else {
					v.SetBool(true)
				}
			}
			if n.Empty() {
				t.Errorf("%+v is empty", n)
			}
		}
	}
}

// TestHoldersInOrder: the nodes that hold something for an SRv6 policy are in order, whichever way
// its path goes.
func TestHoldersInOrder(t *testing.T) {
	b := newBed(t, figure3())
	b.must(b.PutSRv6Policy(SRv6Policy{Name: "back", PathRequest: PathRequest{Headend: "R3",
		Endpoint: "R1"}}))
	if got := b.Holders("back"); len(got) < 3 || !slices.IsSorted(got) {
		t.Errorf("%v hold something, want three or more in order", got)
	}
}
