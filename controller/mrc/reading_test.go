package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/topology"
)

// wantsOf are wants of jobs since their own number.
func wantsOf(seq uint64, needs ...*ready.Need) *fabricview.Wants {
	w := &fabricview.Wants{Seq: seq}
	for _, need := range needs {
		w.Jobs = append(w.Jobs, fabricview.Job{Need: need, Since: seq})
	}
	return w
}

// readings runs a bed, and returns the readings of a need, with the times of their views.
func (w *bed) readings(need *ready.Need, d time.Duration) (at []time.Duration) {
	w.t.Helper()
	last := w.core.View().Jobs[need]
	for end := w.Now() + d; w.Now() < end; {
		w.run(time.Millisecond)
		if r := w.core.View().Jobs[need]; r != last {
			at, last = append(at, w.Now()), r
		}
	}
	return at
}

// TestReadings: the core reads a job at once when the job changes, each half second otherwise, and
// not any more when nobody wants the job.
func TestReadings(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Around = around{} }).clos(2, 3, 2, 2)
	need := needOf(1, 2)
	if v := w.core.View(); v.Jobs == nil || len(v.Jobs) > 0 {
		t.Errorf("without wants %v is read", v.Jobs)
	}
	w.core.SetWants(wantsOf(1, need))
	w.run(0)
	if r := w.core.View().Jobs[need]; r == nil || r.Fabric.Known.State == ready.Good || r.Wants != 1 {
		t.Errorf("before there is a fabric %+v is read", r)
	}
	w.start()
	w.run(5 * time.Second)
	if n := len(w.readings(need, 5*time.Second)); n < 9 || n > 10 {
		t.Errorf("a job is read %d times in 5 s, want each half second", n)
	}
	w.core.SetWants(wantsOf(2, need))
	before := w.core.View()
	w.run(0)
	v := w.core.View()
	r := v.Jobs[need]
	if r.Wants != 2 || v.Revision <= before.Revision || r.Wiring != v.Wiring || v.Wiring == nil {
		t.Errorf("a job that somebody waits for: %+v", r)
	}
	direct := w.read(need, around{}.SwitchNames())
	if !slices.EqualFunc(r.Fabric.NICs, direct.NICs, func(a, b ready.NIC) bool {
		return a.Stream == b.Stream && a.Holds == b.Holds && slices.Equal(a.Ports, b.Ports)
	}) || !slices.Equal(r.Fabric.Paths, direct.Paths) || r.Fabric.Known != ready.IsGood() {
		t.Errorf("%+v is read, want %+v", r.Fabric, direct)
	}
	for _, l := range r.Fabric.Links { // pair 1 alone is of racks that there are
		if i := slices.IndexFunc(direct.Links, func(d ready.Link) bool { return d.ID == l.ID }); i < 0 ||
			l != direct.Links[i] {
			t.Errorf("link %+v is read", l)
		}
	}
	if n := len(r.Fabric.Links); n != 2*2*2 {
		t.Errorf("%d links are read, want those up and down of 2 spines of 2 planes", n)
	}
	w.core.SetWants(&fabricview.Wants{Seq: 3})
	if v := w.core.View(); len(v.Jobs) > 0 || len(w.readings(need, time.Second)) > 0 {
		t.Errorf("%v is read for nobody", v.Jobs)
	}
}

// around implements [Surroundings].
type around struct{}

func (around) SwitchNames() map[topology.NodeID]string {
	return map[topology.NodeID]string{leafID(1, 1): "of the inventory"}
}

func (around) Stream(string) (s Stream, ok bool) { return s, false }

// TestReadingInParts: a large job is read in parts, which pause while nobody waits for it. A job
// that somebody waits for interrupts it, and does not start it over.
func TestReadingInParts(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 2).start()
	w.run(time.Second)
	large, small := &ready.Need{Racks: []string{"from"}}, needOf(1, 2)
	for range 3*nicsAtOnce - 1 {
		large.NICs, large.Rack = append(large.NICs, hostName(1, 1)), append(large.Rack, 0)
	}
	large.Hosts = large.NICs
	w.core.SetWants(wantsOf(1, large))
	r := &w.core.reader
	tick := func(d time.Duration) { w.core.Tick(w.core.Now() + d) }
	for i := range 3 {
		if r.done[large] != nil {
			t.Fatalf("%d parts are all", i)
		}
		if at, ok := w.core.Next(); !ok || at != w.core.Now() {
			t.Errorf("part %d is due at %v, %v, and somebody waits for it", i, at, ok)
		}
		tick(0)
	}
	for range 3 { // what has no pairs and no links
		tick(0)
	}
	if got := r.done[large]; got == nil || len(got.Fabric.NICs) != len(large.NICs) ||
		got.Fabric.NICs[len(large.NICs)-1].Stream != ready.IsGood() {
		t.Fatal("not all of its NICs are read")
	}
	tick(readEvery)
	for range 10 {
		tick(0)
	}
	if r.now == nil || r.now.n != nicsAtOnce {
		t.Fatal("parts of what nobody waits for are read at once")
	}
	p := r.now
	w.core.SetWants(&fabricview.Wants{Seq: 2,
		Jobs: []fabricview.Job{{Need: large, Since: 1}, {Need: small, Since: 2}}})
	for range 10 {
		tick(0)
	}
	if r.done[small] == nil || r.interrupted != p {
		t.Error("a job that somebody waits for does not interrupt a large one")
	}
	for range 10 {
		tick(readPause)
	}
	if r.done[large] != p.of {
		t.Error("what was interrupted is not read to its end")
	}
}

// TestWants: the core drains the objects of maintenances, and views show the progress, by the time
// of the core. Older wants change nothing.
func TestWants(t *testing.T) {
	b := newBed(t, 1, nil).clos(2, 2, 2, 2).start()
	b.run(3 * time.Second)
	w := b.want()
	spine := api.Part{Kind: api.PartSwitch, Name: string(spineID(1, 1))}
	desk := &Desk{wanted: w}
	run := func(d time.Duration) {
		for end := b.Now() + d; b.Now() < end; {
			b.run(10 * time.Millisecond)
			desk.Ready(1)
			desk.Kept(1)
		}
	}
	desk.SetWants(&fabricview.Wants{Seq: 2, Held: []api.Part{spine}})
	desk.SetWants(&fabricview.Wants{Seq: 1})
	if at, ok := desk.Next(); !ok || at > b.Now()+holdEvery {
		t.Errorf("what is held is looked at again at %v, %v", at, ok)
	}
	run(10 * time.Millisecond)
	if w.anew {
		t.Error("what is held is looked at at each step")
	}
	held := b.core.View().Held
	if len(held) != 1 || held[0].Part != spine || held[0].Drained || held[0].Why == "" {
		t.Errorf("at first %+v is held", held)
	}
	run(5 * time.Second)
	if held := b.core.View().Held; len(held) != 1 || !held[0].Drained || held[0].Why != "" {
		t.Errorf("later %+v is held", held)
	}
	v := b.core.View()
	run(2 * holdEvery)
	if b.core.View().Leases != v.Leases {
		t.Error("leases follow another view though nothing has changed for them")
	}
	desk.SetWants(&fabricview.Wants{Seq: 3})
	run(10 * time.Millisecond)
	if held := b.core.View().Held; len(held) > 0 || len(b.core.Drains()) > 0 {
		t.Errorf("%+v is held for nobody, and %+v drained", held, b.core.Drains())
	}
}
