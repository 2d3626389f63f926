package simulate

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// alike returns, for each event of a sweep, the place of the first event on a part that is alike:
// itself where no earlier one is. With model flows, two switches are alike when the same links lead
// from both to the same neighbours: exchanging both leaves the network the same, and so the
// exchange gives the same run. Hosts without ranks are left out, and alike. Two links are alike
// when their ends are. A switch is like no other when an event of the scenario names the switch or
// one of its links. Nothing is alike with model packets, since every wire draws its own luck, or
// where hosts hold chosen paths.
func (s *Scenario) alike(events []Event) []int {
	as := make([]int, len(events))
	for i := range as {
		as[i] = i
	}
	if s.Model != modelFlows || !s.flows.model.EveryPath() {
		return as
	}
	kind, hosts := s.kinds(), s.flows.model.Alike()
	for _, h := range s.network.Hosts {
		kind[h.Name] = cmp.Or(hosts[h.Name], "a host without ranks")
	}
	first := map[string]int{}
	for i := range events {
		p := events[i].part
		of := make([]string, len(p.names))
		for n, name := range p.names {
			of[n] = cmp.Or(kind[name], name)
		}
		slices.Sort(of)
		verb, _, _ := events[i].verb()
		key := strings.Join(append(of, verb, p.kind, events[i].At.String()), " ")
		if at, ok := first[key]; ok {
			as[i] = at
		} else {
			first[key] = i
		}
	}
	return as
}

// kinds returns the name of the first switch that is like a switch, by name.
func (s *Scenario) kinds() map[string]string {
	type end struct {
		to          int
		rate, delay uint64
	}
	place, ends := map[string]int{}, map[string][]end{}
	for _, x := range s.network.Switches {
		place[x.Name] = len(place)
		ends[x.Name] = nil
	}
	for i := range s.Jobs {
		for _, h := range s.Jobs[i].hosts {
			if _, ok := place[h]; !ok {
				place[h] = len(place)
			}
		}
	}
	for i := range s.Events {
		if p := s.Events[i].part; p.kind == "switch" || p.kind == "link" {
			for _, name := range p.names {
				ends[name] = append(ends[name], end{to: -1 - place[name]})
			}
		}
	}
	for _, l := range s.network.Links {
		for _, d := range [][2]string{{l.A, l.B}, {l.B, l.A}} {
			_, from := ends[d[0]]
			if to, ok := place[d[1]]; from && ok {
				ends[d[0]] = append(ends[d[0]], end{to, l.Rate, uint64(l.Delay)})
			}
		}
	}
	kind, first := make(map[string]string, len(ends)), map[string]string{}
	for _, x := range s.network.Switches {
		of := ends[x.Name]
		slices.SortFunc(of, func(a, b end) int {
			return cmp.Or(a.to-b.to, cmp.Compare(a.rate, b.rate), cmp.Compare(a.delay, b.delay))
		})
		var form []byte
		for _, e := range of {
			form = binary.AppendVarint(form, int64(e.to))
			form = binary.AppendUvarint(binary.AppendUvarint(form, e.rate), e.delay)
		}
		if _, ok := first[string(form)]; !ok {
			first[string(form)] = x.Name
		}
		kind[x.Name] = first[string(form)]
	}
	return kind
}
