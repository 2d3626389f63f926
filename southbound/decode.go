package southbound

import (
	"fmt"
	"math"
	"slices"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Decode returns e by name and in canonical form. An unknown id is [ErrUnknownName], a malformed
// entity [ErrMalformed]. The result is nil for kinds outside of this package (meters, registers,
// value sets, one-shot action sets) and for an unset default action.
func (s *Schema) Decode(e *p4v1.Entity) (entry.Entity, error) {
	switch e := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return s.decodeTable(e.TableEntry)
	case *p4v1.Entity_ActionProfileMember:
		m := e.ActionProfileMember
		name, err := s.profileName(m.GetActionProfileId())
		if err != nil {
			return nil, err
		}
		action, err := s.decodeAction(m.GetAction())
		return entry.Member{Profile: name, ID: m.GetMemberId(), Action: action}, err
	case *p4v1.Entity_ActionProfileGroup:
		return s.decodeGroup(e.ActionProfileGroup)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return decodeReplication(e.PacketReplicationEngineEntry)
	case *p4v1.Entity_DigestEntry:
		d := e.DigestEntry
		name, ok := s.Digests[d.GetDigestId()]
		if !ok {
			return nil, fmt.Errorf("%w: digest %#x", ErrUnknownName, d.GetDigestId())
		}
		return entry.Reports{
			Digest: name, Wait: time.Duration(d.GetConfig().GetMaxTimeoutNs()),
			List: d.GetConfig().GetMaxListSize(), Again: time.Duration(d.GetConfig().GetAckTimeoutNs()),
		}, nil
	}
	return nil, nil
}

func (s *Schema) profileName(id uint32) (string, error) {
	for _, p := range s.Profiles {
		if p.ID == id {
			return p.Name, nil
		}
	}
	return "", fmt.Errorf("%w: action profile %#x", ErrUnknownName, id)
}

// maxGroupWeight bounds the sum of the weights of a group's members.
const maxGroupWeight = math.MaxUint16

func (s *Schema) decodeGroup(g *p4v1.ActionProfileGroup) (entry.Entity, error) {
	name, err := s.profileName(g.GetActionProfileId())
	if err != nil {
		return nil, err
	}
	out := entry.Group{Profile: name, ID: g.GetGroupId()}
	for _, m := range g.GetMembers() {
		weight := int(max(1, m.GetWeight()))
		if len(out.Members)+weight > maxGroupWeight {
			return nil, fmt.Errorf("%w: group %d of %s has a weight over %d", ErrMalformed, g.GetGroupId(),
				name, maxGroupWeight)
		}
		for range weight {
			out.Members = append(out.Members, m.GetMemberId())
		}
	}
	slices.Sort(out.Members)
	return out, nil
}

func decodeReplication(p *p4v1.PacketReplicationEngineEntry) (entry.Entity, error) {
	switch t := p.GetType().(type) {
	case *p4v1.PacketReplicationEngineEntry_MulticastGroupEntry:
		rs, err := decodeReplicas(t.MulticastGroupEntry.GetReplicas())
		if err != nil {
			return nil, fmt.Errorf("multicast group %d: %w", t.MulticastGroupEntry.GetMulticastGroupId(),
				err)
		}
		return entry.Copies(t.MulticastGroupEntry.GetMulticastGroupId(), rs...), nil
	case *p4v1.PacketReplicationEngineEntry_CloneSessionEntry:
		c := t.CloneSessionEntry
		rs, err := decodeReplicas(c.GetReplicas())
		if err != nil {
			return nil, fmt.Errorf("clone session %d: %w", c.GetSessionId(), err)
		}
		return entry.Clone{ID: c.GetSessionId(), Replicas: entry.Copies(0, rs...).Replicas,
			Class: c.GetClassOfService(), Truncate: c.GetPacketLengthBytes()}, nil
	}
	return nil, nil
}

func decodeReplicas(rs []*p4v1.Replica) ([]entry.Replica, error) {
	out := make([]entry.Replica, 0, len(rs))
	for _, r := range rs {
		//lint:ignore SA1019 a switch reports a port in the form it was written
		port := r.GetEgressPort()
		if b := r.GetPort(); len(b) > 0 {
			n, ok := entry.ValueOf(b).Uint64()
			if !ok || n > math.MaxUint32 {
				return nil, fmt.Errorf("%w: replica port %x", ErrMalformed, b)
			}
			port = uint32(n)
		}
		out = append(out, entry.Replica{Port: port, Instance: r.GetInstance()})
	}
	return out, nil
}

func (s *Schema) decodeTable(t *p4v1.TableEntry) (entry.Entity, error) {
	info := s.tables[t.GetTableId()]
	if info == nil {
		return nil, fmt.Errorf("%w: table %#x", ErrUnknownName, t.GetTableId())
	}
	matches := make([]entry.Match, 0, len(t.GetMatch()))
	for _, f := range t.GetMatch() {
		m, wild, err := info.decodeMatch(f)
		if err != nil {
			return nil, fmt.Errorf("entry of table %s: %w", info.Name, err)
		}
		if !wild {
			matches = append(matches, m)
		}
	}
	e := entry.In(info.Name, entry.Action{}, matches...)
	e.Priority, e.Default = t.GetPriority(), t.GetIsDefaultAction()
	e.Const = t.GetIsConst() || info.Const || e.Default && info.ConstDefault
	switch a := t.GetAction().GetType().(type) {
	case *p4v1.TableAction_Action:
		if e.Default && a.Action.GetActionId() == 0 {
			return nil, nil
		}
		var err error
		if e.Action, err = s.decodeAction(a.Action); err != nil {
			return nil, err
		}
	case *p4v1.TableAction_ActionProfileMemberId:
		e.Member = a.ActionProfileMemberId
	case *p4v1.TableAction_ActionProfileGroupId:
		e.Group = a.ActionProfileGroupId
	default:
		return nil, nil
	}
	return e, nil
}

// decodeMatch returns the match in canonical form; wild reports that it matches
// anything and is left out.
func (t *TableInfo) decodeMatch(p *p4v1.FieldMatch) (m entry.Match, wild bool, err error) {
	f := fieldByID(t.Fields, p.GetFieldId())
	if f == nil {
		return m, false, fmt.Errorf("%w: field %d", ErrUnknownName, p.GetFieldId())
	}
	m.Field = f.Name
	switch v := p.GetFieldMatchType().(type) {
	case *p4v1.FieldMatch_Exact_:
		m.Kind, m.Value = entry.MatchExact, entry.ValueOf(v.Exact.GetValue())
	case *p4v1.FieldMatch_Lpm:
		m.Kind, m.Value, m.Bits = entry.MatchLPM, entry.ValueOf(v.Lpm.GetValue()),
			int(v.Lpm.GetPrefixLen())
		wild = m.Bits <= 0
		if !wild && m.Bits < f.Width {
			m.Value = masked(m.Value, prefixMask(f.Width, m.Bits))
		}
	case *p4v1.FieldMatch_Ternary_:
		m.Kind, m.Mask = entry.MatchTernary, entry.ValueOf(v.Ternary.GetMask())
		m.Value = masked(entry.ValueOf(v.Ternary.GetValue()), m.Mask)
		wild = m.Mask.BitLen() == 0
	case *p4v1.FieldMatch_Range_:
		m.Kind, m.Value, m.Mask = entry.MatchRange, entry.ValueOf(v.Range.GetLow()),
			entry.ValueOf(v.Range.GetHigh())
		wild = m.Value.BitLen() == 0 && m.Mask == prefixMask(f.Width, f.Width)
	case *p4v1.FieldMatch_Optional_:
		m.Kind, m.Value = entry.MatchOptional, entry.ValueOf(v.Optional.GetValue())
	default:
		return m, false, fmt.Errorf("%w: match on %q is of an unknown kind", ErrMalformed, f.Name)
	}
	return m, wild, nil
}

func (s *Schema) decodeAction(a *p4v1.Action) (entry.Action, error) {
	info := s.actions[a.GetActionId()]
	if info == nil {
		return entry.Action{}, fmt.Errorf("%w: action %#x", ErrUnknownName, a.GetActionId())
	}
	params := make([]entry.Param, 0, len(a.GetParams()))
	for _, p := range a.GetParams() {
		f := fieldByID(info.Params, p.GetParamId())
		if f == nil {
			return entry.Action{}, fmt.Errorf("%w: parameter %d of %s", ErrUnknownName, p.GetParamId(),
				info.Name)
		}
		params = append(params, entry.With(f.Name, entry.ValueOf(p.GetValue())))
	}
	return entry.Do(info.Name, params...), nil
}

// masked returns v with the bits outside mask cleared.
func masked(v, mask entry.Value) entry.Value {
	out := make([]byte, max(len(v), len(mask)))
	for i := range out {
		var a, b byte
		if j := i - (len(out) - len(v)); j >= 0 {
			a = v[j]
		}
		if j := i - (len(out) - len(mask)); j >= 0 {
			b = mask[j]
		}
		out[i] = a & b
	}
	return entry.ValueOf(out)
}

// prefixMask is the first n of width bits set.
func prefixMask(width, n int) entry.Value {
	b := make([]byte, (width+7)/8)
	for i := width - n; i < width; i++ {
		b[len(b)-1-i/8] |= 1 << (i % 8)
	}
	return entry.ValueOf(b)
}

// DecodePacketIn returns the packet-in by name. A field that the pipeline's
// header does not have is 0.
func (s *Schema) DecodePacketIn(p *p4v1.PacketIn) entry.PacketIn {
	get := func(name string) uint64 {
		f := fieldByName(s.PacketIn, name)
		if f == nil {
			return 0
		}
		for _, m := range p.GetMetadata() {
			if m.GetMetadataId() == f.ID {
				n, _ := entry.ValueOf(m.GetValue()).Uint64()
				return n
			}
		}
		return 0
	}
	flags := get("flags")
	return entry.PacketIn{
		IngressPort: uint16(get("ingress_port")), Reason: entry.Reason(get("reason")),
		Group: uint16(get("group")), Branch: uint8(get("branch")), Epoch: uint32(get("epoch")),
		Valid: flags&1 != 0, NAKPending: flags&2 != 0, LastKnown: flags&4 != 0, RNR: flags&8 != 0,
		AckPSN: uint32(get("ack_psn")), RNRTimer: uint8(get("rnr_timer")), MSN: uint32(get("msn")),
		CNPCount: uint32(get("cnp_count")), LastPSN: uint32(get("last_psn")),
		CNPTotal:  uint32(get("cnp_total")),
		CNPBranch: uint8(get("cnp_branch")), Payload: p.GetPayload(),
	}
}

// DecodeDigest returns a list of reports by name, or [ErrUnknownName].
func (s *Schema) DecodeDigest(d *p4v1.DigestList) (entry.Digest, error) {
	name, ok := s.Digests[d.GetDigestId()]
	if !ok {
		return entry.Digest{}, fmt.Errorf("%w: digest %#x", ErrUnknownName, d.GetDigestId())
	}
	out := entry.Digest{Name: name}
	for _, data := range d.GetData() {
		out.Reports = append(out.Reports, leaves(nil, data, 0))
	}
	return out, nil
}

// maxDepth bounds the nesting of digest data from the switch.
const maxDepth = 16

// leaves appends the bit strings, Booleans and enum values of d in order.
func leaves(out []entry.Value, d *p4v1.P4Data, depth int) []entry.Value {
	if depth > maxDepth {
		return out
	}
	switch d := d.GetData().(type) {
	case *p4v1.P4Data_Bitstring:
		out = append(out, entry.ValueOf(d.Bitstring))
	case *p4v1.P4Data_Bool:
		out = append(out, entry.Bool(d.Bool))
	case *p4v1.P4Data_EnumValue:
		out = append(out, entry.ValueOf(d.EnumValue))
	case *p4v1.P4Data_Struct:
		for _, m := range d.Struct.GetMembers() {
			out = leaves(out, m, depth+1)
		}
	case *p4v1.P4Data_Tuple:
		for _, m := range d.Tuple.GetMembers() {
			out = leaves(out, m, depth+1)
		}
	}
	return out
}
