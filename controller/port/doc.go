// Package port has what is known of the ports of switches by gNMI, and what clients want of them.
//
// A link whose port is down, or is disabled by intent, is out: trees, tunnels and routes do not use
// it, whatever is advertised. A port that is up again is out until a hold has passed that grows
// with every failure (see damping.Backoff), so that a port which flaps causes few changes.
package port
