//go:build linux

package uverbs

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestDescriptors: HELLO takes the memory of the process that says it, and nothing else; what it
// refuses it neither reads nor waits for.
func TestDescriptors(t *testing.T) {
	p := newPair(t, nil)
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "mem"), filepath.Join(dir, "fifo")
	if err := os.WriteFile(file, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(socket) }()
	own := open(t, "/proc/self/mem", unix.O_RDWR)
	word := [1]uint64{7}
	elsewhere := greeting(&word)
	elsewhere.Value++
	nowhere := greeting(&word)
	nowhere.Probe = 1 << 63
	for _, c := range []struct {
		name string
		fds  []int
		say  *hello
		want unix.Errno
	}{
		{"none", nil, greeting(&word), unix.EBADF},
		{"two", []int{own, own}, greeting(&word), unix.EBADF},
		{"read only", []int{open(t, "/proc/self/mem", unix.O_RDONLY)}, greeting(&word), unix.EBADF},
		{"path only", []int{open(t, "/proc/self/mem", unix.O_PATH)}, greeting(&word), unix.EBADF},
		{"a file of that name", []int{open(t, file, unix.O_RDWR)}, greeting(&word), unix.EBADF},
		{"FIFO", []int{open(t, fifo, unix.O_RDWR)}, greeting(&word), unix.EBADF},
		{"device", []int{open(t, "/dev/zero", unix.O_RDWR)}, greeting(&word), unix.EBADF},
		{"socket", []int{socket}, greeting(&word), unix.EBADF},
		{"another file of procfs", []int{open(t, "/proc/self/comm", unix.O_RDWR)}, greeting(&word),
			unix.EBADF},
		{"other memory", []int{own}, elsewhere, unix.EFAULT},
		{"no memory", []int{own}, nowhere, unix.EFAULT},
	} {
		a := p.bed.dial(0)
		if _, err := a.callWith(c.fds, opHello, c.say, nil); !errors.Is(err, c.want) || word[0] != 7 {
			t.Errorf("%s: %v, want %v; the word is %#x", c.name, err, c.want, word[0])
		}
	}
	p.works(t)
}

// TestMountedFile: another procfs file mounted at a path with the name mem does not count as
// memory.
func TestMountedFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this test needs root: it mounts")
	}
	at := filepath.Join(t.TempDir(), "mem")
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("/proc/self/comm", at, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("no mounts here: %v", err)
	}
	defer func() { _ = unix.Unmount(at, unix.MNT_DETACH) }()
	fd := open(t, at, unix.O_RDWR)
	if err := isMemory(fd, os.Getpid()); !errors.Is(err, unix.EBADF) {
		t.Errorf("%v", err)
	}
}

// TestOtherProcfs: a container has a procfs of its own.
func TestOtherProcfs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this test needs root: it mounts")
	}
	at := t.TempDir()
	if err := unix.Mount("proc", at, "proc", 0, ""); err != nil {
		t.Skipf("no mounts here: %v", err)
	}
	defer func() { _ = unix.Unmount(at, unix.MNT_DETACH) }()
	fd := open(t, filepath.Join(at, strconv.Itoa(os.Getpid()), "mem"), unix.O_RDWR)
	if err := isMemory(fd, os.Getpid()); err != nil {
		t.Error(err)
	}
	if err := isMemory(fd, 1<<30); !errors.Is(err, unix.EBADF) { // nobody has it
		t.Errorf("a procfs that nobody has: %v", err)
	}
}

// TestMemoryEnds: after a process executes another program, its old memory is empty, although the
// process keeps its PID.
func TestMemoryEnds(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo; read x; exec sleep 60")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(cmd.Process.Kill(), cmd.Wait()) }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	path := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/"
	m := &memory{fd: open(t, path+"mem", unix.O_RDWR)}
	at := stackOf(t, path)
	var b [8]byte
	if err := m.read(b[:], at); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		name, err := os.ReadFile(path + "comm")
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%s, %v", name, err)
		}
		if string(name) == "sleep\n" {
			break
		}
	}
	at = stackOf(t, path)
	if err := m.read(b[:], at); !errors.Is(err, unix.EFAULT) {
		t.Errorf("read: %v", err)
	}
	if err := m.write(b[:], at); !errors.Is(err, unix.EFAULT) {
		t.Errorf("write: %v", err)
	}
}

// stackOf returns an address in the stack of a process: the address of its random octets.
func stackOf(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := os.Open(path + "auxv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	const random = 25 // AT_RANDOM (getauxval(3))
	for deadline := time.Now().Add(time.Minute); ; {
		var pair [2]uint64
		_, err := f.Read(unsafe.Slice((*byte)(unsafe.Pointer(&pair)), 16))
		if errors.Is(err, io.EOF) && time.Now().Before(deadline) { // execve(2) fills it after the name
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			t.Fatal(err)
		}
		if pair[0] == random {
			return pair[1]
		}
	}
}
