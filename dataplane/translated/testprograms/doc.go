// Package testprograms holds the programs that test the embedded switch as Go code, as package
// translated holds the fabric's, so that every construct of theirs is tested both ways.
package testprograms
