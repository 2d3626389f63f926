package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestLogsAreLines: foreign text can neither begin a log line nor reach a terminal unescaped.
func TestLogsAreLines(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log, err := (&logging{level: "info", format: format}).open(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.WithGroup("g").With("node", hostile).Info(hostile, "error", errors.New(hostile), "octets",
			[]byte(hostile), "list", []string{hostile})
		checkHostile(t, format, out.String())
		if lines := strings.Count(out.String(), "\n"); lines != 1 ||
			strings.Count(out.String(), "u202e") < 3 {
			t.Errorf("%s: %d lines: %s", format, lines, out.String())
		}
		var fields struct {
			Msg string
			G   struct{ Node string }
		}
		if format == "json" {
			if err := json.Unmarshal(out.Bytes(), &fields); err != nil || fields.Msg != hostile ||
				fields.G.Node != hostile {
				t.Errorf("%q, %v", fields, err)
			}
		}
	}
}
