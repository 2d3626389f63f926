package southbound

import (
	"context"
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/southbound/entry"
)

// confirmReads is how many entities one request of [Client.Confirm] names.
const confirmReads = 500

// Confirm reads back the results of the session's accepted updates. It returns, in order, a refusal
// for each update whose result the switch does not hold. Among several updates of an entity, the
// last counts. An entity that the switch cannot read back counts as written, as in
// [Client.ReadAll]. An error reports a failed read, so nothing is known.
func (c *Client) Confirm(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	schema, err := c.schema()
	if err != nil {
		return nil, err
	}
	last := make(map[entry.Key]int, len(updates))
	for i, u := range updates {
		last[u.Entity.Key()] = i
	}
	type question struct {
		update  int
		pattern *p4v1.Entity
	}
	asked := make(map[entry.Kind][]question)
	for i, u := range updates {
		if last[u.Entity.Key()] != i {
			continue
		}
		p, err := schema.pattern(u)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", u.Entity.Key(), err)
		}
		if p != nil {
			asked[u.Entity.Kind()] = append(asked[u.Entity.Kind()], question{i, p})
		}
	}
	have := make(map[entry.Key]entry.Entity, len(updates))
	take := func(e entry.Entity) {
		if _, ok := last[e.Key()]; ok {
			have[e.Key()] = e
		}
	}
	var refused []entry.Refusal
	for _, kind := range entry.Kinds() { // BMv2's server stops at the first that it does not implement
		for some := range slices.Chunk(asked[kind], confirmReads) {
			patterns := make([]*p4v1.Entity, len(some))
			for i := range some {
				patterns[i] = some[i].pattern
			}
			if err := c.readExactly(ctx, patterns, take); unsupported(err) {
				continue
			} else if err != nil {
				return nil, fmt.Errorf("reading back: %w", err)
			}
			for _, q := range some {
				u := updates[q.update]
				if why := u.Ineffective(have[u.Entity.Key()]); why != "" {
					refused = append(refused, entry.Refusal{Update: q.update, Message: why})
				}
			}
		}
	}
	slices.SortFunc(refused, func(a, b entry.Refusal) int { return a.Update - b.Update })
	return refused, nil
}

// readExactly reads entities by their keys. Switches differ in what they answer when one does not
// exist: nothing, or that the request failed; then each is read by itself.
func (c *Client) readExactly(ctx context.Context, patterns []*p4v1.Entity,
	take func(entry.Entity)) error {
	_, err := c.read(ctx, patterns, take)
	if err == nil || !absent(err) {
		return err
	}
	if len(patterns) == 1 {
		return nil
	}
	for _, p := range patterns {
		if _, err := c.read(ctx, []*p4v1.Entity{p}, take); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// pattern returns the entity that a ReadRequest holds to read an update's entity by its key.
// pattern returns nil for a default action that cannot be read, and for a default action that is
// reset: the P4Info does not say what the action is reset to.
func (s *Schema) pattern(u entry.Update) (*p4v1.Entity, error) {
	switch e := u.Entity.(type) {
	case entry.Table:
		if info := s.tableNames[e.Name]; e.Default && (info == nil || !info.holds(entry.KindDefault) ||
			u.Type == entry.Delete) {
			return nil, nil
		}
		return s.encode(new(maker), e, false)
	case entry.Member:
		p, err := s.profile(e.Profile, e.ID)
		if err != nil {
			return nil, err
		}
		return wire.Entity(&p4v1.ActionProfileMember{ActionProfileId: p.ID, MemberId: e.ID}), nil
	case entry.Group:
		p, err := s.profile(e.Profile, e.ID)
		if err != nil {
			return nil, err
		}
		return wire.Entity(&p4v1.ActionProfileGroup{ActionProfileId: p.ID, GroupId: e.ID}), nil
	case entry.Multicast:
		return multicastPattern(e.ID, nil), nil
	case entry.Clone:
		return clonePattern(&p4v1.CloneSessionEntry{SessionId: e.ID}), nil
	case entry.Reports:
		return wire.Entity(&p4v1.DigestEntry{DigestId: s.digestIDs[e.Digest]}), nil
	}
	return nil, fmt.Errorf("%w: %T", ErrMalformed, u.Entity)
}
