package stf

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
)

// Summary counts the statements of a case.
type Summary struct {
	In, Out int // packets
}

// Run carries out a case on a switch that has a program and nothing else, and
// whose output it takes over. The error is an *Error, around a *Difference when
// the switch did something else than the case expects.
func Run(sw *dataplane.Switch, c *Case) (Summary, error) {
	r := newRun(sw)
	if r.program == nil {
		return Summary{}, engine.ErrNoProgram
	}
	r.ports = c.ports()
	sw.SetOutput(r)
	for _, s := range c.Statements {
		r.line = s.Line
		if err := r.do(s.Do); err != nil {
			return r.summary, &Error{s.Line, err}
		}
	}
	return r.summary, r.compare()
}

func newRun(sw *dataplane.Switch) *run {
	return &run{
		sw: sw, program: sw.Program(),
		groups: map[uint16][]int{}, mirrors: map[uint16]uint16{}, entries: map[string]added{},
		want: map[uint32][]expected{},
	}
}

// ports returns the ports that the statements name. Only these ports have an interface, as in p4c's
// driver of BMv2: a packet for any other port cannot leave.
func (c *Case) ports() map[uint32]bool {
	ports := map[uint32]bool{}
	for _, s := range c.Statements {
		switch s := s.Do.(type) {
		case Packet:
			ports[s.Port] = true
		case Expect:
			ports[s.Port] = true
		}
	}
	return ports
}

// run is a case being carried out.
type run struct {
	ports map[uint32]bool // that have an interface; nil: all have

	sw      *dataplane.Switch
	program *engine.Program
	now     time.Duration
	changed bool // since the last packet
	line    int
	summary Summary

	nodes   []Node
	groups  map[uint16][]int  // nodes of a group
	mirrors map[uint16]uint16 // sessions that copy to the ports of a group
	entries map[string]added

	sent  []sent
	since int // of these were sent before the last packet came in
	want  map[uint32][]expected
}

// added is an entry with a name.
type added struct {
	table    int
	match    []engine.Match
	priority int32
}

// sent is a packet that left, with the line of the last packet that came in.
type sent struct {
	port  uint32
	frame []byte
	line  int
}

type expected struct {
	Pattern
	line int
}

// Transmit implements dataplane.Output.
func (r *run) Transmit(_ time.Duration, port uint32, frame []byte) {
	if r.ports != nil && !r.ports[port] {
		return
	}
	r.summary.Out++
	r.sent = append(r.sent, sent{port, slices.Clone(frame), r.line})
}

// Digest implements dataplane.Output; no statement looks at digests.
func (r *run) Digest(time.Duration, int, [][]byte) {}

// pause is how long a wait takes, and how long after a change the next packet comes.
const pause = time.Second

func (r *run) do(statement any) error {
	switch s := statement.(type) {
	case Packet:
		if r.changed {
			r.until(r.now + pause)
		}
		r.changed, r.since = false, len(r.sent)
		r.summary.In++
		r.sw.Receive(r.now, s.Port, s.Frame)
		r.until(r.now)
		return nil
	case Expect:
		r.want[s.Port] = append(r.want[s.Port], expected{s.Pattern, r.line})
		return nil
	case NoPacket:
		if late := r.sent[r.since:]; len(late) > 0 {
			return &Difference{Text: fmt.Sprintf(
				"%d packets have left since line %d, want none; on port %d:\n  got  %x",
				len(late), late[0].line, late[0].port, late[0].frame)}
		}
		return nil
	case Wait:
		r.until(r.now + pause)
		return nil
	case CheckCounter:
		return r.checkCounter(s)
	}
	r.changed = true
	switch s := statement.(type) {
	case Add:
		return r.add(s)
	case SetDefault:
		t, err := r.table(s.Table)
		if err != nil {
			return err
		}
		call, err := r.call(t, s.Action)
		if err != nil {
			return err
		}
		return r.sw.SetDefaultEntry(t, engine.Target{Action: call})
	case RemoveAll:
		return r.removeAll()
	case Group:
		if err := r.sw.InsertMulticastGroup(dataplane.MulticastGroup{ID: s.ID}); err != nil {
			return err
		}
		r.groups[s.ID] = nil
		return r.replicate()
	case Node:
		r.nodes = append(r.nodes, s)
		return nil
	case UpdateNode:
		if s.Node >= len(r.nodes) {
			return fmt.Errorf("there is no node %d", s.Node)
		}
		r.nodes[s.Node].Ports = s.Ports
		return r.replicate()
	case Associate:
		if _, ok := r.groups[s.Group]; !ok {
			return fmt.Errorf("there is no multicast group %d", s.Group)
		}
		if s.Node >= len(r.nodes) {
			return fmt.Errorf("there is no node %d", s.Node)
		}
		r.groups[s.Group] = append(r.groups[s.Group], s.Node)
		return r.replicate()
	case Mirror:
		return r.mirror(s)
	case Array:
		return r.array(s)
	case AddToSet:
		return r.addToSet(s)
	case Member:
		return r.member(s)
	case MemberGroup:
		return r.memberGroup(s)
	case Join:
		return r.join(s)
	case AddIndirect:
		return r.addIndirect(s)
	}
	return fmt.Errorf("unknown statement %T", statement)
}

// circulations bounds the turns of a packet that never stops.
const circulations = 1 << 16

// until processes everything due up to a time.
func (r *run) until(t time.Duration) {
	next, pending := r.sw.Advance(r.now)
	for n := 0; pending && next <= max(t, r.now+pause) && n < circulations; n++ {
		r.now = next
		next, pending = r.sw.Advance(r.now)
	}
	r.now = max(r.now, t)
}

func (r *run) add(s Add) error {
	t, err := r.table(s.Table)
	if err != nil {
		return err
	}
	e, err := r.entry(t, s)
	if err != nil {
		return err
	}
	if s.ID != "" {
		r.entries[s.ID] = added{t, e.Match, e.Priority}
	}
	return r.sw.InsertEntry(t, e)
}

func (r *run) removeAll() error {
	for t := range r.program.Tables() {
		if r.program.Tables()[t].ConstEntries {
			continue
		}
		for _, e := range slices.Collect(r.sw.Entries(t)) {
			if err := r.sw.DeleteEntry(t, e.Match, e.Priority); err != nil {
				return err
			}
		}
	}
	return nil
}

// replicas are the copies of a group, in the order of BMv2: node by node, by
// port.
func (r *run) replicas(group uint16) []dataplane.Replica {
	var all []dataplane.Replica
	for _, n := range r.groups[group] {
		for _, port := range slices.Compact(slices.Sorted(slices.Values(r.nodes[n].Ports))) {
			all = append(all, dataplane.Replica{Port: port, Instance: r.nodes[n].RID})
		}
	}
	return all
}

// replicate gives the switch the groups, and the sessions that follow one.
func (r *run) replicate() error {
	for id := range r.groups {
		if err := r.sw.ModifyMulticastGroup(dataplane.MulticastGroup{ID: id,
			Replicas: r.replicas(id)}); err != nil {
			return err
		}
	}
	for id, group := range r.mirrors {
		if err := r.session(id, r.replicas(group)); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) session(id uint16, replicas []dataplane.Replica) error {
	s := dataplane.CloneSession{ID: id, Replicas: replicas}
	err := r.sw.InsertCloneSession(s)
	if errors.Is(err, engine.ErrExists) {
		err = r.sw.ModifyCloneSession(s)
	}
	return err
}

func (r *run) mirror(s Mirror) error {
	switch {
	case s.Port != nil:
		delete(r.mirrors, s.Session)
		return r.session(s.Session, []dataplane.Replica{{Port: *s.Port}})
	case s.Group != nil:
		r.mirrors[s.Session] = *s.Group
		return r.session(s.Session, r.replicas(*s.Group))
	case s.Delete:
		delete(r.mirrors, s.Session)
		return r.sw.DeleteCloneSession(s.Session)
	}
	_, err := r.sw.CloneSession(s.Session)
	return err
}

func (r *run) array(s Array) error {
	switch s.Kind {
	case "register":
		i, err := r.register(s.Name)
		if err != nil {
			return err
		}
		switch s.Verb {
		case "write":
			return r.sw.SetRegister(i, s.Index, s.Values[0].Bytes())
		case "reset":
			for k := range r.program.Registers()[i].Size {
				if err := r.sw.SetRegister(i, k, nil); err != nil {
					return err
				}
			}
			return nil
		}
		_, err = r.sw.Register(i, s.Index)
		return err
	case "counter":
		i, err := r.counter(s.Name)
		if err != nil {
			return err
		}
		if s.Verb == "write" {
			if !s.Values[0].IsUint64() || !s.Values[1].IsUint64() {
				return errors.New("a counter has 64 bits")
			}
			return r.sw.SetCounter(engine.Element(i, s.Index), engine.CounterValue{
				Packets: s.Values[0].Uint64(), Bytes: s.Values[1].Uint64()})
		}
		_, err = r.sw.Counter(engine.Element(i, s.Index))
		return err
	}
	i, err := r.meter(s.Name)
	if err != nil {
		return err
	}
	if s.Verb == "get_rates" {
		_, _, err = r.sw.Meter(engine.Element(i, s.Index))
		return err
	}
	second := func(perMicrosecond float64) uint64 { return uint64(perMicrosecond * 1e6) }
	m := &engine.MeterConfig{
		CIR: second(s.Rates[0].PerMicrosecond), CBurst: s.Rates[0].Burst,
		PIR: second(s.Rates[1].PerMicrosecond), PBurst: s.Rates[1].Burst,
	}
	if s.Kind == "meter" {
		return r.sw.SetMeter(engine.Element(i, s.Index), m)
	}
	for k := range r.program.Meters()[i].Size {
		if err := r.sw.SetMeter(engine.Element(i, k), m); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) checkCounter(s CheckCounter) error {
	c, err := r.counter(s.Counter)
	if err != nil {
		return err
	}
	var got engine.CounterValue
	switch e, named := r.entries[s.ID]; {
	case s.Index != nil && !s.Index.IsInt64():
		return engine.ErrRange
	case s.Index != nil:
		got, err = r.sw.Counter(engine.Element(c, int(s.Index.Int64())))
	case !named:
		return fmt.Errorf("no entry was added with = %s", s.ID)
	case r.program.Counters()[c].Table != e.table:
		return fmt.Errorf("entry %s is not in the table that %s counts for", s.ID, s.Counter)
	default:
		got, err = r.sw.Counter(engine.CellOf(e.table, e.match, e.priority))
	}
	if err != nil || s.Unit == "" {
		return err
	}
	counts := []uint64{got.Packets}
	if s.Unit == "bytes" {
		counts = []uint64{got.Bytes, got.Bytes + checkSequence*got.Packets}
	}
	for _, n := range counts {
		if holds(new(big.Int).SetUint64(n).Cmp(s.Value), s.Op) {
			return nil
		}
	}
	return &Difference{Text: fmt.Sprintf("counter %s has %d %s, want %s %v", s.Counter, counts[0],
		s.Unit, s.Op, s.Value)}
}

// checkSequence is the octets of an Ethernet frame that no packet has here.
const checkSequence = 4

func holds(order int, op string) bool {
	switch op {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
