package gnmi

import (
	"strings"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/queue"
	"github.com/weft-sdn/weft/p4"
)

// Measure fills in the parts of ports from their switch. It belongs to the goroutine of the switch.
func Measure(sw *dataplane.Switch, ports []Port, parts Parts) {
	if parts&Queues != 0 {
		measureQueues(sw, ports)
	}
	if parts&PFC != 0 {
		measurePFC(sw, ports)
	}
}

func measureQueues(sw *dataplane.Switch, ports []Port) {
	n := sw.Config().Priorities
	at := make(map[uint32]*Port, len(ports))
	for i := range ports {
		ports[i].Queues = make([]Queue, n)
		at[ports[i].Number] = &ports[i]
	}
	for q := range sw.Queues() {
		if p := at[q.Port]; p != nil {
			p.Queues[q.Priority] = Queue{Packets: q.Sent, Octets: q.SentOctets,
				DroppedPackets: q.Dropped, DroppedOctets: q.DroppedOctets, Longest: q.Longest}
		}
	}
	c := countersOf(sw)
	if c == nil {
		return
	}
	queues := c.queues(sw)
	for i := range ports {
		p := &ports[i]
		for n := range p.Queues {
			p.Queues[n].Program = &ProgramQueue{}
		}
		for class, n := range queues {
			if n >= len(p.Queues) {
				continue
			}
			q, cell := &p.Queues[n], p4.ClassCell(p.Number, uint8(class))
			q.Program.Marked += c.read(sw, c.marks, cell)
			q.Program.Trimmed += c.read(sw, c.trims, cell)
			q.DroppedPackets += c.read(sw, c.drops, cell)
		}
	}
}

// classes is how many classes of service a program has (p4/include/classes.p4).
const classes = 8

// programCounters holds the counters of a program with classes of service, per port and class.
type programCounters struct {
	marks, trims, drops int
}

// countersOf finds the fabric program's counters in a switch; nil if its program lacks them.
func countersOf(sw *dataplane.Switch) *programCounters {
	if sw.Program() == nil {
		return nil
	}
	all := sw.Program().Counters()
	find := func(name string) int {
		for i := range all {
			if named(all[i].Name, name) {
				return i
			}
		}
		return -1
	}
	c := &programCounters{find(p4.CounterClassMarks), find(p4.CounterClassTrims),
		find(p4.CounterClassDrops)}
	if c.marks < 0 || c.trims < 0 || c.drops < 0 {
		return nil
	}
	return c
}

func (c *programCounters) read(sw *dataplane.Switch, counter int, cell int64) uint64 {
	v, err := sw.Counter(engine.Element(counter, int(cell)))
	if err != nil { // a program of the same names and fewer ports
		return 0
	}
	return v.Packets
}

// queues returns the queue of each class: the queue of the priority in the program's entries. A
// class without an entry has the queue of its own number.
func (c *programCounters) queues(sw *dataplane.Switch) (of [classes]int) {
	for class := range of {
		of[class] = class
	}
	for i, t := range sw.Program().Tables() {
		if !named(t.Name, p4.TableTrafficClass) {
			continue
		}
		for e := range sw.Entries(i) {
			class, ok := argument(sw.Program(), e.Target.Action, "class")
			priority, too := argument(sw.Program(), e.Target.Action, "priority")
			if ok && too && class < classes {
				of[class] = int(priority)
			}
		}
	}
	return of
}

// argument is a parameter of an action by its name.
func argument(p *engine.Program, a engine.ActionCall, name string) (v uint64, ok bool) {
	for i, param := range p.Actions()[a.Action].Params {
		if param.Name == name && i < len(a.Args) {
			return bitfield.Word(a.Args[i], 0), true
		}
	}
	return 0, false
}

// named reports whether a program calls something by a name, whatever control it is in.
func named(full, name string) bool { return full == name || strings.HasSuffix(full, "."+name) }

func measurePFC(sw *dataplane.Switch, ports []Port) {
	at := make(map[uint32]*Port, len(ports))
	for i := range ports {
		ports[i].Priorities = make([]Priority, min(queue.PFCPriorities, sw.Config().Priorities))
		at[ports[i].Number] = &ports[i]
	}
	for q := range sw.PFCQueues() {
		p := at[q.Port]
		if p == nil || q.Priority >= len(p.Priorities) {
			continue
		}
		if n := &p.Priorities[q.Priority]; q.Direction == p4.PfcDirectionIngress {
			n.OutPause, n.OutResume = q.XOFFsSent, q.XONsSent
		} else {
			n.InPause, n.InResume = q.XOFFsReceived, q.XONsReceived
			n.UpstreamPause, n.UpstreamResume = q.XOFFsSent, q.XONsSent
		}
	}
}
