//go:build linux

package uverbs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// readHello reads a message and the descriptor that may come with it; -1: none.
func readHello(c *net.UnixConn, buffer []byte) (n, fd int, err error) {
	oob := make([]byte, unix.CmsgSpace(4))
	n, o, _, _, err := c.ReadMsgUnix(buffer, oob)
	if err != nil || n == 0 {
		return 0, -1, errors.Join(err, unix.EPROTO)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:o])
	if err != nil {
		return 0, -1, err
	}
	var fds []int
	for i := range messages {
		rights, err := unix.ParseUnixRights(&messages[i])
		if err == nil {
			fds = append(fds, rights...)
		}
	}
	if len(fds) == 1 {
		return n, fds[0], nil
	}
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return n, -1, nil
}

// checkHello checks a HELLO, and checks that its descriptor opens the memory of the process: the
// NIC reads a word at the address in HELLO, and writes the complement there.
func checkHello(body []byte, m *memory) error {
	if len(body) >= 4 && binary.NativeEndian.Uint32(body) != version {
		return fmt.Errorf("version %d of the protocol, want %d: build the library and the NIC from one "+
			"version: %w", binary.NativeEndian.Uint32(body), version, unix.EPROTONOSUPPORT)
	}
	var h hello
	if err := decode(body, &h); err != nil {
		return err
	}
	if err := isMemory(m.fd, m.pid); err != nil {
		return err
	}
	var b [8]byte
	if err := m.read(b[:], h.Probe); err != nil {
		return fmt.Errorf("the kernel does not let the NIC read: %w", err)
	}
	if v := binary.NativeEndian.Uint64(b[:]); v != h.Value {
		return fmt.Errorf("the word at %#x is %#x, want %#x: want the memory of the process that says "+
			"HELLO: %w", h.Probe, v, h.Value, unix.EFAULT)
	}
	binary.NativeEndian.PutUint64(b[:], ^h.Value)
	if err := m.write(b[:], h.Probe); err != nil {
		return fmt.Errorf("the kernel does not let the NIC write: %w", err)
	}
	return nil
}

// isMemory reports by an error (EBADF) that a descriptor is not /proc/PID/mem, open for reading and
// writing. It asks no file system that a program may have mounted, and waits for nothing: the type
// of a file, the device of procfs and the name of a file in it are the kernel's word.
func isMemory(fd, pid int) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("descriptor of HELLO: %s: want /proc/self/mem, open for reading and writing: "+
			"%w", fmt.Sprintf(format, args...), unix.EBADF)
	}
	if fd < 0 {
		return wrong("none, or several")
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return wrong("flags %#o", flags)
	}
	var is unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &is)
	if err != nil {
		return wrong("statx: %v (procfs with hidepid needs gid= of a group of the NIC)", err)
	}
	if is.Mode&unix.S_IFMT != unix.S_IFREG {
		return wrong("file type %#o", is.Mode&unix.S_IFMT)
	}
	if !isProcfs(&is, pid) {
		return wrong("device %d:%d is no procfs that the NIC knows", is.Dev_major, is.Dev_minor)
	}
	// A bind-mounted file has the name of its mount point.
	if is.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 ||
		is.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return wrong("a mount of its own, or Linux before 5.8")
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || path.Base(name) != "mem" {
		return wrong("%q", name)
	}
	return nil
}

// mountsRead bounds the octets read from a list of mounts.
const mountsRead = 1 << 20

// isProcfs reports whether the device of a file is a procfs: the procfs of the NIC, or a procfs
// mounted by a process, as containers do. Device numbers are valid for the whole machine, so any
// list of mounts can name the device.
func isProcfs(is *unix.Statx_t, pid int) bool {
	var own unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, "/proc/self/mem", 0, unix.STATX_TYPE, &own) == nil &&
		own.Dev_major == is.Dev_major && own.Dev_minor == is.Dev_minor {
		return true
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	device := fmt.Sprintf("%d:%d", is.Dev_major, is.Dev_minor)
	for lines := bufio.NewScanner(io.LimitReader(f, mountsRead)); lines.Scan(); {
		// proc_pid_mountinfo(5): the third field is the device, and the type follows " - "; spaces of
		// others are escaped
		mount, super, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(mount)
		if len(fields) > 2 && fields[2] == device && strings.HasPrefix(super, "proc ") {
			return true
		}
	}
	return false
}
