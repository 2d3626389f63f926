// Package schedulertest makes fabrics for tests of exports.
package schedulertest

import (
	"fmt"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
)

// Clos returns the facts of a fabric of two planes with tiers 0 to 2: pods of racks, each rack with
// a T0 in both planes and some hosts, each pod with two T1s a plane, and two T2s a plane. Hosts are
// n001, n002, and so on; all of them can be used.
func Clos(pods, racks, hosts int) *scheduler.Facts {
	f := &scheduler.Facts{Streams: true}
	node := func(plane, tier, n int) string {
		x := api.Node{Status: api.NodeStatus{Name: fmt.Sprintf("P%d-T%d-%d", plane, tier, n),
			Tier: &tier, Planes: []int{plane}}}
		id := fmt.Sprintf("64512:10.%d.%d.%d", plane, tier, n)
		set(&x.ID, id)
		f.Nodes = append(f.Nodes, x)
		return id
	}
	link := func(a, b string, plane int) {
		for _, ends := range [][2]string{{a, b}, {b, a}} {
			l := api.Link{Status: api.LinkStatus{Plane: plane, Phase: "up"}}
			set(&l.ID, ends[0]+"~"+ends[1])
			set(&l.Status.From, ends[0])
			set(&l.Status.To, ends[1])
			f.Links = append(f.Links, l)
		}
	}
	leaves := make([][]string, pods*racks) // by rack and plane
	for plane := 1; plane <= 2; plane++ {
		var tops []string
		for i := range 2 {
			tops = append(tops, node(plane, 2, i+1))
		}
		for pod := range pods {
			var spines []string
			for i := range 2 {
				spine := node(plane, 1, 2*pod+i+1)
				spines = append(spines, spine)
				for _, top := range tops {
					link(spine, top, plane)
				}
			}
			for i := range racks {
				leaf := node(plane, 0, pod*racks+i+1)
				leaves[pod*racks+i] = append(leaves[pod*racks+i], leaf)
				for _, spine := range spines {
					link(leaf, spine, plane)
				}
			}
		}
	}
	for rack := range leaves {
		for i := range hosts {
			h := api.Host{Name: fmt.Sprintf("n%03d", rack*hosts+i+1), Connected: true}
			for plane, leaf := range leaves[rack] {
				p := api.HostPort{Port: uint8(plane + 1), Status: api.HostPortStatus{Usable: true}}
				set(&p.Status.Leaf, leaf)
				h.Ports = append(h.Ports, p)
			}
			f.Hosts = append(f.Hosts, h)
		}
	}
	return f
}

// set sets an id, whatever its type.
func set[T ~string](to *T, id string) { *to = T(id) }
