package mrc

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// programs has the program that all switches of the tests run.
var programs = new(p4rt.Cache)

// small is a fabric that is quickly run.
var small = lab.ClosConfig{T0: 2, T1: 2, Hosts: 4}

// runVirtual is the demo in virtual time, every frame of which is looked at.
func runVirtual(t *testing.T, o Options, seed uint64) (*Result, error) {
	t.Helper()
	o = o.withDefaults()
	d := newDemo(o)
	v := newVirtual(t, o, seed)
	a := newAudit(t, v.world, o.Mode)
	v.world.AddTap(a)
	d.describe(v.control.MRC.Classes)
	r, err := d.run(t.Context(), v)
	a.done("data", "SACK", "ACK", "retransmission")
	if o.Mode.SRv6() {
		a.done("self-probe")
	}
	if o.Fabric.Hosts > 3 { // enough for an incast
		a.done("NACK", "trimmed", "marked")
	}
	t.Log(a.counts)
	return r, err
}

// newVirtual is the network of a demo, whose hosts have their profiles.
func newVirtual(t *testing.T, o Options, seed uint64) *virtual {
	t.Helper()
	network := lab.Clos(o.Fabric)
	w, err := lab.NewWorld(network, lab.Options{Seed: seed, Managed: true, Cache: programs})
	if err != nil {
		t.Fatal(err)
	}
	control, err := lab.NewControl(w, lab.DefaultLatencies())
	if err != nil {
		t.Fatal(err)
	}
	control.MRC = lab.MRCSettings(&w.Network, o.Mode)
	if err := control.Start(); err != nil {
		t.Fatal(err)
	}
	v := &virtual{world: w, control: control, limit: time.Minute}
	ready := func(w *lab.World) (bool, error) {
		for _, s := range control.Core().Switches() {
			if !s.Synced {
				return false, nil
			}
		}
		return w.Supplied(), nil
	}
	if err := v.Until(t.Context(), "hosts have their profiles", ready); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestDemo is the demo in virtual time: it keeps its promises in every mode, and its figures are
// right.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("many packets on one goroutine")
	}
	for _, c := range []struct {
		name   string
		mode   ev.Mode
		fabric lab.ClosConfig
		losses int // of link, T1 and plane, those that leave paths
	}{
		{"stev", ev.ModeStructured, small, 3},
		{"ecmp", ev.ModeECMP, small, 3},
		{"usid-srh", ev.ModeSRH, lab.ClosConfig{T0: 2, T1: 2, Hosts: 3}, 3},
		{"usid-structured", ev.ModeUSIDStructured, small, 3},
		{"three tiers", ev.ModeF1616, lab.ClosConfig{Tiers: 3, T0: 2, T1: 4, T2: 1, Hosts: 2}, 3},
		{"three tiers, chosen down", ev.ModeStructured, lab.ClosConfig{Tiers: 3, T0: 2, T1: 4, T2: 1,
			Hosts: 2}, 3},
		{"one plane", ev.ModeF3216, lab.ClosConfig{Planes: 1, T0: 2, T1: 2, Hosts: 3}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r, err := runVirtual(t, Options{Fabric: c.fabric, Mode: c.mode, Bytes: 256 << 10, Out: &out},
				seeds.One(t, 1))
			t.Log(out.String())
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(out.String(), "under traffic, fails"); n != c.losses {
				t.Errorf("%d losses, want %d", n, c.losses)
			}
			if r.Mode != c.mode.String() || r.Hosts != c.fabric.Hosts || r.Bytes == 0 ||
				r.Jain <= r.ECMPJain || r.Seconds == 0 {
				t.Errorf("%+v", r)
			}
			known := c.mode != ev.ModeECMP
			if known != (r.LinkDownToDeniedMs > 0) || r.LinkDownToDeniedMs > 20 {
				t.Errorf("hosts know of the link after %v ms, want up to 20 where EVs have paths, and 0 "+
					"elsewhere", r.LinkDownToDeniedMs)
			}
			// Of two hosts with two or three racks' links in common; test/mrc/flows has fabrics of
			// a size.
			if known && r.CapacityKept < 0.8 || r.CapacityKept > 1 {
				t.Errorf("%.2f of the capacity is kept, want 0.8 to 1", r.CapacityKept)
			}
		})
	}
}

// TestDemoAgain: the same seed, the same demo.
func TestDemoAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("many packets on one goroutine")
	}
	o := Options{Fabric: lab.ClosConfig{Planes: 1, T0: 2, T1: 2, Hosts: 2}, Mode: ev.ModeStructured,
		Bytes: 64 << 10}
	one, err := runVirtual(t, o, 7)
	if err != nil {
		t.Fatal(err)
	}
	two, err := runVirtual(t, o, 7)
	if err != nil || *one != *two {
		t.Errorf("%+v, then %+v, %v", one, two, err)
	}
}

// TestDemoLive runs the demo with real sessions of every kind on loopback.
func TestDemoLive(t *testing.T) {
	if testing.Short() {
		t.Skip("in real time")
	}
	var out strings.Builder
	r, err := Run(context.Background(), Options{Fabric: small, Mode: ev.ModeStructured,
		Bytes: 64 << 10, Out: &out})
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if r.LinkDownToDeniedMs <= 0 || r.Jain <= r.ECMPJain {
		t.Errorf("%+v", r)
	}
}

// TestResult: the line that programs read, and what makes the demo fail.
func TestResult(t *testing.T) {
	line, err := json.Marshal(Result{Demo: "mrc", Mode: "stev", Hosts: 16})
	const want = `{"demo":"mrc","mode":"stev","hosts":16,"bytes":0,"corrupt":0,"jain":0,` +
		`"ecmpJain":0,"trimmed":0,"nacks":0,"retransmits":0,` +
		`"droppedUntrimmed":0,"linkDownToDeniedMs":0,"capacityKept":0,"qpErrors":0,"seconds":0}`
	if err != nil || string(line) != want {
		t.Errorf("%s, %v\nwant %s", line, err, want)
	}
	if err := (&Result{Trimmed: 9, NACKs: 9, Retransmits: 9}).check(); err != nil {
		t.Error(err)
	}
	for want, r := range map[string]Result{
		"3 octets are not": {Corrupt: 3}, "2 queue pairs": {QPErrors: 2},
		"1 packets of the incast": {DroppedUntrimmed: 1},
		"told that":               {untold: "1 hosts were not told that x"},
	} {
		if err := r.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}
