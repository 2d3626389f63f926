// Package trace says what happened to packets inside a switch: a stream of
// typed events as the switch yields them, the tree of records that a packet
// and all its copies make of it, and that tree as text and as JSON.
//
// A switch calls a Tracer as it works. An Assembler is one: it puts the events
// of each packet that was received, and of everything that became of it
// (replicas, clones, recirculated and resubmitted packets), into one Record and
// hands that over when the last of them has ended:
//
//	a := trace.NewAssembler(func(r *trace.Record) { err = trace.Write(os.Stdout, r, trace.Options{}) })
//	sw.SetTracer(a)
//
// A Record marshals to JSON with encoding/json and back; the json tags of Record,
// Step and what they hold are the schema, to which fields may be added but
// whose names and meanings stay. The package knows nothing of the switch: what
// reads traces from elsewhere needs no switch.
package trace
