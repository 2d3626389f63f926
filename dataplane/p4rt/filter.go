package p4rt

import (
	"bytes"
	"math"
	"strconv"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// packetFilter selects packet-ins or packet-outs by their metadata: each name
// must have one of the values. Nil selects all; a name that the pipeline does
// not have selects none.
type packetFilter map[string][]filterValue

// filterValue is a value from role.config: the type of the metadata in the pipeline decides which
// of the two forms applies.
type filterValue struct {
	text   string // of a type translated to strings
	number []byte // in canonical form; nil: it is no number
}

// newPacketFilter reads packetIn or packetOut of role.config.
func newPacketFilter(what string, s *structpb.Struct) (packetFilter, *Error) {
	f := make(packetFilter, len(s.GetFields()))
	for name, v := range s.GetFields() {
		values := []*structpb.Value{v}
		if l, ok := v.GetKind().(*structpb.Value_ListValue); ok {
			values = l.ListValue.GetValues()
		}
		for _, v := range values {
			var fv filterValue
			switch k := v.GetKind().(type) {
			case *structpb.Value_StringValue:
				fv.text = k.StringValue
				fv.number, _ = parseNumber(k.StringValue)
			case *structpb.Value_NumberValue:
				if n := k.NumberValue; n < 0 || n != math.Trunc(n) || n >= 1<<53 {
					return nil, invalid("role.config: %s: %s is %v; want a whole number from 0 to 2^53-1, "+
						"larger ones as text", what, name, n)
				}
				fv.text = strconv.FormatUint(uint64(k.NumberValue), 10)
				fv.number, _ = parseNumber(fv.text)
			default:
				return nil, invalid("role.config: %s: %s is neither a value nor a list of values", what, name)
			}
			f[name] = append(f[name], fv)
		}
		if len(values) == 0 {
			return nil, invalid("role.config: %s: %s is an empty list; false selects no packet", what, name)
		}
	}
	return f, nil
}

// selects reports whether the metadata of a packet, as clients see it, passes.
func (f packetFilter) selects(h *packetSchema, metadata []*p4v1.PacketMetadata) bool {
	for name, values := range f {
		if h == nil || !h.has(name, values, metadata) {
			return false
		}
	}
	return true
}

func (h *packetSchema) has(name string, values []filterValue,
	metadata []*p4v1.PacketMetadata) bool {
	for _, m := range metadata {
		i, ok := h.byID[m.GetMetadataId()]
		if !ok || h.fields[i].name != name {
			continue
		}
		for _, v := range values {
			if h.fields[i].tr.strings() {
				if v.text == string(m.GetValue()) {
					return true
				}
			} else if v.number != nil && bytes.Equal(v.number, canonical(m.GetValue())) {
				return true
			}
		}
	}
	return false
}
