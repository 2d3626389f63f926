package ev

import (
	"net/netip"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// A Switch holds the entries that a switch needs for packets to take the paths in their EVs. All
// lists are in the order of numbers.
type Switch struct {
	Node *topology.Node
	Tier int
	// Field of structured EVs that the switch takes; HasField is false at the
	// top and in other modes.
	Field    packet.EVField
	HasField bool
	// Up are the values of the field. A packet with another one is dropped and
	// counted; none is 0.
	Up []FieldValue
	// USIDs has the switch's local uSIDs, without those of host ports.
	USIDs []LocalUSID
}

// A FieldValue sends a packet over a link up.
type FieldValue struct {
	Value uint32
	Link  *topology.Link
}

// A LocalUSID is a uSID that a switch owns.
type LocalUSID struct {
	USID     uint16
	SID      netip.Prefix // what to match: the block and the uSID
	Behavior packet.USIDBehavior
	Link     *topology.Link // of a uA
}

// Switch returns what a switch is programmed with; ok is false for nodes that
// are not in the fabric.
func (a *Assignment) Switch(id topology.NodeID) (sw Switch, ok bool) {
	node := a.snap.Node(id)
	tier, ok := a.clos.Tier(id)
	if !ok {
		return Switch{}, false
	}
	sw = Switch{Node: node, Tier: tier}
	switch {
	case a.format.Mode == ModeStructured:
		if tier < len(a.format.Fields) {
			sw.Field, sw.HasField = a.format.Fields[tier], true
		}
		sw.Up = a.ordered(a.clos.Up(id))
	case a.format.Mode.SRv6():
		if own, ok := a.uN[id]; ok {
			sw.USIDs = append(sw.USIDs, a.local(own, packet.UN, nil))
		}
		if tier == 0 {
			sw.USIDs = append(sw.USIDs, a.local(TableUSID, packet.UDT6, nil))
		}
		for _, x := range a.ordered(a.clos.Up(id), a.clos.Down(id)) {
			sw.USIDs = append(sw.USIDs, a.local(LinkUSID(uint16(x.Value)), packet.UA, x.Link))
		}
	}
	return sw, true
}

func (a *Assignment) local(usid uint16, b packet.USIDBehavior, l *topology.Link) LocalUSID {
	// Never an error: the block is valid and no uSID is 0.
	sid, _ := a.format.Mode.USID().SID(a.format.Block, usid)
	return LocalUSID{USID: usid, SID: sid, Behavior: b, Link: l}
}

// HostUSIDs are the two uSIDs that a leaf needs for a port to a host: one keeps
// the outer headers, one takes them off (section 9.3.5.1).
func (a *Assignment) HostUSIDs(port uint16) (keep, decap LocalUSID, err error) {
	if err := checkHostPort(port); err != nil {
		return LocalUSID{}, LocalUSID{}, err
	}
	return a.local(KeepUSID(port), packet.UA, nil), a.local(DecapUSID(port), packet.UDX6, nil), nil
}
