package hostapi_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
)

func goodSelfProbes() *hostapi.SelfProbes {
	return &hostapi.SelfProbes{Version: hostapi.Version{Epoch: 1, Number: 2},
		Interval: time.Millisecond, Timeout: 2 * time.Millisecond, DeadAfter: 3,
		Report: 100 * time.Millisecond, DSCP: 43,
		Targets: []hostapi.EV{hostapi.NewEV(1, 1), hostapi.NewEV(2, 31)}}
}

// TestSelfProbes: a plan travels as it is; of a wrong one the field is named.
func TestSelfProbes(t *testing.T) {
	got, err := hostapi.DecodeSelfProbes(hostapi.EncodeDown(goodSelfProbes())[0].GetSelfProbes())
	if err != nil || !reflect.DeepEqual(got, goodSelfProbes()) {
		t.Errorf("%+v, %v", got, err)
	}
	for field, change := range map[string]func(*hostapi.SelfProbes){
		"version":            func(p *hostapi.SelfProbes) { p.Version.Number = 0 },
		"interval_ns":        func(p *hostapi.SelfProbes) { p.Interval = hostapi.MinSelfInterval - 1 },
		"timeout_ns":         func(p *hostapi.SelfProbes) { p.Timeout = hostapi.MaxSelfTimeout + 1 },
		"dead_after":         func(p *hostapi.SelfProbes) { p.DeadAfter = 0 },
		"report_interval_ns": func(p *hostapi.SelfProbes) { p.Report = hostapi.MinSelfReport - 1 },
		"dscp":               func(p *hostapi.SelfProbes) { p.DSCP = 64 },
		"targets[1].port":    func(p *hostapi.SelfProbes) { p.Targets[1].Port = 0 },
		"targets": func(p *hostapi.SelfProbes) {
			p.Targets = make([]hostapi.EV, hostapi.MaxSelfTargets+1)
		},
	} {
		p := goodSelfProbes()
		change(p)
		var e *hostapi.FieldError
		if err := p.Validate(); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
		if _, err := hostapi.DecodeSelfProbes(hostapi.EncodeDown(p)[0].GetSelfProbes()); err == nil {
			t.Errorf("%s: decoded", field)
		}
	}
	stop := &hostapi.SelfProbes{Version: hostapi.Version{Epoch: 1, Number: 1}}
	if got, err := hostapi.DecodeSelfProbes(hostapi.EncodeDown(stop)[0].GetSelfProbes()); err != nil ||
		len(got.Targets) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSelfProbeCounts: counts travel as they are; of wrong ones the field is named.
func TestSelfProbeCounts(t *testing.T) {
	good := func() *hostapi.SelfProbeCounts {
		return &hostapi.SelfProbeCounts{Version: hostapi.Version{Epoch: 1, Number: 2},
			Counts: []hostapi.SelfProbeCount{{Target: 4095, Passed: 7, Lost: 3, SetAside: 1, Marked: 7,
				Misses: 3, Missing: time.Second}}}
	}
	got, err := hostapi.DecodeUp(hostapi.EncodeUp(good()))
	if err != nil || !reflect.DeepEqual(got, good()) {
		t.Errorf("%+v, %v", got, err)
	}
	for field, change := range map[string]func(*hostapi.SelfProbeCounts){
		"self_probe_counts.version": func(c *hostapi.SelfProbeCounts) { c.Version.Epoch = 0 },
		"self_probe_counts.counts[0].target": func(c *hostapi.SelfProbeCounts) {
			c.Counts[0].Target = 4096
		},
		"self_probe_counts.counts[0].marked": func(c *hostapi.SelfProbeCounts) { c.Counts[0].Marked = 8 },
	} {
		c := good()
		change(c)
		var e *hostapi.FieldError
		if _, err := hostapi.DecodeUp(hostapi.EncodeUp(c)); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := hostapi.DecodeSelfProbes(&hostpb.SelfProbes{}); err == nil {
		t.Error("an empty plan is decoded")
	}
}
