package faults

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// Times of a Linux kernel for its neighbors (RFC 4861 §10): how long it trusts an answer, on
// average, and how long it then uses a neighbor until it asks; the pause between questions, and how
// many of them without an answer end a neighbor.
const (
	reachableTime = 30 * time.Second
	delayTime     = 5 * time.Second
	retransTime   = time.Second
	questions     = 3

	pingEvery = 250 * time.Millisecond
	pingLimit = time.Second // in which the reply has to come
)

// linux is a host that knows only its address: like a Linux kernel, the host uses the router that
// advertises itself, finds neighbors, and watches their reachability. The host sends and answers
// pings.
type linux struct {
	name    string
	mac     packet.MAC
	address netip.Addr
	onLink  netip.Prefix // of a static address; none of an advertised one
	world   *lab.World
	wire    *lab.Wire
	rng     *rand.Rand

	router    netip.Addr
	neighbors map[netip.Addr]*cached
	pings     map[uint32]time.Duration // without a reply, and when they were sent
	sent      uint32
	asked     int
	lost      int              // packets that had no neighbor
	heard     []packet.NDFrame // neighbor advertisements
}

// cached is an entry of the cache: RFC 4861 §7.3.2, without a MAC INCOMPLETE.
type cached struct {
	mac     packet.MAC
	trusted time.Duration // until when it is REACHABLE
	ask     time.Duration // when it is asked next; 0: not at all
	tries   int
	waiting [][]byte
}

func newLinux(w *lab.World, name string, seed uint64) (*linux, error) {
	node, err := w.Host(name)
	if err != nil {
		return nil, err
	}
	sw, _ := w.Network.Uplink(name)
	wire, err := w.Wire(name, sw)
	if err != nil {
		return nil, err
	}
	node.Stop() // this one is in its place
	h := &linux{name: name, mac: node.Config().MAC, address: node.Config().Addr, world: w, wire: wire,
		rng: rand.New(rand.NewPCG(seed, uint64(len(name)))), neighbors: make(map[netip.Addr]*cached),
		pings: make(map[uint32]time.Duration)}
	w.AddTap(h)
	return h, nil
}

// up is what a kernel says when its link comes up: it wants its address, and asks for routers.
func (h *linux) up() {
	h.say(netip.IPv6Unspecified(), packet.SolicitedNode(h.address), packet.MAC{},
		packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: h.address})
	h.say(packet.LinkLocal(h.mac), packet.AllRouters, packet.MAC{},
		packet.ND{Type: packet.ICMPv6RouterSolicitation, SourceMAC: h.mac})
	h.tick()
}

// say sends a message, to all where no MAC is known.
func (h *linux) say(src, dst netip.Addr, mac packet.MAC, m packet.ND) {
	if mac == (packet.MAC{}) {
		mac = packet.MulticastMAC(dst)
	}
	h.wire.Inject(packet.NDFrame{Ethernet: packet.Ethernet{Dst: mac, Src: h.mac},
		IP: packet.IPv6{Src: src, Dst: dst}, ND: m}.Append(nil))
}

// tick asks for the neighbors that are due.
func (h *linux) tick() {
	for a, n := range h.neighbors { // one or two, and the order shows nowhere
		if n.ask == 0 || n.ask > h.world.Now() {
			continue
		}
		if n.tries == questions {
			h.lost += len(n.waiting)
			delete(h.neighbors, a)
			continue
		}
		n.tries++
		n.ask = h.world.Now() + retransTime
		h.asked++
		src, dst := packet.LinkLocal(h.mac), a
		if h.onLink.Contains(a) {
			src = h.address
		}
		if n.mac == (packet.MAC{}) {
			dst = packet.SolicitedNode(a)
		}
		h.say(src, dst, n.mac, packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: a,
			SourceMAC: h.mac})
	}
	h.world.After(pingEvery/2, h.tick)
}

// ping sends an echo request to an address again and again.
func (h *linux) ping(to netip.Addr, until time.Duration) {
	if h.world.Now() >= until {
		return
	}
	h.sent++
	h.pings[h.sent] = h.world.Now()
	h.echo(packet.ICMPv6EchoRequest, h.sent, to)
	h.world.After(pingEvery, func() { h.ping(to, until) })
}

// echo sends an echo request or a reply by the next hop.
func (h *linux) echo(typ uint8, number uint32, to netip.Addr) {
	m := binary.BigEndian.AppendUint32([]byte{typ, 0, 0, 0}, number)
	binary.BigEndian.PutUint16(m[2:], packet.ICMPv6Checksum(h.address, to, m))
	b := packet.Ethernet{Src: h.mac, EtherType: packet.EtherTypeIPv6}.Append(nil)
	b = packet.IPv6{PayloadLength: uint16(len(m)), NextHeader: packet.NextHeaderICMPv6, HopLimit: 64,
		Src: h.address, Dst: to}.Append(b)
	h.send(to, append(b, m...))
}

func (h *linux) send(to netip.Addr, frame []byte) {
	hop := h.router
	if h.onLink.Contains(to) {
		hop = to
	}
	if !hop.IsValid() {
		h.lost++
		return
	}
	n := h.neighbors[hop]
	switch {
	case n == nil:
		h.neighbors[hop] = &cached{ask: h.world.Now(), waiting: [][]byte{frame}}
		return
	case n.mac == (packet.MAC{}):
		n.waiting = append(n.waiting, frame)
		return
	case n.trusted < h.world.Now() && n.ask == 0: // STALE, and in use
		n.ask = h.world.Now() + delayTime
	}
	copy(frame, n.mac[:])
	h.wire.Inject(frame)
}

// forget is "ip neighbor flush".
func (h *linux) forget() { clear(h.neighbors) }

// late returns the pings that have had no reply in time.
func (h *linux) late() (n int) {
	for _, at := range h.pings {
		if h.world.Now()-at > pingLimit {
			n++
		}
	}
	return n
}

// Sent implements lab.Tap.
func (*linux) Sent(time.Duration, *lab.Wire, []byte) {}

// Arrived implements lab.Tap.
func (h *linux) Arrived(_ time.Duration, w *lab.Wire, frame []byte) {
	if w.To != h.name {
		return
	}
	if f, err := packet.ParseNDFrame(frame); err == nil {
		h.hears(&f)
		return
	}
	const at = packet.EthernetLen + packet.IPv6Len
	ip, _, err := packet.ParseIPv6(frame[packet.EthernetLen:])
	if err != nil || ip.NextHeader != packet.NextHeaderICMPv6 || ip.Dst != h.address ||
		len(frame) < at+8 || packet.MAC(frame[:6]) != h.mac {
		return
	}
	switch number := binary.BigEndian.Uint32(frame[at+4:]); frame[at] {
	case packet.ICMPv6EchoRequest:
		h.echo(packet.ICMPv6EchoReply, number, ip.Src)
	case packet.ICMPv6EchoReply:
		delete(h.pings, number)
	}
}

func (h *linux) hears(f *packet.NDFrame) {
	switch m := &f.ND; m.Type {
	case packet.ICMPv6RouterAdvertisement:
		h.router = f.IP.Src
		if h.neighbors[h.router] == nil {
			h.neighbors[h.router] = &cached{mac: m.SourceMAC}
		}
	case packet.ICMPv6NeighborSolicitation:
		if m.Target == h.address && !f.IP.Src.IsUnspecified() {
			h.say(h.address, f.IP.Src, f.Ethernet.Src, packet.ND{Type: packet.ICMPv6NeighborAdvertisement,
				Target: h.address, Solicited: true, Override: true, TargetMAC: h.mac})
		}
	case packet.ICMPv6NeighborAdvertisement:
		h.heard = append(h.heard, *f)
		n := h.neighbors[m.Target]
		if n == nil {
			return
		}
		n.mac = m.TargetMAC
		n.trusted, n.ask, n.tries = h.world.Now(), 0, 0
		if m.Solicited {
			n.trusted += time.Duration(float64(reachableTime) * (0.5 + h.rng.Float64()))
		}
		for _, frame := range n.waiting {
			copy(frame, n.mac[:])
			h.wire.Inject(frame)
		}
		n.waiting = nil
	}
}
