// Package trace reports the fate of packets inside a switch: in a stream of typed events from the
// switch, in a tree of records for a packet and all copies, and in text and JSON for the tree.
//
// A switch calls a Tracer as it works. An Assembler is a Tracer: the assembler collects the events
// of each received packet and all descendants (replicas, clones, recirculated and resubmitted
// packets) in one Record, and hands over the Record after the end of the last packet:
//
//	a := trace.NewAssembler(func(r *trace.Record) { err = trace.Write(os.Stdout, r, trace.Options{}) })
//	sw.SetTracer(a)
//
// A Record marshals to JSON with encoding/json and back. The json tags of
// Record, Step and their members are the schema: we may add fields, but names
// and meanings stay. The package knows nothing of the switch: a program that
// reads traces from elsewhere needs no switch.
package trace
