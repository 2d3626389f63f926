package controller

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
)

// updateStatus computes the status of a group, and tells when it changed.
func (c *Core) updateStatus(g *group) {
	if g.removed {
		return
	}
	s := api.MulticastGroupStatus{
		Conditions: slices.Clone(g.status.Conditions), ObservedVersion: g.version, Index: g.index, Limits: c.inv.Limits,
		StalledReceivers: g.probe.stalled(), EvictedReceivers: g.evictedList(),
	}
	p := g.latest()
	s.Epoch, s.Tree = p.Epoch, p.Tree()
	offline, unfinished := c.obstacles(g)
	installed := g.queued == nil && (g.phase == draining || g.phase == cleaning || g.phase == steady) && len(offline) == 0 && len(unfinished) == 0
	for i := range g.spec.Receivers {
		r := api.ReceiverStatus{Address: g.spec.Receivers[i].Address}
		if n, b := p.FindReceiver(r.Address); n != nil {
			r.Switch, r.Branch, r.Programmed = n.Switch, b.Index, g.serves(&g.spec.Receivers[i])
		}
		s.Receivers = append(s.Receivers, r)
	}
	now := c.wall()
	if g.planErr == nil {
		s.Set(api.Accepted, true, api.ReasonPlanned, "", now)
	} else {
		s.Set(api.Accepted, false, reasonOf(g.planErr.Code), g.planErr.Error(), now)
	}
	switch {
	case installed:
		s.Set(api.Programmed, true, api.ReasonInstalled, "", now)
	case len(offline) > 0:
		s.Set(api.Programmed, false, api.ReasonDisconnected, "waiting for "+list(offline), now)
	default:
		s.Set(api.Programmed, false, api.ReasonInstalling, g.phase.String(), now)
	}
	c.degraded(g, &s, offline)
	if reflect.DeepEqual(s, g.status) {
		return
	}
	g.status = s
	r := g.resource()
	c.event(api.EventGroupChanged, g.name, summary(&s), &r)
}

// serves reports whether a receiver of the spec has been taken in: it is in the
// tree that was complete last, with the same queue pair and first PSN.
func (g *group) serves(want *api.GroupReceiver) bool {
	_, b := g.installed.FindReceiver(want.Address)
	return b != nil && b.Receiver.QPN == want.QPN && b.Receiver.StartPSN == want.Start(g.installed.InitialPSN) &&
		g.installed.InitialPSN == g.spec.InitialPSN
}

// obstacles returns the switches of a group's target that are not connected,
// and those that are not finished with it.
func (c *Core) obstacles(g *group) (offline, unfinished []string) {
	for _, sw := range g.target.Switches() {
		switch {
		case !c.switches.Connected(sw):
			offline = append(offline, sw)
		case c.switches.Lacks(sw, g.owner()) || len(c.switches.Failures(sw, g.owner(), 1)) > 0:
			unfinished = append(unfinished, sw)
		}
	}
	slices.SortFunc(offline, natural.Compare)
	slices.SortFunc(unfinished, natural.Compare)
	return offline, unfinished
}

// degraded sets the condition, the most serious reason first.
func (c *Core) degraded(g *group, s *api.MulticastGroupStatus, offline []string) {
	now := c.wall()
	var refused []string
	for _, sw := range g.target.Switches() {
		refused = append(refused, c.switches.Failures(sw, g.owner(), 3)...)
	}
	var stalled []string
	for _, r := range s.StalledReceivers {
		stalled = append(stalled, r.Address.String())
	}
	var evicted []string
	for _, a := range s.EvictedReceivers {
		evicted = append(evicted, a.String())
	}
	switch {
	case g.planErr != nil:
		s.Set(api.Degraded, true, reasonOf(g.planErr.Code), g.planErr.Error(), now)
	case len(refused) > 0:
		s.Set(api.Degraded, true, api.ReasonDeviceError, strings.Join(refused[:min(3, len(refused))], "; "), now)
	case len(offline) > 0:
		s.Set(api.Degraded, true, api.ReasonDisconnected, list(offline), now)
	case len(stalled) > 0:
		s.Set(api.Degraded, true, api.ReasonReceiverStalled, list(stalled), now)
	case len(evicted) > 0:
		s.Set(api.Degraded, true, api.ReasonReceiversEvicted, list(evicted), now)
	default:
		s.Set(api.Degraded, false, api.ReasonHealthy, "", now)
	}
}

func reasonOf(code api.Code) string {
	switch code {
	case api.CodeUnreachable:
		return api.ReasonUnreachable
	case api.CodeLimit:
		return api.ReasonLimit
	}
	return api.ReasonNotPlannable
}

// list joins names, and counts those after the fifth.
func list(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + fmt.Sprintf(" and %d more", len(names)-5)
	}
	return strings.Join(names, ", ")
}

func summary(s *api.MulticastGroupStatus) string {
	var parts []string
	for _, c := range s.Conditions {
		text := string(c.Type) + "=no"
		if c.Status {
			text = string(c.Type) + "=yes"
		}
		parts = append(parts, text+" ("+c.Reason+")")
	}
	return strings.Join(parts, " ")
}
