// Package member has the hosts of a multicast group that are connected by RDMA CM: package
// connect connects the hosts, and package multicast has them in the tree of the group.
package member

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
)

// Groups are the multicast groups of the controller.
type Groups interface {
	// Renewed returns the indexes of groups that were written or deleted, or whose tree has moved on,
	// since the last call, in order.
	Renewed() []uint16
	// Group returns the group with an index; ok is false if no group has the index.
	Group(index uint16) (g Group, ok bool)
	// HostOf returns the name of the host that has an address. It returns "" without a host, and where
	// the group's project may not use the host.
	HostOf(group string, a netip.Addr) string
}

// Objects returns the objects of an event: a group, and a host that has a role in it.
func Objects(g Groups, group string, role api.GroupRole, a netip.Addr) []api.EventObject {
	return []api.EventObject{{Kind: "multicast-group", ID: group},
		{Kind: string(role), ID: a.String(), Name: g.HostOf(group, a)}}
}

// Group is a multicast group whose hosts connect.
type Group struct {
	Name  string
	Index uint16
	// Spec must not be changed; nil: the group was deleted. A group that is made again has a new Spec.
	Spec    *api.MulticastGroupSpec
	Version uint64 // of Spec and Token
	Token   string // of spec.connect
	// Hosts are changed by package connect alone, which calls Changed then.
	*Hosts
	// Evicted has the receivers that have stalled the group. One that connects anew is taken out.
	Evicted map[netip.Addr]bool
	Tree
}

// Tree is the tree of a group.
type Tree interface {
	// Changed takes that the hosts have changed; moved: the tree follows.
	Changed(moved bool)
	// Now returns the tree that was decided on last, and the tree that was complete last; either may
	// be nil. settled: all switches of the tree have it, and nothing is under way.
	Now() (latest, installed *tree.Placement, settled bool)
	// MTU returns the code of the largest path MTU of the present tree. 0: the ports do not even carry
	// 256 octets.
	MTU() cm.MTU
	// Admit returns the facts that decide whether the host of a connection may be part of the group.
	Admit(c *rdmacm.Conn) Admission
	// Where finds the present PSN and MSN of the group, at once for a group that has not begun. idle:
	// all receivers have acknowledged all packets of the source.
	Where(with func(psn, msn uint32, idle bool))
	// StartOver takes that another host becomes the source: the group has not begun.
	StartOver()
}

// Admission has the facts that decide whether a host may be part of a group.
type Admission struct {
	// MTU is the code of the largest path MTU of the tree with the host; 0: the ports do not even
	// carry 256 octets. A host that the controller has connected to took the MTU of that request: 0.
	MTU cm.MTU
	// Host is the name of the host; "": there is none, or the project of the group may not use it.
	Host string
	// Taken: the queue pair is another group's.
	Taken bool
}

// Hosts are the connections of a group, and what follows from them.
type Hosts struct {
	Connections []rdmacm.Conn `json:"connections,omitempty"`
	// Source is the connection of the source, 0 for none.
	Source uint32 `json:"source,omitempty"`
	// SourceAt is the address of the present or last source, if any host may be the source.
	SourceAt netip.Addr `json:"sourceAt,omitzero"`
	// Reached is the place of the source in its packets when the controller asked last.
	Reached Place `json:"reached,omitzero"`
	// First is the first PSN of the source that is connected.
	First     uint32                `json:"first,omitempty"`
	Receivers map[netip.Addr]Joined `json:"receivers,omitempty"`
}

// Joined is what the controller knows of a receiver beside its connection.
type Joined struct {
	Conn uint32 `json:"conn"`
	// PSN and MSN are the group's at which it begins.
	PSN uint32 `json:"psn"`
	MSN uint32 `json:"msn,omitempty"`
}

// Place is a place in the packets of a source.
type Place struct {
	PSN   uint32 `json:"psn,omitempty"` // of the next packet
	MSN   uint32 `json:"msn,omitempty"`
	Known bool   `json:"known,omitempty"`
}

// Conn returns the connection with an id.
func (h *Hosts) Conn(id uint32) (c rdmacm.Conn, ok bool) {
	i := slices.IndexFunc(h.Connections, func(c rdmacm.Conn) bool { return c.LocalID == id })
	if i < 0 {
		return c, false
	}
	return h.Connections[i], true
}

// Fill returns a spec with the queue pairs of the connected receivers, and the set of receivers
// without a connection or listed in without. A group without spec.connect gets both unchanged.
func (h *Hosts) Fill(spec *api.MulticastGroupSpec, without map[netip.Addr]bool) (
	*api.MulticastGroupSpec, map[netip.Addr]bool,
) {
	if spec.Connect == nil {
		return spec, without
	}
	s, left := spec.Clone(), make(map[netip.Addr]bool)
	if spec.Connect.Source == api.SourceAny {
		s.Source.Address = h.SourceAt
	}
	for _, a := range h.Guests(spec) {
		s.Receivers = append(s.Receivers, api.GroupReceiver{Address: a})
	}
	if c, ok := h.Conn(h.Source); ok {
		s.Source.QPN = c.PeerQPN
	}
	noSource := !s.Source.Address.IsValid()
	for i := range s.Receivers {
		r := &s.Receivers[i]
		if left[r.Address] = true; noSource || without[r.Address] {
			continue
		}
		j := h.Receivers[r.Address]
		c, has := h.Conn(j.Conn)
		if !has {
			continue
		}
		delete(left, r.Address)
		begin, first := j.PSN, c.PeerPSN
		r.QPN, r.StartPSN, r.StartMSN, r.PSN = c.PeerQPN, &begin, j.MSN, &first
		if m := Memory(&c); m.HasMemory {
			r.VA, r.RKey = &m.VA, &m.RKey
		}
	}
	return &s, left
}

// FillWith is [Hosts.Fill] with one more host.
func (h *Hosts) FillWith(spec *api.MulticastGroupSpec, without map[netip.Addr]bool, a netip.Addr,
	isSource bool,
) (*api.MulticastGroupSpec, map[netip.Addr]bool) {
	spec, without = h.Fill(spec, without)
	switch {
	case isSource:
		spec.Source.Address = a
	case !spec.HasReceiver(a):
		spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: a})
	}
	delete(without, a)
	return spec, without
}

// Guests returns the connected receivers that a spec does not name, in order.
func (h *Hosts) Guests(spec *api.MulticastGroupSpec) (out []netip.Addr) {
	for a := range h.Receivers {
		if !spec.HasReceiver(a) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// Missing returns the receivers of a spec that a source waits for: not the evicted ones.
func (h *Hosts) Missing(spec *api.MulticastGroupSpec, evicted map[netip.Addr]bool) (out []string) {
	for _, r := range spec.Receivers {
		if _, ok := h.Receivers[r.Address]; !ok && !evicted[r.Address] {
			out = append(out, r.Address.String())
		}
	}
	return out
}

// Pairs returns the queue pairs of the connections, also of hosts that wait for a source, or for a
// pause of the source.
func (h *Hosts) Pairs() (out []api.QueuePair) {
	for _, c := range h.Connections {
		if c.State != rdmacm.Leaving && c.State != rdmacm.TimeWait {
			out = append(out, api.QueuePair{Address: c.Peer, QPN: c.PeerQPN})
		}
	}
	return out
}

// Memory returns the private data of an application (memory and token), or zero values.
func Memory(c *rdmacm.Conn) cm.Join {
	var b [cm.JoinLen]byte
	copy(b[:], c.Private)
	j, _, err := cm.ParseJoin(b[:])
	if err != nil {
		return cm.Join{}
	}
	return j
}

// RoleOf returns the role of a host with a connection.
func RoleOf(spec *api.MulticastGroupSpec, c *rdmacm.Conn) api.GroupRole {
	if !c.Active && c.Port == spec.Connect.Port {
		return api.RoleSource
	}
	return api.RoleReceiver
}

// Status returns the connections as clients see them.
func (h *Hosts) Status(spec *api.MulticastGroupSpec) (out []api.GroupConnection) {
	for _, c := range h.Connections {
		if c.State == rdmacm.Asking {
			continue // whether somebody listens there is not known yet
		}
		v := api.GroupConnection{Address: c.Peer, Role: RoleOf(spec, &c), State: c.State.String(),
			QPN: c.PeerQPN, Listens: c.Active}
		if j, ok := h.Receivers[c.Peer]; ok && j.Conn == c.LocalID {
			v.PSNOffset = packet.PSNAdd(c.PeerPSN, -int(j.PSN))
		}
		out = append(out, v)
	}
	slices.SortStableFunc(out, func(a, b api.GroupConnection) int { // the source first
		return cmp.Or(strings.Compare(string(b.Role), string(a.Role)), a.Address.Compare(b.Address))
	})
	return out
}
