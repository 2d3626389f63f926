// Package mrchost is the MRC side of "weft host": a software NIC with an interface for each plane,
// in real time, that carries out writes, serves memory, and stores the controller's data. Package
// hostrun has the part common with RoCEv2 hosts.
package mrchost
