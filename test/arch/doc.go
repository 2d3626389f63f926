// Package arch holds the tests on the shape of the project: which package may import which, and
// that every test the conformance table names exists.
package arch
