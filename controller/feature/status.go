package feature

import (
	"fmt"
	"strings"

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
