package truth

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/host/device"
	"github.com/weft-sdn/weft/host/selfprobe"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/topology"
)

// wire is one direction of a link: by its ends; a host's end is the host's name.
type wire struct{ from, to string }

// lossyWire is a wire that loses a share of what it carries.
type lossyWire struct {
	wire
	loss float64
}

// thin is a network in which probes of hosts are lost at random, with its controller.
type thin struct {
	virtual.Clock
	t    testing.TB
	rng  *rand.Rand
	core *mrc.Core
	// due is when the core wants to be called; pending: it wants to be.
	due     time.Duration
	pending bool
	network lab.Network
	all     *topology.Snapshot // without faults
	learn   *topology.Builder  // of what switches advertise
	wires   []*lossyWire
	at      map[wire]*lossyWire
	names   map[topology.NodeID]string
	hosts   map[string]*host
	// next is the way of a uSID of a switch.
	next map[topology.NodeID]map[uint16]topology.NodeID
	// marked is the share of probes that come back with a congestion mark.
	marked float64
	// tallied has hosts count probes many at a time; see tally.
	tallied bool
	probes  uint64
	named   []named
	// tap is called for each wire that a probe enters, and delay is how much later a host hears of
	// what the controller says.
	tap   func(wire)
	delay map[string]time.Duration
}

// named is a suspect and when it was first there.
type named struct {
	at time.Duration
	api.Suspect
}

// host probes itself.
type host struct {
	*selfprobe.Prober
	net     *thin
	name    string
	leaves  []topology.NodeID // by port
	asleep  bool
	skew    time.Duration // of its clock
	waiting []func()      // frames that came meanwhile
	alarm   time.Duration // when it is called; 0: never
	plan    *hostapi.SelfProbes
	tally   *tally // nil: packet by packet
	streams int    // so far
	trips   map[hostapi.EV][]*lossyWire

	address netip.Addr
	device  *device.Device // nil: what it is told goes nowhere
	state   *hostapi.State
}

// newThin starts a network whose hosts send so many probes a second to themselves, and waits until
// they do.
func newThin(t testing.TB, seed uint64, c lab.ClosConfig, rate int,
	edit func(*inventory.MRC)) *thin {
	t.Helper()
	n := newTallied(t, seed, c, rate, edit)
	n.tallied = false
	for _, h := range n.network.Hosts {
		n.hosts[h.Name].follow(n.hosts[h.Name].plan)
	}
	n.run(30 * time.Millisecond)
	return n
}

// newTallied is newThin with hosts that tally their probes.
func newTallied(t testing.TB, seed uint64, c lab.ClosConfig, rate int,
	edit func(*inventory.MRC)) *thin {
	t.Helper()
	c.Rate, c.Delay = 10e9, time.Microsecond
	network := lab.Clos(c)
	if err := network.Complete(); err != nil {
		t.Fatal(err)
	}
	n := &thin{t: t, rng: rand.New(rand.NewPCG(seed, 54)), network: network,
		all: network.Topology().Snapshot(), names: make(map[topology.NodeID]string),
		hosts: make(map[string]*host), next: make(map[topology.NodeID]map[uint16]topology.NodeID),
		at: make(map[wire]*lossyWire), tallied: true}
	n.learn = n.all.Builder()
	for _, l := range network.Links {
		for _, w := range [...]wire{{l.A, l.B}, {l.B, l.A}} {
			n.at[w] = &lossyWire{wire: w}
			n.wires = append(n.wires, n.at[w])
		}
	}
	inv := network.Inventory(nil)
	inv.MRC = inventory.DefaultMRC(ev.ModeF3216.String())
	inv.MRC.Probes.Self = rate
	if edit != nil {
		edit(&inv.MRC)
	}
	var err error
	if n.core, err = mrc.New(mrc.Config{MRC: inv.MRC, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	for _, s := range network.Switches {
		n.names[lab.NodeID(s)] = s.Name
	}
	n.do(func() {
		n.core.SetTopology(n.all)
		for _, h := range fabric.HostsOf(&inv, plan.Nodes(n.all, &inv)) {
			if err := n.core.PutHost(h); err != nil {
				t.Fatal(err)
			}
			n.hosts[h.Name] = &host{Prober: selfprobe.New(n.rng.Uint64()), net: n, name: h.Name,
				leaves: h.At, address: h.Address, trips: make(map[hostapi.EV][]*lossyWire)}
		}
		n.core.InSync()
	})
	for id := range n.names {
		sw, ok := n.core.Assignment().Switch(id)
		if !ok {
			t.Fatalf("%s is not in the fabric", id)
		}
		n.next[id] = make(map[uint16]topology.NodeID)
		for _, u := range sw.USIDs {
			if u.Link != nil {
				n.next[id][u.USID] = u.Link.Remote
			}
		}
	}
	n.do(func() {
		for _, h := range network.Hosts {
			n.hello(h.Name, 1)
		}
	})
	n.run(time.Second)
	if len(n.named) > 0 || n.probes == 0 {
		t.Fatalf("seed %d: %d probes of a network without faults, %+v named", seed, n.probes, n.named)
	}
	return n
}

// hello has a host begin a stream, within do.
func (n *thin) hello(name string, instance uint64) {
	h := n.hosts[name]
	h.streams++
	if err := n.core.Hello(name, &hostapi.Hello{API: hostapi.API, Name: name, Instance: instance,
		Capabilities: hostapi.Capabilities{Ports: hostapi.FirstPorts(len(h.leaves)), SelfProbes: true,
			OptAttr: hostapi.OptEVProbe}}); err != nil {
		n.t.Fatal(err)
	}
}

// restart has the agent of a host start again, with the plan that the host has.
func (n *thin) restart(h *host) {
	n.do(func() {
		_ = n.core.Gone(h.name)
		n.hello(h.name, n.rng.Uint64()|1)
	})
	h.alarm = 0
	if h.plan != nil {
		n.After(n.latency(), func() { h.follow(h.plan) })
	}
}

// latency is a way between a host and the controller.
func (n *thin) latency() time.Duration {
	return 250*time.Microsecond + time.Duration(n.rng.Int64N(int64(250*time.Microsecond)))
}

// do has something happen to the core, carries out what follows, and asks when the core is due:
// nothing else changes that.
func (n *thin) do(f func()) {
	n.core.Tick(n.Now())
	f()
	for r := n.core.Ready(); !r.Empty(); r = n.core.Ready() {
		for _, s := range r.Sets {
			n.hosts[s.Host].apply(s.State)
			n.After(n.latency(), func() { n.do(func() { _ = n.core.Applied(s.Host, s.Seq) }) })
		}
		for _, p := range r.Probes { // hosts reach each other by other ways
			n.After(n.latency(), func() {
				n.do(func() {
					_ = n.core.ProbeResult(p.Host, &hostapi.ProbeResult{ID: p.Request.ID,
						Sent: p.Request.Count, Received: p.Request.Count})
				})
			})
		}
		for _, p := range r.SelfProbes {
			n.After(n.latency()+n.delay[p.Host], func() {
				n.hosts[p.Host].follow(p.Plan)
			})
		}
		for _, e := range r.Events {
			if e.Type == api.EventSuspectChanged {
				n.look()
			}
		}
	}
	n.due, n.pending = n.core.Next()
}

// look notes what is suspected that was not before.
func (n *thin) look() {
	for _, s := range n.core.Suspects() {
		key := objectOf(&s)
		known := false
		for _, o := range n.named {
			known = known || objectOf(&o.Suspect) == key && o.Kind == s.Kind
		}
		if !known {
			n.named = append(n.named, named{n.Now(), s})
		}
	}
}

// objectOf writes what a suspect is, as nameOf does.
func objectOf(s *api.Suspect) string {
	switch {
	case s.Host != "":
		return fmt.Sprintf("cable %s/%d", s.Host, s.HostPort)
	case s.Node != "":
		return "switch " + s.NodeName
	case strings.Contains(s.FromName, "-T1-"): // the direction down, when it is known
		return "link " + s.ToName + "-" + s.FromName
	default:
		return "link " + s.FromName + "-" + s.ToName
	}
}

// run lets time pass.
func (n *thin) run(d time.Duration) {
	n.Run(n.Now()+d, func(now time.Duration) (time.Duration, bool) {
		if n.pending && n.due <= now {
			n.do(func() {})
		}
		return max(n.due, now+time.Microsecond), n.pending
	}, nil)
}

// follow has a host probe by a plan.
func (h *host) follow(p *hostapi.SelfProbes) {
	if h.plan = p; h.net.tallied {
		h.tallyBy(p)
		return
	}
	h.tally = nil
	h.Set(h.now(), p)
	h.wake()
}

// now is what the host takes the time to be.
func (h *host) now() time.Duration { return h.net.Now() + h.skew }

// wake has a host do what is due, and sets its alarm.
func (h *host) wake() {
	if h.asleep {
		return
	}
	n, now := h.net, h.now()
	for id, to, ok := h.Take(now); ok; id, to, ok = h.Take(now) {
		n.probes++
		took, lost := n.carry(h.trip(to))
		if lost {
			continue
		}
		marked := n.marked > 0 && n.rng.Float64() < n.marked
		n.After(took, func() { h.receive(func() { h.Received(id, marked) }) })
	}
	if c := h.Report(now); c != nil {
		h.say(c)
	}
	at, ok := h.Next()
	if !ok {
		return
	}
	at = max(at-h.skew, n.Now())
	if h.alarm > n.Now() && h.alarm <= at {
		return
	}
	h.alarm = at
	n.At(at, func() {
		if h.alarm == at {
			h.alarm = 0
			h.wake()
		}
	})
}

// say sends counts to the controller.
func (h *host) say(c *hostapi.SelfProbeCounts) {
	stream := h.streams
	h.net.After(h.net.latency(), func() {
		if stream != h.streams {
			return // it was under way when the agent ended
		}
		h.net.do(func() {
			if err := h.net.core.SelfProbeCounts(h.name, c); err != nil {
				h.net.t.Error(err)
			}
		})
	})
}

// receive is a frame that arrives: one of a host that is asleep waits.
func (h *host) receive(f func()) {
	if h.asleep {
		h.waiting = append(h.waiting, f)
		return
	}
	f()
	h.wake()
}

// sleep stops a host for a while, as a scheduler or a debugger does: then it finds the frames that
// have come before the time, or after.
func (h *host) sleep(d time.Duration) {
	h.asleep = true
	h.net.After(d, func() {
		h.asleep = false
		if h.net.rng.IntN(2) == 0 {
			h.wake()
		}
		for _, f := range h.waiting {
			f()
		}
		h.waiting = nil
		h.wake()
	})
}

// step sets the clock of a host ahead, or back.
func (h *host) step(d time.Duration) {
	h.skew += d
	h.alarm = 0
	h.wake()
}

// carry takes a probe along its trip, and returns its round trip; lost: a wire lost the probe.
func (n *thin) carry(trip []*lossyWire) (took time.Duration, lost bool) {
	for _, w := range trip {
		took += 5*time.Microsecond + time.Duration(n.rng.Int64N(int64(10*time.Microsecond)))
		if n.tap != nil {
			n.tap(w.wire)
		}
		if w.loss >= 1 || w.loss > 0 && n.rng.Float64() < w.loss {
			return took, true
		}
	}
	return took, false
}

// trip returns the wires that a probe crosses, by its uSIDs.
func (h *host) trip(to hostapi.EV) []*lossyWire {
	if known := h.trips[to]; known != nil {
		return known
	}
	n, at := h.net, h.leaves[to.Port-1]
	out := []*lossyWire{n.at[wire{h.name, n.names[at]}]}
	for i := 4; i < 16; i += 2 { // F3216: 16 bits each, behind a block of 32
		usid := binary.BigEndian.Uint16(to.Value[i:])
		if usid == ev.TableUSID { // back to the host
			h.trips[to] = append(out, n.at[wire{n.names[at], h.name}])
			return h.trips[to]
		}
		next, ok := n.next[at][usid]
		if !ok {
			n.t.Fatalf("host %s probes %v: %s has no uSID %#x", h.name, to, n.names[at], usid)
		}
		out = append(out, n.at[wire{n.names[at], n.names[next]}])
		at = next
	}
	n.t.Fatalf("host %s probes %v, which leads nowhere", h.name, to)
	return nil
}

// lose has wires lose a share of what they carry: those from the first to the second, and back.
func (n *thin) lose(a, b string, there, back float64) {
	n.tallyAll()
	n.at[wire{a, b}].loss, n.at[wire{b, a}].loss = there, back
}

// around has all wires of a switch lose a share.
func (n *thin) around(sw string, share float64) {
	n.tallyAll()
	for _, w := range n.wires {
		if w.from == sw || w.to == sw {
			w.loss = share
		}
	}
}

// links are the links between T0s and T1s, by their wires up.
func (n *thin) links() (out []wire) {
	for _, w := range n.wires {
		if strings.Contains(w.from, "-T0-") && strings.Contains(w.to, "-T1-") {
			out = append(out, w.wire)
		}
	}
	return out
}

// switches are the switches of a tier.
func (n *thin) switches(tier string) (out []string) {
	for _, s := range n.network.Switches {
		if strings.Contains(s.Name, tier) {
			out = append(out, s.Name)
		}
	}
	return out
}

// whole are the switches of a tier whose links the controller all uses.
func (n *thin) whole(tier string) []string {
	unused := make(map[string]int)
	count := func(wires []wire, by int) {
		for _, w := range wires {
			unused[w.from] += by
			unused[w.to] += by
		}
	}
	count(n.links(), 1)
	count(n.inUse(), -1)
	return slices.DeleteFunc(n.switches(tier), func(sw string) bool { return unused[sw] > 0 })
}

func pick[T any](n *thin, of []T) T { return of[n.rng.IntN(len(of))] }

// setLinks takes the links at some ends up or down, which the controller learns after a while.
func (n *thin) setLinks(up bool, after time.Duration, at func(from, to string) bool) {
	for _, l := range n.all.Links {
		a, b := n.names[l.Local], n.names[l.Remote]
		switch {
		case !at(a, b) && !at(b, a):
		case up:
			n.learn.SetLink(*l)
		default:
			n.learn.RemoveLink(l.ID)
		}
	}
	n.After(after, func() { n.do(func() { n.core.SetTopology(n.learn.Build()) }) })
}

// reboot has a switch forward nothing for a while, 30 ms after the control plane has withdrawn its
// links. They lose a share afterwards.
func (n *thin) reboot(sw string, share float64) {
	of := func(from, _ string) bool { return from == sw }
	n.setLinks(false, 0, of)
	n.run(30 * time.Millisecond)
	n.around(sw, 1)
	n.run(time.Duration(n.rng.Int64N(int64(300 * time.Millisecond))))
	n.around(sw, share)
	n.setLinks(true, 10*time.Millisecond, of)
}
