package dataplane

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/internal/race"
)

// traceAll has every switch of the tests traced.
var traceAll = os.Getenv("WEFT_TRACE_ALL") != ""

// checkedTrace takes traces and renders them; every packet must end, and in at
// most one way.
func checkedTrace(t testing.TB) trace.Tracer {
	a := trace.NewAssembler(func(r *trace.Record) {
		for _, p := range r.All() {
			if p.Outcome == nil || p.Outcome.Result == "" {
				t.Errorf("packet %d has no outcome", p.ID)
			}
		}
		if err := trace.Write(io.Discard, r, trace.Options{Verbose: 2}); err != nil {
			t.Error(err)
		}
	})
	return &oneEnd{Tracer: a, t: t, ended: map[trace.ID]bool{}}
}

// oneEnd fails when something is said of a packet that has ended.
type oneEnd struct {
	trace.Tracer
	t     testing.TB
	ended map[trace.ID]bool
}

func (o *oneEnd) Step(id trace.ID, s trace.Step) {
	if id == 0 || o.ended[id] {
		b, _ := json.Marshal(s)
		o.t.Errorf("packet %d has ended: %s", id, b)
	}
	o.Tracer.Step(id, s)
}

func (o *oneEnd) End(id trace.ID, x trace.Outcome) {
	if id == 0 || o.ended[id] {
		o.t.Errorf("packet %d ends twice: %+v", id, x)
	}
	o.ended[id] = true
	o.Tracer.End(id, x)
}

// TestEverythingTraced runs all tests of the package again with tracers: a
// traced switch must pass whatever a switch must.
func TestEverythingTraced(t *testing.T) {
	if traceAll || testing.Short() || race.Enabled() {
		t.Skip("runs all tests; once, and without the race detector, is enough")
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.short", "-test.skip", "TestNoAllocations")
	cmd.Env = append(os.Environ(), "WEFT_TRACE_ALL=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTracedAlike sends equal packets through a switch traced from time to time and through an
// untraced switch: frames, digests and all state must be equal.
func TestTracedAlike(t *testing.T) {
	plain := &oracle{bed: newRigWith(t, loadFile(t, fabricJSON), Config{Seed: 1})}
	traced := &oracle{bed: newRigWith(t, loadFile(t, fabricJSON), Config{Seed: 1})}
	fabricOracle(plain)
	fabricOracle(traced)
	seeds := fabricSeeds(t)
	const seed = 20261122
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	on := false
	for i := range 3000 {
		a := seeds[i%len(seeds)]
		f := a.frame
		if i >= len(seeds) && rng.IntN(3) > 0 {
			f = mutate(rng, f)
		}
		if rng.IntN(20) == 0 {
			if on = !on; on {
				traced.s.SetTracer(checkedTrace(t))
			} else {
				traced.s.SetTracer(nil)
			}
		}
		for _, o := range []*oracle{plain, traced} {
			o.sent = nil
			o.now += time.Microsecond
			o.s.Receive(o.now, a.port, f)
			if i%3 == 0 { // let some wait, so that tracers come and go meanwhile
				o.s.Advance(o.now)
			}
		}
		if !reflect.DeepEqual(plain.sent, traced.sent) {
			t.Fatalf("packet %d: %x on port %d:\ntraced %v\nplain  %v", i, f, a.port, traced.sent,
				plain.sent)
		}
	}
	if a, b := stateOf(plain.bed), stateOf(traced.bed); a != b {
		t.Errorf("traced:\n%s\nplain:\n%s", b, a)
	}
}

// stateOf is everything that outlives packets, in words.
func stateOf(r *bed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n", r.s.Stats())
	for i, info := range r.p.Registers() {
		for j := range info.Size {
			if v, err := r.s.Register(i, j); err != nil {
				r.t.Fatal(err)
			} else if strings.Trim(string(v), "\x00") != "" {
				fmt.Fprintf(&b, "%s[%d] %x\n", info.Name, j, v)
			}
		}
	}
	for i, info := range r.p.Counters() {
		for j := range info.Size {
			if v, err := r.s.Counter(engine.Element(i, j)); err != nil {
				r.t.Fatal(err)
			} else if v.Packets > 0 {
				fmt.Fprintf(&b, "%s[%d] %+v\n", info.Name, j, v)
			}
		}
	}
	fmt.Fprintf(&b, "%x\n", r.digests)
	return b.String()
}
