package southbound

import (
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4/wire"
)

// codec is gRPC's protobuf codec with package wire's way for the two messages that carry table
// entries by the million: WriteRequest out, ReadResponse in.
type codec struct{ encoding.CodecV2 }

// withCodec is the call option of such requests.
func withCodec() grpc.CallOption { return grpc.ForceCodecV2(codec{encoding.GetCodecV2("proto")}) }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	req, ok := v.(*p4v1.WriteRequest)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	rest := &p4v1.WriteRequest{DeviceId: req.GetDeviceId(), Role: req.GetRole(),
		ElectionId: req.GetElectionId(), Atomicity: req.GetAtomicity()}
	size := proto.Size(rest)
	for _, u := range req.GetUpdates() {
		size += wire.UpdateSize(u)
	}
	pool := mem.DefaultBufferPool()
	buffer := pool.Get(size)
	b, err := proto.MarshalOptions{}.MarshalAppend((*buffer)[:0], rest)
	if err != nil {
		pool.Put(buffer)
		return nil, err
	}
	for _, u := range req.GetUpdates() {
		b = wire.AppendUpdate(b, u)
	}
	*buffer = b
	return mem.BufferSlice{mem.NewBuffer(buffer, pool)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	resp, ok := v.(*p4v1.ReadResponse)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	proto.Reset(resp)
	if err := decodeResponse(data.Materialize(), resp); err != nil {
		return fmt.Errorf("southbound: ReadResponse: %w", err)
	}
	return nil
}

// entitiesField is the number of ReadResponse.entities.
const entitiesField = 1

// decodeResponse decodes a ReadResponse, which refers to b then.
func decodeResponse(b []byte, resp *p4v1.ReadResponse) error {
	var slab wire.Slab
	for len(b) > 0 {
		num, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		if num != entitiesField || typ != protowire.BytesType {
			n := protowire.ConsumeFieldValue(num, typ, b[tag:])
			if n < 0 {
				return protowire.ParseError(n)
			}
			b = b[tag+n:]
			continue
		}
		octets, n := protowire.ConsumeBytes(b[tag:])
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[tag+n:]
		e, ok := slab.DecodeEntity(octets)
		if !ok {
			e = new(p4v1.Entity)
			if err := proto.Unmarshal(octets, e); err != nil {
				return err
			}
		}
		resp.Entities = append(resp.Entities, e)
	}
	return nil
}
