package dataplane

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// TestGoldenTraces compares traces with those of testdata/traces, which are
// reviewed like code.
func TestGoldenTraces(t *testing.T) {
	fabric := func(t *testing.T) *bed {
		r := edgeRig(t, 3)
		sessions(r, map[uint16]uint32{511: 510, 2: 1})
		return r
	}
	broken := func(t *testing.T) string {
		p := treePacket(t, 43, strings.Repeat("5a", 64))
		return p[:len(p)-40] + "01" + p[len(p)-38:]
	}
	for _, c := range []struct {
		name  string
		rig   func(*testing.T) *bed
		port  uint32
		frame func(*testing.T) string
		also  map[string]trace.Options
	}{
		{"end-mt", fabric, 1, func(t *testing.T) string {
			return treePacket(t, 42, strings.Repeat("5a", 1024))
		}, nil},
		{"ack", fabric, 2, func(t *testing.T) string { return ackPacket(t, 1, 10) },
			map[string]trace.Options{"ack-verbose": {Verbose: 1}}},
		{"drop-icrc", fabric, 1, broken, nil},
		{"drop-parser-error", fabric, 1, func(t *testing.T) string {
			return treePacket(t, 42, "5a5a5a5a")[:250]
		}, nil},
		{"clone-and-multicast", func(t *testing.T) *bed {
			return copiesRig(t)
		}, 4, func(*testing.T) string { return "08 00 10 aa" }, nil},
		{"recirculate", func(t *testing.T) *bed { return copiesRig(t) }, 4, func(*testing.T) string {
			return "00 02 10 aa"
		},
			map[string]trace.Options{"recirculate-verbose": {Verbose: 2}}},
		{"drop-in-egress", func(t *testing.T) *bed { return copiesRig(t) }, 4, func(*testing.T) string {
			return "00 03 10 aa"
		},
			map[string]trace.Options{"drop-in-egress-json": {JSON: true}}},
		{"no-group", func(t *testing.T) *bed { return copiesRig(t) }, 4, func(*testing.T) string {
			return "09 00 10 aa"
		}, nil},
		{"digest", func(t *testing.T) *bed { return copiesRig(t) }, 4, func(*testing.T) string {
			return "05 00 10 aa"
		}, nil},
		{"queue-full", func(t *testing.T) *bed {
			r := copiesRig(t)
			r.s.SetQueueDepth(2, -1, 1)
			return r
		}, 4, func(*testing.T) string { return "03 00 10 aa" }, nil},
		{"checksum", func(t *testing.T) *bed { return newBed(t, "checksum") }, 1,
			func(t *testing.T) string {
				return ipv4(t, 64, "0a000002", "", "00010002", "0102")
			}, map[string]trace.Options{"checksum-verbose": {Verbose: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.rig(t)
			r.now = 1500 * time.Microsecond
			record := r.traced(c.port, c.frame(t))
			golden(t, c.name, record, trace.Options{})
			for name, o := range c.also {
				golden(t, name, record, o)
			}
		})
	}
}

// traced sends a frame and returns what happened to it.
func (r *bed) traced(port uint32, frame string) *trace.Record {
	r.t.Helper()
	var record *trace.Record
	r.s.SetTracer(trace.NewAssembler(func(t *trace.Record) { record = t }))
	r.send(port, frame)
	if record == nil {
		r.t.Fatal("the packet is not at its end")
	}
	return record
}

func golden(t *testing.T, name string, r *trace.Record, o trace.Options) {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	got := b.Bytes()
	if again := (&trace.Record{}); !o.JSON { // the JSON form loses nothing
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, again); err != nil {
			t.Fatal(err)
		}
		var c bytes.Buffer
		if err := trace.Write(&c, again, o); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.Bytes(), got) {
			t.Errorf("by way of JSON:\n%s\ndirectly:\n%s", c.Bytes(), got)
		}
	}
	if o.JSON {
		b = bytes.Buffer{}
		if err := json.Indent(&b, got, "", "  "); err != nil {
			t.Fatal(err)
		}
		got = b.Bytes()
	}
	path := filepath.Join("testdata", "traces", name+".txt")
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is different (-update writes it); now it is\n%s", path, got)
	}
}

// TestDocumentedTrace: the example of docs/dataplane.md is a real trace.
func TestDocumentedTrace(t *testing.T) {
	doc, err := os.ReadFile("../docs/dataplane.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## Reading a trace\n")
	_, example, _ := strings.Cut(section, "\n```\n")
	example, _, _ = strings.Cut(example, "\n```\n")
	text, err := os.ReadFile("testdata/traces/end-mt.txt")
	if err != nil {
		t.Fatal(err)
	}
	have, lines := strings.Split(string(text), "\n"), strings.Split(example, "\n")
	for _, l := range lines {
		if strings.TrimSpace(l) != "…" && !slices.Contains(have, l) {
			t.Errorf("no such line in the trace: %q", l)
		}
	}
	if len(lines) < 15 {
		t.Errorf("the example has %d lines", len(lines))
	}
}
