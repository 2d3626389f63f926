package feature

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/weft-sdn/weft/api"
)

// Reason returns the reason of a condition for the code of an error.
func Reason(code api.Code) string {
	switch code {
	case api.CodeUnreachable:
		return api.ReasonUnreachable
	case api.CodeLimit:
		return api.ReasonLimit
	}
	return api.ReasonNotPlannable
}

// Names joins names, and counts those after the fifth.
func Names(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + fmt.Sprintf(" and %d more", len(names)-5)
	}
	return strings.Join(names, ", ")
}

// Summary returns conditions as the message of an event.
func Summary(conditions api.Conditions) string {
	var parts []string
	for _, c := range conditions {
		text := string(c.Type) + "=no"
		if c.Status {
			text = string(c.Type) + "=yes"
		}
		parts = append(parts, text+" ("+c.Reason+")")
	}
	return strings.Join(parts, " ")
}

// Says returns what an event says of conditions: the worst of them.
func Says(conditions api.Conditions) (f api.EventFields) {
	for _, c := range conditions {
		why := words(c.Reason)
		switch {
		case c.Type == api.Accepted && !c.Status:
			return api.EventFields{State: api.StateRefused, Reason: why}
		case c.Type == api.Degraded && c.Status:
			f = api.EventFields{State: api.StateDegraded, Reason: why}
		case f.State == api.StateDegraded:
		case c.Type == api.Programmed && !c.Status:
			f = api.EventFields{State: api.StateInstalling, Reason: why}
			if c.Reason == api.ReasonInstalling {
				f.Reason = ""
			}
		case f.State == "":
			f.State = api.StateProgrammed
		}
	}
	return f
}

// words writes a reason, such as ReceiverStalled, as words.
func words(reason string) string {
	var b strings.Builder
	for i, r := range reason {
		if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(reason[i-1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
