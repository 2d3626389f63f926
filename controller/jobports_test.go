package controller_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// TestJobPorts: the ports of a job are the ports of its NICs, even if two jobs share a NIC; a job
// that has ended has no ports.
func TestJobPorts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		net := sample.Clos(2, 2, 2)
		r := run(t, net, store.NewMemory(), new(controllertest.Southbound))
		put := func(name, hosts string, state api.JobState) {
			t.Helper()
			if _, _, err := r.Jobs().Put(t.Context(), name,
				api.JobSpec{Hosts: hosts, State: state, Layout: &api.JobLayout{DP: 2}},
				resource.Precondition{}); err != nil {
				t.Fatal(err)
			}
		}
		put("a", "h[1-2]", api.JobRunning)
		put("b", "h[2-3]", api.JobRunning)
		put("c", "h[3-4]", api.JobDone)
		got, err := r.JobPorts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := make(controller.JobPorts)
		for host, jobs := range map[string][]string{"h1": {"a"}, "h2": {"a", "b"}, "h3": {"b"}} {
			i := slices.IndexFunc(net.Inventory.Hosts,
				func(h inventory.Host) bool { return h.Name == host })
			h := net.Inventory.Hosts[i]
			if want[h.Switch] == nil {
				want[h.Switch] = make(map[uint32][]string)
			}
			want[h.Switch][h.AllPorts()[0]] = jobs
		}
		if !maps.EqualFunc(got, want, func(a, b map[uint32][]string) bool {
			return maps.EqualFunc(a, b, slices.Equal)
		}) {
			t.Errorf("ports %v, want %v", got, want)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}
