package prove

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// TestWitnesses has the host named that reports most losses across a link in two windows, of equals
// the first by name, and hosts beyond the first 64 of a window not heard.
func TestWitnesses(t *testing.T) {
	const link = topology.LinkID("l")
	note := func(w *witnesses, at time.Duration, who string, sent, lost uint64) {
		w.note(at, who, []topology.LinkID{link}, suspect.Counts{Sent: sent, Lost: lost})
	}
	for range 8 { // the order of a map is another each time
		w := newWitnesses(time.Second)
		for _, who := range []string{"d", "b", "c"} {
			note(&w, 0, who, 10, 2)
		}
		note(&w, 0, "a", 10, 1)
		note(&w, 0, "z", 100, 0) // accuses no link
		if who, n := w.most(0, link); who != "b" || n != (suspect.Counts{Sent: 10, Lost: 2}) {
			t.Fatalf("%s has most losses: %+v; want b, the first of three", who, n)
		}
		note(&w, time.Second, "a", 10, 2)
		if who, n := w.most(time.Second, link); who != "a" || n != (suspect.Counts{Sent: 20, Lost: 3}) {
			t.Fatalf("%s has most losses in two windows: %+v; want a", who, n)
		}
		if who, n := w.most(2*time.Second, link); who != "a" || n.Lost != 2 {
			t.Fatalf("%s has most losses a window later: %+v; want a with two", who, n)
		}
		if who, _ := w.most(4*time.Second, link); who != "" {
			t.Fatalf("%s has losses two windows later", who)
		}
	}
	w := newWitnesses(time.Second)
	for i := range maxWitnesses {
		note(&w, 0, fmt.Sprint(i), 10, 1)
	}
	note(&w, 0, "late", 10, 9)
	note(&w, 0, "7", 10, 3)
	if who, n := w.most(0, link); who != "7" || n.Lost != 4 {
		t.Errorf("%s has most losses: %+v; want 7, which was among the first", who, n)
	}
}
