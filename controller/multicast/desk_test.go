package multicast

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/connect"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

const door = 4242 // the port of sources; receivers connect to the next one

// Pauses of package connect.
const (
	redial   = 5 * time.Second
	soon     = 10 * time.Millisecond
	lateGap  = 100 * time.Millisecond
	lateWait = 10 * time.Second
)

// ready is an underlay that has all that groups wait for.
type ready struct{ feature.Underlay }

func (ready) Settled() bool     { return true }
func (ready) Ready(string) bool { return true }

// desk is the feature on the network of the draft, whose switches take everything at once: s1 is at
// n6, r1 and r2 at n1, r3 at n2, r4 and r5 at n3. Hosts are tests.
type desk struct {
	*testing.T
	*Feature
	hosts  *connect.Feature
	events reconcile.Events
	net    *sample.Net
	sent   map[netip.Addr][]cm.Message // to hosts, since they were looked at
	asked  int                         // switches were for states of branches
	polled []string                    // switches
	// state is the answer of a switch to such a question; false: it does not answer. nil: no branch
	// has reported.
	state  func(sw string, p entry.PacketOut) (entry.PacketIn, bool)
	refuse map[string]int // by switch: the updates that it refuses of a write, at most
	next   uint32         // communication id
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	net := sample.Figure1()
	start := time.Unix(1e9, 0)
	want, state, events, err := reconcile.New(reconcile.Config{Start: start, Rank: plan.Rank,
		Owner:    func(e entry.Entity) reconcile.Owner { return reconcile.Owner(plan.OwnerOf(e)) },
		Frozen:   func(string, reconcile.Owner) bool { return false },
		Keeps:    func(string, reconcile.Owner, entry.Entity) bool { return false },
		Object:   func(reconcile.Owner) string { return "" },
		Intended: func(o reconcile.Owner) bool { return plan.Intended(int(o)) }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, events: events, net: net, sent: make(map[netip.Addr][]cm.Message), next: 100,
		Feature: New(&feature.Env{Start: start, Want: want, Switches: state, Underlay: ready{},
			Versions: resource.NewVersions("versions"),
			Net:      plan.NewNetwork(net.Topology.Build(), &net.Inventory)})}
	d.hosts = connect.New(d.env, d.Feature)
	names := make(map[string]bool)
	for i := range net.Inventory.Switches {
		names[net.Inventory.Switches[i].Name] = true
	}
	events.SetSwitches(names, reconcile.Intervals{RetryMin: time.Hour, RetryMax: time.Hour})
	d.Start()
	for name := range names {
		events.Connect(name, entry.Contents{})
		d.SwitchEvent(name, feature.SwitchEvent{Kind: feature.ReadBack})
	}
	d.carry()
	return d
}

// SwitchEvent is that of both features, like the methods below.
func (d *desk) SwitchEvent(sw string, e feature.SwitchEvent) {
	d.Feature.SwitchEvent(sw, e)
	d.hosts.SwitchEvent(sw, e)
}

func (d *desk) Settle() bool {
	more := d.Feature.Settle()
	return d.hosts.Settle() || more
}

func (d *desk) Tick() {
	d.Feature.Tick()
	d.hosts.Tick()
}

func (d *desk) Next() (time.Duration, bool) {
	at, ok := d.Feature.Next()
	if t, also := d.hosts.Next(); also && (!ok || t < at) {
		return t, true
	}
	return at, ok
}

// settled reports whether nothing of a group is under way.
func (d *desk) settled(g *group) bool {
	_, _, settled := grown{d.Feature, g}.Now()
	return settled
}

// carry makes the switches take the wanted entities, and send the requested packets.
func (d *desk) carry() {
	for d.step() {
	}
}

// step is one round of carry. It reports whether there may be more to do.
func (d *desk) step() (more bool) {
	more = d.events.Diff(func(sw string, o reconcile.Owner) {
		d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.Progress, Owner: o})
	})
	more = d.Settle() || more
	d.Report()
	for _, task := range d.events.Tasks(0, 0) {
		more = true
		for _, p := range task.Packets {
			d.out(task.Switch, p)
		}
		if task.ID != 0 {
			r := reconcile.Result{Switch: task.Switch, ID: task.ID}
			for i := range min(d.refuse[task.Switch], task.Updates()) {
				r.Refused = append(r.Refused, entry.Refusal{Update: i, Message: "of the test"})
			}
			d.events.Done(r)
		}
	}
	return more
}

// out takes a packet of a switch: a message to a host, or a question for a state.
func (d *desk) out(sw string, p entry.PacketOut) {
	switch p.Op {
	case entry.Send:
		f, _, err := cm.ParseFrame(p.Payload)
		if err != nil {
			d.Fatal(err)
		}
		d.sent[f.IPv6.Dst] = append(d.sent[f.IPv6.Dst], f.MAD.Message)
	case entry.Poll:
		d.polled = append(d.polled, sw)
	case entry.State:
		d.asked++
		in, answers := entry.PacketIn{}, true
		if d.state != nil {
			in, answers = d.state(sw, p)
		}
		in.Reason, in.Group, in.Branch = entry.StateAnswer, p.Group, p.Branch
		if answers {
			d.arrives(sw, in)
		}
	}
}

// away has a switch be disconnected, and back connected again, empty.
func (d *desk) away(sw string) {
	d.events.Disconnect(sw, "of the test")
	d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.Disconnected})
}

func (d *desk) back(sw string) {
	d.events.Connect(sw, entry.Contents{})
	d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.ReadBack})
}

func (d *desk) arrives(sw string, p entry.PacketIn) {
	d.SwitchEvent(sw, feature.SwitchEvent{Kind: feature.GotPacket, PacketIn: &p})
}

// pass lets time pass.
func (d *desk) pass(by time.Duration) {
	for end := d.env.Now + by; ; {
		d.carry()
		at, ok := d.Next()
		if !ok || at > end {
			d.env.Now = end
			d.events.Tick(end)
			return
		}
		d.env.Now = max(at, d.env.Now)
		d.events.Tick(d.env.Now)
		d.Tick()
	}
}

// group makes the i-th group, to which every host may connect.
func (d *desk) group(i int, change func(*api.MulticastGroupSpec)) *group {
	d.Helper()
	spec := api.MulticastGroupSpec{DesignatedQPN: 0xabc, InitialPSN: 1000,
		ProxyAddress: netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0xff, 0xff, 15: byte(i)}),
		Connect: &api.GroupConnect{Port: door, Source: api.SourceAny,
			Receivers: []netip.Prefix{netip.MustParsePrefix("2001:db8:1::/64")}}}
	if change != nil {
		change(&spec)
	}
	name := string(rune('a' + i - 1))
	if _, _, err := d.Groups().Put(name, spec, resource.Precondition{}); err != nil {
		d.Fatal(err)
	}
	d.pass(time.Second)
	d.env.Take()
	return d.groups[name]
}

// listener makes the i-th group, whose one receiver r1 listens, and returns how r1 is asked.
func (d *desk) listener(i int) (*group, cm.REQ) {
	d.Helper()
	g := d.group(i, func(s *api.MulticastGroupSpec) {
		s.Receivers = []api.GroupReceiver{{Address: sample.HostAddress(2)}}
	})
	req, ok := d.heard("r1")[0].(cm.REQ)
	if !ok {
		d.Fatal("the listener is not asked")
	}
	return g, req
}

// call is a request of a host.
type call struct {
	host string
	qpn  uint32
	port uint16 // of the service
	req  cm.REQ // the fields that are not as usual
	at   inventory.Attachment
	to   netip.Addr
	tid  uint64
}

// asks sends a request, and returns its communication id.
func (d *desk) asks(g *group, c call) uint32 {
	r := c.req
	if r.LocalID == 0 {
		d.next++
		r.LocalID = d.next
	}
	if r.ServiceID == 0 {
		r.ServiceID = cm.ServiceID(c.port)
	}
	if r.PathMTU == 0 {
		r.PathMTU = cm.MTU1024
	}
	if r.CAGUID == 0 {
		r.CAGUID = 7
	}
	r.QPN, r.StartingPSN = c.qpn, 55
	d.says(g, c, r)
	return r.LocalID
}

// says sends a message of a host to a group.
func (d *desk) says(g *group, c call, m cm.Message) {
	h := d.net.Inventory.Host(d.net.Address(c.host))
	if c.at.Switch == "" {
		c.at = inventory.Attachment{Switch: h.Switch, Port: h.Port}
	}
	if !c.to.IsValid() {
		c.to = g.item.Spec.ProxyAddress
	}
	if c.tid == 0 {
		c.tid = uint64(d.next)
	}
	f := cm.Frame{Ethernet: packet.Ethernet{Src: packet.MAC(h.MAC)}, IPv6: packet.IPv6{HopLimit: 64,
		Src: h.Address, Dst: c.to}, SrcPort: 0xC001, PKey: packet.DefaultPKey, SourceQPN: cm.GSI,
		MAD: cm.MAD{TID: c.tid, Message: m}}
	d.arrives(c.at.Switch, entry.PacketIn{Reason: entry.Connect, IngressPort: uint16(c.at.Port),
		Group: g.index, Payload: f.Append(nil)})
	d.carry()
}

// heard returns what a host was sent since the last call.
func (d *desk) heard(host string) []cm.Message {
	a := d.net.Address(host)
	out := d.sent[a]
	delete(d.sent, a)
	return out
}

// refusal returns the only answer to a host's request, which must be a REJ, and the text of the
// REJ.
func (d *desk) refusal(host string) (r cm.REJ, text string) {
	d.Helper()
	got := d.heard(host)
	if len(got) != 1 {
		d.Fatalf("%s got %+v, want a REJ", host, got)
	}
	r, ok := got[0].(cm.REJ)
	if !ok {
		d.Fatalf("%s got %+v, want a REJ", host, got)
	}
	return r, string(bytes.TrimRight(r.Private[:], "\x00"))
}

// accepted has a receiver, whose request was answered, be connected. It returns the answer.
func (d *desk) accepted(g *group, host string, id uint32) (rep cm.REP) {
	d.Helper()
	got := d.heard(host)
	if len(got) == 0 {
		d.Fatalf("%s got nothing, want a REP", host)
	}
	rep, ok := got[len(got)-1].(cm.REP)
	if !ok || rep.RemoteID != id {
		d.Fatalf("%s got %+v, want a REP for %d", host, got, id)
	}
	d.says(g, call{host: host}, cm.RTU{LocalID: id, RemoteID: rep.LocalID})
	return rep
}

// joins connects a receiver that is taken.
func (d *desk) joins(g *group, host string, qpn uint32) (cm.REP, uint32) {
	d.Helper()
	id := d.asks(g, call{host: host, qpn: qpn, port: door + 1})
	return d.accepted(g, host, id), id
}

// conns are the connections of a host with a group.
func (d *desk) conns(g *group, host string) []rdmacm.Conn {
	return slices.DeleteFunc(slices.Clone(g.Connections), func(c rdmacm.Conn) bool {
		return c.Peer != d.net.Address(host)
	})
}

// busy has something to be written to a switch for a group.
func (d *desk) busy(sw string, g *group) { d.env.Want.Set(sw, g.owner(), g.entities(sw), nil) }

// put writes the spec of a group anew, with a change.
func (d *desk) put(g *group, change func(*api.MulticastGroupSpec)) api.MulticastGroup {
	d.Helper()
	spec := g.item.Spec.Clone()
	change(&spec)
	r, _, err := d.Groups().Put(g.name, spec, resource.Precondition{})
	if err != nil {
		d.Fatal(err)
	}
	d.Settle()
	return r
}

// saved reports whether a group is to be written to the store.
func (d *desk) saved(g *group) bool { return d.writes()[Kind.Prefix+g.name] }

// writes returns the keys to write to the store since the last call, with false for keys to delete.
func (d *desk) writes() map[string]bool {
	out := make(map[string]bool)
	for _, op := range d.Changes() {
		out[op.Key] = op.Value != nil
	}
	return out
}
