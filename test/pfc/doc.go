// Package pfc runs lossless tenants over a wide area network in virtual time: embedded switches,
// the controller's core, and traffic made by the tests themselves.
package pfc
