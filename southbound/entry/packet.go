package entry

import "fmt"

// Op is the request of a packet-out.
type Op uint8

// The operations.
const (
	// Send sends the payload out of a port.
	Send Op = 0
	// Poll ends an expired CNP window, and sends a due ACK.
	Poll Op = 1
	// State asks for the state of a branch, which a packet-in answers.
	State Op = 2
)

func (o Op) String() string {
	switch o {
	case Send:
		return "send"
	case Poll:
		return "poll"
	case State:
		return "state"
	}
	return fmt.Sprintf("op %d", uint8(o))
}

// PacketOut is a request to a switch, or a packet that it should send.
type PacketOut struct {
	Op      Op
	Port    uint16 // of Send
	Group   uint16 // of Poll and State
	Branch  uint8  // of State
	Payload []byte // of Send
}

func (p PacketOut) String() string {
	switch p.Op {
	case Send:
		return fmt.Sprintf("send %d octets to port %d", len(p.Payload), p.Port)
	case State:
		return fmt.Sprintf("state group=%d branch=%d", p.Group, p.Branch)
	}
	return fmt.Sprintf("%s group=%d", p.Op, p.Group)
}

// Reason is why a switch sent a packet-in.
type Reason uint8

// The reasons.
const (
	// Routed: the payload is a packet that was routed to the controller.
	Routed Reason = 0
	// CNPWindow: the first CNP of a window arrived; poll when it is over.
	CNPWindow Reason = 1
	// StateAnswer answers a State packet-out.
	StateAnswer Reason = 2
	// Queue: the payload is what the target reports of a queue ([p4.ParseTargetReport]).
	Queue Reason = 3
	// LLDP: the payload is an LLDP frame that came by IngressPort.
	LLDP Reason = 4
	// Neighbor: the payload is a message of neighbor discovery that came by IngressPort.
	Neighbor Reason = 5
	// Connect: the payload is a frame of RDMA CM to the proxy address of Group, which came by
	// IngressPort.
	Connect Reason = 6
)

// PacketIn is a report of a switch: about a branch of a group, or with a frame.
type PacketIn struct {
	IngressPort uint16
	Reason      Reason
	Group       uint16
	Branch      uint8
	Epoch       uint32
	Valid       bool   // the branch has reported in this epoch
	NAKPending  bool   // it waits for AckPSN + 1
	LastKnown   bool   // LastPSN is one
	RNR         bool   // what is pending is an RNR NAK
	AckPSN      uint32 // the branch has everything up to here
	RNRTimer    uint8  // timer code
	MSN         uint32
	CNPCount    uint32 // CNPs of the branch in the window that is open or was the last
	LastPSN     uint32 // everything before it was acknowledged upstream
	CNPTotal    uint32 // CNPs sent upstream for the group
	CNPBranch   uint8  // branch with the most CNPs in that window
	Payload     []byte
}

func (p PacketIn) String() string {
	return fmt.Sprintf("reason=%d port=%d group=%d branch=%d epoch=%d valid=%v nak=%v rnr=%v/%d "+
		"ack=%d last=%v/%d msn=%d cnps=%d/%d/%d, %d octets",
		p.Reason, p.IngressPort, p.Group, p.Branch, p.Epoch, p.Valid, p.NAKPending, p.RNR, p.RNRTimer,
		p.AckPSN, p.LastKnown, p.LastPSN,
		p.MSN, p.CNPCount, p.CNPTotal, p.CNPBranch, len(p.Payload))
}
