// Package arch holds the tests on the shape of the project: which package may import which, and
// that the conformance table quotes the specifications correctly and completely and names existing
// tests.
package arch
