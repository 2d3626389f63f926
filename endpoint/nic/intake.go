package nic

import (
	"fmt"
	"math"
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/nscc"
	"github.com/weft-sdn/weft/packet"
)

// An Intake is how fast a host takes over what its queue pairs receive, and how much of it may wait
// meanwhile; what waits makes responders slow their requesters down. The zero Intake takes
// everything over at once.
type Intake struct {
	// Rate is the bits of payload per second that the host takes over, of all queue pairs together.
	// 0: all at once, and the other fields mean nothing.
	Rate uint64
	// Buffer is the octets of payload that may wait. A packet that finds no room is refused with
	// NACK NO_PKT_BUFFER.
	Buffer int
	// FlowControl makes rcv_cwnd_pen of the octets that wait (OCP MRC 1.0, section 7.5.1).
	FlowControl nscc.FlowControl
	// AdaptMPR has the present max_psn_range of every queue pair with dynamic MPR follow the share
	// of Buffer that is free, in units of 128 packets and at least one: of 8 units it is 4 while a
	// half of Buffer is free (section 7.5.4).
	AdaptMPR bool
}

// Validate names the field that cannot be used.
func (i *Intake) Validate() error {
	switch {
	case i.Rate == 0:
		return nil
	case i.Buffer < maxPMTU:
		return fmt.Errorf("buffer %d: want at least a packet, %d octets", i.Buffer, maxPMTU)
	}
	return i.FlowControl.Validate()
}

// maxPMTU is the greatest PMTU, in octets.
const maxPMTU = 4096

// intake is what waits to be taken over.
type intake struct {
	Intake
	waiting float64 // octets of payload, as of at
	at      time.Duration
}

// drain takes over what the host had time for.
func (i *intake) drain(now time.Duration) {
	i.waiting = max(0, i.waiting-float64(i.Rate)/8*(now-i.at).Seconds())
	i.at = now
}

// admit is mrc.QPConfig.Admit.
func (i *intake) admit(now time.Duration, _ uint32, octets int) (packet.NACKReason, bool) {
	i.drain(now)
	if i.waiting+float64(octets) > float64(i.Buffer) {
		return packet.NACKNoPacketBuffer, false
	}
	i.waiting += float64(octets)
	return 0, true
}

// penalty is mrc.QPConfig.Penalty.
func (i *intake) penalty(now time.Duration) (uint8, bool) {
	i.drain(now)
	return i.FlowControl.Penalty(int(math.Ceil(i.waiting))), i.FlowControl.Restore
}

// mpr is the present max_psn_range for a queue pair whose greatest is most, in units of 128
// packets.
func (i *intake) mpr(most int) int {
	free := 1 - i.waiting/float64(i.Buffer)
	return min(max(int(math.Ceil(float64(most)*free)), 1), most)
}

// serve gives a queue pair the answers of the intake, where the owner has not set its own.
func (i *intake) serve(c *mrc.QPConfig) {
	if i.Rate == 0 {
		return
	}
	if c.Admit == nil {
		c.Admit = i.admit
	}
	if c.Penalty == nil && i.FlowControl.Enabled {
		c.Penalty = i.penalty
	}
}

// adapt has the max_psn_range of all queue pairs follow what waits.
func (n *NIC) adapt(now time.Duration) {
	if n.intake.Rate == 0 || !n.intake.AdaptMPR {
		return
	}
	n.intake.drain(now)
	for _, f := range n.flows {
		c := f.qp.Config()
		if !c.Local.DynamicMPR || !c.Remote.DynamicMPR {
			continue
		}
		if m := n.intake.mpr(c.Local.MaxMPR); m != f.qp.MPR() {
			_ = f.qp.SetMPR(m) // it is within what the connection was set up with
		}
	}
}

// Waits is the octets of payload that were received and wait to be taken over.
func (n *NIC) Waits(now time.Duration) int {
	if n.intake.Rate == 0 {
		return 0
	}
	n.intake.drain(now)
	return int(math.Ceil(n.intake.waiting))
}

// Receive is mrc.Host's.
func (n *NIC) Receive(now time.Duration, port int, frame []byte) {
	n.adapt(now)
	n.Host.Receive(now, port, frame)
}
