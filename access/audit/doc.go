// Package audit keeps records of who changed what. Records form chains: each has the hash of the
// one before it, so that a record that is altered, removed or put in shows ([Verify]). A chain has
// one writer at a time. A [Chain] gives the writes of records to whoever makes the change, which
// keeps both in one transaction; a [Log] writes records of what changes nothing.
//
// Chains say nothing about a chain that is gone, or was written anew as a whole. So a [Notary]
// notes the newest record of each in the cluster's record and in a file outside the store. The log
// of the process has each hash too.
package audit
