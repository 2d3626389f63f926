package trace_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/trace"
)

func assembled(t *testing.T) (*trace.Assembler, *[]*trace.Record) {
	t.Helper()
	var done []*trace.Record
	return trace.NewAssembler(func(r *trace.Record) { done = append(done, r) }), &done
}

func ended(r trace.Result) trace.Outcome { return trace.Outcome{Result: r} }

// TestTree: a record is whole when the last copy has ended, and not before.
func TestTree(t *testing.T) {
	a, done := assembled(t)
	frame := []byte{1, 2}
	a.Begin(trace.Packet{ID: 1, Origin: trace.Received, Frame: frame})
	frame[0] = 9 // it is the switch's again
	a.Begin(trace.Packet{ID: 2, Parent: 1, Origin: trace.Replica})
	a.Begin(trace.Packet{ID: 3, Parent: 1, Origin: trace.Replica})
	a.End(1, ended(trace.Replicated))
	a.Begin(trace.Packet{ID: 4, Origin: trace.Received}) // another
	a.Begin(trace.Packet{ID: 5, Parent: 3, Origin: trace.Recirculated})
	a.End(3, ended(trace.Recirculating))
	a.End(2, ended(trace.Dropped))
	if len(*done) != 0 {
		t.Fatalf("done too early: %+v", *done)
	}
	a.End(5, ended(trace.Transmitted))
	if len(*done) != 1 {
		t.Fatalf("%d records, want 1", len(*done))
	}
	var ids []trace.ID
	for _, r := range (*done)[0].All() {
		ids = append(ids, r.ID)
	}
	if want := []trace.ID{1, 2, 3, 5}; !reflect.DeepEqual(ids, want) {
		t.Errorf("packets %v, want %v", ids, want)
	}
	if f := (*done)[0].Frame; f[0] != 1 {
		t.Errorf("the frame is %x: it was not copied", []byte(f))
	}
	a.Forget()
	if len(*done) != 2 || (*done)[1].Outcome.Result != trace.Lost {
		t.Errorf("forgotten: %+v", *done)
	}
}

// TestNesting: steps go into the stage, state, table and action they belong to.
func TestNesting(t *testing.T) {
	a, done := assembled(t)
	a.Begin(trace.Packet{ID: 1})
	for _, s := range []trace.Step{
		{Stage: &trace.Stage{Name: "parser"}},
		{State: &trace.State{Name: "start"}},
		{Extract: &trace.Extract{Header: "h"}},
		{State: &trace.State{Name: "next"}},
		{Stage: &trace.Stage{Name: "ingress"}},
		{Condition: &trace.Condition{Name: "node_1"}},
		{Table: &trace.Table{Name: "t"}},
		{Counter: &trace.Counter{Name: "t"}},
		{Action: &trace.Action{Name: "a"}},
		{Condition: &trace.Condition{}}, // of a jump in the action
		{Assign: &trace.Assign{Field: "f"}},
		{Table: &trace.Table{Name: "u", NoAction: true}},
		{Action: &trace.Action{Name: "made"}}, // not the table's
		{Condition: &trace.Condition{Name: "node_2"}},
		{Queue: &trace.Queue{}},
	} {
		a.Step(1, s)
	}
	a.End(1, ended(trace.Dropped))
	var b strings.Builder
	var draw func(steps []trace.Step, indent string)
	draw = func(steps []trace.Step, indent string) {
		for _, s := range steps {
			v := reflect.ValueOf(s)
			for i := range v.NumField() {
				if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
					b.WriteString(indent + f.Type().Elem().Name() + "\n")
				}
			}
			draw(s.Steps, indent+" ")
		}
	}
	draw((*done)[0].Steps, "")
	want := `Stage
 State
  Extract
 State
Stage
 Condition
 Table
  Counter
  Action
   Condition
   Assign
 Table
 Action
 Condition
Queue
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// TestBounds: a packet that goes round for ever, or does too much, is cut off.
func TestBounds(t *testing.T) {
	a, done := assembled(t)
	a.Begin(trace.Packet{ID: 1})
	for id := trace.ID(2); id < 10000; id++ {
		a.Begin(trace.Packet{ID: id, Parent: id - 1, Origin: trace.Recirculated})
		a.Step(id-1, trace.Step{Note: &trace.Note{}})
		a.End(id-1, ended(trace.Recirculating))
	}
	if len(*done) != 1 || !(*done)[0].Cut {
		t.Fatalf("%d records", len(*done))
	}
	if n := len((*done)[0].All()); n < 1000 || n > 2000 {
		t.Errorf("%d packets are kept", n)
	}
	a.Begin(trace.Packet{ID: 20000})
	for range 100000 {
		a.Step(20000, trace.Step{Note: &trace.Note{}})
	}
	a.End(20000, ended(trace.Dropped))
	if r := (*done)[1]; !r.Cut || len(r.Steps) >= 100000 {
		t.Errorf("%d steps are kept", len(r.Steps))
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		b     []byte
		width int
		want  trace.Value
	}{
		{[]byte{0x01, 0xff}, 9, "0x1ff"},
		{[]byte{0, 0, 0, 0, 0, 0, 0, 5}, 4, "0x5"},
		{[]byte{5}, 16, "0x0005"},
		{nil, 8, "0x00"},
		{nil, 0, "0x"},
	} {
		if got := trace.NewValue(c.b, c.width); got != c.want {
			t.Errorf("%x of %d bits: %s, want %s", c.b, c.width, got, c.want)
		}
	}
}
