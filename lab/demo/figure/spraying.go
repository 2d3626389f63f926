package figure

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// changes gathers the changes of a state, as "A to B".
type changes map[string]int

// check fails unless all changes of need were seen, and no further changes but those in may.
func (c changes) check(s *sight, key string, need, may []string) {
	var lacks, strange []string
	for _, x := range need {
		if c[x] == 0 {
			lacks = append(lacks, x)
		}
	}
	for x := range c {
		if !slices.Contains(need, x) && !slices.Contains(may, x) {
			strange = append(strange, x)
		}
	}
	s.see(len(lacks) == 0, key, map[string]int(c), "these are seen: "+strings.Join(need, ", "))
	s.see(len(strange) == 0, key+"Unknown", strange, "no others are, but for "+strings.Join(may, ", "))
}

// schedule follows a queue pair through Figure 4 of OCP MRC 1.0.
func schedule(ctx context.Context, s *sight) error {
	f, err := newFabric(s, small, ev.ModeStructured)
	if err != nil {
		return err
	}
	m, err := f.world.NewMesh(lab.MeshConfig{Flows: []lab.FlowConfig{{From: "H1", To: "H2",
		Bytes: 1 << 20}}})
	if err != nil {
		return err
	}
	flow := m.Flows[0]
	uplink, err := f.world.Wire("H1", "P1-T0-1")
	if err != nil {
		return err
	}
	// The link loses the last packets, so that the host sends everything and must repeat some.
	const lost = 4
	first := packet.PSNAdd(flow.QP.Config().SQPSN, (1<<20)/flow.QP.Config().PMTU-lost)
	uplink.Lose = func(_ time.Duration, frame []byte) bool {
		p, ok := mrcPacket(frame)
		return ok && isData(&p) && !p.BTH.Retransmission && !packet.PSNBefore(p.BTH.PSN, first)
	}
	seen, now := changes{}, flow.QP.Schedule()
	look := func() {
		if next := flow.QP.Schedule(); next != now {
			seen[fmt.Sprintf("%v to %v", now, next)]++
			now = next
		}
	}
	early := 0
	f.world.AddTap(tap{sent: func(_ time.Duration, w *lab.Wire, frame []byte) {
		if p, ok := mrcPacket(frame); ok && w.From == "H1" && isData(&p) &&
			flow.QP.Schedule() == mrc.Idle {
			early++
		}
	}})
	if err := f.transfer(ctx, m, look); err != nil {
		return err
	}
	look()
	// The effect of one event shows at once: through ACTIVE to READY, and through PENDING to IDLE.
	seen.check(s, "changes", []string{"IDLE to READY", "READY to ACTIVE", "ACTIVE to READY",
		"READY to PENDING", "PENDING to READY", "PENDING to IDLE"},
		[]string{"IDLE to ACTIVE", "PENDING to ACTIVE", "ACTIVE to PENDING", "ACTIVE to IDLE"})
	s.see(early == 0, "sentWhenIdle", early, "a queue pair that is IDLE sends nothing")
	s.see(now == mrc.Idle, "last", now.String(), "it is IDLE when all is acknowledged")
	return nil
}

// states follows the EVs of a queue pair through Figure 5 of OCP MRC 1.0.
func states(ctx context.Context, s *sight) error {
	f, err := newFabric(s, lab.ClosConfig{Planes: 1, T0: 2, T1: 4, Hosts: 2}, ev.ModeStructured)
	if err != nil {
		return err
	}
	forward, wire, err := f.profile("H1", "H2")
	if err != nil {
		return err
	}
	back, _, err := f.profile("H2", "H1")
	if err != nil {
		return err
	}
	m, err := f.world.NewMesh(lab.MeshConfig{Repeat: true,
		Flows: []lab.FlowConfig{{From: "H1", To: "H2", Bytes: 1 << 20}},
		Profile: func(_ int, from, _ *lab.MRCNode) spray.Profile {
			if from.Name == "H1" {
				return forward
			}
			return back
		}})
	if err != nil {
		return err
	}
	set := m.Flows[0].Spray
	now, seen := make([]spray.State, set.Len()), changes{}
	count := map[spray.State]int{}
	look := func() {
		clear(count)
		for i := range now {
			next, err := set.State(i)
			if err != nil {
				continue
			}
			if next != now[i] {
				seen[fmt.Sprintf("%v to %v", now[i], next)]++
				now[i] = next
			}
			count[next]++
		}
	}
	look()
	s.see(count[spray.Good] == set.Len() && set.Len() == len(wire), "goodAtStart", count[spray.Good],
		"every EV is GOOD at the start")
	marks, err := f.world.Wire("P1-T0-1", "P1-T1-1")
	if err != nil {
		return err
	}
	broken, err := f.world.Wire("P1-T0-1", "P1-T1-2")
	if err != nil {
		return err
	}
	marks.Faults.Mark, broken.Faults.Loss = 0.2, 1
	if err := m.Start(); err != nil {
		return err
	}
	pump := func() { _ = m.Pump() } // an error ends the flow, and the wait with it
	step := func(what string, is func() bool) error {
		return f.until(ctx, what, func() bool { pump(); return is() }, look)
	}
	if err := step("an EV is ASSUMED_BAD", func() bool {
		return count[spray.AssumedBad] > 0
	}); err != nil {
		return err
	}
	bad := slices.Index(now, spray.AssumedBad)
	carried := func() uint64 {
		c, _ := set.Counts(bad)
		return c.Sent
	}
	at, until := carried(), f.world.Now()+time.Millisecond
	if err := step("time passes", func() bool { return f.world.Now() >= until }); err != nil {
		return err
	}
	s.see(carried() == at, "sentOnBad", carried()-at, "an EV that is ASSUMED_BAD carries no data")
	broken.Faults.Loss = 0
	if err := step("a probe finds the path good", func() bool {
		return count[spray.AssumedBad] == 0
	}); err != nil {
		return err
	}
	const denied = 0
	if err := set.Deny(denied); err != nil {
		return err
	}
	look()
	bad = denied
	at, until = carried(), f.world.Now()+time.Millisecond
	if err := step("time passes", func() bool { return f.world.Now() >= until }); err != nil {
		return err
	}
	s.see(carried() == at && now[denied] == spray.Denied, "sentOnDenied", carried()-at,
		"an EV that is DENIED carries no data, until it is allowed")
	if err := set.Allow(denied); err != nil {
		return err
	}
	look()
	seen.check(s, "changes", []string{"GOOD to SKIP", "SKIP to GOOD", "GOOD to ASSUMED_BAD",
		"ASSUMED_BAD to GOOD", "GOOD to DENIED", "DENIED to GOOD"},
		[]string{"SKIP to ASSUMED_BAD", "SKIP to DENIED", "ASSUMED_BAD to SKIP"})
	return nil
}

// threeTiers is a plane of two pods, each of two T0s and two T1s, under two T2s.
var threeTiers = lab.ClosConfig{Planes: 1, Tiers: 3, T0: 4, T1: 4, Pods: 2, T2: 2, Hosts: 8}

// structured is the network of Figure 6 of OCP MRC 1.0.
func structured(ctx context.Context, s *sight) error {
	return paths(ctx, s, ev.ModeStructured, func(p *packet.MRC) ev.Value {
		return ev.StructuredValue(p.EV())
	})
}

// segments is the network of Figure 7 of OCP MRC 1.0.
func segments(ctx context.Context, s *sight) error {
	return paths(ctx, s, ev.ModeF3216, func(p *packet.MRC) (v ev.Value) {
		container := p.Outer.Dst.As16()
		copy(v[:], container[:])
		return v
	})
}

// paths has H1 write to a host at H1's T0, a host in H1's pod and a host in the other pod, and
// compares every packet's path with the path by the packet's entropy value.
func paths(ctx context.Context, s *sight, mode ev.Mode, value func(*packet.MRC) ev.Value) error {
	f, err := newFabric(s, threeTiers, mode)
	if err != nil {
		return err
	}
	ids := map[topology.NodeID]string{}
	leaf := map[string]topology.NodeID{}
	for _, sw := range f.world.Network.Switches {
		ids[lab.NodeID(sw)] = sw.Name
		for _, h := range f.world.Network.Hosts {
			if at, _ := f.world.Network.Uplink(h.Name); at == sw.Name {
				leaf[h.Name] = lab.NodeID(sw)
			}
		}
	}
	pairs := []struct {
		to, what string
		switches int
		paths    int // upwards: as many as T1s of the pod, and T2s over each
	}{{"H2", "sameT0", 1, 1}, {"H3", "samePod", 3, 2}, {"H8", "otherPod", 5, 4}}
	for _, pair := range pairs {
		m, err := f.world.NewMesh(lab.MeshConfig{Flows: []lab.FlowConfig{{From: "H1", To: pair.to,
			Bytes: 256 << 10}}})
		if err != nil {
			return err
		}
		type key struct {
			qpn, psn uint32
			again    bool
		}
		trail, says := map[key][]string{}, map[key]ev.Value{}
		watch := &tap{arrived: func(_ time.Duration, w *lab.Wire, frame []byte) {
			p, ok := mrcPacket(frame)
			if !ok || !isData(&p) {
				return
			}
			k := key{p.BTH.DestQPN, p.BTH.PSN, p.BTH.Retransmission}
			if w.From == "H1" {
				says[k] = value(&p)
			}
			trail[k] = append(trail[k], w.To)
		}}
		f.world.AddTap(watch)
		err = f.transfer(ctx, m, nil)
		f.world.RemoveTap(watch)
		if err != nil {
			return err
		}
		found, other, long := map[string]int{}, 0, 0
		for k, taken := range trail {
			route, err := f.control.Paths.Core().Assignment().Decode(leaf["H1"], leaf[pair.to], says[k])
			if err != nil {
				return err
			}
			if !follows(taken, route, ids) {
				other++
			}
			if len(taken)-1 != pair.switches {
				long++
			}
			found[strings.Join(taken[:len(taken)/2], " ")]++
		}
		s.see(other == 0 && len(trail) > 0, pair.what+"Otherwise", other,
			fmt.Sprintf("all %d packets to %s take the path of their EV", len(trail), pair.to))
		s.see(long == 0, pair.what+"Longer", long,
			fmt.Sprintf("they cross %d switches", pair.switches))
		s.see(len(found) == pair.paths, pair.what+"Paths", slices.Sorted(maps.Keys(found)),
			fmt.Sprintf("they are spread over all paths up, %d", pair.paths))
	}
	return nil
}

// follows reports whether a packet from a T0 to a host took a route. Downwards a route of
// structured EVs may leave the link to a switch.
func follows(taken []string, route *ev.Route, ids map[topology.NodeID]string) bool {
	if len(taken) != len(route.Hops)+2 || taken[0] != ids[route.Source] {
		return false
	}
	for i, hop := range route.Hops {
		if !slices.ContainsFunc(hop.Links, func(l *topology.Link) bool {
			return ids[l.Local] == taken[i] && ids[l.Remote] == taken[i+1]
		}) {
			return false
		}
	}
	return true
}

// ports is the NIC of Figure 8 of OCP MRC 1.0: four ports, one in each of four planes.
func ports(ctx context.Context, s *sight) error {
	const planes = 4
	f, err := newFabric(s, lab.ClosConfig{Planes: planes, T0: 2, T1: 2, Hosts: 2}, ev.ModeStructured)
	if err != nil {
		return err
	}
	node, err := f.world.MRCHost("H1")
	if err != nil {
		return err
	}
	m, err := f.world.NewMesh(lab.MeshConfig{Flows: []lab.FlowConfig{{From: "H1", To: "H2",
		Bytes: 4 << 20}}})
	if err != nil {
		return err
	}
	type value struct {
		ev   packet.EV
		port int
	}
	profile, _, err := f.profile("H1", "H2")
	if err != nil {
		return err
	}
	sent, known := map[int]int{}, map[value]bool{}
	for _, v := range profile.EVs {
		known[value{v.Value, v.Port}] = true
	}
	strange, foreign := 0, 0
	f.world.AddTap(tap{sent: func(_ time.Duration, w *lab.Wire, frame []byte) {
		p, ok := mrcPacket(frame)
		if w.From != "H1" || !ok || !isData(&p) {
			return
		}
		port := int(w.FromPort)
		sent[port]++
		if p.Ethernet.Src != node.Config().Ports[port-1].MAC || p.IPv6.Src != node.Config().Addr {
			strange++
		}
		if !known[value{p.EV(), port}] {
			foreign++
		}
	}})
	if err := f.transfer(ctx, m, nil); err != nil {
		return err
	}
	least, most := 1<<30, 0
	for port := 1; port <= planes; port++ {
		least, most = min(least, sent[port]), max(most, sent[port])
	}
	s.see(len(sent) == planes && most <= least*11/10, "packetsByPort", sent,
		"one queue pair is sprayed over all ports, evenly within 10 %")
	s.see(strange == 0, "strangeSources", strange,
		"packets have the MAC address of their port, and one address of the host on all ports")
	s.see(foreign == 0, "foreignEvs", foreign, "each packet leaves by the plane of its EV")
	return nil
}

// probe sends an EV probe over every EV by which a host reaches another, and waits for all results.
func (f *fabric) probe(
	ctx context.Context, from, to string, took func(r hostapi.ProbeResult, v ev.Value, port int),
) error {
	p, err := f.serving(from, to)
	if err != nil {
		return err
	}
	made, wire, err := f.profile(from, to)
	if err != nil {
		return err
	}
	node, err := f.world.MRCHost(from)
	if err != nil {
		return err
	}
	left := len(wire)
	for i, v := range wire {
		request := &hostapi.Probe{ID: uint32(i + 1), Destination: f.address(to), Format: p.Format,
			EV:   hostapi.EV{Value: v, Port: uint8(made.EVs[i].Port)},
			DSCP: packet.DefaultDSCPClasses().Control, Count: 1, Timeout: time.Millisecond}
		node.Probe(f.world.Now(), request, func(r hostapi.ProbeResult) {
			took(r, v, made.EVs[i].Port)
			left--
		})
	}
	node.Wake()
	return f.until(ctx, "all probes are over", func() bool { return left == 0 }, nil)
}

// evProbes asks which paths work, before a link fails and after (OCP MRC 1.0, 7.4.7).
func evProbes(ctx context.Context, s *sight) error {
	f, err := newFabric(s, lab.ClosConfig{Planes: 2, T0: 2, T1: 2, Hosts: 2}, ev.ModeStructured)
	if err != nil {
		return err
	}
	ids := map[string]topology.NodeID{}
	for _, sw := range f.world.Network.Switches {
		ids[sw.Name] = lab.NodeID(sw)
	}
	answered, all, least := 0, 0, time.Hour
	err = f.probe(ctx, "H1", "H2", func(r hostapi.ProbeResult, _ ev.Value, _ int) {
		all++
		answered += r.Received
		least = min(least, r.RTTMin)
	})
	if err != nil {
		return err
	}
	s.see(answered == all && all > 0, "answered", answered,
		fmt.Sprintf("all %d EVs are answered", all))
	s.see(least > 0 && least < time.Millisecond, "leastRttUs", least.Microseconds(),
		"each with the round trip of its path")
	// No switch sees that the link loses what goes up. Responses come down, by whatever path.
	broken, err := f.world.Wire("P1-T0-1", "P1-T1-2")
	if err != nil {
		return err
	}
	broken.Faults.Loss = 1
	assigned := f.control.Paths.Core().Assignment()
	wrong, silent := 0, 0
	err = f.probe(ctx, "H1", "H2", func(r hostapi.ProbeResult, v ev.Value, port int) {
		crosses := false
		if route, err := assigned.Decode(ids["P1-T0-1"], ids["P1-T0-2"], v); err == nil && port == 1 {
			for _, hop := range route.Hops {
				crosses = crosses || hop.Links[0].Remote == ids["P1-T1-2"]
			}
		}
		if r.Received == 0 {
			silent++
		}
		if crosses == (r.Received == 1) {
			wrong++
		}
	})
	if err != nil {
		return err
	}
	s.see(silent > 0 && silent < all, "silent", silent,
		"when a link up in plane 1 loses everything, some EVs are not answered")
	s.see(wrong == 0, "wrong", wrong, "they are those whose path has the link, and no others")
	return nil
}
