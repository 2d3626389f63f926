// Package uverbs lets applications use a NIC (package nic) as they use hardware: programs that are
// linked with lib_mrc.so and libibverbs.so.1 of folder libmrc create queue pairs, post work and
// poll for completions, any number of processes a NIC. It is named after the kernel's interface for
// the same purpose.
//
// A process has one connection to a Unix socket. What is rare goes through it, as requests and
// answers (libmrc/src/nic.h): objects, their attributes, events. Work and completions go through
// rings in memory that NIC and process share. The NIC reads and writes the memory of a process in
// place, by process_vm_readv and process_vm_writev, as far as it was registered.
//
//	s, err := uverbs.New(uverbs.Config{NIC: n, Do: do})
//	go s.Serve(listener)
//	s.Pump(now) // by the NIC's owner, before and after Advance
//
// An application is not trusted: whatever stands in its rings and messages is checked each time,
// and harms no other one. What its queue pairs hold ends with its connection.
package uverbs
