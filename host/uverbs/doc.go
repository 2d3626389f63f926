// Package uverbs lets applications use a NIC (package nic) as they use hardware: programs that are
// linked with lib_mrc.so and libibverbs.so.1 of folder libmrc create queue pairs, post work and
// poll for completions, any number of processes a NIC. It is named after the kernel's interface for
// the same purpose.
//
// A process has one connection to a Unix socket. Rare operations use the connection, as requests
// and answers (host/libmrc/src/nic.h): objects, their attributes, events. Work and completions go
// through rings in memory shared by NIC and process. The NIC reads and writes registered memory of
// a process in place, by the descriptor of /proc/self/mem that the process passes with its first
// message.
//
//	s := uverbs.New(uverbs.Config{NIC: n, Do: do})
//	go s.Serve(listener, false)
//	s.Pump(now) // by the NIC's owner, before and after Advance
//
// The NIC does not trust applications: the NIC checks every entry of rings and every message, so an
// application cannot harm another application. The objects of an application end with its
// connection.
package uverbs
