package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/rocehost"
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
	return weftAgainst(t, server, args...)
}

// weftAgainst runs a command line against a server.
func weftAgainst(t *testing.T, server string, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = execute(t.Context(), args, environment{stdin: strings.NewReader(""), stdout: &stdout,
		stderr: &stderr, getenv: func(name string) string {
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

// startedLab is a "weft lab" that runs until the test ends.
type startedLab struct {
	server string // the URL of its API
	faults string // the URL of its API for faults
	trace  string // HOST:PORT of its traces; empty: there are none
	stop   func() // may be called before the test ends
}

// startLab starts "weft lab" with a network and flags.
func startLab(t *testing.T, args ...string) *startedLab {
	t.Helper()
	l := start(t, nil, append([]string{"lab", "--listen", "127.0.0.1:0", "--log-level", "error"},
		args...)...)
	s := &startedLab{stop: sync.OnceFunc(func() {
		l.cancel()
		if status := <-l.status; status != exitOK {
			t.Errorf("weft lab %s: exit status %d", args, status)
		}
	})}
	t.Cleanup(s.stop)
	for s.server == "" || s.faults == "" || s.trace == "" && slices.Contains(args, "--trace-addr") {
		line := l.out.next(t)
		if rest, ok := strings.CutPrefix(line, "API: "); ok {
			s.server, _, _ = strings.Cut(rest, " ")
		}
		if _, rest, ok := strings.Cut(line, " --lab "); ok {
			s.faults = rest
		}
		if _, rest, ok := strings.Cut(line, "weft trace --switch "); ok {
			s.trace, _, _ = strings.Cut(rest, "/")
		}
	}
	return s
}

// TestExamples: every file of examples/ does what its table says.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("whole labs, which take minutes with the race detector: they run without -short")
	}
	used := []string{"README.md"}
	example := func(name string) string {
		used = append(used, name)
		return filepath.Join("docs", "examples", name)
	}
	t.Run("figure1", func(t *testing.T) {
		file := example("group.yaml")
		server := startLab(t, "figure1").server
		if out := mustWeft(t, server, "apply", "-f", file, "--dry-run"); !strings.Contains(out,
			"\n  N1: 7 updates\n    insert mt_group/") {
			t.Errorf("a dry run says %s", out)
		}
		mustWeft(t, server, "apply", "-f", file, "--wait", patience.String())
		if out := mustWeft(t, server, "diff", "-f", file); out != "" {
			t.Errorf("once applied it differs: %s", out)
		}
	})
	t.Run("wan", func(t *testing.T) {
		network, file := example("wan.yaml"), example("tenant.yaml")
		server := startLab(t, "../../"+network).server
		mustWeft(t, server, "apply", "-f", file, "--wait", patience.String())
		if out := mustWeft(t, server, "get", "pfc-policy", "blue-east"); !strings.Contains(out,
			"R1:1 priority 3") {
			t.Errorf("the PFC policy is %s", out)
		}
	})
	t.Run("fabric", func(t *testing.T) {
		server := startLab(t, "../../"+example("fabric.yaml")).server
		if out := mustWeft(t, server, "get", "hosts"); strings.Count(out, "\n") < 5 {
			t.Errorf("the hosts are %s", out)
		}
	})
	t.Run("jobs", func(t *testing.T) {
		file := example("job.yaml")
		server := startLab(t, "../../docs/examples/fabric.yaml").server
		mustWeft(t, server, "apply", "-f", file)
		mustWeft(t, server, "wait", "job", "train", "--for", "ready", "--timeout", patience.String())
		if out := mustWeft(t, server, "diff", "-f", file); out != "" {
			t.Errorf("once applied it differs: %s", out)
		}
	})
	t.Run("clos", func(t *testing.T) {
		profiles, drains := example("profiles.yaml"), example("drains.yaml")
		server := startLab(t, "clos").server
		mustWeft(t, server, "apply", "-f", profiles)
		if out := mustWeft(t, server, "get", "ev-profile", "P1-T0-1:P1-T0-2"); !strings.Contains(out,
			"short-queues") {
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
		given := []string{"--program", "p4/fabric.json", "--p4info", "p4/fabric.p4info.txtpb",
			"--entries", example("routes.txtpb"), "--in", "1=" + example("in.pcap")}
		out := mustWeft(t, "", slices.Concat([]string{"replay", "--out-dir", t.TempDir()}, given)...)
		traced := mustWeft(t, "", slices.Concat([]string{"trace", "--number", "2"}, given)...)
		// The answers in the README are these, but for the clock and lines of the program.
		clock := regexp.MustCompile(`"(seconds|pps)":[0-9.e+-]+|\.p4:[0-9]+`)
		readme := clock.ReplaceAllString(document(t, "docs/examples/README.md"), "")
		for _, line := range []string{clock.ReplaceAllString(out, ""),
			clock.ReplaceAllString(strings.SplitAfter(traced, "\n")[0], "")} {
			if !strings.Contains(readme, line) {
				t.Errorf("docs/examples/README.md does not have %s", line)
			}
		}
	})
	t.Run("simulate", func(t *testing.T) {
		used = append(used, "simulate")
		files, err := filepath.Glob("../../docs/examples/simulate/*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, file := range files {
			out := mustWeft(t, "", "simulate", strings.TrimPrefix(file, "../../"))
			if text := document(t, strings.TrimPrefix(file, "../../")); strings.Contains(out,
				"THAN WITHOUT EVENTS") != strings.Contains(text, "events:") {
				t.Errorf("%s says %s", file, out)
			}
		}
	})
	files, err := os.ReadDir("../../docs/examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(used, f.Name()) {
			t.Errorf("no test uses examples/%s", f.Name())
		}
	}
}
