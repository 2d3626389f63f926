package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

var info = p4.P4Info()

// entry inserts a table entry: the key fields in the order of the P4Info (a netip.Prefix for an lpm
// field), then the action's parameters in theirs.
func entry(table string, key []any, action string, params ...any) *p4v1.Update {
	t := tableNamed(table)
	if len(key) != len(t.GetMatchFields()) {
		panic(fmt.Sprintf("%s: %d key fields, want %d", table, len(key), len(t.GetMatchFields())))
	}
	e := &p4v1.TableEntry{TableId: t.GetPreamble().GetId()}
	for i, field := range t.GetMatchFields() {
		m := &p4v1.FieldMatch{FieldId: field.GetId()}
		switch field.GetMatchType() {
		case p4config.MatchField_EXACT:
			m.FieldMatchType = &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: value(key[i])}}
		case p4config.MatchField_LPM:
			p := key[i].(netip.Prefix)
			if p.Addr().Is4() {
				p = netip.PrefixFrom(sixteen(p.Addr()), 96+p.Bits())
			}
			if p.Bits() == 0 {
				continue
			}
			m.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: value(p.Addr()),
				PrefixLen: int32(p.Bits())}}
		default:
			panic(fmt.Sprintf("%s: match kind %v", table, field.GetMatchType()))
		}
		e.Match = append(e.Match, m)
	}
	if len(key) == 0 { // a keyless table has nothing but its default action
		e.IsDefaultAction = true
	}
	e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: call(action, params...)}}
	u := &p4v1.Update{Type: p4v1.Update_INSERT,
		Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}}}
	if e.IsDefaultAction {
		u.Type = p4v1.Update_MODIFY
	}
	return u
}

// modify turns inserts into modifications.
func modify(updates ...*p4v1.Update) []*p4v1.Update { return retype(p4v1.Update_MODIFY, updates) }

// remove turns inserts into deletions.
func remove(updates ...*p4v1.Update) []*p4v1.Update { return retype(p4v1.Update_DELETE, updates) }

func retype(kind p4v1.Update_Type, updates []*p4v1.Update) []*p4v1.Update {
	var out []*p4v1.Update
	for _, u := range updates {
		out = append(out, &p4v1.Update{Type: kind, Entity: u.GetEntity()})
	}
	return out
}

func call(name string, params ...any) *p4v1.Action {
	for _, a := range info.GetActions() {
		if a.GetPreamble().GetAlias() != name {
			continue
		}
		if len(params) != len(a.GetParams()) {
			panic(fmt.Sprintf("%s: %d parameters, want %d", name, len(params), len(a.GetParams())))
		}
		c := &p4v1.Action{ActionId: a.GetPreamble().GetId()}
		for i, p := range a.GetParams() {
			c.Params = append(c.Params, &p4v1.Action_Param{ParamId: p.GetId(), Value: value(params[i])})
		}
		return c
	}
	panic("no action " + name)
}

func tableNamed(name string) *p4config.Table {
	for _, t := range info.GetTables() {
		if t.GetPreamble().GetAlias() == name {
			return t
		}
	}
	panic("no table " + name)
}

// value is v in P4Runtime's canonical form.
func value(v any) []byte {
	var b []byte
	switch v := v.(type) {
	case netip.Addr:
		a := v.As16()
		b = a[:]
	case packet.MAC:
		b = v[:]
	case bool:
		b = []byte{0}
		if v {
			b[0] = 1
		}
	case int:
		b = binary.BigEndian.AppendUint64(nil, uint64(v))
	case uint8:
		b = []byte{v}
	case uint16:
		b = binary.BigEndian.AppendUint16(nil, v)
	case uint32:
		b = binary.BigEndian.AppendUint32(nil, v)
	case uint64:
		b = binary.BigEndian.AppendUint64(nil, v)
	default:
		panic(fmt.Sprintf("value of type %T", v))
	}
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return b
}

// sixteen returns the IPv4-mapped address of an IPv4 address: what switches know it by.
func sixteen(a netip.Addr) netip.Addr { return netip.AddrFrom16(a.As16()) }

// copyTo is a replica: a port and an instance.
type copyTo struct{ port, rid uint32 }

func multicast(group uint32, copies ...copyTo) *p4v1.Update {
	return pre(&p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{
			MulticastGroupEntry: &p4v1.MulticastGroupEntry{MulticastGroupId: group,
				Replicas: replicas(copies)},
		}})
}

func cloneSession(id uint32, copies ...copyTo) *p4v1.Update {
	return pre(&p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{
			CloneSessionEntry: &p4v1.CloneSessionEntry{SessionId: id, Replicas: replicas(copies)},
		}})
}

func pre(e *p4v1.PacketReplicationEngineEntry) *p4v1.Update {
	return &p4v1.Update{Type: p4v1.Update_INSERT,
		Entity: &p4v1.Entity{
			Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: e}}}
}

func replicas(copies []copyTo) []*p4v1.Replica {
	var out []*p4v1.Replica
	for _, c := range copies {
		//lint:ignore SA1019 BMv2 knows no other form
		port := &p4v1.Replica_EgressPort{EgressPort: c.port}
		out = append(out, &p4v1.Replica{PortKind: port, Instance: c.rid})
	}
	return out
}

// ecmpGroup is a selector group of the ecmp table: a member a port, with the ids from first on.
func ecmpGroup(id, first uint32, out ...uint32) []*p4v1.Update {
	var updates []*p4v1.Update
	group := &p4v1.ActionProfileGroup{ActionProfileId: p4.ActionProfileEcmpSelectorID, GroupId: id}
	for i, port := range out {
		member := &p4v1.ActionProfileMember{
			ActionProfileId: p4.ActionProfileEcmpSelectorID, MemberId: first + uint32(i),
			Action: call(p4.ActionForward, port, neighborOf(port)),
		}
		updates = append(updates, &p4v1.Update{Type: p4v1.Update_INSERT,
			Entity: &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: member}}})
		group.Members = append(group.Members, &p4v1.ActionProfileGroup_Member{MemberId: member.MemberId,
			Weight: 1})
	}
	updates = append(updates, &p4v1.Update{Type: p4v1.Update_INSERT,
		Entity: &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: group}}})
	t := tableNamed(p4.TableEcmp)
	return append(updates, &p4v1.Update{Type: p4v1.Update_INSERT,
		Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
			TableId: t.GetPreamble().GetId(),
			Match: []*p4v1.FieldMatch{{FieldId: t.GetMatchFields()[0].GetId(),
				FieldMatchType: &p4v1.FieldMatch_Exact_{
					Exact: &p4v1.FieldMatch_Exact{Value: value(id)},
				}}},
			Action: &p4v1.TableAction{
				Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: id}},
		}}}})
}

// refusing makes the first member of an [ecmpGroup] group drop its packets, as if no route existed.
func refusing(group []*p4v1.Update) []*p4v1.Update {
	group[0].GetEntity().GetActionProfileMember().Action = call(p4.ActionDropNoRoute)
	return group
}
