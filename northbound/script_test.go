package northbound

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/controller/mrc/ev"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScripts plays the conversations in testdata/*.txt. A block starts with a
// line "METHOD /path"; header lines and, after an empty line, a body follow. What
// the server answers stands below it, each line after "| ". Lines that begin with
// "#" are comments; those that begin with "!" tell the fake controller something.
// In mrc*.txt the controller has the fabric of northboundtest.NewFabric.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := playScript(t, string(want), strings.HasPrefix(filepath.Base(file), "mrc"))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("%s (run with -update to accept):\n%s", file, firstDifference(got, string(want)))
			}
		})
	}
}

func playScript(t *testing.T, script string, mrc bool) string {
	var s *Server
	var f interface {
		obey(t *testing.T, command, arg string)
	}
	if mrc {
		s, f = newFabricServer(t, ev.ModeStructured)
	} else {
		s, f, _ = newTestServer(t, func(c *Config) { c.MaxBodyBytes = 4096 })
	}
	var out strings.Builder
	var request []string
	flush := func() {
		for len(request) > 0 && request[len(request)-1] == "" {
			request = request[:len(request)-1]
		}
		if len(request) == 0 {
			return
		}
		out.WriteString(strings.Join(request, "\n") + "\n")
		out.WriteString(answer(s, request))
		out.WriteString("\n")
		request = nil
	}
	for line := range strings.SplitSeq(strings.TrimRight(script, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "|"):
		case strings.HasPrefix(line, "#"):
			flush()
			out.WriteString(line + "\n")
		case strings.HasPrefix(line, "!"):
			flush()
			out.WriteString(line + "\n")
			command, arg, _ := strings.Cut(strings.TrimSpace(line[1:]), " ")
			f.obey(t, command, arg)
		case isRequest(line):
			flush()
			request = append(request, line)
		case len(request) > 0:
			request = append(request, line)
		}
	}
	flush()
	return out.String()
}

func (f *fakeController) obey(t *testing.T, command, arg string) {
	switch command {
	case "plan":
		f.plan(arg)
	case "down":
		f.Mu.Lock()
		defer f.Mu.Unlock()
		f.Down[arg] = true
	default:
		t.Fatalf("the fake controller knows no %q", command)
	}
}

func isRequest(line string) bool {
	for _, m := range []string{"GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "HEAD "} {
		if strings.HasPrefix(line, m) {
			return true
		}
	}
	return false
}

// answer sends a request and writes the answer down.
func answer(s *Server, request []string) string {
	method, target, _ := strings.Cut(request[0], " ")
	i := 1
	headers := make(map[string]string)
	for ; i < len(request) && request[i] != ""; i++ {
		k, v, _ := strings.Cut(request[i], ": ")
		headers[k] = v
	}
	body := strings.TrimSpace(strings.Join(request[i:], "\n"))
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set(requestIDHeader, "r1")
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	var out strings.Builder
	fmt.Fprintf(&out, "| %d\n", w.Code)
	for _, h := range []string{"Content-Type", "ETag", "Location", "Allow"} {
		if v := w.Header().Get(h); v != "" {
			fmt.Fprintf(&out, "| %s: %s\n", h, v)
		}
	}
	if w.Body.Len() == 0 {
		return out.String()
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, bytes.TrimSpace(w.Body.Bytes()), "", "  "); err != nil {
		pretty = *bytes.NewBufferString(w.Body.String())
	}
	for line := range strings.SplitSeq(pretty.String(), "\n") {
		out.WriteString(strings.TrimRight("| "+line, " ") + "\n")
	}
	return out.String()
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := 0; i < max(len(g), len(w)); i++ {
		a, b := "(end)", "(end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n got  %s\n want %s", i+1, a, b)
		}
	}
	return "the same"
}
