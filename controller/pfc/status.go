package pfc

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/topology"
)

// Report implements feature.Feature: it computes the conditions of all SRv6 policies,
// tenants and PFC policies.
func (f *Feature) Report() {
	if !f.stale {
		return
	}
	f.stale = false
	for _, p := range f.srv6Policies.All() {
		s := f.srv6Status(p)
		if !reflect.DeepEqual(s, p.Decided.status) {
			p.Decided.status = s
			f.env.Event(api.EventSRv6PolicyChanged, p.Name, feature.Summary(s.Conditions), nil,
				feature.Says(s.Conditions))
		}
	}
	for _, t := range f.tenants.All() {
		s := f.tenantStatus(t)
		if !reflect.DeepEqual(s, t.Decided.status) {
			t.Decided.status = s
			f.env.Event(api.EventTenantChanged, t.Name, feature.Summary(s.Conditions), nil,
				feature.Says(s.Conditions))
		}
	}
	for _, r := range f.pfcPolicies.All() {
		s := f.pfcStatus(r)
		if !reflect.DeepEqual(s, r.Decided.status) {
			r.Decided.status = s
			f.env.Event(api.EventPFCPolicyChanged, r.Name, feature.Summary(s.Conditions), nil,
				feature.Says(s.Conditions))
		}
	}
}

// install sets Programmed, and Degraded for what switches report, which comes after
// any reason given.
func (f *Feature) install(
	cs *api.Conditions, nodes []topology.NodeID, settled bool, wait, reason, message string,
) {
	now := f.env.Wall()
	var offline, refused []string
	pending := false
	for _, id := range nodes {
		sw, ok := f.env.Net.SwitchOf(id)
		switch {
		case !ok || !f.env.Switches.Exists(sw):
		case !f.env.Switches.Connected(sw):
			offline = append(offline, sw)
		default:
			pending = pending || !f.env.Switches.Of(sw, owner).Clean()
			refused = append(refused, f.env.Switches.Of(sw, owner).Failures(3)...)
		}
	}
	switch {
	case len(offline) > 0:
		cs.Set(api.Programmed, false, api.ReasonDisconnected, "waiting for "+feature.Names(offline), now)
	case wait != "":
		cs.Set(api.Programmed, false, wait, "", now)
	case pending || !settled:
		cs.Set(api.Programmed, false, api.ReasonInstalling, "", now)
	default:
		cs.Set(api.Programmed, true, api.ReasonInstalled, "", now)
	}
	switch {
	case reason != "":
		cs.Set(api.Degraded, true, reason, message, now)
	case len(refused) > 0:
		cs.Set(api.Degraded, true, api.ReasonDeviceError, strings.Join(refused[:min(3, len(refused))],
			"; "), now)
	case len(offline) > 0:
		cs.Set(api.Degraded, true, api.ReasonDisconnected, feature.Names(offline), now)
	default:
		cs.Set(api.Degraded, false, api.ReasonHealthy, "", now)
	}
}

func (f *Feature) accept(cs *api.Conditions, err error) (reason, message string) {
	if err == nil {
		cs.Set(api.Accepted, true, api.ReasonPlanned, "", f.env.Wall())
		return "", ""
	}
	reason, message = api.ReasonNotPlannable, err.Error()
	var known *api.Error
	if errors.As(f.refusal("the present network", err), &known) {
		reason, message = feature.Reason(known.Code), known.Message
	}
	var cycle *tunnel.CycleError
	if errors.As(err, &cycle) {
		reason = api.ReasonDeadlock
	}
	cs.Set(api.Accepted, false, reason, message, f.env.Wall())
	return reason, message
}

func (f *Feature) srv6Status(p *srv6Policy) api.SRv6PolicyStatus {
	s := api.SRv6PolicyStatus{Conditions: slices.Clone(p.Decided.status.Conditions),
		ObservedVersion: p.Version, UsedBy: f.policyUsers(p.Name)}
	present, ok := f.core.Present(p.Name)
	err := present.Err
	if !ok {
		err = errWaiting
	}
	reason, message := f.accept(&s.Conditions, err)
	if path := present.Path; path != nil {
		s.SegmentList = f.segments(path.Segments)
		for i := range path.Hops {
			h := &path.Hops[i]
			s.Path = append(s.Path, f.switchName(h.Node))
			if f.config.Behaviors.Capable(f.env.Net.Snapshot, h.Node) {
				s.PFCNodes = append(s.PFCNodes, f.switchName(h.Node))
			}
		}
	}
	f.install(&s.Conditions, f.core.Holders(p.Name), present.Settled, "", reason, message)
	return s
}

// errWaiting: a resource of the store waits for the topology to have its
// switches.
var errWaiting = fmt.Errorf("its switches: %w", tunnel.ErrNoNode)

func (f *Feature) segments(list []tunnel.Segment) []api.SegmentStatus {
	out := make([]api.SegmentStatus, 0, len(list))
	for _, x := range list {
		out = append(out, api.SegmentStatus{Node: f.switchName(x.Node), SID: x.SID,
			Behavior: f.config.Behaviors.Name(x.Behavior)})
	}
	return out
}

func (f *Feature) tenantStatus(t *tenant) api.TenantStatus {
	s := api.TenantStatus{Conditions: slices.Clone(t.Decided.status.Conditions),
		ObservedVersion: t.Version, VRF: t.Decided.VRF, UsedBy: f.tenantUsers(t.Name)}
	var nodes []topology.NodeID
	for i := range t.Spec.Sites {
		x := &t.Spec.Sites[i]
		site := api.SiteStatus{Switch: x.Switch, Port: x.Port,
			Prefixes: append([]netip.Prefix{}, f.sitePrefixes(x)...)}
		if n := f.env.Net.Node(x.Switch); n != nil {
			nodes = append(nodes, n.ID)
			// invalid when there can be none, which err says
			site.SID, _ = f.env.Net.ServiceSID(n, t.Decided.VRF)
		}
		s.Sites = append(s.Sites, site)
	}
	err := t.Decided.err
	if !t.Decided.put && err == nil {
		err = errWaiting
	}
	reason, message := f.accept(&s.Conditions, err)
	f.install(&s.Conditions, nodes, t.Decided.put, "", reason, message)
	return s
}

// pfcStatus leaves out Nodes and Tunnels, which change all the time: see
// viewPFCPolicy.
func (f *Feature) pfcStatus(r *pfcPolicy) api.PFCPolicyStatus {
	core := f.core
	s := api.PFCPolicyStatus{Conditions: slices.Clone(r.Decided.status.Conditions),
		ObservedVersion: r.Version}
	present, _ := core.Present(r.Spec.SRv6Policy)
	err := core.PFCPolicyError(r.Name)
	if !r.Decided.put {
		err = errWaiting
	}
	reason, message := f.accept(&s.Conditions, err)
	cycle := core.Cycle(r.Name)
	for _, q := range cycle {
		s.Cycle = append(s.Cycle, f.queueName(q))
	}
	wait := ""
	if r.Spec.Scenario == 2 && !r.Decided.Learned {
		wait = api.ReasonAwaitingPacket
	}
	d := present.Deployments[r.Name]
	if reason == "" && cycle != nil {
		reason, message = api.ReasonDeadlock, f.cycleText(cycle)
	}
	if reason == "" && d != nil {
		reason, message = f.pfcTrouble(d)
	}
	f.install(&s.Conditions, core.Holders(r.Spec.SRv6Policy), present.Settled && d != nil, wait,
		reason, message)
	return s
}

// pfcTrouble reports what is wrong with a deployment, the most serious first.
func (f *Feature) pfcTrouble(d *tunnel.Deployment) (reason, message string) {
	core := f.core
	for i := range d.Tunnels {
		if t := &d.Tunnels[i]; core.Quality(t).Down {
			return api.ReasonTunnelDown, fmt.Sprintf("probes from %s to %s are lost", f.switchName(t.From),
				f.switchName(t.To))
		}
	}
	for i := range d.Stages {
		for _, q := range d.Stages[i].Queues {
			if r, _, ok := core.LastReport(q); ok && r.Storm {
				return api.ReasonPFCStorm, f.queueName(q) + " was paused for too long"
			}
		}
	}
	for i := range d.Stages {
		for _, q := range d.Stages[i].Queues {
			if s, ok := core.QueueState(q); ok && s.Marks.XOFF > 0 && !s.Marks.Fits() {
				return api.ReasonHeadroom, fmt.Sprintf("%s has %d octets, and needs %d for what arrives "+
					"after XOFF at %d", f.queueName(q), s.Marks.Buffer, s.Marks.Headroom, s.Marks.XOFF)
			}
		}
	}
	return "", ""
}

func (f *Feature) deploymentOf(r *pfcPolicy) *tunnel.Deployment {
	present, _ := f.core.Present(r.Spec.SRv6Policy)
	return present.Deployments[r.Name]
}

func (f *Feature) pfcNodes(r *pfcPolicy) []api.PFCNode {
	d := f.deploymentOf(r)
	if d == nil {
		return nil
	}
	var out []api.PFCNode
	for i := range d.Stages {
		for _, q := range d.Stages[i].Queues {
			n := api.PFCNode{Switch: f.switchName(q.Node), Port: q.Port, Priority: q.Priority}
			if i > 0 {
				n.Upstream = f.switchName(d.Stages[i-1].Node)
			}
			if 2*i < len(d.Tunnels) {
				n.SID = d.Tunnels[2*i].SID
			}
			if s, ok := f.core.QueueState(q); ok {
				n.Watermarks = api.Watermarks{
					Buffer: s.Marks.Buffer, Headroom: s.Marks.Headroom, XOFF: s.Marks.XOFF, XON: s.Marks.XON,
					RTT: api.Duration(s.RTT), Rate: s.Fill, Measured: s.Measured,
				}
			}
			n.Queue = f.queueStatus(q)
			out = append(out, n)
		}
	}
	return out
}

func (f *Feature) queueStatus(q tunnel.Queue) *api.PFCQueue {
	r, at, ok := f.core.LastReport(q)
	if !ok {
		return nil
	}
	ago := func(age time.Duration) time.Time {
		if age < 0 {
			return time.Time{}
		}
		return f.env.Start.Add(at - age).UTC()
	}
	s := &api.PFCQueue{
		Paused: r.Paused, Held: r.Held, MaxHeld: r.MaxHeld, PausesReceived: r.XOFFReceived,
		XOFFSent: r.XOFFSent, XONSent: r.XONSent,
		Dropped: r.Dropped, Storms: r.Storms, LastXOFF: ago(r.XOFFSentAge), LastXON: ago(r.XONSentAge),
		At: ago(0),
	}
	if r.Paused {
		s.PausedFor = api.Duration(r.PausedFor)
	}
	return s
}

func (f *Feature) pfcTunnels(r *pfcPolicy) []api.PFCTunnel {
	d := f.deploymentOf(r)
	t := f.tenants.Get(r.Spec.Tenant)
	if d == nil || t == nil {
		return nil
	}
	var out []api.PFCTunnel
	for i := range d.Tunnels {
		x := &d.Tunnels[i]
		q := f.core.Quality(x)
		v := api.PFCTunnel{
			ID: f.core.ListNumber(x), From: f.switchName(x.From), To: f.switchName(x.To),
			Segments: f.segments(x.Segments), Slice: t.Spec.Slice,
			Mode: r.Spec.Tunnel, State: api.TunnelUnknown, RTT: api.Duration(q.RTT),
			MinRTT: api.Duration(q.Least), MaxRTT: api.Duration(q.Most),
			Sent: q.Sent, Lost: q.Lost,
		}
		switch {
		case q.Down:
			v.State = api.TunnelDown
		case q.Probed:
			v.State = api.TunnelUp
		}
		out = append(out, v)
	}
	return out
}
