// Package translated holds the fabric's P4 program as Go code, which the embedded switch runs in
// place of interpreting fabric.json. engine.Translate writes it. go generate does so anew, as
// make p4 does, and a test fails when the code is not that of the committed program.
package translated

//go:generate go run ./gen
