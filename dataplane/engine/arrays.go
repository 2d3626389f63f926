package engine

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/extern"
)

// index checks an index into one of the program's arrays.
func (s *State) index(what string, i, n int) error {
	if s.prog == nil {
		return ErrNoProgram
	}
	if i < 0 || i >= n {
		return fmt.Errorf("%s %d: %w", what, i, ErrNotFound)
	}
	return nil
}

func inRange(name string, i, size int) error {
	if i < 0 || i >= size {
		return fmt.Errorf("%s: index %d of %d: %w", name, i, size, ErrRange)
	}
	return nil
}

// Counter reads an indirect counter; see dataplane.Controls.
func (s *State) Counter(counter, index int) (CounterValue, error) {
	if err := s.index("counter", counter, len(s.counters)); err != nil {
		return CounterValue{}, err
	}
	k := &s.counters[counter]
	if err := inRange(s.prog.info.counters[counter].Name, index, k.Size); err != nil {
		return CounterValue{}, err
	}
	return k.Read(uint64(index)), nil
}

// SetCounter writes an indirect counter; see dataplane.Controls.
func (s *State) SetCounter(counter, index int, v CounterValue) error {
	if _, err := s.Counter(counter, index); err != nil {
		return err
	}
	*s.counters[counter].At(uint64(index)) = v
	return nil
}

// direct finds an entry of a table with a direct counter or meter.
func (s *State) direct(table int, match []Match, prio int32,
	has func(*matchTable) bool) (*matchTable, *entry, error) {
	t, _, err := s.tableAt(table)
	if err != nil {
		return nil, nil, err
	}
	if !has(t) {
		return nil, nil, fmt.Errorf("table %s has no such direct resource: %w", t.name, ErrNotFound)
	}
	e, err := s.find(t, match, prio)
	return t, e, err
}

func hasCounter(t *matchTable) bool { return t.counter }
func hasMeter(t *matchTable) bool   { return t.meter >= 0 }

// DirectCounter reads an entry's counter; see dataplane.Controls.
func (s *State) DirectCounter(table int, match []Match, priority int32) (CounterValue, error) {
	_, e, err := s.direct(table, match, priority, hasCounter)
	if err != nil {
		return CounterValue{}, err
	}
	return e.Value.counter, nil
}

// SetDirectCounter writes an entry's counter; see dataplane.Controls.
func (s *State) SetDirectCounter(table int, match []Match, priority int32, v CounterValue) error {
	_, e, err := s.direct(table, match, priority, hasCounter)
	if err != nil {
		return err
	}
	e.Value.counter = v
	return nil
}

// DefaultCounter reads the counter of misses; see dataplane.Controls.
func (s *State) DefaultCounter(table int) (CounterValue, error) {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return CounterValue{}, err
	}
	if !t.counter {
		return CounterValue{}, fmt.Errorf("table %s has no direct counter: %w", t.name, ErrNotFound)
	}
	return ts.missCounter, nil
}

// SetDefaultCounter writes the counter of misses; see dataplane.Controls.
func (s *State) SetDefaultCounter(table int, v CounterValue) error {
	if _, err := s.DefaultCounter(table); err != nil {
		return err
	}
	s.tables[table].missCounter = v
	return nil
}

// Meter reads an indirect meter's configuration; see dataplane.Controls.
func (s *State) Meter(meter, index int) (MeterConfig, bool, error) {
	if err := s.index("meter", meter, len(s.meters)); err != nil {
		return MeterConfig{}, false, err
	}
	a := &s.meters[meter]
	if err := inRange(s.prog.info.meters[meter].Name, index, a.Size); err != nil {
		return MeterConfig{}, false, err
	}
	c, configured := a.Configuration(uint64(index))
	return c, configured, nil
}

func checkMeter(c *MeterConfig) error {
	if c != nil && c.EBurst == 0 && c.CIR > c.PIR {
		return fmt.Errorf("committed rate %d above peak rate %d: %w", c.CIR, c.PIR, ErrBadValue)
	}
	return nil
}

// SetMeter configures an indirect meter; see dataplane.Controls.
func (s *State) SetMeter(meter, index int, c *MeterConfig) error {
	if _, _, err := s.Meter(meter, index); err != nil {
		return err
	}
	if err := checkMeter(c); err != nil {
		return err
	}
	s.meters[meter].Configure(uint64(index), c, s.now)
	return nil
}

// DirectMeter reads an entry's meter configuration; see dataplane.Controls.
func (s *State) DirectMeter(table int, match []Match, priority int32) (MeterConfig, bool, error) {
	_, e, err := s.direct(table, match, priority, hasMeter)
	if err != nil {
		return MeterConfig{}, false, err
	}
	c, configured := e.Value.more.meter.Configuration()
	return c, configured, nil
}

// SetDirectMeter configures an entry's meter; see dataplane.Controls.
func (s *State) SetDirectMeter(table int, match []Match, priority int32, c *MeterConfig) error {
	_, e, err := s.direct(table, match, priority, hasMeter)
	if err != nil {
		return err
	}
	if err := checkMeter(c); err != nil {
		return err
	}
	e.Value.more.meter.Configure(c, s.now)
	return nil
}

// missMeter returns the meter of a table's misses.
func (s *State) missMeter(table int) (*extern.DirectMeter, error) {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return nil, err
	}
	if !hasMeter(t) {
		return nil, fmt.Errorf("table %s has no direct meter: %w", t.name, ErrNotFound)
	}
	return &ts.missMeter, nil
}

// DefaultMeter reads the configuration of the meter of misses; see dataplane.Controls.
func (s *State) DefaultMeter(table int) (MeterConfig, bool, error) {
	d, err := s.missMeter(table)
	if err != nil {
		return MeterConfig{}, false, err
	}
	c, configured := d.Configuration()
	return c, configured, nil
}

// SetDefaultMeter configures the meter of misses; see dataplane.Controls.
func (s *State) SetDefaultMeter(table int, c *MeterConfig) error {
	d, err := s.missMeter(table)
	if err != nil {
		return err
	}
	if err := checkMeter(c); err != nil {
		return err
	}
	d.Configure(c, s.now)
	return nil
}

// MeterCounts reads what an indirect meter has marked; see dataplane.Controls.
func (s *State) MeterCounts(meter, index int) (v MeterCounts, err error) {
	if _, _, err := s.Meter(meter, index); err != nil {
		return v, err
	}
	return s.meters[meter].Counts(uint64(index)), nil
}

// SetMeterCounts writes what an indirect meter has marked; see dataplane.Controls.
func (s *State) SetMeterCounts(meter, index int, v MeterCounts) error {
	old, err := s.MeterCounts(meter, index)
	if err != nil || v == old {
		return err
	}
	s.meters[meter].SetCounts(uint64(index), v)
	return nil
}

// DirectMeterCounts reads what an entry's meter has marked; see dataplane.Controls.
func (s *State) DirectMeterCounts(table int, match []Match, priority int32) (MeterCounts, error) {
	_, e, err := s.direct(table, match, priority, hasMeter)
	if err != nil {
		return MeterCounts{}, err
	}
	return e.Value.more.meter.Marked, nil
}

// SetDirectMeterCounts writes what an entry's meter has marked; see dataplane.Controls.
func (s *State) SetDirectMeterCounts(table int, match []Match, priority int32,
	v MeterCounts) error {
	_, e, err := s.direct(table, match, priority, hasMeter)
	if err != nil {
		return err
	}
	e.Value.more.meter.Marked = v
	return nil
}

// DefaultMeterCounts reads what the meter of misses has marked; see dataplane.Controls.
func (s *State) DefaultMeterCounts(table int) (MeterCounts, error) {
	d, err := s.missMeter(table)
	if err != nil {
		return MeterCounts{}, err
	}
	return d.Marked, nil
}

// SetDefaultMeterCounts writes what the meter of misses has marked; see dataplane.Controls.
func (s *State) SetDefaultMeterCounts(table int, v MeterCounts) error {
	d, err := s.missMeter(table)
	if err != nil {
		return err
	}
	d.Marked = v
	return nil
}

// Register reads an entry of a register; see dataplane.Controls.
func (s *State) Register(register, index int) ([]byte, error) {
	if err := s.index("register", register, len(s.regs)); err != nil {
		return nil, err
	}
	r := &s.regs[register]
	if err := inRange(s.prog.info.registers[register].Name, index, r.Size); err != nil {
		return nil, err
	}
	return r.Octets(uint64(index)), nil
}

// SetRegister writes an entry of a register; see dataplane.Controls.
func (s *State) SetRegister(register, index int, value []byte) error {
	if _, err := s.Register(register, index); err != nil {
		return err
	}
	r := &s.regs[register]
	if err := fit(value, r.Width); err != nil {
		return fmt.Errorf("%s: %w", s.prog.info.registers[register].Name, err)
	}
	r.SetOctets(uint64(index), value)
	return nil
}

// ValueSet returns the members of a parser value set; see dataplane.Controls.
func (s *State) ValueSet(set int) ([][]byte, error) {
	if err := s.index("value set", set, len(s.valueSets)); err != nil {
		return nil, err
	}
	var out [][]byte
	for _, v := range s.valueSets[set] {
		out = append(out, slices.Clone(v))
	}
	return out, nil
}

// SetValueSet replaces the members of a parser value set; see dataplane.Controls.
func (s *State) SetValueSet(set int, values [][]byte) error {
	if err := s.index("value set", set, len(s.valueSets)); err != nil {
		return err
	}
	info := s.prog.info.valueSets[set]
	var vs [][]byte
	for _, v := range values {
		if err := fit(v, info.Width); err != nil {
			return fmt.Errorf("value set %s: %w", info.Name, err)
		}
		vs = append(vs, bitfield.Right(v, (info.Width+7)/8))
	}
	s.valueSets[set] = vs
	return nil
}

// IdleEntries yields entries that have gone unmatched; see dataplane.Controls.
func (s *State) IdleEntries(now time.Duration) iter.Seq[IdleEntry] {
	return func(yield func(IdleEntry) bool) {
		if s.prog == nil {
			return
		}
		for i, t := range s.prog.tables {
			if !t.timeout {
				continue
			}
			for e := range s.tables[i].entries.All() {
				if m := e.Value.more; m.timeout == 0 || now-max(m.lastHit, m.reported) < m.timeout {
					continue
				}
				e.Value.more.reported = now
				if !yield(IdleEntry{Table: i, Entry: s.export(t, e)}) {
					return
				}
			}
		}
	}
}

// SinceHit returns how long ago an entry last matched; see dataplane.Controls.
func (s *State) SinceHit(now time.Duration, table int, match []Match,
	priority int32) (time.Duration, error) {
	t, _, err := s.tableAt(table)
	if err != nil {
		return 0, err
	}
	if !t.timeout {
		return 0, fmt.Errorf("table %s has no idle timeouts: %w", t.name, ErrBadValue)
	}
	e, err := s.find(t, match, priority)
	if err != nil {
		return 0, err
	}
	return max(0, now-e.Value.more.lastHit), nil
}
