package causes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// cable names a link by the first of its two directions.
func cable(id topology.LinkID) topology.LinkID {
	from, to, ok := strings.Cut(string(id), "~")
	if !ok {
		return id
	}
	if back := topology.LinkID(to + "~" + from); natural.Compare(back, id) < 0 {
		return back
	}
	return id
}

// cableName names a link by its ends, in the order of the first direction.
func cableName(l *api.Link) string {
	ends := []string{nameOf(l.Status.FromName, l.Status.From), nameOf(l.Status.ToName, l.Status.To)}
	if cable(l.ID) != l.ID {
		slices.Reverse(ends)
	}
	return strings.Join(ends, " – ")
}

func nameOf(name string, node topology.NodeID) string { return cmp.Or(name, string(node)) }

// down reports whether a direction of a link is known to be down.
func down(l *api.Link) bool {
	return l.Status.Phase == "down" || l.Status.FromPort == "down" || l.Status.ToPort == "down"
}

// failed reports whether a direction of a link carries nothing because of a fault.
func failed(l *api.Link) bool { return l.Status.Phase != "up" || down(l) }

// drainFindings returns a finding for each part that operators have taken out of use, with the
// hosts that still use the part.
func (v *view) drainFindings() (out []finding) {
	add := func(
		at []api.Part, id, what, object string, since time.Time, drains []api.Drain, target string,
	) {
		f := finding{at: at, by: object, Finding: api.Finding{
			ID: id, Kind: "drain", Object: object, Severity: api.SeverityWork, Since: since,
			What: what + " is drained", Detail: "Nobody uses it any more.",
			Means: "It carries no new packets: traffic takes what is left.",
			Todo:  "Undrain it when the work on it is done.",
		}}
		for _, d := range drains {
			if (target == "" || d.Target == target) && !d.Drained {
				f.Detail = fmt.Sprintf("It waits for %s.", cmp.Or(named(d.Awaits), "what is on its way"))
			}
		}
		out = append(out, f)
	}
	for i := range v.Planes {
		if p := &v.Planes[i]; p.Spec.Admin == api.AdminDrained {
			name := strconv.Itoa(p.Plane)
			add(onPart(api.PartPlane, name), "plane/"+name, "Plane "+name, "planes/"+name, p.Changed,
				p.Status.Drains, "plane "+name)
		}
	}
	for i := range v.Nodes {
		if n := &v.Nodes[i]; n.Spec.Admin == api.AdminDrained {
			name := nameOf(n.Status.Name, n.ID)
			add(onPart(api.PartSwitch, name), "node/"+string(n.ID), "Switch "+name,
				"nodes/"+string(n.ID), n.Changed, n.Status.Drains, "node "+string(n.ID))
		}
	}
	taken := make(map[topology.LinkID]bool)
	for i := range v.Links {
		if l := &v.Links[i]; l.Spec.Admin == api.AdminDrained {
			taken[l.ID] = true
		}
	}
	for i := range v.Links {
		l := &v.Links[i]
		if c := cable(l.ID); taken[l.ID] && (c == l.ID || !taken[c]) {
			add(onPart(api.PartLink, string(c)), "drain/"+string(c), "Link "+cableName(l),
				"links/"+string(l.ID), l.Changed, l.Status.Drains, "link "+string(l.ID))
		}
	}
	for i := range v.Hosts {
		h := &v.Hosts[i]
		for j := range h.Ports {
			if p := &h.Ports[j]; p.Spec.Admin == api.AdminDrained {
				at := fmt.Sprintf("%s/%d", h.Name, p.Port)
				add(onPart(api.PartHost, h.Name), "port/"+at,
					fmt.Sprintf("Port %d of host %s", p.Port, h.Name),
					fmt.Sprintf("hosts/%s/ports/%d", h.Name, p.Port), p.Changed,
					p.Status.Drains[:min(1, len(p.Status.Drains))], "")
			}
		}
	}
	return out
}

// wrong describes the fault of a cable: its directions that carry nothing, and the accusation that
// it loses packets.
type wrong struct {
	id         topology.LinkID
	directions []*api.Link
	suspect    *api.Suspect
}

// leaf returns the leaf of the accusation that some host of a leaf loses packets; "": the
// accusation names a host or a link, or there is none. Packets that a failed link of the leaf loses
// look the same.
func (w *wrong) leaf() topology.NodeID {
	s := w.suspect
	if s == nil || s.Host != "" || s.From != "" && s.To != "" {
		return ""
	}
	return cmp.Or(s.From, s.To)
}

// failedAt reports whether the cable has failed, and ends at a node.
func (w *wrong) failedAt(node topology.NodeID) bool {
	return slices.ContainsFunc(w.directions, func(l *api.Link) bool {
		return failed(l) && (l.Status.From == node || l.Status.To == node)
	})
}

// linkFindings returns a finding for each cable with reduced capacity. Packet loss, a port down and
// denied EVs of a cable share one finding, so the finding stays the same while reports about the
// cable come in.
func (v *view) linkFindings() (out []finding) {
	var all []*wrong
	byID := make(map[topology.LinkID]*wrong)
	at := func(id topology.LinkID) *wrong {
		c := cable(id)
		w := byID[c]
		if w == nil {
			w = &wrong{id: c}
			byID[c], all = w, append(all, w)
		}
		return w
	}
	for i := range v.Links {
		if l := &v.Links[i]; failed(l) || l.Status.Denied && !l.Status.Drained {
			w := at(l.ID)
			w.directions = append(w.directions, l)
		}
	}
	for i := range v.Suspects {
		if s := &v.Suspects[i]; ofLink(s) {
			if w := at(s.Links[0]); w.suspect == nil {
				w.suspect = s
			}
		}
	}
	planes, nodes := make(map[int]bool), make(map[topology.NodeID]bool)
	for i := range v.Planes {
		planes[v.Planes[i].Plane] = v.Planes[i].Spec.Admin == api.AdminDrained
	}
	for i := range v.Nodes {
		nodes[v.Nodes[i].ID] = v.Nodes[i].Spec.Admin == api.AdminDrained
	}
	found, suspects := make(map[string]bool), v.suspectNodes()
	for _, w := range all {
		f := finding{because: v.aboveLink(w, planes, nodes), at: onPart(api.PartLink, string(w.id))}
		if l := w.first(); l != nil {
			for _, end := range []topology.NodeID{l.Status.From, l.Status.To} {
				if id := suspects[end]; id != "" {
					f.because = append(f.because, id)
				}
			}
		}
		if s := w.suspect; s != nil && s.Host != "" {
			f.at = onPart(api.PartHost, s.Host)
		}
		var ok bool
		if f.Finding, ok = accuse(w); !ok {
			f.Finding = describe(w)
		}
		if f.Severity != api.SeverityWork {
			f.Repair = v.repair(w)
		}
		if leaf := w.leaf(); leaf != "" {
			f.Object, f.at = "nodes/"+string(leaf), nil
			for _, o := range all {
				if o.failedAt(leaf) {
					f.because = append(f.because, "link/"+string(o.id))
				}
			}
		}
		f.ID, f.Kind, found["link/"+string(w.id)] = "link/"+string(w.id), "link", true
		out = append(out, f)
	}
	out = v.lanes(out)
	for i := range v.Suspects {
		s := &v.Suspects[i]
		if ofLink(s) {
			continue
		}
		if f, ok := selfProbed(s); ok {
			f.Repair = v.repairAt(s)
			out = append(out, f)
			continue
		}
		name := strings.TrimSpace(fmt.Sprintf("One of several links %s → %s",
			nameOf(s.FromName, s.From), nameOf(s.ToName, s.To)))
		f := finding{Finding: accusation(s, name)}
		f.ID, f.Kind = "suspect/", "link"
		for j, l := range s.Links {
			f.at = append(f.at, onPart(api.PartLink, string(l))...)
			if j == 0 {
				f.ID += string(cable(l))
			}
			if id := "link/" + string(cable(l)); found[id] {
				f.because = append(f.because, id)
			}
		}
		out = append(out, f)
	}
	return out
}

// ofLink reports whether a suspect is one link, in a direction or in both.
func ofLink(s *api.Suspect) bool {
	return len(s.Links) == 1 || s.By != "" && s.Node == "" && s.Host == ""
}

// selfProbed returns the finding about a switch, or the cable of a host, that loses the probes of
// hosts to themselves; ok is false for any other suspect.
func selfProbed(s *api.Suspect) (f finding, ok bool) {
	switch {
	case s.By == "":
		return f, false
	case s.Node != "":
		f = finding{Finding: accusation(s, "Switch "+nameOf(s.NodeName, s.Node))}
		f.ID, f.Object = "suspect/"+string(s.Node), "nodes/"+string(s.Node)
		f.at = onPart(api.PartSwitch, cmp.Or(s.NodeName, string(s.Node)))
	default:
		f = finding{Finding: accusation(s, fmt.Sprintf("Link between host %s and %s", s.Host,
			cmp.Or(nameOf(s.ToName, s.To), "its leaf")))}
		f.ID, f.Object = fmt.Sprintf("suspect/%s/%d", s.Host, s.HostPort), "hosts/"+s.Host
		f.at = onPart(api.PartHost, s.Host)
	}
	f.Kind = "link"
	return f, true
}

// suspectNodes are the switches that lose the probes of hosts to themselves, with their findings.
func (v *view) suspectNodes() map[topology.NodeID]string {
	out := make(map[topology.NodeID]string)
	for i := range v.Suspects {
		if s := &v.Suspects[i]; s.By != "" && s.Node != "" {
			out[s.Node] = "suspect/" + string(s.Node)
		}
	}
	return out
}

// aboveLink returns the findings that explain the fault of a cable.
func (v *view) aboveLink(
	w *wrong, planes map[int]bool, nodes map[topology.NodeID]bool,
) (because []string) {
	if l := w.first(); l != nil {
		for _, end := range []topology.NodeID{l.Status.From, l.Status.To} {
			if name := v.lostNodes[end]; name != "" {
				because = append(because, "switch/"+name)
			}
			if nodes[end] {
				because = append(because, "node/"+string(end))
			}
			because = v.add(because, "node/"+string(end))
		}
		for _, name := range []string{l.Status.FromName, l.Status.ToName} {
			because = v.add(because, "node/"+name)
		}
		if planes[l.Status.Plane] {
			because = append(because, fmt.Sprintf("plane/%d", l.Status.Plane))
		}
		because = v.add(because, fmt.Sprintf("plane/%d", l.Status.Plane))
		because = v.add(because, "link/"+string(w.id))
		if slices.ContainsFunc(w.directions,
			func(x *api.Link) bool { return x.Spec.Admin == api.AdminDrained }) {
			because = append(because, "drain/"+string(w.id))
		}
	}
	if s := w.suspect; s != nil && s.Host != "" {
		because = append(because, fmt.Sprintf("hostport/%s/%d", s.Host, s.HostPort))
	}
	return because
}

// first returns the direction that names the cable, or else the opposite direction; nil: both
// directions work.
func (w *wrong) first() *api.Link {
	for _, l := range w.directions {
		if l.ID == w.id {
			return l
		}
	}
	if len(w.directions) > 0 {
		return w.directions[0]
	}
	return nil
}

// describe returns the words for a cable with a direction that is down, held, probed or denied.
func describe(w *wrong) api.Finding {
	l := w.first()
	name, s := cableName(l), &l.Status
	f := api.Finding{
		Object: "links/" + string(l.ID), Severity: api.SeverityFault,
		What:  fmt.Sprintf("Link %s has failed", name),
		Means: "What crossed it takes other paths, where there are any.",
	}
	if !slices.ContainsFunc(w.directions, func(x *api.Link) bool { return !x.Status.Denied }) {
		f.Means = "Hosts do not use it: their traffic takes other paths."
	}
	anyFailed, returning := false, true
	var dead *api.Link
	for _, x := range w.directions {
		if since := x.Status.Since; f.Since.IsZero() || !since.IsZero() && since.Before(f.Since) {
			f.Since = since
		}
		anyFailed, returning = anyFailed || failed(x), returning && (x.Status.Returning || !failed(x))
		if dead == nil && down(x) {
			dead = x
		}
	}
	switch {
	case !anyFailed:
		f.Severity, f.What = api.SeverityWarning, fmt.Sprintf("EVs over link %s are denied", name)
		f.Detail, f.Todo = sentence(s.Cause), "See the reason. Undrain it, or mend it."
	case dead != nil:
		f.Detail = downAt(&dead.Status)
		f.Todo = "See that nobody has disabled a port of it; then its cable and transceivers, at both " +
			"ends."
	case returning:
		f.Severity, f.What = api.SeverityWork, fmt.Sprintf("Link %s is probed before it is used", name)
		f.Detail = "It was drained, or is new, and has not failed."
		f.Todo = "Wait: it is used by itself when a probe has come through."
	default:
		f.Detail = "It is up again, and is being probed."
		if s.Phase == "held" {
			f.Detail = "It is up again, and has to stay so for a while."
		}
		f.Todo = "Wait: it is used again by itself. If it fails again, change its cable."
	}
	return f
}

// downAt writes which ports of a link are down.
func downAt(s *api.LinkStatus) string {
	var ports []string
	if s.FromPort == "down" {
		ports = append(ports, nameOf(s.FromName, s.From))
	}
	if s.ToPort == "down" {
		ports = append(ports, nameOf(s.ToName, s.To))
	}
	switch len(ports) {
	case 0:
		return cmp.Or(sentence(s.Cause), "It is down.")
	case 1:
		return fmt.Sprintf("The port at %s is down.", ports[0])
	}
	return fmt.Sprintf("The ports at %s are down.", strings.Join(ports, " and "))
}

// accuse returns the finding for a cable that loses packets; ok is false if another reason for the
// loss is known.
func accuse(w *wrong) (f api.Finding, ok bool) {
	s := w.suspect
	if s == nil {
		return f, false
	}
	for _, l := range w.directions {
		if l.Status.FromPort == "down" || l.Status.ToPort == "down" ||
			failed(l) && !strings.HasPrefix(l.Status.Cause, "loses ") {
			return f, false
		}
	}
	name := fmt.Sprintf("Link %s → %s", cmp.Or(nameOf(s.FromName, s.From), "?"),
		cmp.Or(nameOf(s.ToName, s.To), "?"))
	if s.Host != "" {
		name = fmt.Sprintf("Link between host %s and %s", s.Host,
			cmp.Or(s.FromName, s.ToName, "its leaf"))
	}
	return accusation(s, name), true
}

func accusation(s *api.Suspect, name string) api.Finding {
	f := api.Finding{
		Severity: api.SeverityWarning, Since: s.Since,
		What: name + " loses packets",
		Detail: fmt.Sprintf("It loses %s %% of its packets, with a confidence of %d %%.",
			twoDigits(s.Loss*100), int(math.Floor(s.Confidence*100))),
		Means: "Packets over it are lost and sent again: what crosses it is slower.",
		Todo:  "Drain it, then clean or change its cable and transceivers.",
	}
	if s.By != "" {
		f.Detail = fmt.Sprintf("%d of %d probes of %d hosts to themselves are lost.", s.Evidence.Lost,
			s.Evidence.Sent, s.Evidence.Paths)
		switch s.Direction {
		case "one":
			f.Detail += fmt.Sprintf(" It loses packets from %s to %s alone.",
				nameOf(s.FromName, s.From), nameOf(s.ToName, s.To))
		case "both":
			f.Detail += " It loses packets both ways."
		}
	}
	if s.Kind == "blackHole" {
		f.What = name + " forwards nothing, with its ports up"
		f.Means = "Packets over it are lost until hosts find other paths."
		f.Todo = "Drain it, then look at the entries of its switches, and restart or replace what " +
			"is at fault."
	}
	if len(s.Links) > 0 {
		f.Object = "links/" + string(s.Links[0])
	}
	switch {
	case s.Denied:
		f.Severity, f.Means = api.SeverityFault, "Hosts do not use it: their traffic takes other paths."
	case s.Why != "":
		f.Detail += fmt.Sprintf(" It is in use still: %s.", s.Why)
	}
	return f
}

// twoDigits writes a number with two significant digits.
func twoDigits(x float64) string {
	if x == 0 {
		return "0"
	}
	after := max(0, 1-int(math.Floor(math.Log10(math.Abs(x)))))
	return strconv.FormatFloat(x, 'f', after, 64)
}

// balanceFindings are leaves that use their links into a plane unevenly: the first sign of much
// that goes wrong there.
func (v *view) balanceFindings() (out []finding) {
	for i := range v.Balance {
		b := &v.Balance[i]
		c := b.Conditions.Find(api.Unbalanced)
		if c == nil || !c.Status {
			continue
		}
		f := api.Finding{
			ID: fmt.Sprintf("balance/%d/%s", b.Plane, b.Leaf), Kind: "link",
			Object: fmt.Sprintf("planes/%d", b.Plane), Severity: api.SeverityWarning,
			Since: c.LastTransition, Detail: c.Message,
			What:  fmt.Sprintf("%s uses its links into plane %d unevenly", b.Leaf, b.Plane),
			Means: "The busiest link is full before the others are: what crosses it is slower.",
			Todo: "See whether one flow is much larger than the others, or hosts there hold few " +
				"EVs.",
		}
		if f.Detail == "" {
			f.Detail = fmt.Sprintf("The busiest, to %s, carries %.2f of the mean.", cmp.Or(b.Busiest, "?"),
				b.Index)
		}
		out = append(out, finding{Finding: f, at: onPart(api.PartSwitch, b.Leaf)})
	}
	return out
}
