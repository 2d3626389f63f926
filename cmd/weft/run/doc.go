// Package run has the work of the weft commands after they have checked their flags: a controller
// on its store, a switch on network interfaces, and BGP-LS speakers. Errors name the flag or field
// at fault.
package run
