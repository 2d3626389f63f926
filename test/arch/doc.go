// Package arch holds the tests on the shape of the project: which package may import which, and
// that the conformance table says of the specifications what they say, of all that they say, and
// names tests that exist.
package arch
