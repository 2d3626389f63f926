// Package prove tests the links of a fabric. It chooses the probes of hosts within a budget, takes
// the reports of hosts and switches, and names the links that lose packets. Links on trial return
// to use by its probes, and it denies links with proven loss. The package is pure: no goroutine,
// clock, socket or logger.
//
//	p, err := prove.New(&inventory.MRC{…}, prove.Outside{State: state, Profiles: profiles, …})
//	p.Attach(h)            // hosts that may be probed, and in groups those that hold profiles
//	p.Begin()              // from here on every link in use is tried once
//	p.Tick(now)            // sends probes, and names suspects, when it is time
//	err = p.Result(h, r)   // what hosts answer, and p.EVEvents, p.EVCounts and p.LinkCounts
//
// Its parts:
//
//	part        holds                                           file
//	prober      probes under way, and their budget              probe.go, round.go
//	selfProber  probes of hosts to themselves                   self.go
//	suspectSet  links that lose packets, and who says so        suspects.go, witness.go
//	closerLook  probes that tell the hosts of a rack apart      closer.go
//	evidence    what a host has said of its EVs                 host.go
//	cell        what probes of an EV have shown                 cell.go
//
// Package suspect finds the links that explain the evidence.
package prove
