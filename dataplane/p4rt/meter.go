package p4rt

import (
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane"
)

var errMeterCounters = errorf(codes.Unimplemented, "counter data of meters: this target has no per-colour counters")

// meterConfig converts a meter configuration. What may be set depends on the
// type of the meter (P4Runtime specification, "MeterEntry & DirectMeterEntry").
func meterConfig(m *p4v1.MeterConfig, typ configv1.MeterSpec_Type) (dataplane.MeterConfig, *Error) {
	for _, f := range []struct {
		name string
		v    int64
	}{{"cir", m.GetCir()}, {"cburst", m.GetCburst()}, {"pir", m.GetPir()}, {"pburst", m.GetPburst()}, {"eburst", m.GetEburst()}} {
		if f.v < 0 {
			return dataplane.MeterConfig{}, invalid("%s %d; want 0 or more", f.name, f.v)
		}
	}
	if typ != configv1.MeterSpec_TWO_RATE_THREE_COLOR {
		if m.GetPir() != m.GetCir() || m.GetPburst() != m.GetCburst() {
			return dataplane.MeterConfig{}, invalid("pir %d and pburst %d; the meter is %s, which wants them equal to cir %d and cburst %d",
				m.GetPir(), m.GetPburst(), typ, m.GetCir(), m.GetCburst())
		}
		if typ == configv1.MeterSpec_SINGLE_RATE_THREE_COLOR && m.GetEburst() != 0 {
			return dataplane.MeterConfig{}, errorf(codes.Unimplemented, "eburst %d: this target marks by RFC 2698 and has no excess burst", m.GetEburst())
		}
	}
	if m.GetEburst() != 0 {
		return dataplane.MeterConfig{}, invalid("eburst %d; the meter is %s, which wants it unset", m.GetEburst(), typ)
	}
	return dataplane.MeterConfig{
		CIR: uint64(m.GetCir()), CBurst: uint64(m.GetCburst()),
		PIR: uint64(m.GetPir()), PBurst: uint64(m.GetPburst()),
	}, nil
}

func meterProto(c dataplane.MeterConfig) *p4v1.MeterConfig {
	return &p4v1.MeterConfig{Cir: int64(c.CIR), Cburst: int64(c.CBurst), Pir: int64(c.PIR), Pburst: int64(c.PBurst)}
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

func (r *realm) applyMeter(m *arraySchema, typ p4v1.Update_Type, e *p4v1.MeterEntry, undo *undoLog) *Error {
	if err := onlyModify(typ, "a meter"); err != nil {
		return err
	}
	if e.GetCounterData() != nil {
		return errMeterCounters
	}
	from, to, err := indices(e.GetIndex(), m.size)
	if err != nil {
		return err
	}
	var cfg *dataplane.MeterConfig // nil: back to the default
	if e.GetConfig() != nil {
		c, err := meterConfig(e.GetConfig(), m.meter)
		if err != nil {
			return err
		}
		cfg = &c
	}
	if undo != nil {
		old := make([]*dataplane.MeterConfig, to-from)
		for i := range old {
			if c, ok, _ := r.sw.Meter(m.engine, from+i); ok {
				old[i] = &c
			}
		}
		undo.add(func() {
			for i := range old {
				_ = r.sw.SetMeter(m.engine, from+i, old[i])
			}
		})
	}
	for i := from; i < to; i++ {
		if err := engineError(r.sw.SetMeter(m.engine, i, cfg)); err != nil {
			return err
		}
	}
	return nil
}

func (r *realm) readMeters(q *p4v1.MeterEntry, out *reading) *Error {
	if q.GetCounterData() != nil {
		return errMeterCounters
	}
	if q.GetMeterId() == 0 {
		for _, m := range r.p.meterList {
			if err := r.emitMeters(m, 0, int(m.size), out); err != nil {
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
		err = r.emitMeters(m, from, to, out)
	}
	if err != nil {
		return err.in("meter %q", m.name)
	}
	return nil
}

func (r *realm) emitMeters(m *arraySchema, from, to int, out *reading) *Error {
	for i := from; i < to && out.more(); i++ {
		c, ok, err := r.sw.Meter(m.engine, i)
		if err != nil {
			return engineError(err)
		}
		e := &p4v1.MeterEntry{MeterId: m.id, Index: &p4v1.Index{Index: int64(i)}}
		if ok {
			e.Config = meterProto(c)
		}
		out.emit(&p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: e}})
	}
	return nil
}

func (r *realm) writeDirectMeter(typ p4v1.Update_Type, e *p4v1.DirectMeterEntry, undo *undoLog) *Error {
	t, err := r.table(e.GetTableEntry().GetTableId())
	if err != nil {
		return err
	}
	if err := r.applyDirectMeter(t, typ, e, undo); err != nil {
		return err.in("direct meter of table %q", t.name)
	}
	return nil
}

func (r *realm) applyDirectMeter(t *tableSchema, typ p4v1.Update_Type, e *p4v1.DirectMeterEntry, undo *undoLog) *Error {
	if err := onlyModify(typ, "a direct meter"); err != nil {
		return err
	}
	switch {
	case e.GetCounterData() != nil:
		return errMeterCounters
	case t.meter == nil:
		return invalid("the table has no direct meter")
	case e.GetTableEntry().GetIsDefaultAction():
		return errorf(codes.Unimplemented, "this target has no meter for the default entry")
	}
	match, prio, err := t.matchKey(nil, e.GetTableEntry())
	if err != nil {
		return err
	}
	var cfg *dataplane.MeterConfig
	if e.GetConfig() != nil {
		c, err := meterConfig(e.GetConfig(), t.meter.meter)
		if err != nil {
			return err
		}
		cfg = &c
	}
	old, ok, gerr := r.sw.DirectMeter(t.engine, match, prio)
	if gerr != nil {
		return updateError(gerr, p4v1.Update_DELETE, "entry")
	}
	undo.add(func() {
		back := &old
		if !ok {
			back = nil
		}
		_ = r.sw.SetDirectMeter(t.engine, match, prio, back)
	})
	return engineError(r.sw.SetDirectMeter(t.engine, match, prio, cfg))
}

// readDirectMeters reads direct meters as readDirectCounters does counters.
func (r *realm) readDirectMeters(q *p4v1.DirectMeterEntry, out *reading) *Error {
	if q.GetCounterData() != nil {
		return errMeterCounters
	}
	return r.readDirect(q.GetTableEntry(), "meter", out,
		func(t *tableSchema) bool { return t.meter != nil },
		func(t *tableSchema, x *dataplane.Entry) *Error {
			c, ok, err := r.sw.DirectMeter(t.engine, x.Match, x.Priority)
			if err != nil {
				return updateError(err, p4v1.Update_DELETE, "entry")
			}
			e := &p4v1.DirectMeterEntry{TableEntry: &p4v1.TableEntry{
				TableId: t.id, Match: t.key.fieldMatches(&out.slab, x.Match), Priority: x.Priority,
			}}
			if ok {
				e.Config = meterProto(c)
			}
			out.emit(&p4v1.Entity{Entity: &p4v1.Entity_DirectMeterEntry{DirectMeterEntry: e}})
			return nil
		},
		func(*tableSchema) *Error {
			return errorf(codes.Unimplemented, "this target has no meter for the default entry")
		})
}
