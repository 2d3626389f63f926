package dataplane

import (
	"iter"
	"strings"
	"time"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// A program that has the table pfc_queue speaks with the traffic manager by frames of Config.PFCPort: what p4.TargetFrame describes. Its entries say which
// queues are watched. Any other program has a port of that number like others.

// leastRefresh bounds how often an XOFF is repeated.
const leastRefresh = time.Microsecond

// pfcTable finds the table, and the index of each parameter of its action by name; -1 where the program has none.
func (p *Program) pfcTable() (table int, params map[string]int) {
	for i, t := range p.info.tables {
		if t.Hidden || t.Name != p4.TablePfcQueue && !strings.HasSuffix(t.Name, "."+p4.TablePfcQueue) || len(t.Keys) != 3 {
			continue
		}
		for _, a := range t.Actions {
			info := p.info.actions[a]
			if info.Name != p4.ActionSetPfcQueue && !strings.HasSuffix(info.Name, "."+p4.ActionSetPfcQueue) {
				continue
			}
			params = map[string]int{}
			for j, q := range info.Params {
				params[q.Name] = j
			}
		}
		for _, name := range []string{"buffer", "xoff", "xon", "refresh", "upstreams", "rate", "watchdog", "watchdog_action"} {
			if _, ok := params[name]; !ok {
				return -1, nil
			}
		}
		return i, params
	}
	return -1, nil
}

// speaksPFC tells that frames of a port are the traffic manager's.
func (s *Switch) speaksPFC(port uint32) bool { return port == s.cfg.PFCPort && s.pfcTable >= 0 }

// readWatches has the traffic manager watch what pfc_queue says, if that has changed.
func (s *Switch) readWatches() {
	ts := &s.tables[s.pfcTable]
	if ts.changes == s.pfcRead {
		return
	}
	s.pfcRead = ts.changes
	m := &s.queues
	wanted := map[*watch]bool{}
	for e := range s.Entries(s.pfcTable) {
		direction, port, prio := number(e.Match[0].Value), uint32(number(e.Match[1].Value)), int(number(e.Match[2].Value))
		args := e.Target.Action.Args
		if prio >= min(pfcPriorities, s.cfg.Priorities) || len(args) != len(s.pfcParams) {
			continue
		}
		arg := func(name string) uint64 { return number(args[s.pfcParams[name]]) }
		set := watchSettings{
			buffer: arg("buffer"), xoff: arg("xoff"), xon: arg("xon"), refresh: max(time.Duration(arg("refresh")), leastRefresh), upstreams: int(arg("upstreams")),
			rate: 1000 * arg("rate"), watchdog: time.Duration(arg("watchdog")) * time.Microsecond, action: p4.WatchdogAction(arg("watchdog_action")),
		}
		if set.buffer == 0 {
			set.buffer = m.pauseBuffer
		}
		var w *watch
		if p4.PfcDirection(direction) == p4.PfcDirectionIngress {
			w = m.watchIngress(port, prio)
		} else {
			w = m.watchEgress(port, prio)
		}
		w.set, wanted[w] = set, true
	}
	for _, w := range m.watches {
		if !wanted[w] {
			// Nobody is told: what was paused goes on when its time is over.
			w.set, w.asserted = watchSettings{buffer: m.pauseBuffer}, false
		}
		m.mark(w, s.now)
	}
}

func number(b []byte) uint64 { return bitfield.Word(b, 0) }

// pfcCommand takes a frame that the program sends to the traffic manager; false: it is none that it knows.
func (s *Switch) pfcCommand(b []byte) bool {
	f, rest, err := p4.ParseTargetFrame(b)
	if err != nil {
		return false
	}
	switch f.Op {
	case p4.TargetOpPause:
		pfc, _, err := packet.ParsePFC(rest)
		if err != nil {
			return false
		}
		s.queues.pause(uint32(f.Port), pfc.Classes, &pfc.Quanta, s.now)
		return true
	case p4.TargetOpQuery:
		if int(f.Priority) >= min(pfcPriorities, s.cfg.Priorities) {
			return false
		}
		s.queues.events.push(pfcEvent{s.watchOf(f.Direction, uint32(f.Port), int(f.Priority)), p4.TargetOpState, 0})
		return true
	}
	return false
}

// watchOf is the watch of a queue, or one made for the moment where there is none.
func (s *Switch) watchOf(direction p4.PfcDirection, port uint32, prio int) *watch {
	w := &watch{direction: direction, port: port, prio: prio}
	if direction == p4.PfcDirectionIngress {
		if a := s.queues.arrived[port]; a != nil && a[prio] != nil {
			return a[prio]
		}
		return w
	}
	if p := s.queues.ports[port]; p != nil {
		q := &p.q[prio]
		if q.watch != nil {
			return q.watch
		}
		w.packets, w.octets = q.size, q.octets
	}
	return w
}

// tellProgram hands the program what the queues have to say.
func (s *Switch) tellProgram() {
	for s.queues.events.len() > 0 {
		e := s.queues.events.pop()
		f := p4.TargetFrame{Op: e.op, Direction: e.w.direction, Port: uint16(e.w.port), Priority: uint8(e.w.prio), Upstream: e.upstream}
		s.pfcBuf = f.Append(s.pfcBuf[:0])
		switch e.op {
		case p4.TargetOpState, p4.TargetOpStorm, p4.TargetOpStormOver:
			s.pfcBuf = e.w.report(s.now).Append(s.pfcBuf)
		}
		s.Receive(s.now, s.cfg.PFCPort, s.pfcBuf)
	}
}

// flushStorm drops what waits in a queue that the watchdog takes care of.
func (s *Switch) flushStorm(w *watch) {
	m := &s.queues
	p := m.port(w.port)
	for h := &p.line.held[w.prio]; h.len() > 0; {
		e := h.pop()
		p.line.waiting--
		m.took(p, &e, s.now)
		w.stormsDropped++
		s.stats.StormDrop++
		s.traceDrop(e.id, "the watchdog drops what a pause does not let go")
		s.settle(e.p)
	}
}

// PFCQueue is a queue that PFC is for, at a moment.
type PFCQueue struct {
	Direction p4.PfcDirection
	Port      uint32
	Priority  int
	p4.QueueReport
}

// PFCQueues yields the queues that were paused or are watched, in the order in which they came to be.
func (s *Switch) PFCQueues() iter.Seq[PFCQueue] {
	return func(yield func(PFCQueue) bool) {
		for _, w := range s.queues.watches {
			if !yield(PFCQueue{w.direction, w.port, w.prio, w.report(s.now)}) {
				return
			}
		}
	}
}
