// Package stream sends the traces of a running switch over HTTP, a line of JSON
// a trace, and receives them.
//
//	GET /v1/trace?port=P&count=N
//
// answers with the traces of the next N packets that arrive on port P; without
// port of any, without count until the client goes. A line is a trace.Record, or
// {"lost":n} where the client was so slow that n traces went by.
package stream
