package wire

import (
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"
)

// Entity wraps a message, for example a table entry, into an entity for P4Runtime. Entity panics
// for a message without a place in entities.
func Entity(m proto.Message) *p4v1.Entity {
	switch m := m.(type) {
	case *p4v1.ExternEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_ExternEntry{ExternEntry: m}}
	case *p4v1.TableEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: m}}
	case *p4v1.ActionProfileMember:
		return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: m}}
	case *p4v1.ActionProfileGroup:
		return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: m}}
	case *p4v1.MeterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: m}}
	case *p4v1.DirectMeterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_DirectMeterEntry{DirectMeterEntry: m}}
	case *p4v1.CounterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: m}}
	case *p4v1.DirectCounterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_DirectCounterEntry{DirectCounterEntry: m}}
	case *p4v1.PacketReplicationEngineEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{
			PacketReplicationEngineEntry: m}}
	case *p4v1.ValueSetEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_ValueSetEntry{ValueSetEntry: m}}
	case *p4v1.RegisterEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: m}}
	case *p4v1.DigestEntry:
		return &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: m}}
	}
	panic(fmt.Sprintf("wire: %T is no entity of P4Runtime", m))
}
