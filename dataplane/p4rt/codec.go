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
)

// codec is gRPC's protobuf codec with a way of its own for the two messages
// that carry table entries by the million: writeCall in, ReadResponse out.
// What it does not know of them, an entity of another kind or a field that is
// rarely there, it leaves to package proto.
//
// A request of any other kind that is longer than limit is refused before it is decoded.
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
	slab   entrySlab
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
	w.slab.reset()
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
		size += listedSize(e)
	}
	b := make([]byte, 0, size)
	for _, e := range resp.GetEntities() {
		b = appendListed(b, e)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// updatesField is the number of WriteRequest.updates.
const updatesField = 4

// Tags of one octet: the number of a field and its wire type.
const (
	tag1varint = 1<<3 + byte(protowire.VarintType)
	tag2varint = 2<<3 + byte(protowire.VarintType)
	tag4varint = 4<<3 + byte(protowire.VarintType)
	tag8varint = 8<<3 + byte(protowire.VarintType)
	tag9varint = 9<<3 + byte(protowire.VarintType)
	tag1bytes  = 1<<3 + byte(protowire.BytesType)
	tag2bytes  = 2<<3 + byte(protowire.BytesType)
	tag3bytes  = 3<<3 + byte(protowire.BytesType)
	tag4bytes  = 4<<3 + byte(protowire.BytesType)
	tag11bytes = 11<<3 + byte(protowire.BytesType)
)

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
		u, ok := w.slab.decodeUpdate(v)
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

// field takes a field off a message: its tag, and its number or its octets.
// The tag is 0 when the field is not of a simple form.
func field(b []byte) (tag byte, v uint64, s, rest []byte) {
	n := 0
	switch tag = b[0]; {
	case tag >= 0x80:
		return 0, 0, nil, nil
	case tag&7 == byte(protowire.VarintType):
		v, n = protowire.ConsumeVarint(b[1:])
	case tag&7 == byte(protowire.BytesType):
		s, n = protowire.ConsumeBytes(b[1:])
		s = s[:len(s):len(s)]
	default:
		return 0, 0, nil, nil
	}
	if n < 0 {
		return 0, 0, nil, nil
	}
	return tag, v, s, b[1+n:]
}

// decodeUpdate decodes an update of a table entry of the usual form; false
// for any other.
func (s *entrySlab) decodeUpdate(b []byte) (*p4v1.Update, bool) {
	m := s.newEntry()
	seen := false
	for len(b) > 0 {
		tag, v, sub, rest := field(b)
		switch {
		case tag == tag1varint:
			m.update.Type = p4v1.Update_Type(v)
		case tag == tag2bytes && !seen:
			seen = true
			if len(sub) == 0 {
				return nil, false
			}
			if tag, _, entry, rest := field(sub); tag != tag2bytes || len(rest) > 0 ||
				!s.decodeEntry(m, entry) {
				return nil, false
			}
		default:
			return nil, false
		}
		b = rest
	}
	return &m.update, seen
}

// count counts the fields with a tag; false when one cannot be read.
func count(b []byte, want byte) (n int, ok bool) {
	for len(b) > 0 {
		tag, _, _, rest := field(b)
		if tag == 0 {
			return 0, false
		}
		if tag == want {
			n++
		}
		b = rest
	}
	return n, true
}

func (s *entrySlab) decodeEntry(m *entryMessages, b []byte) bool {
	e := &m.entry
	n, ok := count(b, tag2bytes)
	if !ok {
		return false
	}
	e.Match = s.matches.take(n)[:0]
	for len(b) > 0 {
		tag, v, sub, rest := field(b)
		switch tag {
		case tag1varint:
			e.TableId = uint32(v)
		case tag2bytes:
			f, ok := s.decodeMatch(sub)
			if !ok {
				return false
			}
			e.Match = append(e.Match, f)
		case tag3bytes:
			if e.Action != nil || len(sub) == 0 {
				return false
			}
			if tag, _, action, rest := field(sub); tag != tag1bytes || len(rest) > 0 ||
				!s.decodeAction(m, action) {
				return false
			}
		case tag4varint:
			e.Priority = int32(v)
		case tag8varint:
			e.IsDefaultAction = v != 0
		case tag9varint:
			e.IdleTimeoutNs = int64(v)
		case tag11bytes:
			e.Metadata = sub
		default:
			return false
		}
		b = rest
	}
	return true
}

// decodeMatch decodes a match field; exact ones are common enough to be worth
// a way of their own.
func (s *entrySlab) decodeMatch(b []byte) (*p4v1.FieldMatch, bool) {
	var id uint32
	var value []byte
	exact := false
	for at := b; len(at) > 0; {
		tag, v, sub, rest := field(at)
		switch {
		case tag == tag1varint:
			id = uint32(v)
		case tag == tag2bytes && !exact:
			exact = true
			for len(sub) > 0 {
				tag, _, octets, rest := field(sub)
				if tag != tag1bytes {
					return nil, false
				}
				value, sub = octets, rest
			}
		default:
			f := new(p4v1.FieldMatch)
			return f, proto.Unmarshal(b, f) == nil
		}
		at = rest
	}
	if !exact {
		return &p4v1.FieldMatch{FieldId: id}, true
	}
	return s.newExact(id, value), true
}

func (s *entrySlab) decodeAction(m *entryMessages, b []byte) bool {
	n, ok := count(b, tag4bytes)
	if !ok {
		return false
	}
	a := s.setAction(m, n)
	i := 0
	for len(b) > 0 {
		tag, v, sub, rest := field(b)
		switch tag {
		case tag1varint:
			a.ActionId = uint32(v)
		case tag4bytes:
			p := a.Params[i]
			i++
			for len(sub) > 0 {
				tag, v, octets, rest := field(sub)
				switch tag {
				case tag2varint:
					p.ParamId = uint32(v)
				case tag3bytes:
					p.Value = octets
				default:
					return false
				}
				sub = rest
			}
		default:
			return false
		}
		b = rest
	}
	return true
}

// The sizes and encodings that follow are those of fields whose numbers are
// below 16: their tags are one octet.

// listedSize is the size of an entity as an element of a ReadResponse.
func listedSize(e *p4v1.Entity) int {
	return sizeMessage(entitySize(e))
}

func appendListed(b []byte, e *p4v1.Entity) []byte {
	n := entitySize(e)
	b = appendLength(b, tag1bytes, n)
	t, ok := usual(e)
	if !ok {
		b, _ = proto.MarshalOptions{}.MarshalAppend(b, e)
		return b
	}
	return appendEntry(appendLength(b, tag2bytes, entrySize(t)), t)
}

func entitySize(e *p4v1.Entity) int {
	if t, ok := usual(e); ok {
		return sizeMessage(entrySize(t))
	}
	return proto.Size(e)
}

// usual returns the table entry of an entity if it has only what
// appendEntry encodes.
func usual(e *p4v1.Entity) (*p4v1.TableEntry, bool) {
	t := e.GetTableEntry()
	if t == nil || controllerMetadata(t) != 0 || t.GetMeterConfig() != nil ||
		t.GetCounterData() != nil || t.GetMeterCounterData() != nil ||
		t.GetTimeSinceLastHit() != nil || t.GetIsConst() || t.GetAction() != nil &&
		t.GetAction().GetAction() == nil {
		return nil, false
	}
	for _, f := range t.GetMatch() {
		if f.GetExact() == nil {
			return nil, false
		}
	}
	return t, true
}

func sizeVarint(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(v)
}

func sizeBytes(v []byte) int {
	if len(v) == 0 {
		return 0
	}
	return 1 + protowire.SizeBytes(len(v))
}

func sizeMessage(n int) int { return 1 + protowire.SizeBytes(n) }

func matchSize(f *p4v1.FieldMatch) int {
	return sizeVarint(uint64(f.GetFieldId())) + sizeMessage(sizeBytes(f.GetExact().GetValue()))
}

func paramSize(p *p4v1.Action_Param) int {
	return sizeVarint(uint64(p.GetParamId())) + sizeBytes(p.GetValue())
}

func actionSize(a *p4v1.Action) int {
	n := sizeVarint(uint64(a.GetActionId()))
	for _, p := range a.GetParams() {
		n += sizeMessage(paramSize(p))
	}
	return n
}

func entrySize(t *p4v1.TableEntry) int {
	n := sizeVarint(uint64(t.GetTableId())) + sizeVarint(uint64(t.GetPriority())) +
		sizeVarint(uint64(t.GetIdleTimeoutNs())) + sizeBytes(t.GetMetadata())
	for _, f := range t.GetMatch() {
		n += sizeMessage(matchSize(f))
	}
	if a := t.GetAction().GetAction(); a != nil {
		n += sizeMessage(sizeMessage(actionSize(a)))
	}
	if t.GetIsDefaultAction() {
		n += 2
	}
	return n
}

func appendVarint(b []byte, tag byte, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, tag), v)
}

func appendBytes(b []byte, tag byte, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendBytes(append(b, tag), v)
}

func appendLength(b []byte, tag byte, n int) []byte {
	return protowire.AppendVarint(append(b, tag), uint64(n))
}

func appendEntry(b []byte, t *p4v1.TableEntry) []byte {
	b = appendVarint(b, tag1varint, uint64(t.GetTableId()))
	for _, f := range t.GetMatch() {
		b = appendLength(b, tag2bytes, matchSize(f))
		b = appendVarint(b, tag1varint, uint64(f.GetFieldId()))
		b = appendLength(b, tag2bytes, sizeBytes(f.GetExact().GetValue()))
		b = appendBytes(b, tag1bytes, f.GetExact().GetValue())
	}
	if a := t.GetAction().GetAction(); a != nil {
		n := actionSize(a)
		b = appendLength(appendLength(b, tag3bytes, sizeMessage(n)), tag1bytes, n)
		b = appendVarint(b, tag1varint, uint64(a.GetActionId()))
		for _, p := range a.GetParams() {
			b = appendLength(b, tag4bytes, paramSize(p))
			b = appendVarint(b, tag2varint, uint64(p.GetParamId()))
			b = appendBytes(b, tag3bytes, p.GetValue())
		}
	}
	b = appendVarint(b, tag4varint, uint64(t.GetPriority()))
	if t.GetIsDefaultAction() {
		b = append(b, tag8varint, 1)
	}
	b = appendVarint(b, tag9varint, uint64(t.GetIdleTimeoutNs()))
	return appendBytes(b, tag11bytes, t.GetMetadata())
}
