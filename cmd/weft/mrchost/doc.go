// Package mrchost is the MRC side of "weft host": a software NIC with an interface a plane, in real
// time, that carries out writes and serves memory, and holds what its controller reports. What it
// has in common with a host of RoCEv2 is package hostrun's.
package mrchost
