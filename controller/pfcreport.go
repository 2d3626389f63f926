package controller

import (
	"net/netip"

	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

func sendTo(port uint32, frame []byte) entry.PacketOut {
	return entry.PacketOut{Op: entry.Send, Port: uint16(port), Payload: frame}
}

// query asks a switch for the state of a queue.
func (c *Core) query(q pfc.Queue) {
	sw, ok := c.net.SwitchOf(q.Node)
	if !ok {
		return
	}
	s := c.inv.Switch(sw)
	f := p4.TargetFrame{Op: p4.TargetOpQuery, Direction: p4.PfcDirectionEgress, Port: uint16(s.Port(q.Port, q.Port)), Priority: q.Priority}
	c.packetOut(sw, sendTo(p4.PfcPort, f.Append(nil)))
}

// routedHere takes a packet that was routed to the controller: a probe that has
// come back.
func (c *Core) routedHere(sw string, p entry.PacketIn) {
	b, ok := plan.ParseProbe(p.Payload)
	node := c.net.Node(sw)
	if !ok || node == nil || node.Loopback != b.At {
		return
	}
	c.lossless.pfc.Answered(node.ID, b.Cookie, b.Seq, c.now-b.Sent)
}

// queueReported takes what a switch says of a queue.
func (c *Core) queueReported(sw string, p entry.PacketIn) {
	f, r, err := p4.ParseTargetReport(p.Payload)
	node, s := c.net.Node(sw), c.inv.Switch(sw)
	if err != nil || node == nil || s == nil || f.Direction != p4.PfcDirectionEgress {
		return
	}
	q := pfc.Queue{Node: node.ID, Port: advertised(s.Ports, uint32(f.Port)), Priority: f.Priority}
	c.lossless.pfc.Report(q, pfc.Report{
		Paused: r.Paused > 0, PausedFor: r.PausedFor, Held: r.Octets, MaxHeld: r.Peak,
		XOFFReceived: r.XOFFsReceived, XONReceived: r.XONsReceived, XOFFSent: r.XOFFsSent, XONSent: r.XONsSent,
		Dropped: r.Overflows, Storms: r.Storms, Storm: r.Storm,
		XOFFSentAge: r.XOFFSent, XONSentAge: r.XONSent, XOFFReceivedAge: r.XOFFReceived, XONReceivedAge: r.XONReceived,
	})
}

// advertised returns the port, as advertised, of a device's.
func advertised(ports map[uint32]uint32, port uint32) uint32 {
	for link, p := range ports {
		if p == port {
			return link
		}
	}
	return port
}

// Digest takes a list of what a switch reports: first packets with segment lists
// that name an End.X.PFC SID (draft srv6-pfc-sid, section 3, scenario 2).
func (c *Core) Digest(sw string, d entry.Digest) {
	node := c.net.Node(sw)
	if d.Name != p4.DigestPfcPolicyT || node == nil {
		return
	}
	for _, report := range d.Reports {
		p, ok := entry.ParsePolicySeen(report)
		source, isAddr := p.Source.Addr6()
		if !ok || !isAddr {
			continue
		}
		segments := make([]netip.Addr, 0, len(p.Segments))
		for _, v := range p.Segments {
			if a, ok := v.Addr6(); ok {
				segments = append(segments, a)
			}
		}
		for _, name := range c.lossless.pfc.Seen(node.ID, source, p.Slice, segments) {
			if r := c.lossless.requests.Get(name); r != nil {
				r.Decided.Learned = true
				c.lossless.requests.Save(name)
			}
		}
	}
	c.settle()
}
