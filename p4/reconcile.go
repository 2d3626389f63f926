package p4

// ReconcileKey names what the embedded switch does beyond P4Runtime with RECONCILE_AND_COMMIT. A
// client that sends the key in the metadata of the call has the switch leave out what does not fit
// the new program, and keep the rest; P4Runtime refuses the request as a whole (section 7.2.4,
// INVALID_ARGUMENT). A switch that can has the key, a google.protobuf.StringValue, in
// CapabilitiesResponse.experimental.
const ReconcileKey = "weft-reconcile"
