// Package truth tests what the controller concludes from probes of hosts to themselves: the core
// of the controller and the probers of hosts are the real ones, in virtual time, and a thin network
// carries each probe or loses it. Faults and times are drawn by seeds.
package truth
