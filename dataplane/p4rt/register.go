package p4rt

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4/wire"
)

func (r *realm) writeRegister(typ p4v1.Update_Type, e *p4v1.RegisterEntry, undo *undoLog) *Error {
	reg := r.p.registers[e.GetRegisterId()]
	if reg == nil {
		return invalid("register id 0x%08x is not in the P4Info", e.GetRegisterId())
	}
	if err := r.applyRegister(reg, typ, e, undo); err != nil {
		return err.in("register %q", reg.name)
	}
	return nil
}

func (r *realm) applyRegister(reg *registerSchema, typ p4v1.Update_Type, e *p4v1.RegisterEntry,
	undo *undoLog) *Error {
	if err := onlyModify(typ, "a register"); err != nil {
		return err
	}
	from, to, err := indices(e.GetIndex(), reg.size)
	if err != nil {
		return err
	}
	value, err := r.p.types.encode(r.texts, nil, reg.spec, e.GetData())
	if err != nil {
		return err
	}
	if undo != nil {
		old := make([][]byte, to-from)
		for i := range old {
			old[i], _ = r.sw.Register(reg.engine, from+i)
		}
		undo.add(func() {
			for i := range old {
				_ = r.sw.SetRegister(reg.engine, from+i, old[i])
			}
		})
	}
	for i := from; i < to; i++ {
		if err := engineError(r.sw.SetRegister(reg.engine, i, value)); err != nil {
			return err
		}
	}
	return nil
}

func (r *realm) readRegisters(q *p4v1.RegisterEntry, out *reading) *Error {
	if q.GetRegisterId() == 0 {
		if q.GetIndex() != nil {
			return invalid("index %d with register_id 0, which reads all registers; leave the index unset",
				q.GetIndex().GetIndex())
		}
		for _, reg := range r.p.registerList {
			if err := r.emitRegisters(reg, 0, int(reg.size), out); err != nil {
				return err.in("register %q", reg.name)
			}
		}
		return nil
	}
	reg := r.p.registers[q.GetRegisterId()]
	if reg == nil {
		return invalid("register id 0x%08x is not in the P4Info", q.GetRegisterId())
	}
	from, to, err := indices(q.GetIndex(), reg.size)
	if err == nil {
		err = r.emitRegisters(reg, from, to, out)
	}
	if err != nil {
		return err.in("register %q", reg.name)
	}
	return nil
}

func (r *realm) emitRegisters(reg *registerSchema, from, to int, out *reading) *Error {
	for i := from; i < to && out.more(); i++ {
		v, err := r.sw.Register(reg.engine, i)
		if err != nil {
			return engineError(err)
		}
		out.emit(wire.Entity(&p4v1.RegisterEntry{
			RegisterId: reg.id, Index: &p4v1.Index{Index: int64(i)}, Data: r.p.types.decode(r.texts, &v,
				reg.spec),
		}))
	}
	return nil
}
