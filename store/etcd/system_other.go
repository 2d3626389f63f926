//go:build !linux

package etcd

import (
	"errors"
	"syscall"
)

var errSystem = errors.New("an etcd of its own takes Linux: " +
	"name the endpoints of another etcd, or run the controller on Linux")

func socketpair(int) ([2]int, error) { return [2]int{}, errSystem }

func endWithParent() *syscall.SysProcAttr { return nil }

func allocate(int, int64) error { return errSystem }
