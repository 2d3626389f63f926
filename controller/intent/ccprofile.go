package intent

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/weft-sdn/weft/hostapi"
)

// CCProfile is the parameters of congestion control that hosts are given under a
// name.
type CCProfile struct {
	Name string `json:"name"`
	// Version changes with every change of the spec.
	Version uint64        `json:"version"`
	Created time.Time     `json:"created,omitzero"`
	Spec    CCProfileSpec `json:"spec"`
}

// CCProfileSpec is the algorithm and its parameters (mrc_ctl_cc_profile_attr).
type CCProfileSpec struct {
	// Algorithm is NSCC's name, which is the default: no other is known.
	Algorithm string `json:"algorithm,omitempty" yaml:"algorithm"`
	NSCC      NSCC   `json:"nscc" yaml:"nscc"`
}

// NSCC is hostapi.NSCC, field by field, which says what each means. Windows and
// thresholds are octets.
type NSCC struct {
	DisableQA             bool     `json:"disableQa,omitempty" yaml:"disableQa"`
	AdjustBytesThreshold  uint32   `json:"adjustBytesThreshold,omitempty" yaml:"adjustBytesThreshold"`
	AdjustPeriodThreshold Duration `json:"adjustPeriodThreshold,omitzero" yaml:"adjustPeriodThreshold"`
	BaseRTT               Duration `json:"baseRtt,omitzero" yaml:"baseRtt"`
	Eta                   float32  `json:"eta,omitempty" yaml:"eta"`
	FI                    float32  `json:"fi,omitempty" yaml:"fi"`
	FIScale               float32  `json:"fiScale,omitempty" yaml:"fiScale"`
	Gamma                 float32  `json:"gamma" yaml:"gamma"`
	MaxMDJump             float32  `json:"maxMdJump" yaml:"maxMdJump"`
	MaxCwnd               uint32   `json:"maxCwnd" yaml:"maxCwnd"`
	QAGate                uint8    `json:"qaGate,omitempty" yaml:"qaGate"`
	QAThreshold           Duration `json:"qaThreshold,omitzero" yaml:"qaThreshold"`
	TargetDelay           Duration `json:"targetDelay" yaml:"targetDelay"`
	Alpha                 float32  `json:"alpha,omitempty" yaml:"alpha"`
	DelayWeight           float32  `json:"delayWeight,omitempty" yaml:"delayWeight"`
	MinCwnd               uint32   `json:"minCwnd,omitempty" yaml:"minCwnd"`
	FastDelay             Duration `json:"fastDelay,omitzero" yaml:"fastDelay"`
	DelayRelief           float32  `json:"delayRelief,omitempty" yaml:"delayRelief"`
	NACKDelay             Duration `json:"nackDelay,omitzero" yaml:"nackDelay"`
}

// Complete returns the spec with the default filled in.
func (s CCProfileSpec) Complete() CCProfileSpec {
	if s.Algorithm == "" {
		s.Algorithm = hostapi.AlgorithmNSCC
	}
	return s
}

// Host returns the profile as hosts are given it. The spec is complete.
func (s *CCProfileSpec) Host(name string) *hostapi.CCProfile {
	n := &s.NSCC
	return &hostapi.CCProfile{Name: name, Algorithm: s.Algorithm, NSCC: hostapi.NSCC{
		DisableQA: n.DisableQA, AdjustBytesThreshold: n.AdjustBytesThreshold, AdjustPeriodThreshold: n.AdjustPeriodThreshold.D(),
		BaseRTT: n.BaseRTT.D(), Eta: n.Eta, FI: n.FI, FIScale: n.FIScale, Gamma: n.Gamma, MaxMDJump: n.MaxMDJump, MaxCwnd: n.MaxCwnd,
		QAGate: n.QAGate, QAThreshold: n.QAThreshold.D(), TargetDelay: n.TargetDelay.D(), Alpha: n.Alpha, DelayWeight: n.DelayWeight,
		MinCwnd: n.MinCwnd, FastDelay: n.FastDelay.D(), DelayRelief: n.DelayRelief, NACKDelay: n.NACKDelay.D(),
	}}
}

// CCProfileSpecOf is the inverse of Host.
func CCProfileSpecOf(p *hostapi.CCProfile) CCProfileSpec {
	n := &p.NSCC
	return CCProfileSpec{Algorithm: p.Algorithm, NSCC: NSCC{
		DisableQA: n.DisableQA, AdjustBytesThreshold: n.AdjustBytesThreshold, AdjustPeriodThreshold: Duration(n.AdjustPeriodThreshold),
		BaseRTT: Duration(n.BaseRTT), Eta: n.Eta, FI: n.FI, FIScale: n.FIScale, Gamma: n.Gamma, MaxMDJump: n.MaxMDJump, MaxCwnd: n.MaxCwnd,
		QAGate: n.QAGate, QAThreshold: Duration(n.QAThreshold), TargetDelay: Duration(n.TargetDelay), Alpha: n.Alpha, DelayWeight: n.DelayWeight,
		MinCwnd: n.MinCwnd, FastDelay: Duration(n.FastDelay), DelayRelief: n.DelayRelief, NACKDelay: Duration(n.NACKDelay),
	}}
}

// ValidateCCProfile returns what is wrong with the name or a completed spec, or
// nil: the rules are those of package hostapi.
func ValidateCCProfile(name string, s *CCProfileSpec) error {
	if err := ValidateName(name); err != nil {
		return err
	}
	err := s.Host(name).Validate()
	if err == nil {
		return nil
	}
	f := FieldError{Field: "spec", Code: CodeInvalid, Value: "not usable", Want: err.Error()}
	var wrong *hostapi.FieldError
	if errors.As(err, &wrong) {
		f.Field = "spec." + specField(wrong.Field)
		if value, want, ok := strings.Cut(wrong.Reason, ", want "); ok {
			f.Value, f.Want = value, protoField.ReplaceAllStringFunc(want, specField)
		}
	}
	return Refuse([]FieldError{f})
}

// protoField is a field in the names of host.proto.
var protoField = regexp.MustCompile(`[a-z]+(_[a-z]+)+`)

// specField is the name of a field here, of that in host.proto: nscc.base_rtt_ns
// is nscc.baseRtt.
func specField(field string) string {
	words := strings.Split(strings.TrimSuffix(field, "_ns"), "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}
