// Package translated holds the fabric's P4 program as Go code; the embedded switch runs this code
// instead of interpreting fabric.json. engine.Translate writes the code, by go generate or make p4,
// and a test fails when the code does not match the committed program.
package translated

//go:generate go run ./gen
