package southbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Query asks for all entities of a kind.
type Query struct {
	Kind Kind
	// ID of the table, action profile, multicast group, clone session, counter or
	// digest; 0 is all of them.
	ID uint32
}

func (q Query) String() string {
	if q.ID == 0 {
		return fmt.Sprintf("every %s", q.Kind)
	}
	return fmt.Sprintf("%s of %#x", q.Kind, q.ID)
}

// Contents is what a switch holds.
type Contents struct {
	Entities []Entity
	// Unsupported are the kinds the switch cannot read back; what it holds of
	// them is unknown.
	Unsupported []Kind
}

// ReadAll reads every kind of Kinds, each in a request of its own, because
// BMv2's server stops at the first it does not implement.
func (s *Session) ReadAll(ctx context.Context) (Contents, error) {
	var out Contents
	for _, k := range Kinds() {
		es, err := s.Read(ctx, Query{Kind: k})
		switch {
		case errors.Is(err, ErrUnsupported):
			out.Unsupported = append(out.Unsupported, k)
		case err != nil:
			return Contents{}, err
		}
		out.Entities = append(out.Entities, es...)
	}
	return out, nil
}

// Read returns the entities of a kind in canonical form, in the switch's order.
// A backup may read too. ErrUnsupported says that the switch cannot tell.
func (s *Session) Read(ctx context.Context, q Query) ([]Entity, error) {
	c, err := s.connected()
	if err != nil {
		return nil, err
	}
	patterns, err := q.patterns(c.cfg.Pipeline)
	if err != nil {
		return nil, s.named(err)
	}
	if len(patterns) == 0 {
		return nil, nil
	}
	var es []Entity
	for patterns := range q.Kind.requests(patterns) {
		some, err := c.read(ctx, patterns)
		if err != nil && !q.Kind.absent(err) {
			return nil, s.named(fmt.Errorf("reading %s: %w", q, err))
		}
		es = append(es, some...)
	}
	out := es[:0]
	for _, e := range es {
		if e.Kind() == q.Kind {
			out = append(out, e)
		}
	}
	return out, nil
}

// read carries out one request.
func (c *conn) read(ctx context.Context, patterns []*p4v1.Entity) ([]Entity, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	stream, err := c.client.Read(ctx, &p4v1.ReadRequest{DeviceId: c.cfg.DeviceID, Role: c.cfg.Role, Entities: patterns})
	if err != nil {
		return nil, c.requestError(ctx, err)
	}
	var out []Entity
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, c.requestError(ctx, err)
		}
		for _, p := range m.GetEntities() {
			e, ok, err := fromProto(p)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, c.cfg.Pipeline.normal(e))
			}
		}
	}
}

// requests divides what is to be read into requests: a digest that is off fails the request that names it.
func (k Kind) requests(patterns []*p4v1.Entity) iter.Seq[[]*p4v1.Entity] {
	if k == KindDigest {
		return slices.Chunk(patterns, 1)
	}
	return slices.Chunk(patterns, max(1, len(patterns)))
}

// absent tells that a request of requests failed because a digest is off: as a whole, or with an error for it (P4Runtime spec §12.3).
func (k Kind) absent(err error) bool {
	if k != KindDigest {
		return false
	}
	st := status.Convert(err)
	for _, d := range st.Details() {
		if e, ok := d.(*p4v1.Error); ok {
			return codes.Code(e.GetCanonicalCode()) == codes.NotFound
		}
	}
	return st.Code() == codes.NotFound
}

// patterns returns what a ReadRequest holds for q. Objects that have ids are
// named one by one where the pipeline is known: BMv2's server knows few
// wildcards.
func (q Query) patterns(p *Pipeline) ([]*p4v1.Entity, error) {
	pattern := func(id uint32) (*p4v1.Entity, error) {
		switch q.Kind {
		case KindTableEntry, KindDefaultAction:
			return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: id, IsDefaultAction: q.Kind == KindDefaultAction}}}, nil
		case KindActionMember:
			return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: &p4v1.ActionProfileMember{ActionProfileId: id}}}, nil
		case KindActionGroup:
			return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: &p4v1.ActionProfileGroup{ActionProfileId: id}}}, nil
		case KindMulticastGroup:
			return preToProto(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{
				MulticastGroupEntry: &p4v1.MulticastGroupEntry{MulticastGroupId: id}}}), nil
		case KindCloneSession:
			return preToProto(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{
				CloneSessionEntry: &p4v1.CloneSessionEntry{SessionId: id}}}), nil
		case KindCounter:
			return &p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{CounterId: id}}}, nil
		case KindDigest:
			return &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{DigestId: id}}}, nil
		}
		return nil, fmt.Errorf("%w: no reads of %s", ErrUnsupported, q.Kind)
	}
	ids := []uint32{q.ID}
	if q.ID == 0 && p != nil {
		ids = p.schema.readable(q.Kind)
	}
	out := make([]*p4v1.Entity, 0, len(ids))
	for _, id := range ids {
		e, err := pattern(id)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
