package fabric

import (
	"fmt"
	"net/netip"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

func receiver(a netip.Addr, qpn uint32) packet.Receiver {
	return packet.Receiver{Addr: a, QPN: qpn}
}

// edge is the End.MT TLVs of one edge node.
func edge(a netip.Addr, receivers ...packet.Receiver) []byte {
	return packet.AppendEndMT(nil, tlvType, a, receivers)
}

// inbandTLVs is a TLV area with its padding.
func inbandTLVs(tlvs ...[]byte) []byte { return packet.AppendPadding(slices.Concat(tlvs...)) }

// asTLV lists branches as receivers.
func (t tree) asTLV(branches ...int) []packet.Receiver {
	var list []packet.Receiver
	for _, b := range branches {
		list = append(list, receiver(t.branches[b].addr, t.branches[b].qpn))
	}
	return list
}

// In-band mode: the receivers are in the packet (draft section 7.2).
func inband() []scenario {
	t := tree{group: newGroup(12, 3), inband: true, fallback: true}
	p := t.request(packet.OpWriteOnly, 100, 256)
	other := edge(nodeBehind(5), receiver(host(5), 0x55), receiver(host(6), 0x66))
	entries := append(t.downward(), fanOut()...)
	arrives := func(tlvs ...byte) wire { return in(7, t.onTree(p, tlvs...)) }
	two := []wire{t.delivered(0, p), t.delivered(2, p)}
	hmac := packet.HMAC{D: true, KeyID: 1, Digest: pattern(32)}.Append(nil)
	pad1, padN := []byte{packet.TLVPad1}, []byte{packet.TLVPadN, 3, 0, 0, 0}
	unknown := []byte{200, 4, 1, 2, 3, 4}

	reserved := slices.Clone(edge(node, t.asTLV(0, 2)...))
	reserved[2], reserved[3] = 0xff, 0xff
	reserved[21], reserved[22], reserved[23] = 0xff, 0xff, 0xff
	reserved[43], reserved[63] = 0xff, 0xff

	named := scenario{
		name: "inband/tlvs", entries: entries,
		steps: []step{
			{what: "one TLV", in: arrives(inbandTLVs(edge(node, t.asTLV(0, 2)...))...), out: two},
			{what: "QPN and addresses are the packet's",
				in: arrives(inbandTLVs(edge(node, receiver(t.branches[1].addr, 0xffffff)))...), out: []wire{
					t.deliveredTo(t.branches[1].port, t.branches[1].addr, 0xffffff, p)}},
			{what: "another edge's before", in: arrives(inbandTLVs(other, edge(node, t.asTLV(0, 2)...))...),
				out: two},
			{what: "another edge's after", in: arrives(inbandTLVs(edge(node, t.asTLV(0, 2)...), other)...),
				out: two},
			{what: "two for this edge, concatenated",
				in:  arrives(inbandTLVs(edge(node, t.asTLV(0)...), other, edge(node, t.asTLV(2)...))...),
				out: two},
			{
				what: "Pad1, PadN, HMAC and unknown TLVs between",
				in: arrives(inbandTLVs(hmac, pad1, pad1, edge(node, t.asTLV(0)...), padN, unknown, other,
					padN, pad1, edge(node, t.asTLV(2)...), unknown, pad1)...),
				out: two,
			},
			{what: "Pad1 to the end", in: arrives(append(slices.Clone(edge(node, t.asTLV(0, 2)...)),
				make([]byte, 8)...)...), out: two},
			{what: "the same receiver twice is two copies",
				in: arrives(inbandTLVs(edge(node, t.asTLV(0, 0)...))...), out: []wire{t.delivered(0, p),
					t.delivered(0, p)}},
			{what: "reserved fields are ignored", in: arrives(inbandTLVs(reserved)...), out: two},
			{
				what: "a receiver without a branch: the others get theirs",
				in: arrives(inbandTLVs(edge(node, append(t.asTLV(0), receiver(host(8), 0x88),
					t.asTLV(2)[0])...))...), out: two,
				egress: drops{p4.DropReasonMtTlvReceiver: 1},
			},
			{
				what: "bad ICRC", in: patch(arrives(inbandTLVs(edge(node, t.asTLV(0)...))...), 14+40+8+32+48+40+
					8+12+16, 0xff),
				ingress: drops{p4.DropReasonIcrc: 1},
			},
		},
	}

	none := scenario{
		name: "inband/fallback", entries: entries,
		steps: []step{
			{what: "no TLV: the provisioned receivers", in: arrives(), out: t.all(p)},
			{what: "no TLV for this edge", in: arrives(inbandTLVs(other)...), out: t.all(p)},
			{what: "padding only", in: arrives(packet.TLVPadN, 6, 0, 0, 0, 0, 0, 0), out: t.all(p)},
			{what: "a TLV for this edge that names nobody", in: arrives(inbandTLVs(edge(node))...),
				ingress: drops{p4.DropReasonMtNoReceivers: 1}},
			{what: "nobody in one TLV, somebody in the next",
				in: arrives(inbandTLVs(edge(node), edge(node, t.asTLV(0, 2)...))...), out: two},
			{
				what: "another TLV type", write: modify(entry(p4.TableNode, nil, p4.ActionSetNode, node, 125)),
				in: arrives(inbandTLVs(edge(node, t.asTLV(0, 2)...))...), out: t.all(p),
			},
			{
				what: "and its TLVs", in: arrives(inbandTLVs(packet.AppendEndMT(nil, 125, node,
					t.asTLV(0, 2)))...), out: two,
			},
		},
	}

	u := t
	u.fallback = false
	nobody := scenario{
		name: "inband/no_fallback", entries: append(u.downward(), fanOut()...),
		steps: []step{
			{what: "named", in: in(7, u.onTree(p, inbandTLVs(edge(node, t.asTLV(0, 2)...))...)), out: two},
			{what: "no TLV", in: in(7, u.onTree(p)), ingress: drops{p4.DropReasonMtNoReceivers: 1}},
			{what: "no TLV for this edge", in: in(7, u.onTree(p, inbandTLVs(other)...)),
				ingress: drops{p4.DropReasonMtNoReceivers: 1}},
		},
	}
	return append([]scenario{named, none, nobody, budInband(), sameBytes()},
		append(manyReceivers(), badTLVs()...)...)
}

// manyReceivers: one edge, up to 32 receivers in three TLVs.
func manyReceivers() []scenario {
	t := tree{group: newGroup(13, 32), inband: true}
	p := t.request(packet.OpWriteOnly, 4, 50)
	s := scenario{name: "inband/receivers", entries: append(t.downward(), fanOut()...)}
	list := t.asTLV()
	var want []wire
	for n := range 33 {
		if n > 0 {
			list = append(list, t.asTLV(n-1)...)
			want = append(want, t.delivered(n-1, p))
			s.steps = append(s.steps, step{what: fmt.Sprint(n),
				in: in(7, t.onTree(p, inbandTLVs(edge(node, list...))...)), out: slices.Clone(want)})
		}
	}
	list = append(list, t.asTLV(0)...)
	s.steps = append(s.steps, step{what: "33",
		in:      in(7, t.onTree(p, inbandTLVs(edge(node, list...))...)),
		ingress: drops{p4.DropReasonParseTlvReceivers: 1}})
	// The longest SRH there is: 255 * 8 octets after its first 8.
	long := edge(node, t.asTLV(3)...)
	for len(long) <= 255*8-32-44 {
		long = append(long, edge(nodeBehind(5), receiver(host(5), 0x55))...)
	}
	long = append(long, make([]byte, 255*8-32-len(long))...)
	s.steps = append(s.steps, step{what: "longest SRH", in: in(7, t.onTree(p, long...)),
		out: []wire{t.delivered(3, p)}})
	return []scenario{s}
}

// badTLVs: whatever is wrong with the TLVs, no receiver gets a copy, and one drop is counted.
func badTLVs() []scenario {
	t := tree{group: newGroup(14, 3), inband: true, fallback: true}
	p := t.request(packet.OpWriteOnly, 100, 256)
	good := edge(node, t.asTLV(0, 1)...)
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&7)...) }
	at := func(b []byte, offset int, v byte) []byte {
		b = slices.Clone(b)
		b[offset] = v
		return b
	}
	other := edge(nodeBehind(5), receiver(host(5), 0x55))
	onTree := func(tlvs []byte) wire {
		q := t.onTree(p)
		q.SRH.TLVList = tlvs // not checked
		return in(7, q)
	}
	length, receivers := drops{p4.DropReasonParseTlvLength: 1},
		drops{p4.DropReasonParseTlvReceivers: 1}
	s := scenario{name: "inband/malformed", entries: append(t.downward(), fanOut()...)}
	for _, c := range []struct {
		what string
		tlvs []byte
		drop drops
	}{
		{"runs past the SRH", at(pad(slices.Clone(good)), 1, 62+40), length},
		{"runs past the SRH by one octet", at(good, 1, 63), length},
		{"longest Length", at(pad(slices.Clone(good)), 1, 255), length},
		{"type without length at the end",
			pad(append(append(slices.Clone(good), packet.TLVPadN, 5, 0, 0, 0, 0, 0), 200)), length},
		{"PadN past the SRH", pad(append(slices.Clone(good), packet.TLVPadN, 7, 0, 0, 0, 0, 0, 0)),
			length},
		{"unknown TLV past the SRH", pad(append(slices.Clone(good), 200, 250, 0, 0, 0, 0, 0, 0)), length},
		{"another edge's past the SRH", pad(append(slices.Clone(good), at(other, 1, 62)...)), length},
		{"Num Receivers too large", at(pad(slices.Clone(good)), 20, 3), receivers},
		{"Num Receivers too small", at(pad(slices.Clone(good)), 20, 1), receivers},
		{"Num Receivers 0 with receivers", at(pad(slices.Clone(good)), 20, 0), receivers},
		{"Num Receivers 255", at(pad(slices.Clone(good)), 20, 255), receivers},
		{"Length not 22 + 20 n", at(pad(append(slices.Clone(good), make([]byte, 8)...)), 1, 63),
			receivers},
		{"Length below 22", at(pad(slices.Clone(good)), 1, 10), receivers},
		{"Length 0", at(pad(slices.Clone(good)), 1, 0), receivers},
		{"another edge's Num Receivers", pad(append(slices.Clone(good), at(other, 20, 2)...)), receivers},
		{"another edge's Num Receivers, first", pad(append(at(other, 20, 0), good...)), receivers},
	} {
		s.steps = append(s.steps, step{what: c.what, in: onTree(c.tlvs), ingress: c.drop})
	}
	s.steps = append(s.steps, step{what: "and a good one still passes",
		in: onTree(pad(slices.Clone(good))), out: []wire{t.delivered(0, p), t.delivered(1, p)}})
	return []scenario{s}
}

// budInband: a bud node forwards the packet unchanged, and serves its own receivers from the TLVs.
func budInband() scenario {
	t := tree{group: newGroup(15, 2), children: []uint32{4, 5}, inband: true}
	p := t.request(packet.OpWriteOnly, 100, 256)
	onTree := t.onTree(p, inbandTLVs(edge(nodeBehind(4), receiver(host(4), 0x44)),
		edge(node, t.asTLV(0, 1)...))...)
	childrenOnly := t.onTree(p, inbandTLVs(edge(nodeBehind(4), receiver(host(4), 0x44)))...)
	return scenario{
		name: "inband/bud", entries: append(t.downward(), fanOut()...),
		steps: []step{
			{in: in(7, onTree), out: append(t.all(p), t.passed(4, onTree), t.passed(5, onTree))},
			{
				what: "nothing for this node", in: in(7, childrenOnly), out: []wire{t.passed(4, childrenOnly),
					t.passed(5, childrenOnly)},
				ingress: drops{p4.DropReasonMtNoReceivers: 1},
			},
		},
	}
}

// sameBytes: the receivers cannot tell the modes apart.
func sameBytes() scenario {
	t := tree{group: newGroup(16, 3), inband: true}
	s := scenario{name: "inband/same_bytes_as_provisioned", entries: append(t.downward(), fanOut()...)}
	provisioned := t
	provisioned.inband = false
	for _, op := range requests {
		p := with(t.request(op, 1, 64), func(p *packet.RoCE) { p.Checksummed = op%2 == 0 })
		tlvs := inbandTLVs(edge(nodeBehind(2), receiver(host(2), 2)), edge(node, t.asTLV(0, 1, 2)...))
		var toInband, toProvisioned []*p4v1.Update
		toInband, toProvisioned = modify(t.groups()[:1]...), modify(provisioned.groups()[:1]...)
		s.steps = append(s.steps,
			step{what: "in-band " + op.String(), write: toInband, in: in(7, t.onTree(p, tlvs...)),
				out: t.all(p)},
			step{what: "provisioned " + op.String(), write: toProvisioned, in: in(7, t.onTree(p, tlvs...)),
				out: t.all(p)},
			step{what: "provisioned without TLVs " + op.String(), in: in(7, t.onTree(p)), out: t.all(p)},
		)
	}
	return s
}
