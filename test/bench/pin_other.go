//go:build !linux

package main

import "os/exec"

// startPinned starts a process; which cores it uses can only be chosen on Linux.
func startPinned(cmd *exec.Cmd) error { return cmd.Start() }
