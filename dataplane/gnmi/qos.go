package gnmi

import "strconv"

const moduleQoS = "openconfig-qos"

func queueTables() {
	port := func(r *row) any { return r.port.Name }
	define(moduleQoS+":qos/interfaces/interface[interface-id]", 0, eachPort,
		value(state, "interface-id", port),
		fixed("config/interface-id", port),
		value(applied, "state/interface-id", port),
		fixed("interface-ref/config/interface", port),
		value(applied, "interface-ref/state/interface", port),
	)

	name := func(r *row) any { return r.keys[1] }
	count := func(path string, of func(*Queue) uint64) leaf {
		return value(counter, path, func(r *row) any { return of(r.queue) })
	}
	program := func(path string, of func(*ProgramQueue) uint64) leaf {
		return value(counter, path, func(r *row) any {
			if r.queue.Program == nil {
				return nil
			}
			return of(r.queue.Program)
		})
	}
	define(moduleQoS+":qos/interfaces/interface[interface-id]/output/queues/queue[name]", Queues,
		eachQueue,
		value(state, "name", name),
		fixed("config/name", name),
		value(applied, "state/name", name),
		count("state/transmit-pkts", func(q *Queue) uint64 { return q.Packets }),
		count("state/transmit-octets", func(q *Queue) uint64 { return q.Octets }),
		count("state/dropped-pkts", func(q *Queue) uint64 { return q.DroppedPackets }),
		value(counter, "state/dropped-octets", func(r *row) any {
			if r.queue.Program != nil { // it counts packets only
				return nil
			}
			return r.queue.DroppedOctets
		}),
		count("state/max-queue-len", func(q *Queue) uint64 { return q.Longest }),
		program("state/ecn-marked-pkts", func(q *ProgramQueue) uint64 { return q.Marked }),
		program("state/trim-pkts", func(q *ProgramQueue) uint64 { return q.Trimmed }),
	)
}

func eachQueue(v *view, f func(*row)) {
	for i := range v.ports {
		p := &v.ports[i]
		for n := range p.Queues {
			r := v.row(p, n, p.Name, strconv.Itoa(n))
			r.queue = &p.Queues[n]
			f(r)
		}
	}
}
