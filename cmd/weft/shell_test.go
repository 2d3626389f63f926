package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// documentedCommand is a command line of a document and the output below it.
type documentedCommand struct {
	// lab is the network of the latest "examples … run against `weft lab NAME`" above; empty: none.
	lab          string
	line, output string
	// input is the here document of the line.
	input string
}

var (
	labNamed = regexp.MustCompile("[Ee]xamples?[^.`]*\\sruns? against\\s+`weft lab ([^`]+)`")
	fileHead = regexp.MustCompile(`^yaml\n# (\S+\.yaml)\n`)
)

// documentedCommands returns the "$ " lines in a text's code blocks. A YAML block that begins with
// "# NAME.yaml" counts as a command that writes that file.
func documentedCommands(text string) (out []documentedCommand) {
	lab := ""
	for i, block := range strings.Split(text, "```") {
		if i%2 == 0 {
			for _, m := range labNamed.FindAllStringSubmatch(block, -1) {
				lab = m[1]
			}
			continue
		}
		if m := fileHead.FindStringSubmatch(block); m != nil {
			out = append(out, documentedCommand{lab: lab, line: "cat > " + m[1], input: block[len(m[0]):]})
			continue
		}
		for _, part := range regexp.MustCompile(`(?m)^\$ `).Split(block, -1)[1:] {
			c := documentedCommand{lab: lab}
			// A line goes on after a backslash, and within quotes.
			lines := strings.SplitAfter(part, "\n")
			for len(lines) > 0 {
				c.line += lines[0]
				lines = lines[1:]
				if !strings.HasSuffix(c.line, "\\\n") && strings.Count(c.line, "'")%2 == 0 {
					break
				}
			}
			c.line = strings.ReplaceAll(strings.TrimSpace(c.line), "\\\n", " ")
			c.output = strings.Join(lines, "")
			if line, ok := strings.CutSuffix(c.line, " <<END"); ok {
				c.line = line
				c.input, c.output, _ = strings.Cut(c.output, "END\n")
			}
			out = append(out, c)
		}
	}
	return out
}

// words splits a command line as a shell does, as far as the documents need it.
func words(line string) (out []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2]+m[3])
	}
	return out
}

// passing matches lines that only a slow machine shows.
var passing = regexp.MustCompile(`(?m)^ *The machine had too much to do.*$`)

// volatile matches text that differs from run to run: times, epochs and ids made of times, TCP
// ports, and the pending objects of drains.
var volatile = regexp.MustCompile(
	`([0-9]+[hm])*[0-9]+(\.[0-9]+)?(ms|µs|s)\b|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z` +
		`|epoch("\s*:\s*| |=)[0-9]+|urn:weft:request:[0-9a-f]+|(?m:^id: \S+)|"seq":[0-9]+|"updates":[0-9]+` +
		`|127\.1\.0\.[0-9]+:[0-9]+|"port":[0-9]{4,5}\b` +
		`|"drained":(true|false)(,"awaits":\[[^]]*\])?\}`)

// number matches a number outside of names, or the dash of a table for a missing measurement: on a
// slow machine a demo may continue before a figure is there.
var number = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)?( %| ms)?|(?m: -( |$))`)

// bare returns output without volatile parts and whitespace; with figures, all numbers become
// alike, because they count traffic.
func bare(text string, figures bool) string {
	text = volatile.ReplaceAllString(passing.ReplaceAllString(text, ""), "#")
	if figures {
		text = number.ReplaceAllString(text, "#")
	}
	return strings.Join(strings.Fields(text), "")
}

// differs returns the first part of a documented output that an output does not have in its
// place, "…" standing for anything; empty: it has all.
func differs(got, want string, figures bool) string {
	got = bare(got, figures)
	parts := strings.Split(bare(want, figures), "…")
	for i, part := range parts {
		at := strings.Index(got, part)
		if i == len(parts)-1 && i > 0 {
			at = strings.LastIndex(got, part)
			if at+len(part) != len(got) {
				at = -1
			}
		}
		if at < 0 || i == 0 && at > 0 || len(parts) == 1 && len(got) > len(part) {
			return part
		}
		got = got[at+len(part):]
	}
	return ""
}

// shell runs the command lines of a document.
type shell struct {
	t      *testing.T
	folder string                 // of the files that commands write
	labs   map[string]*startedLab // by the words after "weft lab"
	in     string                 // the name of the present one
	lab    *startedLab
	trace  string       // the value of --trace-addr in the document
	stream *eventStream // one that was begun and whose output belongs to the next command
}

func newShell(t *testing.T) *shell {
	return &shell{t: t, folder: t.TempDir(), labs: make(map[string]*startedLab)}
}

// enter has commands talk to a lab, and starts the lab before if necessary. A lab with traffic
// takes a whole processor, so it ends with its last command.
func (s *shell) enter(name string) {
	s.t.Helper()
	if s.in != name && strings.Contains(s.in, "--traffic") {
		s.lab.stop()
		delete(s.labs, s.in)
	}
	s.in = name
	if s.labs[name] == nil {
		args := words(name)
		for i := range args {
			if args[i] == "--trace-addr" {
				s.trace, args[i+1] = args[i+1], "127.0.0.1:0"
			}
		}
		s.labs[name] = startLab(s.t, args...)
	}
	s.lab = s.labs[name]
}

// run runs a command and compares what it prints.
func (s *shell) run(c documentedCommand) {
	s.t.Helper()
	if c.lab != "" {
		s.enter(c.lab)
	}
	args := words(c.line)
	if args[0] == "make" && len(args) == 2 { // make demo
		args = []string{"bin/weft", args[1], "multicast"}
	}
	figures := false
	var once func() (string, error)
	switch args[0] {
	case "cat":
		s.write(args[2], c.input)
		return
	case "kill": // kill %% && wait: a lab ends before the next one begins
		if s.lab == nil {
			s.t.Fatalf("$ %s: there is no lab", c.line)
		}
		s.lab.stop()
		delete(s.labs, s.in)
		s.in, s.lab, s.trace = "", nil, ""
		return
	case "sed": // sed -i s/BEFORE/AFTER/ FILE
		part := strings.Split(args[2], "/")
		text, err := os.ReadFile(filepath.Join(s.folder, args[3]))
		if err != nil || len(part) != 4 || !strings.Contains(string(text), part[1]) {
			s.t.Fatalf("$ %s: %v, the file is %s", c.line, err, text)
		}
		s.write(args[3], strings.ReplaceAll(string(text), part[1], part[2]))
		return
	case "curl":
		if args[1] == "-N" {
			s.stream = s.follow(args[2])
			return
		}
		once = func() (string, error) { return s.curl(args[1:]) }
	case "weft", "bin/weft":
		if args[1] == "lab" {
			if args[len(args)-1] != "&" {
				s.t.Fatalf("$ %s: a lab runs until it is interrupted", c.line)
			}
			s.enter(strings.Join(args[2:len(args)-1], " "))
			return
		}
		figures = args[1] == "demo" || args[1] == "trace" || args[1] == "get" && args[2] == "state"
		if args[1] == "demo" && s.lab != nil {
			s.lab.stop() // it has the machine for itself
		}
		once = func() (string, error) { return s.weft(args[1:]) }
	default:
		s.t.Fatalf("$ %s: the test does not know %s", c.line, args[0])
	}
	out, err := once()
	if s.stream != nil {
		out += s.stream.text()
	}
	// A command that only reads may run before its result is there.
	reads := args[1] == "get" || args[1] == "trace" || args[0] == "curl" && len(args) == 2
	for end := time.Now().Add(patience); (reads || s.stream != nil) &&
		differs(out, c.output, figures) != "" && time.Now().Before(end); {
		if err := pause(s.t.Context(), askAgain); err != nil {
			s.t.Fatal(err)
		}
		if s.stream != nil {
			out = s.stream.text()
			continue
		}
		out, err = once()
	}
	s.stream = nil
	if err != nil {
		s.t.Fatalf("$ %s\n%v", c.line, err)
	}
	if part := differs(out, c.output, figures); part != "" {
		s.t.Errorf("$ %s\n%.4000s\nthe document says\n%s\nof which this is not there:\n%s", c.line, out,
			c.output, part)
	}
}

func (s *shell) write(file, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, file), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// weft runs a command of weft and returns what it prints.
func (s *shell) weft(given []string) (string, error) {
	server, into := "", ""
	if s.lab != nil {
		server = s.lab.server
	}
	var args []string
	for i, arg := range given {
		switch {
		case arg == ">":
			into = given[i+1]
		case i > 0 && given[i-1] == ">":
		case strings.HasSuffix(arg, ".yaml"):
			args = append(args, filepath.Join(s.folder, arg))
		case i > 0 && given[i-1] == "--wait":
			args = append(args, patience.String())
		case s.trace != "":
			args = append(args, strings.Replace(arg, s.trace, s.lab.trace, 1))
		default:
			args = append(args, arg)
		}
	}
	status, out, errs := weftAgainst(s.t, server, args...)
	if status != exitOK && !(args[0] == "diff" && status == exitFailed) {
		return "", fmt.Errorf("status %d: %s%s", status, out, errs)
	}
	if into != "" {
		s.write(into, out)
		return "", nil
	}
	return out, nil // how a wait goes on is on standard error, and may be over at once
}

// curl makes the request of a command line of curl.
func (s *shell) curl(args []string) (string, error) {
	method, at, data := "GET", "", ""
	head, body := false, true
	headers := http.Header{}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-X":
			i++
			method = args[i]
		case arg == "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			headers.Set(name, value)
		case arg == "-d":
			i++
			data = args[i]
			if method == "GET" {
				method = "POST"
			}
		case arg == "-o":
			i++
			body = false
		case arg == "-i":
			head = true
		case strings.HasPrefix(arg, "127.0.0.1:8080"):
			at = strings.TrimPrefix(arg, "127.0.0.1:8080")
		default:
			return "", fmt.Errorf("the test does not know %q", arg)
		}
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.lab.server+at,
		strings.NewReader(data))
	if err != nil {
		return "", err
	}
	r.Header = headers
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var out bytes.Buffer
	if head {
		fmt.Fprintf(&out, "%s %s\n", answer.Proto, answer.Status)
		if err := answer.Header.Write(&out); err != nil {
			return "", err
		}
	}
	text, err := io.ReadAll(answer.Body)
	if body {
		out.Write(text)
	}
	return out.String(), err
}

// eventStream collects what a stream of events says.
type eventStream struct {
	mu  sync.Mutex // guards all
	all bytes.Buffer
}

func (e *eventStream) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all.String()
}

// follow opens a stream of events, which ends with the test.
func (s *shell) follow(at string) *eventStream {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.lab.server+
		strings.TrimPrefix(at, "127.0.0.1:8080"), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	in := bufio.NewReader(answer.Body)
	if _, err := in.Peek(1); err != nil { // the stream has begun
		s.t.Fatal(err)
	}
	e := &eventStream{}
	ended := make(chan struct{})
	s.t.Cleanup(func() {
		answer.Body.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			line, err := in.ReadString('\n')
			e.mu.Lock()
			e.all.WriteString(line)
			e.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return e
}

// TestDocumentedExamples: every command in the README, in docs/api.md, and in the part of
// docs/cli.md about controllers prints the document's output, in the document's lab.
func TestDocumentedExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("labs in real time, which take minutes with the race detector; they run without it when " +
			"tests are not short")
	}
	for _, c := range []struct {
		document, from, to string
		least              int
	}{
		{"README.md", "", "", 9},
		{"docs/api.md", "", "", 9},
		{"docs/cli.md", "\n## Talking to a controller\n", "\n## switch\n", 7},
	} {
		t.Run(c.document, func(t *testing.T) {
			t.Parallel()
			text := document(t, c.document)
			if c.from != "" {
				_, text, _ = strings.Cut(text, c.from)
				text, _, _ = strings.Cut(text, c.to)
			}
			all := documentedCommands(text)
			if len(all) < c.least {
				t.Errorf("%d commands, want %d or more", len(all), c.least)
			}
			s := newShell(t)
			for _, command := range all {
				s.run(command)
			}
		})
	}
}

// TestDiffers: differences count where the texts must agree, and do not count in values that may
// differ.
func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		got, want string
		figures   bool
		same      bool
	}{
		{got: `{"a":1,"b":[1,2]}`, want: "{\"a\": 1,\n \"b\": [1, 2]}", same: true},
		{got: `{"a":1,"b":[1,2]}`, want: `{"a":1,…}`, same: true},
		{got: `{"a":1,"b":[1,2]}`, want: `{…"b":[1,…]}`, same: true},
		{got: `{"a":1,"b":[1,2]}`, want: `{"a":1}`},
		{got: `{"a":1,"b":[1,2]}`, want: `{"a":2,…}`},
		{got: `{"a":1,"b":[1,2]}`, want: `{"a":1,"c":…}`},
		{got: `{"a":1,"b":[1,2]}`, want: `{"b":…"a":…}`},
		{got: `{"a":1,"b":[1,2]}`, want: `{"a":1,"b":[1,2]}…x`},
		{got: `{"at":"2026-11-22T00:54:02.5Z"}`, want: `{"at":"2026-11-23T10:00:00Z"}`, same: true},
		{got: "3 packets in 4ms", want: "3 packets in 7.5ms", same: true},
		{got: "at 2m34.03s", want: "at 12.8s", same: true},
		{got: "3 packets", want: "4 packets"},
		{got: "3 packets", want: "41 packets", figures: true, same: true},
		{got: "3 packets", want: "3 frames", figures: true},
		{got: "a T1, P1-T1-4   48   7.0 ms    -\n", want: "a T1, P1-T1-4   48   9.0 ms    93 %\n",
			figures: true, same: true},
		{got: "a T1, P1-T1-4   48   7.0 ms    -\n", want: "a T1, P1-T1-4   48   9.0 ms    lost\n",
			figures: true},
		{got: "a link, a - b   48   -   -\n", want: "a link, a - b   48   9.0 ms    93 %\n",
			figures: true, same: true},
	} {
		if part := differs(c.got, c.want, c.figures); (part == "") != c.same {
			t.Errorf("%s and %s: %q is missing, want the same: %t", c.got, c.want, part, c.same)
		}
	}
}

// askAgain is the pause between two looks at something that a test waits for.
const askAgain = 100 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
