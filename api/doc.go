// Package api has the types of the REST API: resources with the spec of a client and the status
// of the controller, conditions, errors and dry runs, and the rules that a spec keeps.
//
// Validation is a pure function of a spec and of what is known about the network. What it refuses
// is an [Error] that names every field at fault, its value, what would be right, and the limit
// that was exceeded. Nothing here knows switches or tables.
package api
