package causes

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// TestOptic: four ports on a transceiver that fail together make one repair, for an optic. Three
// ports, five in a row, four of two transceivers and four that fail one after the other are cables.
func TestOptic(t *testing.T) {
	begin := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		ports []int
		apart time.Duration
		want  string // the optic; "": as many cables as ports
	}{
		"four":                      {ports: []int{5, 6, 7, 8}, want: "t0 ports 5 to 8"},
		"four from port 0 on":       {ports: []int{0, 1, 2, 3}, want: "t0 ports 0 to 3"},
		"four and another far away": {ports: []int{5, 6, 7, 8, 20}, want: "t0 ports 5 to 8"},
		"three":                     {ports: []int{5, 6, 7}},
		"five":                      {ports: []int{5, 6, 7, 8, 9}},
		"of two transceivers":       {ports: []int{7, 8, 9, 10}},
		"one after the other":       {ports: []int{5, 6, 7, 8}, apart: time.Second},
	} {
		k := &Known{Fabric: &api.Fabric{}, Hosts: []api.Host{{Name: "h1", Connected: true,
			Ports: []api.HostPort{{Port: 1, Status: api.HostPortStatus{Leaf: "t0", LeafName: "t0"}}}}}}
		for i, p := range c.ports {
			for _, id := range []string{fmt.Sprintf("t0,%d~t1-%d,1", p, p),
				fmt.Sprintf("t1-%d,1~t0,%d", p, p)} {
				k.Links = append(k.Links, api.Link{ID: topology.LinkID(id), Status: api.LinkStatus{
					From: "t0", FromName: "t0", To: topology.NodeID(fmt.Sprintf("t1-%d", p)), Phase: "down",
					Cause: "port down", Since: begin.Add(time.Duration(i) * c.apart), Denied: true}})
			}
		}
		got := Repairs(Find(k))
		if c.want == "" {
			if len(got) != len(c.ports) {
				t.Errorf("%s: %d repairs, want %d", name, len(got), len(c.ports))
			}
			continue
		}
		i := slices.IndexFunc(got, func(c api.Cause) bool { return c.Repair.Part == "optic" })
		if i < 0 || len(got) != len(c.ports)-3 {
			t.Errorf("%s: %+v, want an optic and %d cables", name, got, len(c.ports)-4)
			continue
		}
		if r := got[i].Repair; r.Name != c.want || len(r.Evidence) != 4 || !r.Denied ||
			!slices.Equal(r.Hosts, []string{"h1"}) || got[i].Total != 4 {
			t.Errorf("%s: %+v with %d that follow, want %s with 4", name, r, got[i].Total, c.want)
		}
	}
}
