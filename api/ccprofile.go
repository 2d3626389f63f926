package api

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// CCProfile is a named set of congestion control parameters for hosts.
type CCProfile struct {
	Name    string        `json:"name" doc:"Name of the CC profile."`
	Version uint64        `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time     `json:"created,omitzero" doc:"When it was created."`
	Spec    CCProfileSpec `json:"spec" doc:"Spec of the client, with the algorithm filled in."`
}

// Intent implements [Intended].
func (r CCProfile) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// CCProfileSpec is the algorithm and its parameters (mrc_ctl_cc_profile_attr).
type CCProfileSpec struct {
	// Algorithm is NSCC's name, which is the default: no other is known.
	Algorithm string `json:"algorithm,omitempty" yaml:"algorithm" doc:"uet-1.0-nscc, the default: no other is known."`
	NSCC      NSCC   `json:"nscc" yaml:"nscc" doc:"Parameters of NSCC."`
}

// NSCC is hostapi.NSCC, field by field, which says what each means. Windows and
// thresholds are octets.
type NSCC struct {
	DisableQA             bool     `json:"disableQa,omitempty" yaml:"disableQa" doc:"No quick adapt."`
	AdjustBytesThreshold  uint32   `json:"adjustBytesThreshold,omitempty" yaml:"adjustBytesThreshold" format:"uint32" doc:"Octets; increases are applied when more than this were acknowledged."`
	AdjustPeriodThreshold Duration `json:"adjustPeriodThreshold,omitzero" yaml:"adjustPeriodThreshold" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"Or when more than this has passed. 0 is the device's own."`
	BaseRTT               Duration `json:"baseRtt,omitzero" yaml:"baseRtt" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"Round trip of an idle network with one full packet, until a lesser sample is seen. 0 is the device's own."`
	Eta                   float32  `json:"eta,omitempty" yaml:"eta" doc:"Octets, added once every adjustPeriodThreshold."`
	FI                    float32  `json:"fi,omitempty" yaml:"fi" doc:"Fair increase, octets a window."`
	FIScale               float32  `json:"fiScale,omitempty" yaml:"fiScale" doc:"Fast increase: share of the octets acknowledged."`
	Gamma                 float32  `json:"gamma" yaml:"gamma" doc:"Multiplicative decrease, above 0 and at most 1."`
	MaxMDJump             float32  `json:"maxMdJump" yaml:"maxMdJump" doc:"One decrease leaves at least this share of the window, above 0 and at most 1."`
	MaxCwnd               uint32   `json:"maxCwnd" yaml:"maxCwnd" format:"uint32" doc:"Octets; the greatest window, and the one to start with."`
	QAGate                uint8    `json:"qaGate,omitempty" yaml:"qaGate" doc:"Quick adapt shrinks the window when less than maxCwnd / 2^qaGate was acknowledged; at most 31."`
	QAThreshold           Duration `json:"qaThreshold,omitzero" yaml:"qaThreshold" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"And a delay above this, or a loss. 0 is the device's own."`
	TargetDelay           Duration `json:"targetDelay" yaml:"targetDelay" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"Delay of queues that is aimed at."`
	Alpha                 float32  `json:"alpha,omitempty" yaml:"alpha" doc:"Octets a second; proportional increase: alpha x (targetDelay - delay) octets a window. Here and below 0 is the device's own."`
	DelayWeight           float32  `json:"delayWeight,omitempty" yaml:"delayWeight" doc:"Weight of a sample in the average delay, at most 1."`
	MinCwnd               uint32   `json:"minCwnd,omitempty" yaml:"minCwnd" format:"uint32" doc:"Octets; the least window, at most maxCwnd."`
	FastDelay             Duration `json:"fastDelay,omitzero" yaml:"fastDelay" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"A delay below this is none: fast increase."`
	DelayRelief           float32  `json:"delayRelief,omitempty" yaml:"delayRelief" doc:"Share of the base round trip that an unmarked sample above the target counts for in the average, at most 1."`
	NACKDelay             Duration `json:"nackDelay,omitzero" yaml:"nackDelay" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 9us" doc:"Delay that a NACK enters into the average."`
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
		DisableQA: n.DisableQA, AdjustBytesThreshold: n.AdjustBytesThreshold,
		AdjustPeriodThreshold: n.AdjustPeriodThreshold.D(),
		BaseRTT:               n.BaseRTT.D(), Eta: n.Eta, FI: n.FI, FIScale: n.FIScale, Gamma: n.Gamma,
		MaxMDJump: n.MaxMDJump, MaxCwnd: n.MaxCwnd,
		QAGate: n.QAGate, QAThreshold: n.QAThreshold.D(), TargetDelay: n.TargetDelay.D(),
		Alpha: n.Alpha, DelayWeight: n.DelayWeight,
		MinCwnd: n.MinCwnd, FastDelay: n.FastDelay.D(), DelayRelief: n.DelayRelief,
		NACKDelay: n.NACKDelay.D(),
	}}
}

// CCProfileSpecOf is the inverse of Host.
func CCProfileSpecOf(p *hostapi.CCProfile) CCProfileSpec {
	n := &p.NSCC
	return CCProfileSpec{Algorithm: p.Algorithm, NSCC: NSCC{
		DisableQA: n.DisableQA, AdjustBytesThreshold: n.AdjustBytesThreshold,
		AdjustPeriodThreshold: Duration(n.AdjustPeriodThreshold),
		BaseRTT:               Duration(n.BaseRTT), Eta: n.Eta, FI: n.FI, FIScale: n.FIScale,
		Gamma:     n.Gamma,
		MaxMDJump: n.MaxMDJump, MaxCwnd: n.MaxCwnd,
		QAGate: n.QAGate, QAThreshold: Duration(n.QAThreshold), TargetDelay: Duration(n.TargetDelay),
		Alpha: n.Alpha, DelayWeight: n.DelayWeight,
		MinCwnd: n.MinCwnd, FastDelay: Duration(n.FastDelay), DelayRelief: n.DelayRelief,
		NACKDelay: Duration(n.NACKDelay),
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
