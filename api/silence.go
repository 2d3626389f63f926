package api

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Bounds of silences.
const (
	// MaxSilences bounds the silences of a controller.
	MaxSilences = 1024
	// MaxSilence bounds how long one lasts.
	MaxSilence = 30 * 24 * time.Hour
	// MaxCauseID bounds the characters of the id of a cause.
	MaxCauseID = 1024
	// MaxSilenceNote bounds the characters of its note.
	MaxSilenceNote = 500
)

// Silence is the resource by which somebody has taken notice of a cause: it is shown behind the
// others for a while, and makes no alert.
type Silence struct {
	Name    string        `json:"name" doc:"Name of the silence."`
	Version uint64        `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time     `json:"created,omitzero" doc:"When it was created."`
	Spec    SilenceSpec   `json:"spec" doc:"Which cause, why and until when."`
	Status  SilenceStatus `json:"status"`
}

// Intent implements [Intended].
func (r Silence) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// SilenceSpec defines which cause is silenced.
type SilenceSpec struct {
	Cause string    `json:"cause" minLength:"1" maxLength:"1024" doc:"Id of the cause, as GET /v1/causes has it. It need not be there now."`
	Note  string    `json:"note,omitempty" maxLength:"500" doc:"Note on the state or the repair of the cause."`
	Until time.Time `json:"until" doc:"When the silence ends and is deleted, at most 30 days from now."`
}

// SilenceStatus is what the controller reports about a silence.
type SilenceStatus struct {
	By         string     `json:"by,omitempty" doc:"Principal that made or last changed it."`
	Conditions Conditions `json:"conditions,omitempty" doc:"Accepted."`
}

// Equal reports whether two specs say the same.
func (s *SilenceSpec) Equal(o *SilenceSpec) bool {
	return s.Cause == o.Cause && s.Note == o.Note && s.Until.Equal(o.Until)
}

// Validate returns everything that is wrong with a spec at a time, or nil.
func (s *SilenceSpec) Validate(now time.Time) error {
	var v validator
	if n := utf8.RuneCountInString(s.Cause); n == 0 || n > MaxCauseID {
		v.bad("spec.cause", fmt.Sprintf("%d characters", n),
			fmt.Sprintf("the id of a cause, of 1 to %d characters", MaxCauseID))
	}
	if n := utf8.RuneCountInString(s.Note); n > MaxSilenceNote {
		v.bad("spec.note", fmt.Sprintf("%d characters", n),
			fmt.Sprintf("at most %d characters", MaxSilenceNote))
	}
	if !s.Until.After(now) || s.Until.After(now.Add(MaxSilence)) {
		v.bad("spec.until", s.Until.UTC().Format(time.RFC3339), fmt.Sprintf(
			"a time after now (%s), and at most 30 days from now", now.UTC().Format(time.RFC3339)))
	}
	return Refuse(v.found)
}
