package mrc

import (
	"testing"

	"github.com/weft-sdn/weft/controller/job/ready"
)

// TestPortFact: a job is told that a port of its hosts is drained.
func TestPortFact(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 2).start()
	h, err := w.core.hosts.find(hostName(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	before := portFact(h, 2)
	if err := w.core.Drain(Target{Host: hostName(1, 1), Port: 1}); err != nil {
		t.Fatal(err)
	}
	w.pump()
	if got, want := portFact(h, 1), (ready.Fact{State: ready.Bad, Why: "drained"}); got != want {
		t.Errorf("port 1 is %+v, want %+v", got, want)
	}
	if got := portFact(h, 2); got != before {
		t.Errorf("port 2 is %+v, want %+v", got, before)
	}
}
