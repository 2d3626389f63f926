// Package run has what the commands of weft run once they have checked their flags: a controller on
// its store, a switch on network interfaces, and speakers of BGP-LS. Errors name the flag or field
// that they are about.
package run
