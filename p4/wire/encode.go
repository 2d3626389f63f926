package wire

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The sizes and encodings below hold for fields with numbers below 16, whose tags take one octet.

// ListedSize returns the octets of an entity as an element of a ReadResponse.
func ListedSize(e *p4v1.Entity) int { return sizeMessage(entitySize(e)) }

// AppendListed appends an entity as an element of a ReadResponse.
func AppendListed(b []byte, e *p4v1.Entity) []byte { return appendEntity(b, tag1bytes, e) }

// UpdateSize returns the octets of an update as an element of a WriteRequest.
func UpdateSize(u *p4v1.Update) int { return sizeMessage(updateSize(u)) }

// AppendUpdate appends an update as an element of a WriteRequest.
func AppendUpdate(b []byte, u *p4v1.Update) []byte {
	b = appendLength(b, tag4bytes, updateSize(u))
	b = appendVarint(b, tag1varint, uint64(u.GetType()))
	if u.GetEntity() == nil {
		return b
	}
	return appendEntity(b, tag2bytes, u.GetEntity())
}

func updateSize(u *p4v1.Update) int {
	n := sizeVarint(uint64(u.GetType()))
	if u.GetEntity() != nil {
		n += sizeMessage(entitySize(u.GetEntity()))
	}
	return n
}

func appendEntity(b []byte, tag byte, e *p4v1.Entity) []byte {
	b = appendLength(b, tag, entitySize(e))
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

// usual returns the table entry of an entity if appendEntry can encode all of its fields.
func usual(e *p4v1.Entity) (*p4v1.TableEntry, bool) {
	t := e.GetTableEntry()
	//lint:ignore SA1019 clients still use controller_metadata
	if t == nil || t.GetControllerMetadata() != 0 || t.GetMeterConfig() != nil ||
		t.GetCounterData() != nil || t.GetMeterCounterData() != nil ||
		t.GetTimeSinceLastHit() != nil || t.GetIsConst() || t.GetAction() != nil &&
		t.GetAction().GetAction() == nil {
		return nil, false
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
	if f.GetExact() == nil {
		return proto.Size(f)
	}
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
		if f.GetExact() == nil {
			b, _ = proto.MarshalOptions{}.MarshalAppend(b, f)
			continue
		}
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
