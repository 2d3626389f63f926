// Package linear tests what clients may believe of several controllers: it has clients create,
// change, delete, read, list and watch resources at all controllers while processes are killed and
// paused, networks are cut, disks fill and stall and certificates expire, and has porcupine judge
// whether what the clients saw can have been one resource that changes one step at a time.
package linear
