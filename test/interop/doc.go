// Package interop has unmodified RoCEv2 stacks use RDMA multicast: guests with Linux's soft-RoCE
// (rdma_rxe) under qemu are the hosts in Figure 1, and processes of weft switch, or of
// simple_switch_grpc if on the PATH, the switches.
//
//	make interop
//
// The first run makes the guest from packages of Debian 12 (bookworm): a kernel and an initial file
// system of 40 MB, which it keeps in the user's cache directory.
package interop
