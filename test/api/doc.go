// Package api has the tests of the REST API with the real controller behind it:
// what is refused, how that is said, and that it changes nothing. The switches
// are those of package controllertest, and embedded ones where TLS is tried.
package api
