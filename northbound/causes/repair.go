package causes

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// Repairs returns the causes that need a repair or a replacement. Consequences of another cause
// need no repair of their own.
func Repairs(all []api.Cause) []api.Cause {
	out := make([]api.Cause, 0, len(all))
	for i := range all {
		if all[i].Repair != nil {
			out = append(out, all[i])
		}
	}
	return out
}

// hostsAt returns the hosts with a port at one of some switches, by name.
func (v *view) hostsAt(nodes ...topology.NodeID) []string {
	out := []string{}
	for i := range v.Hosts {
		h := &v.Hosts[i]
		if slices.ContainsFunc(h.Ports, func(p api.HostPort) bool {
			return p.Status.Leaf != "" && slices.Contains(nodes, p.Status.Leaf)
		}) {
			out = append(out, h.Name)
		}
	}
	slices.SortFunc(out, natural.Compare)
	return out
}

// repair returns the repair of a cable; nil: none, because an operator or time brings the cable
// back.
func (v *view) repair(w *wrong) *api.Repair {
	r := &api.Repair{Part: "cable"}
	var ends []topology.NodeID
	oneEnd := false // one of the two ports is down, and the other one up
	for _, l := range w.directions {
		s := &l.Status
		if ends = append(ends, s.From, s.To); r.Name == "" {
			r.Name = cableName(l)
		}
		r.Denied = r.Denied || s.Denied
		says := fmt.Sprintf("Control plane: %s → %s is %s", nameOf(s.FromName, s.From),
			nameOf(s.ToName, s.To), s.Phase)
		if s.Cause != "" {
			says += ", " + s.Cause
		}
		r.Evidence = append(r.Evidence, says+".")
		if down(l) && s.FromPort != "" && s.ToPort != "" {
			oneEnd = oneEnd || s.FromPort != s.ToPort
			r.Evidence = append(r.Evidence, fmt.Sprintf("Ports: %s at %s, %s at %s.", s.FromPort,
				nameOf(s.FromName, s.From), s.ToPort, nameOf(s.ToName, s.To)))
		}
		if t := s.Truth; t != nil && t.Counters != nil && t.Counters.Missing > 0 {
			r.Evidence = append(r.Evidence, fmt.Sprintf("Counters: %d of %d packets are missing at %s.",
				t.Counters.Missing, t.Counters.Sent, nameOf(s.ToName, s.To)))
		}
	}
	s := w.suspect
	if s == nil {
		if !slices.ContainsFunc(w.directions, down) {
			return nil
		}
		if oneEnd {
			r.Part = "optic"
		}
		r.Hosts = v.hostsAt(ends...)
		return r
	}
	from, to := nameOf(s.FromName, s.From), nameOf(s.ToName, s.To)
	if s.Host != "" {
		return v.repairAt(s)
	}
	if from == "" || to == "" {
		return nil // it is not known which of several cables
	}
	if len(w.directions) == 0 {
		r.Evidence = append(r.Evidence, "Control plane: it is up.")
	}
	if r.Name == "" {
		r.Name = from + " – " + to
	}
	if s.By == "" || s.Direction == "one" {
		r.Part, r.Name = "optic", from+" → "+to
	}
	r.Denied = r.Denied || s.Denied
	r.Evidence, r.Hosts = append(r.Evidence, lossesOf(s)...), v.hostsAt(s.From, s.To)
	return r
}

// repairAt returns the repair for the switch, or for a host's cable, that a suspect names.
func (v *view) repairAt(s *api.Suspect) *api.Repair {
	r := &api.Repair{Part: "switch", Name: nameOf(s.NodeName, s.Node), Evidence: lossesOf(s),
		Denied: s.Denied, Hosts: v.hostsAt(s.Node)}
	if s.Node == "" {
		leaf := nameOf(s.FromName, s.From)
		if s.To != "" {
			leaf = nameOf(s.ToName, s.To)
		}
		r.Part, r.Name, r.Hosts = "cable", fmt.Sprintf("%s/%d – %s", s.Host, s.HostPort, leaf),
			[]string{s.Host}
		r.Evidence = append(r.Evidence, v.errorsAt(s.Host, s.HostPort)...)
	}
	return r
}

// errorsAt returns what the counters of a port of a host say: a lossy cable shows at the end that
// receives.
func (v *view) errorsAt(host string, port uint8) (out []string) {
	for i := range v.Hosts {
		for _, p := range v.Hosts[i].Ports {
			if v.Hosts[i].Name != host || p.Port != port {
				continue
			}
			for _, e := range p.Status.Errors {
				out = append(out, fmt.Sprintf("Counters: %s of %s at %s/%d is %d.", e.Counter, e.Source, host,
					port, e.Count))
			}
			if n := v.Hosts[i].ErrorsLeftOut; n > 0 {
				out = append(out, fmt.Sprintf("Counters: %d more of %s are not listed.", n, host))
			}
		}
	}
	return out
}

// lossesOf returns what was lost.
func lossesOf(s *api.Suspect) []string {
	if s.By == "" {
		return []string{fmt.Sprintf("Packets, probes and counters: %d of %d are lost on %d paths.",
			s.Evidence.Lost, s.Evidence.Sent, s.Evidence.Paths)}
	}
	out := []string{fmt.Sprintf("Probes: %d of %d of %d hosts to themselves are lost.",
		s.Evidence.Lost, s.Evidence.Sent, s.Evidence.Paths)}
	for i, w := range s.Directions {
		from, to := s.FromName, s.ToName
		if w.From != s.From {
			from, to = to, from
		}
		out = append(out, fmt.Sprintf("Probes one way: %d of %d from %s to %s are lost.", w.Lost, w.Sent,
			nameOf(from, s.Directions[i].From), nameOf(to, s.Directions[i].To)))
	}
	return out
}
