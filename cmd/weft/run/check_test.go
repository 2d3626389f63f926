package run

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
)

// TestReachedAt: peers reach a controller at the listening or advertised address, and at the
// address of its etcd member.
func TestReachedAt(t *testing.T) {
	members := map[string]string{"c1": "192.0.2.1:2380", "c2": "192.0.2.2:2380"}
	for _, c := range []struct {
		listen, advertise string
		members           map[string]string
		want              string
	}{
		{"192.0.2.1:9443", "", members, "192.0.2.1"},
		{"192.0.2.7:9443", "c1.example", members, "c1.example 192.0.2.1"},
		{"c1.example:9443", "", members, "c1.example 192.0.2.1"},
		{"0.0.0.0:9443", "c1.example", members, "c1.example 192.0.2.1"},
		{"[::]:9443", "", members, "192.0.2.1"},
		{":9443", "192.0.2.7", nil, "192.0.2.7"},
		{"192.0.2.7:9443", "", nil, "192.0.2.7"},
		{"", "", nil, ""},
	} {
		in := inventory.Cluster{Name: "c1", Listen: c.listen, Advertise: c.advertise}
		in.Etcd.Members = c.members
		if got := strings.Join(reachedAt(&in), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
