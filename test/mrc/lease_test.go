package mrc

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

func (f *bed) leases() kind.Handle[api.PathLeaseSpec, api.PathLease] {
	return kind.Of[api.PathLeaseSpec, api.PathLease](f.controller.Kinds())
}

func (f *bed) lease(name string) api.PathLease {
	f.t.Helper()
	l, err := f.leases().Get(f.t.Context(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// TestLeaseMoves: a lease holds paths of the fabric. When a link fails, the lease moves to other
// paths and holds both until its client has moved. The lease blocks a job, and survives a restart
// unchanged.
func TestLeaseMoves(t *testing.T) {
	run(t, nil, func(t *testing.T, f *bed) {
		spec := api.PathLeaseSpec{Pairs: []api.LeasePair{{From: "H1", To: "H4"}}, Paths: 2,
			Disjointness: api.DisjointPlane, Sharing: api.LeaseExclusive,
			Heartbeat: api.Duration(time.Hour)}
		l, _, err := f.leases().Put(t.Context(), "l", spec, resource.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		paths := l.Status.Paths
		if len(paths) != 2 || paths[0].Plane == paths[1].Plane || paths[0].EV.Value == "" ||
			len(paths[0].Links) == 0 {
			t.Fatalf("the paths are %+v", paths)
		}
		f.putJob("train", ring)
		f.until(10*time.Second, "the lease is what is in the way of the job", func() bool {
			r := f.readiness("train")
			return len(r.Blockers) == 1 && r.Blockers[0].Kind == "lease" && r.Blockers[0].Object == "l"
		})
		f.stop()
		f.start()
		f.learn()
		f.until(10*time.Second, "the job is judged again", func() bool {
			return len(f.readiness("train").Blockers) == 1
		})
		if after := f.lease("l"); !reflect.DeepEqual(after.Status.Paths, paths) ||
			after.Version != l.Version {
			t.Errorf("after a restart the lease is %+v, want %+v", after.Status, l.Status)
		}
		// The first link of the first path fails, in the direction of the lease.
		snap := f.controller.Topology()
		lost := snap.Link(paths[0].Links[0])
		name := func(id any) string {
			for _, n := range snap.Nodes {
				if any(n.ID) == id {
					return n.DisplayName()
				}
			}
			return ""
		}
		f.setLink(name(any(lost.Local)), name(any(lost.Remote)), false)
		f.until(5*time.Second, "the lease moves", func() bool {
			return f.lease("l").Status.Phase != api.LeaseActive
		})
		moving := f.lease("l")
		if moving.Status.Phase != api.LeaseMoving || len(moving.Status.Paths) != 2 ||
			len(moving.Status.Former) != 1 || moving.Status.Former[0].Plane != paths[1].Plane {
			t.Fatalf("the status is %+v", moving.Status)
		}
		for _, p := range moving.Status.Paths {
			if slices.Contains(p.Links, lost.ID) {
				t.Errorf("%v crosses the link that is lost", p.Links)
			}
		}
		moved, err := kind.Ask[api.PathLease](t.Context(), f.leases(), "l", api.MoveLease{},
			resource.Precondition{})
		if err != nil || moved.Status.Phase != api.LeaseActive || moved.Status.Former != nil {
			t.Errorf("when it has moved: %+v, %v", moved.Status, err)
		}
		if err := f.leases().Delete(t.Context(), "l", resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		f.setLink(name(any(lost.Local)), name(any(lost.Remote)), true)
		f.until(30*time.Second, "the job is ready without the lease", func() bool {
			return f.readiness("train").Go
		})
	})
}
