package engine

import (
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/table"
)

// State is what a program keeps between packets in one switch: table entries, members and groups of
// action profiles, registers, counters, meters and value sets. State implements the methods of
// dataplane.Controls for these objects. A State belongs to the goroutine that processes packets.
type State struct {
	prog     *Program
	now      time.Duration
	rng      *rand.Rand
	dropPort uint64
	down     map[uint32]bool // ports

	tables    []tableState
	packed    table.Packed // of the control method that runs
	profiles  []profileState
	regs      []extern.Register
	counters  []extern.Counter
	meters    []extern.MeterArray
	valueSets [][][]byte

	gen uint64 // grows with every change to what packets may meet, but for those that they make

	outOfRange uint64 // accesses to a register, counter or meter beyond its size
	runaway    uint64 // actions cut short
}

// Program returns the running program, nil before there is one.
func (s *State) Program() *Program { return s.prog }

// PortUp returns the state of a port.
func (s *State) PortUp(port uint32) bool { return len(s.down) == 0 || !s.down[port] }

// setPortUp changes the state of a port and reports whether it was another. Groups choose anew
// among their members.
func (s *State) setPortUp(port uint32, up bool) bool {
	s.changed()
	if up != s.down[port] {
		return false
	}
	if up {
		delete(s.down, port)
	} else {
		s.down[port] = true
	}
	for i := range s.profiles {
		for _, g := range s.profiles[i].groups {
			g.refresh(s)
		}
		for g := range s.profiles[i].sets {
			g.refresh(s)
		}
	}
	return true
}

// changed notes that later packets may get other results than earlier packets. Every control method
// with such an effect calls changed.
func (s *State) changed() { s.gen++ }

// changedIn is changed for the entries of a table and its default. A path that looks entries up
// needs no other.
func (s *State) changedIn(ts *tableState) {
	if ts.fixed {
		ts.fixed = false
		s.changed()
	}
}

// load starts a program with empty state; nil is none.
func (s *State) load(p *Program) {
	s.changed()
	s.prog = p
	s.tables, s.profiles, s.regs, s.counters, s.meters, s.valueSets = nil, nil, nil, nil, nil, nil
	if p == nil {
		return
	}
	for _, r := range p.info.registers {
		s.regs = append(s.regs, extern.NewRegister(r.Size, r.Width))
	}
	for _, c := range p.info.counters {
		s.counters = append(s.counters, extern.NewCounter(c.Size))
	}
	for _, m := range p.info.meters {
		s.meters = append(s.meters, extern.NewMeterArray(m.Size, m.Unit))
	}
	s.valueSets = make([][][]byte, len(p.info.valueSets))
	s.profiles = make([]profileState, len(p.profiles))
	s.tables = make([]tableState, len(p.tables))
	for i, t := range p.tables {
		s.tables[i] = tableState{entries: table.New[hit](&t.key), def: t.def}
		for _, e := range t.entries {
			if s.insert(t, e, t.size+len(t.entries)) == nil {
				s.tables[i].entries.Find(&s.packed, e.Priority).Value.target.extendSigns()
			}
		}
	}
}
