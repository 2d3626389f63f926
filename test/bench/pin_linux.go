package main

import (
	"errors"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// startPinned starts a process on the last core available to this process, and on no other core.
func startPinned(cmd *exec.Cmd) error {
	runtime.LockOSThread() // a child has the affinity of the thread that starts it
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	for core := range 8 * int(unsafe.Sizeof(all)) {
		if all.IsSet(core) {
			one.Zero()
			one.Set(core)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	return errors.Join(cmd.Start(), unix.SchedSetaffinity(0, &all))
}
