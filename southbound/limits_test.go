package southbound

import (
	"context"
	"errors"
	"fmt"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/southbound/entry"
)

// endless is a switch whose answers to reads do not end.
type endless struct {
	Transport
	sent int // entities
}

func (x *endless) Read(ctx context.Context, req *p4v1.ReadRequest,
	emit func(*p4v1.ReadResponse)) error {
	resp := &p4v1.ReadResponse{}
	for range 100 {
		resp.Entities = append(resp.Entities, req.GetEntities()[0])
	}
	for x.sent = 0; ctx.Err() == nil; x.sent += len(resp.GetEntities()) {
		emit(resp)
	}
	return ctx.Err()
}

// TestEndlessReads checks that a read ends when the switch answers with more than it can hold,
// whatever is read.
func TestEndlessReads(t *testing.T) {
	x := &endless{}
	c := &Client{Transport: x, DeviceID: 1, Pipeline: smallPipeline(t)}
	schema := c.Pipeline.schema
	table := schema.Tables[0].Name
	for name, read := range map[string]func(context.Context) error{
		"everything": func(ctx context.Context) error { _, err := c.ReadAll(ctx); return err },
		"a table":    func(ctx context.Context) error { _, err := c.ReadTable(ctx, table); return err },
		"counters":   func(ctx context.Context) error { _, err := c.ReadCounters(ctx, ""); return err },
	} {
		if err := read(t.Context()); !errors.Is(err, ErrTooMuch) {
			t.Errorf("reading %s: %v", name, err)
		}
	}
	for _, k := range entry.Kinds() {
		patterns := schema.patterns(k)
		if len(patterns) == 0 {
			continue
		}
		taken := int64(0)
		err := c.readEntities(t.Context(), patterns, func(*p4v1.Entity) { taken++ })
		if most := schema.most(patterns); !errors.Is(err, ErrTooMuch) || taken != most ||
			int64(x.sent) > most+200 {
			t.Errorf("reading every %s: %v after %d of %d entities, %d sent", k, err, taken, most, x.sent)
		}
	}
}

// TestLongAnswer checks that the answer to a read has a size, in however many messages it comes.
func TestLongAnswer(t *testing.T) {
	f := newFakeSwitch(t)
	cfg := f.config()
	cfg.Pipeline, cfg.MaxReadBytes = smallPipeline(t), 1<<14
	s, ev := open(t, cfg)
	next[Ready](t, ev)
	long := wire.Entity(&p4v1.CounterEntry{CounterId: drops, Index: &p4v1.Index{Index: 1 << 40},
		Data: &p4v1.CounterData{PacketCount: 1 << 60, ByteCount: 1 << 60}})
	f.with(func() {
		for _, key := range []entry.Key{"a", "b", "c"} {
			f.entities[key] = long
		}
	})
	if _, err := s.ReadCounters(t.Context(), "drops"); err != nil {
		t.Fatal(err)
	}
	f.with(func() {
		for i := range 1000 {
			f.entities[entry.Key(fmt.Sprint(i))] = long
		}
	})
	if _, err := s.ReadCounters(t.Context(), "drops"); !errors.Is(err, ErrTooMuch) {
		t.Errorf("an answer of more than 16,384 octets: %v", err)
	}
}
