// Package mrc is the demo of MRC fabrics that "weft demo mrc" runs, and the traffic of "weft lab
// --traffic".
package mrc
