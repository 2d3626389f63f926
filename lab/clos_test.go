package lab

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestClosOfThreeTiers: pods have no links to each other but by T2s, and odd numbers come out even.
func TestClosOfThreeTiers(t *testing.T) {
	n := Clos(ClosConfig{Planes: 1, Tiers: 3, T0: 5, T1: 4, T2: 3, Hosts: 7})
	if err := n.Complete(); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{} // links of a switch up, and down
	for _, l := range n.Links {
		if n.host(l.B) == nil {
			count[l.A+" up"]++
			count[l.B+" down"]++
		}
	}
	tiers := n.Tiers()
	for name, want := range map[string]int{"P1-T0-1 up": 2, "P1-T0-5 up": 2, "P1-T1-1 down": 3,
		"P1-T1-4 down": 2, "P1-T1-4 up": 3, "P1-T2-3 down": 4} {
		if count[name] != want {
			t.Errorf("%s: %d links, want %d", name, count[name], want)
		}
	}
	for name, want := range map[string]int{"P1-T0-5": 0, "P1-T1-1": 1, "P1-T2-3": 2} {
		if tiers[name] != want {
			t.Errorf("%s is of tier %d, want %d", name, tiers[name], want)
		}
	}
	if len(n.Switches) != 12 || len(n.Links) != 3*2+2*2+4*3+7 {
		t.Errorf("%d switches, %d links", len(n.Switches), len(n.Links))
	}
}

func TestClosRefuses(t *testing.T) {
	for _, c := range []struct {
		config ClosConfig
		want   string
	}{
		{ClosConfig{Planes: 32}, "planes: is 32: want 1 to 31"},
		{ClosConfig{Planes: -1}, "planes: is -1"},
		{ClosConfig{Tiers: 4}, "tiers: is 4: want 2 to 3"},
		{ClosConfig{Pods: 2}, "pods: is 2: want 0 to 0"},
		{ClosConfig{T2: 2}, "t2: is 2: want 0 to 0"},
		{ClosConfig{Tiers: 3, Pods: 5}, "pods: is 5: want 1 to 4"},
		{ClosConfig{Hosts: 3}, "hosts: is 3: want 4 to"},
		{ClosConfig{T1: 501}, "t1: is 501: want 1 to 500 in a lab: a v1model switch has 9 bits"},
	} {
		if err := c.config.Validate(); !errors.Is(err, ErrNetwork) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.want)
		}
	}
	if err := (ClosConfig{}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (ClosConfig{Tiers: 3, T0: 1, T1: 1}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestQueues: queues hold two bandwidth-delay products and some packets of each queue pair that an
// all-to-all has on a link, marks follow the product alone, and probes wait for a full queue.
func TestQueues(t *testing.T) {
	for _, c := range []struct {
		fabric        ClosConfig
		packets       uint32
		markFrom, all uint32
	}{
		{ClosConfig{}, 31, 3, 12},                       // of 15.9 packets a product
		{ClosConfig{Tiers: 3}, 47, 4, 19},               // of 23.9; 12 queue pairs an uplink
		{ClosConfig{Hosts: 64}, 3 * 96, 3, 12},          // 16 x 48 queue pairs over 8 uplinks
		{ClosConfig{Hosts: 64, Tiers: 3}, 576, 4, 19},   // over 4
		{ClosConfig{T0: 1, T1: 1, Hosts: 33}, 48, 1, 6}, // to a host, 32 over 2 ports
	} {
		c.fabric.Rate, c.fabric.Delay = DemoLinks(c.fabric)
		n := Clos(c.fabric)
		got := n.Classes()
		if got.DataPackets != c.packets || got.ECNMin != c.markFrom || got.ECNMax != c.all {
			t.Errorf("%+v: %d packets, marked from %d to %d; want %d, %d, %d", c.fabric, got.DataPackets,
				got.ECNMin, got.ECNMax, c.packets, c.markFrom, c.all)
		}
		full := time.Duration(uint64(got.DataPackets) * writeWire * 8 * uint64(
			time.Second) / c.fabric.Rate)
		ack, probe := n.Timers()
		if probe < n.RoundTrip()+full || probe < 6*n.RoundTrip() || 1024*time.Nanosecond<<ack < 2*probe {
			t.Errorf("%+v: a probe after %v, a timeout after %v; a round trip takes %v and a full queue %v",
				c.fabric, probe, 1024*time.Nanosecond<<ack, n.RoundTrip(), full)
		}
	}
}

func TestDemoLinks(t *testing.T) {
	for _, c := range []struct {
		config ClosConfig
		rate   uint64
		delay  time.Duration
	}{
		{ClosConfig{}, 20e6, 2500 * time.Microsecond},
		{ClosConfig{Hosts: 64}, 5e6, 10100 * time.Microsecond},
		{ClosConfig{Hosts: 4}, 80e6, 600 * time.Microsecond}, {ClosConfig{Hosts: 4, Planes: 1}, 100e6,
			500 * time.Microsecond},
	} {
		if rate, delay := DemoLinks(c.config); rate != c.rate || delay != c.delay {
			t.Errorf("%+v: %d, %v; want %d, %v", c.config, rate, delay, c.rate, c.delay)
		}
	}
}
