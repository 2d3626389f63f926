// Package p4rt gives an embedded switch (package dataplane) a P4Runtime
// interface, in three layers. Only the last layer knows gRPC:
//
//   - Device is P4Runtime over a *dataplane.Switch: pipeline configuration,
//     Write, Read, packet-in and packet-out, digests, idle timeouts. It is
//     synchronous and single-threaded, and time is passed in, so that it also
//     runs in virtual time.
//   - Sessions adds arbitration: roles, election ids, who is primary.
//   - Server is the gRPC service for one or more devices, each behind an
//     Executor that runs calls on the device's goroutine (package live).
//
// The device speaks P4Runtime 1.5.0 for v1model programs in BMv2 JSON, bare or in the
// p4.tmp.P4DeviceConfig of PI. Errors carry the canonical code from the specification, and a
// sentence that names the fault and the accepted values.
//
// Limits: extern entries answer UNIMPLEMENTED (v1model has no extern entries). The device refuses
// pipelines with value sets that are not exact or registers of more than one field, because BMv2
// JSON cannot express them. Neither P4Info nor BMv2 JSON says how to treat const entries in a table
// that also has normal entries: clients can change all entries.
package p4rt
