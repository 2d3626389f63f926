package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
)

func (f *bed) maintenance(name string) api.Maintenance {
	f.t.Helper()
	m, err := f.controller.Maintenances().Get(f.t.Context(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

// TestMaintenanceDrains: a maintenance drains its switch before the window and undrains the switch
// after the window, across restarts. Drains by a client stay, and the dependent job learns of the
// maintenance.
func TestMaintenanceDrains(t *testing.T) {
	run(t, nil, func(t *testing.T, f *bed) {
		ctx := t.Context()
		f.putJob("train", ring)
		f.until(10*time.Second, "the job is ready", func() bool { return f.readiness("train").Go })
		id := func(name string) string {
			for _, n := range f.controller.Topology().Nodes {
				if n.DisplayName() == name {
					return string(n.ID)
				}
			}
			t.Fatalf("no node %s", name)
			return ""
		}
		drained := func(name string) bool {
			var list []api.Drain
			if err := f.mrc.Do(ctx, func(c *mrc.Core) { list = c.Drains() }); err != nil {
				t.Fatal(err)
			}
			for _, d := range list {
				if d.Target == "node "+id(name) && d.Drained {
					return true
				}
			}
			return false
		}
		now := time.Now()
		spec := api.MaintenanceSpec{Objects: []api.MaintenanceObject{{Node: "P1-T1-1"}},
			From: now.Add(20 * time.Second), Until: now.Add(60 * time.Second),
			Lead: api.Duration(10 * time.Second)}
		m, _, err := f.controller.Maintenances().Put(ctx, "w", spec, resource.Precondition{})
		if err != nil || len(m.Status.Jobs) != 1 || m.Status.Jobs[0].Lose != 2 ||
			m.Status.Jobs[0].CutOff != 0 || m.Status.Jobs[0].Left != 0.75 {
			t.Fatalf("%+v, %v", m.Status, err)
		}
		running := ring
		running.State, running.Priority = api.JobRunning, 3
		f.putJob("train", running)
		other := spec
		other.Priority = 2
		if _, _, err := f.controller.Maintenances().Put(ctx, "x", other,
			resource.Precondition{}); err == nil {
			t.Error("a maintenance of a lower priority than a running job was accepted")
		}
		if drained("P1-T1-1") || !f.readiness("train").Go {
			t.Error("it is drained before its time")
		}
		f.until(15*time.Second, "the switch is drained", func() bool { return drained("P1-T1-1") })
		f.until(5*time.Second, "the maintenance says so", func() bool {
			return f.maintenance("w").Status.Conditions.Is(api.Programmed)
		})
		has := func() bool {
			for _, b := range f.readiness("train").Blockers {
				if b.Kind == "maintenance" && b.Object == "w" {
					return true
				}
			}
			return false
		}
		f.until(5*time.Second, "it blocks the job", has)
		f.stop()
		f.start()
		f.learn()
		f.until(10*time.Second, "it is drained after a restart", func() bool {
			return drained("P1-T1-1")
		})
		f.until(10*time.Second, "and blocks the job", has)
		f.stop()
		time.Sleep(time.Until(spec.Until) + time.Second)
		f.start()
		f.learn()
		f.until(10*time.Second, "it is in use after a window that ended meanwhile", func() bool {
			return !drained("P1-T1-1")
		})
		f.until(30*time.Second, "the job is ready again", func() bool { return f.readiness("train").Go })
	})
}
