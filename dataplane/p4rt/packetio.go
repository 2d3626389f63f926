package p4rt

import (
	"bytes"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// PacketOut injects a packet on the CPU port. Its metadata becomes the
// program's "packet_out" header in front of the payload: every field must be
// given once and fit (P4Runtime specification, "Packet I/O"). The packet is
// dropped when that fails.
func (d *Device) PacketOut(now time.Duration, p *p4v1.PacketOut) error {
	if d.active == nil {
		return errNoPipeline
	}
	frame, err := d.active.p.packetOut.frame(d.active.texts.looking(), p)
	if err != nil {
		return err
	}
	if n, mtu := len(frame), d.sw.Config().MTU; n == 0 || n > mtu {
		return invalid("the packet-out has %d octets with its packet_out header; want 1 to %d, the MTU "+
			"of the device", n, mtu)
	}
	d.stats.PacketOuts++
	d.sw.Receive(now, d.cpu, frame)
	return nil
}

func (h *packetSchema) frame(x texts, p *p4v1.PacketOut) ([]byte, *Error) {
	if h == nil {
		if len(p.GetMetadata()) > 0 {
			return nil, invalid("packet-out metadata id %d; the program has no packet_out header",
				p.GetMetadata()[0].GetMetadataId())
		}
		return p.GetPayload(), nil
	}
	values := make([][]byte, len(h.fields))
	for _, m := range p.GetMetadata() {
		i, ok := h.byID[m.GetMetadataId()]
		if !ok {
			return nil, invalid("packet-out metadata id %d is unknown; want %s", m.GetMetadataId(),
				(&actionSchema{params: h.fields}).ids())
		}
		f := &h.fields[i]
		if values[i] != nil {
			return nil, invalid("packet-out metadata %q (id %d) is given twice", f.name, f.id)
		}
		v, err := f.value(x, m.GetValue())
		if err == nil {
			v, err = appendFixed(nil, v, f.device)
		}
		if err != nil {
			return nil, invalid("packet-out metadata %q (id %d): %s", f.name, f.id, err.Message)
		}
		values[i] = v
	}
	w := bitWriter{buf: make([]byte, 0, h.bits/8+len(p.GetPayload()))}
	for i, f := range h.fields {
		if values[i] == nil {
			return nil, invalid("packet-out metadata %q (id %d) is missing", f.name, f.id)
		}
		w.write(values[i], f.device)
	}
	return append(w.buf, p.GetPayload()...), nil
}

// packetIn turns a frame sent to the CPU port into a PacketIn: the program's
// "packet_in" header becomes metadata, the rest is the payload.
func (d *Device) packetIn(now time.Duration, frame []byte) {
	if d.active == nil {
		return
	}
	in := &p4v1.PacketIn{}
	n := 0
	if h := d.active.p.packetIn; h != nil {
		n = h.bits / 8
		if len(frame) < n {
			d.stats.PacketInShort++
			return
		}
		r := bitReader{buf: frame}
		in.Metadata = make([]*p4v1.PacketMetadata, len(h.fields))
		for i, f := range h.fields {
			in.Metadata[i] = &p4v1.PacketMetadata{MetadataId: f.id,
				Value: f.told(d.active.texts, r.read(nil, f.device))}
		}
	}
	in.Payload = bytes.Clone(frame[n:])
	d.stats.PacketIns++
	d.notify(now, &p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Packet{Packet: in}})
}
