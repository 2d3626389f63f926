// Package fabric models the MRC fabric: its links, their up or down state, where hosts attach, and
// which links and ports hosts must not use. Its inputs are the advertised topology, the reports of
// switches and hosts, and the drains of clients. The package knows no EV profiles and proves
// nothing; it is pure: no goroutine, clock, socket or logger.
//
//	s := fabric.New(&inventory.MRC{…}, fabric.Outside{Drains: drains})
//	s.Tick(now)                     // the inputs below happen now
//	h, err := s.PutHost(fabric.Host{…})
//	s.SetTopology(snapshot)
//	s.InSync()                      // from here on what is missing is down
//	if s.Settle() {
//		changes := s.Take()         // since the last Take
//		denial := s.Denial()        // what hosts must not use now
//	}
//
// A [Fabric] does not change; the [State] holds the present Fabric. Each part of the State changes
// by rules of its own:
//
//	part         holds                                       file
//	switchPorts  what switches report of their ports         switchport.go
//	Links        the phase of each link                      link.go
//	leafSet      leaves that are gone or held                leaf.go
//	hostSet      hosts, their racks and their ports          host.go, hostport.go
//
// denial.go has all rules of denials.
package fabric
