package faults

import (
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestIPv4Groups: groups between hosts of IPv4, in both modes, on wires that lose, mark, corrupt
// and reorder: every receiver has all data.
func TestIPv4Groups(t *testing.T) {
	cache := new(p4rt.Cache)
	first, rounds := seeds.Range(t, 1, 3)
	for seed := first; seed < first+rounds; seed++ {
		for _, mode := range []api.GroupMode{api.ModeProvisioned, api.ModeInband} {
			s, err := newScenario(seed, cache, options{mode: mode, ipv4: true})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, mode, err)
			}
			s.noise(0.01)
			if err := s.run(); err != nil {
				t.Errorf("seed %d, %s: %v\n%v", seed, mode, err, s.story)
			}
		}
	}
}

// TestIPv4Connect: applications with IPv4 addresses become a group by RDMA CM.
func TestIPv4Connect(t *testing.T) {
	network := redundant()
	toIPv4(&network)
	a := newAppsIn(t, network, proxy4, "R1", "R2")
	a.listen("R1")
	a.must(a.put())
	a.connect("S1", connectPort, a.all["S1"].join())
	a.connect("R2", connectPort+1, a.all["R2"].join())
	a.wait("all", a.up("R1", "R2", "S1"))
	for _, n := range []string{"R1", "R2"} {
		if c := a.all[n].qp.Config(); c.RQPSN == 0xFFFFF0 {
			t.Errorf("%s: %+v: its PSNs are the group's", n, c)
		}
	}
	a.has(a.write("first"), "R1", "R2")
	a.has(a.write("wraps"), "R1", "R2")
}

// TestIPv4ConnectAny: the first host that connects becomes the source, and hosts of a prefix become
// receivers.
func TestIPv4ConnectAny(t *testing.T) {
	network := redundant()
	toIPv4(&network)
	a := newAppsIn(t, network, proxy4, "R1", "R2")
	a.spec.Source, a.spec.Receivers = api.GroupSource{}, nil
	a.spec.Connect.Source, a.spec.Connect.AtLeast = api.SourceAny, 2
	of := a.all["R1"].host.Config().Addr
	a.spec.Connect.Receivers = []netip.Prefix{netip.PrefixFrom(of, 8).Masked()}
	a.must(a.put())
	a.connect("S1", connectPort, a.all["S1"].join())
	a.connect("R1", connectPort+1, a.all["R1"].join())
	a.connect("R2", connectPort+1, a.all["R2"].join())
	a.wait("all", a.up("R1", "R2", "S1"))
	a.has(a.write("first"), "R1", "R2")
}
