package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/weft-sdn/weft/controller/entry"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
)

// P4Runtime reaches switches through package southbound.
type P4Runtime struct {
	pipeline *southbound.Pipeline
	codec    *entry.Codec
	election southbound.ElectionID
	// Configure, when not nil, may change how a switch is reached.
	Configure func(inventory.Switch, *southbound.Config)
}

// NewP4Runtime returns the seam to switches that run a pipeline, for the
// controller with an election id.
func NewP4Runtime(p *southbound.Pipeline, election southbound.ElectionID) *P4Runtime {
	return &P4Runtime{pipeline: p, codec: entry.NewCodec(p.Schema()), election: election}
}

// SessionConfig says how a switch of the inventory is reached by the controller with
// an election id. It leaves the switch's pipeline alone.
func SessionConfig(sw *inventory.Switch, election southbound.ElectionID) southbound.Config {
	cfg := southbound.DefaultConfig()
	cfg.Name, cfg.Target, cfg.DeviceID, cfg.Election = sw.Name, sw.Address, max(1, sw.DeviceID), election
	cfg.TLS = sw.TLS.Client()
	cfg.GNMI, cfg.NoPortState = sw.GNMI.Address, sw.GNMI.Off
	return cfg
}

// Open implements Southbound.
func (p *P4Runtime) Open(ctx context.Context, sw inventory.Switch, handler func(SwitchEvent)) (Switch, error) {
	cfg := SessionConfig(&sw, p.election)
	cfg.Pipeline = p.pipeline
	if p.Configure != nil {
		p.Configure(sw, &cfg)
	}
	s, err := southbound.Open(ctx, cfg, func(_ context.Context, e southbound.Event) { p.event(e, handler) })
	if err != nil {
		return nil, err
	}
	return &p4Switch{p: p, s: s}, nil
}

func (p *P4Runtime) event(e southbound.Event, handler func(SwitchEvent)) {
	switch e := e.(type) {
	case southbound.Ready:
		handler(SwitchEvent{Up: true})
	case southbound.Backup:
		handler(SwitchEvent{Err: fmt.Errorf("another controller is primary, with election id %d", e.Primary.Low)})
	case southbound.Down:
		handler(SwitchEvent{Err: e.Err})
	case southbound.PacketIn:
		in := p.codec.DecodePacketIn(e)
		handler(SwitchEvent{PacketIn: &in})
	case southbound.Digest:
		if d, err := p.codec.DecodeDigest(e); err == nil {
			handler(SwitchEvent{Digest: &d})
		}
	case southbound.Ports:
		handler(SwitchEvent{Ports: &PortStates{Up: e.Up, Err: e.Err, Ignored: e.Ignored}})
	}
}

// p4Switch is one session.
type p4Switch struct {
	p *P4Runtime
	s *southbound.Session
}

func (w *p4Switch) Write(ctx context.Context, updates []entry.Update) ([]Refusal, error) {
	coded := make([]southbound.Update, 0, len(updates))
	place := make([]int, 0, len(updates))
	var refused []Refusal
	for i, u := range updates {
		c, err := w.p.codec.EncodeUpdate(u)
		if err != nil {
			refused = append(refused, Refusal{Update: i, Message: err.Error()})
			continue
		}
		coded, place = append(coded, c), append(place, i)
	}
	more, err := Refusals(w.s.Write(ctx, coded))
	for _, r := range more {
		r.Update = place[r.Update]
		refused = append(refused, r)
	}
	return refused, err
}

// Refusals separates what a switch said about single updates from an error that
// leaves what became of them unknown.
func Refusals(err error) ([]Refusal, error) {
	var failed *southbound.WriteError
	if err == nil || !errors.As(err, &failed) || failed.Cause != nil {
		return nil, err
	}
	out := make([]Refusal, 0, len(failed.Updates))
	for _, u := range failed.Updates {
		r := Refusal{Update: u.Index, Message: u.Code.String()}
		if u.Message != "" {
			r.Message += ": " + u.Message
		}
		switch u.Code {
		case southbound.CodeAlreadyExists:
			r.Reason = RefusedExists
		case southbound.CodeNotFound:
			r.Reason = RefusedMissing
		case southbound.CodeResourceExhausted:
			r.Reason = RefusedCapacity
		}
		out = append(out, r)
	}
	return out, nil
}

func (w *p4Switch) Read(ctx context.Context) (Contents, error) {
	c, err := w.s.ReadAll(ctx)
	if err != nil {
		return Contents{}, err
	}
	return DecodeContents(w.p.codec, c), nil
}

// DecodeContents names what was read from a switch. Entries that come with the
// program are left out: nobody can change them.
func DecodeContents(codec *entry.Codec, c southbound.Contents) Contents {
	out := Contents{Unknown: c.Unsupported}
	for _, e := range c.Entities {
		if t, ok := e.(southbound.TableEntry); ok && t.Const {
			continue
		}
		named, err := codec.Decode(e)
		if err != nil {
			out.Foreign++
			continue
		}
		out.Entities = append(out.Entities, named)
	}
	return out
}

func (w *p4Switch) PacketOut(ctx context.Context, p entry.PacketOut) error {
	out, err := w.p.codec.EncodePacketOut(p)
	if err != nil {
		return err
	}
	return w.s.PacketOut(ctx, out)
}

func (w *p4Switch) Tables() []TableView {
	schema := w.p.pipeline.Schema()
	names := make(map[uint32]string, len(schema.Actions))
	for _, a := range schema.Actions {
		names[a.ID] = a.Name
	}
	out := make([]TableView, 0, len(schema.Tables))
	for _, t := range schema.Tables {
		v := TableView{Name: t.Name, Size: t.Size, Fields: []string{}, Actions: []string{}}
		for _, f := range t.Fields {
			v.Fields = append(v.Fields, f.Name)
		}
		for _, a := range t.Actions {
			v.Actions = append(v.Actions, names[a])
		}
		out = append(out, v)
	}
	return out
}

func (w *p4Switch) Inspect(ctx context.Context, table string) ([]EntryView, error) {
	schema := w.p.pipeline.Schema()
	info, err := schema.Table(table)
	if err != nil {
		return nil, err
	}
	kinds := []southbound.Kind{southbound.KindTableEntry}
	if !info.ConstDefault && info.Profile == 0 {
		kinds = append(kinds, southbound.KindDefaultAction)
	}
	out := []EntryView{}
	for _, kind := range kinds {
		if kind == southbound.KindTableEntry && len(info.Fields) == 0 {
			continue // it has nothing but a default action
		}
		entities, err := w.s.Read(ctx, southbound.Query{Kind: kind, ID: info.ID})
		if err != nil {
			return nil, err
		}
		for _, e := range entities {
			d, err := schema.Describe(e.(southbound.TableEntry))
			if err != nil {
				return nil, err
			}
			out = append(out, EntryView{
				Table: d.Table, Match: fieldViews(d.Match), Priority: d.Priority, Default: d.Default,
				Action: d.Action, Params: fieldViews(d.Params), Member: d.Member, Group: d.Group,
			})
		}
	}
	return out, nil
}

func fieldViews(fields []southbound.Typed) []FieldView {
	out := make([]FieldView, 0, len(fields))
	for _, f := range fields {
		out = append(out, FieldView{Name: f.Name, Value: f.Value})
	}
	return out
}

func (w *p4Switch) Counters(ctx context.Context) ([]CounterView, error) {
	schema := w.p.pipeline.Schema()
	infos := make(map[uint32]southbound.CounterInfo, len(schema.Counters))
	for _, c := range schema.Counters {
		infos[c.ID] = c
	}
	entities, err := w.s.Read(ctx, southbound.Query{Kind: southbound.KindCounter})
	if err != nil {
		return nil, err
	}
	out := []CounterView{}
	for _, e := range entities {
		c, ok := e.(southbound.CounterCell)
		if !ok || c.Packets == 0 && c.Bytes == 0 {
			continue
		}
		info := infos[c.Counter]
		v := CounterView{Counter: info.Name, Index: c.Index, Name: strconv.FormatInt(c.Index, 10), Packets: c.Packets, Octets: c.Bytes}
		if name := cmp.Or(info.IndexNames[c.Index], p4.CellName(info.Name, c.Index)); name != "" {
			v.Name = name
		}
		out = append(out, v)
	}
	return out, nil
}

func (w *p4Switch) PortCounts(ctx context.Context, d Direction) (map[uint32]uint64, error) {
	entities, err := w.s.Read(ctx, southbound.Query{Kind: southbound.KindCounter, ID: portCounters[d]})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]uint64, len(entities))
	for _, e := range entities {
		if c, ok := e.(southbound.CounterCell); ok {
			out[uint32(c.Index)] = uint64(max(c.Packets, 0))
		}
	}
	return out, nil
}

var portCounters = [...]uint32{Sent: p4.CounterPortTxID, Received: p4.CounterPortRxID}

func (w *p4Switch) Close() error { return w.s.Close() }
