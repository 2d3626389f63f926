package p4rt

import (
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4/wire"
)

// meterConfig converts a meter configuration. What may be set depends on the
// type of the meter (P4Runtime specification, "MeterEntry & DirectMeterEntry").
func meterConfig(m *p4v1.MeterConfig, typ configv1.MeterSpec_Type) (engine.MeterConfig, *Error) {
	for _, f := range []struct {
		name string
		v    int64
	}{{"cir", m.GetCir()}, {"cburst", m.GetCburst()}, {"pir", m.GetPir()}, {"pburst", m.GetPburst()},
		{"eburst", m.GetEburst()}} {
		if f.v < 0 {
			return engine.MeterConfig{}, invalid("%s %d; want 0 or more", f.name, f.v)
		}
	}
	if typ != configv1.MeterSpec_TWO_RATE_THREE_COLOR {
		if m.GetPir() != m.GetCir() || m.GetPburst() != m.GetCburst() {
			return engine.MeterConfig{},
				invalid("pir %d and pburst %d; the meter is %s, which wants them equal to cir %d and cburst %d",
					m.GetPir(), m.GetPburst(), typ, m.GetCir(), m.GetCburst())
		}
	}
	if m.GetEburst() != 0 && typ != configv1.MeterSpec_SINGLE_RATE_THREE_COLOR {
		return engine.MeterConfig{}, invalid("eburst %d; the meter is %s, which wants it unset",
			m.GetEburst(), typ)
	}
	return engine.MeterConfig{
		CIR: uint64(m.GetCir()), CBurst: uint64(m.GetCburst()),
		PIR: uint64(m.GetPir()), PBurst: uint64(m.GetPburst()), EBurst: uint64(m.GetEburst()),
	}, nil
}

// clearsCounts checks the counter data of a write: it is for clearing alone.
func clearsCounts(d *p4v1.MeterCounterData) *Error {
	for _, c := range []struct {
		color string
		data  *p4v1.CounterData
	}{{"green", d.GetGreen()}, {"yellow", d.GetYellow()}, {"red", d.GetRed()}} {
		if c.data.GetPacketCount() != 0 || c.data.GetByteCount() != 0 {
			return invalid("%s has packet_count %d and byte_count %d; want 0, which clears all colors",
				c.color, c.data.GetPacketCount(), c.data.GetByteCount())
		}
	}
	return nil
}

func meterCounterData(v engine.MeterCounts) *p4v1.MeterCounterData {
	return &p4v1.MeterCounterData{Green: counterData(v[0]), Yellow: counterData(v[1]),
		Red: counterData(v[2])}
}

func meterProto(c engine.MeterConfig) *p4v1.MeterConfig {
	return &p4v1.MeterConfig{Cir: int64(c.CIR), Cburst: int64(c.CBurst), Pir: int64(c.PIR),
		Pburst: int64(c.PBurst), Eburst: int64(c.EBurst)}
}

func (r *realm) writeMeter(typ p4v1.Update_Type, e *p4v1.MeterEntry, undo *undoLog) *Error {
	m := r.p.meters[e.GetMeterId()]
	if m == nil {
		return invalid("meter id 0x%08x is not an indirect meter of the P4Info", e.GetMeterId())
	}
	if err := r.applyMeter(m, typ, e, undo); err != nil {
		return err.in("meter %q", m.name)
	}
	return nil
}

func (r *realm) applyMeter(m *arraySchema, typ p4v1.Update_Type, e *p4v1.MeterEntry,
	undo *undoLog) *Error {
	if err := onlyModify(typ, "a meter"); err != nil {
		return err
	}
	from, to, err := indices(e.GetIndex(), m.size)
	if err != nil {
		return err
	}
	cfg, err := optionalMeter(e.GetConfig(), m.meter)
	if err != nil {
		return err
	}
	if err := clearsCounts(e.GetCounterData()); err != nil {
		return err.in("counter_data")
	}
	if undo != nil {
		old := make([]meterSnapshot, to-from)
		for i := range old {
			old[i], _ = r.snapshot(engine.Element(m.engine, from+i))
		}
		undo.add(func() {
			for i := range old {
				r.restore(engine.Element(m.engine, from+i), old[i])
			}
		})
	}
	for i := from; i < to; i++ {
		gerr := r.setMeter(engine.Element(m.engine, i), cfg, e.GetCounterData() != nil)
		if gerr != nil {
			return engineError(gerr)
		}
	}
	return nil
}

// meterSnapshot is the state of a meter that a rollback restores.
type meterSnapshot struct {
	config *engine.MeterConfig // nil: the default
	counts engine.MeterCounts
}

func (r *realm) snapshot(at engine.Cell) (s meterSnapshot, err error) {
	c, configured, err := r.sw.Meter(at)
	if err != nil {
		return s, err
	}
	if configured {
		s.config = &c
	}
	s.counts, err = r.sw.MeterCounts(at)
	return s, err
}

func (r *realm) restore(at engine.Cell, s meterSnapshot) {
	_ = r.sw.SetMeter(at, s.config)
	_ = r.sw.SetMeterCounts(at, s.counts)
}

// setMeter configures a meter, nil being the default, and clears its counts if asked to.
func (r *realm) setMeter(at engine.Cell, c *engine.MeterConfig, clear bool) error {
	if err := r.sw.SetMeter(at, c); err != nil || !clear {
		return err
	}
	return r.sw.SetMeterCounts(at, engine.MeterCounts{})
}

// optionalMeter is meterConfig for a configuration that may be unset: nil is
// the default.
func optionalMeter(m *p4v1.MeterConfig, typ configv1.MeterSpec_Type) (*engine.MeterConfig, *Error) {
	if m == nil {
		return nil, nil
	}
	c, err := meterConfig(m, typ)
	if err != nil {
		return nil, err
	}
	return &c, nil
}

func (r *realm) readMeters(q *p4v1.MeterEntry, out *reading) *Error {
	if q.GetMeterId() == 0 {
		for _, m := range r.p.meterList {
			if err := r.emitMeters(m, 0, int(m.size), q, out); err != nil {
				return err
			}
		}
		return nil
	}
	m := r.p.meters[q.GetMeterId()]
	if m == nil {
		return invalid("meter id 0x%08x is not an indirect meter of the P4Info", q.GetMeterId())
	}
	from, to, err := indices(q.GetIndex(), m.size)
	if err == nil {
		err = r.emitMeters(m, from, to, q, out)
	}
	if err != nil {
		return err.in("meter %q", m.name)
	}
	return nil
}

func (r *realm) emitMeters(m *arraySchema, from, to int, q *p4v1.MeterEntry, out *reading) *Error {
	for i := from; i < to && out.more(); i++ {
		at := engine.Element(m.engine, i)
		c, ok, err := r.sw.Meter(at)
		if err != nil {
			return engineError(err)
		}
		e := &p4v1.MeterEntry{MeterId: m.id, Index: &p4v1.Index{Index: int64(i)}}
		if ok {
			e.Config = meterProto(c)
		}
		if q.GetCounterData() != nil {
			v, _ := r.sw.MeterCounts(at)
			e.CounterData = meterCounterData(v)
		}
		out.emit(wire.Entity(e))
	}
	return nil
}

func (r *realm) writeDirectMeter(typ p4v1.Update_Type, e *p4v1.DirectMeterEntry,
	undo *undoLog) *Error {
	t, err := r.table(e.GetTableEntry().GetTableId())
	if err != nil {
		return err
	}
	if err := r.applyDirectMeter(t, typ, e, undo); err != nil {
		return err.in("direct meter of table %q", t.name)
	}
	return nil
}

func (r *realm) applyDirectMeter(t *tableSchema, typ p4v1.Update_Type, e *p4v1.DirectMeterEntry,
	undo *undoLog) *Error {
	if err := onlyModify(typ, "a direct meter"); err != nil {
		return err
	}
	if t.meter == nil {
		return invalid("the table has no direct meter")
	}
	at, err := r.cellOf(t, e.GetTableEntry())
	if err != nil {
		return err
	}
	cfg, err := optionalMeter(e.GetConfig(), t.meter.meter)
	if err != nil {
		return err
	}
	if err := clearsCounts(e.GetCounterData()); err != nil {
		return err.in("counter_data")
	}
	old, gerr := r.snapshot(at)
	if gerr != nil {
		return updateError(gerr, p4v1.Update_DELETE, "entry")
	}
	undo.add(func() { r.restore(at, old) })
	return engineError(r.setMeter(at, cfg, e.GetCounterData() != nil))
}

// readDirectMeters reads direct meters as readDirectCounters does counters.
func (r *realm) readDirectMeters(q *p4v1.DirectMeterEntry, out *reading) *Error {
	return r.readDirect(q.GetTableEntry(), "meter", out,
		func(t *tableSchema) bool { return t.meter != nil },
		func(e *p4v1.TableEntry, at engine.Cell) *Error {
			s, err := r.snapshot(at)
			if err != nil {
				return updateError(err, p4v1.Update_DELETE, "entry")
			}
			d := &p4v1.DirectMeterEntry{TableEntry: e}
			if s.config != nil {
				d.Config = meterProto(*s.config)
			}
			if q.GetCounterData() != nil {
				d.CounterData = meterCounterData(s.counts)
			}
			out.emit(wire.Entity(d))
			return nil
		})
}
