package controller

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/topology"
)

// updateLossless computes the conditions of all SRv6 policies, tenants and PFC
// policies, and tells of those that changed.
func (c *Core) updateLossless() {
	l := &c.lossless
	if !l.stale {
		return
	}
	l.stale = false
	for _, p := range l.policies.All() {
		s := c.srv6Status(p)
		if !reflect.DeepEqual(s, p.Decided.status) {
			p.Decided.status = s
			c.event(api.EventSRv6PolicyChanged, p.Name, conditionsText(s.Conditions), nil)
		}
	}
	for _, t := range l.tenants.All() {
		s := c.tenantStatus(t)
		if !reflect.DeepEqual(s, t.Decided.status) {
			t.Decided.status = s
			c.event(api.EventTenantChanged, t.Name, conditionsText(s.Conditions), nil)
		}
	}
	for _, r := range l.requests.All() {
		s := c.pfcStatus(r)
		if !reflect.DeepEqual(s, r.Decided.status) {
			r.Decided.status = s
			c.event(api.EventPFCPolicyChanged, r.Name, conditionsText(s.Conditions), nil)
		}
	}
}

func conditionsText(cs api.Conditions) string {
	return summary(&api.MulticastGroupStatus{Conditions: cs})
}

// install sets Programmed, and Degraded for what switches say, which comes after
// any reason given.
func (c *Core) install(cs *api.Conditions, nodes []topology.NodeID, settled bool, wait, reason, message string) {
	now := c.wall()
	var offline, refused []string
	pending := false
	for _, id := range nodes {
		sw, ok := c.net.SwitchOf(id)
		switch {
		case !ok || !c.switches.Exists(sw):
		case !c.switches.Connected(sw):
			offline = append(offline, sw)
		default:
			pending = pending || !c.switches.Clean(sw, pfcUnit)
			refused = append(refused, c.switches.Failures(sw, pfcUnit, 3)...)
		}
	}
	switch {
	case len(offline) > 0:
		cs.Set(api.Programmed, false, api.ReasonDisconnected, "waiting for "+list(offline), now)
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
		cs.Set(api.Degraded, true, api.ReasonDeviceError, strings.Join(refused[:min(3, len(refused))], "; "), now)
	case len(offline) > 0:
		cs.Set(api.Degraded, true, api.ReasonDisconnected, list(offline), now)
	default:
		cs.Set(api.Degraded, false, api.ReasonHealthy, "", now)
	}
}

func (c *Core) accept(cs *api.Conditions, err error) (reason, message string) {
	if err == nil {
		cs.Set(api.Accepted, true, api.ReasonPlanned, "", c.wall())
		return "", ""
	}
	reason, message = api.ReasonNotPlannable, err.Error()
	var known *api.Error
	if errors.As(c.refusal("the present network", err), &known) {
		reason, message = reasonOf(known.Code), known.Message
	}
	var cycle *pfc.CycleError
	if errors.As(err, &cycle) {
		reason = api.ReasonDeadlock
	}
	cs.Set(api.Accepted, false, reason, message, c.wall())
	return reason, message
}

func (c *Core) srv6Status(p *srv6Policy) api.SRv6PolicyStatus {
	s := api.SRv6PolicyStatus{Conditions: slices.Clone(p.Decided.status.Conditions), ObservedVersion: p.Version, UsedBy: c.policyUsers(p.Name)}
	present, ok := c.lossless.pfc.Present(p.Name)
	err := present.Err
	if !ok {
		err = errWaiting
	}
	reason, message := c.accept(&s.Conditions, err)
	if path := present.Path; path != nil {
		s.SegmentList = c.segments(path.Segments)
		for i := range path.Hops {
			h := &path.Hops[i]
			s.Path = append(s.Path, c.switchName(h.Node))
			if c.lossless.config.Behaviors.Capable(c.net.Snapshot, h.Node) {
				s.PFCNodes = append(s.PFCNodes, c.switchName(h.Node))
			}
		}
	}
	c.install(&s.Conditions, c.lossless.pfc.Holders(p.Name), present.Settled, "", reason, message)
	return s
}

// errWaiting: a resource of the store waits for the topology to have its
// switches.
var errWaiting = fmt.Errorf("its switches: %w", pfc.ErrNoNode)

func (c *Core) segments(list []pfc.Segment) []api.SegmentStatus {
	out := make([]api.SegmentStatus, 0, len(list))
	for _, x := range list {
		out = append(out, api.SegmentStatus{Node: c.switchName(x.Node), SID: x.SID, Behavior: c.lossless.config.Behaviors.Name(x.Behavior)})
	}
	return out
}

func (c *Core) tenantStatus(t *tenant) api.TenantStatus {
	s := api.TenantStatus{Conditions: slices.Clone(t.Decided.status.Conditions), ObservedVersion: t.Version, VRF: t.Decided.VRF, UsedBy: c.tenantUsers(t.Name)}
	var nodes []topology.NodeID
	for i := range t.Spec.Sites {
		x := &t.Spec.Sites[i]
		site := api.SiteStatus{Switch: x.Switch, Port: x.Port, Prefixes: c.sitePrefixes(x)}
		if n := c.net.Node(x.Switch); n != nil {
			nodes = append(nodes, n.ID)
			site.SID, _ = c.net.ServiceSID(n, t.Decided.VRF) // invalid when there can be none, which err says
		}
		s.Sites = append(s.Sites, site)
	}
	err := t.Decided.err
	if !t.Decided.put && err == nil {
		err = errWaiting
	}
	reason, message := c.accept(&s.Conditions, err)
	c.install(&s.Conditions, nodes, t.Decided.put, "", reason, message)
	return s
}

// pfcStatus leaves out Nodes and Tunnels, which change all the time: see
// viewPFCPolicy.
func (c *Core) pfcStatus(r *pfcPolicy) api.PFCPolicyStatus {
	core := c.lossless.pfc
	s := api.PFCPolicyStatus{Conditions: slices.Clone(r.Decided.status.Conditions), ObservedVersion: r.Version}
	present, _ := core.Present(r.Spec.SRv6Policy)
	err := core.RequestError(r.Name)
	if !r.Decided.put {
		err = errWaiting
	}
	reason, message := c.accept(&s.Conditions, err)
	cycle := core.Cycle(r.Name)
	for _, q := range cycle {
		s.Cycle = append(s.Cycle, c.queueName(q))
	}
	wait := ""
	if r.Spec.Scenario == 2 && !r.Decided.Learned {
		wait = api.ReasonAwaitingPacket
	}
	d := present.Deployments[r.Name]
	if reason == "" && cycle != nil {
		reason, message = api.ReasonDeadlock, c.cycleText(cycle)
	}
	if reason == "" && d != nil {
		reason, message = c.pfcTrouble(d)
	}
	c.install(&s.Conditions, core.Holders(r.Spec.SRv6Policy), present.Settled && d != nil, wait, reason, message)
	return s
}

// pfcTrouble says what is wrong with a deployment, the most serious first.
func (c *Core) pfcTrouble(d *pfc.Deployment) (reason, message string) {
	core := c.lossless.pfc
	for i := range d.Tunnels {
		if t := &d.Tunnels[i]; core.Quality(t).Down {
			return api.ReasonTunnelDown, fmt.Sprintf("probes from %s to %s are lost", c.switchName(t.From), c.switchName(t.To))
		}
	}
	for i := range d.Stages {
		for _, q := range d.Stages[i].Queues {
			if r, _, ok := core.LastReport(q); ok && r.Storm {
				return api.ReasonPFCStorm, c.queueName(q) + " was paused for too long"
			}
		}
	}
	for i := range d.Stages {
		for _, q := range d.Stages[i].Queues {
			if s, ok := core.QueueState(q); ok && s.Marks.XOFF > 0 && !s.Marks.Fits() {
				return api.ReasonHeadroom, fmt.Sprintf("%s has %d octets, and needs %d for what arrives after XOFF at %d", c.queueName(q), s.Marks.Buffer, s.Marks.Headroom, s.Marks.XOFF)
			}
		}
	}
	return "", ""
}

func (c *Core) deploymentOf(r *pfcPolicy) *pfc.Deployment {
	present, _ := c.lossless.pfc.Present(r.Spec.SRv6Policy)
	return present.Deployments[r.Name]
}

func (c *Core) pfcNodes(r *pfcPolicy) []api.PFCNode {
	d := c.deploymentOf(r)
	if d == nil {
		return nil
	}
	var out []api.PFCNode
	for i := range d.Stages {
		for _, q := range d.Stages[i].Queues {
			n := api.PFCNode{Switch: c.switchName(q.Node), Port: q.Port, Priority: q.Priority}
			if i > 0 {
				n.Upstream = c.switchName(d.Stages[i-1].Node)
			}
			if 2*i < len(d.Tunnels) {
				n.SID = d.Tunnels[2*i].SID
			}
			if s, ok := c.lossless.pfc.QueueState(q); ok {
				n.Watermarks = api.Watermarks{
					Buffer: s.Marks.Buffer, Headroom: s.Marks.Headroom, XOFF: s.Marks.XOFF, XON: s.Marks.XON,
					RTT: api.Duration(s.RTT), Rate: s.Fill, Measured: s.Measured,
				}
			}
			n.Queue = c.queueStatus(q)
			out = append(out, n)
		}
	}
	return out
}

func (c *Core) queueStatus(q pfc.Queue) *api.PFCQueue {
	r, at, ok := c.lossless.pfc.LastReport(q)
	if !ok {
		return nil
	}
	ago := func(age time.Duration) time.Time {
		if age < 0 {
			return time.Time{}
		}
		return c.start.Add(at - age).UTC()
	}
	s := &api.PFCQueue{
		Paused: r.Paused, Held: r.Held, MaxHeld: r.MaxHeld, PausesReceived: r.XOFFReceived, XOFFSent: r.XOFFSent, XONSent: r.XONSent,
		Dropped: r.Dropped, Storms: r.Storms, LastXOFF: ago(r.XOFFSentAge), LastXON: ago(r.XONSentAge), At: ago(0),
	}
	if r.Paused {
		s.PausedFor = api.Duration(r.PausedFor)
	}
	return s
}

func (c *Core) pfcTunnels(r *pfcPolicy) []api.PFCTunnel {
	d := c.deploymentOf(r)
	t := c.lossless.tenants.Get(r.Spec.Tenant)
	if d == nil || t == nil {
		return nil
	}
	var out []api.PFCTunnel
	for i := range d.Tunnels {
		x := &d.Tunnels[i]
		q := c.lossless.pfc.Quality(x)
		v := api.PFCTunnel{
			ID: c.lossless.pfc.ListNumber(x), From: c.switchName(x.From), To: c.switchName(x.To), Segments: c.segments(x.Segments), Slice: t.Spec.Slice,
			Mode: r.Spec.Tunnel, State: api.TunnelUnknown, RTT: api.Duration(q.RTT), MinRTT: api.Duration(q.Least), MaxRTT: api.Duration(q.Most),
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
