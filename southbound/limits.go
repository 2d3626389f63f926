package southbound

import (
	"context"
	"errors"
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Bounds of the input from a switch: a hostile or broken switch must not exhaust the controller's
// memory or time.
const (
	// maxStreamMessage is the greatest message of a stream channel, in octets.
	maxStreamMessage = 4 << 20
	// maxGroups and maxSessions are the multicast groups and clone sessions of a switch: group ids of
	// v1model have 16 bits, sessions of BMv2 15.
	maxGroups   = 1 << 16
	maxSessions = 1 << 15
	// readSlack is how many entities more than twice the sizes of the P4Info an answer may have.
	readSlack = 1024
)

// most returns how many entities the answer to a read of some patterns may have. A size in P4Info
// is what a target must have room for; more than twice as many are taken for a fault.
func (s *Schema) most(patterns []*p4v1.Entity) int64 {
	n := int64(0)
	for _, p := range patterns {
		switch p := p.GetEntity().(type) {
		case *p4v1.Entity_TableEntry:
			if t := s.tables[p.TableEntry.GetTableId()]; t != nil && !p.TableEntry.GetIsDefaultAction() {
				n += t.Size
			}
		case *p4v1.Entity_ActionProfileMember:
			n += s.profileSize(p.ActionProfileMember.GetActionProfileId())
		case *p4v1.Entity_ActionProfileGroup:
			n += s.profileSize(p.ActionProfileGroup.GetActionProfileId())
		case *p4v1.Entity_CounterEntry:
			if c := s.counters[p.CounterEntry.GetCounterId()]; c != nil {
				n += c.Size
			}
		case *p4v1.Entity_PacketReplicationEngineEntry:
			if p.PacketReplicationEngineEntry.GetMulticastGroupEntry() != nil {
				n += maxGroups
			} else {
				n += maxSessions
			}
		}
	}
	return 2*n + readSlack
}

func (s *Schema) profileSize(id uint32) int64 {
	for i := range s.Profiles {
		if s.Profiles[i].ID == id {
			return s.Profiles[i].Size
		}
	}
	return 0
}

// readEntities reads patterns and calls take with each entity of the answer. It ends with
// [ErrTooMuch] when the switch answers with more than it can hold.
func (c *Client) readEntities(ctx context.Context, patterns []*p4v1.Entity,
	take func(*p4v1.Entity)) error {
	most := c.Pipeline.schema.most(patterns)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := int64(0)
	err := c.Transport.Read(ctx, &p4v1.ReadRequest{DeviceId: c.DeviceID, Role: c.Role,
		Entities: patterns}, func(m *p4v1.ReadResponse) {
		for _, e := range m.GetEntities() {
			if n++; n > most {
				cancel(fmt.Errorf("%w: more than %d entities, twice the sizes in the P4Info", ErrTooMuch, most))
				return
			}
			take(e)
		}
	})
	if cause := context.Cause(ctx); errors.Is(cause, ErrTooMuch) {
		return cause
	}
	return err
}
