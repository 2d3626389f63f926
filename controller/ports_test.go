package controller_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/topology"
)

// reported is a switch's report of its ports: those of its links, but the ones that are down.
func reported(snap *topology.Snapshot, node topology.NodeID, down ...uint32) controller.PortStates {
	p := controller.PortStates{Up: make(map[uint32]bool)}
	for _, l := range snap.LinksFrom(node) {
		up := !slices.Contains(down, l.LocalPort)
		p.Up[l.LocalPort] = up
		i := gnmi.Interface{Name: fmt.Sprintf("eth%d", l.LocalPort), Port: l.LocalPort, Oper: gnmi.OperUp}
		if !up {
			i.Oper = gnmi.OperDown
		}
		p.Interfaces = append(p.Interfaces, i)
	}
	return p
}

// cut is the network as packets see it without a link: the topology stays as it is.
func (w *bed) cut(l *topology.Link) {
	b := w.core.Topology().Builder()
	b.RemoveLink(l.ID)
	b.RemoveLink(w.core.Topology().Graph().Reverse(l).ID)
	w.wires = b.Build()
}

// carrying returns the link by which a group's tree enters a switch.
func (w *bed) carrying(group, sw string) *topology.Link {
	w.t.Helper()
	for _, n := range w.group(group).Status.Tree.Nodes {
		if n.Switch != sw {
			continue
		}
		for _, l := range w.core.Topology().LinksFrom(w.net.Node(sw)) {
			if l.LocalPort == n.Upstream {
				return l
			}
		}
	}
	w.t.Fatalf("group %s has no node %s", group, sw)
	return nil
}

// uses reports whether a switch routes anything by a port.
func (w *bed) uses(sw string, port uint32) bool {
	for _, e := range w.devices[sw].Entities {
		if t, ok := e.(entry.Table); ok && t.Name == p4.TableIpv6Route &&
			t.Action.Arg("port") == entry.Uint(uint64(port)) {
			return true
		}
		if g, ok := e.(entry.Group); ok && slices.Contains(g.Members, port) {
			return true
		}
	}
	return false
}

// TestTreeLeavesPort checks that a tree leaves a link within 50 ms when a switch at either end says
// that its port is down, while BGP-LS still advertises the link; that routes leave it too; and that
// the port must stay up for a hold, which grows with every failure, before routes use the link
// again.
func TestTreeLeavesPort(t *testing.T) {
	seeds(t, 20, func(t *testing.T, seed uint64) {
		net := sample.Figure1()
		w := up(t, net, seed)
		spec := net.Spec(1, "s1", "r1", "r3", "r5")
		w.put("g1", spec)
		w.run(time.Second)
		w.delivers(&spec)
		w.converged()
		for failure, hold := range []time.Duration{time.Second, 2 * time.Second} {
			l := w.carrying("g1", "n2")
			far := w.core.Topology().Graph().Reverse(l)
			at, sw, port := l.Local, "n2", l.LocalPort
			if seed%2 == 0 {
				at, sw, port = far.Local, w.core.Topology().Node(far.Local).Name, far.LocalPort
			}
			if failure > 0 {
				// The tree stays where it is. The same port fails again.
				at, sw, port = w.lastPort()
			}
			version := w.core.Topology().Version
			w.cut(w.linkAt(at, port))
			w.core.SetPorts(sw, reported(w.core.Topology(), at, port))
			w.run(50 * time.Millisecond)
			w.delivers(&spec)
			if g := w.group("g1"); !g.Status.Is(api.Programmed) || g.Status.Is(api.Degraded) {
				t.Errorf("failure %d: %v", failure, g.Status.Conditions)
			}
			if w.core.Topology().Version != version {
				t.Error("the topology has changed")
			}
			w.run(time.Second)
			if w.uses(sw, port) {
				t.Errorf("failure %d: %s routes by port %d, which is down", failure, sw, port)
			}
			// Up alone restores nothing.
			w.core.SetPorts(sw, reported(w.core.Topology(), at))
			w.run(hold - 10*time.Millisecond)
			p, err := w.core.Ports().Get(fmt.Sprintf("%s/%d", sw, port))
			if err != nil || w.uses(sw, port) || p.Status.Oper != "up" || p.Status.Damping == nil ||
				!p.Status.Damping.Out ||
				p.Status.Damping.Failures != failure+1 ||
				!p.Status.Damping.Until.Equal(start.Add(w.Now()+10*time.Millisecond)) {
				t.Fatalf("failure %d: used before its hold is over: %+v, %v", failure, p.Status.Damping, err)
			}
			w.wires = nil
			w.run(500 * time.Millisecond)
			if p, _ := w.core.Ports().Get(p.Name); p.Status.Damping == nil || p.Status.Damping.Out {
				t.Fatalf("failure %d: not used after its hold: %+v", failure, p.Status.Damping)
			}
			w.converged() // all that is advertised is used again
			w.delivers(&spec)
		}
		w.run(6 * time.Minute)
		w.core.Tick(w.Now())
		for _, p := range w.core.Ports().List() {
			if p.Status.Damping != nil {
				t.Errorf("after a calm: %s: %+v", p.Name, p.Status.Damping)
			}
		}
	})
}

// lastPort returns the port of the last event of one.
func (w *bed) lastPort() (topology.NodeID, string, uint32) {
	for _, e := range slices.Backward(w.log) {
		if e.Type == api.EventPortChanged {
			sw, number, _ := strings.Cut(e.Object, "/")
			var port uint32
			if _, err := fmt.Sscan(number, &port); err != nil {
				w.t.Fatal(err)
			}
			return w.net.Node(sw), sw, port
		}
	}
	w.t.Fatal("no port has failed")
	return "", "", 0
}

func (w *bed) linkAt(node topology.NodeID, port uint32) *topology.Link {
	for _, l := range w.core.Topology().LinksFrom(node) {
		if l.LocalPort == port {
			return l
		}
	}
	w.t.Fatalf("no link at port %d of %s", port, node)
	return nil
}

// TestPortUnknown checks that a switch which no longer says anything of a port, or which is asked
// no more, ends the failure, and that an error alone does not.
func TestPortUnknown(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	node := net.Node("n4")
	port := w.core.Topology().LinksFrom(node)[0].LocalPort
	out := func() bool {
		p, err := w.core.Ports().Get(fmt.Sprintf("n4/%d", port))
		return err == nil && p.Status.Damping != nil && p.Status.Damping.Out
	}
	down := reported(w.core.Topology(), node, port)
	w.core.SetPorts("n4", down)
	w.run(time.Second)
	down.Err = errors.New("gNMI: restarting")
	w.core.SetPorts("n4", down)
	w.run(10 * time.Second)
	if !out() {
		t.Error("a port that was down is used because the switch restarts")
	}
	w.core.SetPorts("n4", controller.PortStates{Err: errors.New("gNMI: no such path")})
	w.run(2 * time.Second)
	if !w.uses("n4", port) {
		t.Error("a port of which nothing is known is not used")
	}
}

// TestFlapStorm checks that 1,000 ports which flap ten times a second for a minute cause one change
// each, that memory is bounded, and that the links come back after the longest hold.
func TestFlapStorm(t *testing.T) {
	const links = 500
	net := sample.New().Switches("a", "b", "c")
	for i := range uint32(links) {
		net.LinkPorts("a", i+1, "b", i+1, 10)
	}
	net.LinkPorts("a", links+1, "c", 1, 100)
	net.LinkPorts("b", links+1, "c", 2, 100)
	net.Inventory.Hosts = nil
	w := up(t, net, 1)
	snap := w.core.Topology()
	writes := 0
	w.every = func() { writes++ }
	all := make([]uint32, links)
	for i := range all {
		all[i] = uint32(i + 1)
	}
	report := func(down ...uint32) {
		for _, sw := range []string{"a", "b"} {
			w.core.SetPorts(sw, reported(snap, net.Node(sw), down...))
		}
	}
	report()
	w.run(time.Second)
	before := inUse()
	w.log, writes = nil, 0
	var replanned int
	for range 600 {
		report(all...)
		w.run(50 * time.Millisecond)
		report()
		w.run(50 * time.Millisecond)
	}
	grown := int64(inUse()) - int64(before)
	if grown > 32<<20 {
		t.Errorf("%d MiB more in use", grown>>20)
	}
	for _, e := range w.log {
		if e.Type == api.EventPortChanged {
			replanned++
		}
	}
	if replanned != 2*links {
		t.Errorf("%d changes of ports, want one for each of %d", replanned, 2*links)
	}
	if limit := 20 * links; writes > limit {
		t.Errorf("%d writes, want at most %d", writes, limit)
	}
	p, err := w.core.Ports().Get("a/1")
	if err != nil || p.Status.Damping == nil || !p.Status.Damping.Out ||
		p.Status.Damping.Flaps != 600 || p.Status.Damping.Failures != 600 {
		t.Fatalf("%+v, %v", p.Status.Damping, err)
	}
	t.Logf("%d writes, %d MiB more in use", writes, grown>>20)
	w.log = nil
	w.run(time.Minute - 100*time.Millisecond)
	if n := len(w.eventsOf(api.EventPortChanged)); n > 0 {
		t.Errorf("%d ports are used again before the longest hold is over", n)
	}
	w.run(time.Second)
	if n := len(w.eventsOf(api.EventPortChanged)); n != 2*links {
		t.Errorf("%d ports are used again, want %d", n, 2*links)
	}
	w.converged()
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// TestPortNumbersThatComeAndGo checks that a switch which reports other ports each time takes
// bounded memory.
func TestPortNumbersThatComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("1.2 million ports")
	}
	w := up(t, sample.Figure1(), 1)
	before := inUse()
	for round := range uint32(300) {
		p := controller.PortStates{Up: make(map[uint32]bool)}
		for i := range uint32(4096) {
			p.Up[round*4096+i] = false
		}
		w.core.SetPorts("n4", p)
		w.core.Ready(0)
	}
	if grown := int64(inUse()) - int64(before); grown > 16<<20 {
		t.Errorf("%d MiB more in use", grown>>20)
	}
}

// TestPortIntent checks the way of a spec: written to the switch, read back, repaired when the
// switch changes it by itself, and refused by name.
func TestPortIntent(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	states := reported(w.core.Topology(), net.Node("n4"))
	say := func(change func(*gnmi.Settings)) {
		next := states
		next.Interfaces = slices.Clone(states.Interfaces)
		i := slices.IndexFunc(next.Interfaces, func(i gnmi.Interface) bool { return i.Port == 1 })
		change(&next.Interfaces[i].Config)
		states = next
		w.core.SetPorts("n4", states)
	}
	enabled, mtu, small := true, uint32(9000), uint32(1500)
	say(func(s *gnmi.Settings) { s.Enabled, s.MTU = &enabled, &small })
	w.run(100 * time.Millisecond)
	port := func() api.Port {
		t.Helper()
		p, err := w.core.Ports().Get("n4/1")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	tasks := func() []controller.PortTask {
		w.core.Tick(w.Now())
		w.pump()
		out := w.portTasks
		w.portTasks = nil
		return out
	}
	if p := port(); p.Version != 0 || len(p.Status.Conditions) > 0 || *p.Status.Config.MTU != 1500 {
		t.Errorf("without a spec: %+v", p)
	}
	text := "to n6"
	if _, created, err := w.core.Ports().Put("n4/1", api.PortSpec{MTU: &mtu, Description: &text},
		resource.Precondition{}); err != nil || created {
		t.Fatal(created, err)
	}
	work := tasks()
	if len(work) != 1 || work[0].Interface != "eth1" || *work[0].Settings.MTU != 9000 ||
		*work[0].Settings.Description != text || work[0].Settings.Enabled != nil {
		t.Fatalf("%+v", work)
	}
	if p := port(); p.Status.Conditions.Is(api.Programmed) {
		t.Error("programmed before the switch has answered")
	}
	// The switch reports its MTU, and never a description: what it took is as good.
	w.core.PortDone(controller.PortResult{ID: work[0].ID, Switch: "n4"})
	if p := port(); p.Status.Conditions.Is(api.Programmed) {
		t.Error("programmed before it was read back")
	}
	say(func(s *gnmi.Settings) { s.MTU = &mtu })
	if p := port(); !p.Status.Conditions.Is(api.Programmed) || p.Status.Conditions.Is(api.Degraded) ||
		p.Status.Drift != nil {
		t.Errorf("read back: %+v", p.Status)
	}
	w.run(time.Minute)
	if work := tasks(); len(work) > 0 {
		t.Errorf("written again: %+v", work)
	}

	// Somebody else changes it.
	say(func(s *gnmi.Settings) { s.MTU = &small })
	p := port()
	if c := p.Status.Conditions.Find(api.Degraded); c == nil || !c.Status ||
		c.Reason != api.ReasonDrifted || p.Status.Drift == nil ||
		p.Status.Drift.Message != "mtu is 1500, not 9000" {
		t.Errorf("drift: %+v, %+v", p.Status.Conditions, p.Status.Drift)
	}
	work = tasks()
	if len(work) != 1 || *work[0].Settings.MTU != 9000 || work[0].Settings.Description != nil {
		t.Fatalf("repair: %+v", work)
	}
	w.core.PortDone(controller.PortResult{ID: work[0].ID, Switch: "n4"})
	say(func(s *gnmi.Settings) { s.MTU = &mtu })
	if p := port(); !p.Status.Conditions.Is(api.Programmed) || p.Status.Conditions.Is(api.Degraded) ||
		p.Status.Drift == nil || p.Status.Drift.Count != 1 {
		t.Errorf("repaired: %+v", p.Status)
	}

	// A war over it is one write a hold, ever longer.
	written := 0
	for range 100 {
		say(func(s *gnmi.Settings) { s.MTU = &small })
		for _, x := range tasks() {
			written++
			w.core.PortDone(controller.PortResult{ID: x.ID, Switch: "n4"})
		}
		say(func(s *gnmi.Settings) { s.MTU = &mtu })
		w.run(100 * time.Millisecond)
	}
	if written < 3 || written > 10 {
		t.Errorf("%d writes in ten seconds of a war", written)
	}

	// A setting that the switch refuses is named; the others stay.
	w.run(time.Minute)
	speed := uint64(400e9)
	if _, _, err := w.core.Ports().Put("n4/1", api.PortSpec{MTU: &mtu, Speed: &speed},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	work = tasks()
	if len(work) != 1 {
		t.Fatalf("%+v", work)
	}
	w.core.PortDone(controller.PortResult{ID: work[0].ID, Switch: "n4",
		Refused: []gnmi.Refusal{{Setting: gnmi.SettingSpeed, Err: errors.New("no such transceiver")}}})
	if c := port().Status.Conditions.Find(api.Programmed); c == nil || c.Status ||
		c.Reason != api.ReasonDeviceError || !strings.Contains(c.Message, "speed: no such transceiver") {
		t.Errorf("refused: %+v", port().Status.Conditions)
	}

	// It outlives the controller, and goes when it is deleted; the switch keeps what it has.
	w.pump()
	w.reboot(false)
	w.connectAll()
	w.run(time.Second)
	if p := port(); p.Spec.Speed == nil || *p.Spec.Speed != speed ||
		p.Status.Conditions.Find(api.Programmed) != nil && p.Status.Conditions.Is(api.Programmed) {
		t.Errorf("after a restart: %+v", p)
	}
	if err := w.core.Ports().Delete("n4/1", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.core.Ports().Get("n4/1"); err == nil {
		t.Error("a port that no switch reports and that has no spec is there")
	}
}

// TestPortIntentRefused checks that bad input names field, value and what would be right, and
// changes nothing.
func TestPortIntentRefused(t *testing.T) {
	w := up(t, sample.Figure1(), 1)
	mtu, speed := uint32(64), uint64(123)
	long, control := strings.Repeat("x", 256), "a\nb"
	for _, c := range []struct {
		name string
		spec api.PortSpec
		want string
	}{
		{"n4/1", api.PortSpec{MTU: &mtu}, "spec.mtu is 64: want 1280 to 65535 octets"},
		{"n4/1", api.PortSpec{Speed: &speed}, "spec.speed is 123: want a speed in bit/s: 10000000, "},
		{"n4/1", api.PortSpec{Description: &long},
			"spec.description is 256 octets: want at most 255 octets"},
		{"n4/1", api.PortSpec{Description: &control},
			`spec.description is "a\nb": want printable characters`},
		{"n4/0", api.PortSpec{}, "a port from 1 to 507"},
		{"n4/508", api.PortSpec{}, "a port from 1 to 507"},
		{"n4/01", api.PortSpec{}, "a port from 1 to 507"},
		{"n4", api.PortSpec{}, "a port from 1 to 507"},
		{"n9/1", api.PortSpec{}, `no switch "n9"`},
	} {
		_, _, err := w.core.Ports().Put(c.name, c.spec, resource.Precondition{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
	if n := len(w.core.Ready(0).PortTasks); n > 0 || len(w.core.Ports().List()) > 0 {
		t.Errorf("%d tasks, %d ports", n, len(w.core.Ports().List()))
	}
}

// TestDisabledPort checks that trees leave a port that a client disables before its switch has
// answered.
func TestDisabledPort(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 3)
	spec := net.Spec(1, "s1", "r3")
	w.put("g1", spec)
	w.run(time.Second)
	l := w.carrying("g1", "n2")
	name, off := fmt.Sprintf("n2/%d", l.LocalPort), false
	if _, _, err := w.core.Ports().Put(name, api.PortSpec{Enabled: &off},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.cut(l)
	w.run(50 * time.Millisecond)
	w.delivers(&spec)
	if err := w.core.Ports().Delete(name, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.wires = nil
	w.run(time.Second)
	w.converged()
}

// TestLearnedPorts checks that the controller takes port numbers and rates absent from inventory
// and BGP-LS from the switch, and names differences.
func TestLearnedPorts(t *testing.T) {
	net := sample.New().Switches("a", "b")
	// The identifiers of the links are ifindexes: 1001 is port 5 of a.
	net.LinkPorts("a", 1001, "b", 7, 10)
	net.Hosts("a", "h1").Hosts("b", "h2")
	w := up(t, net, 1)
	if w.uses("a", 5) {
		t.Error("the port is known before the switch has said it")
	}
	w.core.SetPorts("a", controller.PortStates{Up: map[uint32]bool{5: true},
		Interfaces: []gnmi.Interface{
			{Name: "Ethernet0", Port: 5, Ifindex: 1001, Oper: gnmi.OperUp, MAC: "02:00:00:00:00:99",
				Speed: 100e9},
		}})
	w.run(time.Second)
	if !w.uses("a", 5) {
		t.Error("routes do not use the port that the switch reports")
	}
	p, err := w.core.Ports().Get("a/5")
	if err != nil || p.Status.Link == "" || p.Status.Interface != "Ethernet0" ||
		p.Status.Speed != 100e9 {
		t.Errorf("%+v, %v", p, err)
	}
	g, err := w.core.SwitchGNMI("a")
	if err != nil || len(g.Differs) != 1 ||
		g.Differs[0] != (api.PortMismatch{Field: "switches[a].mac", Want: "02:00:00:00:00:01",
			Got: "02:00:00:00:00:99 at Ethernet0"}) {
		t.Errorf("%+v, %v", g.Differs, err)
	}
	for _, s := range w.core.Switches() {
		if c := s.Conditions.Find(api.InventoryDiffers); (c != nil) != (s.Name == "a") {
			t.Errorf("%s: %+v", s.Name, s.Conditions)
		}
	}
	// An error names the ends of a link, not the id.
	w.core.SetPorts("a", controller.PortStates{Up: map[uint32]bool{9: true},
		Interfaces: []gnmi.Interface{{Name: "Ethernet0", Port: 9, Oper: gnmi.OperUp}}})
	if g, err := w.core.SwitchGNMI("a"); err != nil || len(g.Differs) == 0 ||
		g.Differs[0].Field != "port of link a – b" {
		t.Errorf("%+v, %v", g.Differs, err)
	}
	// A port that goes down is the one of the link.
	w.core.SetPorts("a", controller.PortStates{Up: map[uint32]bool{5: false},
		Interfaces: []gnmi.Interface{
			{Name: "Ethernet0", Port: 5, Ifindex: 1001, Oper: gnmi.OperDown},
		}})
	w.run(time.Second)
	if w.uses("a", 5) {
		t.Error("routes use a port that is down")
	}
}

// TestPlainReasons: what a program says of a lost switch and of its ports by gNMI reaches clients
// and events as words: without codes of gRPC and without the steps by which it was made.
func TestPlainReasons(t *testing.T) {
	raw := errors.New(`opening the stream: southbound: rpc error: code = Unavailable desc = ` +
		`"connection error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:9559: ` +
		`connect: connection refused\""`)
	const want = "nothing listens at 127.0.0.1:9559: the connection was refused"
	w := up(t, sample.Figure1(), 1)
	w.core.SetPorts("n1", controller.PortStates{Err: raw})
	w.core.SwitchDisconnected("n2", raw)
	for _, s := range w.core.Switches() {
		if s.Name == "n2" && s.Reason != want {
			t.Errorf("switch n2: %q", s.Reason)
		}
		if s.Name == "n1" && (s.Ports == nil || s.Ports.Error != want) {
			t.Errorf("ports of n1: %+v", s.Ports)
		}
	}
	if g, err := w.core.SwitchGNMI("n1"); err != nil || g.Error != want {
		t.Errorf("gNMI of n1: %q, %v", g.Error, err)
	}
	off := false
	p, _, err := w.core.Ports().Put("n1/1", api.PortSpec{Enabled: &off}, resource.Precondition{})
	if c := p.Status.Conditions.Find(api.Degraded); err != nil || c == nil || c.Message != want {
		t.Errorf("a port of n1: %+v, %v", p.Status.Conditions, err)
	}
}
