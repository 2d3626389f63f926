package etcd

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// socketpair returns two connected sockets of a kind, which started programs do not inherit.
func socketpair(kind int) ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
}

// endWithParent has a process end with the thread that starts the process.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// allocate has blocks allocated for size octets of a file, whose length stays.
func allocate(fd int, size int64) error {
	return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size)
}
