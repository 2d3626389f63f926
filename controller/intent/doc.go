// Package intent has the resources by which clients say what they want: a spec
// by the client, a status by the controller, and the rules that a spec has to
// keep.
//
// Validation is a pure function of a spec and of what is known about the
// network; what it refuses is an [Error] that names every offending field, the
// value, what would be right, and the limit that was exceeded. Nothing here
// knows switches or tables.
package intent
