package p4rt

import (
	"fmt"
	"slices"
	"sync"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4/wire"
)

// codec is gRPC's protobuf codec, with its own code for the two messages that carry table entries
// by the million: writeCall in, ReadResponse out. It leaves entities of unusual kinds and rarely
// set fields to package proto.
//
// The codec refuses any other kind of request beyond limit before decoding.
type codec struct {
	encoding.CodecV2
	limit int // octets
}

func newCodec(limit int) codec { return codec{encoding.GetCodecV2("proto"), limit} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch v := v.(type) {
	case *writeCall:
		v.octets = data.MaterializeToBuffer(mem.DefaultBufferPool())
		if err := v.unmarshal(); err != nil {
			return fmt.Errorf("p4rt: WriteRequest: %w", err)
		}
		return nil
	case *pipelineCall:
		v.octets = data.MaterializeToBuffer(mem.DefaultBufferPool())
		if err := v.unmarshal(); err != nil {
			return fmt.Errorf("p4rt: SetForwardingPipelineConfigRequest: %w", err)
		}
		return nil
	}
	if n := data.Len(); n > c.limit {
		return tooLong(n, c.limit)
	}
	return c.CodecV2.Unmarshal(data, v)
}

// writeCall is a WriteRequest in memory that is used again.
type writeCall struct {
	req    p4v1.WriteRequest
	slab   wire.Slab
	octets mem.Buffer // what req was decoded from, and refers to
	n      int        // updates in octets
}

var writeCalls = sync.Pool{New: func() any { return new(writeCall) }}

// maxKeptUpdates bounds what a writeCall keeps for the next request.
const maxKeptUpdates = 16384

func (w *writeCall) release() {
	if w.octets != nil {
		w.octets.Free()
		w.octets = nil
	}
	updates := w.req.Updates
	w.req.Reset()
	if cap(updates) > maxKeptUpdates {
		return
	}
	clear(updates)
	w.req.Updates = updates[:0]
	w.slab.Reset()
	writeCalls.Put(w)
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	resp, ok := v.(*p4v1.ReadResponse)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	size := 0
	for _, e := range resp.GetEntities() {
		size += wire.ListedSize(e)
	}
	b := make([]byte, 0, size)
	for _, e := range resp.GetEntities() {
		b = wire.AppendListed(b, e)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// updatesField is the number of WriteRequest.updates.
const updatesField = 4

// unmarshal decodes all but the updates.
func (w *writeCall) unmarshal() error {
	rest, n, err := without(updatesField, w.octets.ReadOnlyData())
	if err != nil {
		return err
	}
	updates := w.req.Updates
	if err := proto.Unmarshal(rest, &w.req); err != nil {
		return err
	}
	w.req.Updates, w.n = updates[:0], n
	return nil
}

// decodeUpdates decodes the updates, which refer to w.octets from then on.
func (w *writeCall) decodeUpdates() error {
	updates := slices.Grow(w.req.Updates[:0], w.n)
	for b := w.octets.ReadOnlyData(); len(b) > 0; {
		num, typ, tag := protowire.ConsumeTag(b)
		if num != updatesField || typ != protowire.BytesType {
			b = b[tag+protowire.ConsumeFieldValue(num, typ, b[tag:]):]
			continue
		}
		v, length := protowire.ConsumeBytes(b[tag:])
		b = b[tag+length:]
		u, ok := w.slab.DecodeUpdate(v)
		if !ok {
			u = new(p4v1.Update)
			if err := proto.Unmarshal(v, u); err != nil {
				return err
			}
		}
		updates = append(updates, u)
	}
	w.req.Updates = updates
	return nil
}
