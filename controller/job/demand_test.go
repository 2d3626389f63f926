package job

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/layout"
)

// inventoryOf has hosts n1 and so on with some NICs each, n1-0 and so on; so many hosts have the
// same leaves, one a NIC with rails.
func inventoryOf(hosts, nics, perRack int, rails bool) map[string]*inventory.Host {
	out := make(map[string]*inventory.Host)
	for h := range hosts {
		for n := range nics {
			leaf := fmt.Sprintf("t0-%d", h/perRack)
			if rails {
				leaf += fmt.Sprintf("-%d", n)
			}
			name := fmt.Sprintf("n%d-%d", h+1, n)
			out[name] = &inventory.Host{Name: name, Address: netip.IPv6Unspecified(), Switch: leaf,
				Planes: []inventory.Attachment{{Switch: leaf + "b"}}}
		}
	}
	return out
}

// TestDemandAgainstAllPairs: the pairs of racks are exactly the pairs derived from all talking
// pairs of NICs.
func TestDemandAgainstAllPairs(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		hosts, nics := 1+rnd.IntN(8), 1+rnd.IntN(4)
		inv := inventoryOf(hosts, nics, 1+rnd.IntN(3), rnd.IntN(2) == 0)
		n := hosts * nics
		s := api.JobSpec{Hosts: fmt.Sprintf("n[1-%d]", hosts), NICsPerHost: nics, NIC: "{host}-{nic}"}
		for i := range 1 + rnd.IntN(4) {
			members := rnd.Perm(n)[:rnd.IntN(n+1)]
			pattern := api.JobPatterns()[rnd.IntN(len(api.JobPatterns()))]
			if pattern == api.PatternPairwise {
				members = members[:len(members)/2*2]
			}
			if len(members) < 2 {
				continue
			}
			text := fmt.Sprint(members[0])
			for _, m := range members[1:] {
				text += fmt.Sprintf(",%d", m)
			}
			s.Communicators = append(s.Communicators,
				api.JobCommunicator{Name: fmt.Sprint(i), Ranks: text, Pattern: pattern})
		}
		d, err := newDemand(&s, func(name string) *inventory.Host { return inv[name] })
		if err != nil {
			t.Fatal(err)
		}
		ranks := make([]layout.Rank, n)
		for r := range n {
			ranks[r] = layout.Rank{Host: r / nics, NIC: r % nics}
		}
		all, err := communicatorsOf(&s, n)
		if err != nil {
			t.Fatal(err)
		}
		traffic, err := layout.Plan(ranks, all)
		if err != nil {
			t.Fatal(err)
		}
		want, pairs := make(map[[2]int32]bool), 0
		for p := range traffic.All() {
			want[[2]int32{d.Rack[p.From], d.Rack[p.To]}] = true
			pairs++
		}
		got := make(map[[2]int32]bool)
		for _, p := range d.Pairs {
			got[p] = true
		}
		if !reflect.DeepEqual(got, want) || d.Follows.Pairs != pairs || len(d.Pairs) != len(want) {
			t.Fatalf("%+v: racks %v: pairs are %v, want %v; %d pairs of NICs, want %d", s, d.Rack, got, want,
				d.Follows.Pairs, pairs)
		}
	}
}

// TestDemandFollowsTheInventory: a rack groups hosts at the same leaves, and missing NICs are
// named.
func TestDemandFollowsTheInventory(t *testing.T) {
	inv := inventoryOf(4, 2, 2, true)
	delete(inv, "n4-1")
	s := api.JobSpec{Hosts: "n[1-4]", NICsPerHost: 2, NIC: "{host}-{nic}",
		Layout: &api.JobLayout{Order: "tp-cp-ep-dp-pp", TP: 2, CP: 1, EP: 1, DP: 4, PP: 1}}
	d, err := newDemand(&s, func(name string) *inventory.Host { return inv[name] })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"t0-0-0+t0-0-0b", "t0-0-1+t0-0-1b", "t0-1-0+t0-1-0b", "t0-1-1+t0-1-1b", ""}
	if !slices.Equal(d.Racks, want) ||
		!slices.Equal(d.Rack, []int32{0, 1, 0, 1, 2, 3, 2, 4}) {
		t.Errorf("racks are %v of %q", d.Rack, d.Racks)
	}
	f := d.Follows
	if !slices.Equal(f.Unattached, []string{"n4-1"}) || f.Racks != 5 || f.Communicators != 6 ||
		f.SendPeers != (api.JobPeers{Least: 1, Most: 1}) || f.Pairs != 8 {
		t.Errorf("follows %+v", f)
	}
	s.QPsPerPeer = 4
	if d, err = newDemand(&s, func(name string) *inventory.Host { return inv[name] }); err != nil {
		t.Fatal(err)
	}
	for r, h := range d.Hints {
		if h != (hostapi.QPHints{QPsPerPeer: 4, SendPeers: 1, RemotePeers: 1}) {
			t.Errorf("rank %d has the hints %+v", r, h)
		}
	}
}

func BenchmarkDemand(b *testing.B) {
	inv := inventoryOf(1024, 8, 8, false)
	s := api.JobSpec{Hosts: "n[1-1024]", NICsPerHost: 8, NIC: "{host}-{nic}",
		Layout: &api.JobLayout{Order: "tp-cp-ep-dp-pp", TP: 8, CP: 1, EP: 64, DP: 128, PP: 8}}
	for b.Loop() {
		if _, err := newDemand(&s, func(name string) *inventory.Host { return inv[name] }); err != nil {
			b.Fatal(err)
		}
	}
}
