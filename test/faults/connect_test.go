package faults

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/host/cm"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	wire "github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

const (
	connectPort  = 4242
	connectToken = "open sesame"
	groupVA      = 0x1_0000 // where the source takes the memory of receivers to begin
)

// app is an application on a host: it knows an address and a port.
type app struct {
	host   *lab.HostNode
	memory []byte
	va     uint64
	rkey   uint32
	id     uint32 // of the connection that it asked for
	qp     *rc.QP
	events []cm.Event
}

// apps are the applications of one run.
type apps struct {
	*scenario
	t   *testing.T
	all map[string]*app
}

func newApps(t *testing.T, members ...string) *apps {
	t.Helper()
	network := redundant()
	admit(&network)
	return newAppsIn(t, network, proxy, members...)
}

// newAppsIn has applications on the hosts of a network, which know a proxy address.
func newAppsIn(t *testing.T, network lab.Network, proxy netip.Addr, members ...string) *apps {
	t.Helper()
	s := &scenario{}
	var err error
	if s.world, err = lab.NewWorld(network, lab.Options{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if s.control, err = lab.NewControl(s.world, lab.DefaultLatencies()); err != nil {
		t.Fatal(err)
	}
	if err := s.control.Start(); err != nil {
		t.Fatal(err)
	}
	a := &apps{scenario: s, t: t, all: make(map[string]*app)}
	s.spec = api.MulticastGroupSpec{ProxyAddress: proxy, DesignatedQPN: designatedQPN,
		InitialPSN: 0xFFFFF0, BaseVA: groupVA,
		Connect: &api.GroupConnect{Port: connectPort, MTU: 4096, Token: connectToken},
		Source:  api.GroupSource{Address: a.app("S1").host.Config().Addr}}
	s.control.Events = func(e api.Event) { s.tell("%s: %s", e.Type, e.Message) }
	for i, name := range members {
		a.receiver(name, uint64(0x1000*(i+1)), uint32(100+i))
	}
	a.wait("the switches", s.connected)
	return a
}

func (a *apps) app(name string) *app {
	if a.all[name] == nil {
		host, err := a.world.Host(name)
		if err != nil {
			a.t.Fatal(err)
		}
		a.all[name] = &app{host: host}
	}
	return a.all[name]
}

// receiver registers memory on a host, and names it in the spec.
func (a *apps) receiver(name string, va uint64, rkey uint32) *app {
	p := a.app(name)
	p.memory, p.va, p.rkey = make([]byte, 8192), va, rkey
	if _, err := p.host.RegisterMR(va, rkey, p.memory, verbs.AccessRemoteWrite); err != nil {
		a.t.Fatal(err)
	}
	a.spec.Receivers = append(a.spec.Receivers, api.GroupReceiver{Address: p.host.Config().Addr})
	return p
}

// join is what an application says of itself.
func (p *app) join() []byte {
	j := wire.Join{HasMemory: p.memory != nil, RKey: p.rkey, VA: p.va, Length: uint64(len(p.memory)),
		HasToken: true}
	copy(j.Token[:], connectToken)
	return j.Append(nil)
}

func (a *apps) connect(name string, port uint16, private []byte) {
	p := a.app(name)
	id, err := p.host.CM.Connect(a.world.Now(), a.spec.ProxyAddress, port, private)
	if err != nil {
		a.t.Fatal(err)
	}
	p.id = id
	p.host.Wake()
}

func (a *apps) listen(name string) {
	p := a.app(name)
	p.host.CM.Listen(connectPort, func(cm.Request) cm.Reply { return cm.Reply{Private: p.join()} })
}

// poll takes the events of all hosts.
func (a *apps) poll() {
	for _, p := range a.all {
		for _, e := range p.host.CM.Events() {
			p.events = append(p.events, e)
			p.qp = e.QP
		}
	}
}

// wait goes on until something is so.
func (a *apps) wait(what string, is func() bool) {
	a.t.Helper()
	if !a.world.Run(a.world.Now()+40*time.Second, func() bool { a.poll(); return is() }) {
		for name, p := range a.all {
			a.t.Logf("%s: %+v", name, p.events)
		}
		a.t.Fatalf("%s: not within 40 s: %+v\n%v", what, a.status(), a.story)
	}
}

func (a *apps) up(names ...string) func() bool {
	return func() bool {
		return !slices.ContainsFunc(names, func(n string) bool { return a.all[n].qp == nil })
	}
}

// write has the source write data, and waits until it is acknowledged.
func (a *apps) write(text string) []byte {
	a.t.Helper()
	data := bytes.Repeat([]byte(text), 600)
	source := a.all["S1"]
	if err := source.qp.PostSend(verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: data,
		RemoteVA: groupVA, RKey: 1}); err != nil {
		a.t.Fatal(err)
	}
	source.host.Wake()
	a.wait("the write of "+text, func() bool {
		c, ok := source.qp.Poll()
		if ok && c.Status != verbs.StatusOK {
			a.t.Fatalf("completion %+v", c)
		}
		return ok
	})
	return data
}

func (a *apps) has(data []byte, names ...string) {
	a.t.Helper()
	for _, n := range names {
		if !bytes.Equal(a.all[n].memory[:len(data)], data) {
			a.t.Errorf("%s has %.20q..., want %.20q...", n, a.all[n].memory, data)
		}
	}
}

func (a *apps) state(name string) string {
	for _, c := range a.status().Connections {
		if c.Address == a.all[name].host.Config().Addr {
			return fmt.Sprint(c.State, " ", c.Role, " ", c.Listens)
		}
	}
	return ""
}

// TestConnect: applications that know an address and a port become a group. One receiver listens,
// two connect; the source waits for all of them; one joins late, one leaves, and the controller
// ends and begins again between.
func TestConnect(t *testing.T) {
	a := newApps(t, "R1", "R2", "R4")
	a.listen("R1")
	a.must(a.put())
	a.connect("S1", connectPort, a.all["S1"].join())
	a.connect("R2", connectPort+1, a.all["R2"].join())
	a.wait("R1 and R2", a.up("R1", "R2"))
	if a.all["S1"].qp != nil {
		t.Error("the source is connected before R4 is")
	}
	if got := a.status().Condition(api.Degraded); got == nil || got.Reason != api.ReasonNotConnected {
		t.Errorf("degraded: %+v", got)
	}
	a.connect("R4", connectPort+1, a.all["R4"].join())
	a.wait("the source", a.up("S1", "R4"))
	for name, want := range map[string]string{"S1": "established source false",
		"R1": "established receiver true", "R2": "established receiver false"} {
		a.wait(name, func() bool { return a.state(name) == want })
	}
	for _, n := range []string{"R1", "R2", "R4"} {
		if c := a.all[n].qp.Config(); c.RQPSN == 0xFFFFF0 || c.RemoteQPN != designatedQPN {
			t.Errorf("%s: %+v", n, c)
		}
	}
	if c := a.all["S1"].qp.Config(); c.SQPSN != 0xFFFFF0 || c.RemoteQPN != designatedQPN {
		t.Errorf("source: %+v", c)
	}
	for _, c := range a.status().Connections {
		for name, p := range a.all {
			if p.host.Config().Addr != c.Address {
				continue
			}
			qp, offset := p.qp.Config(), uint32(0)
			if name != "S1" {
				offset = packet.PSNAdd(qp.RQPSN, -0xFFFFF0)
			}
			if c.QPN != qp.QPN || c.PSNOffset != offset || (offset == 0) != (name == "S1") {
				t.Errorf("%s: %+v, want QPN %d and PSN offset %d", name, c, qp.QPN, offset)
			}
		}
	}
	a.has(a.write("first"), "R1", "R2", "R4")
	a.has(a.write("wraps"), "R1", "R2", "R4")

	// Another controller, and one more receiver.
	a.control.Stop()
	a.must(a.control.Start())
	a.wait("the switches again", a.connected)
	a.has(a.write("again"), "R1", "R2", "R4")
	a.receiver("R5", 0x9000, 77)
	a.listen("R5")
	a.must(a.put())
	a.wait("R5", a.up("R5"))
	a.wait("the tree", func() bool {
		r := a.status().Receivers
		return a.programmed() && r[len(r)-1].Programmed
	})
	a.has(a.write("third"), "R1", "R2", "R4", "R5")

	// R2 leaves, and the epoch stays.
	epoch := a.status().Epoch
	a.all["R2"].host.CM.Disconnect(a.world.Now(), a.all["R2"].id)
	a.all["R2"].host.Wake()
	a.wait("R2 to leave", func() bool { return a.state("R2") == "" && a.programmed() })
	if a.status().Epoch != epoch {
		t.Errorf("epoch %d, want %d", a.status().Epoch, epoch)
	}
	a.has(a.write("forth"), "R1", "R4", "R5")

	a.all["S1"].host.CM.Disconnect(a.world.Now(), a.all["S1"].id)
	a.all["S1"].host.Wake()
	a.wait("the source to leave", func() bool { return a.state("S1") == "" && a.programmed() })
}

// TestConnectAny: the spec names no host. The first host that connects to the port becomes the
// source. Hosts of the prefix that connect to the next port become receivers. The source waits for
// two receivers, and a third receiver joins during the write.
func TestConnectAny(t *testing.T) {
	a := newApps(t)
	a.spec.Source, a.spec.Receivers = api.GroupSource{}, nil
	a.spec.Connect.Source, a.spec.Connect.AtLeast = api.SourceAny, 2
	for i, name := range []string{"R1", "R2", "R4"} {
		p := a.receiver(name, uint64(0x1000*(i+1)), uint32(100+i))
		addr := p.host.Config().Addr
		a.spec.Receivers = nil
		if i < 2 {
			a.spec.Connect.Receivers = append(a.spec.Connect.Receivers,
				netip.PrefixFrom(addr, addr.BitLen()))
		} else {
			a.spec.Connect.Receivers = append(a.spec.Connect.Receivers,
				netip.PrefixFrom(addr, 120).Masked())
		}
	}
	a.must(a.put())
	if tree := a.status().Tree; tree != nil {
		t.Errorf("a tree without a source: %+v", tree)
	}
	a.connect("R1", connectPort+1, a.all["R1"].join())
	a.wait("R1", a.up("R1"))
	a.connect("S1", connectPort, a.all["S1"].join())
	a.world.Run(a.world.Now()+3*time.Second, func() bool { a.poll(); return false })
	if a.all["S1"].qp != nil {
		t.Error("the source is connected with one receiver of two")
	}
	other := a.all["R4"]
	a.connect("R4", connectPort, other.join())
	a.wait("the refusal of another source", func() bool { return len(other.events) > 0 })
	if e := other.events[0]; e.Kind != rdmacm.Refused || e.Reason != wire.ConsumerReject {
		t.Errorf("another source: %v, %v", e.Kind, e.Reason)
	}
	a.connect("R2", connectPort+1, a.all["R2"].join())
	a.wait("the source", a.up("S1", "R2"))
	a.has(a.write("first"), "R1", "R2")

	// Another controller goes on with them.
	a.control.Stop()
	a.must(a.control.Start())
	a.wait("the switches again", a.connected)
	a.has(a.write("again"), "R1", "R2")

	a.connect("R4", connectPort+1, other.join())
	for i := 0; other.qp == nil; i++ {
		a.write(fmt.Sprint("busy", i))
		if i == 200 {
			t.Fatalf("R4 has not joined: %+v", a.status())
		}
		a.world.Run(a.world.Now()+20*time.Millisecond, func() bool { a.poll(); return false })
	}
	a.has(a.write("third"), "R1", "R2", "R4")

	// The source leaves, and another host takes its place: receivers connect again.
	a.all["S1"].host.CM.Disconnect(a.world.Now(), a.all["S1"].id)
	a.all["S1"].host.Wake()
	a.wait("the source to leave", func() bool { return a.state("S1") == "" })
	a.app("R5").memory = make([]byte, 8192)
	a.connect("R5", connectPort, a.all["R5"].join())
	a.wait("the end of the receivers", func() bool {
		return a.all["R1"].qp == nil && a.all["R2"].qp == nil && other.qp == nil
	})
	// Hosts remember the pair of GUID and queue pair for a while, and refuse it as stale.
	a.world.Run(a.world.Now()+2*time.Second, func() bool { a.poll(); return false })
	a.connect("R1", connectPort+1, a.all["R1"].join())
	a.connect("R4", connectPort+1, other.join())
	a.wait("another source", a.up("R5", "R1", "R4"))
	a.all["S1"] = a.all["R5"]
	a.has(a.write("other"), "R1", "R4")
}

// TestConnectToken: the API does not return the token, a write without a token keeps the token, and
// another controller holds the token too.
func TestConnectToken(t *testing.T) {
	a := newApps(t, "R1")
	a.must(a.put())
	a.wait("the tree", a.programmed)
	read := func() *api.GroupConnect {
		g, err := a.control.Core().Groups().Get("g")
		a.must(err)
		return g.Spec.Connect
	}
	if c := read(); c.Token != "" {
		t.Errorf("the token is read back: %q", c.Token)
	}
	a.spec.Connect.Token, a.spec.EvictAfter = "", api.Duration(time.Minute)
	a.must(a.put())
	a.control.Stop()
	a.must(a.control.Start())
	a.wait("the switches again", a.connected)
	p := a.all["R1"]
	a.connect("R1", connectPort+1, wire.Join{HasToken: true}.Append(nil))
	a.wait("a refusal", func() bool { return len(p.events) > 0 })
	if e := p.events[0]; e.Kind != rdmacm.Refused || e.Reason != wire.ConsumerReject {
		t.Errorf("without the token: %v, %v", e.Kind, e.Reason)
	}
	a.connect("R1", connectPort+1, p.join())
	a.wait("R1", a.up("R1"))
}

// TestConnectBusy: a receiver that joins while the source never pauses waits, and joins when it
// does. Nothing of the others is lost.
func TestConnectBusy(t *testing.T) {
	a := newApps(t, "R1", "R2")
	a.must(a.put())
	a.connect("S1", connectPort, a.all["S1"].join())
	a.connect("R1", connectPort+1, a.all["R1"].join())
	a.connect("R2", connectPort+1, a.all["R2"].join())
	a.wait("the source", a.up("S1", "R1", "R2"))
	a.receiver("R4", 0x7000, 44)
	a.must(a.put())
	a.connect("R4", connectPort+1, a.all["R4"].join())
	source, open := a.all["S1"], 0
	post := func() {
		for ; open < 4; open++ {
			if err := source.qp.PostSend(verbs.WorkRequest{ID: 1, Op: verbs.OpWrite,
				Data: bytes.Repeat([]byte{7}, 6000), RemoteVA: groupVA, RKey: 1}); err != nil {
				t.Fatal(err)
			}
		}
		source.host.Wake()
	}
	drain := func() {
		for c, ok := source.qp.Poll(); ok; c, ok = source.qp.Poll() {
			if open--; c.Status != verbs.StatusOK {
				t.Fatalf("completion %+v", c)
			}
		}
	}
	for until := a.world.Now() + 250*time.Millisecond; a.world.Now() < until; {
		post()
		a.world.Run(
			a.world.Now()+10*time.Millisecond,
			func() bool { a.poll(); return source.qp.SendQueueLen() < 2 },
		)
		drain()
	}
	if a.all["R4"].qp != nil {
		t.Log("R4 has found a pause")
	}
	a.wait("the end of the writes", func() bool { drain(); return open == 0 })
	a.wait("R4", a.up("R4"))
	a.has(a.write("after"), "R1", "R2", "R4")
}

// TestConnectMTU: a queue pair whose packets the links of the tree do not carry is refused, with
// the largest path MTU that they carry.
func TestConnectMTU(t *testing.T) {
	a := newApps(t, "R1")
	a.must(a.put())
	a.wait("the tree", a.programmed)
	for _, c := range []struct {
		frame uint32 // that the switch of the source reports, of all its ports
		fits  bool
	}{{1500, false}, {4096 + 124 + 14 - 1, false}, {4096 + 124 + 14, true}} {
		ports := controller.PortStates{Up: make(map[uint32]bool)}
		for port := uint32(1); port <= 4; port++ {
			ports.Up[port] = true
			ports.Interfaces = append(ports.Interfaces, gnmi.Interface{Name: fmt.Sprint("eth", port),
				Port: port, Oper: gnmi.OperUp, Config: gnmi.Settings{MTU: &c.frame}})
		}
		a.must(a.control.Change(func(core *controller.Core) error {
			core.SetPorts("N6", ports)
			return nil
		}))
		p := a.all["R1"]
		p.events = nil
		a.connect("R1", connectPort+1, p.join())
		a.wait("an answer", func() bool { return len(p.events) > 0 })
		e := p.events[0]
		refused := e.Kind == rdmacm.Refused && e.Reason == wire.InvalidMTU
		if refused == c.fits {
			t.Errorf("frames of %d octets: %v, %v", c.frame, e.Kind, e.Reason)
		}
	}
}

// TestConnectRefused: who may not connect, with the reason that the application gets.
func TestConnectRefused(t *testing.T) {
	a := newApps(t, "R1")
	a.must(a.put())
	a.wait("the tree", a.programmed)
	wrong := wire.Join{HasToken: true, Token: [wire.TokenLen]byte{1}}.Append(nil)
	for _, c := range []struct {
		host    string
		port    uint16
		private []byte
		want    wire.Reason
	}{
		{"S1", connectPort, nil, wire.ConsumerReject},
		{"S1", connectPort, wrong, wire.ConsumerReject},
		{"S1", connectPort + 1, a.all["S1"].join(), wire.ConsumerReject},
		{"R1", connectPort, a.all["R1"].join(), wire.ConsumerReject},
		{"R1", connectPort + 2, a.all["R1"].join(), wire.InvalidServiceID},
	} {
		p := a.all[c.host]
		p.events = nil
		a.connect(c.host, c.port, c.private)
		a.wait("a refusal", func() bool { return len(p.events) > 0 })
		if e := p.events[0]; e.Kind != rdmacm.Refused || e.Reason != c.want {
			t.Errorf("%s to %d: %v, %v, want %v", c.host, c.port, e.Kind, e.Reason, c.want)
		}
	}
	// Whom the spec does not name gets no answer: the switch drops it.
	other := a.app("R2")
	a.connect("R2", connectPort+1, a.all["R1"].join())
	a.world.Run(a.world.Now()+3*time.Second, func() bool { a.poll(); return false })
	if len(other.events) != 0 {
		t.Errorf("R2: %+v", other.events)
	}
}
