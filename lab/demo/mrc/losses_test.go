package mrc

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// deaf is a stage whose controller hears of no failure.
type deaf struct{ *virtual }

func (v deaf) Lose(_ context.Context, l lab.Loss) error {
	_, err := v.world.Lose(l)
	return err
}

// TestDemoUntold: with a controller that hears of nothing hosts find out for themselves, all octets
// arrive all the same, and the demo says who was not told.
func TestDemoUntold(t *testing.T) {
	// Slow links: hosts write all the while that they could still be told.
	slow := lab.ClosConfig{T0: 2, T1: 2, Hosts: 2, Rate: 10e6, Delay: 5 * time.Millisecond}
	o := Options{Fabric: slow, Mode: ev.ModeStructured, Bytes: 64 << 10}.withDefaults()
	v := newVirtual(t, o, seeds.One(t, 1))
	r, err := newDemo(o).run(t.Context(), deaf{v})
	if err == nil || !strings.Contains(err.Error(),
		"2 hosts were not told within 10s of the failure of a link, P1-T0-1 - P1-T1-1; 2 hosts were "+
			"not told within 10s of the failure of a T1, P1-T1-2") {
		t.Errorf("%v", err)
	}
	if r.Corrupt != 0 || r.QPErrors != 0 {
		t.Errorf("%+v", r)
	}
}

// TestConcerns: which hosts a failure takes entropy values from.
func TestConcerns(t *testing.T) {
	two := lab.ClosConfig{}
	three := lab.ClosConfig{Tiers: 3} // 2 pods of 2 T0 and 2 T1
	for _, c := range []struct {
		name   string
		mode   ev.Mode
		fabric lab.ClosConfig
		loss   setback
		hosts  string // a letter a host of 8
	}{
		{"two tiers", ev.ModeStructured, two, setback{}, "yyyyyyyy"},
		{"no known paths", ev.ModeECMP, two, setback{}, "--------"},
		{"a port, without known paths", ev.ModeECMP, two, setback{port: 1}, "yyyyyyyy"},
		{"one leaf", ev.ModeF3216, lab.ClosConfig{T0: 1}, setback{}, "--------"},
		{"explicit down", ev.ModeF3216, three, setback{pod: 1}, "yyyyyyyy"},
		{"chosen down, pod 0", ev.ModeStructured, three, setback{}, "yyyy----"},
		{"chosen down, pod 1", ev.ModeStructured, three, setback{pod: 1}, "----yyyy"},
		{"a choice of one", ev.ModeStructured, lab.ClosConfig{Tiers: 3, T1: 2}, setback{pod: 1},
			"yyyyyyyy"},
	} {
		c.fabric.Hosts = 8
		d := newDemo(Options{Fabric: c.fabric, Mode: c.mode}.withDefaults())
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
