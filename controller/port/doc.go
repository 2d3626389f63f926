// Package port holds the port states that switches report by gNMI, and the port settings of
// clients.
//
// Trees, tunnels and routes avoid a link whose port is down or disabled by intent, even if the link
// is advertised. A port that comes up again stays out of use for a hold time that grows with every
// failure (see damping.Backoff), so that a flapping port causes few changes.
package port
