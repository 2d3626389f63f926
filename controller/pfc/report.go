package pfc

import (
	"net/netip"

	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

func sendTo(port uint32, frame []byte) entry.PacketOut {
	return entry.PacketOut{Op: entry.Send, Port: uint16(port), Payload: frame}
}

// query asks a switch for the state of a queue.
func (f *Feature) query(q tunnel.Queue) {
	sw, ok := f.env.Net.SwitchOf(q.Node)
	if !ok {
		return
	}
	s := f.env.Inventory().Switch(sw)
	frame := p4.TargetFrame{Op: p4.TargetOpQuery, Direction: p4.PfcDirectionEgress,
		Port: uint16(s.Port(q.Port, q.Port)), Priority: q.Priority}
	f.env.Want.Send(sw, sendTo(p4.PfcPort, frame.Append(nil)))
}

// routedHere takes a packet that was routed to the controller: a probe that has
// come back.
func (f *Feature) routedHere(sw string, p entry.PacketIn) {
	b, ok := parseProbe(p.Payload)
	node := f.env.Net.Node(sw)
	if !ok || node == nil || node.Loopback != b.At {
		return
	}
	f.core.Answered(node.ID, b.Cookie, b.Seq, f.env.Now-b.Sent)
}

// queueReported takes what a switch reports of a queue.
func (f *Feature) queueReported(sw string, p entry.PacketIn) {
	frame, r, err := p4.ParseTargetReport(p.Payload)
	node, s := f.env.Net.Node(sw), f.env.Inventory().Switch(sw)
	if err != nil || node == nil || s == nil || frame.Direction != p4.PfcDirectionEgress {
		return
	}
	q := tunnel.Queue{Node: node.ID, Port: advertised(s.Ports, uint32(frame.Port)),
		Priority: frame.Priority}
	f.core.Report(q, tunnel.Report{
		Paused: r.Paused > 0, PausedFor: r.PausedFor, Held: r.Octets, MaxHeld: r.Peak,
		XOFFReceived: r.XOFFsReceived, XONReceived: r.XONsReceived, XOFFSent: r.XOFFsSent,
		XONSent: r.XONsSent,
		Dropped: r.Overflows, Storms: r.Storms, Storm: r.Storm,
		XOFFSentAge: r.XOFFSent, XONSentAge: r.XONSent, XOFFReceivedAge: r.XOFFReceived,
		XONReceivedAge: r.XONReceived,
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

// learn takes what a switch reports: first packets with segment lists
// that name an End.X.PFC SID (draft srv6-pfc-sid, section 3, scenario 2).
func (f *Feature) learn(sw string, d entry.Digest) {
	node := f.env.Net.Node(sw)
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
		for _, name := range f.core.Seen(node.ID, source, p.Slice, segments) {
			if r := f.pfcPolicies.Get(name); r != nil {
				r.Decided.Learned = true
				f.pfcPolicies.Save(name)
			}
		}
	}
}
