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

// Counter reads a counter; see dataplane.Controls.
func (s *State) Counter(at Cell) (CounterValue, error) {
	if at.of != indirect {
		v, err := s.directCounter(at)
		if err != nil {
			return CounterValue{}, err
		}
		return *v, nil
	}
	k, err := s.counterArray(at)
	if err != nil {
		return CounterValue{}, err
	}
	return k.Read(uint64(at.index)), nil
}

// SetCounter writes a counter; see dataplane.Controls.
func (s *State) SetCounter(at Cell, v CounterValue) error {
	if at.of != indirect {
		p, err := s.directCounter(at)
		if err == nil {
			*p = v
		}
		return err
	}
	k, err := s.counterArray(at)
	if err == nil {
		*k.At(uint64(at.index)) = v
	}
	return err
}

// counterArray finds the array that an indirect counter is in.
func (s *State) counterArray(at Cell) (*extern.Counter, error) {
	if err := s.index("counter", at.array, len(s.counters)); err != nil {
		return nil, err
	}
	k := &s.counters[at.array]
	return k, inRange(s.prog.info.counters[at.array].Name, at.index, k.Size)
}

// directCounter finds the counter of an entry or of the misses of a table.
func (s *State) directCounter(at Cell) (*CounterValue, error) {
	t, ts, err := s.tableAt(at.array)
	if err != nil {
		return nil, err
	}
	if !t.counter {
		return nil, fmt.Errorf("table %s has no direct counter: %w", t.name, ErrNotFound)
	}
	if at.of == misses {
		return &ts.missCounter, nil
	}
	e, err := s.find(t, at.match, at.priority)
	if err != nil {
		return nil, err
	}
	return &e.Value.counter, nil
}

// Meter reads the configuration of a meter; see dataplane.Controls.
func (s *State) Meter(at Cell) (c MeterConfig, configured bool, err error) {
	m, err := s.meter(at)
	if err == nil {
		c, configured = m.Configuration()
	}
	return c, configured, err
}

// SetMeter configures a meter; see dataplane.Controls.
func (s *State) SetMeter(at Cell, c *MeterConfig) error {
	m, err := s.meter(at)
	if err == nil {
		err = checkMeter(c)
	}
	if err == nil {
		m.Configure(c, s.now)
	}
	return err
}

// MeterCounts reads what a meter has marked; see dataplane.Controls.
func (s *State) MeterCounts(at Cell) (v MeterCounts, err error) {
	m, err := s.meter(at)
	if err == nil {
		v = m.Counts()
	}
	return v, err
}

// SetMeterCounts writes what a meter has marked; see dataplane.Controls.
func (s *State) SetMeterCounts(at Cell, v MeterCounts) error {
	m, err := s.meter(at)
	if err == nil {
		m.SetCounts(v)
	}
	return err
}

// meter finds a meter.
func (s *State) meter(at Cell) (extern.Meter, error) {
	if at.of != indirect {
		return s.directMeter(at)
	}
	if err := s.index("meter", at.array, len(s.meters)); err != nil {
		return nil, err
	}
	a := &s.meters[at.array]
	if err := inRange(s.prog.info.meters[at.array].Name, at.index, a.Size); err != nil {
		return nil, err
	}
	return a.At(uint64(at.index)), nil
}

// directMeter finds the meter of an entry or of the misses of a table.
func (s *State) directMeter(at Cell) (extern.Meter, error) {
	t, ts, err := s.tableAt(at.array)
	if err != nil {
		return nil, err
	}
	if t.meter < 0 {
		return nil, fmt.Errorf("table %s has no direct meter: %w", t.name, ErrNotFound)
	}
	if at.of == misses {
		return &ts.missMeter, nil
	}
	e, err := s.find(t, at.match, at.priority)
	if err != nil {
		return nil, err
	}
	return &e.Value.more.meter, nil
}

func checkMeter(c *MeterConfig) error {
	if c != nil && c.EBurst == 0 && c.CIR > c.PIR {
		return fmt.Errorf("committed rate %d above peak rate %d: %w", c.CIR, c.PIR, ErrBadValue)
	}
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
	s.changed()
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
