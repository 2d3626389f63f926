// Package selfprobe decides when a host sends probes to itself through its switches, and counts
// what comes back. It is pure: no goroutine, clock or socket.
//
//	p := selfprobe.New(seed)
//	p.Set(now, plan)                       // of the controller
//	for id, target, ok := p.Take(now); ok; id, target, ok = p.Take(now) {
//		send(target, id)                     // or p.Unsent(id)
//	}
//	p.Received(id, marked)                 // a probe has come back
//	counts := p.Report(now)                // nil: nothing to say yet
//	next, pending := p.Next()
//
// A host that sleeps loses no probes: after a late call of Take, the Prober sets the probes under
// way aside, because nobody knows their fate. A clock that jumps ahead has the same effect. While a
// clock goes back, the time of the Prober stands still.
package selfprobe
