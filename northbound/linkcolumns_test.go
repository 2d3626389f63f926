package northbound

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// linksOf reads columns back.
func linksOf(c *api.LinkColumns) []api.Link {
	at := func(text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		when, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			panic(err)
		}
		return when
	}
	var out []api.Link
	for i := range c.Count {
		from, to, admin := c.From.At(i), c.To.At(i), c.Admin.At(i)
		id, ok := c.IDs[i]
		if !ok {
			id = topology.LinkID(fmt.Sprintf("%s,%d~%s,%d", from.ID, c.FromID[i], to.ID, c.ToID[i]))
		}
		var changed time.Time
		if admin.Changed != nil {
			changed = *admin.Changed
		}
		sources, drains := c.Sources.At(i), c.Drains.At(i)
		if len(sources) == 0 {
			sources = nil
		}
		if len(drains) == 0 {
			drains = nil
		}
		out = append(out, api.Link{ID: id, Version: admin.Version, Changed: changed, Spec: admin.Spec,
			Status: api.LinkStatus{
				From: from.ID, FromName: from.Name, To: to.ID, ToName: to.Name, Plane: c.Plane.At(i),
				Phase:    c.Phase.At(i),
				FromPort: c.FromPort.At(i), ToPort: c.ToPort.At(i), Cause: c.Cause.At(i),
				Since: at(c.Since.At(i)), Until: at(c.Until.At(i)),
				Sources: sources, Denied: c.Denied.At(i), Drained: c.Drained.At(i), Drains: drains,
			}})
	}
	return out
}

// TestLinkColumns: columns have every value of the links.
func TestLinkColumns(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		some := func(of ...string) string { return of[r.IntN(len(of))] }
		when := func() time.Time {
			if r.IntN(2) == 0 {
				return time.Time{}
			}
			return time.Unix(int64(r.IntN(3)), 0).UTC()
		}
		var want []api.Link
		for i := range r.IntN(12) {
			from, to := topology.NodeID(some("64512:10.0.0.1", "64512:10.0.0.2")),
				topology.NodeID(some("64512:10.0.0.3", "x,1"))
			l := api.Link{
				ID: topology.LinkID(fmt.Sprintf("%s,%d~%s,%s", from, i, to,
					some("1", "01", "x", "2001:db8::1"))), Version: uint64(r.IntN(3)), Changed: when(),
				Spec: api.AdminSpec{Admin: api.AdminState(some("up", "drained"))},
				Status: api.LinkStatus{
					From: from, FromName: "name of " + string(from), To: to, Plane: r.IntN(3),
					Phase: some("up", "down"), FromPort: some("", "up", "down"), ToPort: some("", "down"),
					Cause: some("", "port 3 of a\x00is down"), Since: when(), Until: when(),
					Denied: r.IntN(2) == 0, Drained: r.IntN(2) == 0,
				},
			}
			if r.IntN(2) == 0 {
				l.Status.Sources = []string{some("bgp-ls", "file"), "network x"}[:1+r.IntN(2)]
				l.Status.Drains = []api.Drain{{Target: some("plane 1", "plane 2"), Drained: r.IntN(2) == 0,
					Awaits: []string{"h1", "h2"}[:r.IntN(3)]}}
				if len(l.Status.Drains[0].Awaits) == 0 {
					l.Status.Drains[0].Awaits = nil
				}
			}
			want = append(want, l)
		}
		var b columnsBuilder
		for i := range want {
			b.add(&want[i])
		}
		text, err := json.Marshal(b.done())
		if err != nil {
			t.Fatal(err)
		}
		var c api.LinkColumns
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		if got := linksOf(&c); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: columns %s\nare of %+v\nwant %+v", seed, text, got, want)
		}
	}
}

// BenchmarkLinkColumns makes the answer for 262,144 directions of links of two planes.
func BenchmarkLinkColumns(b *testing.B) {
	since := time.Unix(1, 0)
	var links []api.Link
	for plane := 1; plane <= 2; plane++ {
		for leaf := range 256 {
			for spine := range 256 {
				ends := [2]topology.NodeID{topology.NodeID(fmt.Sprintf("64512:10.%d.0.%d", plane, leaf)),
					topology.NodeID(fmt.Sprintf("64512:10.%d.1.%d", plane, spine))}
				ports := [2]int{spine + 1, leaf + 1}
				for up := range 2 {
					from, to := ends[up], ends[1-up]
					links = append(links, api.Link{
						ID:   topology.LinkID(fmt.Sprintf("%s,%d~%s,%d", from, ports[up], to, ports[1-up])),
						Spec: api.AdminSpec{Admin: api.AdminUp},
						Status: api.LinkStatus{From: from, FromName: "leaf", To: to, ToName: "spine", Plane: plane,
							Phase: "up", FromPort: "up", ToPort: "up", Since: since, Sources: []string{"bgp-ls"}},
					})
				}
			}
		}
	}
	var size int
	for b.Loop() {
		var c columnsBuilder
		for i := range links {
			c.add(&links[i])
		}
		text, err := json.Marshal(c.done())
		if err != nil {
			b.Fatal(err)
		}
		size = len(text)
	}
	b.ReportMetric(float64(size), "octets")
}
