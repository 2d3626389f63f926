package nic

import (
	"strings"

	"github.com/weft-sdn/weft/api/hostapi"
)

// A value is ASSUMED_BAD for the controller while the value is ASSUMED_BAD for any queue pair: the
// NIC reports when the first queue pair finds the value bad, and when the last queue pair no longer
// does.

// becameBad notes that a queue pair found the value at an index bad.
func (n *NIC) becameBad(p *profile, index int) {
	index = p.first[index]
	if p.bad[index]++; p.bad[index] == 1 {
		n.tell(p, index, hostapi.EVAssumedBad)
	}
}

// recovered notes that a queue pair no longer finds the value at an index bad.
func (n *NIC) recovered(p *profile, index int) {
	index = p.first[index]
	if p.bad[index]--; p.bad[index] == 0 {
		n.tell(p, index, hostapi.EVGood)
	}
}

// tell reports an event, unless the controller denied the value, or the NIC no longer holds the
// profile.
func (n *NIC) tell(p *profile, index int, state hostapi.EVState) {
	if p.is.Events && !p.made.EVs[index].Denied && n.profiles[p.is.Name] == p {
		n.event(hostapi.EVEvent{Profile: p.is.Name, EV: p.evs[index], State: state})
	}
}

// event reports an event to the watcher, and to the controller if the profile comes from the
// controller.
func (n *NIC) event(e hostapi.EVEvent) {
	if n.report != nil && !strings.HasPrefix(e.Profile, hostapi.LocalMark) {
		n.report.EVEvent(e)
	}
	if n.watch != nil {
		n.watch(e)
	}
}
