// Package fabric is what the MRC fabric is, what of it is up, which hosts are attached where, and
// what hosts must not use of it therefore. It follows from what is advertised, from what switches
// and hosts report, and from what clients have drained. The package knows no EV profiles and proves
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
// A [Fabric] does not change; the [State] has the present one. Its parts change by rules of their
// own:
//
//	part         holds                                       file
//	switchPorts  what switches report of their ports         switchport.go
//	Links        the phase of each link                      link.go
//	leafSet      leaves that are gone or held                leaf.go
//	hostSet      hosts, their racks and their ports          host.go, hostport.go
//
// Every rule of what is denied is in denial.go.
package fabric
