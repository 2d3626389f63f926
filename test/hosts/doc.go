// Package hosts tests the stream between a controller and its hosts, both ends of it, in virtual
// time and over TLS.
package hosts
