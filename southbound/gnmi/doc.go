// Package gnmi follows the ports of a switch by gNMI: their states, their
// configuration and their counters.
package gnmi
