package fabric

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/p4"
)

// unreachable are reasons that no packet can give, and why they are there.
var unreachable = map[p4.DropReason]string{
	p4.DropReasonNone: "no drop",
	p4.DropReasonParseOther: "every way for the parser to fail has a reason of its own; this one " +
		"guards against a target that finds another",
	p4.DropReasonEncapsTwice: "H.Encaps takes only packets without outer header, and mt_source " +
		"gives others its own reason; the check is part of the macro",
}

// TestDropReasonsCovered fails when a reason, or an event, of the program is in no scenario.
func TestDropReasonsCovered(t *testing.T) {
	reasons, seen := map[p4.DropReason]bool{}, map[p4.MtEvent]bool{}
	for _, s := range scenarios() {
		for _, step := range s.steps {
			for reason := range step.ingress {
				reasons[reason] = true
			}
			for reason := range step.egress {
				reasons[reason] = true
			}
			for event := range step.events {
				seen[event] = true
			}
		}
	}
	// A value without a name prints as a number: there are no more.
	named := func(s string) bool { return strings.Trim(s, "0123456789") != "" }
	for reason := p4.DropReason(0); named(reason.String()); reason++ {
		if why := unreachable[reason]; reasons[reason] == (why != "") {
			t.Errorf("%v: in a scenario %v, listed as unreachable %q", reason, reasons[reason], why)
		}
	}
	for event := p4.MtEvent(1); named(event.String()); event++ {
		if !seen[event] {
			t.Errorf("event %v is in no scenario", event)
		}
	}
}

// TestScenarioNames: each name once, so that results can be told apart.
func TestScenarioNames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scenarios() {
		if seen[s.name] {
			t.Errorf("scenario %s is there twice", s.name)
		}
		if len(s.steps) == 0 {
			t.Errorf("scenario %s has no steps", s.name)
		}
		seen[s.name] = true
	}
}
