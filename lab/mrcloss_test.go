package lab

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/test/seeds"
)

// deaf is a stage whose controller hears of no failure.
type deaf struct{ *virtual }

func (v deaf) lose(_ context.Context, l Loss) error {
	_, err := v.world.Lose(l)
	return err
}

// TestMRCDemoUntold: with a controller that hears of nothing hosts find out for themselves, all octets
// arrive all the same, and the demo says who was not told.
func TestMRCDemoUntold(t *testing.T) {
	o := MRCOptions{Fabric: ClosConfig{T0: 2, T1: 2, Hosts: 2}, Mode: ev.ModeStructured, Bytes: 64 << 10}.withDefaults()
	v := newVirtual(t, o, seeds.One(t, 1))
	r, err := newMRCDemo(o).run(t.Context(), deaf{v})
	if err == nil || !strings.Contains(err.Error(), "2 hosts were not told within 10s of the failure of a link, P1-T0-1 - P1-T1-1; 2 hosts were not told within 10s of the failure of a T1, P1-T1-2") {
		t.Errorf("%v", err)
	}
	if r.Corrupt != 0 || r.QPErrors != 0 {
		t.Errorf("%+v", r)
	}
}

// TestConcerns: which hosts a failure takes entropy values from.
func TestConcerns(t *testing.T) {
	two := ClosConfig{}
	three := ClosConfig{Tiers: 3} // 2 pods of 2 T0 and 2 T1
	for _, c := range []struct {
		name   string
		mode   ev.Mode
		fabric ClosConfig
		loss   setback
		hosts  string // a letter a host of 8
	}{
		{"two tiers", ev.ModeStructured, two, setback{}, "yyyyyyyy"},
		{"no known paths", ev.ModeECMP, two, setback{}, "--------"},
		{"a port, without known paths", ev.ModeECMP, two, setback{port: 1}, "yyyyyyyy"},
		{"one leaf", ev.ModeF3216, ClosConfig{T0: 1}, setback{}, "--------"},
		{"explicit down", ev.ModeF3216, three, setback{pod: 1}, "yyyyyyyy"},
		{"chosen down, pod 0", ev.ModeStructured, three, setback{}, "yyyy----"},
		{"chosen down, pod 1", ev.ModeStructured, three, setback{pod: 1}, "----yyyy"},
		{"a choice of one", ev.ModeStructured, ClosConfig{Tiers: 3, T1: 2}, setback{pod: 1}, "yyyyyyyy"},
	} {
		c.fabric.Hosts = 8
		d := newMRCDemo(MRCOptions{Fabric: c.fabric, Mode: c.mode}.withDefaults())
		got := ""
		for h := range 8 {
			if d.concerns(&c.loss, h) {
				got += "y"
			} else {
				got += "-"
			}
		}
		if got != c.hosts {
			t.Errorf("%s: %s, want %s", c.name, got, c.hosts)
		}
	}
}

// TestStall: traffic that stands still is told of, with what it waits for; traffic that is slow is not.
func TestStall(t *testing.T) {
	w, err := NewWorld(Clos(ClosConfig{Planes: 1, T0: 1, T1: 1, Hosts: 2, Rate: 1e9, Delay: time.Microsecond}), Options{Seed: 1, Cache: shared})
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.NewMesh(MeshConfig{Flows: allToAll([]string{"H1", "H2"}, 10_000)})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(); err != nil { // through a switch without a program
		t.Fatal(err)
	}
	var s stall
	for w.now < stallTime+5*time.Second {
		w.Run(w.now+time.Second, nil)
		if w.now < 5*time.Second {
			m.Flows[0].complete++ // it gets on
		}
		err = s.look(m)
		if err != nil {
			break
		}
	}
	if want := 4*time.Second + stallTime; err == nil || w.now != want || !strings.Contains(err.Error(), "H1 to H2 has 4 of 10000 octets acknowledged, is ") {
		t.Errorf("after %v: %v, want an error after %v", w.now, err, want)
	}
	for _, f := range m.Flows {
		f.complete = f.Bytes
	}
	if err := s.look(m); err != nil {
		t.Errorf("done, but %v", err)
	}
}
