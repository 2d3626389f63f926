// Package testprograms holds the test programs of the embedded switch as Go code, just as package
// translated holds the fabric's program, so the tests cover every construct in both forms.
package testprograms
