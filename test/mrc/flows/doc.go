// Package flows runs fabrics of embedded switches and MRC hosts in virtual time, with what the
// planner gives the switches and the multipath core the hosts: how evenly packets spread, what an
// incast comes to, and which links are named when packets get lost. Each run follows from a seed.
package flows
