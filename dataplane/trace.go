package dataplane

// Tracer observes what happens to packets, in order. Slices are valid only
// during the call. A switch without a Tracer pays one comparison per event.
type Tracer interface {
	// Packet begins the processing of a packet by "ingress" (port it came
	// from, octets as received) or "egress" (port it is for, nil).
	Packet(gress string, port uint32, data []byte)
	// State enters a parser state with so many octets consumed.
	State(name string, offset int)
	// Control enters a control.
	Control(name string)
	// Condition evaluates a condition of the P4 source at file:line:column.
	Condition(name, source string, result bool)
	// Table looks a table up.
	Table(hit TableEvent)
	// Action runs an action that is not a table's.
	Action(name string)
	// Log is a log_msg of the program.
	Log(format string, args []uint64)
	// Drop ends a packet, and why.
	Drop(reason string)
	// Transmit sends a packet.
	Transmit(port uint32, data []byte)
}

// TableEvent is the outcome of a lookup.
type TableEvent struct {
	Table  string
	Hit    bool
	Entry  Entry  // on a hit
	Action string // empty for a selector's choice and for none
}

func (s *Switch) traceTable(t *matchTable, e *entry, a *action) {
	ev := TableEvent{Table: t.name, Hit: e != nil}
	if e != nil {
		ev.Entry = s.export(t, e)
	}
	if a != nil {
		ev.Action = a.name
	}
	s.trace.Table(ev)
}
