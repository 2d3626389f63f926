package nscc

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestProfile: a configuration survives the way through a CC profile, which a controller may send;
// and every parameter of one counts.
func TestProfile(t *testing.T) {
	other := DefaultConfig(Network{Rate: 100e9, RTT: 12 * time.Microsecond, MTU: 4096, Trimming: true})
	for _, n := range []Network{
		{Rate: 400e9, RTT: 8 * time.Microsecond, MTU: 4096, Trimming: true},
		{Rate: 100e6, RTT: 4 * time.Millisecond, MTU: 1024},
	} {
		sent := DefaultConfig(n).Profile()
		cc := hostapi.CCProfile{Name: "default", Algorithm: hostapi.AlgorithmNSCC, NSCC: sent}
		if err := cc.Validate(); err != nil {
			t.Errorf("%+v: %v", n, err)
		}
		got, err := other.WithProfile(sent)
		if err != nil {
			t.Fatalf("%+v: %v", n, err)
		}
		if got.MTU != other.MTU || got.Profile() != sent {
			t.Errorf("%+v: %+v became %+v", n, sent, got.Profile())
		}
	}
	sent := other.Profile()
	for i := range reflect.TypeOf(sent).NumField() {
		changed := sent
		switch f := reflect.ValueOf(&changed).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Float32:
			f.SetFloat(f.Float() / 2)
		case reflect.Int64:
			f.SetInt(f.Int() / 2)
		default:
			f.SetUint(f.Uint() / 2)
		}
		got, err := other.WithProfile(changed)
		if err != nil {
			t.Fatalf("%s: %v", reflect.TypeOf(sent).Field(i).Name, err)
		}
		if got.Profile() != changed {
			t.Errorf("%s does not arrive", reflect.TypeOf(sent).Field(i).Name)
		}
	}
}

// TestProfileDefaults: what a profile leaves to the device is the device's.
func TestProfileDefaults(t *testing.T) {
	own := DefaultConfig(Network{Rate: 100e9, RTT: 12 * time.Microsecond, MTU: 4096})
	sent := own.Profile()
	sent.Alpha, sent.DelayWeight, sent.DelayRelief, sent.MinCwnd, sent.FastDelay, sent.NACKDelay = 0,
		0, 0, 0, 0, 0
	sent.BaseRTT, sent.AdjustPeriodThreshold, sent.QAThreshold = 0, 0, 0
	got, err := own.WithProfile(sent)
	if err != nil {
		t.Fatal(err)
	}
	if got.Profile() != own.Profile() {
		t.Errorf("%+v became %+v", own, got)
	}
	sent.TargetDelay = -1
	if _, err := own.WithProfile(sent); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}
