// Package queues is a two-tier Clos of several planes in virtual time: what MRC's transport, congestion control and spraying meet there, and nothing else. Its switches are
// no embedded switches: they have no program and no controller, only output queues with two classes that mark, trim and drop as the fabric's program does
// (docs/protocol-notes.md), in octets rather than packets and at any speed. A million packets take seconds.
//
// Hosts hang on as a Host each, with one port a plane:
//
//	f, err := queues.New(queues.DefaultConfig())
//	f.Attach(0, host)                 // host.Receive and host.Advance are called from f.Run
//	f.Send(0, 1, frame)               // by the host, when its port has room
//	f.Run(time.Second, done)
//	for _, l := range f.Links() { fmt.Println(l.Name(), l.Stats()) }
//
// A seed replays a run exactly. It is single-threaded: all calls come from one goroutine.
package queues
