// Package device has the devices of real hosts for weft agent: what a controller wants goes to a
// Backend, which writes it where the NIC or the kernel takes it from.
//
//	e := device.Endpoint(backend)   // for agent.New
//	device.NewControl(library, …)   // a NIC, by the library of its vendor
//	device.Paths(state)             // what a state says of each destination
//	device.PathFile                 // a JSON file that NICs load their paths from
//	device.Seg6                     // routes of Linux that encapsulate in SRv6
package device
