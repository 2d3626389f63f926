// Package nccl adds Weft's knowledge about the NICs of a node to a topology file of NCCL: the rail
// of each NIC, and the plane of a NIC that is in a single plane.
//
// A file with only these attributes would do harm, because NCCL takes the place of a NIC from the
// file that names the NIC. So the package copies the file that NCCL writes on the node
// (NCCL_TOPO_DUMP_FILE), and adds the two attributes. NCCL reads the copy back by NCCL_TOPO_FILE.
package nccl
