package mrc

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
)

// modes are those whose EVs have known paths.
var modes = []string{"stev", "usid-f3216", "usid-f1616", "usid-srh", "usid-structured"}

// TestLinkWithdrawn: under traffic, all hosts deny a withdrawn link, with all EVs that cross the
// link and no other EVs, and the writes complete. When the link returns, hosts use the link again
// after its back-off and a probe.
func TestLinkWithdrawn(t *testing.T) {
	long(t)
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			run(t, func(m *inventory.MRC) { m.Mode = mode }, func(t *testing.T, f *bed) {
				if !f.deniesNothing() {
					t.Fatal("EVs are denied from the start")
				}
				x := f.traffic(40 << 10)
				f.until(time.Second, "a tenth is done", func() bool { return x.progress() > 0.1 })
				f.setLink("P1-T0-1", "P1-T1-1", false)
				if took := f.until(time.Second, "all hosts deny the link", func() bool {
					return f.denies("P1-T0-1", "P1-T1-1")
				}); took > 20*time.Millisecond {
					t.Errorf("denied after %v", took)
				}
				x.finish(10 * time.Second)
				f.setLink("P1-T0-1", "P1-T1-1", true)
				if took := f.until(10*time.Second, "the link is used again",
					f.deniesNothing); took < f.inv.MRC.Restore.Hold.D() {
					t.Errorf("used again after %v, before its back-off was over", took)
				}
				f.until(time.Second, "all hold what they should", f.ready)
				lost := f.lost()
				f.traffic(10 << 10).finish(time.Second)
				if n := f.lost() - lost; n != 0 {
					t.Errorf("%d packets are lost when all is well", n)
				}
			})
		})
	}
}

func (f *bed) linkBetween(a, b string) api.Link {
	f.t.Helper()
	at := func(node string) []api.Link {
		f.t.Helper()
		links := kind.Of[api.AdminSpec, api.Link](f.mrc.Kinds())
		p, err := links.List(f.t.Context(), kind.Query{Filter: api.LinkFilter{Node: node}})
		if err != nil {
			f.t.Fatal(err)
		}
		return p.Items
	}
	others := at(b)
	for _, l := range at(a) {
		for _, o := range others {
			if l.ID == o.ID {
				return l
			}
		}
	}
	f.t.Fatalf("there is no link between %s and %s", a, b)
	return api.Link{}
}

func (f *bed) admin(t mrc.Target, s api.AdminState) error {
	switch {
	case t.Link != "":
		return putAdmin[api.Link](f, string(t.Link), s)
	case t.Node != "":
		return putAdmin[api.Node](f, string(t.Node), s)
	case t.Plane != 0:
		return putAdmin[api.Plane](f, strconv.Itoa(t.Plane), s)
	}
	return putAdmin[api.HostPort](f, fmt.Sprintf("%s/%d", t.Host, t.Port), s)
}

func putAdmin[V any](f *bed, name string, s api.AdminState) error {
	things := kind.Of[api.AdminSpec, V](f.mrc.Kinds())
	_, _, err := things.Put(f.t.Context(), name, api.AdminSpec{Admin: s}, resource.Precondition{})
	return err
}
