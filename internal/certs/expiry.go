package certs

import (
	"fmt"
	"time"
)

// State is whether a certificate can be used, and for how long.
type State int

// The states, in the order of their urgency.
const (
	Valid State = iota
	// Expiring is a certificate with less time left than Warning says.
	Expiring
	// Urgent: less than a quarter of that time remains.
	Urgent
	Expired
)

// maxWarning is the longest time for which a certificate counts as expiring.
const maxWarning = 30 * 24 * time.Hour

// Warning returns how long before its end a certificate counts as expiring: a third of its whole
// time, and 30 days at most.
func (c *Certificate) Warning() time.Duration {
	return min(c.NotAfter.Sub(c.NotBefore)/3, maxWarning)
}

// State returns the state at a time.
func (c *Certificate) State(now time.Time) State {
	switch left := c.NotAfter.Sub(now); {
	case left <= 0:
		return Expired
	case left <= c.Warning()/4:
		return Urgent
	case left <= c.Warning():
		return Expiring
	}
	return Valid
}

// Name returns the name of the certificate in listings: its place, and for an authority or a peer
// also the serial number.
func (c *Certificate) Name() string {
	switch {
	case c.Peer:
		return c.Place + ".peer-" + c.Serial
	case c.Authority:
		return c.Place + ".ca-" + c.Serial
	}
	return c.Place
}

// ChangeType is what happened to a certificate.
type ChangeType int

// The types of changes.
const (
	ChangeExpiring ChangeType = iota
	ChangeExpired
	ChangeRenewed
	ChangeRefused
)

// Change is what happened to a certificate, for people to read.
type Change struct {
	Type    ChangeType
	Name    string
	Message string
}

// A Monitor finds what changes between listings of certificates.
type Monitor struct{ known map[string]known }

type known struct {
	serial, fault string
	state         State
}

// Next returns what changed since the last call. The first call reports what is urgent or refused
// then. A certificate that another side shows is named once in each state.
func (m *Monitor) Next(now time.Time, list []Certificate) (out []Change) {
	next := make(map[string]known, len(list))
	for i := range list {
		c := &list[i]
		name := c.Name()
		was, seen := m.known[name]
		is := known{serial: c.Serial, fault: c.Fault, state: c.State(now)}
		next[name] = is
		what := "certificate of " + c.Place
		if c.Peer {
			what = fmt.Sprintf("certificate of %s at %s", c.name(), c.Place)
		}
		if c.Authority {
			what = fmt.Sprintf("authority %s of %s", c.Subject, c.Place)
		}
		end := c.NotAfter.UTC().Format(time.RFC3339)
		say := func(t ChangeType, format string, args ...any) {
			out = append(out, Change{Type: t, Name: name, Message: what + " " +
				fmt.Sprintf(format, args...)})
		}
		if seen && was.serial != is.serial {
			say(ChangeRenewed, "was renewed: it is good until %s", end)
			was.state = Valid
		}
		if is.fault != "" && is.fault != was.fault {
			say(ChangeRefused, "is kept: the new file cannot be used: %s", is.fault)
		}
		switch {
		case is.state <= was.state:
		case is.state == Expired:
			say(ChangeExpired, "expired at %s", end)
		default:
			say(ChangeExpiring, "expires at %s", end)
		}
	}
	m.known = next
	return out
}

// Unusable reports in a sentence why a certificate of a file cannot be used at a time; "" when it
// can.
func (c *Certificate) Unusable(now time.Time) string {
	why := "expired at " + at(c.NotAfter)
	switch {
	case now.Before(c.NotBefore):
		why = fmt.Sprintf("is valid from %s on", at(c.NotBefore))
	case now.Before(c.NotAfter):
		return ""
	}
	return fmt.Sprintf("%s %s, and the clock of this machine says %s: want a certificate that is "+
		"valid then, or the clock set", c.File, why, at(now))
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
