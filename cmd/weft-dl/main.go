//go:build linux && (amd64 || arm64)

// Command weft-dl opens C libraries, and calls their functions for "weft agent" (host/clib). It
// is the one program of Weft that links dynamically: it needs the C library that those files need.
//
//	weft-dl FILE...
package main

import (
	"fmt"
	"log"
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/weft-sdn/weft/host/clib"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("weft-dl: ")
	if len(os.Args) < 2 {
		log.Fatal("usage: weft-dl FILE...")
	}
	var files []uintptr
	for _, name := range append(os.Args[1:], "libc.so.6") {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			log.Fatal(err)
		}
		files = append(files, h)
	}
	errnoOf, err := purego.Dlsym(files[len(files)-1], "__errno_location")
	if err != nil {
		log.Fatal(err)
	}
	if err := clib.Serve(os.Stdin, os.Stdout, func(name string, arguments ...uintptr) (uintptr,
		int, error) {
		for _, h := range files {
			f, err := purego.Dlsym(h, name)
			if err != nil {
				continue
			}
			runtime.LockOSThread() // errno is the thread's
			defer runtime.UnlockOSThread()
			value, _, _ := purego.SyscallN(f, arguments...)
			at, _, _ := purego.SyscallN(errnoOf)
			return value, int(**(**int32)(unsafe.Pointer(&at))), nil
		}
		return 0, 0, fmt.Errorf("none of %v has it", os.Args[1:])
	}); err != nil {
		log.Fatal(err)
	}
}
