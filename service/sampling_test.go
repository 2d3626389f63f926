package service

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/telemetry"
)

// TestGroupProgress: packets are counted across the wrap of PSNs; a new epoch, another root, an
// answer without a PSN and PSNs that wrap too fast begin anew.
func TestGroupProgress(t *testing.T) {
	slow := func(string, uint32) bool { return false }
	progress := make(map[string]*groupProgress)
	at := time.Unix(1_800_000_000, 0)
	for i, c := range []struct {
		sample controller.GroupSample
		fast   bool
		want   gnmi.Count
	}{
		{sample: controller.GroupSample{PSN: -1, Switch: "n6", Epoch: 1}},
		{sample: controller.GroupSample{PSN: 1<<24 - 10, Switch: "n6", Epoch: 1}},
		{sample: controller.GroupSample{PSN: 20, Switch: "n6", Epoch: 1},
			want: gnmi.Count{Value: 30, OK: true}},
		{sample: controller.GroupSample{PSN: 20, Switch: "n6", Epoch: 1},
			want: gnmi.Count{Value: 30, OK: true}},
		{sample: controller.GroupSample{PSN: 1<<23 + 120, Switch: "n6", Epoch: 1},
			want: gnmi.Count{Value: 1<<23 + 130, OK: true}},
		{sample: controller.GroupSample{PSN: 5, Switch: "n6", Epoch: 2}},
		{sample: controller.GroupSample{PSN: 6, Switch: "n6", Epoch: 2},
			want: gnmi.Count{Value: 1<<23 + 131, OK: true}},
		{sample: controller.GroupSample{PSN: 9, Switch: "n5", Epoch: 2}},
		{sample: controller.GroupSample{PSN: 9, Switch: "n5", Epoch: 2}, fast: true},
		{sample: controller.GroupSample{PSN: 10, Switch: "n5", Epoch: 2},
			want: gnmi.Count{Value: 1<<23 + 132, OK: true}},
	} {
		c.sample.Group, c.sample.At, c.sample.CNPs, c.sample.Stalled = "g",
			at.Add(time.Duration(i)*time.Second), 7, 2
		is := slow
		if c.fast {
			is = func(sw string, port uint32) bool { return sw == "n5" && port == 0 }
		}
		all := groupReadings(progress, []controller.GroupSample{c.sample, {Group: "silent", PSN: 4}}, is)
		if len(all) != 1 || all[0].Name != "g" || !all[0].At.Equal(c.sample.At) {
			t.Fatalf("%d: readings %+v", i, all)
		}
		v := all[0].Values
		if v[telemetry.GroupAcked].OK != c.want.OK || c.want.OK && v[telemetry.GroupAcked] != c.want {
			t.Errorf("%d: %+v acknowledged, want %+v", i, v[telemetry.GroupAcked], c.want)
		}
		if v[telemetry.GroupCNPs] != (gnmi.Count{Value: 7, OK: true}) ||
			v[telemetry.GroupStalled] != (gnmi.Count{Value: 2, OK: true}) {
			t.Errorf("%d: %+v", i, v)
		}
	}
	if groupReadings(progress, nil, slow); len(progress) != 0 {
		t.Errorf("groups that are gone are kept: %v", progress)
	}
}

// TestGroupInterval: a switch is asked for 256 groups a second at most.
func TestGroupInterval(t *testing.T) {
	for groups, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 256: time.Second,
		257: 2 * time.Second, 1024: 4 * time.Second} {
		samples := []controller.GroupSample{{Switch: "another"}}
		for range groups {
			samples = append(samples, controller.GroupSample{Switch: "n6"})
		}
		if got := groupInterval(samples); got != want {
			t.Errorf("%d groups: %v, want %v", groups, got, want)
		}
	}
}

// TestArrived: the packet count of a port uses its busiest recent second.
func TestArrived(t *testing.T) {
	st, now := telemetry.New(telemetry.Config{}), time.Unix(1_800_000_000, 0)
	packets := uint64(0)
	for _, n := range []uint64{90e6, 0, 10e6, 20e6, 5e6} {
		packets += n
		now = now.Add(time.Second)
		s := gnmi.Sample{Switch: "n6", Port: 3, Time: now, Arrived: now}
		s.In.Packets = gnmi.Count{Value: packets, OK: true}
		st.Take([]gnmi.Sample{s})
	}
	for port, want := range map[uint32]string{3: "4e+07", 4: "0e+00"} {
		if got := fmt.Sprintf("%.0e", arrived(st, "n6", port, 2*time.Second, now)); got != want {
			t.Errorf("port %d: %s packets in 2 s, want %s", port, got, want)
		}
	}
}
