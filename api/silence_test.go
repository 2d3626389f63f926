package api

import (
	"strings"
	"testing"
	"time"
)

// TestSilenceSpec: each bound of a silence, at, below and above it.
func TestSilenceSpec(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		spec SilenceSpec
		want string // the field that is refused; "": none
	}{
		{SilenceSpec{Cause: "c", Until: now.Add(time.Nanosecond)}, ""},
		{SilenceSpec{Cause: "c", Until: now}, "spec.until"},
		{SilenceSpec{Cause: "c"}, "spec.until"},
		{SilenceSpec{Cause: "c", Until: now.Add(MaxSilence)}, ""},
		{SilenceSpec{Cause: "c", Until: now.Add(MaxSilence + 1)}, "spec.until"},
		{SilenceSpec{Until: now.Add(1)}, "spec.cause"},
		{SilenceSpec{Cause: strings.Repeat("ü", MaxCauseID), Until: now.Add(1)}, ""},
		{SilenceSpec{Cause: strings.Repeat("ü", MaxCauseID+1), Until: now.Add(1)}, "spec.cause"},
		{SilenceSpec{Cause: "c", Note: strings.Repeat("ü", MaxSilenceNote), Until: now.Add(1)}, ""},
		{SilenceSpec{Cause: "c", Note: strings.Repeat("ü", MaxSilenceNote+1), Until: now.Add(1)},
			"spec.note"},
	} {
		err := c.spec.Validate(now)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%.60v: %v", c.spec, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%.60v: %v, want %s to be refused", c.spec, err, c.want)
		}
	}
}
