package p4rt

import (
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// access are the rights of a role. The zero value, and nil, allow everything.
//
// The scheme of role.config is a google.protobuf.Struct with any of
//
//	"entities": a list of P4Info names (or aliases) the role may write, and
//	            whose digests and idle timeouts it is told; beside them
//	            "multicast_groups" and "clone_sessions"
//	"packetIn": whether the role gets packet-ins (default true), or which: an
//	            object of metadata names with a value or a list of values
//	"packetOut": whether it may send packet-outs (default true), or which
//	"pipeline": whether it may set the forwarding pipeline config (default true)
//
// No config, as with the default role, is full access.
type access struct {
	entities                        map[string]struct{} // nil: all
	noPacketIn, noPacketOut, noPipe bool
	in, out                         packetFilter
}

// Names of the entities that no P4Info lists.
const (
	multicastGroups = "multicast_groups"
	cloneSessions   = "clone_sessions"
)

func newAccess(cfg *anypb.Any) (*access, *Error) {
	if cfg == nil {
		return nil, nil
	}
	st := &structpb.Struct{}
	if err := cfg.UnmarshalTo(st); err != nil {
		return nil, invalid("role.config is %q; want a google.protobuf.Struct with entities, packetIn, "+
			"packetOut or pipeline", cfg.GetTypeUrl())
	}
	a := &access{}
	for k, v := range st.GetFields() {
		switch k {
		case "entities":
			l, ok := v.GetKind().(*structpb.Value_ListValue)
			if !ok {
				return nil, invalid("role.config: entities is not a list")
			}
			a.entities = make(map[string]struct{})
			for _, e := range l.ListValue.GetValues() {
				if _, ok := e.GetKind().(*structpb.Value_StringValue); !ok {
					return nil, invalid("role.config: entities holds %v; want names", e)
				}
				a.entities[e.GetStringValue()] = struct{}{}
			}
		case "packetIn", "packetOut":
			if s, ok := v.GetKind().(*structpb.Value_StructValue); ok {
				f, err := newPacketFilter(k, s.StructValue)
				if err != nil {
					return nil, err
				}
				if k == "packetIn" {
					a.in = f
				} else {
					a.out = f
				}
				continue
			}
			b, ok := v.GetKind().(*structpb.Value_BoolValue)
			if !ok {
				return nil, invalid("role.config: %s is neither true, false nor an object of metadata", k)
			}
			if k == "packetIn" {
				a.noPacketIn = !b.BoolValue
			} else {
				a.noPacketOut = !b.BoolValue
			}
		case "pipeline":
			b, ok := v.GetKind().(*structpb.Value_BoolValue)
			if !ok {
				return nil, invalid("role.config: %s is not true or false", k)
			}
			a.noPipe = !b.BoolValue
		default:
			return nil, invalid("role.config: %q is unknown; want entities, packetIn, packetOut or pipeline",
				k)
		}
	}
	return a, nil
}

// packetIn reports whether the role is notified of a packet.
func (a *access) packetIn(p *pipeline, in *p4v1.PacketIn) bool {
	return a == nil || !a.noPacketIn && a.in.selects(p.packetIn, in.GetMetadata())
}

// packetOut reports whether the role may send a packet: nil, or
// PERMISSION_DENIED. p is nil while there is no pipeline.
func (a *access) packetOut(p *pipeline, role string, out *p4v1.PacketOut) *Error {
	switch {
	case a == nil:
		return nil
	case a.noPacketOut:
		return errorf(codes.PermissionDenied, "role %q may not send packet-outs", role)
	case p != nil && !a.out.selects(p.packetOut, out.GetMetadata()):
		return errorf(codes.PermissionDenied, "role %q may not send packet-outs with this metadata", role)
	}
	return nil
}

func (a *access) pipeline() bool { return a == nil || !a.noPipe }

// object reports whether the object of an id of the P4Info is in scope.
func (a *access) object(p *pipeline, id uint32) bool {
	if a == nil || a.entities == nil {
		return true
	}
	if p == nil {
		return false
	}
	n := p.names[id]
	return a.has(n.name) || a.has(n.alias)
}

func (a *access) has(name string) bool {
	_, ok := a.entities[name]
	return ok && name != ""
}

// write reports whether an entity may be written: nil, or PERMISSION_DENIED.
func (a *access) write(p *pipeline, role string, e *p4v1.Entity) *Error {
	if a == nil || a.entities == nil {
		return nil
	}
	kind, id := entityObject(e)
	if kind == multicastGroups || kind == cloneSessions {
		if a.has(kind) {
			return nil
		}
		return errorf(codes.PermissionDenied, "role %q may not write %s", role, kind)
	}
	if a.object(p, id) {
		return nil
	}
	return errorf(codes.PermissionDenied, "role %q may not write %s", role, p.nameOf(kind, id))
}

// nameOf names an object of the P4Info in messages, by id if the object has no name.
func (s *schema) nameOf(kind string, id uint32) string {
	if n := s.names[id].name; n != "" {
		return fmt.Sprintf("%s %q", kind, n)
	}
	return fmt.Sprintf("%s 0x%08x", kind, id)
}

// entityObject returns the kind and the id of the object that an entity
// belongs to; multicastGroups and cloneSessions have no id.
func entityObject(e *p4v1.Entity) (kind string, id uint32) {
	switch x := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return "table", x.TableEntry.GetTableId()
	case *p4v1.Entity_ActionProfileMember:
		return "action profile", x.ActionProfileMember.GetActionProfileId()
	case *p4v1.Entity_ActionProfileGroup:
		return "action profile", x.ActionProfileGroup.GetActionProfileId()
	case *p4v1.Entity_CounterEntry:
		return "counter", x.CounterEntry.GetCounterId()
	case *p4v1.Entity_DirectCounterEntry:
		return "table", x.DirectCounterEntry.GetTableEntry().GetTableId()
	case *p4v1.Entity_MeterEntry:
		return "meter", x.MeterEntry.GetMeterId()
	case *p4v1.Entity_DirectMeterEntry:
		return "table", x.DirectMeterEntry.GetTableEntry().GetTableId()
	case *p4v1.Entity_ValueSetEntry:
		return "value set", x.ValueSetEntry.GetValueSetId()
	case *p4v1.Entity_RegisterEntry:
		return "register", x.RegisterEntry.GetRegisterId()
	case *p4v1.Entity_DigestEntry:
		return "digest", x.DigestEntry.GetDigestId()
	case *p4v1.Entity_PacketReplicationEngineEntry:
		if x.PacketReplicationEngineEntry.GetCloneSessionEntry() != nil {
			return cloneSessions, 0
		}
		return multicastGroups, 0
	}
	return "object", 0
}
