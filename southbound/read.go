package southbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/southbound/entry"
)

// ReadAll returns everything the switch holds that a controller can write, each
// kind in a request of its own, because BMv2's server stops at the first it does
// not implement. Entries that the program made (const) are left out.
func (c *Client) ReadAll(ctx context.Context) (entry.Contents, error) {
	var out entry.Contents
	for _, k := range entry.Kinds() {
		err := c.readKind(ctx, k, &out)
		switch {
		case unsupported(err):
			out.Unknown = append(out.Unknown, k)
		case err != nil:
			return entry.Contents{}, fmt.Errorf("reading every %s: %w", k, err)
		}
	}
	return out, nil
}

// ReadTable returns all entries of a table, also constant entries from the program, and the default
// action where a controller can change it.
func (c *Client) ReadTable(ctx context.Context, table string) ([]entry.Table, error) {
	schema, err := c.schema()
	if err != nil {
		return nil, err
	}
	info, err := schema.Table(table)
	if err != nil {
		return nil, err
	}
	var out []entry.Table
	for _, k := range []entry.Kind{entry.KindTable, entry.KindDefault} {
		if !info.holds(k) {
			continue
		}
		_, err := c.read(ctx, []*p4v1.Entity{tablePattern(info.ID, k)}, func(e entry.Entity) {
			if t, ok := e.(entry.Table); ok && t.Kind() == k {
				out = append(out, t)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("reading table %s: %w", table, err)
		}
	}
	return out, nil
}

// ReadCounters returns the cells of a counter, or of every indirect counter when
// name is "", in the switch's order.
func (c *Client) ReadCounters(ctx context.Context, name string) ([]entry.Counter, error) {
	schema, err := c.schema()
	if err != nil {
		return nil, err
	}
	infos := schema.Counters
	if name != "" {
		info, err := schema.Counter(name)
		if err != nil {
			return nil, err
		}
		infos = []CounterInfo{info}
	}
	var patterns []*p4v1.Entity
	for _, i := range infos {
		patterns = append(patterns,
			wire.Entity(&p4v1.CounterEntry{CounterId: i.ID}))
	}
	if len(patterns) == 0 {
		return nil, nil
	}
	var out []entry.Counter
	err = c.readEntities(ctx, patterns, func(e *p4v1.Entity) {
		cell := e.GetCounterEntry()
		if info := schema.counters[cell.GetCounterId()]; info != nil {
			out = append(out, entry.Counter{
				Name: info.Name, Index: cell.GetIndex().GetIndex(),
				Packets: cell.GetData().GetPacketCount(), Octets: cell.GetData().GetByteCount(),
			})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading counters: %w", err)
	}
	return out, nil
}

// readKind adds all entities of a kind to out.
func (c *Client) readKind(ctx context.Context, k entry.Kind, out *entry.Contents) error {
	schema, err := c.schema()
	if err != nil {
		return err
	}
	patterns := schema.patterns(k)
	size := max(1, len(patterns))
	if k == entry.KindReports {
		size = 1 // a digest that is off fails the request that names it
	}
	for some := range slices.Chunk(patterns, size) {
		foreign, err := c.read(ctx, some, func(e entry.Entity) {
			if t, ok := e.(entry.Table); e.Kind() == k && (!ok || !t.Const) {
				out.Entities = append(out.Entities, e)
			}
		})
		if err != nil && !(k == entry.KindReports && absent(err)) {
			return err
		}
		out.Foreign += foreign
	}
	return nil
}

// read carries out one request. Entities that the pipeline has no names for are
// counted; one that is malformed fails the read.
func (c *Client) read(ctx context.Context, patterns []*p4v1.Entity,
	take func(entry.Entity)) (foreign int, err error) {
	var bad error
	err = c.readEntities(ctx, patterns, func(p *p4v1.Entity) {
		e, err := c.Pipeline.schema.Decode(p)
		switch {
		case errors.Is(err, ErrUnknownName):
			foreign++
		case err != nil:
			bad = cmp.Or(bad, err)
		case e != nil:
			take(e)
		}
	})
	return foreign, cmp.Or(err, bad)
}

func unsupported(err error) bool {
	return errors.Is(err, ErrUnsupported) || status.Code(err) == codes.Unimplemented
}

// absent reports whether a read of one digest failed because the digest is off:
// as a whole, or with an error for it (P4Runtime spec §12.3).
func absent(err error) bool {
	st := status.Convert(err)
	for _, d := range st.Details() {
		if e, ok := d.(*p4v1.Error); ok {
			return codes.Code(e.GetCanonicalCode()) == codes.NotFound
		}
	}
	return st.Code() == codes.NotFound
}

// holds reports whether a table can hold entities of a kind.
func (t *TableInfo) holds(k entry.Kind) bool {
	if k == entry.KindDefault {
		return !t.ConstDefault && t.Profile == 0
	}
	return len(t.Fields) > 0
}

// patterns returns the entities of a ReadRequest for all objects of a kind. It lists objects with
// ids one by one, because BMv2's server knows few wildcards.
func (s *Schema) patterns(k entry.Kind) []*p4v1.Entity {
	var out []*p4v1.Entity
	switch k {
	case entry.KindTable, entry.KindDefault:
		for _, t := range s.Tables {
			if t.holds(k) {
				out = append(out, tablePattern(t.ID, k))
			}
		}
	case entry.KindMember:
		for _, p := range s.Profiles {
			out = append(out,
				wire.Entity(&p4v1.ActionProfileMember{ActionProfileId: p.ID}))
		}
	case entry.KindGroup:
		for _, p := range s.Profiles {
			if p.Selector {
				out = append(out,
					wire.Entity(&p4v1.ActionProfileGroup{ActionProfileId: p.ID}))
			}
		}
	case entry.KindMulticast:
		out = append(out, multicastPattern(0, nil))
	case entry.KindClone:
		out = append(out, clonePattern(&p4v1.CloneSessionEntry{}))
	case entry.KindReports:
		for _, id := range s.digestIDs {
			out = append(out,
				wire.Entity(&p4v1.DigestEntry{DigestId: id}))
		}
		slices.SortFunc(out, func(a, b *p4v1.Entity) int {
			return cmp.Compare(a.GetDigestEntry().GetDigestId(), b.GetDigestEntry().GetDigestId())
		})
	}
	return out
}

func tablePattern(id uint32, k entry.Kind) *p4v1.Entity {
	return wire.Entity(&p4v1.TableEntry{TableId: id,
		IsDefaultAction: k == entry.KindDefault})
}

func multicastPattern(id uint32, replicas []*p4v1.Replica) *p4v1.Entity {
	return replication(
		&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{
			MulticastGroupEntry: &p4v1.MulticastGroupEntry{MulticastGroupId: id, Replicas: replicas},
		}})
}

func clonePattern(e *p4v1.CloneSessionEntry) *p4v1.Entity {
	return replication(&p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: e}})
}

func replication(p *p4v1.PacketReplicationEngineEntry) *p4v1.Entity {
	return wire.Entity(p)
}
