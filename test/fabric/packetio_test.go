package fabric

import (
	"fmt"
	"slices"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Packet I/O per P4Runtime, to and from frames of the CPU port.

// toPacketOut splits the packet_out header off a frame.
func toPacketOut(frame []byte) *p4v1.PacketOut {
	p := &p4v1.PacketOut{}
	for _, m := range controllerHeader("packet_out") {
		n := int(m.GetBitwidth() / 8)
		p.Metadata = append(p.Metadata, &p4v1.PacketMetadata{MetadataId: m.GetId(),
			Value: canonical(frame[:n])})
		frame = frame[n:]
	}
	p.Payload = slices.Clone(frame)
	return p
}

// fromPacketIn puts the packet_in header in front of the payload.
func fromPacketIn(p *p4v1.PacketIn) []byte {
	var frame []byte
	for _, m := range controllerHeader("packet_in") {
		n := int(m.GetBitwidth() / 8)
		i := slices.IndexFunc(p.GetMetadata(), func(x *p4v1.PacketMetadata) bool {
			return x.GetMetadataId() == m.GetId()
		})
		if i < 0 {
			panic(fmt.Sprintf("packet-in without %s", m.GetName()))
		}
		v := canonical(p.GetMetadata()[i].GetValue())
		frame = append(append(frame, make([]byte, n-len(v))...), v...)
	}
	return append(frame, p.GetPayload()...)
}

func controllerHeader(name string) []*p4config.ControllerPacketMetadata_Metadata {
	for _, h := range info.GetControllerPacketMetadata() {
		if h.GetPreamble().GetName() == name {
			return h.GetMetadata()
		}
	}
	panic("no controller header " + name)
}

func canonical(b []byte) []byte {
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return b
}
