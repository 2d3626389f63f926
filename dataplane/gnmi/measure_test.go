package gnmi

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4"
)

// TestMeasure checks that the program's counts of a class appear at the queue of the class,
// according to the program's own entries.
func TestMeasure(t *testing.T) {
	program, err := engine.Load(p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	sw := dataplane.New(dataplane.Config{}, nil)
	sw.SetProgram(program)
	find := func(n int, name func(i int) string, want string) int {
		for i := range n {
			if s := name(i); s == want || strings.HasSuffix(s, "."+want) {
				return i
			}
		}
		t.Fatalf("the program has no %s", want)
		return 0
	}
	tables, actions, counters := program.Tables(), program.Actions(), program.Counters()
	table := find(len(tables), func(i int) string { return tables[i].Name }, p4.TableTrafficClass)
	action := find(len(actions), func(i int) string { return actions[i].Name }, p4.ActionSetClass)
	// Class 5 has priority 2; the others have no entry, and the queues of their numbers.
	if err := sw.InsertEntry(table, engine.Entry{Match: []engine.Match{{Value: []byte{46}}},
		Target: engine.Target{Action: engine.ActionCall{Action: action,
			Args: [][]byte{{5}, {2}}}}}); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]uint64{p4.CounterClassMarks: 10, p4.CounterClassTrims: 100,
		p4.CounterClassDrops: 1000} {
		c := find(len(counters), func(i int) string { return counters[i].Name }, name)
		for class, factor := range map[uint8]uint64{5: 1, 2: 2, 7: 3} {
			if err := sw.SetCounter(engine.Element(c, int(p4.ClassCell(4, class))),
				engine.CounterValue{Packets: n * factor}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ports := []Port{{Number: 3}, {Number: 4}}
	Measure(sw, ports, Queues|PFC)
	for i, q := range ports[1].Queues {
		want := map[int]uint64{2: 3, 7: 3}[i] // queue 2 is of classes 5 and 2
		if q.Program == nil || q.Program.Marked != 10*want || q.Program.Trimmed != 100*want ||
			q.DroppedPackets != 1000*want {
			t.Errorf("queue %d: %+v %+v, want %d times 10, 100 and 1000", i, q, q.Program, want)
		}
	}
	if len(ports[0].Queues) != 8 || ports[0].Queues[2].DroppedPackets != 0 ||
		len(ports[0].Priorities) != 8 {
		t.Errorf("%+v", ports[0])
	}
}
