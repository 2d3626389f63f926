package multicast

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/internal/natural"
)

// updateStatus computes the status of a group, and tells when it changed.
func (f *Feature) updateStatus(g *group) {
	if g.item == nil {
		return
	}
	s := api.MulticastGroupStatus{
		Conditions: slices.Clone(g.status.Conditions), ObservedVersion: g.item.Version, Index: g.index,
		Limits:           f.inv().Limits,
		StalledReceivers: g.probe.stalled(), EvictedReceivers: g.evictedList(),
	}
	p := g.latest()
	s.Epoch, s.Tree = p.Epoch, p.Tree()
	offline, unfinished := f.obstacles(g)
	installed := g.queued == nil && (g.phase == draining || g.phase == cleaning ||
		g.phase == steady) && len(offline) == 0 && !unfinished
	s.Connections = g.Status(&g.item.Spec)
	spec, _ := g.Fill(&g.item.Spec, nil)
	for i := range spec.Receivers {
		r := api.ReceiverStatus{Address: spec.Receivers[i].Address}
		if n, b := p.FindReceiver(r.Address); n != nil {
			r.Switch, r.Branch, r.Programmed = n.Switch, b.Index, g.serves(&spec.Receivers[i])
		}
		s.Receivers = append(s.Receivers, r)
	}
	now := f.env.Wall()
	if g.planErr == nil {
		s.Set(api.Accepted, true, api.ReasonPlanned, "", now)
	} else {
		s.Set(api.Accepted, false, feature.Reason(g.planErr.Code), g.planErr.Error(), now)
	}
	switch {
	case installed:
		s.Set(api.Programmed, true, api.ReasonInstalled, "", now)
	case len(offline) > 0:
		s.Set(api.Programmed, false, api.ReasonDisconnected, "waiting for "+feature.Names(offline), now)
	default:
		s.Set(api.Programmed, false, api.ReasonInstalling, g.phase.String(), now)
	}
	f.degraded(g, &s, offline)
	if reflect.DeepEqual(s, g.status) {
		return
	}
	g.status = s
	r := g.resource()
	f.env.Event(api.EventGroupChanged, g.name, feature.Summary(s.Conditions), &r,
		feature.Says(s.Conditions))
}

// serves reports whether a receiver of the spec has been taken in: it is in the
// tree that was complete last, with the same queue pair and first PSN.
func (g *group) serves(want *api.GroupReceiver) bool {
	_, b := g.installed.FindReceiver(want.Address)
	return b != nil && b.Receiver.QPN == want.QPN &&
		b.Receiver.StartPSN == want.Start(g.installed.InitialPSN) &&
		b.Receiver.PSNOffset == want.PSNOffset(g.installed.InitialPSN) &&
		g.installed.InitialPSN == g.item.Spec.InitialPSN
}

// obstacles returns the disconnected switches of a group's target, and reports whether any
// connected switch is unfinished.
func (f *Feature) obstacles(g *group) (offline []string, unfinished bool) {
	for _, sw := range g.target.Switches() {
		switch {
		case !f.env.Switches.Connected(sw):
			offline = append(offline, sw)
		case f.env.Switches.Of(sw, g.owner()).Lacks() ||
			len(f.env.Switches.Of(sw, g.owner()).Failures(1)) > 0:
			unfinished = true
		}
	}
	slices.SortFunc(offline, natural.Compare)
	return offline, unfinished
}

// degraded sets the condition, the most serious reason first.
func (f *Feature) degraded(g *group, s *api.MulticastGroupStatus, offline []string) {
	now := f.env.Wall()
	var refused []string
	for _, sw := range g.target.Switches() {
		refused = append(refused, f.env.Switches.Of(sw, g.owner()).Failures(3)...)
	}
	var stalled []string
	for _, r := range s.StalledReceivers {
		stalled = append(stalled, r.Address.String())
	}
	var evicted []string
	for _, a := range s.EvictedReceivers {
		evicted = append(evicted, a.String())
	}
	var missing []string
	if g.item.Spec.Connect != nil {
		missing = g.Missing(&g.item.Spec, g.evicted)
	}
	switch {
	case g.planErr != nil:
		s.Set(api.Degraded, true, feature.Reason(g.planErr.Code), g.planErr.Error(), now)
	case f.outside(g) != "":
		s.Set(api.Degraded, true, api.ReasonPortTaken, f.outside(g), now)
	case f.shared(g) != "":
		s.Set(api.Degraded, true, api.ReasonQueuePairShared, f.shared(g), now)
	case len(refused) > 0:
		s.Set(api.Degraded, true, api.ReasonDeviceError, strings.Join(refused[:min(3, len(refused))],
			"; "), now)
	case len(offline) > 0:
		s.Set(api.Degraded, true, api.ReasonDisconnected, feature.Names(offline), now)
	case len(stalled) > 0:
		s.Set(api.Degraded, true, api.ReasonReceiverStalled, feature.Names(stalled), now)
	case len(missing) > 0:
		s.Set(api.Degraded, true, api.ReasonNotConnected, feature.Names(missing), now)
	case len(evicted) > 0:
		s.Set(api.Degraded, true, api.ReasonReceiversEvicted, feature.Names(evicted), now)
	default:
		s.Set(api.Degraded, false, api.ReasonHealthy, "", now)
	}
}

// outside names the ports of a group's source or receivers that belong to a tenant, because hosts
// of tenants are outside the VRF of groups; "": no port belongs to a tenant.
func (f *Feature) outside(g *group) string {
	edges := f.env.Net.Edges()
	if len(edges) == 0 {
		return ""
	}
	all := []netip.Addr{g.item.Spec.Source.Address}
	for _, r := range g.item.Spec.Receivers {
		all = append(all, r.Address)
	}
	var texts []string
	for _, a := range all {
		h := f.env.Net.Host(a)
		if h == nil || h.At == nil {
			continue
		}
		if e, ok := edges[h.At.Name][h.Hop.Port]; ok {
			who := "an orphan of a tenant"
			if e.Tenant != "" {
				who = "tenant " + e.Tenant
			}
			texts = append(texts, fmt.Sprintf("%s has port %d of %s, where %s is", who, h.Hop.Port,
				h.At.Name, h.Name))
		}
	}
	if more := len(texts) - 3; more > 0 {
		texts = append(texts[:3], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}
