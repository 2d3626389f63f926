package nic

import (
	"strings"

	"github.com/weft-sdn/weft/hostapi"
)

// A value is ASSUMED_BAD for the controller while it is so for any queue pair: the first that finds
// it bad is told, and that the last one does no more.

// becameBad is notified that a queue pair has found the value of an index bad.
func (n *NIC) becameBad(p *profile, index int) {
	index = p.first[index]
	if p.bad[index]++; p.bad[index] == 1 {
		n.tell(p, index, hostapi.EVAssumedBad)
	}
}

// recovered is notified that a queue pair finds the value of an index bad no more.
func (n *NIC) recovered(p *profile, index int) {
	index = p.first[index]
	if p.bad[index]--; p.bad[index] == 0 {
		n.tell(p, index, hostapi.EVGood)
	}
}

// tell reports an event, unless the value is denied, which the controller knows, or the profile is
// held no more.
func (n *NIC) tell(p *profile, index int, state hostapi.EVState) {
	if p.is.Events && !p.made.EVs[index].Denied && n.profiles[p.is.Name] == p {
		n.event(hostapi.EVEvent{Profile: p.is.Name, EV: p.evs[index], State: state})
	}
}

// event reports to the controller what is of its profiles, and all to who watches.
func (n *NIC) event(e hostapi.EVEvent) {
	if n.report != nil && !strings.HasPrefix(e.Profile, hostapi.LocalMark) {
		n.report.EVEvent(e)
	}
	if n.watch != nil {
		n.watch(e)
	}
}
