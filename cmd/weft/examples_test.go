package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/cmd/weft/hostrun"
	"github.com/weft-sdn/weft/cmd/weft/rocehost"
)

// weftAt runs a command line in the folder of the project, against a server.
func weftAt(t *testing.T, server string, args ...string) (status int, out, errs string) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir("../.."); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Chdir(here); err != nil {
			t.Fatal(err)
		}
	}()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), args, environment{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, getenv: func(name string) string {
		if name == "WEFT_SERVER" {
			return server
		}
		return ""
	}})
	return status, stdout.String(), stderr.String()
}

// mustWeft is weftAt for what has to work.
func mustWeft(t *testing.T, server string, args ...string) string {
	t.Helper()
	status, out, errs := weftAt(t, server, args...)
	if status != exitOK {
		t.Fatalf("weft %s: status %d: %s%s", strings.Join(args, " "), status, out, errs)
	}
	return out
}

// startLab starts "weft lab" and returns the URL of its API.
func startLab(t *testing.T, name string) string {
	t.Helper()
	l := start(t, nil, "lab", name, "--listen", "127.0.0.1:0", "--log-level", "error")
	t.Cleanup(func() {
		l.cancel()
		if status := <-l.status; status != exitOK {
			t.Errorf("weft lab %s: exit status %d", name, status)
		}
	})
	for {
		if rest, ok := strings.CutPrefix(l.out.next(t), "API: "); ok {
			server, _, _ := strings.Cut(rest, " ")
			return server
		}
	}
}

// TestExamples: every file of examples/ does what its table says.
func TestExamples(t *testing.T) {
	used := []string{"README.md"}
	example := func(name string) string {
		used = append(used, name)
		return filepath.Join("examples", name)
	}
	t.Run("figure1", func(t *testing.T) {
		file := example("group.yaml")
		server := startLab(t, "figure1")
		if out := mustWeft(t, server, "apply", "-f", file, "--dry-run"); !strings.Contains(out, "\n  N1: 7 updates\n    insert mt_group/") {
			t.Errorf("a dry run says %s", out)
		}
		mustWeft(t, server, "apply", "-f", file, "--wait", patience.String())
		if out := mustWeft(t, server, "diff", "-f", file); out != "" {
			t.Errorf("once applied it differs: %s", out)
		}
	})
	t.Run("wan", func(t *testing.T) {
		network, file := example("wan.yaml"), example("tenant.yaml")
		server := startLab(t, "../../"+network)
		mustWeft(t, server, "apply", "-f", file, "--wait", patience.String())
		if out := mustWeft(t, server, "get", "pfc-policy", "blue-east"); !strings.Contains(out, "R1:1 priority 3") {
			t.Errorf("the PFC policy is %s", out)
		}
	})
	t.Run("fabric", func(t *testing.T) {
		server := startLab(t, "../../"+example("fabric.yaml"))
		if out := mustWeft(t, server, "get", "hosts"); strings.Count(out, "\n") < 5 {
			t.Errorf("the hosts are %s", out)
		}
	})
	t.Run("clos", func(t *testing.T) {
		profiles, drains := example("profiles.yaml"), example("drains.yaml")
		server := startLab(t, "clos")
		mustWeft(t, server, "apply", "-f", profiles)
		if out := mustWeft(t, server, "get", "ev-profile", "P1-T0-1:P1-T0-2"); !strings.Contains(out, "short-queues") {
			t.Errorf("the EV profile is %s", out)
		}
		mustWeft(t, server, "apply", "-f", drains)
		for _, file := range []string{profiles, drains} {
			if out := mustWeft(t, server, "diff", "-f", file); out != "" {
				t.Errorf("once applied %s differs: %s", file, out)
			}
		}
	})
	t.Run("configurations", func(t *testing.T) {
		mustWeft(t, "", "controller", "--check", "--config", example("controller.yaml"))
		text := document(t, example("host.yaml"))
		c := rocehost.Default()
		if err := hostrun.Decode("host.yaml", []byte(text), &c, (*rocehost.Config).Complete); err != nil {
			t.Error(err)
		}
	})
	t.Run("replay", func(t *testing.T) {
		given := []string{"--program", "p4/fabric.json", "--p4info", "p4/fabric.p4info.txtpb", "--entries", example("routes.txtpb"), "--in", "1=" + example("in.pcap")}
		out := mustWeft(t, "", slices.Concat([]string{"replay", "--out-dir", t.TempDir()}, given)...)
		traced := mustWeft(t, "", slices.Concat([]string{"trace", "--number", "2"}, given)...)
		// The answers in the README are these, but for the clock and lines of the program.
		clock := regexp.MustCompile(`"(seconds|pps)":[0-9.e+-]+|\.p4:[0-9]+`)
		readme := clock.ReplaceAllString(document(t, "examples/README.md"), "")
		for _, line := range []string{clock.ReplaceAllString(out, ""), clock.ReplaceAllString(strings.SplitAfter(traced, "\n")[0], "")} {
			if !strings.Contains(readme, line) {
				t.Errorf("examples/README.md does not have %s", line)
			}
		}
	})
	files, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(used, f.Name()) {
			t.Errorf("no test uses examples/%s", f.Name())
		}
	}
}

// documentedCommand is a command line of a document, with what it prints below it.
type documentedCommand struct{ line, output string }

// documentedCommands returns the "$ " lines of the code blocks of a text.
func documentedCommands(text string) (out []documentedCommand) {
	for i, block := range strings.Split(text, "```") {
		if i%2 == 0 {
			continue
		}
		for _, part := range regexp.MustCompile(`(?m)^\$ `).Split(block, -1)[1:] {
			c := documentedCommand{}
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

// masked is output without what differs from run to run: numbers, and how wide columns are.
func masked(text string) string {
	text = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(ms|µs|s)\b`).ReplaceAllString(text, "#")
	text = regexp.MustCompile(`epoch [0-9]+`).ReplaceAllString(text, "epoch #")
	return strings.Join(strings.Fields(text), " ")
}

// TestREADMELooksAround: the commands that look around in the README's network print what it
// says.
func TestREADMELooksAround(t *testing.T) {
	_, part, _ := strings.Cut(document(t, "README.md"), "To explore the same network")
	part, _, _ = strings.Cut(part, "A trace shows what")
	_, group, _ := strings.Cut(part, "<<END\n")
	group, _, ok := strings.Cut(group, "\nEND\n")
	if !ok {
		t.Fatal("the README does not write g1.yaml")
	}
	server := startLab(t, "figure1")
	file := filepath.Join(t.TempDir(), "g1.yaml")
	if err := os.WriteFile(file, []byte(group), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range documentedCommands(part) {
		args := words(c.line)
		if args[0] != "bin/weft" || args[1] == "lab" {
			continue
		}
		args = args[1:]
		for i := range args {
			if args[i] == "g1.yaml" {
				args[i] = file
			}
		}
		ran++
		if got := mustWeft(t, server, args...); masked(got) != masked(c.output) {
			t.Errorf("$ %s\n%s\nthe README says\n%s", c.line, got, c.output)
		}
	}
	if ran < 3 {
		t.Errorf("only %d commands were run", ran)
	}
}

// TestAPIExamples: the requests of docs/api.md to the network of figure 1 are answered as it
// shows: with the status, and all fields of the body.
func TestAPIExamples(t *testing.T) {
	server := startLab(t, "figure1")
	ran := 0
	for _, c := range documentedCommands(document(t, "docs/api.md")) {
		if strings.Contains(c.line, "…") || !regexp.MustCompile(`127.0.0.1:8080/v1/(multicast|switches|topology)`).MatchString(c.line) {
			continue // of an MRC fabric, a stream, or cut
		}
		ran++
		status, header, body := curl(t, server, words(c.line))
		want := c.output
		if first, rest, ok := strings.Cut(want, "\n"); ok && strings.HasPrefix(first, "HTTP/1.1 ") {
			if !strings.HasPrefix(first[len("HTTP/1.1 "):], status) {
				t.Errorf("$ %s\nanswered %s, the document says %s", c.line, status, first)
			}
			for line := range strings.Lines(rest) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				if name != "" && header.Get(name) != value {
					t.Errorf("$ %s\n%s is %q, the document says %q", c.line, name, header.Get(name), value)
				}
			}
			waitProgrammed(t, server)
			continue
		}
		if m := regexp.MustCompile(`"status":(\d+)`).FindStringSubmatch(want); m != nil && !strings.HasPrefix(status, m[1]) {
			t.Errorf("$ %s\nanswered %s, the document says %s", c.line, status, m[1])
		}
		has := make(map[string]bool)
		for _, m := range regexp.MustCompile(`"(\w+)"\s*:`).FindAllStringSubmatch(body, -1) {
			has[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`"(\w+)"\s*:`).FindAllStringSubmatch(want, -1) {
			if !has[m[1]] {
				t.Errorf("$ %s\nthe document has %q, which the answer has not:\n%s", c.line, m[1], body)
			}
		}
	}
	if ran < 4 {
		t.Errorf("only %d requests were made", ran)
	}
}

func waitProgrammed(t *testing.T, server string) {
	t.Helper()
	for range 200 {
		var g struct {
			Status struct {
				Conditions []struct {
					Type   string
					Status bool
				}
			}
		}
		if err := json.Unmarshal([]byte(mustWeft(t, server, "get", "group", "g1", "-o", "json")), &g); err != nil {
			t.Fatal(err)
		}
		for _, c := range g.Status.Conditions {
			if c.Type == "Programmed" && c.Status {
				return
			}
		}
	}
	t.Fatal("g1 is not programmed")
}

// curl makes the request of a command line of curl.
func curl(t *testing.T, server string, args []string) (status string, header http.Header, body string) {
	t.Helper()
	method, at, data := "GET", "", ""
	headers := http.Header{}
	for i := 1; i < len(args); i++ {
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
		case arg == "-i":
		case strings.HasPrefix(arg, "127.0.0.1:8080"):
			at = strings.TrimPrefix(arg, "127.0.0.1:8080")
		default:
			t.Fatalf("curl %q: the test does not know %q", args, arg)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), method, server+at, strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = headers
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status, answer.Header, string(text)
}
