// Package plain writes errors of connections for people who run a network. Package plain removes
// names of packages, steps of programs and codes from gRPC. Logs keep the raw errors.
package plain

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// ofStatus finds the innermost description in a gRPC error, and code the gRPC code.
	ofStatus = regexp.MustCompile(`desc = "?((?:[^"\\]|\\.)*)"?$`)
	code     = regexp.MustCompile(`rpc error: code = (\w+)`)
	// steps matches the prefixes that packages and libraries add.
	steps = regexp.MustCompile(`^((transport|connection error|opening the stream|southbound|` +
		`rpc error|hosts|hostapi|gnmi|gNMI Get|gNMI Set|sonic|bgpls|webhook|store|grpc|tls|x509|` +
		`remote error|` +
		`failed to verify certificate|authentication handshake failed)[:,]? +)+`)
	dialing = regexp.MustCompile(`(?i)^Error while dialing[:,]? *`)
	dialed  = regexp.MustCompile(`dial tcp (\S+):`)
	timeout = regexp.MustCompile(`(?i)i/o timeout|deadline exceeded|DeadlineExceeded`)
	ended   = regexp.MustCompile(`\bEOF\b`)
	refused = regexp.MustCompile(`remote error: tls: (.+)$`)
	handed  = regexp.MustCompile(`(?:tls: |x509: )([^:]*(?:certificate|x509).*)$`)
)

// codes maps gRPC codes to words, for errors without a description.
var codes = map[string]string{
	"Unavailable": "it does not answer", "Unauthenticated": "it does not know who the controller is",
	"PermissionDenied": "it does not let the controller do that", "NotFound": "it has no such thing",
	"Unimplemented": "it cannot do that", "Canceled": "the request was given up",
	"ResourceExhausted": "it has no room, or too many requests",
}

// Error is [Text] of an error; nil is "".
func Error(err error) string {
	if err == nil {
		return ""
	}
	return Text(err.Error())
}

// Text returns an error as a phrase in lower case. A text without technical parts stays unchanged.
func Text(err string) string {
	inner := err
	if m := ofStatus.FindStringSubmatch(err); m != nil {
		inner = m[1]
	}
	last := strings.ReplaceAll(inner, `\"`, `"`)
	if m := ofStatus.FindStringSubmatch(last); m != nil {
		last = m[1]
	}
	whole := last
	last = dialing.ReplaceAllString(steps.ReplaceAllString(last, ""), "")
	if m := refused.FindStringSubmatch(whole); m != nil {
		return "it refuses the certificate of the controller: " + m[1]
	}
	if m := handed.FindStringSubmatch(whole); m != nil {
		return "its certificate is not good: " +
			strings.TrimPrefix(m[1], "failed to verify certificate: x509: ")
	}
	switch {
	case strings.Contains(last, "connection refused"):
		at := "its address"
		if m := dialed.FindStringSubmatch(last); m != nil {
			at = m[1]
		}
		return fmt.Sprintf("nothing listens at %s: the connection was refused", at)
	case strings.Contains(last, "does not look like a TLS handshake"):
		return "it does not speak TLS, and the controller is to use TLS there"
	case strings.Contains(last, "error reading server preface"),
		strings.Contains(last, "malformed HTTP"):
		return "it does not speak gRPC there without TLS: it may want TLS, or be another program"
	case timeout.MatchString(last):
		return "it did not answer in time"
	case strings.Contains(last, "connection reset"), strings.Contains(last, "broken pipe"):
		return "it ended the connection"
	case ended.MatchString(last):
		return "the connection ended"
	case strings.Contains(last, "no route to host"), strings.Contains(last, "network is unreachable"):
		return "there is no route to its address"
	case strings.Contains(last, "context canceled"):
		return "the connection was given up"
	}
	if last = strings.TrimSpace(last); last == "" || code.MatchString(last) {
		if m := code.FindStringSubmatch(err); m != nil {
			if text := codes[m[1]]; text != "" {
				return text
			}
			return "it answered with an error that it does not explain (" + m[1] + ")"
		}
	}
	return last
}
