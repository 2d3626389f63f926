package connect

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

// SwitchEvent implements feature.Feature: it takes messages of hosts to groups.
func (f *Feature) SwitchEvent(sw string, e feature.SwitchEvent) {
	if e.Kind != feature.GotPacket || e.PacketIn.Reason != entry.Connect {
		return
	}
	p := e.PacketIn
	s := f.sessions[p.Group]
	frame, _, err := cm.ParseFrame(p.Payload)
	if s == nil || err != nil || frame.IPv6.Dst != s.agreed.ProxyAddress {
		return
	}
	// The source guard admits what the port has. Here it must be the host's own.
	h := f.env.Net.Host(frame.IPv6.Src)
	if h == nil || h.Switch != sw || !slices.Contains(h.Ingress, uint32(p.IngressPort)) {
		return
	}
	s.cm.Receive(f.now(), frame.IPv6.Src, frame.MAD)
	s.settle()
}

// settle sends what connections want sent, and takes what has happened to them.
func (s *session) settle() {
	changed, moved := false, false
	for {
		packets, events := s.cm.Take()
		for _, p := range packets {
			s.send(p)
		}
		if len(s.cm.Changed()) > 0 {
			changed, s.Connections = true, s.cm.Conns()
		}
		if len(events) == 0 {
			break
		}
		for i := range events {
			moved = s.event(&events[i]) || moved
		}
	}
	s.moved = s.moved || moved
	if changed || moved {
		s.Changed(moved)
	}
	s.admitSource()
	if at, ok := s.cm.Next(); ok {
		s.after(at-1, s.tick)
	}
}

// tick repeats what is due.
func (s *session) tick() {
	if at, ok := s.cm.Next(); ok && at <= s.now() {
		s.cm.Tick(s.now())
		s.settle()
	}
}

// send makes the switch of a host send a message of a group to the host.
func (s *session) send(p rdmacm.Packet) {
	h := s.env.Net.Host(p.To)
	if h == nil || h.At == nil || len(h.Ingress) == 0 || h.MAC.IsZero() {
		return
	}
	var mac packet.MAC
	for _, a := range s.env.Net.HostsAt(h.Switch) {
		if a.Host == h.Host {
			mac = a.MAC
		}
	}
	frame := cm.Frame{Ethernet: packet.Ethernet{Dst: mac, Src: packet.MAC(h.At.MAC)},
		IPv6:    packet.IPv6{HopLimit: 64, Src: s.agreed.ProxyAddress, Dst: p.To},
		SrcPort: 0xC000 | s.Index, PKey: packet.DefaultPKey, PSN: s.psn, SourceQPN: cm.GSI,
		MAD: p.MAD}
	s.psn = (s.psn + 1) & packet.PSNMask
	s.env.Want.Send(h.Switch, entry.PacketOut{Op: entry.Send, Port: uint16(h.Hop.Port),
		Payload: frame.Append(nil)})
}

// event takes what has happened to a connection. It reports whether the tree follows.
func (s *session) event(e *rdmacm.Event) (moved bool) {
	c := &e.Conn
	switch e.Kind {
	case rdmacm.Requested:
		return s.requested(c)
	case rdmacm.Responded:
		if why := s.mayReceive(c, s.Admit(c)); why != "" {
			s.refuse(c, cm.REJ{Reason: cm.ConsumerReject}, why)
			return false
		}
		return s.join(c)
	case rdmacm.Up:
		s.tell(c, api.EventConnectionUp, "")
		return false
	case rdmacm.Down:
		s.tell(c, api.EventConnectionDown, "")
	case rdmacm.Refused:
		// The controller asks a host that does not listen yet again and again.
		if !c.Active || e.Reason != cm.InvalidServiceID {
			s.tell(c, api.EventConnectionRefused, byHost+e.Reason.String())
		}
	case rdmacm.Failed:
		if !c.Active {
			s.tell(c, api.EventConnectionRefused, "the host does not answer")
		}
	}
	return s.left(c)
}

// left takes a connection that is over out of the group.
func (s *session) left(c *rdmacm.Conn) bool {
	if s.Source == c.LocalID {
		s.Source = 0
		return true
	}
	if l := s.late[c.Peer]; l != nil && l.conn == c.LocalID {
		delete(s.late, c.Peer)
	}
	if j, ok := s.Receivers[c.Peer]; ok && j.Conn == c.LocalID {
		delete(s.Receivers, c.Peer)
		return true
	}
	return false
}

// byHost begins why a host has refused a connection.
const byHost = "by the host: "

func (s *session) tell(c *rdmacm.Conn, t api.EventType, why string) {
	role := member.RoleOf(s.Spec, c)
	text := fmt.Sprintf("%s %v", role, c.Peer)
	says := api.EventFields{Objects: member.Objects(s.groups, s.Name, role, c.Peer), Reason: why}
	if why != "" {
		text += ": " + why
	}
	if reason, is := strings.CutPrefix(why, byHost); is {
		says.State, says.Reason = api.StateRefused, reason
	}
	s.env.Event(t, s.Name, text, nil, says)
}

// refuse refuses a connection, with an event the first time: a host may try again and again.
func (s *session) refuse(c *rdmacm.Conn, r cm.REJ, why string) {
	copy(r.Private[:], why)
	s.cm.Reject(c.LocalID, r)
	if s.refused[c.Peer] != why {
		s.refused[c.Peer] = why
		s.tell(c, api.EventConnectionRefused, why)
	}
}

// requested answers a request of an application.
func (s *session) requested(c *rdmacm.Conn) (moved bool) {
	spec, isSource := s.Spec, c.Port == s.Spec.Connect.Port
	if !isSource && c.Port != spec.Connect.Port+1 {
		s.refuse(c, cm.REJ{Reason: cm.InvalidServiceID}, fmt.Sprintf(
			"port %d: sources connect to %d, receivers to %d", c.Port, spec.Connect.Port,
			spec.Connect.Port+1))
		return false
	}
	tree := s.Admit(c)
	most := tree.MTU
	if n := c.MTU.Octets(); n == 0 || n > most.Octets() {
		by := "spec.connect.mtu"
		if most.Octets() < int(spec.Connect.MTU) {
			by = "what the links of the tree carry"
		}
		// Additional information: the largest that is supported.
		s.refuse(c, cm.REJ{Reason: cm.InvalidMTU, InfoLen: 1, Info: [72]byte{byte(most)}},
			fmt.Sprintf("path MTU %d: at most %d by %s", n, most.Octets(), by))
		return false
	}
	may := s.mayReceive
	if isSource {
		may = s.maySend
	}
	if why := may(c, tree); why != "" {
		s.refuse(c, cm.REJ{Reason: cm.ConsumerReject}, why)
		return false
	}
	if !isSource {
		return s.join(c)
	}
	if s.Source != 0 { // it has begun anew, and its DREQ was lost
		s.cm.Disconnect(s.now(), s.Source)
	}
	delete(s.refused, c.Peer)
	s.cm.Wait(c.LocalID, waitExponent)
	s.Source = c.LocalID
	if spec.Connect.Source == api.SourceAny && s.SourceAt != c.Peer {
		s.startOver()
		s.SourceAt = c.Peer
	}
	s.beginSource()
	return true
}

// maySend returns why an application may not be the source, "" where it may.
func (s *session) maySend(c *rdmacm.Conn, tree member.Admission) string {
	old, has := s.cm.Conn(s.Source)
	_, receives := s.Receivers[c.Peer]
	switch {
	case tree.Taken:
		return taken(c)
	case s.Spec.Connect.Source != api.SourceAny:
		if c.Peer != s.Spec.Source.Address {
			return fmt.Sprintf("%v is not the address of the source of the spec", c.Peer)
		}
		return s.mayConnect(c)
	case has && old.Peer != c.Peer:
		return fmt.Sprintf("%v is the source", old.Peer)
	case receives:
		return fmt.Sprintf("%v is a receiver", c.Peer)
	case s.mayConnect(c) != "":
		return s.mayConnect(c)
	case tree.Host == "":
		return foreign(c)
	}
	return ""
}

// startOver ends the connections of receivers that the last source had, another host: they connect
// to the new one.
func (s *session) startOver() {
	if !s.SourceAt.IsValid() {
		return
	}
	for _, a := range slices.SortedFunc(maps.Keys(s.Receivers), netip.Addr.Compare) {
		s.cm.Disconnect(s.now(), s.Receivers[a].Conn)
	}
	clear(s.Receivers)
	s.StartOver()
}

// waitExponent has a source wait 4.096 us times 2^waitExponent (17 s) for the answer of the tree.
const waitExponent = 22

// beginSource finds the first PSN of a source.
func (s *session) beginSource() {
	s.beginning = true
	s.where(func(psn, _ uint32, _ bool) { s.First, s.beginning = psn, false })
}

// where is [member.Tree.Where], unless the session ends meanwhile.
func (s *session) where(with func(psn, msn uint32, idle bool)) {
	atOnce := true
	s.Where(func(psn, msn uint32, idle bool) {
		if !s.alive() {
			return
		}
		if with(psn, msn, idle); !atOnce {
			s.settle()
		}
	})
	atOnce = false
}

// mayReceive returns why an application may not be a receiver, "" where it may.
func (s *session) mayReceive(c *rdmacm.Conn, tree member.Admission) string {
	named := s.Spec.HasReceiver(c.Peer)
	if !named && !s.Spec.Connect.Admits(c.Peer) {
		return fmt.Sprintf("%v is not the address of a receiver of the spec", c.Peer)
	}
	if source, ok := s.cm.Conn(s.Source); ok && source.Peer == c.Peer {
		return fmt.Sprintf("%v is the source", c.Peer)
	}
	if !named && tree.Host == "" {
		return foreign(c)
	}
	if tree.Taken {
		return taken(c)
	}
	return s.mayConnect(c)
}

// mayConnect returns why an application may not connect, "" where it has the token.
func (s *session) mayConnect(c *rdmacm.Conn) string {
	if s.Token == "" {
		return ""
	}
	var want [cm.TokenLen]byte
	copy(want[:], s.Token)
	if j := member.Memory(c); !j.HasToken || subtle.ConstantTimeCompare(j.Token[:], want[:]) != 1 {
		return "the token in its private data is not that of spec.connect.token"
	}
	return ""
}

// foreign refuses a host of another project that the spec does not name.
func foreign(c *rdmacm.Conn) string {
	return fmt.Sprintf("%v is not assigned to the project of the group", c.Peer)
}

// taken refuses a queue pair of another group.
func taken(c *rdmacm.Conn) string {
	return fmt.Sprintf("queue pair %d belongs to another group", c.PeerQPN)
}

// join takes a receiver in. It reports whether the tree follows.
func (s *session) join(c *rdmacm.Conn) bool {
	old, anew := s.Receivers[c.Peer]
	if anew {
		s.cm.Disconnect(s.now(), old.Conn)
		delete(s.Receivers, c.Peer)
	}
	delete(s.refused, c.Peer)
	// A source may send after the answer, even if the RTU of the source has not arrived.
	if source, ok := s.cm.Conn(s.Source); ok && source.State != rdmacm.Asked {
		s.cm.Wait(c.LocalID, waitExponent)
		s.joinLate(c)
		return anew // with what it has left, the source never pauses
	}
	s.Receivers[c.Peer] = member.Joined{Conn: c.LocalID, PSN: s.Spec.InitialPSN}
	delete(s.Evicted, c.Peer)
	s.accept(c.LocalID)
	return true
}

// accept answers the request of a receiver that connected by itself, or confirms the answer of a
// receiver that listens.
func (s *session) accept(id uint32) {
	c, ok := s.cm.Conn(id)
	switch {
	case ok && c.State == rdmacm.Asked:
		s.cm.Accept(s.now(), id, s.answer(s.Spec.InitialPSN))
	case ok && c.State == rdmacm.Answered:
		s.cm.Confirm(id)
		s.tell(&c, api.EventConnectionUp, "")
	}
}

// answer is the REP of a group: no READ, no ATOMIC, and as many RNR retries as it takes.
func (s *session) answer(psn uint32) cm.REP {
	r := cm.REP{QPN: s.Spec.DesignatedQPN, StartingPSN: psn, Failover: cm.FailoverUnsupported,
		RNRRetryCount: 7, CAGUID: guid(s.Spec.ProxyAddress)}
	copy(r.Private[:], s.offer().Append(nil))
	return r
}

// guid returns the CA GUID of a group. Hosts use the GUID to distinguish groups with the same
// designated queue pair.
func guid(proxy netip.Addr) uint64 {
	sum := sha256.Sum256(proxy.AsSlice())
	return binary.BigEndian.Uint64(sum[:])
}

// offer is what the source may write to: the memory that every receiver has.
func (s *session) offer() cm.Offer {
	latest, _, _ := s.Now()
	o := cm.Offer{MTU: s.MTU(), BaseVA: s.Spec.BaseVA, Epoch: latest.Epoch}
	first := true
	for _, a := range slices.SortedFunc(maps.Keys(s.Receivers), netip.Addr.Compare) {
		if c, has := s.cm.Conn(s.Receivers[a].Conn); has {
			m := member.Memory(&c)
			if first {
				o.RKey, o.Length, first = m.RKey, m.Length, false
			}
			o.Length = min(o.Length, m.Length)
		}
	}
	return o
}

// admitSource answers the request of a source when the tree is ready for it.
func (s *session) admitSource() {
	c, ok := s.cm.Conn(s.Source)
	if !ok || c.State != rdmacm.Asked || s.beginning ||
		len(s.Missing(s.Spec, s.Evicted)) > 0 || len(s.Receivers) < int(s.Spec.Connect.AtLeast) {
		return
	}
	t, _, settled := s.Now()
	if settled && t.Source.QPN == c.PeerQPN && s.carries(t) {
		s.cm.Accept(s.now(), c.LocalID, s.answer(s.First))
		s.settle()
	}
}

// carries reports whether a tree has every receiver that is connected.
func (s *session) carries(t *tree.Placement) bool {
	for a := range s.Receivers {
		if _, b := t.FindReceiver(a); b == nil && !s.Evicted[a] {
			return false
		}
	}
	return true
}
