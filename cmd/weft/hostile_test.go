package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
)

// hostile holds dangerous contents for a name or a message: terminal sequences by ESC and by C1,
// DEL, marks that turn the direction, line separators, and an extra line.
const hostile = "n\x1b[31m\u009b2J\u202e\u2066\u0085\x7f\x00\u2028\U000e0041\r\nFORGED"

// A hostileAPI answers every operation in the OpenAPI document by the schema, with hostile texts
// throughout.
type hostileAPI struct {
	paths   map[string]map[string]operation
	schemas map[string]schema
	refuse  bool // every request is answered by a problem
}

type operation struct {
	Responses map[string]struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Format, Pattern      string
	Enum                 []any
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties any
	Minimum              *float64
}

func newHostileAPI(t *testing.T) *hostileAPI {
	text, err := os.ReadFile(filepath.FromSlash("../../northbound/testdata/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return &hostileAPI{paths: document.Paths, schemas: document.Components.Schemas}
}

func (h *hostileAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.refuse {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(h.value("", schema{Ref: "#/components/schemas/Problem"}, 0))
		return
	}
	o, ok := h.operation(r)
	if !ok {
		http.Error(w, "no such operation", http.StatusNotFound)
		return
	}
	for status, response := range o.Responses {
		code, _ := strconv.Atoi(status)
		if code/100 != 2 {
			continue
		}
		if _, ok := response.Content["text/event-stream"]; ok {
			w.Header().Set("Content-Type", "text/event-stream")
			data, _ := json.Marshal(h.value("", schema{Ref: "#/components/schemas/Event"}, 0))
			fmt.Fprintf(w, "id: 1\nevent: changed\ndata: %s\n\n", data)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		body, has := response.Content["application/json"]
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(code)
		if has {
			_ = json.NewEncoder(w).Encode(h.value("", body.Schema, 0))
		}
		return
	}
}

// operation returns the operation of a request: that of the path with the fewest parameters.
func (h *hostileAPI) operation(r *http.Request) (found operation, ok bool) {
	segments, fewest := strings.Split(r.URL.EscapedPath(), "/"), 1<<10
	for path, of := range h.paths {
		template := strings.Split(path, "/")
		if len(template) != len(segments) {
			continue
		}
		parameters, same := 0, true
		for i := range template {
			if strings.HasPrefix(template[i], "{") {
				parameters++
			} else if template[i] != segments[i] {
				same = false
			}
		}
		if o, has := of[strings.ToLower(r.Method)]; has && same && parameters < fewest {
			found, fewest, ok = o, parameters, true
		}
	}
	return found, ok
}

// prefixes are the properties that hold an address with a length.
var prefixes = []string{"prefix", "prefixes", "destinations", "receivers"}

// value returns a value of a schema. Objects within objects end at some depth.
func (h *hostileAPI) value(name string, s schema, depth int) any {
	if s.Ref != "" {
		s = h.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	kind := fmt.Sprint(s.Type)
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Properties != nil:
		out := map[string]any{}
		for name, p := range s.Properties {
			if depth < 12 && name != "$schema" && name != "continue" {
				out[name] = h.value(name, p, depth+1)
			}
		}
		return out
	case s.Items != nil:
		if depth >= 12 {
			return []any{}
		}
		return []any{h.value(name, *s.Items, depth+1)}
	case strings.Contains(kind, "object"):
		if of, ok := s.AdditionalProperties.(map[string]any); ok {
			var item schema
			text, _ := json.Marshal(of)
			_ = json.Unmarshal(text, &item)
			return map[string]any{hostile: h.value(name, item, depth+1)}
		}
		return map[string]any{}
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return 1
	case strings.Contains(kind, "boolean"):
		return true
	case s.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	case s.Format == "ip", s.Format == "ipv6":
		return "2001:db8::1"
	case s.Format == "uri":
		return "urn:weft:problem:" + hostile
	case strings.HasPrefix(s.Pattern, "^0x"):
		return "0x1"
	case strings.Contains(s.Pattern, "ms|s"):
		return "1s"
	case slices.Contains(prefixes, name):
		return "2001:db8::/64"
	}
	return hostile
}

// unheard lists commands of the API that this test does not run, with the reason.
var unheard = map[string]string{
	"backup": "writes a file", "apply": "reads files", "diff": "reads files",
	"login": "asks for a password", "edit": "opens an editor",
	"slurm": "runs until it is interrupted", "topograph": "is a server", "nccl": "reads a file",
}

// leaves calls f with every runnable command below c, with an argument for each required argument.
func leaves(c *cobra.Command, f func(c *cobra.Command, args []string)) {
	if c.HasSubCommands() {
		for _, child := range c.Commands() {
			leaves(child, f)
		}
		if c.Name() != "audit" {
			return // names those below it
		}
	}
	args := strings.Fields(c.CommandPath())[1:]
	for _, word := range strings.Fields(c.Use)[1:] {
		switch {
		case strings.HasPrefix(word, "["):
		case word == "|":
			f(c, args) // the first way to call it
			return
		case word == "--role":
			args = append(args, word, "viewer")
			f(c, args)
			return
		case c.Name() == "port" || c.Name() == "host-port":
			args = append(args, "a/1")
		case word == strings.ToUpper(word):
			args = append(args, "a")
		}
	}
	f(c, args)
}

// quits records the output of a command. If the command follows a resource, the first output ends
// the command.
type quits struct {
	mu  sync.Mutex
	buf bytes.Buffer
	end func()
}

func (q *quits) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end != nil {
		q.end()
	}
	return q.buf.Write(p)
}

// TestHostileNames: no command hands text of the network to the terminal without escaping. JSON
// stays JSON.
func TestHostileNames(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		h := newHostileAPI(t)
		h.refuse = refuse
		server := httptest.NewServer(h)
		defer server.Close()
		escaped := 0
		root := newRoot(environment{stdin: new(bytes.Buffer), stdout: new(bytes.Buffer),
			stderr: new(bytes.Buffer), getenv: func(string) string { return "" }})
		for _, top := range root.Commands() {
			if top.GroupID != "api" || unheard[top.Name()] != "" {
				continue
			}
			leaves(top, func(c *cobra.Command, args []string) {
				for _, output := range []string{"", "json", "yaml"} {
					args := args
					if output != "" && refuse {
						break // an error is the same in all
					}
					if output != "" {
						if c.Flag("output") == nil {
							continue
						}
						args = append(slices.Clone(args), "-o", output)
					}
					out, text := runHostile(t, server.URL, args)
					name := strings.Join(args, " ")
					checkHostile(t, name, out, text)
					escaped += strings.Count(out, `\u001b`)
					if output == "json" && !refuse {
						for rest := json.NewDecoder(strings.NewReader(out)); rest.More(); {
							var v any
							if err := rest.Decode(&v); err != nil {
								t.Errorf("%s: not JSON: %v\n%s", name, err, out)
								break
							}
						}
					}
					if refuse && !strings.Contains(text, `\u001b`) && !strings.Contains(text, "weft: ") {
						t.Errorf("%s: no error: %s", name, text)
					}
				}
			})
		}
		if want := 1000; !refuse && escaped < want {
			t.Errorf("only %d texts were shown, want at least %d: the fake has lost what it is for", escaped,
				want)
		}
	}
}

// runHostile runs a command and returns its output and its errors.
func runHostile(t *testing.T, server string, args []string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	out, text := &quits{}, &quits{}
	if args[0] == "watch" || slices.Contains(args, "events") {
		out.end = func() { cancel(errors.New("seen")) }
	}
	home := t.TempDir()
	execute(ctx, args, environment{
		stdin: strings.NewReader("secret\nsecret\n"), stdout: out, stderr: text,
		getenv: func(name string) string {
			switch name {
			case "WEFT_SERVER":
				return server
			case "WEFT_TOKEN":
				return "letmein"
			case "HOME", "XDG_CONFIG_HOME":
				return home
			}
			return ""
		}})
	for _, wrong := range []string{"cannot unmarshal", "ParseAddr", "unexpected", "usage:",
		"no such operation", "unable to parse", "netip."} {
		if strings.Contains(text.buf.String(), wrong) {
			t.Errorf("%s: the fake's answer or the call is wrong: %s", strings.Join(args, " "),
				text.buf.String())
		}
	}
	return out.buf.String(), text.buf.String()
}

// checkHostile fails on what changes a terminal, or begins a line that others wrote.
func checkHostile(t *testing.T, name string, outputs ...string) {
	t.Helper()
	for _, out := range outputs {
		for line := range strings.Lines(out) {
			if strings.HasPrefix(strings.TrimPrefix(line, "weft: "), "FORGED") ||
				strings.ContainsFunc(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", ""),
					func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}
