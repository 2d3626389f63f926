package controller

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// P4Runtime reaches switches through package southbound.
type P4Runtime struct {
	pipeline *southbound.Pipeline
	election southbound.ElectionID
	// Claim defines when to become primary of a switch.
	Claim southbound.Claim
	// Samples, when not nil, takes the counters of the ports of all switches. Each switch calls
	// Samples from a separate goroutine, so calls run concurrently.
	Samples gnmi.Samples
	// Turns, when not nil, has switches get another program one after the other.
	Turns *Turns
	// Configure, when not nil, may change how a switch is reached.
	Configure func(inventory.Switch, *southbound.Config)
}

// NewP4Runtime returns the seam to switches that run a pipeline, for the
// controller with an election id.
func NewP4Runtime(p *southbound.Pipeline, election southbound.ElectionID) *P4Runtime {
	return &P4Runtime{pipeline: p, election: election}
}

// SessionConfig reports how a switch of the inventory is reached by the controller with
// an election id. It leaves the switch's pipeline alone.
func SessionConfig(sw *inventory.Switch, election southbound.ElectionID) southbound.Config {
	cfg := southbound.DefaultConfig()
	cfg.Name, cfg.Target, cfg.DeviceID, cfg.Election = sw.Name, sw.Address, sw.Device(), election
	cfg.TLS = sw.TLS.Client(certs.KindSwitch)
	cfg.GNMI, cfg.NoPortState, cfg.Dialect = sw.GNMI.Address, sw.GNMI.Off, sw.GNMI.Dialect
	if !sw.RunsP4() {
		cfg = cfg.GNMIOnly()
		cfg.PortOf = portOf(sw)
	}
	cfg.SampleInterval = cmp.Or(sw.GNMI.Sample.D(), cfg.SampleInterval)
	return cfg
}

// Open implements Southbound. The result is a P4Switch.
func (p *P4Runtime) Open(
	ctx context.Context, sw inventory.Switch, handler func(SwitchEvent),
) (Switch, error) {
	cfg := SessionConfig(&sw, p.election)
	cfg.Pipeline, cfg.Claim, cfg.Samples = p.pipeline, p.Claim, p.Samples
	if p.Turns != nil {
		cfg.Turn = func(ctx context.Context) (func(context.Context), error) {
			return p.Turns.take(ctx, sw.Name)
		}
	}
	if p.Configure != nil {
		p.Configure(sw, &cfg)
	}
	s, err := southbound.Open(ctx, cfg,
		func(_ context.Context, e southbound.Event) { hand(e, handler) })
	if err != nil {
		return nil, err
	}
	return &p4Switch{Session: s, pipeline: p.pipeline}, nil
}

// hand hands on an event of a session.
func hand(e southbound.Event, handler func(SwitchEvent)) {
	switch e := e.(type) {
	case southbound.Ready:
		handler(SwitchEvent{Up: true})
	case southbound.Backup:
		handler(SwitchEvent{Err: e.Err()})
	case southbound.Down:
		handler(SwitchEvent{Err: e.Err})
	case southbound.PacketIn:
		handler(SwitchEvent{PacketIn: &e.PacketIn})
	case southbound.Digest:
		handler(SwitchEvent{Digest: &e.Digest})
	case southbound.Ports:
		handler(SwitchEvent{Ports: &e})
	case southbound.Neighbors:
		handler(SwitchEvent{Neighbors: e})
	}
}

// p4Switch is one P4Runtime session. The embedded session writes entities and sends packets.
type p4Switch struct {
	*southbound.Session
	pipeline *southbound.Pipeline
}

// Read implements Switch.
func (w *p4Switch) Read(ctx context.Context) (entry.Contents, error) { return w.ReadAll(ctx) }

func (w *p4Switch) Tables() []api.Table {
	schema := w.pipeline.Schema()
	names := make(map[uint32]string, len(schema.Actions))
	for _, a := range schema.Actions {
		names[a.ID] = a.Name
	}
	out := make([]api.Table, 0, len(schema.Tables))
	for _, t := range schema.Tables {
		v := api.Table{Name: t.Name, Size: t.Size, Fields: []string{}, Actions: []string{}}
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

func (w *p4Switch) Inspect(ctx context.Context, table string) ([]api.TableEntry, error) {
	entries, err := w.ReadTable(ctx, table)
	if err != nil {
		return nil, err
	}
	out := make([]api.TableEntry, 0, len(entries))
	for _, e := range entries {
		d, err := w.pipeline.Schema().Describe(e)
		if err != nil {
			return nil, err
		}
		var intent *api.Intent
		if !d.Default {
			intent = entryIntent(plan.OwnerOf(e))
		}
		out = append(out, api.TableEntry{Intent: intent,
			Table: d.Table, Match: fieldViews(d.Match), Priority: d.Priority, Default: d.Default,
			Action: d.Action, Params: fieldViews(d.Params), Member: d.Member, Group: d.Group,
		})
	}
	return out, nil
}

// entryIntent returns what an owner of entries stands for; of a group, without its name.
func entryIntent(owner int) *api.Intent {
	i := &api.Intent{Kind: "topology", Owner: owner}
	switch {
	case owner >= 0:
		i.Kind = "multicast-group"
	case owner == plan.OwnerPFC:
		i.Kind = "pfc-policy"
	}
	return i
}

func fieldViews(fields []southbound.Typed) []api.Field {
	out := make([]api.Field, 0, len(fields))
	for _, f := range fields {
		out = append(out, api.Field{Name: f.Name, Value: f.Value})
	}
	return out
}

func (w *p4Switch) CounterNames() []string {
	var names []string
	for _, c := range w.pipeline.Schema().Counters {
		names = append(names, c.Name)
	}
	slices.SortFunc(names, natural.Compare)
	return names
}

func (w *p4Switch) Counters(ctx context.Context) ([]api.Counter, error) {
	cells, err := w.ReadCounters(ctx, "")
	if err != nil {
		return nil, err
	}
	out := []api.Counter{}
	for _, c := range cells {
		if c.Packets == 0 && c.Octets == 0 {
			continue
		}
		v := api.Counter{Counter: c.Name, Index: c.Index, Name: strconv.FormatInt(c.Index, 10),
			Packets: c.Packets, Octets: c.Octets}
		info, err := w.pipeline.Schema().Counter(c.Name)
		if err != nil {
			return nil, err
		}
		if name := cmp.Or(info.IndexNames[c.Index], p4.CellName(c.Name, c.Index)); name != "" {
			v.Name = name
		}
		out = append(out, v)
	}
	return out, nil
}

func (w *p4Switch) PortCounts(ctx context.Context, d Direction) (map[uint32]uint64, error) {
	cells, err := w.ReadCounters(ctx, portCounters[d])
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]uint64, len(cells))
	for _, c := range cells {
		out[uint32(c.Index)] = uint64(max(c.Packets, 0))
	}
	return out, nil
}

var portCounters = [...]string{Sent: p4.CounterPortTx, Received: p4.CounterPortRx}
