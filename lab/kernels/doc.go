// Package kernels runs kernels as switches of a lab: each in a network namespace of its own, with
// the agent of "weft switch --datapath linux" (package dataplane/kernel) beside it.
//
//	k, err := kernels.Open(kernels.Config{Name: "P1-T0-1", Listen: "127.1.0.1:0", ...})
//	k.Send(3, frame)       // arrives at eth3
//	k.SetCarrier(3, false) // the kernel sees the link of eth3 go down
//
// Links lead nowhere: what a kernel sends is handed to Deliver, and whoever has the links carries
// it on. It takes root, and Linux.
package kernels
