package wire

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

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

// DecodeUpdate decodes an update of a table entry of the usual form, which refers to b then; false
// for any other.
func (s *Slab) DecodeUpdate(b []byte) (*p4v1.Update, bool) {
	m := s.NewEntry()
	seen := false
	for len(b) > 0 {
		tag, v, sub, rest := field(b)
		switch {
		case tag == tag1varint:
			m.Update.Type = p4v1.Update_Type(v)
		case tag == tag2bytes && !seen:
			seen = true
			if !s.decodeEntity(m, sub) {
				return nil, false
			}
		default:
			return nil, false
		}
		b = rest
	}
	return &m.Update, seen
}

// DecodeEntity decodes a table entry as DecodeUpdate does.
func (s *Slab) DecodeEntity(b []byte) (*p4v1.Entity, bool) {
	m := s.NewEntry()
	return &m.Entity, s.decodeEntity(m, b)
}

func (s *Slab) decodeEntity(m *Entry, b []byte) bool {
	if len(b) == 0 {
		return false
	}
	tag, _, entry, rest := field(b)
	return tag == tag2bytes && len(rest) == 0 && s.decodeEntry(m, entry)
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

func (s *Slab) decodeEntry(m *Entry, b []byte) bool {
	e := &m.Table
	n, ok := count(b, tag2bytes)
	if !ok {
		return false
	}
	e.Match = s.Matches(n)
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
func (s *Slab) decodeMatch(b []byte) (*p4v1.FieldMatch, bool) {
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
	return s.NewExact(id, value), true
}

func (s *Slab) decodeAction(m *Entry, b []byte) bool {
	n, ok := count(b, tag4bytes)
	if !ok {
		return false
	}
	a := s.SetAction(m, n)
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
