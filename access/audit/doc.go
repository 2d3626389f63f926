// Package audit keeps records of who changed what. Records form chains: each has the hash of the one
// before it, so that a record that is altered, removed or put in shows ([Verify]). A chain has one
// writer at a time. A [Chain] gives the writes of records to whoever makes the change, which keeps
// both in one transaction; a [Log] writes records of what changes nothing.
//
// Chains say nothing about a store whose whole content was written anew: note the newest hash
// elsewhere, such as in the log of the process, which has each.
package audit
