package nic

import (
	"fmt"
	"math"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/internal/ring"
	"github.com/weft-sdn/weft/packet"
)

// An Intake limits the speed at which a host takes over received packets, and its resources for
// waiting packets. Responders slow their requesters down as packets wait, and refuse a packet
// without resources with a NACK (OCP MRC 1.0, table 7-3). The zero Intake takes packets over at
// once.
type Intake struct {
	// Bitmap bounds the packets received out of order (above CackPSN) by all queue pairs together. The
	// host refuses a further packet with NACK NO_BITMAP, but never the packet after CackPSN, because
	// this packet lets a queue pair progress. 0: no limit.
	Bitmap int
	// Rate is the speed at which the host processes payload of all queue pairs together, in bits per
	// second. 0: at once; then the fields below have no effect.
	Rate uint64
	// Buffer bounds the waiting octets of payload. The host refuses a packet without room with NACK
	// NO_PKT_BUFFER.
	Buffer int
	// Packets bounds the waiting packets of any size, because a device has a descriptor for each
	// packet. The host refuses a further packet with NACK NO_RESOURCE. 0: no limit.
	Packets int
	// FlowControl computes rcv_cwnd_pen from the waiting octets (OCP MRC 1.0, section 7.5.1).
	FlowControl nscc.FlowControl
	// AdaptMPR makes the current max_psn_range of every queue pair with dynamic MPR follow the free
	// share of Buffer, in units of 128 packets, at least one unit: with half of Buffer free, 4 of 8
	// units (section 7.5.4).
	AdaptMPR bool
}

// Validate returns an error that names the first invalid field.
func (i *Intake) Validate() error {
	switch {
	case i.Bitmap < 0:
		return fmt.Errorf("bitmap %d: want at least 0", i.Bitmap)
	case i.Rate == 0:
		return nil
	case i.Packets < 0:
		return fmt.Errorf("packets %d: want at least 0", i.Packets)
	case i.Buffer < maxPMTU:
		return fmt.Errorf("buffer %d: want at least a packet, %d octets", i.Buffer, maxPMTU)
	}
	return i.FlowControl.Validate()
}

// maxPMTU is the greatest PMTU, in octets.
const maxPMTU = 4096

// intake holds the received octets and packets that wait until the host takes them over.
type intake struct {
	Intake
	waiting float64 // octets of payload, as of at
	at      time.Duration
	// sizes are the octets of the waiting packets, the oldest first; the first may have gone in part.
	// total is the sum. The intake keeps sizes only when Packets bounds their number.
	sizes ring.Ring[int]
	total int
}

// drain removes the octets that the host had time to take over.
func (i *intake) drain(now time.Duration) {
	i.waiting = max(0, i.waiting-float64(i.Rate)/8*(now-i.at).Seconds())
	i.at = now
	for i.sizes.Len() > 0 && float64(i.total-*i.sizes.At(0)) >= i.waiting {
		i.total -= i.sizes.Pop()
	}
}

// admit takes a packet with so many octets of payload, or returns the missing resource.
func (i *intake) admit(now time.Duration, octets int) (packet.NACKReason, bool) {
	if i.Rate == 0 {
		return 0, true
	}
	i.drain(now)
	switch {
	case i.Packets > 0 && i.sizes.Len() == i.Packets:
		return packet.NACKNoResource, false
	case i.waiting+float64(octets) > float64(i.Buffer):
		return packet.NACKNoPacketBuffer, false
	}
	i.waiting += float64(octets)
	if i.Packets > 0 && octets > 0 {
		i.sizes.Push(octets)
		i.total += octets
	}
	return 0, true
}

// penalty is mrc.QPConfig.Penalty.
func (i *intake) penalty(now time.Duration) (uint8, bool) {
	i.drain(now)
	return i.FlowControl.Penalty(int(math.Ceil(i.waiting))), i.FlowControl.Restore
}

// mpr returns the current max_psn_range of a queue pair whose greatest is most, in units of 128
// packets.
func (i *intake) mpr(most int) int {
	free := 1 - i.waiting/float64(i.Buffer)
	return min(max(int(math.Ceil(float64(most)*free)), 1), most)
}

// serveIntake gives the queue pair of a flow the answers of the intake, where the owner has not set
// its own.
func (n *NIC) serveIntake(f *flow, c *mrc.QPConfig) {
	i := &n.intake
	if c.Admit == nil && (i.Rate != 0 || i.Bitmap != 0) {
		c.Admit = func(now time.Duration, psn uint32, octets int) (packet.NACKReason, bool) {
			if i.Bitmap != 0 && psn != packet.PSNAdd(f.qp.CackPSN(), 1) && n.outOfOrder() >= i.Bitmap {
				return packet.NACKNoBitmap, false
			}
			return i.admit(now, octets)
		}
	}
	if c.Penalty == nil && i.Rate != 0 && i.FlowControl.Enabled {
		c.Penalty = i.penalty
	}
}

// outOfOrder returns the number of packets that all queue pairs have received out of order.
func (n *NIC) outOfOrder() (packets int) {
	for _, f := range n.flows {
		packets += f.qp.OutOfOrder()
	}
	return packets
}

// adapt makes the max_psn_range of all queue pairs follow the waiting octets.
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

// Waits returns the octets of payload that the host has received and not yet taken over.
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

// ReceiveAll is mrc.Host's.
func (n *NIC) ReceiveAll(now time.Duration, port int, frames [][]byte) {
	n.adapt(now)
	n.Host.ReceiveAll(now, port, frames)
}
