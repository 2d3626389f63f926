//go:build !linux

package main

import "os/exec"

func inGroup(*exec.Cmd) {}
