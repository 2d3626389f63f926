package lab

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestLeavesPaths(t *testing.T) {
	link := func(a, b string) Loss { return Loss{Links: [][2]string{{a, b}}} }
	n := Clos(ClosConfig{T0: 2, T1: 2, Hosts: 4})
	if err := n.Complete(); err != nil {
		t.Fatal(err)
	}
	plane, err := n.Plane(1)
	if err != nil || len(plane.Switches) != 4 {
		t.Fatalf("plane 1 is %v, %v", plane, err)
	}
	if _, err := n.Plane(3); !errors.Is(err, ErrUnknown) {
		t.Errorf("plane 3: %v", err)
	}
	for _, c := range []struct {
		name   string
		losses []Loss
		want   bool
	}{
		{"nothing", nil, true},
		{"a plane", []Loss{plane}, true},
		{"both planes", []Loss{plane, {Switches: []string{"P2-T1-1", "P2-T1-2"}}}, false},
		{"a link beside a plane", []Loss{plane, link("P2-T1-1", "P2-T0-1")}, true},
		{"both links of a leaf beside a plane", []Loss{plane, link("P2-T0-1", "P2-T1-1"),
			link("P2-T0-1", "P2-T1-2")}, false},
		{"a host's ports", []Loss{link("H1", "P1-T0-1"), link("P2-T0-1", "H1")}, false},
		// Each host has a port left, but not in the same plane.
		{"ports of two planes", []Loss{link("H1", "P1-T0-1"), link("P2-T0-2", "H4")}, false},
	} {
		if got := n.LeavesPaths(c.losses...); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLose: the test tells switches that see a link go from switches that went.
func TestLose(t *testing.T) {
	w, err := NewWorld(Clos(ClosConfig{T0: 2, T1: 2, Hosts: 4}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss Loss
		want []string
	}{
		{Loss{Links: [][2]string{{"P1-T0-1", "P1-T1-1"}}}, []string{"P1-T0-1", "P1-T1-1"}},
		{Loss{Switches: []string{"P1-T1-2"}}, []string{"P1-T0-1", "P1-T0-2"}},
		{Loss{Switches: []string{"P2-T0-1", "P2-T0-2", "P2-T1-1", "P2-T1-2"}}, nil},
	} {
		got, err := w.Lose(c.loss)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v is seen by %v, %v; want %v", c.loss, got, err, c.want)
		}
	}
	for _, h := range w.Network.Hosts {
		if node, _ := w.MRCHost(h.Name); node.Ports().Has(2) || !node.Ports().Has(1) {
			t.Errorf("%s has ports %b, want port 1 alone: the switch of the other is off", h.Name,
				node.Ports())
		}
	}
	for _, l := range []Loss{{Links: [][2]string{{"P1-T0-2", "P1-T1-1"}, {"H1", "H2"}}},
		{Switches: []string{"P1-T0-1", "P1-T9-1"}}} {
		if _, err := w.Lose(l); !errors.Is(err, ErrUnknown) {
			t.Errorf("%v: %v", l, err)
		}
	}
	if wire, _ := w.Wire("P1-T0-2", "P1-T1-1"); !wire.Up() {
		t.Error("a link is lost by a loss that is refused")
	}
}

// TestRoundTrip: by hand. A WRITE takes 4,222 octets of a link and a SACK 138: 348.8 us at 100
// Mb/s; each way 500 us.
func TestRoundTrip(t *testing.T) {
	for _, c := range []struct {
		config ClosConfig
		links  time.Duration
	}{{ClosConfig{}, 4}, {ClosConfig{Tiers: 3}, 6}, {ClosConfig{T0: 1, T1: 1, Hosts: 2}, 2}} {
		c.config.Rate, c.config.Delay = 100e6, 500*time.Microsecond
		n := Clos(c.config)
		if err := n.Complete(); err != nil {
			t.Fatal(err)
		}
		want := c.links * (time.Millisecond + 348800*time.Nanosecond)
		if got := n.RoundTrip(); got != want {
			t.Errorf("%+v: %v, want %v", c.config, got, want)
		}
		if q := n.Classes(); c.links == 4 && (q.DataPackets != 31 || q.ECNMin != 3 || q.ECNMax != 12) {
			t.Errorf("queues of %d packets, marked from %d to %d, want those of 67,440 octets, and twice "+
				"that", q.DataPackets, q.ECNMin, q.ECNMax)
		}
		if net := n.Congestion("H1"); net.Rate != 200e6 || net.RTT != want {
			t.Errorf("%+v", net)
		}
	}
	n := Figure1()
	if got := n.RoundTrip(); got != 0 {
		t.Errorf("%v without hosts of MRC", got)
	}
}
