// Package clientlimit bounds the resources of a gRPC server for one client, so that a hostile or
// broken client only harms itself: connections (by package connlimit), streams, and octets of
// incomplete messages. It counts every client turned away, by reason, and logs some of them.
//
// A Limiter knows connections, not people: the services decide who may do what.
package clientlimit
