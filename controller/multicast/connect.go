package multicast

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Source and receivers of a group with spec.connect connect by RDMA CM. The controller is the peer
// of each connection, at the proxy address. The queue pairs from the applications replace the queue
// pairs of the spec. The tree leaves out hosts without a connection, like evicted hosts.

// The controller asks a listening host again after redial, or after soon if the switch of the host
// is not ready. The controller waits 4.096 us times 2^waitExponent (17 s) for the answer of the
// host, and a source waits as long for the answer of the tree.
const (
	redial       = 5 * time.Second
	soon         = 10 * time.Millisecond
	waitExponent = 22
)

// joined is what the controller knows of a receiver beside its connection.
type joined struct {
	Conn uint32 `json:"conn"`
	// PSN and MSN are the group's at which it begins.
	PSN uint32 `json:"psn"`
	MSN uint32 `json:"msn,omitempty"`
}

// place is a place in the packets of a source.
type place struct {
	PSN   uint32 `json:"psn,omitempty"` // of the next packet
	MSN   uint32 `json:"msn,omitempty"`
	Known bool   `json:"known,omitempty"`
}

// connections holds the RDMA CM connections of a group.
type connections struct {
	cm     *rdmacm.Manager // nil: the group has no spec.connect
	source uint32          // the connection of the source, 0 for none
	// sourceAt is the address of the present or last source, if any host may be the source.
	sourceAt netip.Addr
	// first is the first PSN of the connected source.
	first     uint32
	reached   place // what the source has got to, as far as it was asked for
	beginning bool  // first is being asked for
	receivers map[netip.Addr]joined
	// late holds receivers that joined after the source and may have missed packets.
	late    map[netip.Addr]*lateJoin
	refused map[netip.Addr]string
	psn     uint32 // of frames
}

// startConnections starts RDMA CM for a group with spec.connect, unless RDMA CM already runs for
// the group.
func (f *Feature) startConnections(g *group) {
	if g.item == nil || g.item.Spec.Connect == nil || g.cm != nil {
		return
	}
	g.cm = rdmacm.New(rdmacm.Config{First: uint32(f.env.Wall().Unix()) << 6})
	if g.receivers == nil {
		g.receivers = make(map[netip.Addr]joined)
	}
	g.late, g.refused = make(map[netip.Addr]*lateJoin), make(map[netip.Addr]string)
	for _, c := range g.kept {
		g.cm.Load(f.now(), c)
	}
	g.kept = nil
	f.resume(g)
	f.dial(g)
}

// resume continues with the connections that an earlier controller has not answered.
func (f *Feature) resume(g *group) {
	for _, c := range g.cm.Conns() {
		switch {
		case c.State != rdmacm.Asked && c.State != rdmacm.Answered:
		case c.LocalID == g.source:
			f.beginSource(g)
		default:
			if g.receivers[c.Peer].Conn == c.LocalID {
				delete(g.receivers, c.Peer) // it may have missed something
			}
			f.joinLate(g, &c)
		}
	}
}

// connects reports whether a group is still there, and connects its members.
func (f *Feature) connects(g *group) bool {
	return g.item != nil && g.cm != nil
}

// now is a time above 0, as package rdmacm wants it.
func (f *Feature) now() time.Duration { return f.env.Now + 1 }

// conns returns the records of the connections.
func (g *group) conns() []rdmacm.Conn {
	if g.cm == nil {
		return g.kept
	}
	return g.cm.Conns()
}

// guid returns the CA GUID of a group. Hosts use the GUID to distinguish groups with the same
// designated queue pair.
func guid(proxy netip.Addr) uint64 {
	sum := sha256.Sum256(proxy.AsSlice())
	return binary.BigEndian.Uint64(sum[:])
}

// filled returns the spec with the queue pairs of the connected receivers, and the set of receivers
// without a connection or listed in without.
func (g *group) filled(spec *api.MulticastGroupSpec, without map[netip.Addr]bool) (
	*api.MulticastGroupSpec, map[netip.Addr]bool,
) {
	if spec.Connect == nil {
		return spec, without
	}
	s, left := spec.Clone(), make(map[netip.Addr]bool)
	if spec.Connect.Source == api.SourceAny {
		s.Source.Address = g.sourceAt
	}
	for _, a := range g.guests(spec) {
		s.Receivers = append(s.Receivers, api.GroupReceiver{Address: a})
	}
	if g.cm != nil {
		if c, ok := g.cm.Conn(g.source); ok {
			s.Source.QPN = c.PeerQPN
		}
	}
	noSource := !s.Source.Address.IsValid()
	for i := range s.Receivers {
		r := &s.Receivers[i]
		if left[r.Address] = true; g.cm == nil || noSource || without[r.Address] {
			continue
		}
		j := g.receivers[r.Address]
		c, has := g.cm.Conn(j.Conn)
		if !has {
			continue
		}
		delete(left, r.Address)
		begin, first := j.PSN, c.PeerPSN
		r.QPN, r.StartPSN, r.StartMSN, r.PSN = c.PeerQPN, &begin, j.MSN, &first
		if m := memory(&c); m.HasMemory {
			r.VA, r.RKey = &m.VA, &m.RKey
		}
	}
	return &s, left
}

// guests returns the connected receivers that the spec does not name, in order.
func (g *group) guests(spec *api.MulticastGroupSpec) (out []netip.Addr) {
	for a := range g.receivers {
		if !spec.HasReceiver(a) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// memory returns the private data of an application (memory and token), or zero values.
func memory(c *rdmacm.Conn) cm.Join {
	var b [cm.JoinLen]byte
	copy(b[:], c.Private)
	j, _, err := cm.ParseJoin(b[:])
	if err != nil {
		return cm.Join{}
	}
	return j
}

// gotMessage takes a frame of RDMA CM that came by a port.
func (f *Feature) gotMessage(sw string, p entry.PacketIn) {
	g := f.byIndex[p.Group]
	if g == nil || g.item == nil || g.cm == nil {
		return
	}
	frame, _, err := cm.ParseFrame(p.Payload)
	if err != nil || frame.IPv6.Dst != g.item.Spec.ProxyAddress {
		return
	}
	// The source guard admits what the port has. Here it must be the host's own.
	h := f.env.Net.Host(frame.IPv6.Src)
	if h == nil || h.Switch != sw || !slices.Contains(h.Ingress, uint32(p.IngressPort)) {
		return
	}
	g.cm.Receive(f.now(), frame.IPv6.Src, frame.MAD)
	f.settleConnections(g)
}

// settleConnections sends the messages of connections, and applies their events.
func (f *Feature) settleConnections(g *group) {
	if g.cm == nil {
		return
	}
	moved := false
	for {
		packets, events := g.cm.Take()
		for _, p := range packets {
			f.sendMessage(g, p)
		}
		if len(events) == 0 {
			break
		}
		for i := range events {
			moved = f.connectionEvent(g, &events[i]) || moved
		}
	}
	changed := len(g.cm.Changed()) > 0
	if moved {
		f.place(g, false)
	}
	if changed || moved {
		f.status.add(g.index)
		f.takePairs(g)
		f.save(g)
	}
	f.admitSource(g)
	if at, ok := g.cm.Next(); ok {
		f.timers.Set(at-1, func() { f.tickConnections(g) })
	}
}

// tickConnections repeats what is due.
func (f *Feature) tickConnections(g *group) {
	if !f.connects(g) {
		return
	}
	if at, ok := g.cm.Next(); ok && at <= f.now() {
		g.cm.Tick(f.now())
		f.settleConnections(g)
	}
}

// sendMessage makes the switch of a host send a message of a group to the host.
func (f *Feature) sendMessage(g *group, p rdmacm.Packet) {
	h := f.env.Net.Host(p.To)
	if h == nil || h.At == nil || len(h.Ingress) == 0 || h.MAC.IsZero() || g.item == nil {
		return
	}
	var mac packet.MAC
	for _, a := range f.env.Net.HostsAt(h.Switch) {
		if a.Host == h.Host {
			mac = a.MAC
		}
	}
	frame := cm.Frame{Ethernet: packet.Ethernet{Dst: mac, Src: packet.MAC(h.At.MAC)},
		IPv6:    packet.IPv6{HopLimit: 64, Src: g.item.Spec.ProxyAddress, Dst: p.To},
		SrcPort: 0xC000 | g.index, PKey: packet.DefaultPKey, PSN: g.psn, SourceQPN: cm.GSI,
		MAD: p.MAD}
	g.psn = (g.psn + 1) & packet.PSNMask
	f.packetOut(h.Switch, entry.PacketOut{Op: entry.Send, Port: uint16(h.Hop.Port),
		Payload: frame.Append(nil)})
}

// connectionEvent takes what has happened to a connection. It reports whether the tree follows.
func (f *Feature) connectionEvent(g *group, e *rdmacm.Event) (moved bool) {
	c := &e.Conn
	switch e.Kind {
	case rdmacm.Requested:
		return f.requested(g, c)
	case rdmacm.Responded:
		if why := f.mayReceive(g, c); why != "" {
			f.refuse(g, c, cm.ConsumerReject, why)
			return false
		}
		return f.join(g, c)
	case rdmacm.Up:
		f.tellConnection(g, c, api.EventConnectionUp, "")
		return false
	case rdmacm.Down:
		f.tellConnection(g, c, api.EventConnectionDown, "")
	case rdmacm.Refused:
		// Who does not listen yet is asked again and again.
		if !c.Active || e.Reason != cm.InvalidServiceID {
			f.tellConnection(g, c, api.EventConnectionRefused, "by the host: "+e.Reason.String())
		}
	case rdmacm.Failed:
		if !c.Active {
			f.tellConnection(g, c, api.EventConnectionRefused, "the host does not answer")
		}
	}
	return f.left(g, c)
}

// left takes a connection that is over out of the group.
func (f *Feature) left(g *group, c *rdmacm.Conn) bool {
	if g.source == c.LocalID {
		g.source = 0
		return true
	}
	if l := g.late[c.Peer]; l != nil && l.conn == c.LocalID {
		delete(g.late, c.Peer)
	}
	if j, ok := g.receivers[c.Peer]; ok && j.Conn == c.LocalID {
		delete(g.receivers, c.Peer)
		return true
	}
	return false
}

func (f *Feature) tellConnection(g *group, c *rdmacm.Conn, t api.EventType, why string) {
	role := string(api.RoleReceiver)
	if !c.Active && g.item.Spec.Connect.Port == c.Port {
		role = string(api.RoleSource)
	}
	text := fmt.Sprintf("%s %v", role, c.Peer)
	if why != "" {
		text += ": " + why
	}
	f.env.Event(t, g.name, text, nil)
}

// refuse refuses a connection, with an event the first time: a host may try again and again.
func (f *Feature) refuse(g *group, c *rdmacm.Conn, reason cm.Reason, why string) {
	r := cm.REJ{Reason: reason}
	if reason == cm.InvalidMTU { // additional information: the largest that is supported
		r.InfoLen, r.Info[0] = 1, byte(
			f.groupMTU(g, f.treeWith(g, c.Peer, c.Port == g.item.Spec.Connect.Port)),
		)
	}
	copy(r.Private[:], why)
	g.cm.Reject(c.LocalID, r)
	if g.refused[c.Peer] != why {
		g.refused[c.Peer] = why
		f.tellConnection(g, c, api.EventConnectionRefused, why)
	}
}

// requested answers a request of an application.
func (f *Feature) requested(g *group, c *rdmacm.Conn) (moved bool) {
	spec := &g.item.Spec
	switch c.Port {
	case spec.Connect.Port, spec.Connect.Port + 1:
	default:
		f.refuse(g, c, cm.InvalidServiceID, fmt.Sprintf("port %d: sources connect to %d, receivers to %d",
			c.Port, spec.Connect.Port, spec.Connect.Port+1))
		return false
	}
	t := f.treeWith(g, c.Peer, c.Port == spec.Connect.Port)
	if n, most := c.MTU.Octets(), f.groupMTU(g, t).Octets(); n == 0 || n > most {
		by := "spec.connect.mtu"
		if most < int(spec.Connect.MTU) {
			by = "what the links of the tree carry"
		}
		f.refuse(g, c, cm.InvalidMTU, fmt.Sprintf("path MTU %d: at most %d by %s", n, most, by))
		return false
	}
	if c.Port == spec.Connect.Port {
		return f.requestedBySource(g, c)
	}
	if why := f.mayReceive(g, c); why != "" {
		f.refuse(g, c, cm.ConsumerReject, why)
		return false
	}
	return f.join(g, c)
}

func (f *Feature) requestedBySource(g *group, c *rdmacm.Conn) bool {
	why := g.mayConnect(c)
	spec := &g.item.Spec
	old, has := g.cm.Conn(g.source)
	_, receives := g.receivers[c.Peer]
	switch {
	case spec.Connect.Source != api.SourceAny:
		if c.Peer != spec.Source.Address {
			why = fmt.Sprintf("%v is not the address of the source of the spec", c.Peer)
		}
	case has && old.Peer != c.Peer:
		why = fmt.Sprintf("%v is the source", old.Peer)
	case receives:
		why = fmt.Sprintf("%v is a receiver", c.Peer)
	case why == "":
		why = f.foreign(g, c.Peer)
	}
	if another := f.taken(g, c); another != "" {
		why = another
	}
	if why != "" {
		f.refuse(g, c, cm.ConsumerReject, why)
		return false
	}
	if g.source != 0 { // it has begun anew, and its DREQ was lost
		g.cm.Disconnect(f.now(), g.source)
	}
	delete(g.refused, c.Peer)
	g.cm.Wait(c.LocalID, waitExponent)
	g.source = c.LocalID
	if spec.Connect.Source == api.SourceAny && g.sourceAt != c.Peer {
		f.startOver(g)
		g.sourceAt = c.Peer
	}
	f.beginSource(g)
	return true
}

// startOver ends the connections of receivers that the last source had, another host: they connect
// to the new one.
func (f *Feature) startOver(g *group) {
	if !g.sourceAt.IsValid() {
		return
	}
	for _, a := range slices.SortedFunc(maps.Keys(g.receivers), netip.Addr.Compare) {
		g.cm.Disconnect(f.now(), g.receivers[a].Conn)
	}
	clear(g.receivers)
	g.reached, g.installed = place{}, nil
}

// beginSource finds the first PSN of a source.
func (f *Feature) beginSource(g *group) {
	g.beginning = true
	f.begin(g, func(psn, _ uint32, _ bool) { g.first, g.beginning = psn, false })
}

// begin finds the present PSN and MSN of the group, at once for a group that has not begun. idle:
// all receivers have acknowledged all packets of the source.
func (f *Feature) begin(g *group, with func(psn, msn uint32, idle bool)) {
	spec := &g.item.Spec
	if g.installed == nil || len(g.installed.Nodes[0].Branches) == 0 {
		with(spec.InitialPSN, 0, true)
		return
	}
	f.ask(g, whole, func(q *query) {
		if !f.connects(g) {
			return
		}
		n := q.report.Nodes[0]
		if !n.Answered { // the switch may be away
			f.timers.Set(f.env.Now+lateGap, func() {
				if f.connects(g) {
					f.begin(g, with)
				}
			})
			return
		}
		// Switches know the packets of their epoch alone: without a packet nothing has changed.
		idle := q.report.Complete
		if n.LastPSN >= 0 {
			g.reached = place{PSN: uint32(n.LastPSN), MSN: g.reached.MSN, Known: true}
			for _, b := range n.Branches {
				idle = idle && (!b.Valid || uint32(b.EPSN) == g.reached.PSN)
			}
			known := false
			for _, n := range q.report.Nodes {
				for _, b := range n.Branches {
					if b.Valid && (!known || (b.MSN-g.reached.MSN)&maxPSN >= 1<<23) {
						g.reached.MSN, known = b.MSN, true
					}
				}
			}
		}
		psn, msn := spec.InitialPSN, uint32(0)
		if g.reached.Known {
			psn, msn = g.reached.PSN, g.reached.MSN
		}
		with(psn, msn, idle)
		f.settleConnections(g)
	})
}

// join takes a receiver in. It reports whether the tree follows.
func (f *Feature) join(g *group, c *rdmacm.Conn) bool {
	old, anew := g.receivers[c.Peer]
	if anew {
		g.cm.Disconnect(f.now(), old.Conn)
		delete(g.receivers, c.Peer)
	}
	delete(g.refused, c.Peer)
	// A source may send after the answer, even if the RTU of the source has not arrived.
	if s, ok := g.cm.Conn(g.source); ok && s.State != rdmacm.Asked {
		g.cm.Wait(c.LocalID, waitExponent)
		f.joinLate(g, c)
		return anew // with what it has left, the source never pauses
	}
	g.receivers[c.Peer] = joined{Conn: c.LocalID, PSN: g.item.Spec.InitialPSN}
	delete(g.evicted, c.Peer)
	f.acceptReceiver(g, c.LocalID)
	return true
}

// acceptReceiver answers the request of a receiver that connected by itself, or confirms the answer
// of a receiver that listens.
func (f *Feature) acceptReceiver(g *group, id uint32) {
	c, ok := g.cm.Conn(id)
	switch {
	case ok && c.State == rdmacm.Asked:
		g.cm.Accept(f.now(), id, f.answer(g, g.item.Spec.InitialPSN))
	case ok && c.State == rdmacm.Answered:
		g.cm.Confirm(id)
		f.tellConnection(g, &c, api.EventConnectionUp, "")
	}
}

// answer is the REP of a group: no READ, no ATOMIC, and as many RNR retries as it takes.
func (f *Feature) answer(g *group, psn uint32) cm.REP {
	spec := &g.item.Spec
	r := cm.REP{QPN: spec.DesignatedQPN, StartingPSN: psn, Failover: cm.FailoverUnsupported,
		RNRRetryCount: 7, CAGUID: guid(spec.ProxyAddress)}
	copy(r.Private[:], f.offer(g).Append(nil))
	return r
}

// offer is what the source may write to: the memory that every receiver has.
func (f *Feature) offer(g *group) cm.Offer {
	spec := &g.item.Spec
	o := cm.Offer{MTU: f.groupMTU(g, g.latest()), BaseVA: spec.BaseVA, Epoch: g.latest().Epoch}
	first := true
	for _, a := range slices.SortedFunc(maps.Keys(g.receivers), netip.Addr.Compare) {
		if c, has := g.cm.Conn(g.receivers[a].Conn); has {
			m := memory(&c)
			if first {
				o.RKey, o.Length, first = m.RKey, m.Length, false
			}
			o.Length = min(o.Length, m.Length)
		}
	}
	return o
}

// missing returns the receivers of the spec that a source waits for.
func (g *group) missing() (out []string) {
	for _, r := range g.item.Spec.Receivers {
		if _, ok := g.receivers[r.Address]; !ok && !g.evicted[r.Address] {
			out = append(out, r.Address.String())
		}
	}
	return out
}

// admitSource answers the request of a source when the tree is ready for it.
func (f *Feature) admitSource(g *group) {
	c, ok := g.cm.Conn(g.source)
	if !ok || c.State != rdmacm.Asked || g.beginning || g.phase != steady || len(g.missing()) > 0 ||
		len(g.receivers) < int(g.item.Spec.Connect.AtLeast) ||
		g.target == nil || g.target.Source.QPN != c.PeerQPN || !g.carries() || !f.complete(g) {
		return
	}
	g.cm.Accept(f.now(), c.LocalID, f.answer(g, g.first))
	f.settleConnections(g)
}

// carries reports whether the target has every receiver that is connected.
func (g *group) carries() bool {
	for a := range g.receivers {
		if _, b := g.target.FindReceiver(a); b == nil && !g.evicted[a] {
			return false
		}
	}
	return true
}

// complete reports whether every switch of the target has all of it.
func (f *Feature) complete(g *group) bool {
	offline, unfinished := f.obstacles(g)
	return len(offline) == 0 && !unfinished
}

// dial connects to receivers that listen, now and then until all are connected.
func (f *Feature) dial(g *group) {
	if !f.connects(g) {
		return
	}
	spec, again, cm := &g.item.Spec, redial, g.cm
	for i := range spec.Receivers {
		a := spec.Receivers[i].Address
		_, has := g.receivers[a]
		busy := has || g.late[a] != nil || slices.ContainsFunc(g.cm.Conns(), func(c rdmacm.Conn) bool {
			return c.Peer == a && c.State != rdmacm.TimeWait
		})
		h := f.env.Net.Host(a)
		if busy || h == nil {
			continue
		}
		// The switch drops an answer that arrives before the entities that let the answer pass. The host
		// repeats the answer only after seconds.
		if f.env.Switches.Connected(h.Switch) && f.env.Switches.Of(h.Switch, g.owner()).Lacks() {
			again = soon
			continue
		}
		f.request(g, a)
	}
	f.settleConnections(g)
	f.timers.Set(f.env.Now+again, func() {
		if g.cm == cm { // and none that is made anew, with a timer of its own
			f.dial(g)
		}
	})
}

// request asks a receiver that may listen for a connection.
func (f *Feature) request(g *group, to netip.Addr) {
	spec := &g.item.Spec
	// The request uses another GUID than the answers. With the GUID of the answers, a host that
	// connects by itself meanwhile would treat the request as stale and end the present connection
	// (IBTA chapter 12).
	r := cm.REQ{CAGUID: ^guid(spec.ProxyAddress), QPN: spec.DesignatedQPN,
		StartingPSN: spec.InitialPSN, RemoteTimeout: rdmacm.ResponseExponent,
		LocalTimeout: rdmacm.ResponseExponent, RetryCount: 7, RNRRetryCount: 7,
		PKey: packet.DefaultPKey, PathMTU: f.groupMTU(g, f.treeWith(g, to, false)), MaxCMRetries: 15,
		LocalLID: cm.NoLID, RemoteLID: cm.NoLID, LocalGID: spec.ProxyAddress, RemoteGID: to,
		HopLimit: 64, ACKTimeout: 18}
	private := cm.IP{SrcPort: spec.Connect.Port, Src: spec.ProxyAddress, Dst: to}.Append(nil)
	copy(r.Private[:], f.offer(g).Append(private))
	g.cm.Request(f.now(), to, spec.Connect.Port, r)
}

// connectionStatus returns the connections as clients see them.
func (g *group) connectionStatus() (out []api.GroupConnection) {
	if g.cm == nil {
		return nil
	}
	for _, c := range g.cm.Conns() {
		if c.State == rdmacm.Asking {
			continue // whether somebody listens there is not known yet
		}
		role := api.RoleReceiver
		if !c.Active && c.Port == g.item.Spec.Connect.Port {
			role = api.RoleSource
		}
		v := api.GroupConnection{Address: c.Peer, Role: role, State: c.State.String(), QPN: c.PeerQPN,
			Listens: c.Active}
		if j, ok := g.receivers[c.Peer]; ok && j.Conn == c.LocalID {
			v.PSNOffset = packet.PSNAdd(c.PeerPSN, -int(j.PSN))
		}
		out = append(out, v)
	}
	slices.SortStableFunc(out, func(a, b api.GroupConnection) int {
		if a.Role != b.Role {
			return strings.Compare(string(b.Role), string(a.Role)) // the source first
		}
		return a.Address.Compare(b.Address)
	})
	return out
}

// endConnections disconnects all applications of a group that goes.
func (f *Feature) endConnections(g *group) {
	if g.cm == nil {
		return
	}
	for _, c := range g.cm.Conns() {
		g.cm.Disconnect(f.now(), c.LocalID)
	}
	packets, _ := g.cm.Take()
	for _, p := range packets {
		f.sendMessage(g, p)
	}
	g.connections = connections{}
}

// reconnects reports whether applications must connect anew after a change of the spec.
func reconnects(old, spec *api.MulticastGroupSpec) bool {
	return spec.Connect == nil || old.Connect == nil ||
		old.Connect.Port != spec.Connect.Port || old.Connect.MTU != spec.Connect.MTU ||
		old.Connect.Source != spec.Connect.Source ||
		old.ProxyAddress != spec.ProxyAddress || old.DesignatedQPN != spec.DesignatedQPN ||
		old.InitialPSN != spec.InitialPSN
}

// leaveMissing ends the connections of those that the spec has no more. It reports whether the tree
// follows.
func (f *Feature) leaveMissing(g *group) (moved bool) {
	if g.cm == nil {
		return false
	}
	spec := &g.item.Spec
	for _, c := range g.cm.Conns() {
		stays := spec.Connect.Admits(c.Peer) || spec.HasReceiver(c.Peer)
		if c.LocalID == g.source {
			stays = spec.Connect.Source == api.SourceAny || c.Peer == spec.Source.Address
		}
		if !stays {
			g.cm.Disconnect(f.now(), c.LocalID)
			moved = f.left(g, &c) || moved
		}
	}
	return moved
}
