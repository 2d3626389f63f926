package p4rt

import (
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane/engine"
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
			old[i].take(r.sw.Meter(m.engine, from+i))
			old[i].counts, _ = r.sw.MeterCounts(m.engine, from+i)
		}
		undo.add(func() {
			for i := range old {
				_ = r.sw.SetMeter(m.engine, from+i, old[i].config)
				_ = r.sw.SetMeterCounts(m.engine, from+i, old[i].counts)
			}
		})
	}
	for i := from; i < to; i++ {
		gerr := r.sw.SetMeter(m.engine, i, cfg)
		if gerr == nil && e.GetCounterData() != nil {
			gerr = r.sw.SetMeterCounts(m.engine, i, engine.MeterCounts{})
		}
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

func (s *meterSnapshot) take(c engine.MeterConfig, configured bool, _ error) {
	if configured {
		s.config = &c
	}
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
		c, ok, err := r.sw.Meter(m.engine, i)
		if err != nil {
			return engineError(err)
		}
		e := &p4v1.MeterEntry{MeterId: m.id, Index: &p4v1.Index{Index: int64(i)}}
		if ok {
			e.Config = meterProto(c)
		}
		if q.GetCounterData() != nil {
			v, _ := r.sw.MeterCounts(m.engine, i)
			e.CounterData = meterCounterData(v)
		}
		out.emit(&p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: e}})
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
	m := meterOf{r: r, t: t, dflt: e.GetTableEntry().GetIsDefaultAction()}
	var err *Error
	if m.dflt {
		err = checkDefaultKey(e.GetTableEntry())
	} else {
		m.match, m.prio, err = t.matchKey(r.texts.looking(), nil, e.GetTableEntry())
	}
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
	old, gerr := m.snapshot()
	if gerr != nil {
		return updateError(gerr, p4v1.Update_DELETE, "entry")
	}
	undo.add(func() { m.restore(old) })
	return engineError(m.set(cfg, e.GetCounterData() != nil))
}

// meterOf is the direct meter of an entry, or of the default entry.
type meterOf struct {
	r     *realm
	t     *tableSchema
	match []engine.Match
	prio  int32
	dflt  bool
}

func (m *meterOf) config() (engine.MeterConfig, bool, error) {
	if m.dflt {
		return m.r.sw.DefaultMeter(m.t.engine)
	}
	return m.r.sw.DirectMeter(m.t.engine, m.match, m.prio)
}

func (m *meterOf) setConfig(c *engine.MeterConfig) error {
	if m.dflt {
		return m.r.sw.SetDefaultMeter(m.t.engine, c)
	}
	return m.r.sw.SetDirectMeter(m.t.engine, m.match, m.prio, c)
}

func (m *meterOf) counts() (engine.MeterCounts, error) {
	if m.dflt {
		return m.r.sw.DefaultMeterCounts(m.t.engine)
	}
	return m.r.sw.DirectMeterCounts(m.t.engine, m.match, m.prio)
}

func (m *meterOf) setCounts(v engine.MeterCounts) error {
	if m.dflt {
		return m.r.sw.SetDefaultMeterCounts(m.t.engine, v)
	}
	return m.r.sw.SetDirectMeterCounts(m.t.engine, m.match, m.prio, v)
}

func (m *meterOf) snapshot() (s meterSnapshot, err error) {
	c, ok, err := m.config()
	s.take(c, ok, err)
	if err == nil {
		s.counts, err = m.counts()
	}
	return s, err
}

func (m *meterOf) restore(s meterSnapshot) {
	_ = m.setConfig(s.config)
	_ = m.setCounts(s.counts)
}

// set configures the meter, nil being the default, and clears its counts if
// asked to.
func (m *meterOf) set(c *engine.MeterConfig, clear bool) error {
	if err := m.setConfig(c); err != nil || !clear {
		return err
	}
	return m.setCounts(engine.MeterCounts{})
}

// readDirectMeters reads direct meters as readDirectCounters does counters.
func (r *realm) readDirectMeters(q *p4v1.DirectMeterEntry, out *reading) *Error {
	one := func(m meterOf, e *p4v1.TableEntry) *Error {
		s, err := m.snapshot()
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
		out.emit(&p4v1.Entity{Entity: &p4v1.Entity_DirectMeterEntry{DirectMeterEntry: d}})
		return nil
	}
	return r.readDirect(q.GetTableEntry(), "meter", out,
		func(t *tableSchema) bool { return t.meter != nil },
		func(t *tableSchema, x *engine.Entry) *Error {
			return one(meterOf{r: r, t: t, match: x.Match, prio: x.Priority},
				&p4v1.TableEntry{TableId: t.id, Match: t.key.fieldMatches(r.texts, &out.slab, x.Match),
					Priority: x.Priority})
		},
		func(t *tableSchema) *Error {
			return one(meterOf{r: r, t: t, dflt: true}, &p4v1.TableEntry{TableId: t.id,
				IsDefaultAction: true})
		})
}
