package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// window is a maintenance of a switch from 100 s to 200 s after the start, drained 10 s before.
func window(c *Core, change func(*api.MaintenanceSpec)) api.MaintenanceSpec {
	s := api.MaintenanceSpec{Objects: []api.MaintenanceObject{{Node: "t1"}},
		From: c.env.Start.Add(100 * time.Second), Until: c.env.Start.Add(200 * time.Second),
		Lead: api.Duration(10 * time.Second)}
	if change != nil {
		change(&s)
	}
	return s
}

// knownLosses implements [fabricview.Losses]: without a switch a job loses half of a pair, and a
// rank.
type knownLosses struct {
	unknown string
	none    *ready.Need // it loses nothing
}

func (l *knownLosses) Unknown(api.Part) string { return l.unknown }

func (l *knownLosses) Links(api.Part) ([]topology.LinkID, topology.NodeID) { return nil, "" }

func (l *knownLosses) Of(_ []api.Part, need *ready.Need) ready.Impact {
	if need == l.none {
		return ready.Impact{}
	}
	return ready.Impact{Pairs: []ready.PairImpact{{Before: 4, After: 2}}, CutOff: []int32{0}}
}

// lose has a core know losses, and does its work.
func lose(c *Core, l *knownLosses) {
	v := *c.env.Fabric
	v.Revision++
	if v.Losses = l; l == nil {
		v.Losses, v.NoLosses = nil, "it is not known"
	}
	c.SetFabric(&v)
	work(c)
}

// work does the work of a core.
func work(c *Core) {
	for _, w := range c.Ready(0).Work {
		c.Worked(w())
	}
}

// putTrain puts a job on three hosts, the first two on one switch, and returns its version.
func putTrain(t *testing.T, c *Core, change func(*api.JobSpec)) uint64 {
	t.Helper()
	s := jobOn("a1,b1,a2", 3)
	if change != nil {
		change(&s)
	}
	j, _, err := c.Jobs().Put("train", s, resource.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	return j.Version
}

func putWindow(c *Core, s api.MaintenanceSpec) (api.Maintenance, error) {
	if c.env.Fabric.Losses == nil {
		lose(c, &knownLosses{})
	}
	m, _, err := c.Maintenances().Put("w", s, resource.Precondition{})
	return m, err
}

// TestMaintenancePriority: a maintenance is refused where a running job of a higher priority loses
// something, and says what others lose.
func TestMaintenancePriority(t *testing.T) {
	for _, x := range []struct {
		priority int
		running  bool
		refused  bool
	}{{4, true, false}, {5, true, false}, {6, true, true}, {6, false, false}} {
		c := pfcCore(t, nil)
		s := window(c, func(s *api.MaintenanceSpec) { s.Priority = 5 })
		putTrain(t, c, func(s *api.JobSpec) {
			if s.Priority = x.priority; x.running {
				s.State = api.JobRunning
			}
		})
		m, err := putWindow(c, s)
		if x.refused {
			e := refusalOf(t, err)
			if e.Code != api.CodeConflict || e.Fields[0].Field != "spec.priority" ||
				!strings.Contains(e.Error(), `"train"`) {
				t.Errorf("%+v: %v", x, err)
			}
			continue
		}
		if err != nil || len(m.Status.Jobs) != 1 || !m.Status.Conditions.Is(api.Degraded) {
			t.Fatalf("%+v: %+v, %v", x, m.Status, err)
		}
		j := m.Status.Jobs[0]
		if j.CutOff != 1 || j.NICs[0] != "a1" || j.Left != 0.5 || j.Lose != 1 ||
			j.Pairs[0] != (api.MaintenancePair{From: "R1", To: "R1", Before: 4, After: 2}) {
			t.Errorf("the job loses %+v", j)
		}
	}
}

// TestMaintenanceRefusals: a refusal names the field.
func TestMaintenanceRefusals(t *testing.T) {
	c := pfcCore(t, nil)
	for _, x := range []struct {
		field  string
		change func(*api.MaintenanceSpec)
	}{
		{"spec.objects", func(s *api.MaintenanceSpec) { s.Objects = nil }},
		{"spec.objects[0]", func(s *api.MaintenanceSpec) { s.Objects[0].Plane = 1 }},
		{"spec.objects[0]", func(s *api.MaintenanceSpec) {
			s.Objects[0] = api.MaintenanceObject{Port: 1}
		}},
		{"spec.objects[1]", func(s *api.MaintenanceSpec) { s.Objects = append(s.Objects, s.Objects[0]) }},
		{"spec.from", func(s *api.MaintenanceSpec) { s.From = time.Time{} }},
		{"spec.until", func(s *api.MaintenanceSpec) { s.Until = s.From }},
		{"spec.until", func(s *api.MaintenanceSpec) {
			s.From, s.Until = c.env.Start.Add(-time.Hour), c.env.Start
		}},
		{"spec.lead", func(s *api.MaintenanceSpec) { s.Lead = -1 }},
		{"spec.lead", func(s *api.MaintenanceSpec) { s.Lead = api.Duration(api.MaxMaintenanceLead + 1) }},
		{"spec.priority", func(s *api.MaintenanceSpec) { s.Priority = 1001 }},
	} {
		_, err := putWindow(c, window(c, x.change))
		if e := refusalOf(t, err); len(e.Fields) != 1 || e.Fields[0].Field != x.field {
			t.Errorf("%+v, want %s", e, x.field)
		}
	}
	s := window(c, nil)
	lose(c, &knownLosses{unknown: "node t1: no such target"})
	_, _, err := c.Maintenances().Put("w", s, resource.Precondition{})
	if e := refusalOf(t, err); e.Fields[0].Field != "spec.objects[0]" {
		t.Errorf("an unknown object: %+v", e)
	}
	lose(c, nil)
	_, _, err = c.Maintenances().Put("w", s, resource.Precondition{})
	if e := refusalOf(t, err); e.Code != api.CodeUnavailable {
		t.Errorf("without a look: %+v", e)
	}
}

// TestMaintenanceWindow: objects are held from the lead on until the end, each time once, also over
// a restart, and a window that ended while nobody ran the core has ended.
func TestMaintenanceWindow(t *testing.T) {
	c := pfcCore(t, nil)
	if _, err := putWindow(c, window(c, nil)); err != nil {
		t.Fatal(err)
	}
	is := func(at time.Duration, phase api.MaintenancePhase, held int) {
		t.Helper()
		c.Tick(at)
		m, err := c.Maintenances().Get("w")
		if err != nil || m.Status.Phase != phase || len(c.maintenances.Held()) != held {
			t.Errorf("at %v: %s, %d held, %v; want %s, %d", at, m.Status.Phase,
				len(c.maintenances.Held()), err, phase, held)
		}
	}
	again := func() {
		t.Helper()
		next, err := NewCore(Config{Inventory: *c.configured, Start: c.env.Start}, c.records())
		if err != nil {
			t.Fatal(err)
		}
		c = next
	}
	events := func() (out []api.EventType) {
		for _, e := range c.Ready(0).Events {
			if strings.HasPrefix(string(e.Type), "maintenance.") {
				out = append(out, e.Type)
			}
		}
		return out
	}
	events()
	is(90*time.Second-1, api.MaintenancePlanned, 0)
	if at, ok := c.Next(); !ok || at > 90*time.Second {
		t.Errorf("the next time is %v, %v", at, ok)
	}
	is(90*time.Second, api.MaintenanceDraining, 1)
	v := *c.env.Fabric
	v.Revision++
	v.Held = []fabricview.Held{{Part: api.Part{Kind: api.PartSwitch, Name: "t1"}, Drained: true}}
	c.SetFabric(&v)
	if m, _ := c.Maintenances().Get("w"); !m.Status.Conditions.Is(api.Programmed) {
		t.Errorf("drained: %+v", m.Status)
	}
	if got := events(); len(got) != 1 || got[0] != api.EventMaintenanceBegan {
		t.Errorf("events %v", got)
	}
	again()
	is(100*time.Second, api.MaintenanceActive, 1)
	is(200*time.Second-1, api.MaintenanceActive, 1)
	if got := events(); len(got) != 0 {
		t.Errorf("events after a restart: %v", got)
	}
	again()
	is(300*time.Second, api.MaintenanceEnded, 0)
	if got := events(); len(got) != 1 || got[0] != api.EventMaintenanceEnded {
		t.Errorf("events %v", got)
	}
	again()
	c.Tick(301 * time.Second)
	c.SetFabric(&fabricview.View{Revision: 1, Losses: &knownLosses{}})
	if got := events(); len(got) != 0 || c.maintenances.Work() != nil {
		t.Errorf("events %v after its end", got)
	}
}

// TestMaintenanceBlocks: a maintenance blocks a job that loses something by it, while it drains, or
// when it will before the job ends; not known is no GO.
func TestMaintenanceBlocks(t *testing.T) {
	c := pfcCore(t, nil)
	train := putTrain(t, c, nil)
	if _, err := putWindow(c, window(c, nil)); err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) time.Time { return c.env.Start.Add(d) }
	is := func(job string, version uint64, ends time.Time, want ...ready.State) {
		t.Helper()
		got := c.maintenances.Blocking(job, version, ends)
		if len(got) != len(want) || len(got) == 1 && got[0].State != want[0] {
			t.Errorf("%s at %v: %+v, want %v", job, c.Now(), got, want)
		}
	}
	is("train", train, time.Time{})
	is("train", train, at(90*time.Second))
	is("train", train, at(90*time.Second+1), ready.Bad)
	c.Tick(90 * time.Second)
	is("train", train, time.Time{}, ready.Bad)
	is("train", train+1, time.Time{}, ready.Unknown) // of another version nobody knows
	other, _, err := c.Jobs().Put("other", jobOn("b1,b2", 2), resource.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	is("other", other.Version, time.Time{}, ready.Unknown)
	work(c)
	is("other", other.Version, time.Time{}, ready.Bad)
	demand, err := c.JobDemand("other")
	if err != nil {
		t.Fatal(err)
	}
	lose(c, &knownLosses{none: &demand.Need})
	is("other", other.Version, time.Time{})
	got := c.maintenances.Blocking("train", train, time.Time{})
	if !got[0].NICs(0) || !got[0].NICs(1) || got[0].NICs(2) {
		t.Error("the ranks behind it are others than those that lose something")
	}
	c.Tick(200 * time.Second)
	is("train", train, time.Time{})
}
