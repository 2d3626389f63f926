// Package api tests the REST API with a real controller: which requests the API refuses, how the
// refusal reads, and that a refusal changes nothing. The switches come from package controllertest;
// the TLS tests use embedded switches.
package api
