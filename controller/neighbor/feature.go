package neighbor

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Times of the feature.
const (
	// gather is the time to collect bindings before the controller plans the network with the
	// bindings.
	gather = 20 * time.Millisecond
	// answerGap lies between two advertisements to a port that asks for them.
	answerGap = 100 * time.Millisecond
	// askMin and askMax bound the growing pauses between questions for a silent host.
	askMin = time.Second
	askMax = 30 * time.Second
	// eventGap is the pause between two events of a port with the same refusal.
	eventGap = time.Minute
)

// maxElsewhere is how many ports are asked whether they have an address.
const maxElsewhere = 64

// Feature answers the hosts of a controller's switches, and finds them.
type Feature struct {
	feature.Base
	env *feature.Env
	// tables holds the bindings of the first ports of hosts, of the second ports, and so on: a host of
	// several planes has one address at all ports.
	tables []*Table
	// Reserved reports whether a group has an address. No host may have a reserved address.
	Reserved func(netip.Addr) bool
	// PortMTU returns the largest packet of a port, as reported by the switch. 0: unknown. May be nil.
	PortMTU func(sw string, port uint32) uint32

	switches map[string]*switchState
	wanted   map[Ask]*wanted
	seen     map[netip.Addr]time.Duration // hosts of the configuration
	told     map[telling]time.Duration
	counts   Counts

	// due is when the network is planned anew, 0: no binding has changed. moved: it is time.
	due       time.Duration
	moved     bool
	unsaved   map[bound]bool
	completed *inventory.Inventory
	of        *inventory.Inventory // that completed was made of
	stale     bool                 // completed must be made again
}

// Counts are messages since the start.
type Counts struct {
	// Advertised counts sent Router Advertisements, Asked solicitations, and Defended answers for an
	// address of another host.
	Advertised, Asked, Defended uint64
	// Heard counts valid messages of hosts, Invalid messages that receivers must discard, and Forged
	// messages that name a MAC other than the sender's.
	Heard, Invalid, Forged uint64
	// Refused counts claims that bind nothing.
	Refused map[Refusal]uint64
	// Bindings is the present number of bindings.
	Bindings int
}

// switchState is the known state of a switch.
type switchState struct {
	connected bool
	up        map[uint32]bool          // the ports that it reports, and whether they are up
	next      time.Duration            // when it advertises itself next
	answered  map[uint32]time.Duration // when a port was advertised to
}

// bound is a binding: an address and the index of the host port with the address, from 0.
type bound struct {
	address netip.Addr
	port    int
}

// wanted is a port of a host of the configuration without a MAC.
type wanted struct {
	next time.Duration
	gap  time.Duration
}

// telling has an event's facts about a port.
type telling struct {
	at  At
	why Refusal
}

// New returns the feature, which knows no host.
func New(env *feature.Env) *Feature {
	f := &Feature{env: env, switches: make(map[string]*switchState),
		wanted: make(map[Ask]*wanted), seen: make(map[netip.Addr]time.Duration),
		told: make(map[telling]time.Duration), unsaved: make(map[bound]bool),
		Reserved: func(netip.Addr) bool { return false }}
	f.counts.Refused = make(map[Refusal]uint64)
	f.tables = []*Table{NewTable((*rules)(f))}
	return f
}

// table returns the table of the ports of hosts with a number, from 0.
func (f *Feature) table(port int) *Table {
	for len(f.tables) <= port {
		f.tables = append(f.tables, NewTable((*rules)(f)))
	}
	return f.tables[port]
}

func (f *Feature) cfg() *inventory.Neighbors { return &f.env.Inventory().Neighbors }

// Counts returns the messages since the start; ok is false when nothing is answered.
func (f *Feature) Counts() (c Counts, ok bool) {
	c = f.counts
	c.Refused = maps.Clone(c.Refused)
	for _, t := range f.tables {
		c.Bindings += len(t.Bound())
	}
	return c, f.cfg().On()
}

func (f *Feature) state(sw string) *switchState {
	s := f.switches[sw]
	if s == nil {
		s = &switchState{answered: make(map[uint32]time.Duration)}
		f.switches[sw] = s
	}
	return s
}

// mac returns the MAC of a switch.
func (f *Feature) mac(sw string) packet.MAC {
	if s := f.env.Net.Switch(sw); s != nil {
		return packet.MAC(s.MAC)
	}
	return packet.MAC{}
}

// SetNetwork implements feature.Feature.
func (f *Feature) SetNetwork() {
	for sw := range f.switches {
		if !f.env.Switches.Exists(sw) {
			delete(f.switches, sw)
		}
	}
	for port, t := range f.tables {
		t.Check()
		t.Release(func(b *Binding) bool { return f.given(port, b) })
	}
	f.follow()
}

// SetPorts replaces the port states that a switch reports.
func (f *Feature) SetPorts(sw string, up map[uint32]bool) {
	if !f.env.Switches.Exists(sw) {
		return
	}
	st := f.state(sw)
	before := st.up
	st.up = maps.Clone(up)
	if !f.cfg().On() || !st.connected {
		return
	}
	mtu := sync.OnceValue(f.hostMTU) // it looks at all links
	for _, port := range f.ports(sw) {
		if up[port] && !before[port] {
			f.advertise(At{sw, port}, mtu())
			for ask, w := range f.wanted {
				if ask.At == (At{sw, port}) {
					w.next, w.gap = f.env.Now, askMin
				}
			}
		}
	}
}

// ports returns the ports of a switch that face hosts.
func (f *Feature) ports(sw string) []uint32 {
	if s := f.env.Net.Switch(sw); s != nil && s.ProgramsP4() {
		return f.env.Net.HostPorts(s)
	}
	return nil
}

// SwitchEvent implements feature.Feature.
func (f *Feature) SwitchEvent(sw string, e feature.SwitchEvent) {
	switch e.Kind {
	case feature.ReadBack:
		if st := f.state(sw); !st.connected && f.env.Switches.Connected(sw) {
			st.connected, st.next = true, f.env.Now
		}
	case feature.Disconnected:
		if st := f.switches[sw]; st != nil {
			st.connected = false
		}
	case feature.GotPacket:
		if e.PacketIn.Reason == entry.Neighbor && f.cfg().On() {
			f.receive(At{sw, uint32(e.PacketIn.IngressPort)}, e.PacketIn.Payload)
			f.follow()
		}
	}
}

// receive takes a frame that came by a port.
func (f *Feature) receive(at At, frame []byte) {
	var c Claim
	var ok, forged, router bool
	m, err := packet.ParseNDFrame(frame)
	if err == nil {
		c, ok, forged = claimOf(at, &m)
		router = m.ND.Type == packet.ICMPv6RouterSolicitation
	} else if a, isARP := packet.ParseARPFrame(frame); isARP == nil {
		err = nil
		c, ok, forged = claimOfARP(at, &a)
	}
	if err != nil || !slices.Contains(f.ports(at.Switch), at.Port) {
		f.counts.Invalid++
		return
	}
	switch {
	case forged:
		f.counts.Forged++
	case router:
		f.counts.Heard++
		st := f.state(at.Switch)
		if last, before := st.answered[at.Port]; !before || f.env.Now-last >= answerGap {
			f.advertise(at, f.hostMTU())
		}
	case ok || f.env.Net.IsGateway(f.env.Net.Switch(at.Switch), c.Address): // link-local, it may be
		f.counts.Heard++
		port := 0
		if h := f.configured(c.Address); h != nil && attached(h, at) {
			f.seen[c.Address] = f.env.Now
			port = portOf(h, at)
			if !h.Attachments()[port].MAC.IsZero() {
				return // there is nothing to learn
			}
		}
		f.table(port).Heard(f.env.Now, c)
	}
}

// send sends a frame out of a port, and reports whether its switch is connected.
func (f *Feature) send(at At, frame []byte) bool {
	return f.env.Want.Send(at.Switch, entry.PacketOut{Op: entry.Send, Port: uint16(at.Port),
		Payload: frame})
}

// advertise sends the hosts of a port an advertisement of their router, with what hostMTU returns.
func (f *Feature) advertise(at At, mtu uint32) {
	prefix := netip.Prefix{}
	if s := f.env.Net.Switch(at.Switch).Subnet(at.Port); s != nil && s.Prefix.Bits() == 64 {
		prefix = s.Prefix
	}
	if f.send(at, advertisement(f.mac(at.Switch), uint16(inventory.RouterLifetime/time.Second),
		mtu, prefix)) {
		f.counts.Advertised++
		f.state(at.Switch).answered[at.Port] = f.env.Now
	}
}

// hostMTU returns the largest packet that hosts may send, 0: unknown. Packets of hosts may take any
// link between switches, so the lowest configured or reported MTU counts.
func (f *Feature) hostMTU() uint32 {
	n := *f.cfg()
	if f.PortMTU != nil {
		for i := range f.env.Inventory().Switches {
			sw := &f.env.Inventory().Switches[i]
			for _, port := range f.env.Net.FabricPorts(sw) {
				if m := f.PortMTU(sw.Name, port); m != 0 && (n.MTU == 0 || m < n.MTU) {
					n.MTU = m
				}
			}
		}
	}
	return n.HostMTU()
}

// Tick implements feature.Feature.
func (f *Feature) Tick() {
	if f.due != 0 && f.due <= f.env.Now {
		f.due, f.moved = 0, true
	}
	if !f.cfg().On() {
		return
	}
	mtu := sync.OnceValue(f.hostMTU) // it looks at all links
	for _, name := range slices.Sorted(maps.Keys(f.switches)) {
		if st := f.switches[name]; st.connected && st.next <= f.env.Now {
			for _, port := range f.ports(name) {
				if at := (At{name, port}); !f.isDown(at) {
					f.advertise(at, mtu())
				}
			}
			st.next = f.env.Now + f.cfg().Interval.D()
		}
	}
	for _, t := range f.tables {
		t.Tick(f.env.Now)
	}
	for _, ask := range slices.SortedFunc(maps.Keys(f.wanted), Ask.compare) {
		w := f.wanted[ask]
		if st := f.switches[ask.At.Switch]; st == nil || !st.connected || w.next > f.env.Now ||
			f.isDown(ask.At) {
			continue
		}
		f.ask(ask.At, ask.Address)
		w.next = f.env.Now + w.gap
		w.gap = min(2*w.gap, askMax)
	}
	f.follow()
}

// ask asks the hosts of a port for an address.
func (f *Feature) ask(at At, a netip.Addr) {
	if f.send(at, solicitation(f.mac(at.Switch), f.asking(at, a), a)) {
		f.counts.Asked++
	}
}

// asking returns the sender address for an ARP request of a switch: the gateway of the port. For a
// port without a gateway, asking returns no address, like an ARP probe (RFC 5227 §2.1.1).
func (f *Feature) asking(at At, a netip.Addr) netip.Addr {
	sw := f.env.Net.Switch(at.Switch)
	if !a.Is4() || sw == nil {
		return netip.Addr{}
	}
	if s := sw.SubnetOf(at.Port, a); s != nil {
		return s.Gateway()
	}
	return f.env.Net.GatewayOf(sw, a)
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	if f.moved {
		return f.env.Now, true
	}
	earliest := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if f.due != 0 {
		earliest(f.due)
	}
	if !f.cfg().On() {
		return at, ok
	}
	for _, st := range f.switches {
		if st.connected {
			earliest(st.next)
		}
	}
	for _, t := range f.tables {
		if due, also := t.Next(); also {
			earliest(due)
		}
	}
	for ask, w := range f.wanted {
		if st := f.switches[ask.At.Switch]; st != nil && st.connected && !f.isDown(ask.At) {
			earliest(w.next)
		}
	}
	return at, ok
}

func (f *Feature) isDown(at At) bool {
	st := f.switches[at.Switch]
	if st == nil {
		return false
	}
	up, known := st.up[at.Port]
	return known && !up
}

// follow carries out what the tables have decided.
func (f *Feature) follow() {
	for port, t := range f.tables {
		f.carryOut(port, t.Take())
	}
}

func (f *Feature) carryOut(port int, out Output) {
	for _, a := range out.Asks {
		f.ask(a.At, a.Address)
	}
	for _, c := range out.Defends {
		if f.send(c.At, defense(f.mac(c.At.Switch), c.Address)) {
			f.counts.Defended++
		}
	}
	for _, c := range out.Changes {
		f.changed(port, &c)
	}
}

// changed keeps and announces a change of the table of a port.
func (f *Feature) changed(port int, c *Change) {
	b, name := &c.Binding, f.nameOf(c.Binding.Address)
	if c.Kind == Refused {
		f.counts.Refused[c.Why]++
		t := telling{b.At, c.Why}
		if last, before := f.told[t]; before && f.env.Now-last < eventGap {
			return
		}
		f.told[t] = f.env.Now
		f.env.Event(api.EventHostRefused, b.Address.String(), fmt.Sprintf("%v at %v is not bound: %s",
			b.MAC, b.At, reasons[c.Why]), nil, says("", c, reasons[c.Why]))
		return
	}
	f.unsaved[bound{b.Address, port}], f.stale = true, true
	if f.due == 0 {
		f.due = f.env.Now + gather
	}
	switch c.Kind {
	case Bound:
		f.env.Event(api.EventHostBound, name, fmt.Sprintf("%v is %v at %v", b.Address, b.MAC, b.At), nil,
			says(name, c, ""))
	case Moved:
		f.env.Event(api.EventHostMoved, name, fmt.Sprintf("%v is %v at %v, and was at %v", b.Address,
			b.MAC, b.At, c.From), nil, says(name, c, ""))
	case Renewed:
		f.env.Event(api.EventHostMoved, name, fmt.Sprintf("%v is %v at %v now", b.Address, b.MAC, b.At),
			nil, says(name, c, ""))
	case Gone:
		text := fmt.Sprintf("%v at %v does not answer", b.Address, b.At)
		if c.Why != "" {
			text = fmt.Sprintf("%v is not bound to %v any more: %s", b.Address, b.At, reasons[c.Why])
		}
		f.env.Event(api.EventHostGone, name, text, nil, says(name, c, reasons[c.Why]))
	case Released: // the host stays as it is
		if b.Seen >= 0 {
			f.seen[b.Address] = b.Seen
		}
	}
}

// says returns the fields of an event about a host, or an address that it may not have.
func says(host string, c *Change, why string) api.EventFields {
	b := &c.Binding
	objects := []api.EventObject{{Kind: "address", ID: b.Address.String()}, {Kind: "mac",
		ID: b.MAC.String()}, {Kind: "port", ID: b.At.String()}}
	if host != "" {
		objects = slices.Insert(objects, 0, api.EventObject{Kind: "host", ID: host})
	}
	if c.Kind == Moved {
		objects = append(objects, api.EventObject{Kind: "former-port", ID: c.From.String()})
	}
	return api.EventFields{Objects: objects, Reason: why}
}

// reasons has the reasons of refusals in words.
var reasons = map[Refusal]string{
	RefusedGateway:  "it is an address of the switch",
	RefusedSID:      "it is in a prefix of SIDs",
	RefusedFabric:   "the fabric uses it",
	RefusedForeign:  "it is in no prefix of the port",
	RefusedOwned:    "the configuration has it elsewhere",
	RefusedInUse:    "the host that has it answered",
	RefusedLimit:    fmt.Sprintf("the port has %d addresses already", BindingsMax),
	RefusedNotGiven: "nothing is learned at the port",
}

// Moved reports whether hosts have come, gone or moved since the last call.
func (f *Feature) Moved() bool {
	moved := f.moved
	f.moved = false
	return moved
}
