package api

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

func goodCC() CCProfileSpec {
	return CCProfileSpec{NSCC: NSCC{Gamma: 0.8, MaxMDJump: 0.5, MaxCwnd: 1 << 20,
		TargetDelay: Duration(10 * time.Microsecond)}}.Complete()
}

func TestValidateCCProfile(t *testing.T) {
	for _, c := range []struct {
		name, profile string
		change        func(*CCProfileSpec)
		want          string
	}{
		{"least", "slow", func(*CCProfileSpec) {}, ""},
		{"name", "a:b", func(*CCProfileSpec) {},
			`name is "a:b": want 1 to 63 letters, digits, '.', '_' and '-', the first and last a letter ` +
				`or digit`},
		{"algorithm", "slow", func(s *CCProfileSpec) { s.Algorithm = "dcqcn" },
			`spec.algorithm is "dcqcn": want "uet-1.0-nscc"`},
		{"gamma", "slow", func(s *CCProfileSpec) { s.NSCC.Gamma = 0 },
			"spec.nscc.gamma is 0: want a number above 0"},
		{"jump", "slow", func(s *CCProfileSpec) { s.NSCC.MaxMDJump = 1.5 },
			"spec.nscc.maxMdJump is 1.5: want at most 1"},
		{"cwnd", "slow", func(s *CCProfileSpec) { s.NSCC.MaxCwnd = 0 },
			"spec.nscc.maxCwnd is 0: want at least 1 octet"},
		{"min", "slow", func(s *CCProfileSpec) { s.NSCC.MinCwnd = 2 << 20 },
			"spec.nscc.minCwnd is 2097152: want at most maxCwnd, 1048576"},
		{"gate", "slow", func(s *CCProfileSpec) { s.NSCC.QAGate = 32 },
			"spec.nscc.qaGate is 32: want at most 31"},
		{"rtt", "slow", func(s *CCProfileSpec) { s.NSCC.BaseRTT = Duration(5 * time.Second) },
			"spec.nscc.baseRtt is 5s: want 0 to 4.294967295s"},
		{"target", "slow", func(s *CCProfileSpec) { s.NSCC.TargetDelay = 0 },
			"spec.nscc.targetDelay is 0: want at least 1 ns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := goodCC()
			c.change(&s)
			checkRefusal(t, ValidateCCProfile(c.profile, &s), c.want)
		})
	}
}

// TestCCProfileFields: the spec has a field for every parameter of a host's profile, and every
// parameter survives JSON unchanged.
func TestCCProfileFields(t *testing.T) {
	var p hostapi.CCProfile
	p.Name, p.Algorithm = "x", hostapi.AlgorithmNSCC
	v := reflect.ValueOf(&p.NSCC).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float32:
			f.SetFloat(float64(i+1) / 64)
		case reflect.Int64:
			f.SetInt(int64(i+1) * 1000)
		default:
			f.SetUint(uint64(i + 1))
		}
	}
	b, err := json.Marshal(CCProfileSpecOf(&p))
	if err != nil {
		t.Fatal(err)
	}
	var back CCProfileSpec
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Host("x"); *got != p {
		t.Errorf("%s is\n%+v, want\n%+v", b, *got, p)
	}
}
