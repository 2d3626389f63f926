package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/test/speech"
)

// lineWriter keeps whole lines for a reader. A writer never waits: what a
// command logs must not hold it up when a test has read enough.
// A test that fails shows all that was written.
type lineWriter struct {
	all *speech.Speech

	mu    sync.Mutex
	more  *sync.Cond
	lines []string
	rest  string
	ended string // why nothing will follow; empty: it may
}

func newLineWriter(t *testing.T, name string) *lineWriter {
	t.Helper()
	w := &lineWriter{all: speech.New(t, name)}
	w.more = sync.NewCond(&w.mu)
	return w
}

func (w *lineWriter) Write(b []byte) (int, error) {
	_, _ = w.all.Write(b) // it never fails
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest += string(b)
	for {
		line, rest, ok := strings.Cut(w.rest, "\n")
		if !ok {
			w.more.Broadcast()
			return len(b), nil
		}
		w.rest, w.lines = rest, append(w.lines, line)
	}
}

// end reports that nothing will follow, and why.
func (w *lineWriter) end(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = why
	w.more.Broadcast()
}

// next waits for a line and takes it.
func (w *lineWriter) next(t *testing.T) string {
	t.Helper()
	late := false
	defer time.AfterFunc(patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.more.Broadcast()
	}).Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.lines) == 0 {
		if late {
			t.Fatalf("no further line within %v", patience)
		}
		if w.ended != "" {
			t.Fatalf("no further line: %s", w.ended)
		}
		w.more.Wait()
	}
	line := w.lines[0]
	w.lines = w.lines[1:]
	return line
}

// started is a command that runs in the background of a test.
type started struct {
	out, err *lineWriter
	status   chan int
	cancel   context.CancelFunc
}

func start(t *testing.T, vars map[string]string, args ...string) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	data := t.TempDir()
	name := "weft " + strings.Join(args, " ")
	s := &started{out: newLineWriter(t, name+", standard output"),
		err: newLineWriter(t, name+", standard error"), status: make(chan int, 1), cancel: cancel}
	go func() {
		status := execute(ctx, args, environment{
			stdin: strings.NewReader(""), stdout: s.out, stderr: s.err, getenv: func(name string) string {
				if name == "WEFT_DATA_DIR" && vars[name] == "" {
					return data
				}
				return vars[name]
			},
		})
		for _, w := range []*lineWriter{s.out, s.err} {
			w.end(fmt.Sprintf("%s has ended with status %d", name, status))
		}
		s.status <- status
	}()
	t.Cleanup(cancel)
	return s
}

// TestWatch: each form shows what was published, and nothing that was not asked for.
func TestWatch(t *testing.T) {
	publish := []api.Event{
		{Seq: 1, Time: began, Type: api.EventSwitchChanged, Object: "n1", Message: "connected",
			EventFields: api.EventFields{State: api.StateConnected}},
		{Seq: 2, Time: began, Type: api.EventGroupDeleted, Object: "g1"},
		{Seq: 3, Time: began, Type: api.EventReceiverStalled, Object: "g2",
			EventFields: api.EventFields{Objects: []api.EventObject{{Kind: "multicast-group", ID: "g2"},
				{Kind: "receiver", ID: "2001:db8:1::1\n x"}}}},
		{Seq: 4, Time: began, Type: api.EventTopologyChanged, Message: "version 9"},
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"events", []string{"watch", "events"}, []string{
			"2026-03-01T12:00:00Z  switch.changed      n1            Switch n1 is connected.",
			"2026-03-01T12:00:00Z  group.deleted       g1            Group g1 is deleted.",
			"2026-03-01T12:00:00Z  receiver.stalled    g2            " +
				"Receiver 2001:db8:1::1 x stalls group g2.",
			"2026-03-01T12:00:00Z  topology.changed                  The topology has changed.",
		}},
		{"get events", []string{"get", "events", "-w", "-o", "json"}, []string{
			`{"seq":1,"time":"2026-03-01T12:00:00Z","type":"switch.changed","object":"n1",` +
				`"message":"connected","objects":[{"kind":"switch","id":"n1"}],"state":"connected",` +
				`"severity":"ok","sentence":"Switch n1 is connected."}`,
		}},
		{"groups", []string{"watch", "groups"}, []string{
			"2026-03-01T12:00:00Z  group.deleted       g1            Group g1 is deleted.",
			"2026-03-01T12:00:00Z  receiver.stalled    g2            " +
				"Receiver 2001:db8:1::1 x stalls group g2.",
		}},
		{"one group", []string{"watch", "groups", "g1", "-o", "yaml"}, []string{"---", "seq: 2"}},
		{"topology", []string{"watch", "topology"},
			[]string{"2026-03-01T12:00:00Z  topology.changed                  The topology has changed."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, err := newFakeAPI()
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(api.handler)
			defer server.Close()
			cmd := start(t, map[string]string{"WEFT_SERVER": server.URL}, c.args...)
			<-api.watched
			for _, e := range publish {
				api.events.Publish(e)
			}
			for i, want := range c.want {
				if got := cmd.out.next(t); got != want {
					t.Errorf("line %d is\n%q, want\n%q", i, got, want)
				}
			}
			cmd.cancel()
			if status := <-cmd.status; status != exitOK {
				t.Errorf("exit status %d", status)
			}
		})
	}
}

// TestFollow: -w shows the present resources, and then their changes.
func TestFollow(t *testing.T) {
	fake, err := newFakeAPI()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake.handler)
	defer server.Close()
	vars := map[string]string{"WEFT_SERVER": server.URL}
	all, one, raw := start(t, vars, "get", "switches", "-w"), start(t, vars, "get", "switch", "n6",
		"--watch"), start(t, vars, "get", "switches", "-w", "-o", "json")
	expect := func(s *started, begins ...string) {
		t.Helper()
		for _, want := range begins {
			if got := s.out.next(t); !strings.HasPrefix(got, want) {
				t.Errorf("line %q, want it to begin with %q", got, want)
			}
		}
	}
	expect(all, "NAME ", "n1 ", "n6 ", "n9 ")
	expect(one, "NAME ", "n6 ")
	expect(raw, `{"name":"n1"`, `{"name":"n6"`, `{"name":"n9"`)
	change := func(what, name string) {
		if err := fake.set(what, name); err != nil {
			t.Fatal(err)
		}
		fake.events.Publish(api.Event{Time: began, Type: api.EventSwitchChanged, Object: name})
	}
	change("down", "n1")
	expect(all, "n1    64512:10.0.0.1  127.0.0.1:9551  1       disconnected")
	expect(raw, `{"name":"n1"`)
	change("up", "n1")
	expect(all, "n1    64512:10.0.0.1  127.0.0.1:9551  1       in sync")
	change("down", "n6")
	expect(all, "n6 ")
	// and nothing of n1 before
	expect(one, "n6    64512:10.0.0.6  127.0.0.1:9556  6       disconnected")
	for _, s := range []*started{all, one, raw} {
		s.cancel()
		if status := <-s.status; status != exitOK {
			t.Errorf("exit status %d", status)
		}
	}
	gone := start(t, vars, "get", "group", "nosuch", "-w")
	if status := <-gone.status; status != exitFailed {
		t.Errorf("what is not there: exit status %d", status)
	}
}

// TestFollowedDocuments: a document that -w shows as JSON or YAML can be applied; a document that
// cannot be applied has no kind.
func TestFollowedDocuments(t *testing.T) {
	fake, err := newFakeAPI()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake.handler)
	t.Cleanup(server.Close) // after the commands have ended
	vars := map[string]string{"WEFT_SERVER": server.URL}
	file := filepath.Join(t.TempDir(), "g1.yaml")
	err = os.WriteFile(file, []byte(`{"name": "g1", "spec": {"proxyAddress": "2001:db8:ff::1", `+
		`"designatedQpn": 4096,
  "source": {"address": "2001:db8:5::1", "qpn": 256}, "receivers": [{"address": "2001:db8:1::1", `+
		`"qpn": 512}]}}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	mustWeft(t, server.URL, "apply", "-f", file)
	for _, c := range []struct{ args, want string }{
		{"get groups -w -o yaml", "---|kind: multicast-group|name: g1"},
		{"get group g1 -w -o yaml", "---|kind: multicast-group|name: g1"},
		{"get groups -w -o json", `{"kind":"multicast-group","name":"g1",`},
		{"get switches -w -o yaml", "---|name: n1"},
	} {
		s := start(t, vars, strings.Fields(c.args)...)
		for _, want := range strings.Split(c.want, "|") {
			if got := s.out.next(t); !strings.HasPrefix(got, want) {
				t.Errorf("weft %s: %q, want %q", c.args, got, want)
			}
		}
		s.cancel()
		<-s.status
	}
}

// TestEveryCommandHelps: no command lacks its texts.
func TestEveryCommandHelps(t *testing.T) {
	root := newRoot(environment{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard,
		getenv: func(string) string { return "" }})
	for _, c := range root.Commands() {
		for _, sub := range append(c.Commands(), c) {
			if sub.Short == "" || strings.HasSuffix(sub.Short, ".") {
				t.Errorf("%s: short text %q", sub.CommandPath(), sub.Short)
			}
			if sub.RunE == nil && sub.Run == nil && !sub.HasSubCommands() {
				t.Errorf("%s does nothing", sub.CommandPath())
			}
		}
	}
}
