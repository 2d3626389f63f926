package mrc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// What a job depends on is read in parts, so that a denial waits for none of a large job.
const (
	nicsAtOnce  = 1024
	pathsAtOnce = 512
	linksAtOnce = 8192
)

// jobLinks keeps which links jobs depend on, which takes long to find: a fabric does not change,
// nor do the needs of a job.
type jobLinks struct {
	mu  sync.Mutex
	all map[*ready.Need]jobLinksOf
}

type jobLinksOf struct {
	fabric *fabric.Fabric
	at     string // attachments of the racks
	places []int32
}

// mostJobLinks bounds the jobs whose links are kept.
const mostJobLinks = 256

// jobReading is a reading of what a job depends on.
type jobReading struct {
	*Runner
	need *ready.Need
	out  *ready.Fabric

	fabric *fabric.Fabric
	names  map[topology.NodeID]string // of switches
	// racks and senders are by rack of the need. Only the goroutine of the core looks into them.
	racks   []*fabric.Rack
	senders [][]*sender
	at      []ev.Attachment
}

// JobFacts returns what is known of what a job depends on. The links are probed first from now on,
// for as long as they are asked about.
func (r *Runner) JobFacts(ctx context.Context, need *ready.Need) (out ready.Fabric, err error) {
	j := &jobReading{Runner: r, need: need, out: &out, names: make(map[topology.NodeID]string),
		racks: make([]*fabric.Rack, len(need.Racks)), senders: make([][]*sender, len(need.Racks)),
		at: make([]ev.Attachment, len(need.Racks))}
	known := false
	err = r.ledger.Do(ctx, func() { known = j.begin() })
	if err != nil || !known {
		return out, err
	}
	out.NICs = make([]ready.NIC, len(need.NICs))
	if err := j.parts(ctx, len(need.NICs), nicsAtOnce, j.nic); err != nil {
		return out, err
	}
	if err := j.parts(ctx, len(need.Pairs), pathsAtOnce, j.path); err != nil {
		return out, err
	}
	places := j.places()
	out.Links = make([]ready.Link, len(places))
	err = j.parts(ctx, len(places), linksAtOnce, func(i int) { j.link(i, places[i]) })
	return out, err
}

// parts has the goroutine of the core do n things, some at a time.
func (j *jobReading) parts(ctx context.Context, n, atOnce int, do func(i int)) error {
	for from := 0; from < n; from += atOnce {
		err := j.ledger.Do(ctx, func() {
			if j.core.state.Fabric() != j.fabric {
				return // another one by now: what is left is not known
			}
			for i := from; i < min(n, from+atOnce); i++ {
				do(i)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// begin reports whether there is a fabric.
func (j *jobReading) begin() bool {
	c := j.core
	j.fabric = c.state.Fabric()
	switch {
	case !c.state.Synced():
		j.out.Known = ready.Fact{Why: "the topology is not in sync"}
		return false
	case c.state.Failure() != nil:
		j.out.Known = ready.Fact{State: ready.Bad, Why: c.state.Failure().Error()}
		return false
	case j.fabric == nil:
		j.out.Known = ready.Fact{Why: "no fabric was found yet"}
		return false
	}
	j.out.Known = ready.IsGood()
	for name, n := range j.switches {
		if n != nil {
			j.names[n.ID] = name
		}
	}
	switch {
	case c.mode == ev.ModeECMP:
		j.out.Unprobed = "in mode ecmp nobody knows the paths of packets"
	case !c.prover.Active():
		j.out.Unprobed = "no host probes"
	}
	return true
}

// name returns the name of a switch.
func (j *jobReading) name(id topology.NodeID) string {
	if name, ok := j.names[id]; ok {
		return name
	}
	if name := fabric.NameOf(j.core.state.Advertised(), id); name != "" {
		return name
	}
	return string(id)
}

// nic reads a NIC.
func (j *jobReading) nic(i int) {
	out := &j.out.NICs[i]
	h := j.core.hosts.byName[j.need.NICs[i]]
	if h == nil {
		f := ready.Fact{State: ready.Bad, Why: "no switch that it is attached to is in the topology"}
		out.Stream, out.Holds = f, f
		return
	}
	k := j.need.Rack[i]
	if j.racks[k] == nil {
		j.racks[k], j.at[k] = h.Rack(), h.Rack().At()
	}
	if h.sender != nil && !slices.Contains(j.senders[k], h.sender) {
		j.senders[k] = append(j.senders[k], h.sender)
	}
	out.Stream, out.Holds = ready.IsGood(), ready.IsGood()
	if !h.Connected() {
		out.Stream = ready.Fact{State: ready.Bad, Why: "its host has no stream to the controller"}
		if known, ok := j.streams.Status(h.Name); ok {
			out.Stream.Since = known.Since.UTC()
		}
	}
	switch {
	case h.refusal != "":
		out.Holds = ready.Fact{State: ready.Bad, Why: "its host refuses what it was told: " + h.refusal}
	case !h.told:
		out.Holds = ready.Fact{Why: "its host was told nothing yet"}
	case !h.current():
		out.Holds = ready.Fact{State: ready.Bad, Why: "its host has not applied what it was told yet"}
	}
	for p, at := range h.At {
		number := uint8(p + 1)
		port := ready.Port{Number: number, Up: portFact(h, number)}
		if at != "" {
			port.Leaf = j.name(at)
		}
		out.Ports = append(out.Ports, port)
	}
}

// portFact returns whether a port of a host is up, and may be sent to.
func portFact(h *host, number uint8) ready.Fact {
	p, ok := h.Port(number)
	bad := ready.Fact{State: ready.Bad}
	switch {
	case !ok:
		return ready.Fact{Why: "its switch is not in the topology"}
	case p.LinkDown:
		bad.Why = "down, as its switch reports"
	case p.HostDown:
		bad.Why = "down, as its host reports"
	case p.Drained:
		bad.Why = "drained"
	case p.Held:
		bad.Why = "it was down, and is held for a while"
	case !h.Connected() || !h.Reports():
		return ready.Fact{Why: "its host does not report it"}
	case !p.Usable:
		bad.Why = "not usable"
	default:
		return ready.IsGood()
	}
	return bad
}

// path reads the paths of a pair of racks, one for each plane and kind of devices.
func (j *jobReading) path(i int) {
	pair := j.need.Pairs[i]
	from, to := j.racks[pair[0]], j.racks[pair[1]]
	if from == nil || to == nil {
		return // not known
	}
	for _, s := range j.senders[pair[0]] {
		p := s.profiles[to]
		for port := range min(len(from.At()), len(to.At())) {
			if from.At()[port] == "" || to.At()[port] == "" {
				continue
			}
			number := uint8(port + 1)
			out := ready.Path{Pair: int32(i), Plane: int32(j.fabric.PlaneOf(from.At()[port], number)),
				From: j.name(from.At()[port]), To: j.name(to.At()[port])}
			switch {
			case p == nil:
				out.Why = "it has no EV profile"
			case p.err != nil || p.outcome.Profile == nil:
				out.Why = "it has no EVs: " + p.outcome.Degraded
			default:
				out.Active, out.Of, out.Want = p.onPort(number)
				if out.Since = j.core.wall(p.since); p.outcome.Degraded == "" {
					out.Since = time.Time{}
				}
				if out.Of == 0 {
					out.Why = fmt.Sprintf("it has no EV by port %d", number)
				}
			}
			j.out.Paths = append(j.out.Paths, out)
		}
	}
}

// onPort returns how many EVs by a port are left, of how many, and how many a host keeps active by
// itself: a share of those of all ports.
func (p *profile) onPort(port uint8) (active, of, want int32) {
	now := p.outcome.Profile
	ports := p.built.Ports()
	if !slices.Contains(ports, port) {
		return 0, 0, 0
	}
	denied := 0
	for _, e := range now.Denied {
		if e.Port == port {
			denied++
		}
	}
	n := 0
	switch now.Mode {
	case hostapi.ModeExplicit:
		denied = 0
		for _, e := range now.EVs {
			if e.Port != port {
				continue
			}
			if n++; now.IsDenied(e) {
				denied++
			}
		}
		active = int32(n - denied)
	case hostapi.ModeGenerated:
		values := 1
		for _, f := range now.Fields {
			values *= int(f.MaxVal-f.MinVal) + 1
		}
		n = max(1, now.Count/len(ports))
		active = int32(n * max(0, values-denied) / values)
	default:
		n = max(1, now.Count/len(ports))
		active = int32(n)
	}
	share := (now.MinActive + len(ports) - 1) / len(ports)
	return active, int32(n), int32(min(max(1, share), n))
}

// places returns the places of the links that the pairs of a need cross. It is called outside of
// the goroutine of the core: a fabric does not change.
func (j *jobReading) places() []int32 {
	var at strings.Builder
	for _, a := range j.at {
		fmt.Fprintf(&at, "%q\n", a)
	}
	j.jobLinks.mu.Lock()
	known, ok := j.jobLinks.all[j.need]
	j.jobLinks.mu.Unlock()
	if ok && known.fabric == j.fabric && known.at == at.String() {
		return known.places
	}
	crossed := make([]bool, j.fabric.Len())
	for _, pair := range j.need.Pairs {
		from, to := j.at[pair[0]], j.at[pair[1]]
		for port := range from {
			set, ok := j.fabric.PathSet(from, to, uint8(port+1))
			if !ok {
				continue
			}
			for ref := range set.All() {
				for _, l := range j.fabric.PlacesOf(set, ref) {
					crossed[l] = true
				}
			}
		}
	}
	var places []int32
	for i, is := range crossed {
		if is {
			places = append(places, int32(i))
		}
	}
	j.jobLinks.mu.Lock()
	defer j.jobLinks.mu.Unlock()
	if j.jobLinks.all == nil || len(j.jobLinks.all) >= mostJobLinks {
		j.jobLinks.all = make(map[*ready.Need]jobLinksOf)
	}
	j.jobLinks.all[j.need] = jobLinksOf{j.fabric, at.String(), places}
	return places
}

// link reads one direction of a link, and has it probed.
func (j *jobReading) link(i int, place int32) {
	l := j.core.state.Links().At(place)
	out := ready.Link{ID: string(l.ID), Name: string(l.ID),
		Plane: int32(j.fabric.Clos().LinkPlane(l.ID)), From: j.name(l.Local), To: j.name(l.Remote), Use: ready.IsGood()}
	if back := j.fabric.Reverse(l.Edge); back != nil {
		out.Name = string(min(l.ID, back.ID))
	}
	if l.Denied() {
		out.Use = ready.Fact{State: ready.Bad, Since: j.core.wall(l.Since()),
			Why: l.Phase().String() + ": " + l.Cause()}
		if l.Drained() { // nobody knows since when
			out.Use.Since, out.Use.Why = time.Time{}, "drained"
		}
	}
	if at := l.Heard(); at > 0 {
		out.Probed, out.Answered = j.core.wall(at), l.Misses() == 0
	}
	j.out.Links[i] = out
	j.core.prover.Want(place)
}
