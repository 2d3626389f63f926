package dataplane

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/translated"
)

// bed is a switch under test whose output is collected.
type bed struct {
	t       testing.TB
	s       *Switch
	p       *engine.Program
	now     time.Duration
	sent    []sent
	digests [][]byte
}

type sent struct {
	port uint32
	data string // hex
}

func (r *bed) Transmit(_ time.Duration, port uint32, frame []byte) {
	r.sent = append(r.sent, sent{port, hex.EncodeToString(frame)})
}

func (r *bed) Digest(_ time.Duration, _ int, values [][]byte) {
	var all []byte
	for _, v := range values {
		all = append(all, v...)
	}
	r.digests = append(r.digests, all)
}

// asGo has the programs of testdata as Go where gen.TestPrograms runs the tests.
var asGo []*engine.Translation

// loadFile loads a compiled program of testdata, or of another place.
func loadFile(t testing.TB, name string) *engine.Program {
	t.Helper()
	return loadWith(t, name, append(asGo, translated.Fabric)...)
}

// loadWith loads a program from testdata, or from a path, with the given translations.
func loadWith(t testing.TB, name string, translations ...*engine.Translation) *engine.Program {
	t.Helper()
	if !strings.Contains(name, "/") {
		name = filepath.Join("testdata", name+".json")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Load(b, translations...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newBed(t testing.TB, name string) *bed {
	t.Helper()
	return newRigWith(t, loadFile(t, name), Config{Seed: 1})
}

func newRigWith(t testing.TB, p *engine.Program, cfg Config) *bed {
	r := &bed{t: t, p: p}
	if traceAll && cfg.Trace == nil {
		cfg.Trace = checkedTrace(t)
	}
	r.s = New(cfg, r)
	r.s.SetProgram(p)
	r.s.ctx.SetPaths(engine.PathsAlways)
	return r
}

// send has a frame received, runs everything due and returns what left.
func (r *bed) send(port uint32, frame string) []sent {
	r.t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(frame, " ", ""))
	if err != nil {
		r.t.Fatal(err)
	}
	r.sent = nil
	r.s.Receive(r.now, port, b)
	r.s.Advance(r.now)
	return r.sent
}

// expect sends a frame and compares what leaves with want: pairs of port and
// hex octets.
func (r *bed) expect(port uint32, frame string, want ...sent) {
	r.t.Helper()
	got := r.send(port, frame)
	if len(got) != len(want) {
		r.t.Fatalf("sent %v, want %v", got, want)
	}
	for i := range want {
		w := sent{want[i].port, strings.ReplaceAll(want[i].data, " ", "")}
		if got[i] != w {
			r.t.Fatalf("frame %d:\n got %v\nwant %v", i, got[i], w)
		}
	}
}

// expectAt is expect at a time.
func (r *bed) expectAt(now time.Duration, port uint32, frame string, want ...sent) {
	r.t.Helper()
	r.now = now
	r.expect(port, frame, want...)
}

func (r *bed) table(name string) int {
	r.t.Helper()
	for i, t := range r.p.Tables() {
		if t.Name == name || strings.HasSuffix(t.Name, "."+name) {
			return i
		}
	}
	r.t.Fatalf("no table %q", name)
	return 0
}

func (r *bed) action(name string) int {
	r.t.Helper()
	for i, a := range r.p.Actions() {
		if a.Name == name || strings.HasSuffix(a.Name, "."+name) {
			return i
		}
	}
	r.t.Fatalf("no action %q", name)
	return 0
}

// call makes an action call with hex arguments.
func (r *bed) call(name string, args ...string) engine.ActionCall {
	r.t.Helper()
	c := engine.ActionCall{Action: r.action(name)}
	for _, a := range args {
		c.Args = append(c.Args, unhex(r.t, a))
	}
	return c
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	s = strings.ReplaceAll(s, " ", "")
	if len(s)%2 != 0 {
		s = "0" + s
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// match writes one match field: "ab" exact, "ab/12" prefix, "ab&ff" ternary,
// "1-5" range, "*" don't care.
func match(t testing.TB, s string) engine.Match {
	t.Helper()
	if s == "*" {
		return engine.Match{}
	}
	if v, m, ok := strings.Cut(s, "&"); ok {
		return engine.Match{Value: unhex(t, v), Mask: unhex(t, m)}
	}
	if lo, hi, ok := strings.Cut(s, "-"); ok {
		return engine.Match{Value: unhex(t, lo), High: unhex(t, hi)}
	}
	if v, p, ok := strings.Cut(s, "/"); ok {
		n := 0
		for _, c := range p {
			n = 10*n + int(c-'0')
		}
		return engine.Match{Value: unhex(t, v), PrefixLen: n}
	}
	return engine.Match{Value: unhex(t, s)}
}

// entry makes an entry from match fields and an action.
func (r *bed) entry(keys []string, prio int32, call engine.ActionCall) engine.Entry {
	r.t.Helper()
	e := engine.Entry{Priority: prio, Target: engine.Target{Action: call}}
	for _, k := range keys {
		e.Match = append(e.Match, match(r.t, k))
	}
	return e
}

func (r *bed) insert(table string, keys []string, prio int32, call engine.ActionCall) {
	r.t.Helper()
	if err := r.s.InsertEntry(r.table(table), r.entry(keys, prio, call)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *bed) setDefault(table string, call engine.ActionCall) {
	r.t.Helper()
	if err := r.s.SetDefaultEntry(r.table(table), engine.Target{Action: call}); err != nil {
		r.t.Fatal(err)
	}
}

// key is a list of match fields.
func key(k ...string) []string { return k }
