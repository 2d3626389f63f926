package causes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// below holds the network faults that can affect services, by the affected switches.
type below struct {
	faults []fault
	at     map[string][]int // by switch, name or node: places in faults
	names  map[string]string
	// programming are the findings of switches that refuse updates, or are being programmed.
	programming []string
	leaves      map[string][]string // of hosts, by address
}

type fault struct {
	id   string
	work bool // it is what an operator has taken out of use
}

func newBelow(v *view) below {
	b := below{at: make(map[string][]int), names: make(map[string]string),
		programming: []string{"programming"}, leaves: make(map[string][]string)}
	add := func(id string, work bool, ends ...string) {
		for _, end := range ends {
			if end != "" {
				b.at[end] = append(b.at[end], len(b.faults))
			}
		}
		b.faults = append(b.faults, fault{id, work})
	}
	for node, name := range v.lostNodes {
		b.names[string(node)] = name
	}
	for i := range v.Switches {
		s := &v.Switches[i]
		if v.lostNames[s.Name] {
			add("switch/"+s.Name, false, s.Name)
		}
		if s.Managed && (!s.Connected || len(s.Errors) > 0) {
			b.programming = append(b.programming, "switch/"+s.Name)
		}
	}
	links := make(map[string]*api.Link, 2*len(v.Links))
	for i := range v.Links {
		l := &v.Links[i]
		links["links/"+string(l.ID)] = l
	}
	nodes := make(map[string]*api.Node, len(v.Nodes))
	for i := range v.Nodes {
		nodes["nodes/"+string(v.Nodes[i].ID)] = &v.Nodes[i]
	}
	for _, f := range slices.Concat(v.links, v.drains) {
		work := f.Severity == api.SeverityWork
		family, _, _ := strings.Cut(f.ID, "/")
		switch n, l := nodes[f.Object], links[f.Object]; {
		case family == "node" && n != nil:
			add(f.ID, work, string(n.ID), n.Status.Name)
		case (family == "link" || family == "drain") && l != nil:
			s := &l.Status
			add(f.ID, work, string(s.From), string(s.To), s.FromName, s.ToName)
		case family == "link" || family == "plane":
			add(f.ID, work)
		}
	}
	for i := range v.Maintenances {
		if m := &v.Maintenances[i]; ongoing(m) {
			add("maintenance/"+m.Name, true)
		}
	}
	for address, at := range v.Attached {
		b.leaves[address] = []string{at.Switch}
	}
	for i := range v.Hosts {
		h := &v.Hosts[i]
		var leaves []string
		for j := range h.Ports {
			leaves = append(leaves, string(h.Ports[j].Status.Leaf), h.Ports[j].Status.LeafName)
		}
		b.leaves[h.Address.String()] = leaves
	}
	return b
}

// all returns the faults that explain a symptom without a closer explanation; drains count if there
// is no fault.
func (b *below) all() []string {
	places := make([]int, len(b.faults))
	for i := range places {
		places[i] = i
	}
	return b.chosen(places)
}

func (b *below) chosen(places []int) (out []string) {
	for _, work := range []bool{false, true} {
		for _, i := range places {
			if b.faults[i].work == work {
				out = append(out, b.faults[i].id)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// touching returns the faults at some switches. If these switches have no faults, touching returns
// anywhere: a fault elsewhere on the path.
func (b *below) touching(switches []string) []string {
	var places []int
	seen := make(map[int]bool)
	add := func(name string) {
		for _, i := range b.at[name] {
			if !seen[i] {
				seen[i] = true
				places = append(places, i)
			}
		}
	}
	for _, name := range switches {
		add(name)
		if of := b.names[name]; of != "" {
			add(of)
		}
	}
	if len(places) == 0 {
		return []string{anywhere}
	}
	slices.Sort(places)
	return b.chosen(places)
}

func (v *view) fabricFindings() []finding {
	if v.Fabric == nil || v.Fabric.Failure == "" {
		return nil
	}
	return []finding{{Finding: api.Finding{
		ID: "fabric", Kind: "fabric", Object: "fabric", Severity: api.SeverityFault,
		What: "There is no MRC fabric of the present topology", Detail: sentence(v.Fabric.Failure),
		Means: "Hosts keep the EVs that they hold, and get no new ones.",
		Todo:  "Compare the topology with the section mrc of the configuration.",
	}}}
}

// lostLeaf returns the finding of the leaf switch at a host's port if the leaf switch is lost.
func (v *view) lostLeaf(p *api.HostPort) []string {
	if name := v.lostNodes[p.Status.Leaf]; name != "" {
		return []string{"switch/" + name}
	}
	if v.lostNames[p.Status.LeafName] {
		return []string{"switch/" + p.Status.LeafName}
	}
	return nil
}

// hostFindings returns findings for host ports that are down, hosts without a stream, and refusals
// by hosts.
func (v *view) hostFindings() (out []finding) {
	for i := range v.Hosts {
		h := &v.Hosts[i]
		var leaves []string
		allLost := true
		for j := range h.Ports {
			p := &h.Ports[j]
			lost := v.lostLeaf(p)
			leaves, allLost = append(leaves, lost...), allLost && len(lost) > 0
			if p.Status.LinkDown || p.Status.HostDown {
				lost = v.add(lost, fmt.Sprintf("port/%s/%d", h.Name, p.Port))
				out = append(out, portDown(h, p, lost))
			}
		}
		if v.Fabric == nil {
			continue // without an MRC fabric hosts have no stream
		}
		f := api.Finding{Kind: "host", Object: "hosts/" + h.Name, Severity: api.SeverityFault,
			Since: h.Since}
		if !h.Connected {
			lost := f
			lost.ID, lost.What = "host/"+h.Name, fmt.Sprintf("Host %s is not connected", h.Name)
			lost.Detail = cmp.Or(sentence(h.Error), "It has no stream to the controller.")
			lost.Means = "It goes on with the EVs that it holds, and does not hear of links that fail."
			lost.Todo = fmt.Sprintf("See that %s and its Weft agent run, and that the agent reaches the "+
				"controller.", h.Name)
			x := finding{Finding: lost, at: onPart(api.PartHost, h.Name)}
			if allLost {
				x.because = leaves
			}
			out = append(out, x)
		}
		if len(h.Refusals) > 0 {
			f.ID, f.What = "refusal/"+h.Name, fmt.Sprintf("Host %s refuses its configuration", h.Name)
			f.Detail = h.Refusals[0].Field + ": " + h.Refusals[0].Reason
			f.Means = "It goes on with what it held before."
			f.Todo = "See the reason: the device may hold fewer EVs or profiles than it is to."
			out = append(out, finding{Finding: f, at: onPart(api.PartHost, h.Name)})
		}
	}
	return out
}

func portDown(h *api.Host, p *api.HostPort, because []string) finding {
	f := api.Finding{
		ID: fmt.Sprintf("hostport/%s/%d", h.Name, p.Port), Kind: "host port",
		Object: fmt.Sprintf("hosts/%s/ports/%d", h.Name, p.Port), Severity: api.SeverityFault,
		What:   fmt.Sprintf("Port %d of host %s is down", p.Port, h.Name),
		Detail: "The host reports it.",
		Means:  fmt.Sprintf("Peers send to the other ports of %s, if there are any.", h.Name),
		Todo: "See that nobody has disabled the port; then its cable and transceivers, at both " +
			"ends.",
	}
	if !p.Status.HostDown {
		f.Detail = fmt.Sprintf("Switch %s reports it.", nameOf(p.Status.LeafName, p.Status.Leaf))
	}
	f.Repair = &api.Repair{Part: "cable", Evidence: []string{"Ports: " + f.Detail}, Denied: true,
		Name:  fmt.Sprintf("%s/%d – %s", h.Name, p.Port, nameOf(p.Status.LeafName, p.Status.Leaf)),
		Hosts: []string{h.Name}}
	return finding{Finding: f, because: because, at: onPart(api.PartHost, h.Name)}
}

func (v *view) profileFindings() (out []finding) {
	for i := range v.Profiles {
		p := &v.Profiles[i]
		c := p.Status.Conditions.Find(api.Degraded)
		if c == nil || !c.Status {
			continue
		}
		var at []string
		for _, id := range p.Status.LostLinks {
			for _, end := range strings.Split(string(id), "~") {
				node, _, _ := strings.Cut(end, ",")
				at = append(at, node)
			}
		}
		if len(at) == 0 {
			for _, x := range slices.Concat(p.Status.Source, p.Status.Destination) {
				at = append(at, string(x.Leaf))
			}
		}
		f := api.Finding{
			ID: "profile/" + p.Name, Kind: "EV profile", Object: "ev-profiles/" + p.Name,
			Severity: api.SeverityWarning, Since: c.LastTransition,
			What: fmt.Sprintf("EV profile %s is degraded", p.Name),
			Detail: sentence(cmp.Or(c.Message,
				fmt.Sprintf("%d of %d EVs are active", p.Status.Active, p.Status.Count))),
			Means: "Hosts have fewer paths: what they send spreads over the others.",
			Todo:  "See which of its EVs are denied, and why.",
		}
		if p.Status.Active < p.Status.MinActive {
			f.Severity = api.SeverityFault
			f.Means = "Hosts have fewer paths than they need: what they send may be slower, or lost."
		}
		out = append(out, finding{Finding: f, because: v.below.touching(at)})
	}
	return out
}

func (v *view) groupFindings() (out []finding) {
	hosts := make(map[string]*api.Host, len(v.Hosts))
	for i := range v.Hosts {
		hosts[v.Hosts[i].Address.String()] = &v.Hosts[i]
	}
	for i := range v.Groups {
		g := &v.Groups[i]
		var at, lost []string
		if g.Status.Tree != nil {
			for _, n := range g.Status.Tree.Nodes {
				at = append(at, n.Switch)
				if v.lostNames[n.Switch] {
					lost = append(lost, "switch/"+n.Switch)
				}
			}
		}
		at = append(at, v.below.leaves[g.Spec.Source.Address.String()]...)
		for _, r := range g.Spec.Receivers {
			at = append(at, v.below.leaves[r.Address.String()]...)
		}
		also := slices.Clone(lost)
		for _, r := range g.Status.StalledReceivers {
			f := stalled(g.Name, &r, hosts[r.Address.String()], lost)
			also, out = append(also, f.ID), append(out, f)
		}
		found := v.conditions(g.Status.Conditions, api.Finding{ID: "group/" + g.Name,
			Kind: "multicast group", Object: "multicast-groups/" + g.Name}, "Group "+g.Name, at, also)
		for j := range found {
			found[j].by = v.taker(g)
		}
		out = append(out, found...)
	}
	return out
}

// taker returns the tenant that has the port of a member of a group; "": none has.
func (v *view) taker(g *api.MulticastGroup) string {
	if c := g.Status.Conditions.Find(api.Degraded); c == nil || c.Reason != api.ReasonPortTaken {
		return ""
	}
	ports := map[api.SwitchPort]bool{v.Attached[g.Spec.Source.Address.String()]: true}
	for _, r := range g.Spec.Receivers {
		ports[v.Attached[r.Address.String()]] = true
	}
	for i := range v.Tenants {
		for _, s := range v.Tenants[i].Spec.Sites {
			if ports[api.SwitchPort{Switch: s.Switch, Port: s.Port}] {
				return "tenants/" + v.Tenants[i].Name
			}
		}
	}
	return ""
}

// stalled is the finding of a receiver that holds its group up.
func stalled(group string, r *api.StalledReceiver, h *api.Host, lost []string) finding {
	name := r.Address.String()
	because := slices.Clone(lost)
	if h != nil {
		name = h.Name
		because = append(because, "host/"+h.Name)
		for i := range h.Ports {
			because = append(because, fmt.Sprintf("hostport/%s/%d", h.Name, h.Ports[i].Port))
		}
	}
	after := ""
	if r.Valid {
		after = fmt.Sprintf(" after PSN %d", r.AckPSN)
	}
	return finding{because: because, Finding: api.Finding{
		ID: fmt.Sprintf("stalled/%s/%s", group, r.Address), Kind: "multicast group",
		Object: "multicast-groups/" + group, Severity: api.SeverityFault, Since: r.Since,
		What:   fmt.Sprintf("Receiver %s stalls group %s", name, group),
		Detail: fmt.Sprintf("Branch %d of %s has acknowledged nothing%s.", r.Branch, r.Switch, after),
		Means:  "The source waits for it: no receiver of the group gets anything new.",
		Todo: "See that the receiver and its queue pair run, and that its port is up; or take it out " +
			"of the group.",
	}}
}

func (v *view) policyFindings() (out []finding) {
	for i := range v.SRv6Policies {
		p := &v.SRv6Policies[i]
		out = append(out, v.conditions(p.Status.Conditions, api.Finding{ID: "srv6/" + p.Name,
			Kind: "SRv6 policy", Object: "srv6-policies/" + p.Name}, "SRv6 policy "+p.Name,
			append([]string{p.Spec.Headend, p.Spec.Endpoint}, p.Status.Path...), nil)...)
	}
	for i := range v.Tenants {
		t := &v.Tenants[i]
		var at, also []string
		for _, s := range t.Spec.Sites {
			at = append(at, s.Switch)
		}
		for _, p := range t.Spec.Policies {
			also = append(also, "srv6/"+p)
		}
		out = append(out, v.conditions(t.Status.Conditions, api.Finding{ID: "tenant/" + t.Name,
			Kind: "tenant", Object: "tenants/" + t.Name}, "Tenant "+t.Name, at, also)...)
	}
	for i := range v.PFCPolicies {
		p := &v.PFCPolicies[i]
		var at []string
		for j := range p.Status.Nodes {
			at = append(at, p.Status.Nodes[j].Switch)
		}
		for j := range p.Status.Tunnels {
			at = append(at, p.Status.Tunnels[j].From, p.Status.Tunnels[j].To)
		}
		out = append(out, v.conditions(p.Status.Conditions, api.Finding{ID: "pfc/" + p.Name,
			Kind: "PFC policy", Object: "pfc-policies/" + p.Name}, "PFC policy "+p.Name, at,
			[]string{"srv6/" + p.Spec.SRv6Policy, "tenant/" + p.Spec.Tenant})...)
	}
	return out
}

var (
	// ofNetwork are the reasons that faults of switches and links explain.
	ofNetwork = []string{"Unreachable", "NotPlannable", "Disconnected", "TunnelDown", "NoPath"}
	// ofSwitch lists the reasons explained by a switch that refuses updates or is being programmed.
	ofSwitch = []string{"DeviceError", "Installing"}
)

// todos has what an operator does about a condition, by its reason.
var todos = map[string]string{
	"Unreachable":          "See the links and switches between its ends.",
	"NotPlannable":         "See what the network lacks for it, or change it.",
	"Disconnected":         "Bring the switches up.",
	"TunnelDown":           "See the links and switches between the ends of the tunnel.",
	"LimitExceeded":        "Take something out of it, or delete others of its kind.",
	"DeviceError":          "See the switch that refuses it, and whether one of its tables is full.",
	"Installing":           "Wait: it takes some seconds.",
	"Removing":             "Wait: it takes some seconds.",
	"ReceiverStalled":      "See that the receiver and its queue pair run, or take it out.",
	"ReceiversEvicted":     "Mend the receivers, and reset the group.",
	"NotConnected":         "Start the applications that it names, or take them out of the group.",
	"PortTaken":            "Take the port out of the tenant, or the host out of the group.",
	"QueuePairShared":      "Give one of the groups another queue pair.",
	"DeadlockRisk":         "Send one of the tenants by another path.",
	"InsufficientHeadroom": "Give the queue a larger buffer, or a lower XOFF.",
	"PFCStorm":             "See which device downstream pauses without end.",
	"AwaitingPacket":       "Nothing: it is programmed on the first packet.",
}

// conditions returns a finding for a resource that was not accepted, is degraded, or is not
// programmed: the first match counts.
func (v *view) conditions(
	all api.Conditions, f api.Finding, name string, at, also []string,
) []finding {
	accepted, programmed := all.Find(api.Accepted), all.Find(api.Programmed)
	degraded := all.Find(api.Degraded)
	var c *api.Condition
	f.Severity = api.SeverityFault
	switch {
	case accepted != nil && !accepted.Status:
		c, f.What, f.Means = accepted, name+" is not accepted", "It carries no traffic."
	case degraded != nil && degraded.Status:
		c, f.What, f.Means = degraded, name+" is degraded", "It does not carry all of its traffic."
	case programmed != nil && !programmed.Status &&
		(programmed.Reason != api.ReasonAwaitingPacket || f.Kind != "PFC policy"):
		c, f.What = programmed, name+" is not programmed"
		f.Severity, f.Means = api.SeverityWarning, "What is new of it carries no traffic yet."
	default:
		return nil
	}
	f.Detail, f.Since = sentence(cmp.Or(c.Message, words(c.Reason))), c.LastTransition
	f.Todo = cmp.Or(todos[c.Reason], "See its page for the reason.")
	because := slices.Clone(also)
	if slices.Contains(ofNetwork, c.Reason) {
		because = append(because, v.below.touching(at)...)
	}
	if slices.Contains(ofSwitch, c.Reason) {
		because = append(because, v.below.programming...)
	}
	return []finding{{Finding: f, because: because}}
}
