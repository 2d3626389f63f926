// Package southbound talks P4Runtime to switches.
//
// A [Session] looks after one switch: it dials, takes part in the arbitration,
// installs the pipeline when the switch does not run it yet, and does all of
// this again, with growing pauses, whenever the connection is lost. What the
// switch reports on its own account (arbitration results, packet-ins, digests)
// reaches the owner as an [Event]; what the owner wants of the switch goes
// through [Session.Write], [Session.Read] and [Session.PacketOut].
//
//	s, err := southbound.Open(ctx, cfg, func(ctx context.Context, e southbound.Event) { … })
//	…
//	defer s.Close()
//
// Package entry is the model of a switch's entities, by the names of the P4 program. This package
// encodes entities as P4Runtime messages, and decodes a switch's reports into canonical form
// (P4Runtime spec §8.4), so that written and read entities compare equal. A [Client] does so over
// any [Transport]: over the gRPC of a Session, or by calls into an embedded switch ([Direct]). The
// protobuf types stop here.
//
// The package does not decide what a switch should hold, does not retry a
// write, and keeps no copy of a switch's tables: those are the business of
// whoever owns the session.
package southbound
