// Package p4rt gives an embedded switch (package dataplane) its P4Runtime
// side, in three layers of which only the last knows gRPC:
//
//   - Device is P4Runtime over a *dataplane.Switch: pipeline configuration,
//     Write, Read, packet-in and packet-out, digests, idle timeouts. It is
//     synchronous and single-threaded, and time is passed in, so that it also
//     runs in virtual time.
//   - Sessions adds arbitration: roles, election ids, who is primary.
//   - Server is the gRPC service for one or more devices, each behind an
//     Executor that runs calls on the device's goroutine (package live).
//
// The device speaks P4Runtime 1.5.0 for v1model programs in BMv2 JSON, bare or in
// the p4.tmp.P4DeviceConfig of PI. Errors
// carry the canonical code the specification asks for and a sentence that
// says what was wrong and what would be right.
//
// What it leaves out: extern entries answer UNIMPLEMENTED (v1model has none).
// Value sets that are not exact and registers of more than one field, which
// BMv2 JSON cannot express, are refused with the pipeline. What becomes of const
// entries of a table that has others too, neither P4Info nor BMv2 JSON says:
// all of them can be changed.
package p4rt
