package hostapi

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// An EncodedDelta is a delta encoded for the stream, without the versions of an update, so that the
// controller encodes a delta for many hosts only once. An EncodedDelta is safe for concurrent use.
type EncodedDelta struct {
	parts [][]byte // of messages Update without versions
}

// Numbers of fields of host.proto.
var (
	updateNumber  = number(&pb.ControllerMessage{}, "update")
	versionNumber = number(&pb.Update{}, "version")
	baseNumber    = number(&pb.Update{}, "base")
)

func number(m proto.Message, field string) protowire.Number {
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); string(f.Name()) == field {
			return f.Number()
		}
	}
	panic("host.proto has no field " + field)
}

// EncodeDelta encodes a delta. It is an error where a name is not UTF-8.
func EncodeDelta(d *Delta) (*EncodedDelta, error) {
	e := &EncodedDelta{}
	for _, p := range Parts(&Update{Delta: *d}, PartBytes) {
		b, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		e.parts = append(e.parts, b)
	}
	return e, nil
}

// Update returns the messages of an update with the delta, as EncodeDown does, already encoded:
// they can be marshalled, and not read.
func (e *EncodedDelta) Update(version, base Version) []*pb.ControllerMessage {
	var versions []byte
	for _, v := range []struct {
		number protowire.Number
		Version
	}{{versionNumber, version}, {baseNumber, base}} {
		if m := encodeVersion(v.Version); m != nil {
			versions = protowire.AppendTag(versions, v.number, protowire.BytesType)
			versions = protowire.AppendVarint(versions, uint64(proto.Size(m)))
			versions, _ = proto.MarshalOptions{}.MarshalAppend(versions, m) // it has no strings
		}
	}
	out := make([]*pb.ControllerMessage, len(e.parts))
	for i, part := range e.parts {
		n := len(versions) + len(part)
		b := make([]byte, 0, n+16)
		b = protowire.AppendTag(b, updateNumber, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(n))
		b = append(append(b, versions...), part...)
		out[i] = &pb.ControllerMessage{}
		// proto marshals unknown fields of a message unchanged.
		out[i].ProtoReflect().SetUnknown(b)
	}
	return out
}
