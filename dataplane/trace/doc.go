// Package trace reports the fate of packets inside a switch: as a stream of
// typed events from the switch, as a tree of records for a packet and all its
// copies, and as this tree in text and in JSON.
//
// A switch calls a Tracer as it works. An Assembler is a Tracer: it collects
// the events of each received packet and of all its descendants (replicas,
// clones, recirculated and resubmitted packets) in one Record, and hands over
// the Record when the last of these packets has ended:
//
//	a := trace.NewAssembler(func(r *trace.Record) { err = trace.Write(os.Stdout, r, trace.Options{}) })
//	sw.SetTracer(a)
//
// A Record marshals to JSON with encoding/json and back. The json tags of
// Record, Step and their members are the schema: we may add fields, but names
// and meanings stay. The package knows nothing of the switch: a program that
// reads traces from elsewhere needs no switch.
package trace
