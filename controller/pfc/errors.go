package pfc

import "errors"

// Errors of paths and deployments; they are wrapped with the names of what they
// are about.
var (
	// ErrNoNode: the topology lacks a node.
	ErrNoNode = errors.New("is not in the topology")
	// ErrNoSID: the topology lacks a SID that is asked for.
	ErrNoSID = errors.New("no node advertises the SID")
	// ErrUnreachable: there is no path between two nodes.
	ErrUnreachable = errors.New("there is no path")
	// ErrLoop: the segments lead through a node twice.
	ErrLoop = errors.New("the segments lead through it twice")
	// ErrNotCapable: a node that has to handle PFC advertises no SID for it.
	ErrNotCapable = errors.New("is not PFC-capable")
	// ErrTooLong: a segment list exceeds what a switch writes.
	ErrTooLong = errors.New("too many segments")
)
