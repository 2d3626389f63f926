package causes

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// TestRepairs: each kind of fault names the part to repair, the evidence, and the hosts and jobs
// concerned. Drained objects, objects that recover by themselves, and consequences need no repair.
func TestRepairs(t *testing.T) {
	link := func(from, to string, edit func(*api.LinkStatus)) api.Link {
		l := api.Link{ID: topology.LinkID(from + ",1~" + to + ",1"), Status: api.LinkStatus{
			From: topology.NodeID(from), FromName: from, To: topology.NodeID(to), ToName: to, Phase: "up",
			Denied: true}}
		edit(&l.Status)
		return l
	}
	counted := []api.SuspectDirection{{From: "t0", To: "t1", Sent: 50, Lost: 40},
		{From: "t1", To: "t0", Sent: 60}}
	both := []topology.LinkID{"t0,1~t1,1", "t1,1~t0,1"}
	for name, c := range map[string]struct {
		links    []api.Link
		suspects []api.Suspect
		hosts    func(*api.Host)
		part     string // ""; nothing is to be repaired
		of       string
		evidence []string
		concerns []string
	}{
		"both ports are down": {links: []api.Link{link("t0", "t1", func(s *api.LinkStatus) {
			s.Phase, s.Cause, s.FromPort, s.ToPort = "down", "port down", "down", "down"
		})}, part: "cable", of: "t0 – t1", evidence: []string{
			"Control plane: t0 → t1 is down, port down.", "Ports: down at t0, down at t1."},
			concerns: []string{"h1", "h2"}},
		"one port is down": {links: []api.Link{link("t0", "t1", func(s *api.LinkStatus) {
			s.Phase, s.Cause, s.FromPort, s.ToPort = "down", "port down", "down", "up"
		})}, part: "optic", of: "t0 – t1", evidence: []string{
			"Control plane: t0 → t1 is down, port down.", "Ports: down at t0, up at t1."},
			concerns: []string{"h1", "h2"}},
		"it is on trial": {links: []api.Link{link("t0", "t1", func(s *api.LinkStatus) {
			s.Phase, s.Cause = "trying", "was down"
		})}},
		"it was drained": {links: []api.Link{link("t0", "t1", func(s *api.LinkStatus) {
			s.Phase, s.Cause, s.Returning = "trying", "was drained", true
		})}},
		"it was drained, and lost packets before": {
			links: []api.Link{link("t0", "t1", func(s *api.LinkStatus) {
				s.Phase, s.Cause, s.Returning = "trying", "was drained", true
			})},
			suspects: []api.Suspect{{Links: both, From: "t0", To: "t1", Kind: "grey", By: "selfProbes"}}},
		"a black hole, not yet known which way": {
			links: []api.Link{link("t0", "t1", func(s *api.LinkStatus) {
				s.Phase, s.Cause = "held", "loses 1 of its packets"
				s.Truth = &api.LinkTruth{Counters: &api.LinkCounters{Sent: 90, Received: 80, Missing: 10}}
			})},
			suspects: []api.Suspect{{Links: both, From: "t0", To: "t1", FromName: "t0", ToName: "t1",
				Kind: "blackHole", By: "selfProbes", Denied: true,
				Evidence: api.SuspectEvidence{Sent: 6, Lost: 6, Paths: 2}}},
			part: "cable", of: "t0 – t1", evidence: []string{
				"Control plane: t0 → t1 is held, loses 1 of its packets.",
				"Counters: 10 of 90 packets are missing at t1.",
				"Probes: 6 of 6 of 2 hosts to themselves are lost."}, concerns: []string{"h1", "h2"}},
		"a grey link in use, one way": {
			suspects: []api.Suspect{{Links: both[:1], From: "t0", To: "t1", FromName: "t0", ToName: "t1",
				Kind: "grey", By: "selfProbes", Direction: "one", Directions: counted,
				Evidence: api.SuspectEvidence{Sent: 600, Lost: 6, Paths: 2}}},
			part: "optic", of: "t0 → t1", evidence: []string{"Control plane: it is up.",
				"Probes: 6 of 600 of 2 hosts to themselves are lost.",
				"Probes one way: 40 of 50 from t0 to t1 are lost.",
				"Probes one way: 0 of 60 from t1 to t0 are lost."}, concerns: []string{"h1", "h2"}},
		"a switch": {suspects: []api.Suspect{{Node: "t1", NodeName: "t1", Kind: "blackHole",
			By: "selfProbes", Denied: true, Evidence: api.SuspectEvidence{Sent: 9, Lost: 9, Paths: 3}}},
			part: "switch", of: "t1", evidence: []string{
				"Probes: 9 of 9 of 3 hosts to themselves are lost."}, concerns: []string{}},
		"the cable of a host": {suspects: []api.Suspect{{Host: "h2", HostPort: 1, FromName: "h2",
			To: "t0", ToName: "t0", Kind: "grey", By: "selfProbes",
			Evidence: api.SuspectEvidence{Sent: 900, Lost: 9, Paths: 1}}},
			part: "cable", of: "h2/1 – t0", evidence: []string{
				"Probes: 9 of 900 of 1 hosts to themselves are lost."}, concerns: []string{"h2"}},
		"the cable of a host, with counters": {suspects: []api.Suspect{{Host: "h2", HostPort: 1,
			FromName: "h2", To: "t0", ToName: "t0", Kind: "grey", By: "selfProbes",
			Evidence: api.SuspectEvidence{Sent: 900, Lost: 9, Paths: 1}}},
			hosts: func(h *api.Host) {
				h.ErrorsLeftOut = 7
				h.Ports[0].Status.Errors = []api.PortError{{Source: "mlx5_0/1", Counter: "symbol_error",
					Count: uint64(len(h.Name) + 40)}}
			},
			part: "cable", of: "h2/1 – t0", evidence: []string{
				"Probes: 9 of 900 of 1 hosts to themselves are lost.",
				"Counters: symbol_error of mlx5_0/1 at h2/1 is 42.",
				"Counters: 7 more of h2 are not listed."}, concerns: []string{"h2"}},
		"the port of a host": {hosts: func(h *api.Host) {
			h.Ports[0].Status.HostDown = h.Name == "h1"
		}, part: "cable", of: "h1/1 – t0", evidence: []string{"Ports: The host reports it."},
			concerns: []string{"h1"}},
		"several links": {suspects: []api.Suspect{{Links: append(both, "x,1~y,1"), From: "t0",
			To: "t1"}}},
	} {
		k := &Known{Links: c.links, Suspects: c.suspects, Fabric: &api.Fabric{},
			Dependents: func(api.Part) []api.JobDependent { return []api.JobDependent{{Name: "train"}} }}
		for _, name := range []string{"h2", "h1"} {
			h := api.Host{Name: name, Connected: true, Ports: []api.HostPort{
				{Port: 1, Status: api.HostPortStatus{Leaf: "t0", LeafName: "t0"}}}}
			if c.hosts != nil {
				c.hosts(&h)
			}
			k.Hosts = append(k.Hosts, h)
		}
		all := Find(k)
		got := Repairs(all)
		if c.part == "" {
			if len(got) > 0 || len(all) == 0 {
				t.Errorf("%s: %+v is to be repaired, of %d causes", name, got, len(all))
			}
			continue
		}
		if len(got) != 1 {
			t.Errorf("%s: %d repairs of %+v, want 1", name, len(got), all)
			continue
		}
		r := got[0].Repair
		denied := len(c.links) > 0 || c.hosts != nil && len(c.suspects) == 0 ||
			len(c.suspects) > 0 && c.suspects[0].Denied
		if r.Part != c.part || r.Name != c.of || !slices.Equal(r.Evidence, c.evidence) ||
			!slices.Equal(r.Hosts, c.concerns) || r.Denied != denied {
			t.Errorf("%s: %+v", name, r)
		}
		if got[0].Jobs == nil || !slices.Equal(got[0].Jobs.Names, []string{"train"}) {
			t.Errorf("%s: hurts %+v", name, got[0].Jobs)
		}
	}
}
