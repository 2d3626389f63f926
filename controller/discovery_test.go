package controller_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// plug is a port of a switch.
type plug struct {
	sw   string
	port uint32
}

func (p plug) String() string { return fmt.Sprintf("%s/%d", p.sw, p.port) }

// cables holds the cables between the switches of a world, and the BGP-LS topology of these cables.
type cables struct {
	to   map[plug]plug
	bgp  *topology.Builder
	sent map[plug][][]byte // frames, by the port that they left by
	// tap, when not nil, takes each frame that a switch is asked to send.
	tap  func(from plug, frame []byte)
	lldp []topology.Source
	last uint64
}

// carry brings frames to the other ends.
func (c *cables) carry(w *bed, sw string, packets []entry.PacketOut) {
	if c == nil {
		return
	}
	for _, p := range packets {
		from := plug{sw, uint32(p.Port)}
		if p.Op != entry.Send {
			continue
		}
		c.sent[from] = append(c.sent[from], p.Payload)
		if c.tap != nil {
			c.tap(from, p.Payload)
		}
		if to, ok := c.to[from]; ok {
			w.arrives(to, p.Payload)
		}
	}
}

// arrives has a switch report a frame that came by a port.
func (w *bed) arrives(at plug, frame []byte) {
	session := w.session[at.sw]
	w.later(w.random(w.delay), func() {
		if w.session[at.sw] == session && w.known[at.sw] == session {
			w.core.PacketIn(at.sw, entry.PacketIn{Reason: entry.LLDP, IngressPort: uint16(at.port),
				Payload: frame})
		}
	})
}

// discovered puts the topology together as package service does.
func (c *cables) discovered(w *bed, found []topology.Source) {
	if c != nil && found != nil {
		c.lldp = found
		c.merge(w)
	}
}

func (c *cables) merge(w *bed) {
	s := topology.Merge(c.last,
		append([]topology.Source{{Name: topology.SourceBGPLS, Snapshot: c.bgp.Build()}}, c.lldp...)...)
	c.last = s.Version
	w.core.SetTopology(s)
}

// cut takes a cable away, and plug joins two ports: both in both directions.
func (c *cables) cut(a plug) {
	delete(c.to, c.to[a])
	delete(c.to, a)
}

func (c *cables) plug(a, b plug) { c.to[a], c.to[b] = b, a }

// cabled is Figure 1 with cables and discovery. The inventory names the ports; with advertised
// BGP-LS knows the links too.
func cabled(t *testing.T, advertised bool, seed uint64) *bed {
	net := sample.Figure1()
	c := &cables{to: make(map[plug]plug), sent: make(map[plug][][]byte), bgp: net.Topology}
	s := net.Topology.Build()
	for _, l := range s.Links {
		from, to := plug{s.Node(l.Local).Name, l.LocalPort}, plug{s.Node(l.Remote).Name, l.RemotePort}
		c.to[from] = to
		net.Inventory.Switch(from.sw).LinkPorts = append(net.Inventory.Switch(from.sw).LinkPorts,
			from.port)
		if !advertised {
			net.Topology.RemoveLink(l.ID)
		}
	}
	net.Inventory.Discovery.Protocol = inventory.DiscoveryLLDP
	w := newBed(t, net, seed)
	w.cables = c
	c.merge(w)
	w.connectAll()
	w.run(4 * time.Second)
	return w
}

// sources returns the links that the core knows, as switch/port, with the sources of each link.
func (w *bed) sources() map[string]string {
	out := make(map[string]string)
	s := w.core.Topology()
	for _, l := range s.Links {
		key := fmt.Sprintf("%s/%d-%s/%d", s.Node(l.Local).Name, l.LocalPort, s.Node(l.Remote).Name,
			l.RemotePort)
		out[key] = strings.Join(l.Sources, " ")
	}
	return out
}

// joined is what sources returns when every cable is known from the same.
func (c *cables) joined(from string) map[string]string {
	out := make(map[string]string)
	for a, b := range c.to {
		out[fmt.Sprintf("%v-%v", a, b)] = from
	}
	return out
}

func (w *bed) knows(what string, want map[string]string) {
	w.t.Helper()
	if got := w.sources(); !maps.Equal(got, want) {
		w.t.Errorf("%s: links %v\nwant %v", what, got, want)
	}
}

// miscabled are the messages of the switches' conditions.
func (w *bed) miscabled() map[string]string {
	out := make(map[string]string)
	for _, s := range w.core.Switches() {
		if c := s.Conditions.Find(api.Miscabled); c != nil {
			out[s.Name] = c.Message
		}
	}
	return out
}

// TestDiscoveryAlone: nodes without any link get those that LLDP finds, with SIDs, and a group is
// delivered over them.
func TestDiscoveryAlone(t *testing.T) {
	seeds(t, 5, func(t *testing.T, seed uint64) {
		w := cabled(t, false, seed)
		w.knows("found", w.cables.joined("lldp"))
		w.converged()
		spec := w.net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
		w.put("g1", spec)
		w.run(time.Second)
		w.delivers(&spec)
		for _, l := range w.core.Topology().Links {
			if len(l.EndX) != 1 || l.EndX[0].Behavior != topology.BehaviorEndX || l.IGPMetric != 10 {
				t.Errorf("link %s: metric %d, End.X %+v", l.ID, l.IGPMetric, l.EndX)
			}
		}
		if f := w.miscabled(); len(f) > 0 {
			t.Errorf("conditions %v", f)
		}
		w.core.SetPorts("n6", controller.PortStates{Up: map[uint32]bool{1: true, 2: true, 3: true,
			101: true}})
		w.run(3 * time.Second)
		if len(w.cables.sent[plug{"n6", 3}]) == 0 {
			t.Error("a port that gNMI names got no frame")
		}
		for from := range w.cables.sent {
			if from.port > 100 {
				t.Errorf("port %v of a host got a frame", from)
			}
		}
	})
}

// TestDiscoveryRate: a port gets one frame an interval, whatever happens, and none without
// discovery.
func TestDiscoveryRate(t *testing.T) {
	w := cabled(t, true, 1)
	clear(w.cables.sent)
	for range 20 { // reports of ports hurry nothing
		w.core.SetPorts("n6", reported(w.core.Topology(), w.net.Node("n6")))
		w.run(500 * time.Millisecond)
	}
	for from := range w.cables.to {
		if n := len(w.cables.sent[from]); n < 9 || n > 12 {
			t.Errorf("port %v sent %d frames in 10 s", from, n)
		}
	}
	clear(w.cables.sent)
	for range 50 { // a port comes and goes
		for _, up := range []bool{false, true} {
			w.core.SetPorts("n6", controller.PortStates{Up: map[uint32]bool{1: up, 2: true}})
			w.run(5 * time.Millisecond)
		}
	}
	if n := len(w.cables.sent[plug{"n6", 2}]); n > 6 {
		t.Errorf("in half a second of a port that comes and goes its neighbor port sent %d frames", n)
	}
	inv := w.net.Inventory
	inv.Discovery.Protocol = inventory.DiscoveryOff
	if err := w.core.SetInventory(inv); err != nil {
		t.Fatal(err)
	}
	w.run(100 * time.Millisecond)
	w.net.Inventory = inv
	clear(w.cables.sent)
	w.run(10 * time.Second)
	if len(w.cables.sent) > 0 || w.has("n6", p4.TableDiscovery) > 0 {
		t.Errorf("without discovery %d ports sent, %d entries", len(w.cables.sent),
			w.has("n6", p4.TableDiscovery))
	}
	w.knows("without discovery", w.cables.joined(""))
}

// TestDiscoveryAges: a link is gone after the third frame that is missed, and neither sooner nor
// because the controller has lost a switch.
func TestDiscoveryAges(t *testing.T) {
	seeds(t, 5, func(t *testing.T, seed uint64) {
		w := cabled(t, false, seed)
		all := w.cables.joined("lldp")
		w.disconnect("n4")
		w.run(20 * time.Second)
		w.knows("a switch is not connected", all)
		w.connect("n4")
		w.run(5 * time.Second)
		w.knows("it is again", all)

		w.cables.cut(plug{"n6", 1}) // to n4
		w.run(2900 * time.Millisecond)
		w.knows("two frames are missed", all)
		w.run(300 * time.Millisecond)
		w.knows("three are", w.cables.joined("lldp"))
		if len(w.sources()) != len(all)-2 {
			t.Errorf("%d links of %d", len(w.sources()), len(all))
		}
		w.cables.plug(plug{"n6", 1}, plug{"n4", 1})
		w.run(1200 * time.Millisecond)
		w.knows("plugged in again", all)

		// Two of three frames are lost, again and again.
		lost := 0
		w.cables.tap = func(from plug, _ []byte) {
			if from == (plug{"n6", 1}) {
				if lost++; lost%3 != 0 {
					delete(w.cables.to, from)
				} else {
					w.cables.to[from] = plug{"n4", 1}
				}
			}
		}
		for range 12 {
			w.run(time.Second)
			w.knows("frames are lost", all)
		}
	})
}

// TestDiscoveryPortDown: a port reported as down has no neighbor.
func TestDiscoveryPortDown(t *testing.T) {
	w := cabled(t, false, 1)
	up := map[uint32]bool{1: false, 2: true}
	w.core.SetPorts("n6", controller.PortStates{Up: up})
	w.cables.cut(plug{"n6", 1})
	w.run(100 * time.Millisecond)
	w.knows("the port is down", w.cables.joined("lldp"))
	w.cables.plug(plug{"n6", 1}, plug{"n4", 1})
	w.core.SetPorts("n6", controller.PortStates{Up: map[uint32]bool{1: true, 2: true}})
	w.run(1200 * time.Millisecond)
	w.knows("it is up", w.cables.joined("lldp"))
}

// TestDiscoveryConfirms: a link that BGP-LS has too names both sources. BGP-LS decides: a link that
// it withdraws is down at once, and LLDP does not bring it back.
func TestDiscoveryConfirms(t *testing.T) {
	w := cabled(t, true, 1)
	all := w.cables.joined("bgp-ls lldp")
	w.knows("confirmed", all)
	s := w.cables.bgp.Build()
	var links []topology.Link
	for _, l := range s.Links {
		if ends := s.Node(l.Local).Name + s.Node(l.Remote).Name; ends == "n6n4" || ends == "n4n6" {
			links = append(links, *l)
			w.cables.bgp.RemoveLink(l.ID)
			delete(all, fmt.Sprintf("%s/%d-%s/%d", s.Node(l.Local).Name, l.LocalPort, s.Node(l.Remote).Name,
				l.RemotePort))
		}
	}
	w.cables.merge(w)
	w.knows("withdrawn", all)
	w.run(10 * time.Second)
	w.knows("withdrawn for long", all)
	for _, l := range links {
		w.cables.bgp.SetLink(l)
	}
	w.cables.merge(w)
	w.run(3 * time.Second)
	w.knows("advertised again", w.cables.joined("bgp-ls lldp"))
	if f := w.miscabled(); len(f) > 0 {
		t.Errorf("conditions %v", f)
	}
}

// TestMiscabled: two cables are swapped, one is pulled, and one ends at a host port. Switches name
// each fault, with events, and the topology remains as in BGP-LS. After the repair no fault
// remains.
func TestMiscabled(t *testing.T) {
	w := cabled(t, true, 1)
	right := maps.Clone(w.cables.to)
	// n6/1-n4/1, n6/2-n5/1, n4/2-n1/1, n4/3-n2/1, n5/2-n2/2, n5/3-n3/1.
	w.cables.plug(plug{"n6", 1}, plug{"n5", 1})
	w.cables.plug(plug{"n6", 2}, plug{"n4", 1})
	w.cables.cut(plug{"n5", 2})
	w.cables.cut(plug{"n4", 2})
	w.cables.plug(plug{"n4", 2}, plug{"n1", 101})
	w.run(10 * time.Second)
	want := map[string]string{
		"n6": "port n6/1: bgp-ls has a link to n4/1, and LLDP frames arrive at n5/1; port n6/2: bgp-ls " +
			"has a link to n5/1, and LLDP frames arrive at n4/1",
		"n4": "port n4/1: bgp-ls has a link to n6/1, and LLDP frames arrive at n6/2; port n4/2: bgp-ls " +
			"has a link to n1/1, and LLDP frames arrive at n1/101",
		"n5": "port n5/1: bgp-ls has a link to n6/2, and LLDP frames arrive at n6/1; port n5/2: bgp-ls " +
			"has a link to n2/2, and no LLDP frame arrives there",
		"n1": "port n1/1: bgp-ls has a link to n4/2, and no LLDP frame arrives there; port n1/101: " +
			"configured for a host, and LLDP frames of n4/2 arrive",
		"n2": "port n2/2: bgp-ls has a link to n5/2, and no LLDP frame arrives there",
	}
	if got := w.miscabled(); !maps.Equal(got, want) {
		t.Errorf("conditions %v\nwant %v", got, want)
	}
	confirmed := 0
	for link, from := range w.sources() {
		if from == "bgp-ls lldp" {
			confirmed++
		} else if from != "bgp-ls" {
			t.Errorf("link %s is known from %s", link, from)
		}
	}
	if n := len(w.sources()); n != 12 || confirmed != 4 {
		t.Errorf("%d links, %d confirmed", n, confirmed)
	}
	if !slices.ContainsFunc(w.log, func(e api.Event) bool {
		return e.Type == api.EventPortMiscabled && e.Object == "n1/101" &&
			e.Message == "port n1/101: configured for a host, and LLDP frames of n4/2 arrive"
	}) {
		t.Errorf("events %v", w.log)
	}

	w.cables.to = right
	w.run(10 * time.Second)
	if got := w.miscabled(); len(got) > 0 {
		t.Errorf("put right: %v", got)
	}
	w.knows("put right", w.cables.joined("bgp-ls lldp"))
	objects := w.eventsOf(api.EventPortCabled)
	slices.Sort(objects)
	if got := strings.Join(slices.Compact(objects),
		" "); got != "n1/1 n1/101 n2/2 n4/1 n4/2 n5/1 n5/2 n6/1 n6/2" {
		t.Errorf("ports that are cabled again: %s", got)
	}
}

// TestHostPort: a cable that ends at a port of a host is no link, whatever else is free.
func TestHostPort(t *testing.T) {
	w := cabled(t, false, 1)
	w.cables.cut(plug{"n4", 2})
	w.cables.plug(plug{"n4", 2}, plug{"n1", 101})
	w.run(5 * time.Second)
	w.knows("to a port of a host", func() map[string]string {
		links := w.cables.joined("lldp")
		delete(links, "n4/2-n1/101")
		delete(links, "n1/101-n4/2")
		return links
	}())
	if got := w.miscabled()["n1"]; got != "port n1/101: configured for a host, and LLDP frames of "+
		"n4/2 arrive" {
		t.Errorf("condition %q", got)
	}
}

// TestDirected: a cable that carries only one direction makes no link, and the unheard end reports
// the fault.
func TestDirected(t *testing.T) {
	w := cabled(t, false, 1)
	delete(w.cables.to, plug{"n4", 1})
	w.run(10 * time.Second)
	if got, want := w.miscabled(),
		(map[string]string{"n4": "port n4/1: LLDP frames of n6/1 arrive, and none arrives there"}); !maps.Equal(got, want) {
		t.Errorf("conditions %v\nwant %v", got, want)
	}
	if w.core.Topology().Graph().Reverse(w.core.Topology().LinksFrom(w.net.Node("n6"))[0]) != nil {
		t.Error("a link of one direction counts")
	}
}

// TestSharedCable: two ports whose frames arrive at a third port have no link to the third port. A
// cable between two ports of one switch is no link.
func TestSharedCable(t *testing.T) {
	w := cabled(t, false, 1)
	// n6/1-n4/1, n6/2-n5/1: a hub sends what n6/2 sends to n4/1.
	w.cables.to[plug{"n6", 2}] = plug{"n4", 1}
	w.cables.cut(plug{"n4", 2})
	w.cables.cut(plug{"n4", 3})
	w.cables.plug(plug{"n4", 2}, plug{"n4", 3})
	w.run(10 * time.Second)
	for link := range w.sources() {
		if strings.HasSuffix(link, "-n4/1") || strings.HasPrefix(link, "n4/2") ||
			strings.HasPrefix(link, "n4/3") {
			t.Errorf("link %s", link)
		}
	}
	want := "port n4/1: LLDP frames of both n6/1 and n6/2 arrive; port n4/2: LLDP frames come back " +
		"by port n4/3 of the same switch; " +
		"port n4/3: LLDP frames come back by port n4/2 of the same switch"
	if got := w.miscabled()["n4"]; got != want {
		t.Errorf("condition %q\nwant %q", got, want)
	}
}

// TestUnknownNode: a cable to a switch that the topology lacks is named, and no link.
func TestUnknownNode(t *testing.T) {
	w := cabled(t, false, 1)
	w.cables.bgp.RemoveNode(w.net.Node("n3"))
	w.cables.merge(w)
	w.run(3 * time.Second)
	for link := range w.sources() {
		if strings.Contains(link, "n3/") {
			t.Errorf("link %s", link)
		}
	}
	if got, want := w.miscabled()["n5"],
		"port n5/3: LLDP frames arrive at n3/1, and the topology lacks a node of these switches"; got != want {
		t.Errorf("condition %q\nwant %q", got, want)
	}
}

// TestForgedLLDP: a host can create no link by invented, changed or recorded frames, and each frame
// counts only once.
func TestForgedLLDP(t *testing.T) {
	w := cabled(t, false, 1)
	all := w.cables.joined("lldp")
	other := cabled(t, false, 2) // another controller, with the same names
	recorded := w.cables.sent[plug{"n6", 1}]
	fresh := recorded[len(recorded)-1]
	changed := func(at int) []byte {
		b := slices.Clone(fresh)
		b[at] ^= 1
		return b
	}
	free := plug{"n3", 77}
	foreign := packet.LLDP{
		Chassis: packet.LLDPID{Subtype: packet.LLDPChassisLocal, Value: "n6"},
		Port:    packet.LLDPID{Subtype: packet.LLDPPortLocal, Value: "1"}, TTL: 9,
	}.Append(make([]byte, packet.EthernetLen))
	attack := func() {
		for _, frame := range recorded {
			w.arrives(free, frame)
		}
		for at := range fresh {
			if at >= packet.EthernetLen { // MAC addresses and EtherType prove nothing, and are not used
				w.arrives(free, changed(at))
				w.arrives(free, fresh[:at])
			}
		}
		w.arrives(free, foreign)
		w.arrives(free, nil)
		for _, frames := range other.cables.sent {
			w.arrives(free, frames[len(frames)-1])
		}
	}
	for range 5 {
		attack()
		w.run(time.Second)
		w.knows("attacked", all)
	}
	if f := w.miscabled(); len(f) > 0 {
		t.Errorf("conditions %v", f)
	}

	// Frames that wait, since their cable is pulled: who changes an octet of one makes no link.
	w.cables.cut(plug{"n6", 1})
	w.cables.tap = func(from plug, frame []byte) {
		if from == (plug{"n6", 1}) {
			fresh = frame
		}
	}
	w.run(time.Second)
	for at := packet.EthernetLen; at < len(fresh); at++ {
		if at%10 == 0 {
			w.run(time.Second)
		}
		w.arrives(free, changed(at))
	}
	w.run(time.Second)
	w.knows("changed", w.cables.joined("lldp"))
	w.cables.tap = nil
	w.cables.plug(plug{"n6", 1}, plug{"n4", 1})
	w.run(3 * time.Second)
	w.knows("plugged in again", all)

	// The cable is pulled: the recorded frames of its ports do not keep the link.
	w.cables.cut(plug{"n6", 1})
	for range 5 {
		for _, frame := range recorded {
			w.arrives(plug{"n4", 1}, frame)
		}
		w.run(time.Second)
	}
	w.knows("pulled", w.cables.joined("lldp"))

	// A frame that arrives twice counts where it arrives first.
	w.cables.plug(plug{"n6", 1}, plug{"n4", 1})
	w.cables.tap = func(from plug, frame []byte) {
		if from == (plug{"n6", 1}) {
			w.After(w.delay+1, func() { w.arrives(free, frame) })
		}
	}
	w.run(5 * time.Second)
	w.knows("repeated elsewhere", all)
}
