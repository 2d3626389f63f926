package setup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

// separator is the line between two requests of a file.
const separator = "---"

// request is a WriteRequest and the line of the file where its text begins.
type request struct {
	*p4v1.WriteRequest
	line int
}

func readEntries(name string) ([]request, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	requests, err := parseEntries(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return requests, nil
}

// parseEntries reads requests with separator lines between them. Errors begin
// with line and column.
func parseEntries(text []byte) ([]request, error) {
	var requests []request
	// a request, with empty lines for what is before it: its errors have the file's lines
	var one bytes.Buffer
	first := 0 // line with the first of its text
	end := func() error {
		if first == 0 {
			return nil
		}
		r := request{new(p4v1.WriteRequest), first}
		if err := prototext.Unmarshal(one.Bytes(), r.WriteRequest); err != nil {
			return errors.New(reason(err))
		}
		requests = append(requests, r)
		return nil
	}
	line := 0
	for l := range bytes.Lines(text) {
		line++
		content := bytes.TrimSpace(l)
		if string(content) == separator {
			if err := end(); err != nil {
				return nil, err
			}
			one.Reset()
			one.WriteString(strings.Repeat("\n", line))
			first = 0
			continue
		}
		if first == 0 && len(content) > 0 && content[0] != '#' {
			first = line
		}
		one.Write(l)
	}
	return requests, end()
}

// reason removes the prefix of prototext's errors; prototext varies the kind of space in the prefix
// on purpose.
func reason(err error) string {
	s := err.Error()
	s = strings.TrimPrefix(s, "proto:")
	return strings.TrimLeft(s, " \u00a0")
}
