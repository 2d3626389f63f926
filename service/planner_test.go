package service

import (
	"log/slog"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
)

// TestJournal: each event has the causes looked for again, but for the events of causes.
func TestJournal(t *testing.T) {
	o := &Options{Log: slog.New(slog.DiscardHandler)}
	j := o.newJournal()
	for event, want := range map[api.EventType]bool{api.EventSwitchChanged: true,
		api.EventCauseBegan: false, api.EventCauseChanged: false, api.EventCauseEnded: false} {
		for range 2 { // nobody looks meanwhile
			j.publish(api.Event{Type: event})
		}
		if len(j.changed) > 0 != want {
			t.Errorf("%s: looked for again: %v", event, !want)
		}
		select {
		case <-j.changed:
		default:
		}
	}
}

// TestMultipath: the fabric's controller learns the wants of jobs under each setting of profiles in
// the configuration. Without a fabric no controller does.
func TestMultipath(t *testing.T) {
	for _, c := range []struct {
		mode, profiles string
		want           bool
	}{{"", "jobs", false}, {"stev", "all", true}, {"stev", "jobs", true}} {
		inv := inventory.Default()
		inv.MRC = inventory.DefaultMRC(c.mode)
		inv.MRC.Profiles = c.profiles
		if m := newMultipath(&inv); (m != nil) != c.want {
			t.Errorf("mode %q, profiles %q: what jobs want is told: %v", c.mode, c.profiles, m != nil)
		}
	}
}
