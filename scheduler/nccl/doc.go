// Package nccl writes what Weft knows of the NICs of a node into a topology file of NCCL: the rail
// of each, and the plane of one that is in one plane alone.
//
// A file of these alone would do harm: NCCL takes the place of a NIC from the file that names it.
// So it is made of the file that NCCL writes on the node (NCCL_TOPO_DUMP_FILE), of which it is a
// copy but for the two attributes, and read back by NCCL_TOPO_FILE.
package nccl
