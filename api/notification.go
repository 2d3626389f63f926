package api

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of notifications.
const (
	// MaxNotifications bounds the notifications of a controller.
	MaxNotifications = 32
	// MaxNotificationURL bounds the octets of a URL.
	MaxNotificationURL = 2048

	// MaxNotificationKinds bounds the kinds of causes that one names.
	MaxNotificationKinds = 32
	// MaxNotificationAfter bounds how long a cause must last before it is sent.
	MaxNotificationAfter = time.Hour
	// MaxPending bounds the messages of a notification that wait.
	MaxPending = 64
	// MaxTold bounds the causes at a time that the receiver of a notification was told of.
	MaxTold = 256
	// MaxMessageFollows bounds the consequences of a cause in a message.
	MaxMessageFollows = 10
)

// secretPrefix is what a secret of Standard Webhooks begins with.
const secretPrefix = "whsec_"

// Notification is the resource that reports causes to a webhook receiver.
type Notification struct {
	Name    string             `json:"name" doc:"Name of the notification."`
	Version uint64             `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time          `json:"created,omitzero" doc:"When it was created."`
	Spec    NotificationSpec   `json:"spec" doc:"Who is told of which causes."`
	Status  NotificationStatus `json:"status"`
}

// Intent implements [Intended].
func (r Notification) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// NotificationSpec defines who is told of which causes.
type NotificationSpec struct {
	URL        string     `json:"url" minLength:"1" maxLength:"2048" doc:"Where the messages are posted: http or https, without a user."`
	Secret     string     `json:"secret,omitempty" writeOnly:"true" doc:"What messages are signed with: whsec_ and 24 to 64 octets in base64. It is never read back: a write without one keeps the one that there is. Nothing is sent without one."`
	Severities []Severity `json:"severities,omitempty" enum:"fault,warning,work" doc:"Only causes of these severities. Default: fault and warning."`
	Kinds      []string   `json:"kinds,omitempty" maxItems:"32" doc:"Only causes of these kinds, as GET /v1/causes has them. Default: all."`
	After      *Duration  `json:"after,omitempty" doc:"How long a cause must last, and be over, before that is sent; at most 1h. Default: 10s."`
}

// NotificationStatus is what the controller reports about a notification.
type NotificationStatus struct {
	Conditions  Conditions `json:"conditions,omitempty" doc:"Accepted, and Degraded: there is no secret (NoSecret), or the last attempt has failed (Failing)."`
	Told        int        `json:"told" doc:"Causes that the receiver was told of and that are not over."`
	Pending     int        `json:"pending" doc:"Messages that wait, at most 64."`
	Failures    int        `json:"failures" doc:"Attempts that have failed since the last that did not."`
	Lost        uint64     `json:"lost" doc:"Messages that were given up: after 24 h, or more than 64 waited, or more than 256 causes lasted."`
	Delivered   time.Time  `json:"delivered,omitzero" doc:"When the receiver took a message last."`
	LastError   string     `json:"lastError,omitempty" doc:"Why the last attempt that failed did, since this controller decides."`
	LastErrorAt time.Time  `json:"lastErrorAt,omitzero" doc:"When it did."`
	NextAttempt time.Time  `json:"nextAttempt,omitzero" doc:"When the next attempt is made after one that has failed."`
}

// CauseMessage is the body of a webhook: what became of a cause.
type CauseMessage struct {
	Type      EventType   `json:"type" enum:"cause.began,cause.changed,cause.ended" doc:"What happened."`
	Timestamp time.Time   `json:"timestamp" doc:"When that was seen."`
	Data      CauseNotice `json:"data" doc:"The cause as it was then."`
}

// CauseNotice is a cause in a webhook: as in GET /v1/causes, with at most ten consequences.
type CauseNotice struct {
	Cause
	Link string `json:"link,omitempty" doc:"The dashboard, where the configuration has its URL (api.url)."`
}

// TestMessageType is the type of the message of a test.
const TestMessageType = "notification.test"

// NotificationTest is what the receiver of a notification has answered to a test.
type NotificationTest struct {
	Taken  bool   `json:"taken" doc:"The receiver has taken the message: it answered 2xx."`
	ID     string `json:"id" doc:"Id of the message, as in the header webhook-id."`
	Status int    `json:"status,omitempty" doc:"Status of the answer; absent without one."`
	Error  string `json:"error,omitempty" doc:"Why the message was not taken."`
	TookMs int64  `json:"tookMs" doc:"How long it took, in ms."`
}

// Complete returns the spec with its defaults.
func (s NotificationSpec) Complete() NotificationSpec {
	if len(s.Severities) == 0 {
		s.Severities = []Severity{SeverityFault, SeverityWarning}
	}
	if s.After == nil {
		after := Duration(10 * time.Second)
		s.After = &after
	}
	return s
}

// Selects reports whether a receiver is told of a cause.
func (s *NotificationSpec) Selects(c *Cause) bool {
	return slices.Contains(s.Severities, c.Severity) &&
		(len(s.Kinds) == 0 || slices.Contains(s.Kinds, c.Kind))
}

// Validate returns all faults of a completed spec, or nil. The faults do not show the secret.
func (s *NotificationSpec) Validate() error {
	var v validator
	if len(s.URL) > MaxNotificationURL {
		v.bad("spec.url", fmt.Sprintf("%d octets", len(s.URL)),
			fmt.Sprintf("at most %d octets", MaxNotificationURL))
	} else if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		v.bad("spec.url", "not such a URL", // it may have a password
			"an http or https URL with a host, without a user and without a fragment")
	}
	if _, err := SigningKey(s.Secret); s.Secret != "" && err != nil {
		v.bad("spec.secret", "not such a secret", secretPrefix+" and 24 to 64 octets in base64")
	}
	for i, severity := range s.Severities {
		if !slices.Contains([]Severity{SeverityFault, SeverityWarning, SeverityWork}, severity) ||
			slices.Contains(s.Severities[:i], severity) {
			v.bad(fmt.Sprintf("spec.severities[%d]", i), strconv.Quote(string(severity)),
				"fault, warning or work, each once")
		}
	}
	if len(s.Kinds) > MaxNotificationKinds {
		v.bad("spec.kinds", strconv.Itoa(len(s.Kinds)),
			fmt.Sprintf("at most %d kinds", MaxNotificationKinds))
	}
	for i, kind := range s.Kinds {
		if !slices.Contains(CauseKinds(), kind) || slices.Contains(s.Kinds[:i], kind) {
			v.bad(fmt.Sprintf("spec.kinds[%d]", i), strconv.Quote(kind),
				strings.Join(CauseKinds(), ", ")+", each once")
		}
	}
	if d := s.After.D(); d < 0 || d > MaxNotificationAfter {
		v.bad("spec.after", d.String(), fmt.Sprintf("a duration of 0s to %v", MaxNotificationAfter))
	}
	return Refuse(v.found)
}

// SigningKey returns the key that a secret has, of 24 to 64 octets. The error does not have the
// secret.
func SigningKey(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, fmt.Errorf("the secret is not %s and 24 to 64 octets in base64", secretPrefix)
	}
	return key, nil
}
