package hosts

import (
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestDeltasAreShared: all hosts share the delta between two states, until newer deltas have
// replaced it.
func TestDeltasAreShared(t *testing.T) {
	var d deltas
	from, to := &hostapi.State{}, &hostapi.State{DeniedPorts: 2}
	first := d.diff(from, to, false)
	if first.DeniedPorts == nil || *first.DeniedPorts != 2 {
		t.Fatalf("the delta is %+v, want denied ports 2", first.Delta)
	}
	if back := d.diff(to, from, false); back.DeniedPorts == nil || *back.DeniedPorts != 0 {
		t.Errorf("the delta back is %+v, want denied ports 0", back.Delta)
	}
	if d.diff(from, to, true) == first {
		t.Error("devices that cannot replace EVs share the delta of those that can")
	}
	for range keptDeltas - 3 {
		d.diff(&hostapi.State{}, to, false)
	}
	if d.diff(from, to, false) != first {
		t.Errorf("it is made again after %d", keptDeltas)
	}
	d.diff(&hostapi.State{}, to, false)
	if d.diff(from, to, false) == first {
		t.Errorf("it is kept after %d others", keptDeltas)
	}
	if len(d.of) != keptDeltas {
		t.Errorf("%d are kept, want %d", len(d.of), keptDeltas)
	}
}
