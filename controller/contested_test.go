package controller_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/southbound"
)

// TestContested: a switch of another installation has the condition Contested with a reason, until
// the switch is connected, or unconnected for another reason.
func TestContested(t *testing.T) {
	w := up(t, sample.Figure1(), 1)
	foreign := southbound.Backup{Foreign: true, Waiting: true}.Err()
	check := func(want bool) {
		t.Helper()
		for _, s := range w.core.Switches() {
			c := s.Conditions.Find(api.Contested)
			if is := want && s.Name == "n4"; (c != nil) != is {
				t.Errorf("%s: %+v, want the condition %v", s.Name, c, is)
			} else if is && (!c.Status || c.Message != foreign.Error() || c.LastTransition.IsZero()) {
				t.Errorf("%+v", c)
			}
		}
	}
	check(false)
	w.core.SwitchDisconnected("n4", foreign)
	check(true)
	w.core.SwitchDisconnected("n4", errors.New("lost"))
	check(false)
	w.core.SwitchDisconnected("n4", foreign)
	check(true)
	w.connectAll()
	w.run(time.Second)
	check(false)
}
