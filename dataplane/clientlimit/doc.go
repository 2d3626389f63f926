// Package clientlimit bounds what one client may take of a gRPC server, so that a hostile or broken
// client is only its own problem: connections (by package connlimit), streams, and octets of
// messages that are not complete yet. It counts every client that it turns away, by reason, and
// logs some of them.
//
// A Limiter knows connections, not people: who may do what is the business of the services.
package clientlimit
