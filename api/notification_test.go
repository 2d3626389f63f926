package api

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// secretOf returns a secret of so many times three octets, and the end in base64.
func secretOf(n int, end string) string { return "whsec_" + strings.Repeat("QUJD", n) + end }

// TestNotificationRules: each rule of a spec at its bound and beyond it, and no refusal has a
// secret or a URL.
func TestNotificationRules(t *testing.T) {
	hour, more, less := Duration(time.Hour), Duration(time.Hour+1), Duration(-1)
	long := "https://a/" + strings.Repeat("x", MaxNotificationURL-len("https://a/"))
	for _, x := range []struct {
		field string // "": it is taken
		edit  func(*NotificationSpec)
	}{
		{"", func(*NotificationSpec) {}},
		{"", func(s *NotificationSpec) { s.URL = "http://[::1]:9000/a?b=c" }},
		{"", func(s *NotificationSpec) { s.URL = long }},
		{"spec.url", func(s *NotificationSpec) { s.URL = long + "x" }},
		{"spec.url", func(s *NotificationSpec) { s.URL = "ftp://a/hidden" }},
		{"spec.url", func(s *NotificationSpec) { s.URL = "file:///hidden" }},
		{"spec.url", func(s *NotificationSpec) { s.URL = "https:///hidden" }},
		{"spec.url", func(s *NotificationSpec) { s.URL = "https://u:hidden@a/" }},
		{"spec.url", func(s *NotificationSpec) { s.URL = "https://a/#hidden" }},
		{"spec.url", func(s *NotificationSpec) { s.URL = "" }},
		{"spec.secret", func(s *NotificationSpec) { s.Secret = "hidden" }},
		{"", func(s *NotificationSpec) { s.Secret = secretOf(8, "") }},
		{"spec.secret", func(s *NotificationSpec) { s.Secret = secretOf(7, "QUI=") }},
		{"", func(s *NotificationSpec) { s.Secret = secretOf(21, "QQ==") }},
		{"spec.secret", func(s *NotificationSpec) { s.Secret = secretOf(21, "QUI=") }},
		{"spec.severities[1]", func(s *NotificationSpec) { s.Severities = []Severity{"fault", "fault"} }},
		{"spec.severities[0]", func(s *NotificationSpec) { s.Severities = []Severity{"bad"} }},
		{"", func(s *NotificationSpec) { s.Kinds = []string{"link", "EV profile"} }},
		{"spec.kinds[0]", func(s *NotificationSpec) { s.Kinds = []string{"links"} }},
		{"", func(s *NotificationSpec) { s.After = &hour }},
		{"spec.after", func(s *NotificationSpec) { s.After = &more }},
		{"spec.after", func(s *NotificationSpec) { s.After = &less }},
	} {
		s := NotificationSpec{URL: "https://a/b"}
		x.edit(&s)
		s = s.Complete()
		err := s.Validate()
		var e *Error
		if x.field == "" {
			if err != nil {
				t.Errorf("%+v: %v", s, err)
			}
			continue
		}
		if !errors.As(err, &e) || e.Fields[0].Field != x.field ||
			strings.Contains(err.Error(), "hidden") {
			t.Errorf("%+v: %v, want a refusal of %s", s, err, x.field)
		}
	}
}
