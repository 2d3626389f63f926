// Package clib calls functions of C libraries in a process of their own, so that the caller
// stays a static program without cgo, and outlives a library that crashes.
//
//	l, err := clib.Start(ctx, "weft-dl", "/usr/lib/libmrc.so")
//	m := &clib.Memory{Octets: make([]byte, 72)}
//	value, errno, err := l.Call("mrc_ctl_query_device", context, m)
//
// Command weft-dl is the other process: it runs [Serve] on its standard input and output, with
// lines of JSON. Values are the values of machines with 64 bits: an argument is an integer or a
// pointer.
package clib
