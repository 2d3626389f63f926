package causes

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	ofStatus = regexp.MustCompile(`desc = "?((?:[^"\\]|\\.)*)"?$`)
	steps    = regexp.MustCompile(`^((transport|connection error|opening the stream|southbound|` +
		`rpc error)[:,]? *)+`)
	dialing = regexp.MustCompile(`(?i)^Error while dialing[:,]? *`)
	dialed  = regexp.MustCompile(`dial tcp (\S+):`)
	timeout = regexp.MustCompile(`(?i)i/o timeout|deadline exceeded`)
	ended   = regexp.MustCompile(`\bEOF\b`)
	humps   = regexp.MustCompile(`([a-z])([A-Z])`)
)

// Plain takes from an error of a connection what is for programs: the steps by which it was made,
// and codes of gRPC. It returns sentences.
func Plain(err string) string {
	inner := err
	if m := ofStatus.FindStringSubmatch(err); m != nil {
		inner = m[1]
	}
	last := strings.ReplaceAll(inner, `\"`, `"`)
	last = dialing.ReplaceAllString(steps.ReplaceAllString(last, ""), "")
	switch {
	case strings.Contains(last, "connection refused"):
		at := "its address"
		if m := dialed.FindStringSubmatch(last); m != nil {
			at = m[1]
		}
		return fmt.Sprintf("Nothing listens at %s: the connection was refused.", at)
	case timeout.MatchString(last):
		return "It did not answer in time."
	case strings.Contains(last, "connection reset"), strings.Contains(last, "broken pipe"):
		return "It ended the connection."
	case ended.MatchString(last):
		return "The connection ended."
	case strings.Contains(last, "no route to host"), strings.Contains(last, "network is unreachable"):
		return "There is no route to its address."
	}
	text := strings.TrimSpace(last)
	if text == "" {
		return ""
	}
	first, n := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[n:]
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "!") &&
		!strings.HasSuffix(text, "?") {
		text += "."
	}
	return text
}

// words writes a reason of one word as words.
func words(reason string) string {
	return strings.ToLower(humps.ReplaceAllString(reason, "$1 $2"))
}

// Count writes a number of things; the noun is that of one.
func Count(n int, noun string) string {
	if n != 1 {
		switch {
		case noun == "more":
		case strings.HasSuffix(noun, "y"):
			noun = noun[:len(noun)-1] + "ies"
		case strings.HasSuffix(noun, "ch"):
			noun += "es"
		default:
			noun += "s"
		}
	}
	return fmt.Sprintf("%d %s", n, noun)
}
